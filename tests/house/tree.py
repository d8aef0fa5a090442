"""tree.py - which files belong to the tree, and their lines, for the checks that read them."""

import subprocess
import sys
from pathlib import Path

SKIPPED = 77  # as Meson wants it


def files(root, *patterns):
    """Paths of what git knows or would add; ends the program if this is no git tree."""
    if not (Path(root) / ".git").exists():
        print(f"{root} is not a git tree: nothing to check")
        sys.exit(SKIPPED)
    command = ["git", "-C", root, "ls-files", "-z", "-co", "--exclude-standard", "--",
               *patterns]
    names = subprocess.run(command, check=True, capture_output=True, text=True).stdout
    paths = (Path(root) / name for name in sorted(set(names.split("\0"))) if name)
    return [path for path in paths if path.is_file()]


def documents(root):
    """Paths of the documents (*.md) that are written for readers; needs no git."""
    found = [*root.glob("*.md"), *(root / "docs").glob("*.md"), root / "gauge/README.md"]
    return sorted(path for path in found if path.is_file())


def lines(root, paths):
    """(name, line number, line) of each line of these files; bytes that are no text are '?'."""
    for path in paths:
        name = path.relative_to(root).as_posix()
        text = path.read_bytes().decode("utf-8", errors="replace")
        for number, line in enumerate(text.splitlines(), 1):
            yield name, number, line
