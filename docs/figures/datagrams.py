"""datagrams.py [png] - draws Figures 2 to 6 of the UD paper with our figures, by gnuplot.

ud2.tsv and ud3.tsv are written by bench/datagrams --update, ud5.tsv by bench/crowd --update. Drawn
from them are ud2.svg (bandwidth against sockets to send from), ud3.svg (half round trips against
size, and as bandwidth: Figures 3 and 4) and ud5.svg (time and memory of everybody's message to
everybody: Figures 5 and 6). A table that is not there is left out. Lines with # say how a table was
measured.
"""

import subprocess
import sys
from pathlib import Path

HERE = Path(__file__).parent
LINES = {"udp": ("bare UDP", "#111111"), "dgram": ("Weft, dgram", "#0b5fa5"),
         "msg": ("Weft, msg", "#9333ea"), "rdm": ("Weft, rdm", "#db2777"),
         "openmpi": ("Open MPI, tcp", "#c2410c"), "mpich": ("MPICH, tcp", "#4d7c0f")}
UNITS = {"B": 1, "KiB": 1024, "MiB": 1 << 20}


def read(name):
    """How it was measured, and the rows."""
    lines = (HERE / name).read_text(encoding="utf-8").splitlines()
    how = lines[0].removeprefix("# ").replace("`", "")
    return how[:how.rfind(",", 0, 150)], [line.split("\t") for line in lines if not line.startswith("#")]


def bytes_of(name):
    """The number of bytes that the programs call 64KiB, say."""
    digits = name.rstrip("BKMi")
    return int(digits) * UNITS[name[len(digits):]]


class Picture:
    """A script for gnuplot: blocks of data, and panels with lines of them."""

    def __init__(self, name, title, how, kind):
        terminal = "svg background 'white'" if kind == "svg" else "pngcairo"
        self.script = [f"set terminal {terminal} noenhanced size 1200,560 font ',12'",
                       f"set output '{HERE}/{name}.{kind}'", "set grid", "set key below",
                       f"set multiplot layout 1,2 title \"{title}\\n{how}\""]
        self.blocks = 0

    def panel(self, axes, lines, more=()):
        """Lines are title, colour and points."""
        plots = []
        for title, colour, points in lines:
            if points:
                self.blocks += 1
                self.script += [f"$data{self.blocks} << END",
                                *(f"{x:.9g} {y:.9g}" for x, y in sorted(points)), "END"]
                plots.append(f"$data{self.blocks} with linespoints linewidth 2 pointtype 7 "
                             f"pointsize 0.5 linecolor '{colour}' title '{title}'")
        self.script += [f"set xlabel '{axes[0]}'", f"set ylabel '{axes[1]}'", *more,
                        "plot " + ", ".join(plots)]

    def draw(self):
        subprocess.run(["gnuplot"], input="\n".join([*self.script, "unset multiplot", ""]),
                       text=True, check=True)


def draw_endpoints(kind):
    how, rows = read("ud2.tsv")
    picture = Picture("ud2", "bare datagrams in trains: sockets to send from, and what reliable "
                      "ones do besides", how, kind)
    sockets = [(int(row[0].split()[1]), float(row[2])) for row in rows
               if row[0].startswith("endpoints")]
    besides = [(row[0].removeprefix("reliability "), float(row[2])) for row in rows
               if row[0].startswith("reliability")]
    picture.panel(("sockets", "MB/s"), [("one process, sockets in turn", LINES["udp"][1], sockets)],
                  ("set yrange [0:*]", "set logscale x 2"))
    tics = ", ".join(f"'{title}' {i}" for i, (title, _) in enumerate(besides))
    picture.panel(("at both ends", "MB/s"),
                  [("one socket", LINES["dgram"][1],
                    [(i, value) for i, (_, value) in enumerate(besides)])],
                  ("unset logscale x", f"set xtics ({tics}) rotate by -20",
                   f"set xrange [-0.5:{len(besides) - 0.5}]"))
    picture.draw()


def draw_sizes(kind):
    how, rows = read("ud3.tsv")
    picture = Picture("ud3", "half round trips between two hosts, and as bandwidth", how, kind)
    times = {who: [(bytes_of(row[0].split()[1]), float(row[2])) for row in rows
                   if row[1] == who and row[0].startswith("latency ")] for who in LINES}
    more = ("set logscale xy", "set xtics (1, 16, 256, '4K' 4096, '64K' 65536, '1M' 1048576)")
    for label, change in (("microseconds", lambda x, y: y), ("MB/s", lambda x, y: x / y)):
        picture.panel(("message size in bytes", label),
                      [(*LINES[who], [(x, change(x, y)) for x, y in times[who]])
                       for who in LINES], more)
    picture.draw()


def draw_crowd(kind):
    how, rows = read("ud5.tsv")
    picture = Picture("ud5", "every rank sends 8 B to every other one: mean time of a rank, and its "
                      "own memory afterwards", how, kind)
    more = ("set logscale xy", "set xtics (16, 64, 256, 1024)", "set xrange [8:2048]")
    for label, what, scale in (("ms", "first ring", 1), ("MiB", "after uss", 1 / 1024)):
        picture.panel(("ranks on 2 cores", label),
                      [(*LINES[who], [(int(row[0]), float(row[3]) * scale) for row in rows
                                      if row[1] == who and row[2] == what]) for who in LINES], more)
    picture.draw()


def main():
    kind = sys.argv[1] if len(sys.argv) > 1 else "svg"
    for table, draw in (("ud2.tsv", draw_endpoints), ("ud3.tsv", draw_sizes),
                        ("ud5.tsv", draw_crowd)):
        if (HERE / table).exists():
            draw(kind)


if __name__ == "__main__":
    main()
