"""debugging.py - docs/debugging.md, followed literally: its program is saved, its commands are
run by bash, and each says what the page shows, line by line.

    debugging.py PAGE MPIEXEC MPICC
"""

import os
import re
import subprocess
import sys
import tempfile
from pathlib import Path


def blocks(text):
    """Of each its kind, its text, and the file name that was said last before it."""
    for block in re.finditer(r"^```(\w*)\n(.*?)^```$", text, re.MULTILINE | re.DOTALL):
        names = re.findall(r"under the name of ([\w-]+\.c)", text[:block.start()])
        yield block[1], block[2], names[-1] if names else None


def commands(block):
    """Commands, each with the lines that follow it."""
    found = []
    for line in block.splitlines():
        if line.startswith("$ "):
            found.append((line[2:], []))
        else:
            found[-1][1].append(line)
    return found


def without_chance(lines):
    """Ages and the name of the host differ from run to run."""
    return [re.sub(r" +\d[\d.]* (us|ms|s)\b", " AGE",
                   re.sub(r"(rank \d+) on \S+ \(", r"\1 on HOST (", line)) for line in lines]


def main(page, mpiexec, mpicc):
    text = Path(page).read_text()
    kept = {name: value for name, value in os.environ.items()
            if not name.startswith(("PMI", "WEFT_", "SLURM_"))}
    kept["PATH"] = f"{Path(mpiexec).parent}:{Path(mpicc).parent}:{os.environ['PATH']}"
    faults, count = [], 0
    with tempfile.TemporaryDirectory() as folder:
        for kind, block, name in blocks(text):
            if kind == "c":
                (Path(folder) / name).write_text(block)
                continue
            for command, expected in commands(block):
                done = subprocess.run(["bash", "-c", command], cwd=folder, env=kept, text=True,
                                      check=False, stdin=subprocess.DEVNULL, timeout=100,
                                      stdout=subprocess.PIPE, stderr=subprocess.STDOUT)
                count += 1
                if without_chance(done.stdout.splitlines()) != without_chance(expected):
                    faults.append(f"$ {command}\n{done.stdout}instead of\n"
                                  + "\n".join(expected))
    print(*faults, sep="\n")
    print(f"{count} commands, {len(faults)} faults")
    return 1 if faults or count < 3 else 0


if __name__ == "__main__":
    sys.exit(main(*(os.path.abspath(word) for word in sys.argv[1:])))
