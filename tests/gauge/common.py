"""common.py - what the tests of weft-gauge share: cases, and runs of the program.

A case is a function whose name is the sentence it proves:

    @case
    def a_file_that_exists_is_not_overwritten(): ...

A script is called as `SCRIPT GAUGE [--case NAME]`. Times are asked of the machine only
where a case cannot do without; such a case waits for no particular speed.
"""

import argparse
import json
import os
import subprocess
import sys
import tempfile
import traceback
from pathlib import Path

CASES = []
GAUGE = None
SOURCE = Path(os.environ.get("WEFT_SOURCE", "."))
BUILD = Path(os.environ.get("WEFT_BUILD", "."))
TIMEOUT = 240


def case(function):
    """Adds a function to the cases of its script."""
    CASES.append(function)
    return function


def clean():
    """The environment without traces of a launcher."""
    return {key: value for key, value in os.environ.items()
            if not key.startswith(("PMI", "OMPI_", "SLURM_", "WEFT_GAUGE"))}


def run(*words, code=0, env=None):
    """Runs weft-gauge and returns its output; its exit code must be as said."""
    done = subprocess.run([GAUGE, *map(str, words)], capture_output=True, text=True,
                          timeout=TIMEOUT, env={**clean(), **(env or {})}, check=False,
                          stdin=subprocess.DEVNULL)
    assert done.returncode == code, (words, done.returncode, done.stdout, done.stderr)
    return done


def measure(*words, **options):
    """Runs a measurement and returns the lines of its JSON."""
    with tempfile.TemporaryDirectory() as folder:
        name = Path(folder) / "out.json"
        run("run", *words, "--json", name, **options)
        return [json.loads(line) for line in name.read_text().splitlines()]


def results(lines):
    """{name: [(value, note), ...]} of the results, one per piece."""
    found = {}
    for line in lines:
        if line["type"] == "result":
            value = next(v for k, v in line.items() if k.startswith("value_"))
            found.setdefault(line["name"], []).append((value, line["note"]))
    return found


def rows(lines):
    return [line for line in lines if line["type"] == "row"]


def main():
    global GAUGE
    parser = argparse.ArgumentParser()
    parser.add_argument("gauge")
    parser.add_argument("--case")
    arguments = parser.parse_args()
    GAUGE = arguments.gauge
    failed = 0
    for function in CASES:
        if arguments.case in (None, function.__name__):
            try:
                function()
                print(f"ok    {function.__name__}", flush=True)
            except Exception:  # a case may fail in any way
                failed += 1
                print(f"FAIL  {function.__name__}\n{traceback.format_exc()}", flush=True)
    sys.exit(1 if failed else 0)
