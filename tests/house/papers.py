#!/usr/bin/env python3
"""papers.py - keeps docs/papers.md honest.

docs/papers.md has one row for every mechanism and figure of the five papers that Weft
descends from. This program reads its tables and reports every row that is malformed or
points to something that is not there, and a table of counts at the top that is not true:

    papers.py ROOT [--commands PROGRAM...]    checks ROOT/docs/papers.md
    papers.py ROOT --update                   writes the table of counts anew
    papers.py --self-test                     checks this checker

--commands names the programs that a `drawn` row may call. Each problem is one line with
file, line number and cause, and the exit code is 1; otherwise one line counts the rows.
"""

import argparse
import contextlib
import io
import re
import sys
import tempfile
from collections import Counter
from dataclasses import dataclass
from pathlib import Path

DOCUMENT = "docs/papers.md"
PAPERS = ("Portals", "uDAPL", "Netgauge", "one-sided", "UD")
TABLES = ("Mechanisms", "Figures")
COLUMNS = ["in the paper", "in Weft", "status", "where"]
STATUSES = ("built", "drawn", "planned", "not done")
PICTURES = (".svg", ".png")
OUTSIDE = "row outside the tables of the five papers"
COUNTS = re.compile(r"<!-- counted -->\n(.*?)<!-- end of the count -->\n", re.S)
WRONG_COUNTS = "the table of counts is not that of the rows: run tests/house/papers.py --update"


@dataclass
class Row:
    """One line of a table that begins with '|'."""

    line: int
    cells: list
    home: tuple = ()  # paper and table


@dataclass
class Table:
    """The rows of one paper's table, headings and rule included, and where it begins."""

    line: int
    rows: list


# Reading the document


def split_cells(text):
    """The cells of a table line; an escaped bar does not separate."""
    inner = text.strip().removeprefix("|")
    if inner.endswith("|") and not inner.endswith("\\|"):
        inner = inner[:-1]
    return [cell.strip() for cell in re.split(r"(?<!\\)\|", inner)]


def paper_of(heading):
    """The short name in a heading like '## UD: Scalable ...', or None."""
    name = heading.split(":", 1)[0].strip()
    return name if name in PAPERS else None


def read_sections(text, problems):
    """Sorts all table lines: {paper: (line, {table: Table})}. Those before the first section
    may have any form."""
    sections = {}
    paper = table = name = None
    is_inside = False
    for number, line in enumerate(text.splitlines(), 1):
        if line.startswith("## "):
            paper, table, is_inside = paper_of(line[3:]), None, True
            if paper in sections:
                problems.append((number, f"second section for {paper}"))
            elif paper is not None:
                sections[paper] = (number, {})
        elif line.startswith("### "):
            name = line[4:].strip()
            table = None
            if paper is not None and name in TABLES:
                table = sections[paper][1].setdefault(name, Table(number, []))
        elif is_inside and line.lstrip().startswith("|"):
            if table is None:
                problems.append((number, OUTSIDE))
            else:
                table.rows.append(Row(number, split_cells(line), (paper, name)))
    return sections


def is_rule(row):
    """Whether this is the line of dashes under the headings."""
    return all(re.fullmatch(r":?-+:?", cell) for cell in row.cells)


def content_of(table, problems):
    """The rows below the headings, which must be the four agreed ones."""
    if table.rows and table.rows[0].cells != COLUMNS:
        wanted = " | ".join(COLUMNS)
        problems.append((table.rows[0].line, f"headings are not: {wanted}"))
    has_rule = len(table.rows) > 1 and is_rule(table.rows[1])
    return table.rows[2 if has_rule else 1:]


def collect_rows(text, problems):
    """All content rows; reports missing and empty sections and tables."""
    sections = read_sections(text, problems)
    end = len(text.splitlines()) or 1
    rows = []
    for paper in PAPERS:
        if paper not in sections:
            problems.append((end, f"no section for {paper}"))
            continue
        line, tables = sections[paper]
        for name in TABLES:
            if name not in tables:
                problems.append((line, f"{paper} has no table {name}"))
                continue
            content = content_of(tables[name], problems)
            if not content:
                problems.append((tables[name].line, f"{paper}: table {name} is empty"))
            rows += content
    return rows


# Checking one row


def quoted(where):
    """What stands between backquotes."""
    return re.findall(r"`([^`]*)`", where)


def find(root, path):
    """What `path` names inside root, or None."""
    full = (root / path).resolve()
    return full if full.is_relative_to(root.resolve()) and full.exists() else None


def files_by_folder(root, where):
    """The existing files among the backquoted paths: {top folder: [file]}."""
    folders = {}
    for span in quoted(where):
        full = find(root, span) if "/" in span else None
        if full is not None and full.is_file():
            folder = full.relative_to(root.resolve()).parts[0]
            folders.setdefault(folder, []).append(full)
    return folders


def check_paths(root, where):
    """Every backquoted word with a slash must exist."""
    words = [word for span in quoted(where) for word in span.split() if "/" in word]
    return [f"{word} does not exist" for word in words if find(root, word) is None]


def check_built(root, where, _programs):
    """A source and a test."""
    folders = files_by_folder(root, where)
    causes = []
    if not folders.keys() - {"tests", "docs"}:
        causes.append("built, but names no existing source")
    if "tests" not in folders:
        causes.append("built, but names no existing test")
    return causes


def check_drawn(root, where, programs):
    """A command of ours and a picture."""
    causes = []
    if not any(span.split()[:1] == [name] for span in quoted(where) for name in programs):
        causes.append("drawn, but names no command of a known program")
    files = sum(files_by_folder(root, where).values(), [])
    if not any(file.suffix in PICTURES for file in files):
        causes.append("drawn, but names no existing picture")
    return causes


def check_planned(_root, where, _programs):
    """When, in plain words, so that nothing looks finished."""
    if not where:
        return ["planned, but does not say when"]
    return ["planned, but has backquotes in the last column"] if "`" in where else []


def check_not_done(_root, where, _programs):
    """A reason."""
    return [] if where else ["not done, without a reason"]


RULES = dict(zip(STATUSES, (check_built, check_drawn, check_planned, check_not_done)))


def check_row(root, row, programs):
    """The causes for which this row is wrong."""
    if len(row.cells) != len(COLUMNS):
        return [f"{len(row.cells)} columns instead of {len(COLUMNS)}"]
    paper, weft, status, where = row.cells
    causes = []
    if not paper or not weft:
        causes.append("one of the first two columns is empty")
    if where.count("`") % 2 != 0:
        causes.append("unpaired backquote in the last column")
    if status not in STATUSES:
        return causes + [f"unknown status '{status}'"]
    return causes + RULES[status](root, where, programs) + check_paths(root, f"{weft} {where}")


# Checking the whole


def count_table(rows):
    """The table that stands at the top: rows by paper, kind and status."""
    found = Counter((*row.home, row.cells[2]) for row in rows)
    lines = ["| paper | |" + "".join(f" {status} |" for status in STATUSES) + " all |",
             "|---|---|" + "--:|" * (len(STATUSES) + 1)]
    for paper in (*PAPERS, "all"):
        for table in TABLES:
            numbers = [sum(found[p, table, status] for p in PAPERS if paper in (p, "all"))
                       for status in STATUSES]
            cells = [paper, table.lower(), *map(str, numbers), str(sum(numbers))]
            lines.append(f"| {' | '.join(cells)} |")
    return "\n".join(lines) + "\n"


def check_counts(text, rows):
    found = COUNTS.search(text)
    if found is None:
        return [(1, "no table of counts")]
    line = text.count("\n", 0, found.start()) + 1
    return [] if found.group(1) == count_table(rows) else [(line, WRONG_COUNTS)]


def check(root, programs):
    """Returns (problems as [(line, cause)], number of rows by status)."""
    document = root / DOCUMENT
    if not document.is_file():
        return [(1, "no such file")], Counter()
    problems = []
    counts = Counter()
    text = document.read_text(encoding="utf-8")
    rows = collect_rows(text, problems)
    for row in rows:
        causes = check_row(root, row, programs)
        problems += [(row.line, cause) for cause in causes]
        if not causes:
            counts[row.cells[2]] += 1
    return sorted(problems or check_counts(text, rows)), counts


def update(root):
    """Writes the table of counts anew."""
    document = root / DOCUMENT
    text = document.read_text(encoding="utf-8")
    table = count_table(collect_rows(text, []))
    document.write_text(COUNTS.sub(
        lambda _: f"<!-- counted -->\n{table}<!-- end of the count -->\n", text))


def report(problems, counts):
    """Prints the outcome and returns the exit code."""
    for line, cause in problems:
        print(f"{DOCUMENT}:{line}: {cause}")
    if problems:
        return 1
    parts = ", ".join(f"{counts[status]} {status}" for status in STATUSES)
    print(f"papers: {counts.total()} rows ({parts})")
    return 0


# The self-test: a good document, and one edit of it for every rule

HEADINGS = f"| {' | '.join(COLUMNS)} |\n|---|---|---|---|\n"
BUILT = "| match | ours | built | `src/match.c`, `tests/test_match.c` |\n"
DRAWN = "| Figure 1 | ours | drawn | `weft-gauge run x`, `docs/x.svg` |\n"
PLANNED = "| mark \\| entry | ours | planned | p2p, transport/shm |\n"
NOT_DONE = "| old card | ours | not done | The card is gone. |\n"
FIGURES_TABLE = "### Figures\n\n" + HEADINGS + DRAWN + NOT_DONE
FILES = ("src/match.c", "tests/test_match.c", "docs/x.svg", "docs/match.md")
GOOD_COUNTS = {"built": 5, "drawn": 5, "planned": 5, "not done": 5}


def good_document():
    """Every paper, every table, every status."""
    parts = ["# Papers\n\n<!-- counted -->\n<!-- end of the count -->\n"]
    for paper in PAPERS:
        mechanisms = "### Mechanisms\n\n" + HEADINGS + BUILT + PLANNED
        parts.append(f"## {paper}: a title\n\nAuthors\n\n{mechanisms}\n{FIGURES_TABLE}")
    text = "\n".join(parts)
    table = count_table(collect_rows(text, []))
    return text.replace("<!-- counted -->\n", f"<!-- counted -->\n{table}", 1)


def last(old, new):
    """An edit: the last `old` in the document becomes `new`."""
    return lambda text: new.join(text.rsplit(old, 1))


def pointing(row, cell):
    """An edit: the last occurrence of `row` gets another last column."""
    cells = row.rsplit("|", 2)
    return last(row, f"{cells[0]}| {cell} |\n")


# What is broken, how, and the causes that must be reported, no more and no less.
BREAKS = [
    ("no section", last("## UD:", "## VD:"), ["no section for UD"] + [OUTSIDE] * 8),
    ("no Mechanisms", last("### Mechanisms", "### Ways"),
     ["UD has no table Mechanisms"] + [OUTSIDE] * 4),
    ("no Figures", last(FIGURES_TABLE, ""), ["UD has no table Figures"]),
    ("empty Mechanisms", last(BUILT + PLANNED, ""), ["UD: table Mechanisms is empty"]),
    ("empty Figures", last(DRAWN + NOT_DONE, ""), ["UD: table Figures is empty"]),
    ("no rows at all", last(HEADINGS + DRAWN + NOT_DONE, ""),
     ["UD: table Figures is empty"]),
    ("second section", last("## UD:", "## UD: again\n\n## UD:"),
     ["second section for UD"]),
    ("wrong headings", last("| status |", "| state |"),
     ["headings are not: in the paper | in Weft | status | where"]),
    ("a column missing", last("| ours | planned |", "| planned |"),
     ["3 columns instead of 4"]),
    ("a column too many", last("| ours | planned |", "| our | s | planned |"),
     ["5 columns instead of 4"]),
    ("empty second column", last("| ours | planned |", "| | planned |"),
     ["one of the first two columns is empty"]),
    ("unknown status", last("| ours | planned |", "| ours | Planned |"), ["unknown status 'Planned'"]),
    ("a second rule", last(PLANNED, "|---|---|---|---|\n"), ["unknown status '---'"]),
    ("unpaired backquote", pointing(NOT_DONE, "The `card is gone."),
     ["unpaired backquote in the last column"]),
    ("built without source", pointing(BUILT, "`tests/test_match.c`"),
     ["built, but names no existing source"]),
    ("built, a document for source",
     pointing(BUILT, "`docs/match.md`, `tests/test_match.c`"),
     ["built, but names no existing source"]),
    ("built, folders only", pointing(BUILT, "`src/`, `tests/`, `./`"),
     ["built, but names no existing source", "built, but names no existing test"]),
    ("built without test", pointing(BUILT, "`src/match.c`"),
     ["built, but names no existing test"]),
    ("built, source gone", pointing(BUILT, "`src/gone.c`, `tests/test_match.c`"),
     ["built, but names no existing source", "src/gone.c does not exist"]),
    ("built, test gone", pointing(BUILT, "`src/match.c`, `tests/gone.c`"),
     ["built, but names no existing test", "tests/gone.c does not exist"]),
    ("a dead path beside good ones",
     pointing(BUILT, "`src/match.c`, `tests/test_match.c`, `src/gone.c`"),
     ["src/gone.c does not exist"]),
    ("a path outside the tree", pointing(NOT_DONE, "See `../../../etc/passwd`."),
     ["../../../etc/passwd does not exist"]),
    ("drawn without command", pointing(DRAWN, "`docs/x.svg`"),
     ["drawn, but names no command of a known program"]),
    ("drawn by an unknown program", pointing(DRAWN, "`gnuplot x`, `docs/x.svg`"),
     ["drawn, but names no command of a known program"]),
    ("drawn without picture", pointing(DRAWN, "`weft-gauge run x`"),
     ["drawn, but names no existing picture"]),
    ("drawn, no picture but a text",
     pointing(DRAWN, "`weft-gauge run x`, `docs/match.md`"),
     ["drawn, but names no existing picture"]),
    ("drawn, picture gone", pointing(DRAWN, "`weft-gauge run x`, `docs/y.svg`"),
     ["docs/y.svg does not exist", "drawn, but names no existing picture"]),
    ("planned with backquotes", pointing(PLANNED, "`p2p`"),
     ["planned, but has backquotes in the last column"]),
    ("planned for no time", pointing(PLANNED, ""), ["planned, but does not say when"]),
    ("not done without reason", pointing(NOT_DONE, ""), ["not done, without a reason"]),
    ("a dead path in the second column", last("| ours | not done |", "| `src/gone.c` | not done |"),
     ["src/gone.c does not exist"]),
    ("a wrong count", lambda text: text.replace("| mechanisms | 1 |", "| mechanisms | 2 |", 1),
     [WRONG_COUNTS]),
    ("no counts", lambda text: COUNTS.sub("", text), ["no table of counts"]),
]


def check_text(text, programs=("weft-gauge",)):
    """check() on a tree that holds this document and FILES; None: no document."""
    with tempfile.TemporaryDirectory() as folder:
        root = Path(folder)
        for name in FILES:
            path = root / name
            path.parent.mkdir(parents=True, exist_ok=True)
            path.touch()
        if text is not None:
            (root / DOCUMENT).write_text(text, encoding="utf-8")
        return check(root, programs)


def expect(failures, name, got, wanted):
    """Notes a case that did not come out as it should."""
    if got != wanted:
        failures.append(f"self-test: {name}: got {got}, wanted {wanted}")


def causes_of(problems):
    """The causes alone, in a fixed order."""
    return sorted(cause for _, cause in problems)


def test_breaks(failures):
    """Each edit of the good document is reported, and nothing else is."""
    good = good_document()
    for name, edit, wanted in BREAKS:
        broken = edit(good)
        if broken == good:
            failures.append(f"self-test: {name}: the edit changed nothing")
        expect(failures, name, causes_of(check_text(broken)[0]), sorted(wanted))


def test_line_number(failures):
    """A problem carries the line of its row."""
    broken = last("| ours | planned |", "| ours | Planned |")(good_document())
    line = [n for n, text in enumerate(broken.splitlines(), 1) if "| ours | Planned |" in text]
    problems, _ = check_text(broken)
    expect(failures, "line number", [number for number, _ in problems], line)


def test_report(failures):
    """The printed lines and the exit codes."""
    summary = "papers: 20 rows (5 built, 5 drawn, 5 planned, 5 not done)\n"
    complaint = f"{DOCUMENT}:7: a cause\n"
    for problems, wanted in (([], (0, summary)), ([(7, "a cause")], (1, complaint))):
        with contextlib.redirect_stdout(io.StringIO()) as screen:
            code = report(problems, Counter(GOOD_COUNTS))
        expect(failures, "report", (code, screen.getvalue()), wanted)


def self_test():
    """Feeds good and broken documents to the checker; returns the exit code."""
    failures = []
    expect(failures, "good document", check_text(good_document()), ([], GOOD_COUNTS))
    unclosed = good_document().removesuffix(" |\n")
    expect(failures, "no closing bar", check_text(unclosed), ([], GOOD_COUNTS))
    expect(failures, "no document", check_text(None)[0], [(1, "no such file")])
    unknown = ["drawn, but names no command of a known program"] * len(PAPERS)
    no_programs, _ = check_text(good_document(), programs=())
    expect(failures, "no programs named", causes_of(no_programs), unknown)
    test_breaks(failures)
    test_line_number(failures)
    test_report(failures)
    for failure in failures:
        print(failure)
    if not failures:
        print(f"papers: self-test passed ({len(BREAKS) + 7} cases)")
    return 1 if failures else 0


def main(arguments):
    """The command line."""
    parser = argparse.ArgumentParser(description="Checks docs/papers.md.")
    parser.add_argument("root", nargs="?", type=Path, help="top of the source tree")
    parser.add_argument("--commands", nargs="+", default=[], metavar="PROGRAM",
                        help="programs that a drawn row may call")
    parser.add_argument("--update", action="store_true",
                        help="write the table of counts anew")
    parser.add_argument("--self-test", action="store_true",
                        help="check this checker on broken documents")
    options = parser.parse_args(arguments)
    if options.self_test:
        return self_test()
    if options.root is None:
        parser.error("ROOT is missing")
    if options.update:
        update(options.root)
    return report(*check(options.root, options.commands))


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
