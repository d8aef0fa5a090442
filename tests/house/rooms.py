#!/usr/bin/env python3
"""rooms.py - no room of the house includes or links what stands above it.

    rooms.py ROOT BUILD [--nm NM]    checks the sources in ROOT and the objects in BUILD
    rooms.py ROOT BUILD --explain    says which symbols and includes make each cycle
    rooms.py --self-test             checks this checker

By includes: a quoted header is a file beside the one that names it, or `room/header.h`
of a room that may be used. By symbols: what an archive BUILD/src/libweft_ROOM.a wants and
begins with weft_ is defined in it or in a lower one, and it wants nothing of MPI's.

Inside a room no files need each other in a circle (cycles.py says what is a need), but for
the files that KNOWN_CYCLES lists. A listed file that is in no cycle any more is a problem,
too. Each problem is one line, and the exit code is 1; otherwise one line counts what was
checked.
"""

import argparse
import re
import subprocess
import sys
import tempfile
from dataclasses import dataclass
from pathlib import Path

import cycles

# From the ground up; docs/architecture.md says what each is for.
ROOMS = ("base", "wireup", "node", "transport", "engine", "core", "datatype", "match", "transfer",
         "p2p", "sched", "coll", "comm", "topo", "rma", "io", "runtime", "tools")
FIRST_WITH_MPI_H = "core"
BINDINGS = ("check", "c")  # folders of bindings/, on top of all rooms

# Beside the house: what each may use of it. The gauge measures MPI too, as a program.
BESIDE = {
    "launch": ("base", "wireup", "info"),
    "wrappers": (),
    "info": ("base", "coll"),
    "gauge": ("base", "wireup", "node", "transport"),
    "queues": ("runtime",),
}
PROGRAMS_WITH_MPI_H = ("gauge",)

# Cycles that are still there: folder of the room, why, and the files in cycles.
KNOWN_CYCLES = {}

MPI_HEADERS = ("mpi.h", "mpi_legacy.h")
GENERATED = ("places.h", "version.h")  # made by the top meson.build, names no room
INCLUDE = re.compile(r'^\s*#\s*include\s*(?:"([^"]+)"|<([^>]+)>)')
ANY_INCLUDE = re.compile(r"^\s*#\s*(?:include|import)")


@dataclass
class Room:
    """A folder whose sources keep to one set of rules."""

    name: str
    folder: str
    usable: tuple  # rooms it may include, itself among them
    has_mpi_h: bool


def house():
    """All rooms, those of src/ first."""
    with_mpi = ROOMS[ROOMS.index(FIRST_WITH_MPI_H):]
    stack = ROOMS + BINDINGS
    rooms = [Room(name, f"src/{name}", ROOMS[: i + 1], name in with_mpi)
             for i, name in enumerate(ROOMS)]
    rooms += [Room(name, f"bindings/{name}", stack[: stack.index(name) + 1], True)
              for name in BINDINGS]
    rooms += [Room(name, name, uses + (name,), name in PROGRAMS_WITH_MPI_H)
              for name, uses in BESIDE.items()]
    return rooms


def sources(folder):
    """The C files below a folder."""
    return sorted(path for path in folder.rglob("*.[ch]") if path.is_file())


# Includes


def judge_include(room, header, is_beside):
    """Why `room` may not include `header`, or None."""
    parts = header.split("/")
    if header in MPI_HEADERS:
        return None if room.has_mpi_h else f"{room.name} must not know {header}"
    if ".." in parts:
        return f"{header} climbs between folders; name the room"
    if is_beside or header in GENERATED or (len(parts) > 1 and parts[0] in room.usable):
        return None
    if len(parts) > 1 and parts[0] in ROOMS + BINDINGS + tuple(BESIDE):
        return f"{room.name} must not include {header}: {parts[0]} is not below it"
    return f"{header} is in no room that {room.name} may use"


def judge_line(room, path, line):
    """Why this line of `path` is wrong, or None."""
    if not ANY_INCLUDE.match(line):
        return None
    found = INCLUDE.match(line)
    if found is None:
        return "an include that names no file cannot be checked"
    quoted, system = found.groups()
    if quoted is not None:
        return judge_include(room, quoted, (path.parent / quoted).is_file())
    is_ours = system in MPI_HEADERS or system.split("/")[0] in ROOMS + BINDINGS
    return judge_include(room, system, False) if is_ours else None


def check_includes(root, room):
    """Problems of all files of a room."""
    problems = []
    for path in sources(root / room.folder):
        lines = path.read_text(encoding="utf-8").splitlines()
        for number, line in enumerate(lines, 1):
            cause = judge_line(room, path, line)
            if cause is not None:
                problems.append(f"{path.relative_to(root)}:{number}: {cause}")
    return problems


def check_folders(root):
    """Everything in src/ belongs to a room of the list."""
    problems = []
    for path in sorted((root / "src").iterdir()):
        if path.is_dir() and path.name not in ROOMS:
            problems.append(f"src/{path.name}: not in the list of rooms")
        elif path.suffix in (".c", ".h"):
            problems.append(f"src/{path.name}: belongs to no room")
    return problems


# Symbols


def read_symbols(nm, archive):
    """(defined, undefined) names of an archive; raises if nm cannot read all of it."""
    done = subprocess.run([nm, "-g", "-P", archive], capture_output=True, text=True,
                          check=False)
    errors = [line for line in done.stderr.splitlines() if "no symbols" not in line]
    if done.returncode != 0 or errors:
        raise RuntimeError(f"{nm} {archive}: {' '.join(errors) or 'failed'}")
    defined, undefined = set(), set()
    for line in done.stdout.splitlines():
        words = line.split()
        if len(words) >= 2 and len(words[1]) == 1:
            (undefined if words[1] in cycles.UNDEFINED else defined).add(words[0])
    return defined, undefined


def read_archives(root, build, nm, problems):
    """{room: (defined, undefined)} of the rooms that have C files."""
    tables = {}
    for name in ROOMS:
        archive = build / "src" / f"libweft_{name}.a"
        if not any((root / "src" / name).rglob("*.c")):
            continue
        if not archive.is_file():
            problems.append(f"src/{name}: has sources, but {archive} does not exist")
            continue
        tables[name] = read_symbols(nm, archive)
        if not any(symbol.startswith("weft_") for symbol in tables[name][0]):
            problems.append(f"src/{name}: nm finds nothing of ours in {archive}")
    return tables


def check_links(tables):
    """Problems of all symbols that a room wants."""
    problems = []
    known = set()
    home = {symbol: name for name, table in tables.items() for symbol in table[0]}
    for name in (room for room in ROOMS if room in tables):
        defined, undefined = tables[name]
        known |= defined
        for symbol in sorted(undefined - known):
            if symbol.startswith("weft_"):
                where = home.get(symbol, "no room")
                problems.append(f"src/{name}: links {symbol}, which is in {where}")
        problems += [f"src/{name}: links {symbol}, which is the users'"
                     for symbol in sorted(undefined)
                     if symbol.startswith(("MPI_", "PMPI_"))]
    return problems


# Cycles


def room_cycles(root, build, nm, room):
    """(cycles, needs) of the files of one room."""
    needs = cycles.room_needs(root, build, nm, room.folder, sources(root / room.folder))
    return cycles.find_cycles(needs), needs


def check_cycles(root, build, nm, room, known):
    """Problems of the files of one room that need each other; `known` is KNOWN_CYCLES."""
    folder = root / room.folder
    listed = set(known.get(room.folder, ("", ()))[1])
    problems, met = [], set()
    for cycle in room_cycles(root, build, nm, room)[0]:
        names = {str(path.relative_to(folder)) for path in cycle}
        met |= names
        if not names <= listed:
            new = ", ".join(sorted(names - listed))
            problems.append(f"{room.folder}: {new} in a cycle of {len(names)} files; --explain")
    problems += [f"{room.folder}: {name} is in no cycle any more; take it off KNOWN_CYCLES"
                 for name in sorted(listed - met)]
    return problems


def explain(root, build, nm):
    """Prints all cycles and the needs that make them."""
    for room in house():
        found, needs = room_cycles(root, build, nm, room)
        for cycle in found:
            print(f"{room.folder}: a cycle of {len(cycle)} files")
            print("\n".join(cycles.explain(cycle, needs, root / room.folder)))
    return 0


# The whole


def check(root, build, nm="nm", known=None):
    """Returns (problems, number of files, number of archives)."""
    problems = check_folders(root)
    known = KNOWN_CYCLES if known is None else known
    files = 0
    for room in house():
        files += len(sources(root / room.folder))
        problems += check_includes(root, room)
        problems += check_cycles(root, build, nm, room, known)
    tables = read_archives(root, build, nm, problems)
    return problems + check_links(tables), files, len(tables)


def report(problems, files, archives):
    """Prints the outcome and returns the exit code."""
    for problem in problems:
        print(problem)
    if not problems:
        print(f"rooms: {files} files and {archives} archives keep to the order, "
              f"{sum(len(files) for _, files in KNOWN_CYCLES.values())} files in known cycles")
    return 1 if problems else 0


# The self-test: a clean house, and one added file for every rule

CLEAN = {
    "src/base/log.h": "void weft_log(void);\n",
    "src/base/log.c": '#include "base/log.h"\n#include <stdio.h>\n'
                      "void weft_log(void) {}\n",
    "src/core/comm.h": '#include "base/log.h"\n#include "mpi.h"\nvoid weft_comm(void);\n',
    "src/core/comm.c": '#include "core/comm.h"\nvoid weft_comm(void) { weft_log(); }\n',
    "bindings/check/check.h": '#include "core/comm.h"\n',
    "bindings/c/binding.h": '#include "check/check.h"\n#include <mpi.h>\n',
    "bindings/c/init.c": '#include "binding.h"\n#include "version.h"\n',
    "launch/main.c": '#include "base/log.h"\n',
    "include/mpi.h": "int MPI_Init(int *argc, char ***argv);\n",
}

# What is wrong, the file that does it, and the one problem to be reported.
BREAKS = [
    ("an upward include", "src/base/up.c",
     '#include "core/comm.h"\nvoid weft_up(void) {}\n',
     "src/base/up.c:1: base must not include core/comm.h: core is not below it"),
    ("an upward include in angle brackets", "src/base/up.h", "#include <core/comm.h>\n",
     "src/base/up.h:1: base must not include core/comm.h: core is not below it"),
    ("an upward include by a detour", "src/base/up.h", '#include "../core/comm.h"\n',
     "src/base/up.h:1: ../core/comm.h climbs between folders; name the room"),
    ("a header of nobody", "src/core/up.h", '#include "nowhere.h"\n',
     "src/core/up.h:1: nowhere.h is in no room that core may use"),
    ("a header behind a macro", "src/core/up.h", "#include HEADER\n",
     "src/core/up.h:1: an include that names no file cannot be checked"),
    ("mpi.h below the objects", "src/base/up.h", "#include <mpi.h>\n",
     "src/base/up.h:1: base must not know mpi.h"),
    ("the bindings in a room", "src/core/up.h", '#include "check/check.h"\n',
     "src/core/up.h:1: core must not include check/check.h: check is not below it"),
    ("the functions in the checks", "bindings/check/up.h", '#include "c/binding.h"\n',
     "bindings/check/up.h:1: check must not include c/binding.h: c is not below it"),
    ("a launcher that knows objects", "launch/up.h", '#include "core/comm.h"\n',
     "launch/up.h:1: launch must not include core/comm.h: core is not below it"),
    ("an upward link", "src/base/up.c",
     "void weft_comm(void);\nvoid weft_up(void) { weft_comm(); }\n",
     "src/base: links weft_comm, which is in core"),
    ("a weak upward link", "src/base/up.c",
     "void weft_comm(void) __attribute__((weak));\n"
     "void weft_up(void) { if (weft_comm) weft_comm(); }\n",
     "src/base: links weft_comm, which is in core"),
    ("a link to nothing", "src/core/up.c",
     "void weft_none(void);\nvoid weft_up(void) { weft_none(); }\n",
     "src/core: links weft_none, which is in no room"),
    ("a call to MPI", "src/core/up.c",
     '#include "mpi.h"\nvoid weft_up(void) { MPI_Init(0, 0); }\n',
     "src/core: links MPI_Init, which is the users'"),
    ("a call to MPI's twin", "src/core/up.c",
     "int PMPI_Init(void);\nvoid weft_up(void) { PMPI_Init(); }\n",
     "src/core: links PMPI_Init, which is the users'"),
    ("an unknown room", "src/cellar/wine.h", "", "src/cellar: not in the list of rooms"),
    ("a file outside the rooms", "src/stray.c", "", "src/stray.c: belongs to no room"),
]

# Two C files of one room that call each other, and two headers that include each other.
TWO_FILES = {"src/base/up.c": "void weft_log(void);\nvoid weft_up(void) { weft_log(); }\n",
             "src/base/log.c": "void weft_up(void);\nvoid weft_log(void) { weft_up(); }\n"}
TWO_HEADERS = {"src/base/up.h": '#pragma once\n#include "base/log.h"\n',
               "src/base/log.h": '#pragma once\n#include "up.h"\nvoid weft_log(void);\n'}
A_CIRCLE = {"src/base": ("a reason", ("log.c", "up.c"))}

# What is wrong, the files that do it, the known cycles, and the problems to be reported.
CIRCLES = [
    ("two files in a circle", TWO_FILES, {},
     ["src/base: log.c, up.c in a cycle of 2 files; --explain"]),
    ("two headers in a circle", TWO_HEADERS, {},
     ["src/base: log.h, up.h in a cycle of 2 files; --explain"]),
    ("a known circle", TWO_FILES, A_CIRCLE, []),
    ("a known circle that has grown", TWO_FILES, {"src/base": ("a reason", ("log.c",))},
     ["src/base: up.c in a cycle of 2 files; --explain"]),
    ("a known circle that is gone", {}, {"src/base": ("a reason", ("log.c",))},
     ["src/base: log.c is in no cycle any more; take it off KNOWN_CYCLES"]),
    ("a call in one direction", {"src/base/up.c": TWO_FILES["src/base/up.c"]}, {}, []),
]


def build_archive(root, build, name):
    """Compiles a room's files and puts them into its archive."""
    archive = build / "src" / f"libweft_{name}.a"
    archive.parent.mkdir(parents=True, exist_ok=True)
    objects = []
    for path in sorted((root / "src" / name).glob("*.c")):
        objects.append(build / "src" / f"libweft_{name}.a.p" / f"{name}_{path.name}.o")
        objects[-1].parent.mkdir(parents=True, exist_ok=True)
        subprocess.run(["cc", "-w", "-I", root / "src", "-I", root / "include",
                        "-c", path, "-o", objects[-1]], check=True)
    subprocess.run(["ar", "rc", archive, *objects], check=True)


def check_house(extra, archives=("base", "core"), known=None):
    """check() on the clean house with the files of `extra` added; no cycle is known."""
    with tempfile.TemporaryDirectory() as folder:
        root = Path(folder)
        for name, text in (CLEAN | extra).items():
            path = root / name
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_text(text, encoding="utf-8")
        for name in archives:
            build_archive(root, root / "build", name)
        return [problem.replace(f"{root}/", "") for problem in
                check(root, root / "build", known=known or {})[0]]


def self_test():
    """Feeds a clean house and broken ones to the checker; returns the exit code."""
    missing = ["src/core: has sources, but build/src/libweft_core.a does not exist"]
    outcomes = [("a clean house", check_house({}), []),
                ("a missing archive", check_house({}, archives=("base",)), missing)]
    outcomes += [(name, check_house({path: text}), [wanted])
                 for name, path, text, wanted in BREAKS]
    outcomes += [(name, check_house(extra, known=known), wanted)
                 for name, extra, known, wanted in CIRCLES]
    failures = [outcome for outcome in outcomes if outcome[1] != outcome[2]]
    for name, got, wanted in failures:
        print(f"self-test: {name}: got {got}, wanted {wanted}")
    if not failures:
        print(f"rooms: self-test passed, {len(outcomes)} cases")
    return 1 if failures else 0


def main():
    parser = argparse.ArgumentParser(description="Checks the order of the rooms.")
    parser.add_argument("folders", nargs="*", type=Path, metavar="ROOT BUILD")
    parser.add_argument("--nm", default="nm")
    parser.add_argument("--explain", action="store_true")
    parser.add_argument("--self-test", action="store_true")
    args = parser.parse_args()
    if args.self_test:
        return self_test()
    if len(args.folders) != 2:
        parser.error("ROOT and BUILD are needed")
    if args.explain:
        return explain(*args.folders, args.nm)
    return report(*check(*args.folders, args.nm))


if __name__ == "__main__":
    sys.exit(main())
