#!/usr/bin/env python3
"""analysis.py BUILD [--tools gcc,clang,cppcheck] [--under FOLDER...] - static analysis of what
we install, against a table of findings that were looked at.

BUILD has a compile_commands.json and is built, so that generated headers exist. Each file goes
to gcc -fanalyzer, to clang --analyze (which is what scan-build runs) and to cppcheck, with
assertions on: an assertion tells a tool what we rely on.

A finding is told by tool, check, file, function and words; the line is printed, but is no part
of it, and numbers in the words become N, so that it survives changes around it. A tool that
fails on a file, or needs more than PATIENCE, is a finding of the check "unfinished".

Each finding must be fixed, or stand in analysis.tsv with a reason. A row that is no longer
found must go, where its tool and file were looked at. Otherwise the exit code is 1.
.ci/long analysis runs it, and installs what it needs (.ci/packages-analysis).
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
TABLE = Path(__file__).resolve().parent / "analysis.tsv"
FOLDERS = ("src", "bindings", "launch", "info", "wrappers", "gauge")
PATIENCE = 120  # seconds of processor time for one file
NODES = 20000  # of one function for clang; its default, 225000, needs thrice the time

# What a tool is called with before the flags and the file, and what a finding of it looks like.
# unknownEvaluationOrder takes members of compound literals for assignments; gcc -Wall has
# -Wsequence-point for that.
COMMAND = {
    "gcc": ["gcc", "-std=gnu11", "-O0", "-fanalyzer", "-fdiagnostics-plain-output", "-c", "-o", "/dev/null"],
    "clang": ["clang", "-std=gnu11", "-w", "--analyze", "-fno-color-diagnostics", "-Xclang",
              "-analyzer-output=text", "-Xclang", "-analyzer-config", "-Xclang",
              f"max-nodes={NODES}"],
    "cppcheck": ["cppcheck", "-q", "--enable=warning,portability", "--std=c11",
                 "--library=posix,gnu", "--suppress=unknownEvaluationOrder",
                 f"--library={TABLE.with_suffix('.cfg')}",
                 "--template={file}:{line}: {message} [{id}]",
                 "-D__linux__"],
}
FINDING = {
    "gcc": re.compile(r"^(\S+?):(\d+):\d+: warning: (.*?) (?:\[CWE-\d+\] )?\[-W(analyzer-[\w-]+)\]$"),
    "clang": re.compile(r"^(\S+?):(\d+):\d+: warning: (.*) \[([\w.]+)\]$"),
    "cppcheck": re.compile(r"^(\S+?):(\d+): (.*) \[(\w+)\]$"),
}
FLAGS = ("-I", "-D", "-isystem")
FUNCTION = re.compile(r"^[A-Za-z_].*?\b(?!__attribute__)(\w+)\(")  # only a function starts a line so


def commands(build, under):
    """For each of our files: where its compiler runs, its path, and its words."""
    found = {}
    for entry in json.loads((Path(build) / "compile_commands.json").read_text()):
        path = Path(os.path.normpath(Path(entry["directory"]) / entry["file"]))
        name = os.path.relpath(path, ROOT)
        if any(name.startswith(folder + "/") for folder in under):
            found.setdefault(name, (entry["directory"], str(path), shlex.split(entry["command"])))
    return found


def analyse(tool, directory, path, words):
    """What the tool prints about a file, and whether it finished."""
    flags = [word.replace("-isystem", "-I") for word in words if word.startswith(FLAGS)
             and not word.startswith(("-DNDEBUG", "-D_FORTIFY_SOURCE"))]
    done = subprocess.run(["prlimit", f"--cpu={PATIENCE}", *COMMAND[tool], *flags, path],
                          cwd=directory, text=True, capture_output=True, check=False)
    return done.stderr + done.stdout, done.returncode == 0


def function_at(file, line):
    """The name of the function around a line; "-" where there is none."""
    for text in reversed((ROOT / file).read_text().splitlines()[:line]):
        match = FUNCTION.match(text)
        if match:
            return match.group(1)
    return "-"


def findings(tool, name, job):
    """{(tool, check, file, function, words): line} about one file and the headers it includes."""
    output, is_finished = analyse(tool, *job)
    found = {} if is_finished else {(tool, "unfinished", name, "-", "it failed"): 1}
    for match in filter(None, map(FINDING[tool].match, output.splitlines())):
        file, line, words, check = match.groups()
        file = os.path.relpath(os.path.normpath(Path(job[0]) / file), ROOT)
        if not file.startswith(".."):
            key = (tool, check, file, function_at(file, int(line)), re.sub(r"\d+", "N", words))
            found[key] = int(line)
    print(f"{tool}: {name}: {len(found)}", file=sys.stderr, flush=True)
    return found


def table():
    """The keys of analysis.tsv. A row without a reason is an error."""
    rows = [row.split("\t") for row in TABLE.read_text().splitlines()
            if row and not row.startswith("#")]
    for row in rows:
        if len(row) != 6 or not row[5]:
            sys.exit(f"{TABLE.name}: a row has five keys and a reason: {row}")
    return {tuple(row[:5]) for row in rows}


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("build")
    parser.add_argument("--tools", default="gcc,clang,cppcheck")
    parser.add_argument("--under", nargs="*", default=FOLDERS)
    options = parser.parse_args()
    tools = options.tools.split(",")
    jobs = commands(options.build, options.under)
    known, found = table(), {}
    with ThreadPoolExecutor(os.cpu_count()) as pool:
        for part in pool.map(lambda pair: findings(pair[0], pair[1], jobs[pair[1]]),
                             [(tool, name) for tool in tools for name in sorted(jobs)]):
            found.update(part)
    fresh = set(found) - known
    stale = {key for key in known - set(found) if key[0] in tools and key[2] in jobs}
    for key in sorted(fresh):
        print(f"new, line {found[key]}:", *key, sep="\t")
    for key in sorted(stale):
        print("no longer found:", *key, sep="\t")
    print(f"analysis: {len(jobs)} files, {len(found)} findings, {len(fresh)} of them not in "
          f"{TABLE.name}, {len(stale)} of its rows no longer found")
    return 1 if fresh or stale or not jobs else 0


if __name__ == "__main__":
    sys.exit(main())
