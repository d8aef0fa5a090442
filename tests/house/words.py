#!/usr/bin/env python3
"""words.py - words that do not stand in the tree.

    words.py ROOT           checks the tree
    words.py --self-test    checks this checker

No text names the place where it was written. No source of the library or the launcher, no
program and no document has a word of ours that was retired, alone or as a part of a name, as
in weft_knock(); the second table of docs/glossary.md says what is written in its place, and
lists the same words. Each find is one line, and the exit code is 1.
"""

import re
import sys
import tempfile
from pathlib import Path

import tree

# Taken apart, so that this file does not name them either.
PLACES = re.compile("|".join([
    r"(?<![\w.~-])/wo" "rk/",
    r"\.\./sha" "red",
    r"deb\.deb" r"ian\.org",
    r"registry\.np" "mjs",
]))

# Retired words and their forms, in small letters. The key stands in docs/glossary.md.
RETIRED = {
    "joint": "joints?",
    "lend": "lends?|lent|lend_max",
    "expose, conceal": "expos(?:e|ed|es|ing)|conceal(?:s|ed)?",
    "attend, attention": "attend|attention",
    "seat": "seats?",
    "door, knock": "doors?|knock(?:s|ed|ing)?",
    "stranger": "strangers?",
    "bury, dead": "bury|buried|unburied|in_vain|why_dead|frame_dead|on_dead",
    "stumble, owe": "stumbled|owing",
    "wait_for_room": "wait_for_room",
    "forget_type": "forget_type",
    "place (in names)": "weft_place|(?:build|fold|datatype)_place",
    "way (in names)": "weft_way|crc32c_way|struct way",
    "vectors (of memory)": "cursor_vectors|vectors_max",
    "settle": "(?:p2p|runtime)_settle",
    "told (in names)": "weft_told|tell_losses",
    "window (of staging)": "weft_window",
    "sweep (over ranks)": "(?:weft|comm)_sweep",
    "helper": "helpers?",
}
FORMS = re.compile(rf"(?<![a-z])(?:{'|'.join(RETIRED.values())})(?![a-z])", re.I)
WITHOUT_RETIRED = ("src/", "bindings/", "launch/", "info/", "wrappers/", "docs/")
GLOSSARY = "docs/glossary.md"


def is_without_retired(name):
    """Has this file to do without retired words? Data and pictures need not."""
    is_document = name.endswith((".md", ".1")) and name != GLOSSARY
    return is_document or (name.startswith(WITHOUT_RETIRED) and name.endswith((".c", ".h")))


def finds(name, line):
    """What stands in this line of this file and should not."""
    found = PLACES.findall(line)
    if is_without_retired(name):
        found += [f"{word}: a retired word, see {GLOSSARY}"
                  for word in FORMS.findall(without_paths(line))]
    return found


def without_paths(line):
    """Names of folders and files stay as they are."""
    return re.sub(r"[\w.-]*/[\w./-]+", "", line)


def check_glossary(text):
    """The glossary's second table and RETIRED have the same words."""
    table = text.partition("| retired word |")[2]
    listed = set(re.findall(r"^\| ([^|]+?) \|", table, re.M)) - {"---"}
    return [f"{GLOSSARY}: {word} is not in both lists of retired words"
            for word in sorted(listed ^ set(RETIRED))]


def check(root, paths):
    return check_glossary((root / GLOSSARY).read_text(encoding="utf-8")) + [
        f"{name}:{number}: {word}"
        for name, number, line in tree.lines(root, paths) for word in finds(name, line)]


def self_test():
    table = "| word | is |\n|---|---|\n| lane | a ring |\n\n| retired word | now |\n|---|---|\n"
    table += "".join(f"| {word} | - |\n" for word in RETIRED)
    files = {
        GLOSSARY: table,
        "src/base/a.c": "weft_joint_open(); jointly();\n/* Lent, `tests/strangers/x.c` */\n",
        "gauge/c.c": "a door\n",
        "d.md": "of /wo" "rk/x\n",
    }
    with tempfile.TemporaryDirectory() as folder:
        root = Path(folder)
        for name, text in files.items():
            (root / name).parent.mkdir(parents=True, exist_ok=True)
            (root / name).write_text(text)
        got = check(root, [root / name for name in files])
        (root / GLOSSARY).write_text(table.replace("| seat |", "| sofa |"))
        got += check(root, [])
    retired = f"a retired word, see {GLOSSARY}"
    wanted = [f"src/base/a.c:1: joint: {retired}", f"src/base/a.c:2: Lent: {retired}",
              "d.md:1: /wo" "rk/",
              f"{GLOSSARY}: seat is not in both lists of retired words",
              f"{GLOSSARY}: sofa is not in both lists of retired words"]
    if got != wanted:
        print(f"self-test: got {got}, wanted {wanted}")
        return 1
    print("words: self-test passed")
    return 0


def main(arguments):
    if arguments == ["--self-test"]:
        return self_test()
    root = Path(arguments[0])
    problems = check(root, tree.files(root))
    for problem in problems:
        print(problem)
    return 1 if problems else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
