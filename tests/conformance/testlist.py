"""testlist.py - what MPICH's lists of tests say.

A line is a program, its number of ranks, and words of the form key=value.  Each line that is
not empty is one entry; its name is the line itself.
"""

import re
from dataclasses import dataclass, field

DEFAULT_RANKS = 2
DEFAULT_LIMIT = 180  # seconds, as in MPICH's own runner
FILES = ("testlist", "testlist.in")


@dataclass
class Entry:
    list: str
    name: str
    program: str
    ranks: int = DEFAULT_RANKS
    limit: int = DEFAULT_LIMIT
    arguments: list = field(default_factory=list)
    environment: dict = field(default_factory=dict)
    memory: float = 0  # GB
    must_fail: bool = False  # the job has to end with an error
    ends_by_limit: bool = False  # and the time limit is what ends it

    @property
    def key(self):
        return self.list, self.name


def clean(line):
    """Without comments and without @switches@, which MPICH's configure turns off or on."""
    return " ".join(re.sub(r"@\w+@", "", line.split("#", 1)[0]).split())


def entry(listed, line):
    words = line.split()
    made = Entry(listed, line, words[0])
    if len(words) > 1 and words[1].isdigit():
        made.ranks = int(words[1])
    for word in words[2:]:
        key, _, value = word.partition("=")
        if key == "arg":
            made.arguments.append(value)
        elif key == "env":
            name, _, text = value.partition("=")
            made.environment[name] = text
        elif key == "timeLimit":
            made.limit = int(value)
        elif key == "mem":
            made.memory = float(value)
        elif key == "resultTest":
            made.must_fail = value in ("TestStatus", "TestErrFatal")
    made.ends_by_limit = made.must_fail and "timeLimit=" in line
    return made


def entries(programs, listed):
    """The entries of one folder, in order; the same line twice gets a number."""
    path = next((programs / listed / name for name in FILES
                 if (programs / listed / name).is_file()), None)
    if path is None:
        raise FileNotFoundError(f"the package has no test list {listed}")
    made = []
    seen = {}
    for line in map(clean, path.read_text().splitlines()):
        if not line or (programs / listed / line.split()[0]).is_dir():
            continue
        one = entry(listed, line)
        seen[line] = seen.get(line, 0) + 1
        if seen[line] > 1:
            one.name += f" (line {seen[line]})"
        made.append(one)
    return made
