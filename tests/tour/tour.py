#!/usr/bin/env python3
"""tour.py - the tour of a message in docs/architecture.md is the way that messages go.

    tour.py ROOT MPIEXEC ARCHIVE FOLDER --compiler COMMAND...    follows the tour
    tour.py --self-test                                          checks this checker

A section of the tour is a heading "### A small message, out", or long, or in, or over a
network, and a numbered list. A step names a file and functions in backquotes: the file defines
the functions, and a message enters them in the order of the list. program.c sends such messages;
it and the files that the tour names are compiled in FOLDER so that they tell which functions they
enter (record.c). Everything else is linked from ARCHIVE, the static library.
Other functions may be entered between those of the tour. A message may go another way, when it
comes before its receive is posted, say: of all that are sent, some follow the tour.
"""

import argparse
import concurrent.futures
import os
import re
import subprocess
import sys
import tempfile
from pathlib import Path

PAGE = "docs/architecture.md"
HERE = Path(__file__).resolve().parent
RECORDER = HERE / "record.c"
ROUNDS = 40
SIZES = {"small": 8, "long": 1 << 20}
RANKS = {"out": 0, "in": 1}
SECTION = re.compile(r"^### A (small|long) message, (out|in)(, over a network)?$", re.M)
WORD = re.compile(r"`([\w./]+)`")


def read_tour(page):
    """[(heading, size, side, is over a network, [(file, function)])]"""
    tour = []
    for found in SECTION.finditer(page):
        text = re.split(r"^#", page[found.end():], maxsplit=1, flags=re.M)[0]
        steps, file = [], None
        for item in re.findall(r"^\d+\. .*?(?=^\d+\. |^\S|\Z)", text, re.M | re.S):
            for word in WORD.findall(item):
                if "/" in word:
                    file = word
                else:
                    steps.append((file, word))
        size, side, network = found.groups()
        tour.append((found.group()[4:], size, side, network is not None, steps))
    return tour


def check_files(root, steps):
    """Each file defines the functions that the tour names after it."""
    problems = []
    for file, function in steps:
        text = (root / file).read_text(encoding="utf-8") if file else ""
        if not re.search(rf"^[\w *()]*\b{function}\([^;]*?\)\n\{{", text, re.M | re.S):
            problems.append(f"{file} does not define {function}")
    return problems


def compile_one(command, source, folder, root):
    """Makes the object of one source; the recorder itself is not recorded."""
    made = folder / (re.sub(r"\W", "_", os.path.relpath(source, root)) + ".o")
    told = [] if source == RECORDER else ["-finstrument-functions"]
    subprocess.run([*command, *told, "-c", source, "-o", made], check=True)
    return made


def to_compile(root, tour):
    """The sources that the tour names. A header is compiled with those that include it."""
    named = {file for *_, steps in tour for file, _ in steps if file and file.endswith(".c")}
    return [*sorted(root / file for file in named), HERE / "program.c", RECORDER]


def compile_all(args, tour):
    """Makes the program that tells which functions it enters."""
    folder = args.folder / "objects"
    folder.mkdir(parents=True, exist_ok=True)
    with concurrent.futures.ThreadPoolExecutor(os.cpu_count()) as pool:
        objects = list(pool.map(lambda source: compile_one(args.compiler, source, folder, args.root),
                                to_compile(args.root, tour)))
    program = args.folder / "program"
    subprocess.run([*args.compiler, "-fno-lto", *objects, args.archive, "-ldl", "-lm", "-o", program],
                   check=True)
    return program


def read_symbols(program):
    """{address: name} of the functions of a program; PMPI_ counts, and not its weak twin."""
    done = subprocess.run(["nm", program], capture_output=True, text=True, check=True)
    lines = [words for words in map(str.split, done.stdout.splitlines()) if len(words) == 3]
    weak = {int(at, 16): name for at, kind, name in lines if kind in "wW"}
    return weak | {int(at, 16): name for at, kind, name in lines if kind in "tT"}


def read_calls(path, symbols):
    """For each message the names of the functions that it entered."""
    main = next(address for address, name in symbols.items() if name == "main")
    for line in path.read_text(encoding="ascii").splitlines():
        first, *entered = (int(word, 16) for word in line.split())
        yield [symbols.get(address - first + main, "?") for address in entered]


def followed(steps, calls):
    """How many steps, from the first on, the calls contain in this order."""
    rest = iter(calls)
    for number, step in enumerate(steps):
        if step not in rest:
            return number
    return len(steps)


def judge(heading, steps, messages):
    """What is wrong with a section, given the calls of all messages."""
    names = [function for _, function in steps]
    if len(names) < 3:
        return [f"{heading}: only {len(names)} functions are named"]
    best = max((followed(names, calls) for calls in messages), default=0)
    if best == len(names):
        return []
    before = f"after {names[best - 1]}" if best > 0 else "at the beginning"
    return [f"{heading}: no message enters {names[best]} {before}"]


def run(args, program, size, is_network, folder):
    """Sends the messages of one kind; {rank: calls of each}."""
    settings = dict(os.environ)
    if is_network:
        settings["WEFT_TRANSPORT"] = "msg"
    file = Path(folder) / "calls"
    subprocess.run([args.mpiexec, "-n", "2", program, file, str(size), str(ROUNDS)],
                   check=True, env=settings, timeout=100)
    symbols = read_symbols(program)
    return {rank: list(read_calls(Path(f"{file}.{rank}"), symbols)) for rank in (0, 1)}


def follow(args):
    """Follows all sections; returns the exit code."""
    tour = read_tour((args.root / PAGE).read_text(encoding="utf-8"))
    problems = [] if tour else [f"{PAGE} has no tour"]
    runs = {}
    program = compile_all(args, tour)
    for heading, size, side, is_network, steps in tour:
        problems += [f"{heading}: {cause}" for cause in check_files(args.root, steps)]
        if (size, is_network) not in runs:
            with tempfile.TemporaryDirectory() as folder:
                runs[size, is_network] = run(args, program, SIZES[size], is_network, folder)
        problems += judge(heading, steps, runs[size, is_network][RANKS[side]])
    print("\n".join(problems) or f"tour: {sum(len(t[4]) for t in tour)} functions of "
          f"{len(tour)} sections are entered in the order that {PAGE} says")
    return 1 if problems else 0


def self_test():
    """Reads and judges a small page; returns the exit code."""
    page = ("### A small message, out\n\n1. `a/b.c`, `one`: text,\n   `two`.\n"
            "2. `c/d.c`, `three`\n\nand `four`.\n\n## End\n1. `five`\n"
            "### A long message, in, over a network\n1. `e/f.c`, `six`\n")
    steps = [("a/b.c", "one"), ("a/b.c", "two"), ("c/d.c", "three")]
    wanted = [("A small message, out", "small", "out", False, steps),
              ("A long message, in, over a network", "long", "in", True, [("e/f.c", "six")])]
    outcomes = [
        ("a page", read_tour(page), wanted),
        ("a message", judge("S", steps, [["one", "x", "two", "y", "three"]]), []),
        ("one of two", judge("S", steps, [["one"], ["one", "two", "three"]]), []),
        ("another order", judge("S", steps, [["two", "one", "three"]]),
         ["S: no message enters two after one"]),
        ("nothing", judge("S", steps, []), ["S: no message enters one at the beginning"]),
        ("two steps", judge("S", steps[:2], []), ["S: only 2 functions are named"]),
        ("sources", to_compile(Path("/r"), [("S", [("b.c", "f"), ("a.h", "g"), ("b.c", "h")])]),
         [Path("/r/b.c"), HERE / "program.c", RECORDER]),
    ]
    failures = [outcome for outcome in outcomes if outcome[1] != outcome[2]]
    for name, got, expected in failures:
        print(f"self-test: {name}: got {got}, wanted {expected}")
    print("tour: self-test failed" if failures else f"tour: {len(outcomes)} cases passed")
    return 1 if failures else 0


def main():
    parser = argparse.ArgumentParser(description="Follows the tour of a message.")
    parser.add_argument("root", nargs="?", type=Path)
    parser.add_argument("mpiexec", nargs="?")
    parser.add_argument("archive", nargs="?", type=Path)
    parser.add_argument("folder", nargs="?", type=Path)
    parser.add_argument("--compiler", nargs=argparse.REMAINDER, default=[])
    parser.add_argument("--self-test", action="store_true")
    args = parser.parse_args()
    if args.self_test:
        return self_test()
    if not args.compiler:
        parser.error("ROOT, MPIEXEC, ARCHIVE, FOLDER and a compiler are needed")
    return follow(args)


if __name__ == "__main__":
    sys.exit(main())
