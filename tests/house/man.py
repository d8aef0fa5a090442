"""man.py - the manual pages name every option that the programs' own help names.

    man.py MAN_FOLDER PROGRAM...   each PROGRAM answers --help and has a page NAME.1
"""

import re
import subprocess
import sys
from pathlib import Path

OPTION = re.compile(r"(?<![\w-])(--?[a-zA-Z][\w:-]*)")


def options(text):
    return set(OPTION.findall(text.replace("\\-", "-")))


def main(arguments):
    folder, programs = Path(arguments[0]), arguments[1:]
    faults = []
    for program in programs:
        page = folder / (Path(program).name + ".1")
        printed = subprocess.run([program, "--help"], check=True, text=True,
                                 capture_output=True).stdout
        offered = options(printed)
        if not offered:
            faults.append(f"{program} --help names no option")
        faults += [f"{page.name}: {option} is missing"
                   for option in sorted(offered - options(page.read_text()))]
        lint = subprocess.run(["man", "--warnings", "-E", "UTF-8", "-l", "-Tutf8", "-Z", page],
                              check=False, text=True, capture_output=True)
        if lint.returncode != 0 or lint.stderr:
            faults.append(f"{page.name}: {lint.stderr.strip()}")
    for fault in faults:
        print(fault)
    sys.exit(1 if faults else 0)


if __name__ == "__main__":
    main(sys.argv[1:])
