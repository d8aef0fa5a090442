#!/usr/bin/env python3
"""run.py - checks the models of the protocols, and that the check would notice.

    run.py MODEL ...            checks these models, and all their mutants
    run.py --trace MODEL[:NAME] prints how spin gets to an error, with line NAME deleted

Spin explores every interleaving of a model: no assertion may fail, and every end state must
be one that the model allows. Then each line marked "M:name" is deleted in turn, and spin must
find an error: a barrier, a second look or a hand-over that could go unnoticed is no part of a
proof. A model whose opening says "No run is endless." is searched for cycles as well: nothing
can be done for ever, so to have no bad end is to arrive. Ends with 77, which meson counts as
skipped, where there is no spin.
"""

import pathlib
import re
import shutil
import subprocess
import sys
import tempfile
import time

HERE = pathlib.Path(__file__).resolve().parent
MARK = re.compile(r"/\* M:(\w+) \*/")
INCLUDE = re.compile(r'#include "(\w+\.pml)"')
ENDS = "No run is endless."
DEEPEST = 1000000  # steps; a search that reaches it is not exhaustive


def files_of(model):
    """The model and what it includes, by name."""
    text = (HERE / f"{model}.pml").read_text()
    files = {f"{model}.pml": text}
    for name in INCLUDE.findall(text):
        files.update(files_of(name.removesuffix(".pml")))
    return files


def marks_of(model):
    """Names of the lines that can be deleted, in files that begin with the model's name."""
    own = [text for name, text in files_of(model).items() if name.startswith(model)]
    names = [mark for text in own for mark in MARK.findall(text)]
    if len(names) != len(set(names)):
        raise SystemExit(f"{model}: a mark is used twice")
    return names


def without(line, mutant):
    """An option is taken out; a step becomes one that does nothing."""
    if f"/* M:{mutant} */" not in line:
        return line
    if line.lstrip().startswith("::"):
        return "\n"
    return "skip;\n" if ";" in line else "skip\n"


def write(model, mutant, folder):
    for name, text in files_of(model).items():
        lines = [without(line, mutant) for line in text.splitlines(keepends=True)]
        (folder / name).write_text("".join(lines))


def run(command, folder):
    done = subprocess.run(
        command, cwd=folder, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True
    )
    return done.returncode, done.stdout


def search_for(build, how, model, mutant, folder):
    speed = "-O0" if mutant else "-O2"  # a mutant's error is soon found
    for command in (
        ["spin", "-a", f"{model}.pml"],
        ["cc", speed, "-w", build, "-DMEMLIM=4000", "-o", "pan", "pan.c"],
        ["./pan", f"-m{DEEPEST}", *how],
    ):
        status, said = run(command, folder)
        if status != 0 or (command[0] == "spin" and "rror" in said):
            raise SystemExit(f"{model}, without {mutant}: {command[0]} failed:\n{said}")
    if "max search depth too small" in said or "errors:" not in said:
        raise SystemExit(f"{model}, without {mutant}: the search is not complete:\n{said}")
    return said


def search(model, mutant, folder):
    """What spin says about a model with one line deleted; its trail stays in the folder."""
    write(model, mutant, folder)
    said = search_for("-DSAFETY", [], model, mutant, folder)
    if ENDS in files_of(model)[f"{model}.pml"] and not has_error(said):
        said = search_for("-DNP", ["-l"], model, mutant, folder)
    return said


def has_error(said):
    return "errors: 0" not in said


def check(model):
    """How many searches did not end as they should."""
    wrong = 0
    for mutant in [None, *marks_of(model)]:
        with tempfile.TemporaryDirectory() as folder:
            start = time.monotonic()
            said = search(model, mutant, pathlib.Path(folder))
            seconds = time.monotonic() - start
        is_right = has_error(said) == (mutant is not None)
        states = re.search(r"(\S+) states, stored", said).group(1)
        what = f"without {mutant}" if mutant else "as it is"
        found = "an error" if has_error(said) else "no error"
        print(
            f"{'ok' if is_right else 'NOT OK'}: {model} {what}: {found}, "
            f"{states} states, {seconds:.1f} s",
            flush=True,
        )
        wrong += not is_right
    return wrong


def trace(model, mutant):
    with tempfile.TemporaryDirectory() as name:
        folder = pathlib.Path(name)
        said = search(model, mutant or None, folder)
        print(said)
        if has_error(said):
            print(run(["spin", "-t", "-p", "-g", "-l", f"{model}.pml"], folder)[1])


def main():
    if shutil.which("spin") is None:
        print("skipped: the models are checked by spin, which is not installed")
        sys.exit(77)
    if sys.argv[1] == "--trace":
        model, _, mutant = sys.argv[2].partition(":")
        trace(model, mutant)
        return
    wrong = sum(check(model) for model in sys.argv[1:])
    sys.exit(1 if wrong else 0)


main()
