"""draw.py FOLDER - draws Figures 12 and 13 of the MPI-on-Portals paper, with our figures.

FOLDER holds weft.tsv, openmpi.tsv and mpich.tsv, over shared memory, and rdm.tsv and tagged.tsv,
which are Weft over libfabric's tcp;ofi_rxm with Weft's own matcher and with the provider's: rows
of bench/availability, several rounds one after the other, of which the median is drawn, behind
lines with # that say how they were measured and that are drawn too.  Written there: portals12.svg, where the receiver's own
processor has to act for each message (wildcard receives), and portals13.svg, where it has not
(named receives).
"""

import math
import statistics
import sys
from pathlib import Path

LIBRARIES = {"weft": ("Weft", "#0b5fa5"), "openmpi": ("Open MPI", "#c2410c"),
             "mpich": ("MPICH", "#4d7c0f"),
             "rdm": ("Weft, ofi_rxm, own matcher", "#7c3aed"),
             "tagged": ("Weft, ofi_rxm, its matcher", "#db2777")}
FIGURES = {
    "portals12.svg": ("wildcard", "100 KB messages into wildcard receives: the receiver's "
                      "processor has to act"),
    "portals13.svg": ("named", "100 KB messages into receives with source and tag: "
                      "the sender knows where to store"),
}
# Title, unit, rows (solid, dashed), lowest and highest value, and whether it is logarithmic.
PANELS = [
    ("work while messages come (dashed: alone), post-work-wait", "us",
     ("availability.pww.work", "availability.pww.alone"), 5, 50000, True),
    ("availability, post-work-wait", "%", ("availability.pww",), 0, 110, False),
    ("availability, polling", "%", ("availability.poll",), 0, 110, False),
    ("bandwidth, polling", "MB/s", ("availability.poll.bw",), 1, 20000, True),
]
WIDTH, HEIGHT = 380, 230  # of a panel's frame
LEFT, TOP, GAP_X, GAP_Y = 60, 80, 90, 80
X_LOW, X_HIGH = 10, 30000  # us


def read(path):
    """How it was measured, and {(bench, kind): {work in us: median}}."""
    lines = path.read_text(encoding="utf-8").splitlines()
    how = [line.removeprefix("# ") for line in lines if line.startswith("#")]
    rows = {}
    for line in lines[len(how):]:
        bench, parameter, value, _unit = line.split("\t")
        kind, work = parameter.split(",")
        key = (bench, kind)
        rows.setdefault(key, {}).setdefault(int(work.removesuffix("us")), []).append(
            float(value))
    return how, {key: {x: statistics.median(v) for x, v in points.items()}
                 for key, points in rows.items()}


def share(value, low, high, is_log):
    """Where a value lies between low and high, from 0 to 1."""
    if is_log:
        value, low, high = (math.log10(v) for v in (max(value, low), low, high))
    return min(max((value - low) / (high - low), 0), 1)


def ticks(low, high, is_log):
    """Values to label."""
    if not is_log:
        return list(range(low, high, 20))
    return [10 ** e for e in range(math.ceil(math.log10(low)),
                                   math.floor(math.log10(high)) + 1)]


def text(x, y, words, size=12, anchor="middle", colour="#222"):
    """A line of text."""
    return (f'<text x="{x:.1f}" y="{y:.1f}" font-size="{size}" text-anchor="{anchor}" '
            f'fill="{colour}">{words}</text>')


def stroke(points, colour, dash=""):
    """A line through points of the picture."""
    way = " ".join(f"{x:.1f},{y:.1f}" for x, y in points)
    dashes = f' stroke-dasharray="{dash}"' if dash else ""
    return (f'<polyline points="{way}" fill="none" stroke="{colour}" stroke-width="1.8"'
            f"{dashes}/>")


def frame(panel, left, top):
    """Axes, grid and labels."""
    title, unit, _rows, low, high, is_log = panel
    parts = [f'<rect x="{left}" y="{top}" width="{WIDTH}" height="{HEIGHT}" '
             'fill="none" stroke="#888"/>',
             text(left + WIDTH / 2, top - 10, f"{title} ({unit})", 13),
             text(left + WIDTH / 2, top + HEIGHT + 34, "length of the work alone, us")]
    for value in ticks(X_LOW, X_HIGH, True):
        x = left + WIDTH * share(value, X_LOW, X_HIGH, True)
        parts += [stroke([(x, top), (x, top + HEIGHT)], "#e2e2e2"),
                  text(x, top + HEIGHT + 16, f"{value:,}", 11)]
    for value in ticks(low, high, is_log):
        y = top + HEIGHT * (1 - share(value, low, high, is_log))
        parts += [stroke([(left, y), (left + WIDTH, y)], "#e2e2e2"),
                  text(left - 6, y + 4, f"{value:,}", 11, "end")]
    return parts


def curves(panel, data, kind, left, top):
    """One for every library and row."""
    _title, _unit, rows, low, high, is_log = panel
    parts = []
    for library, (_name, colour) in LIBRARIES.items():
        for bench, dash in zip(rows, ("", "4 3")):
            points = [(left + WIDTH * share(x, X_LOW, X_HIGH, True),
                       top + HEIGHT * (1 - share(y, low, high, is_log)))
                      for x, y in sorted(data[library][1][(bench, kind)].items())]
            parts.append(stroke(points, colour, dash))
    return parts


def legend(top):
    """Which colour is whose."""
    parts = []
    for i, (name, colour) in enumerate(LIBRARIES.values()):
        x = LEFT + 90 * min(i, 3) + 210 * max(i - 3, 0)
        parts += [stroke([(x, top), (x + 24, top)], colour),
                  text(x + 30, top + 4, name, 12, "start")]
    return parts


def draw(data, kind, title):
    """The picture as SVG."""
    width = LEFT + 2 * WIDTH + GAP_X + 30
    notes = list(dict.fromkeys(line for how, _rows in data.values() for line in how))
    height = TOP + 2 * HEIGHT + GAP_Y + 50 + 18 * len(notes)
    parts = [f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {width} {height}" '
             'font-family="sans-serif">',
             f'<rect width="{width}" height="{height}" fill="white"/>',
             text(LEFT, 24, title, 15, "start"), *legend(44)]
    for i, panel in enumerate(PANELS):
        left = LEFT + i % 2 * (WIDTH + GAP_X)
        top = TOP + i // 2 * (HEIGHT + GAP_Y)
        parts += frame(panel, left, top) + curves(panel, data, kind, left, top)
    for i, note in enumerate(notes):
        y = height - 18 * (len(notes) - i) + 6
        parts.append(text(LEFT, y, note, 11, "start", "#555"))
    return "\n".join(parts + ["</svg>", ""])


def main(folder):
    """Writes both pictures."""
    data = {library: read(folder / f"{library}.tsv") for library in LIBRARIES}
    for name, (kind, title) in FIGURES.items():
        (folder / name).write_text(draw(data, kind, title), encoding="utf-8")


if __name__ == "__main__":
    main(Path(sys.argv[1]))
