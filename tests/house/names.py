#!/usr/bin/env python3
"""names.py - files, commands and symbols that the documents name exist.

    names.py ROOT           checks the documents in ROOT
    names.py --self-test    checks this checker

In every document (*.md), what stands in backquotes is looked at word by word:

    path      that begins with a folder of the tree, as src/p2p/send.c or p2p/send.c: is there
    file      a name as send.c or launch.md: some file of the tree has it
    symbol    weft_send, WEFT_LOG: stands in a source
    MPI_Send  stands in the header, in mpi_legacy.h, in a table of bindings/spec or in mpiexec
    command   of ours (mpiexec, mpicc, weft-info, weft-gauge): its options, those with two
              dashes, are in its manual page, as is what weft-gauge is told to do; options of
              patterns and modules stand in the sources of weft-gauge

Names of other projects are listed in FOREIGN. Each problem is one line, and the exit code
is 1.
"""

import re
import sys
import tempfile
from pathlib import Path

import tree

QUOTED = re.compile(r"(?<!`)`([^`\n]+)`(?!`)")
PATH = re.compile(r"[a-z][\w.-]*(/[\w.*-]+)+/?")
FILE = re.compile(r"[a-z][\w-]*\.(?:c|h|py|md|tsv|pml|svg|json)")
NAME = re.compile(r"(?:weft|WEFT)_[A-Za-z0-9_]+")
MPI_NAME = re.compile(r"P?MPI_[A-Za-z]\w+")
OPTION = re.compile(r"--[a-z][\w-]*")
TOPS = ("src", "bindings", "launch", "queues", "info", "gauge", "wrappers", "include", "tests", "tools",
        "bench", "docs", ".ci")
SOURCES = ("*.c", "*.h", "*.py", "*.in", "*.sh", "meson.build")
PAGES = {"mpiexec": "mpiexec", "mpirun": "mpiexec", "mpicc": "mpicc", "mpicxx": "mpicc",
         "weft-info": "weft-info", "weft-gauge": "weft-gauge"}
# Other projects' and the user's own.
FOREIGN = {"MPI_X_toint", "MPI_X_fromint", "elf.h", "old.c", "program.c", "program.py", "mpif.h", "netgauge.c"}
FOREIGN_OPTIONS = {"--mpi"}  # srun's
LEGACY = ("MPI_Fint", "MPI_T")


class Known:
    """What there is: names of files, symbols, and the words of manual pages."""

    def __init__(self, root):
        self.root = root
        self.files, self.names, self.mpi = set(), set(), set(LEGACY)
        for top in TOPS:
            for path in (root / top).rglob("*"):
                self.files.add(path.name)
            for pattern in SOURCES:
                for path in (root / top).rglob(pattern):
                    text = path.read_text(encoding="utf-8", errors="replace")
                    self.names |= set(NAME.findall(text))
        for path in [*root.glob("include/*.h"), *root.glob("bindings/spec/*"),
                     *root.glob("launch/*.c")]:  # mpiexec has two names of its own
            self.mpi |= set(MPI_NAME.findall(path.read_text(encoding="utf-8")))
        self.pages = {program: self.page(name) for program, name in PAGES.items()}
        for path in sorted((root / "gauge").rglob("*.c")):
            words = re.findall(r'"([a-z][a-z-]+)"', path.read_text(encoding="utf-8"))
            self.pages["weft-gauge"] += "".join(f"\n--{word}" for word in words)

    def page(self, name):
        path = self.root / "docs/man" / f"{name}.1"
        return path.read_text(encoding="utf-8").replace("\\-", "-") if path.is_file() else ""

    def has_path(self, path):
        """From the root, or from src/ as includes have it. A folder may end in '/', a program
        is named without its '.c', and a star stands for any name."""
        path = path.rstrip("/")
        return any(any((self.root / base).glob(path + end))
                   for base in ("", "src", "src/transport") for end in ("", ".c", ".h"))

    def is_of_tree(self, path):
        """Does it begin with a folder of ours? Others' paths are none of our business."""
        first = path.split("/")[0]
        return first in TOPS or (self.root / "src" / first).is_dir()


def check_word(known, word):
    word = word.strip("(),;:\"'").removesuffix("()")
    if PATH.fullmatch(word):
        if known.is_of_tree(word) and not known.has_path(word):
            return f"`{word}` does not exist"
    elif FILE.fullmatch(word):
        if word not in known.files and word not in FOREIGN:
            return f"no file has the name `{word}`"
    elif NAME.fullmatch(word.partition("=")[0]):
        if not has_name(known.names, word.partition("=")[0]):
            return f"`{word}` is in no source"
    elif MPI_NAME.fullmatch(word):
        if not has_name(known.mpi, word.removeprefix("P")) and word not in FOREIGN:
            return f"`{word}` is no name of MPI's"
    return None


def has_name(names, word):
    """A name that ends in '_' stands for all that begin so."""
    return word in names or (word.endswith("_") and any(n.startswith(word) for n in names))


def check_command(known, words):
    """Options of the commands of ours that a line has, and what weft-gauge is told to do."""
    found = []
    program = ""
    for at, word in enumerate(words):
        option = OPTION.match(word)
        page = known.pages.get(program, "")
        if at == 0 or word in PAGES:
            program = word
        elif page and option and option.group() not in FOREIGN_OPTIONS and \
                not re.search(re.escape(option.group()) + r"(?![\w-])", page):
            found.append(f"`{program}` has no option {option.group()}")
        elif page and words[at - 1] == "weft-gauge" and re.fullmatch(r"[a-z]+", word) and \
                not re.search(rf"weft-gauge {word}\b", page):
            found.append(f"`weft-gauge` cannot `{word}`")
    return found


def check_line(known, line):
    problems = []
    for text in QUOTED.findall(line):
        words = text.split()
        problems += [fault for fault in (check_word(known, word) for word in words) if fault]
        problems += check_command(known, words)
    return problems


def check(root):
    known = Known(root)
    return [f"{name}:{number}: {problem}"
            for name, number, line in tree.lines(root, tree.documents(root))
            for problem in check_line(known, line)]


GOOD = """`src/p2p/send.c`, `p2p/send.c`, `src/p2p/`, `src/p2p/*.c`, `weft_send`, `weft_send()`,
`ofi/other`, `a b/c`, `send.c`, `struct weft_thing`, `WEFT_LOG=info mpiexec -n 4 ./x`, `weft_`,
`MPI_Send`, `PMPI_Send`, `MPI_T_`, `mpiexec --label -n 2 x`, `weft-gauge run one_one`, `elf.h`,
`weft-gauge --help`, `srun --mpi=pmix`
"""
BAD = """`p2p/gone.c` and
`weft_gone`, `src/gone/`
`gone.c`, `WEFT_GONE=1 x`, `struct weft_lost`
`MPI_Gone`
`mpiexec --gone -n 4`, `weft-gauge dance`
"""
WANTED = ["docs/tour.md:1: `p2p/gone.c` does not exist",
          "docs/tour.md:2: `src/gone/` does not exist",
          "docs/tour.md:2: `weft_gone` is in no source",
          "docs/tour.md:3: `WEFT_GONE=1` is in no source",
          "docs/tour.md:3: `weft_lost` is in no source",
          "docs/tour.md:3: no file has the name `gone.c`",
          "docs/tour.md:4: `MPI_Gone` is no name of MPI's",
          "docs/tour.md:5: `mpiexec` has no option --gone",
          "docs/tour.md:5: `weft-gauge` cannot `dance`"]


def self_test():
    files = {"src/p2p/send.c": "int weft_send(struct weft_thing *); getenv(\"WEFT_LOG\");\n",
             "include/mpi.h": "int MPI_Send(void); int MPI_T_init(void);\n",
             "docs/man/mpiexec.1": ".B \\-\\-label\n",
             "docs/man/weft-gauge.1": ".B weft-gauge run\n.B \\-\\-help\n",
             "README.md": GOOD}
    with tempfile.TemporaryDirectory() as folder:
        root = Path(folder)
        for name, text in files.items():
            (root / name).parent.mkdir(parents=True, exist_ok=True)
            (root / name).write_text(text)
        got = check(root)
        (root / "docs/tour.md").write_text(BAD)
        got += check(root)
    if sorted(got) != WANTED:
        print(f"self-test: got {sorted(got)}, wanted {WANTED}")
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
