"""onesided.py - measures and draws Figures 5 to 12 of the paper on MPI-2 one-sided communication
over InfiniBand, with weft-gauge.

    onesided.py measure PREFIX [--runs 3] [--time 0.05] [--where node,hosts] [--lines LINE,...]
                [--window create] [--limit 300]
                           writes onesided_node.tsv and onesided_hosts.tsv here, PREFIX being
                           where Weft is installed
    onesided.py draw [png] draws onesided5.svg ... onesided12.svg from them, by gnuplot

Four lines: Weft, Weft with WEFT_RMA=messages, Open MPI, MPICH. In every run each line is measured
once, in turn; the median over the runs is drawn. `node` is ranks that share memory, two but for
Figures 9 and 12, which have four; `hosts` is two hosts of tests/netlab, which need root and share
the processors of this machine (Figures 9 and 12: one rank, and three on the other host). A line that fails or takes
longer than --limit is left out of a run and is said. The words of MEASURE_WITH stand before each
command; they may name a program that keeps others from the processors meanwhile.
"""

import argparse
import contextlib
import json
import os
import platform
import statistics
import subprocess
import sys
import tempfile
import time
from pathlib import Path

HERE = Path(__file__).resolve().parent
sys.path.insert(0, str(HERE.parent.parent / "bench"))
import lab  # noqa: E402  (what the benchmarks between hosts share)

CONTROL = "10.77.0.1:7777"
LINES = {"weft": ("Weft", "#0b5fa5"), "messages": ("Weft over messages", "#7c3aed"),
         "openmpi": ("Open MPI", "#c2410c"), "mpich": ("MPICH", "#4d7c0f")}
WHERE = {"node": "shared memory", "hosts": "two hosts, tcp"}
SIZES = "4,16,64,256,1K,4K,16K,64K,256K,1M"
# Ranks, and what they measure: the tests of --test.
PARTS = {"latency": 2, "both": 2, "put": 2, "get": 2, "overlap": 2, "skew": 2, "sync": 4,
         "origins": 4}
BYTES = "message size in bytes"
NO_WORK = 0.5  # where no work stands on an axis of microseconds
# Figure: title, label of x, label of y, whether y is a rate, names of the points.
FIGURES = {
    5: ("latency of an epoch with one put, there and back", BYTES, "microseconds", False,
        ("put_latency",)),
    6: ("put and fence in both directions (dashed: by messages, two-sided)", BYTES,
        "microseconds", False, ("put_fence", "two_sided")),
    7: ("put, 16 in an epoch", BYTES, "MB/s", True, ("put_burst",)),
    8: ("get, 16 in an epoch", BYTES, "MB/s", True, ("get_burst",)),
    9: ("epochs without operations (dashed: of one origin and several targets)",
        "origins or targets", "microseconds", False, ("sync_origins", "sync_targets")),
    10: ("an epoch of 16 puts of 64 KiB, with work after each", "work after each put, microseconds",
         "microseconds", False, ("work_at_origin",)),
    11: ("16 puts of 64 KiB while the target works between post and wait",
         "work of the target, microseconds", "MB/s", True, ("work_at_target",)),
    12: ("puts of 64 KiB by several origins into one target, together", "origins", "MB/s", True,
         ("put_origins",)),
}


# ---- measuring ----

def launcher(where, line, weft, ranks):
    name = "weft" if line == "messages" else line
    if where == "node":
        words = lab.local(name, weft, ranks)
    else:
        words = lab.spread(name, weft, [1, ranks - 1])
        if line == "openmpi":  # its own choice finds no windows for btl tcp
            words += ["--mca", "osc", "pt2pt"]
    return [*words, "env", "WEFT_GAUGE_TOKEN=figures",
            *(["WEFT_RMA=messages"] if line == "messages" else [])]


def command_of(where, line, weft, test, options):
    flavour = ["--flavour", line] if line in lab.PEERS else ["--library", weft.library]
    return [*launcher(where, line, weft, PARTS[test]), weft.gauge, "run", "rma", "mpi", *flavour,
            "--test", test, "--window", options.window, "--sizes", SIZES, "--time", options.time,
            "--quiet", *(["--control", CONTROL] if where == "hosts" else [])]


def rows_of(lines):
    """Name, condition or size, median and rate of every point."""
    for row in lines:
        if row["type"] == "row" and row["end"] == 0:
            keys = [value for key, value in row["conditions"].items() if key != "burst"]
            yield (row["name"], keys[0] if keys else row["size_bytes"], row["median_ns"],
                   row.get("rate_bytes_per_second") or 0)


def measure_once(where, line, weft, test, options, values):
    with tempfile.TemporaryDirectory() as folder:
        out = Path(folder) / "out.json"
        lab.run([*command_of(where, line, weft, test, options), "--json", out], options.limit)
        lines = [json.loads(text) for text in out.read_text().splitlines()]
    for name, at, median, rate in rows_of(lines):
        values.setdefault((line, name, at), []).append((median, rate))


def write(where, weft, options, values, failed):
    with (HERE / f"onesided_{where}.tsv").open("w", encoding="utf-8") as out:
        print(f"# {time.strftime('%Y-%m-%d')}, {WHERE[where]}, {os.cpu_count()} cores, Linux "
              f"{platform.release()}, Open MPI {lab.version_of('libopenmpi3')}, MPICH "
              f"{lab.version_of('libmpich12')} (Debian 12), windows of MPI_Win_{options.window}, "
              f"medians of {options.runs} runs in turn, load {os.getloadavg()[2]:.1f}", file=out)
        for line, test in failed:
            print(f"# not measured: {line}, {test}", file=out)
        print("# weft-gauge run rma mpi --test TEST --sizes "
              f"{SIZES} --time {options.time:g} --window {options.window}", file=out)
        print("# line name at median_ns bytes_per_second", file=out)
        for (line, name, at), found in sorted(values.items()):
            median, rate = (statistics.median(column) for column in zip(*found))
            print(f"{line}\t{name}\t{at:g}\t{median:.6g}\t{rate:.6g}", file=out)


def measure(options):
    weft = lab.Weft(options.prefix)
    for where in options.where.split(","):
        values, failed = {}, []
        with lab.hosts(2) if where == "hosts" else contextlib.nullcontext():
            for run in range(options.runs):
                for test in PARTS:
                    for line in options.lines.split(","):
                        if (line, test) in failed:
                            continue
                        print(f"{where}, run {run + 1} of {options.runs}: {test}, "
                              f"{LINES[line][0]}", file=sys.stderr, flush=True)
                        try:
                            measure_once(where, line, weft, test, options, values)
                        except lab.Failed as why:
                            print(f"onesided.py: {why}", file=sys.stderr, flush=True)
                            failed.append((line, test))
        write(where, weft, options, values, failed)


# ---- drawing ----

def read(where):
    """How it was measured, and {(line, name): [(at, median, rate), ...]}."""
    path = HERE / f"onesided_{where}.tsv"
    if not path.exists():
        return "", {}
    text = path.read_text(encoding="utf-8").splitlines()
    rows = {}
    for line in (line for line in text if not line.startswith("#")):
        who, name, at, median, rate = line.split("\t")
        rows.setdefault((who, name), []).append((float(at), float(median), float(rate)))
    return text[0].removeprefix("# "), rows


def value_of(figure, at, median, rate):
    """What a point of a table is in a figure: x and y."""
    x = max(at / 1e3, NO_WORK) if figure in (10, 11) else at
    return x, rate / 1e6 if FIGURES[figure][3] else median / 1e3


def panel(figure, where, rows, blocks):
    """The lines of a script for gnuplot that draw one half."""
    _title, label_x, label_y, _is_rate, names = FIGURES[figure]
    plots, script = [], []
    for line, (title, colour) in LINES.items():
        for name, dash in zip(names, ("", "dashtype 2")):
            points = sorted(value_of(figure, *row) for row in rows.get((line, name), ()))
            if not points:
                continue
            blocks.append(name)
            script += [f"$data{len(blocks)} << END", *(f"{x:g} {y:g}" for x, y in points), "END"]
            plots.append(f"$data{len(blocks)} using 1:2 with linespoints linecolor '{colour}' "
                         f"{dash} pointtype 7 pointsize 0.4 "
                         + (f"title '{title}'" if not dash else "notitle"))
    script += [f"set title '{WHERE[where]}'", f"set xlabel '{label_x}'", f"set ylabel '{label_y}'"]
    return script + (["plot " + ", ".join(plots)] if plots else
                     ["plot [0:1] [0:1] 1/0 title 'not measured'"])


def axes(figure):
    if figure in (9, 12):
        return ["set xtics 1", "set xrange [0.5:3.5]", "set logscale y"]
    if figure in (10, 11):
        return ["set logscale xy", f"set xtics ('none' {NO_WORK}, 1, 4, 16, 64, 256, 1024)",
                "set xrange [0.4:1500]"]
    return ["set logscale xy", "set xtics (4, 16, 64, 256, '1K' 1024, '4K' 4096, '16K' 16384, "
            "'64K' 65536, '256K' 262144, '1M' 1048576)"]


def draw(kind):
    found = {where: read(where) for where in WHERE}
    how = "\\n".join(text for text, _rows in found.values() if text)
    for figure, (title, *_rest) in FIGURES.items():
        terminal = "svg background 'white'" if kind == "svg" else "pngcairo"
        script = [f"set terminal {terminal} noenhanced size 1200,620 font ',11'",
                  f"set output '{HERE}/onesided{figure}.{kind}'", "set grid", "set key below",
                  *axes(figure), f'set multiplot layout 1,2 title "{title}\\n{how}" font ",9"']
        blocks = []
        for where, (_how, rows) in found.items():
            script += panel(figure, where, rows, blocks)
        subprocess.run(["gnuplot"], input="\n".join([*script, "unset multiplot", ""]), text=True,
                       check=True)


def main():
    parser = argparse.ArgumentParser(description=__doc__.split("\n\n", maxsplit=1)[0])
    verbs = parser.add_subparsers(dest="verb", required=True)
    one = verbs.add_parser("measure")
    one.add_argument("prefix")
    one.add_argument("--runs", type=int, default=3)
    one.add_argument("--time", type=float, default=0.05, help="seconds for each point")
    one.add_argument("--where", default=",".join(WHERE))
    one.add_argument("--lines", default=",".join(LINES))
    one.add_argument("--window", default="create", choices=("create", "allocate"))
    one.add_argument("--limit", type=int, default=300, help="seconds for each command")
    two = verbs.add_parser("draw")
    two.add_argument("kind", nargs="?", default="svg", choices=("svg", "png"))
    options = parser.parse_args()
    if options.verb == "measure":
        measure(options)
    else:
        draw(options.kind)


if __name__ == "__main__":
    main()
