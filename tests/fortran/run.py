"""run.py MPIFORT MPIEXEC RANKS SOURCE... [-- FLAGS [-- TEXT]] - builds a program and runs it.

The program is built by mpifort in a folder of its own, with FLAGS.  A source that begins
with lib_ becomes a shared library, which the program is linked with; .c is compiled by cc.
It has passed if it ends with 0 and has printed a line with "passed"; with TEXT, which the
program gets as its argument, if it fails and prints that.  No ranks: it is only built.
"""

import os
import subprocess
import sys
import tempfile
from pathlib import Path

INCLUDE = Path(__file__).resolve().parent.parent.parent / "include"


def call(*command, **options):
    shown = " ".join(str(word) for word in command)
    done = subprocess.run([str(word) for word in command], text=True, **options)
    if done.returncode != 0:
        sys.exit(f"{shown}: exit code {done.returncode}")
    return done


def compile_one(mpifort, source, flags, folder):
    made = Path(folder) / (Path(source).stem + ".o")
    if source.endswith(".c"):
        call(os.environ.get("CC", "cc"), "-fPIC", f"-I{INCLUDE}", "-c", source, "-o", made)
    else:
        call(mpifort, *flags, "-c", source, "-o", made, cwd=folder)
    return made


def build(mpifort, sources, flags, folder):
    objects = []
    for source in sources:
        if Path(source).name.startswith("lib_"):
            library = Path(folder) / (Path(source).stem + ".so")
            call(mpifort, "-shared", "-fPIC", "-O2", source, "-o", library, cwd=folder)
            objects += [library, f"-Wl,-rpath,{folder}"]
        else:
            objects.append(compile_one(mpifort, source, flags, folder))
    program = Path(folder) / "program"
    call(mpifort, *flags, *objects, "-o", program)
    return program


def parts(words):
    """The lists of words between the --."""
    found = [[]]
    for word in words:
        if word == "--":
            found.append([])
        else:
            found[-1].append(word)
    return found + [[], []]


def main(mpifort, mpiexec, ranks, *words):
    sources, flags, texts = parts(words)[:3]
    sources = [str(Path(source).resolve()) for source in sources]
    with tempfile.TemporaryDirectory() as folder:
        program = build(Path(mpifort).resolve(), sources, flags, folder)
        if ranks == "0":
            return
        done = subprocess.run([mpiexec, "-n", ranks, str(program), *texts], timeout=240,
                              stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True)
    sys.stdout.write(done.stdout)
    wanted = texts[0] if texts else "passed"
    if wanted not in done.stdout or (done.returncode == 0) != (not texts):
        sys.exit(f"exit code {done.returncode}, and no line with: {wanted}")


if __name__ == "__main__":
    main(*sys.argv[1:])
