"""debian.py ROOT - debian/control names what the sources need.

The tools load some libraries when they are first needed, so that no package depends on them by
what it is linked with: a package has to recommend or suggest each.  The packages with headers that
README.md installs are those that the packages are built with.
"""

import re
import sys
from pathlib import Path

ROOMS = ("src", "launch", "info", "queues", "gauge")


def loaded(root):
    """The libraries that are loaded by name, with the file that does so."""
    found = {}
    for room in ROOMS:
        for path in sorted((root / room).rglob("*.c")):
            text = path.read_text()
            if "dlopen(" in text:
                for name, version in re.findall(r'"lib([a-z]+)\.so\.(\d+)"', text):
                    found.setdefault(f"lib{name}{version}", path.relative_to(root))
    return found


def fields(control, name):
    """The words of all fields of this name."""
    return set(re.findall(r"[a-z][a-z0-9.+-]+",
                          " ".join(re.findall(rf"^{name}:((?:.*\n)(?: .*\n)*)", control, re.M))))


def main():
    root = Path(sys.argv[1])
    control = (root / "debian" / "control").read_text()
    asked = fields(control, "Recommends") | fields(control, "Suggests") | fields(control, "Depends")
    needed = loaded(root)
    faults = [f"debian/control: no package recommends {package}, which {path} loads"
              for package, path in needed.items() if package not in asked]
    readme = (root / "README.md").read_text()
    line = re.search(r"On Debian 12: `apt-get install ([^`]+)`", readme).group(1)
    builds = fields(control, "Build-Depends")
    for package in line.split():
        if (package.endswith("-dev") or package == "gfortran") and package not in builds:
            faults.append(f"README.md installs {package}, and debian/control does not build with it")
    for package in sorted(builds):
        if (package.endswith("-dev") or package == "gfortran") and package not in line:
            faults.append(f"debian/control builds with {package}, which README.md does not install")
    if len(needed) < 4:
        faults.append(f"only {sorted(needed)} are found to be loaded by name")
    if faults:
        sys.exit("\n".join(faults))


if __name__ == "__main__":
    main()
