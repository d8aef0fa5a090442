"""coll.py - measures and draws collectives over sizes and over ranks, of three MPIs.

    coll.py measure PREFIX [ROUNDS]   writes coll.tsv here, PREFIX being where Weft is installed
    coll.py draw [png]                draws coll_barrier.svg, coll_bcast.svg ... from it, by
                                      gnuplot

Each round runs every MPI once (bench/coll.c); medians over the rounds are drawn. Lines with #
say how the table was measured.
"""

import os
import platform
import statistics
import subprocess
import sys
import time
from pathlib import Path

HERE = Path(__file__).parent
RUN = HERE.parent.parent / "bench" / "run"
LINES = {"weft": ("Weft", "#0b5fa5"), "openmpi": ("Open MPI", "#c2410c"),
         "mpich": ("MPICH", "#4d7c0f")}
OPERATIONS = ("barrier", "bcast", "allreduce", "alltoall", "allgather")
SIZES = (8, 64, 512, 4096, 16384, 65536, 262144, 1048576)  # at 2 ranks
RANKS = (2, 4, 8, 16)
FEW_SIZES = (8, 65536)  # at all numbers of ranks
UNITS = {"B": 1, "KiB": 1024, "MiB": 1 << 20}


def commands(prefix):
    """The compiler and the launcher of each MPI."""
    return {"weft": (f"{prefix}/bin/mpicc", f"{prefix}/bin/mpiexec"),
            "openmpi": ("mpicc.openmpi", "mpiexec.openmpi --allow-run-as-root --oversubscribe"),
            "mpich": ("mpicc.mpich", "mpiexec.mpich")}


def run(mpicc, mpiexec, ranks, sizes):
    """Operation, bytes and microseconds of each row that bench/coll.c prints."""
    told = subprocess.run([RUN, mpicc, mpiexec, "coll:" + ",".join(map(str, sizes))],
                          env=os.environ | {"COLL_N": str(ranks), "LIMIT": "240"}, check=True,
                          capture_output=True, text=True).stdout
    for line in told.splitlines():
        bench, parameter, value, unit = line.split("\t")
        if unit == "us":
            yield bench.removeprefix("coll."), bytes_of(parameter), float(value)


def bytes_of(parameter):
    """Of "n=2,64KiB"; 0: no size."""
    size = parameter.partition(",")[2]
    if not size:
        return 0
    number = size.rstrip("BKMi")
    return int(number) * UNITS[size[len(number):]]


def measure(prefix, rounds):
    """Every MPI in turn, and all of that several times."""
    found = {}
    for _ in range(rounds):
        for ranks in RANKS:
            for line, (mpicc, mpiexec) in commands(prefix).items():
                sizes = SIZES if ranks == 2 else FEW_SIZES
                for operation, size, us in run(mpicc, mpiexec, ranks, sizes):
                    found.setdefault((line, operation, ranks, size), []).append(us)
    with (HERE / "coll.tsv").open("w", encoding="utf-8") as out:
        print(f"# {time.strftime('%Y-%m-%d')}, {os.cpu_count()} cores, Linux "
              f"{platform.release()}, Open MPI 4.1.4, MPICH 4.0.2 (Debian 12), medians of "
              f"{rounds} rounds in turn", file=out)
        print("# bench/run MPICC MPIEXEC coll:SIZE,...  with COLL_N=RANKS", file=out)
        print("# line operation ranks bytes us", file=out)
        for key, values in sorted(found.items()):
            print(*key, f"{statistics.median(values):.4g}", sep="\t", file=out)


def read():
    """How it was measured, and {(line, operation): [(ranks, bytes, us)]}."""
    text = (HERE / "coll.tsv").read_text(encoding="utf-8").splitlines()
    rows = {}
    for line in text:
        if not line.startswith("#"):
            name, operation, ranks, size, us = line.split("\t")
            rows.setdefault((name, operation), []).append((int(ranks), int(size), float(us)))
    return text[0][2:], rows


class Picture:
    """A script for gnuplot."""

    def __init__(self, operation, how, kind):
        terminal = "svg background 'white'" if kind == "svg" else "pngcairo"
        self.script = [
            f"set terminal {terminal} noenhanced size 1200,520 font ',12'",
            f"set output '{HERE}/coll_{operation}.{kind}'", "set logscale xy", "set grid",
            "set key below", "set ylabel 'us per call'",
            f"set multiplot layout 1,2 title \"MPI_{operation.capitalize()}\\n{how}\""]
        self.blocks = 0

    def line(self, points, title, colour, dashes=1):
        """Data, and how they are drawn."""
        self.blocks += 1
        self.script += [f"$data{self.blocks} << END",
                        *(f"{x} {y:.6g}" for x, y in sorted(points)), "END"]
        return (f"$data{self.blocks} using 1:2 with linespoints lw 2 dt {dashes} "
                f"lc rgb '{colour}' title '{title}'")

    def panel(self, label, tics, lines):
        self.script += [f"set xlabel '{label}'", f"set xtics ({tics})",
                        "plot " + ", ".join(lines)]

    def draw(self):
        self.script += ["unset multiplot", ""]
        subprocess.run(["gnuplot"], input="\n".join(self.script), text=True, check=True)


def draw(kind):
    """One picture of each operation: over sizes at 2 ranks, and over ranks."""
    how, rows = read()
    for operation in OPERATIONS:
        picture = Picture(operation, how, kind)
        over_sizes, over_ranks = [], []
        for name, (title, colour) in LINES.items():
            points = rows.get((name, operation), [])
            at_two = [(size, us) for ranks, size, us in points if ranks == 2 and size > 0]
            if at_two:
                over_sizes.append(picture.line(at_two, f"{title}, 2 ranks", colour))
            for dashes, size in enumerate((0, *FEW_SIZES), 0):
                of_size = [(ranks, us) for ranks, b, us in points if b == size]
                if of_size:
                    label = title if size == 0 else f"{title}, {size} B"
                    over_ranks.append(picture.line(of_size, label, colour, max(dashes, 1)))
        if over_sizes:
            picture.panel("bytes", "8, 64, 512, '4K' 4096, '64K' 65536, '1M' 1048576", over_sizes)
        picture.panel("ranks on 2 cores", "2, 4, 8, 16", over_ranks)
        picture.draw()


def main(words):
    """See the top."""
    if words[:1] == ["measure"] and len(words) in (2, 3):
        measure(words[1], int(words[2]) if len(words) == 3 else 3)
    elif words[:1] == ["draw"] and len(words) <= 2:
        draw(words[1] if len(words) == 2 else "svg")
    else:
        sys.exit(__doc__)


if __name__ == "__main__":
    main(sys.argv[1:])
