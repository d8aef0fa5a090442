#!/usr/bin/env python3
"""analysis.py BUILD [--tools gcc,clang,cppcheck] [--under FOLDER...] - static analysis of what
we install, against a list of findings that were looked at.

BUILD has a compile_commands.json. Each file is given to gcc -fanalyzer, to clang --analyze
(which is what scan-build runs) and to cppcheck. A finding is told by tool, check, file and
words, without its line, so that it survives changes around it. Each must stand in
analysis.tsv with the reason why it is none, or be fixed; an entry that is no longer found is
told, too, where its tool and file were looked at. .ci/long runs it.
"""

import argparse
import json
import os
import re
import shlex
import subprocess
import sys
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent.parent
LISTED = Path(__file__).resolve().parent / "analysis.tsv"
FOLDERS = ("src", "bindings", "launch", "info", "wrappers", "gauge")
PATIENCE = 900  # seconds for one file

FINDING = {
    "gcc": re.compile(r"^(\S+?):\d+:\d+: warning: (.*?) (?:\[CWE-\d+\] )?\[-W(analyzer-[\w-]+)\]$"),
    "clang": re.compile(r"^(\S+?):\d+:\d+: warning: (.*) \[([\w.]+)\]$"),
    "cppcheck": re.compile(r"^(\S+?):\d+: (.*) \[([\w]+)\]$"),
}


def commands(build, under):
    """For each of our files the compiler's flags that matter, and where it runs."""
    found = {}
    for entry in json.loads((Path(build) / "compile_commands.json").read_text()):
        path = Path(os.path.normpath(Path(entry["directory"]) / entry["file"]))
        name = os.path.relpath(path, ROOT)
        if any(name.startswith(folder + "/") for folder in under):
            words = shlex.split(entry["command"])
            flags = [word for word in words if word.startswith(("-I", "-D", "-isystem", "-std"))]
            found.setdefault(name, (entry["directory"], str(path), flags))
    return found


def analyse(tool, directory, path, flags):
    """What the tool prints about a file."""
    own = [flag for flag in flags if flag.startswith(("-I", "-D"))]
    command = {
        "gcc": ["gcc", *flags, "-O1", "-w", "-fanalyzer", "-fdiagnostics-plain-output", "-c",
                "-o", "/dev/null", path],
        "clang": ["clang", *flags, "-O1", "-w", "--analyze", "-Xclang", "-analyzer-output=text",
                  "-fno-color-diagnostics", path],
        "cppcheck": ["cppcheck", "-q", "--enable=warning,portability", "--std=c11",
                     "--template={file}:{line}: {message} [{id}]", "-D__linux__",
                     *(flag for flag in own if "FORTIFY" not in flag), path],
    }[tool]
    if tool == "gcc":
        command.remove("-w")  # which would silence the analyser, too
    done = subprocess.run(command, cwd=directory, capture_output=True, text=True, check=False,
                          timeout=PATIENCE)
    return done.stderr + done.stdout


def findings(tool, name, job):
    """The set of (tool, check, file, words) about one file; headers count as themselves."""
    directory, path, flags = job
    found = set()
    for line in analyse(tool, directory, path, flags).splitlines():
        match = FINDING[tool].match(line)
        if match:
            file, words, check = match.groups()
            file = os.path.relpath(os.path.normpath(Path(directory) / file), ROOT)
            if not file.startswith(".."):
                found.add((tool, check, file, re.sub(r"\d+", "N", words)))
    print(f"{tool}: {name}: {len(found)}", file=sys.stderr, flush=True)
    return found


def listed():
    rows = [row.split("\t") for row in LISTED.read_text().splitlines()
            if row and not row.startswith("#")]
    return {tuple(row[:4]): row[4] for row in rows}


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("build")
    parser.add_argument("--tools", default="gcc,clang,cppcheck")
    parser.add_argument("--under", nargs="*", default=FOLDERS)
    options = parser.parse_args()
    tools = options.tools.split(",")
    jobs = commands(options.build, options.under)
    known, found = listed(), set()
    with ThreadPoolExecutor(os.cpu_count()) as pool:
        for part in pool.map(lambda pair: findings(pair[0], pair[1], jobs[pair[1]]),
                             [(tool, name) for tool in tools for name in sorted(jobs)]):
            found |= part
    fresh = found - set(known)
    stale = {entry for entry in set(known) - found if entry[0] in tools and entry[2] in jobs}
    for entry in sorted(fresh):
        print("\t".join(entry))
    for entry in sorted(stale):
        print("no longer found:", *entry, sep="\t")
    print(f"analysis: {len(jobs)} files, {len(found)} findings, {len(fresh)} of them not in "
          f"{LISTED.name}, {len(stale)} of its entries no longer found")
    return 1 if fresh or stale or not jobs else 0


if __name__ == "__main__":
    sys.exit(main())
