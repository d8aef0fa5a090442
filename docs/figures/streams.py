"""streams.py - measures and draws Figures 10 and 11 of the uDAPL paper: latency and bandwidth
against the number of streams, between two hosts of tests/netlab.

    streams.py measure PREFIX [--runs N] [--time SECONDS]
                                 writes streams.tsv here, PREFIX being where Weft is installed
    streams.py draw [png]        draws udapl10.svg and udapl11.svg from it, by gnuplot
    streams.py table             prints the table of docs/performance.md

Measured by weft-gauge over MPI, on the plain link and on one that gives each connection
CAP alone (netlab flow). All numbers of streams take turns in every run; the median over the
runs is what counts. The hosts share the machine's processors, so each end has one of its own.
The words of MEASURE_WITH stand before each command; they may name a
program that keeps others from the processors meanwhile. Needs root, for netlab; the lab's
name is NETLAB_NAME, or streams.
"""

import argparse
import json
import os
import platform
import shlex
import statistics
import subprocess
import tempfile
import time
from pathlib import Path

HERE = Path(__file__).resolve().parent
TABLE = HERE / "streams.tsv"
NETLAB = HERE.parent.parent / "tests" / "netlab"
LAB = os.environ.get("NETLAB_NAME", "streams")
CAP = "1gbit"
LINKS = {"plain": "off", "capped": CAP}
STREAMS = {1: "#111111", 2: "#0b5fa5", 4: "#4d7c0f", 8: "#c2410c"}
PATTERNS = {"one_one": "8,64,512,4K", "stream": "64K:4M"}
ROW = {"one_one": "latency", "stream": "message"}
COMMAND = ("env WEFT_HEARTBEAT=60 WEFT_STREAMS={streams} {prefix}/bin/mpiexec --bind-to none "
           "--hosts {lab}1:1,{lab}2:1 -n 2 sh -c 'exec taskset -c $PMI_RANK \"$@\"' sh "
           "{prefix}/bin/weft-gauge run {pattern} mpi "
           "--sizes {sizes} --time {time} --quiet")
MEETING = "--control 10.77.0.1:5000 --token 00112233445566778899aabbccddeeff"


def netlab(*words):
    return [str(NETLAB), *(str(word) for word in words)]


def call(*words):
    subprocess.run(netlab(*words), check=True, env={**os.environ, "NETLAB_NAME": LAB})


# ---- measuring ----

def run(command):
    """Size and median of each row that a command writes, and its header."""
    with tempfile.TemporaryDirectory() as folder:
        name = Path(folder) / "out.json"
        words = [*shlex.split(os.environ.get("MEASURE_WITH", "")),
                 *netlab("exec", 1), *shlex.split(f"{command} {MEETING} --json {name}")]
        subprocess.run(words, check=True, stdin=subprocess.DEVNULL,
                       stdout=subprocess.DEVNULL, env={**os.environ, "NETLAB_NAME": LAB})
        lines = [json.loads(line) for line in name.read_text().splitlines()]
    rows = [(row["name"], row["size_bytes"], row["median_ns"]) for row in lines
            if row["type"] == "row" and row["name"] in ROW.values()]
    return lines[0], rows


def interval(values):
    """All but one at each end, where there are so many."""
    values = sorted(values)
    return (values[1], values[-2]) if len(values) > 6 else (values[0], values[-1])


def measure(prefix, runs, seconds):
    found = {}
    head = {}
    call("up", 2, "--ssh")
    try:
        for link, cap in LINKS.items():
            for host in (1, 2):
                call("flow", host, cap)
            for _ in range(runs):
                for streams in STREAMS:
                    for pattern, sizes in PATTERNS.items():
                        head, rows = run(COMMAND.format(
                            streams=streams, prefix=prefix, lab=LAB, pattern=pattern,
                            sizes=sizes, time=seconds))
                        for name, size, median in rows:
                            found.setdefault((link, name, streams, size), []).append(median)
    finally:
        call("down")
    write(found, head, runs, seconds)


def write(found, head, runs, seconds):
    cpu = head["ends"][0]["cpu"] if "ends" in head else platform.processor()
    with TABLE.open("w", encoding="utf-8") as out:
        print(f"# {time.strftime('%Y-%m-%d')}, {os.cpu_count()} cores of {cpu}, Linux "
              f"{platform.release()}, Weft {head.get('version', '')}, two hosts of "
              f"tests/netlab, {runs} runs; capped: netlab flow {CAP}", file=out)
        for pattern, sizes in PATTERNS.items():
            command = COMMAND.format(streams="K", prefix="", lab="HOST", pattern=pattern,
                                     sizes=sizes, time=seconds)
            print("# " + command.replace("/bin/", ""), file=out)
        print("# link name streams size median_ns low_ns high_ns", file=out)
        for key, medians in sorted(found.items()):
            print("\t".join(str(field) for field in key) + "\t" + "\t".join(
                f"{value:.6g}" for value in (statistics.median(medians), *interval(medians))),
                file=out)


# ---- showing ----

def read():
    """How it was measured, and (size, median, low, high) by link, name and streams."""
    text = TABLE.read_text(encoding="utf-8").splitlines()
    found = {}
    for line in (line for line in text if not line.startswith("#")):
        link, name, streams, *numbers = line.split("\t")
        found.setdefault((link, name, int(streams)), []).append(
            tuple(float(number) for number in numbers))
    return text[0][2:], found


def microseconds(point):
    size, *times = point
    return (size, *(value / 1e3 for value in times))


def megabytes(point):
    size, median, low, high = point
    return (size, size / median * 1e3, size / high * 1e3, size / low * 1e3)


def script(name, kind, how, label, change, title):
    """For gnuplot: a panel for each link, a line for each number of streams."""
    figure, row = name
    found = read()[1]
    terminal = "svg background 'white'" if kind == "svg" else "pngcairo"
    lines = [f"set terminal {terminal} noenhanced size 1200,560 font ',12'",
             f"set output '{HERE}/{figure}.{kind}'", "set logscale x 2", "set grid",
             "set key below", "set bars small", "set xlabel 'message size in bytes'",
             "set xtics (8, 64, 512, '4K' 4096, '64K' 65536, '128K' 131072, '256K' 262144, "
             "'512K' 524288, '1M' 1048576, '2M' 2097152, '4M' 4194304)",
             "set yrange [0:*]", f"set ylabel '{label}'",
             f"set multiplot layout 1,2 title \"{title}\\n{how}\""]
    for link in LINKS:
        plots = []
        for streams, colour in STREAMS.items():
            block = f"${link}{streams}"
            points = sorted(change(point) for point in found[link, row, streams])
            lines += [f"{block} << END",
                      *(" ".join(f"{x:.9g}" for x in point) for point in points), "END"]
            plots.append(f"{block} using 1:2:3:4 with yerrorlines linecolor '{colour}' "
                         f"pointtype 7 pointsize 0.4 title '{streams} stream"
                         f"{'' if streams == 1 else 's'}'")
        lines += [f"set title '{link} link'", "plot " + ", ".join(plots)]
    return "\n".join([*lines, "unset multiplot", ""])


def draw(kind):
    how = read()[0]
    for words in (
            (("udapl10", "latency"), kind, how, "half a round trip, microseconds",
             microseconds, "latency against the number of streams"),
            (("udapl11", "message"), kind, how, "MB/s", megabytes,
             "bandwidth against the number of streams, windows of messages in one direction")):
        subprocess.run(["gnuplot"], input=script(*words), text=True, check=True)


def text_of(size):
    size = int(size)
    for unit, bytes_ in (("MiB", 1 << 20), ("KiB", 1 << 10)):
        if size >= bytes_:
            return f"{size // bytes_} {unit}"
    return f"{size} B"


def table():
    found = read()[1]
    print("| | " + " | ".join(f"{link}, {streams}" for link in LINKS for streams in STREAMS)
          + " |")
    print("|---|" + "---|" * len(LINKS) * len(STREAMS))
    for row, change, form in (("latency", microseconds, "{:.1f} us"),
                              ("message", megabytes, "{:.0f} MB/s")):
        for size in sorted({point[0] for point in found["plain", row, 1]}):
            cells = [form.format(next(change(point)[1] for point in found[link, row, streams]
                                      if point[0] == size))
                     for link in LINKS for streams in STREAMS]
            print(f"| {text_of(size)} | " + " | ".join(cells) + " |")


def main():
    parser = argparse.ArgumentParser(description="Figures 10 and 11 of the uDAPL paper")
    commands = parser.add_subparsers(dest="command", required=True)
    measuring = commands.add_parser("measure")
    measuring.add_argument("prefix")
    measuring.add_argument("--runs", type=int, default=9)
    measuring.add_argument("--time", default="0.3")
    commands.add_parser("draw").add_argument("kind", nargs="?", default="svg")
    commands.add_parser("table")
    wanted = parser.parse_args()
    if wanted.command == "measure":
        measure(wanted.prefix, wanted.runs, wanted.time)
    elif wanted.command == "draw":
        draw(wanted.kind)
    else:
        table()


if __name__ == "__main__":
    main()
