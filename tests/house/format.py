#!/usr/bin/env python3
"""format.py ROOT - all C files look as .clang-format says; lists those that do not."""

import re
import subprocess
import sys
from pathlib import Path

import tree

GENERATED = "include/mpi.h"  # laid out by bindings/gen/header.py


def main(root):
    paths = [path for path in tree.files(root, "*.c", "*.h")
             if path != Path(root) / GENERATED]
    done = subprocess.run(["clang-format", "--dry-run", "-Werror", *paths],
                          capture_output=True, text=True, check=False)
    for name in sorted(set(re.findall(r"^(.+?):\d+:\d+: error", done.stderr, re.M))):
        print(f"{Path(name).relative_to(root)}: run clang-format -i on it")
    if done.returncode == 0:
        print(f"format: {len(paths)} files are laid out as agreed")
    return done.returncode


if __name__ == "__main__":
    sys.exit(main(sys.argv[1]))
