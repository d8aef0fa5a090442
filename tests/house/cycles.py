"""cycles.py - which files of a room need each other in a circle; rooms.py asks.

A C file needs another one of its room when its object wants a symbol that the other's object
defines. A header needs another one of its room when it includes it. Files that reach each
other by such needs form a cycle.
"""

import re
import subprocess

INCLUDE = re.compile(r'^\s*#\s*include\s*"([^"]+)"', re.MULTILINE)
UNDEFINED = "Uwv"


def object_name(path):
    """What Meson calls the object of a source, given relative to its meson.build."""
    return f"{str(path).replace('/', '_')}.o"


def find_objects(root, build, folder, files):
    """{object: source} of the C files of a room; folder is the room's, below root."""
    top = root / folder.split("/")[0]  # the folder with the meson.build
    by_name = {object_name(path.relative_to(top)): path for path in files if path.suffix == ".c"}
    objects = (build / top.name).glob("*.p/*.o")
    return {str(path): by_name[path.name] for path in sorted(objects) if path.name in by_name}


def read_objects(nm, objects):
    """({symbol: source that defines it}, {source: symbols it wants})."""
    homes, wants = {}, {source: set() for source in objects.values()}
    if not objects:
        return homes, wants
    done = subprocess.run([nm, "-A", "-g", "-P", *objects], capture_output=True, text=True,
                          check=False)
    if done.returncode != 0:
        raise RuntimeError(f"{nm}: {done.stderr.strip() or 'failed'}")
    for line in done.stdout.splitlines():
        name, _, rest = line.partition(": ")
        words = rest.split()
        if name not in objects or len(words) < 2 or len(words[1]) != 1:
            continue
        if words[1] in UNDEFINED:
            wants[objects[name]].add(words[0])
        else:
            homes.setdefault(words[0], objects[name])
    return homes, wants


def symbol_needs(nm, objects):
    """{(source, source): symbols} for the files of one room."""
    homes, wants = read_objects(nm, objects)
    needs = {}
    for source, symbols in wants.items():
        for symbol in symbols:
            home = homes.get(symbol, source)
            if home != source:
                needs.setdefault((source, home), set()).add(symbol)
    return needs


def include_needs(root, folder, files):
    """{(header, header): what the include says} for the files of one room."""
    headers = {path for path in files if path.suffix == ".h"}
    bases = [root, (root / folder).parent]
    needs = {}
    for header in headers:
        for name in INCLUDE.findall(header.read_text(encoding="utf-8")):
            for base in (header.parent, *bases):
                if base / name in headers and base / name != header:
                    needs.setdefault((header, base / name), set()).add(f'#include "{name}"')
    return needs


def reachable(start, after):
    """All that can be reached from start by at least one step."""
    found, rest = set(), [start]
    while rest:
        for following in after.get(rest.pop(), ()):
            if following not in found:
                found.add(following)
                rest.append(following)
    return found


def find_cycles(needs):
    """The sets of files that reach each other, the largest first."""
    after = {}
    for source, target in needs:
        after.setdefault(source, set()).add(target)
    reach = {source: reachable(source, after) for source in after}
    cycles, known = [], set()
    for source in sorted(after):
        if source in known or source not in reach[source]:
            continue
        cycle = {other for other in reach[source] if source in reach.get(other, ())}
        known |= cycle
        cycles.append(cycle)
    return sorted(cycles, key=len, reverse=True)


def room_needs(root, build, nm, folder, files):
    """All needs between the files of one room, by symbols and by includes."""
    objects = find_objects(root, build, folder, files)
    return symbol_needs(nm, objects) | include_needs(root, folder, files)


def explain(cycle, needs, base):
    """Lines that say which need makes which step of a cycle."""
    lines = []
    for (source, target), symbols in sorted(needs.items()):
        if source in cycle and target in cycle:
            names = ", ".join(sorted(symbols))
            lines.append(f"  {source.relative_to(base)} -> {target.relative_to(base)}: {names}")
    return lines
