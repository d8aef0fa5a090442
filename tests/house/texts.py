#!/usr/bin/env python3
"""texts.py - the catalogues of what users are told, and the page that lists them.

    texts.py ROOT             checks the tree
    texts.py --update ROOT    writes the tables of docs/errors.md
    texts.py --self-test      checks this checker

The catalogues are src/base/texts.h, for the library, bindings/fortran/texts.h, for the Fortran
library, and launch/texts.h, for mpiexec: macros that are a class, a text and a cure, or a part of
that. Every entry is used, none of bindings/ raises a text that is not an entry, and the page has
every entry. Each find is one line, and the exit code is 1.
"""

import re
import sys
from pathlib import Path

PAGE = "docs/errors.md"
CATALOGUES = {"src/base/texts.h": ("WEFT_", ("src", "bindings")),
              "bindings/fortran/texts.h": ("WEFT_F_", ("bindings/fortran",)),
              "launch/texts.h": ("TEXT_", ("launch",))}
RAISED = re.compile(r"\bweft_(?:raise(?:_comm|_session|_on|_file)?|refuse)\(")
DIRECTIVE = re.compile(r"%[-.\d*]*(?:ll|l|z)?([a-zA-Z%])")


def entries(text):
    """(section, name, class, literals) of each macro of a catalogue."""
    found, section = [], ""
    for line in text.replace("\\\n", " ").splitlines():
        head = re.match(r"/\* ---- (.*) ---- \*/", line)
        macro = re.match(r"#define (\w+) (.*)", line)
        if head:
            section = head.group(1)
        elif macro and section:
            rest = macro.group(2)
            error = re.match(r"\s*(MPI_\w+),", rest)
            texts, is_next = [], True
            for token in re.finditer(r'"((?:[^"\\]|\\.)*)"|,', rest):
                if token.group() == ",":
                    is_next = True
                elif is_next:
                    texts.append(token.group(1))
                    is_next = False
                else:
                    texts[-1] += token.group(1)
            found.append((section, macro.group(1), error.group(1) if error else "", texts))
    return found


def readable(text):
    """What a user sees: numbers are N, texts are dots."""
    text = text.replace('\\"', '"')
    text = DIRECTIVE.sub(lambda d: {"%": "%", "s": "..."}.get(d.group(1), "N"), text)
    return re.sub(r"\.{4,}", "...", text)


def rows(text):
    """(section, what is said, class, cure) of each entry that says something by itself."""
    found = []
    for section, _, error, texts in entries(text):
        row = (section, readable(texts[0]), error, readable(texts[1]) if len(texts) > 1 else "")
        if re.sub(r"[.\s]", "", row[1]) and row not in found:
            found.append(row)
    return found


def table(text):
    """The page's part: a table for each section, or a list where there is only what is said."""
    lines, all_rows = [], rows(text)
    for section in dict.fromkeys(row[0] for row in all_rows):
        own = [row[1:] for row in all_rows if row[0] == section]
        lines += ["", f"**{section[0].upper()}{section[1:]}**", ""]
        if any(error or cure for _, error, cure in own):
            lines += ["| text | class | cure |", "|---|---|---|"]
            lines += ["|" + "|".join(f" {cell} " if cell else " " for cell in
                                     (said, f"`{error}`" if error else "", cure)) + "|"
                      for said, error, cure in own]
        else:
            lines += [f"- {said}" for said, _, _ in own]
    return "\n".join(lines).strip() + "\n"


def with_tables(root, page):
    """The page with its tables as the catalogues have them."""
    for name in CATALOGUES:
        begin, end = f"<!-- {name} -->\n", f"<!-- end of {name} -->"
        before, rest = page.split(begin, 1)
        page = before + begin + "\n" + table((root / name).read_text()) + "\n" + end + \
            rest.split(end, 1)[1]
    return page


def arguments(text):
    """The arguments of a call, of which `text` begins behind the parenthesis."""
    depth = 1
    for token in re.finditer(r'"(?:[^"\\]|\\.)*"|[()]', text):
        depth += {"(": 1, ")": -1}.get(token.group(), 0)
        if depth == 0:
            return text[:token.start()]
    return text


def raised_literals(name, text):
    """One line for each text that is raised and no entry."""
    for call in RAISED.finditer(text):
        words = arguments(text[call.end():])
        literal = re.search(r'"([^"]* [^"]*)"', words)
        catalogue = ("bindings/fortran/texts.h" if "refuse" in call.group() else
                     "src/base/texts.h")
        if literal and not re.search(r"\bWEFT_[EFT]_", words):
            line = text.count("\n", 0, call.start()) + 1
            yield f'{name}:{line}: "{literal.group(1)}" belongs into {catalogue}'


def check(root):
    """What is wrong with the tree, a line each."""
    problems = []
    for name, (prefix, folders) in CATALOGUES.items():
        sources = "".join(path.read_text() for folder in folders
                          for path in sorted((root / folder).rglob("*.[ch]"))
                          if path != root / name)
        for _, macro, _, _ in entries((root / name).read_text()):
            if not macro.startswith(prefix):
                problems.append(f"{name}: {macro} does not begin with {prefix}")
            if not re.search(rf"\b{macro}\b", sources):
                problems.append(f"{name}: nobody uses {macro}")
    for path in sorted((root / "bindings").rglob("*.c")):
        problems += raised_literals(path.relative_to(root), path.read_text())
    page = (root / PAGE).read_text()
    if with_tables(root, page) != page:
        problems.append(f"{PAGE}: is behind the catalogues: run tests/house/texts.py --update .")
    return problems


def self_test():
    """Raises if something is not seen."""
    text = ('/* ---- some ---- */\n\n#define WEFT_E_A \\\n    MPI_ERR_ARG, "n is %d" " or %lld", \\\n'
            '        "give %s"\n#define WEFT_S_B "100%% of \\"%s\\""\n')
    assert entries(text) == [("some", "WEFT_E_A", "MPI_ERR_ARG", ["n is %d or %lld", "give %s"]),
                             ("some", "WEFT_S_B", "", ['100%% of \\"%s\\"'])], entries(text)
    assert "| n is N or N | `MPI_ERR_ARG` | give ... |" in table(text), table(text)
    assert '| 100% of "..." | | |' in table(text), table(text)
    assert table('/* ---- some ---- */\n#define TEXT_A "a%s%s"\n') == "**Some**\n\n- a...\n"
    bad = 'weft_raise(function, MPI_ERR_ARG, "n is wrong", "", n);'
    assert len(list(raised_literals("x.c", bad))) == 1
    bad = 'weft_refuse(call, MPI_ERR_TYPE, "it has gaps", "");'
    assert "fortran/texts.h" in list(raised_literals("x.c", bad))[0]
    good = 'weft_raise(function, WEFT_E_A, f("a b"), "dims"); weft_raise_rc(c, "x y")'
    assert not list(raised_literals("x.c", good))


def main(words):
    """Returns the exit code."""
    if words == ["--self-test"]:
        self_test()
        return 0
    root = Path(words[-1])
    if words[0] == "--update":
        page = (root / PAGE).read_text()
        (root / PAGE).write_text(with_tables(root, page))
    problems = check(root)
    print("\n".join(problems) or "all texts are in the catalogues")
    return 1 if problems else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
