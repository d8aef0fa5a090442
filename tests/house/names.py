#!/usr/bin/env python3
"""names.py - files and functions that the documents name exist.

    names.py ROOT           checks the documents in ROOT
    names.py --self-test    checks this checker

In README.md, CONTRIBUTING.md and docs/*.md, what stands in backquotes and looks like a path
of the tree, as `src/p2p/send.c` or `p2p/send.c`, is a file or folder there; and what looks
like a name of ours, as `weft_send`, stands in a source. docs/papers.md has a checker of its
own, and CHANGELOG.md speaks of the past. Each problem is one line, and the exit code is 1.
"""

import re
import sys
import tempfile
from pathlib import Path

QUOTED = re.compile(r"`([^`\n]+)`")
PATH = re.compile(r"[a-z][\w.-]*(/[\w.-]+)+/?")
NAME = re.compile(r"weft_[a-z0-9_]+")
TOPS = ("src", "bindings", "launch", "info", "gauge", "wrappers", "include", "tests", "tools",
        "bench", "docs")
SOURCES = ("*.c", "*.h", "*.py", "meson.build")
APART = ("papers.md",)


def documents(root):
    found = [root / "README.md", root / "CONTRIBUTING.md", *sorted((root / "docs").glob("*.md"))]
    return [path for path in found if path.is_file() and path.name not in APART]


def known_names(root):
    """Every weft_ word of the sources."""
    names = set()
    for top in TOPS:
        for pattern in SOURCES:
            for path in (root / top).rglob(pattern):
                names |= set(NAME.findall(path.read_text(encoding="utf-8", errors="replace")))
    return names


def is_there(root, path):
    """A path from the root, or from src/ as includes have it. A folder may end in '/', and a
    program is named without its '.c'."""
    path = path.rstrip("/")
    return any((root / base / (path + end)).exists()
               for base in ("", "src", "src/transport") for end in ("", ".c"))


def is_of_tree(root, path):
    """Does it begin with a folder of ours? Others' paths are none of our business."""
    first = path.split("/")[0]
    return first in TOPS or (root / "src" / first).is_dir()


def check_line(root, line, names):
    problems = []
    for text in QUOTED.findall(line):
        if PATH.fullmatch(text) and is_of_tree(root, text) and not is_there(root, text):
            problems.append(f"`{text}` does not exist")
        if NAME.fullmatch(text) and text not in names:
            problems.append(f"`{text}` is in no source")
    return problems


def check(root):
    names = known_names(root)
    problems = []
    for path in documents(root):
        for number, line in enumerate(path.read_text(encoding="utf-8").splitlines(), 1):
            problems += [f"{path.relative_to(root)}:{number}: {problem}"
                         for problem in check_line(root, line, names)]
    return problems


def self_test():
    with tempfile.TemporaryDirectory() as folder:
        root = Path(folder)
        (root / "src/p2p").mkdir(parents=True)
        (root / "src/p2p/send.c").write_text("int weft_send(void);\n")
        (root / "docs").mkdir()
        good = "`src/p2p/send.c`, `p2p/send.c`, `src/p2p/`, `weft_send`, `ofi/other`, `a b/c`\n"
        (root / "README.md").write_text(good)
        got = check(root)
        (root / "docs/tour.md").write_text("`p2p/gone.c` and\n`weft_gone`, `src/gone/`\n")
        got += check(root)
    wanted = ["docs/tour.md:1: `p2p/gone.c` does not exist",
              "docs/tour.md:2: `src/gone/` does not exist",
              "docs/tour.md:2: `weft_gone` is in no source"]
    if sorted(got) != wanted:
        print(f"self-test: got {got}, wanted {wanted}")
        return 1
    print("names: self-test passed")
    return 0


def main(arguments):
    if arguments == ["--self-test"]:
        return self_test()
    problems = check(Path(arguments[0]))
    for problem in problems:
        print(problem)
    return 1 if problems else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
