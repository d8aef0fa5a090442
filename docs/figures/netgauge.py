"""netgauge.py - measures and draws Figures 5, 6 and 7 of the Netgauge paper with weft-gauge.

    netgauge.py measure PREFIX [FIGURE ...]   writes netgauge5.tsv ... here, PREFIX being where
                                              Weft is installed
    netgauge.py draw [png]                    draws netgauge5.svg ... from them, by gnuplot

The words of MEASURE_WITH stand before each command; it may name a program that keeps others
from the processors meanwhile. Lines with # say how a table was measured.
"""

import json
import os
import platform
import shlex
import statistics
import subprocess
import sys
import tempfile
import time
from pathlib import Path

HERE = Path(__file__).parent
LINES = {"weft": ("Weft", "#0b5fa5"), "openmpi": ("Open MPI", "#c2410c"),
         "mpich": ("MPICH", "#4d7c0f"), "tcp": ("tcp", "#111111"), "shm": ("shm", "#9333ea"),
         "dgram": ("Weft, dgram", "#0b5fa5")}
MPIS = {"weft": ("{prefix}/bin/mpiexec -n 2", ""),
        "openmpi": ("mpiexec.openmpi -n 2", " --flavour openmpi"),
        "mpich": ("mpiexec.mpich -n 2", " --flavour mpich"),
        "dgram": ("env WEFT_TRANSPORT=dgram {prefix}/bin/mpiexec --bind-to none -n 9", "")}
PATTERNS = {5: ("one_one", "--sizes 1:1M --time 0.05", ("weft", "openmpi", "mpich", "tcp")),
            6: ("one_many", "--server 0 --sizes 1:256K --time 0.5", ("tcp", "dgram")),
            7: ("loggp", "--sizes 1:64K --time 0.15", ("shm", "tcp", "weft", "openmpi", "mpich"))}


RUNS = {5: 9, 6: 1, 7: 1}  # in turns between the lines; the median over them is drawn


def command_of(line, pattern, options):
    """The command that measures one line of a figure, as it would be typed."""
    if line not in MPIS:
        more = " --wait block --ends 9" if pattern == "one_many" else ""
        return f"{{prefix}}/bin/weft-gauge run {pattern} {line}{more} {options} --quiet"
    launcher, more = MPIS[line]
    return f"{launcher} {{prefix}}/bin/weft-gauge run {pattern} mpi{more} {options} --quiet"


def run(command, prefix):
    """The lines of JSON that a command writes."""
    with tempfile.TemporaryDirectory() as folder:
        name = Path(folder) / "out.json"
        words = shlex.split(os.environ.get("MEASURE_WITH", "")) + shlex.split(
            command.format(prefix=prefix)) + ["--json", str(name)]
        env = {"OMPI_ALLOW_RUN_AS_ROOT": "1", "OMPI_ALLOW_RUN_AS_ROOT_CONFIRM": "1",
               **os.environ}
        subprocess.run(words, check=True, stdout=subprocess.DEVNULL, env=env,
                       stdin=subprocess.DEVNULL)
        return [json.loads(line) for line in name.read_text().splitlines()]


def rows_of(line, lines):
    """Rows of the table: line, name, size, end, median, lowest and highest of the interval."""
    turns = {}
    for row in (row for row in lines if row["type"] == "row"):
        key = (row["name"], row["size_bytes"], row["end"], row["conditions"].get("messages"))
        turns.setdefault(key, []).append(row)
    for (name, size, end, messages), rows in sorted(turns.items(), key=str):
        if name == "prtt" or (name == "gap" and messages != 16):
            continue
        medians = sorted(row["median_ns"] for row in rows)
        low, high = ((medians[1], medians[-2]) if len(medians) > 6
                     else (rows[0]["low_ns"], rows[0]["high_ns"]))
        yield (line, name, size, end, statistics.median(medians), low, high)
    for row in (row for row in lines if row["type"] == "result" and row["pattern"] == "loggp"):
        value, low, high = (next(v for k, v in row.items() if k.startswith(start))
                            for start in ("value_", "low_", "high_"))
        yield (line, f"{row['name']} {row['note']}".strip(), f"{row['from_bytes']:.0f}",
               f"{row['to_bytes']:.0f}", value, low, high)


def measure(prefix, figures):
    """Measures the lines of each figure, one after the other."""
    for figure in figures:
        pattern, options, lines = PATTERNS[figure]
        found = {line: [] for line in lines}
        for line in lines * RUNS[figure]:
            found[line] += run(command_of(line, pattern, options), prefix)
            time.sleep(1)
        head = found[lines[0]][0]
        table = [row for line in lines for row in rows_of(line, found[line])]
        cpu = head["ends"][0]["cpu"] if "ends" in head else platform.processor()
        with (HERE / f"netgauge{figure}.tsv").open("w", encoding="utf-8") as out:
            print(f"# {time.strftime('%Y-%m-%d')}, {os.cpu_count()} cores of {cpu}, Linux "
                  f"{platform.release()}, Weft {head.get('version', '')}, Open MPI 4.1.4, "
                  "MPICH 4.0.2 (Debian 12)", file=out)
            for line in lines:
                command = command_of(line, pattern, options).replace("{prefix}/bin/", "")
                print(f"# {command}" + (f", {RUNS[figure]} runs" if RUNS[figure] > 1 else ""),
                      file=out)
            print("# line name size end median_ns low_ns high_ns; of a parameter: line, name and "
                  "note, from, to, value, low, high", file=out)
            for row in table:
                print("\t".join("-" if field is None else f"{field:.6g}"
                                if isinstance(field, float) else str(field)
                                for field in row), file=out)


def read(figure):
    """How it was measured, and the rows."""
    text = (HERE / f"netgauge{figure}.tsv").read_text(encoding="utf-8").splitlines()
    return text[0][2:], [line.split("\t") for line in text if not line.startswith("#")]


class Picture:
    """A script for gnuplot: blocks of data, and panels with lines of them."""

    def __init__(self, figure, title, how, kind):
        terminal = "svg background 'white'" if kind == "svg" else "pngcairo"
        self.script = [
            f"set terminal {terminal} noenhanced size 1200,620 font ',12'",
            f"set output '{HERE}/netgauge{figure}.{kind}'", "set logscale xy", "set grid",
            "set key below", "set bars small", "set xlabel 'message size in bytes'",
            "set xtics (1, 8, 64, 512, '4K' 4096, '32K' 32768, "
            "'256K' 262144, '1M' 1048576)",
            f"set multiplot layout 1,2 title \"{title}\\n{how}\""]
        self.blocks = 0

    def block(self, rows):
        """Data, in ascending size; its name."""
        self.blocks += 1
        self.script += [f"$data{self.blocks} << END",
                        *(" ".join(f"{x:.9g}" for x in row) for row in sorted(rows)), "END"]
        return f"$data{self.blocks}"

    def panel(self, label, lines, more=()):
        self.script += [f"set ylabel '{label}'", *more, "plot " + ", ".join(lines)]

    def draw(self):
        self.script += ["unset multiplot", ""]
        subprocess.run(["gnuplot"], input="\n".join(self.script), text=True, check=True)


def points(rows, line, name, end=None, scale=1e-3):
    """Size, median, interval in microseconds."""
    return [(float(row[2]), float(row[4]) * scale,
             *(float(row[i] if row[i] != "-" else row[4]) * scale for i in (5, 6)))
            for row in rows
            if row[0] == line and row[1] == name and (end is None or row[3] == str(end))
            and float(row[4]) > 0]


def rates(times):
    """Megabytes per second of times in microseconds."""
    return [(x, x / y, x / high, x / low) for x, y, low, high in times]


def style(data, title, colour, dash=""):
    return (f"{data} using 1:2:3:4 with yerrorlines linecolor '{colour}' {dash} pointtype 7 "
            f"pointsize 0.4 title '{title}'")


def draw_one_one(kind):
    how, rows = read(5)
    picture = Picture(5, "one_one over MPI and over sockets, medians with 95 % intervals", how, kind)
    for label, change in (("half a round trip, microseconds", lambda p: p), ("MB/s", rates)):
        picture.panel(label, [style(picture.block(change(points(rows, line, "latency"))), title,
                                    colour)
                              for line, (title, colour) in LINES.items()
                              if points(rows, line, "latency")])
    picture.draw()


def congested_lines(rows, line):
    """Title, points, colour and dash: the one end, and of the eight the fastest and slowest."""
    name, dash = rows[0][1], "" if line == "tcp" else "dashtype 2"
    clients = [points(rows, line, name, end) for end in range(1, 9)]
    yield (f"{LINES[line][0]}: the one", points(rows, line, name, 0), LINES[line][1], dash)
    for title, choose, colour in (("fastest", min, "#4d7c0f"), ("slowest", max, "#c2410c")):
        yield (f"{LINES[line][0]}: {title} of the eight",
               [choose(at, key=lambda p: p[1]) for at in zip(*(sorted(c) for c in clients))],
               colour, dash)


def draw_congested(kind):
    how, rows = read(6)
    picture = Picture(6, "one_many, 1:8 on a loopback, over tcp and over MPI on datagrams: the one "
                      "end, and of the eight the fastest and the slowest", how, kind)
    lines = [found for line in ("tcp", "dgram") for found in congested_lines(rows, line)]
    for label, change in (("time, microseconds", lambda p: p), ("MB/s at this end", rates)):
        picture.panel(label, [style(picture.block(change(data)), title, colour, dash)
                              for title, data, colour, dash in lines if data],
                      ("set key font ',10' maxcols 3",))
    picture.draw()


def regions(rows, line):
    """From, to, g and G of each region, g and G being nan where they were not seen."""
    found = {}
    for row in rows:
        name = row[1].split(" ")[0]
        if row[0] == line and name in ("g", "G"):
            value = float(row[4]) if row[4] != "-" else float("nan")
            found.setdefault((float(row[2]), float(row[3])), {})[name] = value
    return sorted((*at, values.get("g"), values.get("G")) for at, values in found.items())


def draw_loggp(kind):
    how, rows = read(7)
    picture = Picture(7, "LogGP: overheads, and transmission time T(s) with its regions; medians of "
                      "9 passes", how, kind)
    overheads, gaps, marks = [], [], []
    low = min(p[1] for line in LINES for p in points(rows, line, "gap"))
    for line in (line for line in LINES if line in PATTERNS[7][2]):
        title, colour = LINES[line]
        for name, dash in (("o_s", ""), ("o_r", "dashtype 2")):
            overheads.append(style(picture.block(points(rows, line, name)), f"{title} {name}",
                                   colour, dash))
        found = regions(rows, line)
        begins = ", ".join(f"{start:.0f}" for start, *_ in found)
        gaps.append(style(picture.block(points(rows, line, "gap")), f"{title}, regions from {begins}",
                          colour))
        for start, *_ in found[1:]:
            at = next(p for p in points(rows, line, "gap") if p[0] == start)
            marks.append(f"set arrow from {start:.0f},{at[1] / 2:.9g} to {start:.0f},{at[1] / 1.15:.9g} "
                         f"linecolor '{colour}' linewidth 2")
    picture.panel("o_s and o_r, microseconds", overheads, ("set key font ',10' maxcols 5 ", "set yrange [0.005:*]"))
    picture.panel("T(s), microseconds; arrows: a region begins", gaps,
                  (*marks, "set key maxcols 2", f"set yrange [{low / 2:.9g}:*]"))
    picture.draw()


def main():
    if sys.argv[1] == "measure":
        measure(sys.argv[2], [int(figure) for figure in sys.argv[3:]] or list(PATTERNS))
    else:
        for draw in (draw_one_one, draw_congested, draw_loggp):
            draw(sys.argv[2] if len(sys.argv) > 2 else "svg")


if __name__ == "__main__":
    main()
