"""table.py - docs/conformance.md: written from a run, read to compare with the next.

The document has a summary and, for each list, the entries that do not pass with the reason.
What it does not name has passed, so every entry of a run can be compared with it.
"""

import re

import job

HEAD = """\
# Conformance

Made by `tests/conformance/conformance.py`, which builds the test programs of MPICH {version} \
(from
Debian's source package) with Weft's `mpicc` and runs them as their lists say. An entry is a line
of such a list: a program, its ranks and arguments. It passes if the job ends with code 0, says
"No Errors" and nothing else; where the line asks for a job that fails, if it ends with an error
by itself. What is not built or not run has not passed. A source that does not compile, because it
uses what the standard ABI leaves out, is built with `mpi_legacy.h` (`docs/abi.md`). Threads of a
program that wait for each other sleep; MPICH's own barrier of threads polls. `i_noncontig_coll2`
has one heap for all threads, because it keeps distances of blocks in an int. The last column
is of another run (`--connections`), in which all messages went over network connections by the
loopback. The Fortran lists (f77, f90, f08) are counted in `docs/abi.md`.

"""
SUMMARY = ("| list | entries | passed | failed | not built | not run | passed over connections |\n"
           "|---|--:|--:|--:|--:|--:|--:|\n")
DETAILS = "| entry | result | reason |\n|---|---|---|\n"
NOT_PASSED = (job.FAILED, job.NOT_BUILT, job.NOT_RUN)


def read_reasons(path):
    """List and entry to reason, from lines of three columns; ValueError if it is not so."""
    found = {}
    for number, line in enumerate(path.read_text().splitlines(), 1):
        if not line.strip() or line.startswith("#"):
            continue
        columns = line.split("\t")
        if len(columns) != 3 or not all(c.strip() for c in columns):
            raise ValueError(f"{path}:{number}: not list, entry and reason")
        found[columns[0], columns[1]] = columns[2]
    return found


class Table:
    """
    `lists`: name to number of entries; `others`: (list, entry) to (result, reason);
    `connected`: name to number of entries that passed over connections.
    """

    def __init__(self, version=""):
        self.version = version
        self.lists = {}
        self.others = {}
        self.connected = {}

    def set_list(self, listed, results, reasons):
        """Puts a run's results of one list in place of what was there."""
        self.others = {key: value for key, value in self.others.items()
                       if key[0] != listed}
        self.lists[listed] = len(results)
        for name, (result, why) in results.items():
            if result != job.PASSED:
                why = reasons.get((listed, name)) or f"not explained yet: {why}"
                self.others[listed, name] = result, why

    def not_passed(self, listed):
        return {name: value for (of, name), value in self.others.items() if of == listed}

    def counts(self, listed):
        results = [result for result, _ in self.not_passed(listed).values()]
        others = [results.count(result) for result in NOT_PASSED]
        return [self.lists[listed], self.lists[listed] - len(results), *others]

    def set_connected(self, listed, results):
        self.connected[listed] = sum(r == job.PASSED for r, _ in results.values())

    def text(self):
        out = [HEAD.format(version=self.version), SUMMARY]
        sums = [0] * (2 + len(NOT_PASSED))
        for listed in self.lists:
            counts = self.counts(listed)
            sums = [a + b for a, b in zip(sums, counts)]
            out.append(f"| {listed} | {' | '.join(map(str, counts))} | "
                       f"{self.connected.get(listed, '-')} |\n")
        is_whole = self.connected.keys() >= self.lists.keys()
        out.append(f"| all | {' | '.join(map(str, sums))} | "
                   f"{sum(self.connected.values()) if is_whole else '-'} |\n")
        for listed in self.lists:
            rows = self.not_passed(listed)
            if rows:
                out.append(f"\n## {listed}\n\n{DETAILS}")
            for name, (result, why) in rows.items():
                why = why.replace("|", "/").replace("`", "'")
                out.append(f"| `{name}` | {result} | {why} |\n")
        return "".join(out)


def parse(text):
    """The table in a document that text() made."""
    version = re.search(r"test programs of MPICH (\S+)", text)
    table = Table(version[1] if version else "")
    summary, *sections = re.split(r"^## ", text, flags=re.M)
    row = r"^\| (\S+) \| (\d+) \|(?: \d+ \|){4}(?: (\S+) \|)?"
    for listed, entries, connected in re.findall(row, summary, re.M):
        if listed != "all":
            table.lists[listed] = int(entries)
            if connected.isdigit():
                table.connected[listed] = int(connected)
    for section in sections:
        listed = section.split("\n", 1)[0].strip()
        for name, result, why in re.findall(r"^\| `(.*?)` \| ([\w ]+?) \| (.*) \|$",
                                            section, re.M):
            table.others[listed, name] = result, why
    return table


def worse(table, listed, results):
    """
    Entries of a run that passed according to the table and do not any more. What this
    machine has no memory for is no change of Weft.
    """
    if listed not in table.lists:
        return []
    return [(name, result, why) for name, (result, why) in results.items()
            if result in (job.FAILED, job.NOT_BUILT) and (listed, name) not in table.others]


def better(table, listed, results):
    """Entries that pass although the table says otherwise."""
    return [name for name, (result, _) in results.items()
            if result == job.PASSED and (listed, name) in table.others]


def lost(table, listed, results):
    """How many entries the table has and the run has not: a list that became shorter."""
    return max(0, table.lists.get(listed, 0) - len(results))
