"""error_texts.py PROGRAM TABLE - runs error_texts.c, which makes one mistake after the other, and
compares every line that it prints with the table: name, tab, line. In a line {host} is the name
of this host, {number} a number and {hex} a hexadecimal one.
"""

import platform
import re
import subprocess
import sys

PATIENCE = 60
HOLES = {"{host}": re.escape(platform.node()), "{number}": r"\d+", "{hex}": "[0-9a-f]+"}


def pattern(line):
    """The line as a regular expression."""
    return "".join(HOLES.get(part, re.escape(part)) for part in re.split(r"(\{\w+\})", line))


def main(program, table):
    """Returns the exit code."""
    done = subprocess.run([program], capture_output=True, text=True, timeout=PATIENCE)
    said = done.stdout.splitlines()
    with open(table, encoding="utf-8") as file:
        expected = file.read().splitlines()
    faults = [f"ended with {done.returncode}: {done.stderr}"] if done.returncode != 0 else []
    for line, wanted in zip(said, expected):
        if not re.fullmatch(pattern(wanted), line):
            faults.append(f"said     {line}\nexpected {wanted}")
    if len(said) != len(expected):
        faults.append(f"{len(said)} lines, not {len(expected)}")
    print("\n".join(faults) or f"{len(said)} mistakes have their texts")
    return 1 if faults or len(said) < 60 else 0


if __name__ == "__main__":
    sys.exit(main(*sys.argv[1:]))
