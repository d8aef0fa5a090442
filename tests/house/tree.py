"""tree.py - which files belong to the tree, for the checks that read all of them."""

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
