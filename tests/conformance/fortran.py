#!/usr/bin/env python3
"""fortran.py - runs MPICH's Fortran test programs (lists f77, f90, f08) against Weft.

Built by mpifort without MPICH's configure, as build.py does with C.  An entry has passed if
its job ends with 0 and says "No Errors" and nothing else.  Entries that do not are named in
fortran.tsv, with the reason; any other that fails makes this program fail.
"""

import argparse
import os
import re
import shutil
import subprocess
import sys
from pathlib import Path

import build
import conformance
import package
import testlist

SKIPPED = 77  # as Meson wants it
HERE = Path(__file__).resolve().parent
FOLDERS = ("attr", "coll", "datatype", "pt2pt", "info", "spawn", "io", "rma", "init", "comm",
           "ext", "topo", "profile", "misc", "f90types", "timer", "subarray")
ADDRESS = "INTEGER (KIND=MPI_ADDRESS_KIND)"
# What MPICH's f90/io/Makefile.ap makes of the definitions and the template of f77.
F90_OF_F77 = {"ioharness.defn": ((r'filename="(.*)f\.f"', r'filename="\1f90.f90"'),
                                 (r"include.*iooffset.*",
                                  "integer (kind=MPI_OFFSET_KIND)offset")),
              "ioharness.tlt": ((r"include.*mpif.*", "use mpi"), (r"fheader", "f90header"),
                                (r"(?m)^C", "!"), (r"(?m)^.*implicit *none.*\n", ""))}
SUBSTITUTES = {"F77_MPI_ADDRESS": ADDRESS, "F77_MPI_OFFSET": "INTEGER (KIND=MPI_OFFSET_KIND)",
               "F77_MPI_INTEGER": "INTEGER", "F77_INTEGER": "INTEGER"}


def options(arguments):
    cache = Path(os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache")
    parser = argparse.ArgumentParser(description=__doc__.split("\n\n", 1)[1],
                                     formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--mpifort", type=Path, required=True)
    parser.add_argument("--mpicc", type=Path, required=True)
    parser.add_argument("--mpiexec", type=Path, required=True)
    parser.add_argument("--compiler", default="gfortran", help="as mpifort's WEFT_FC")
    parser.add_argument("--only", default="", help="only entries that contain this")
    parser.add_argument("--rotating", action="store_true",
                        help="another tenth of the entries with every commit")
    parser.add_argument("--offline", action="store_true", help="get nothing; skip instead")
    parser.add_argument("--work", type=Path, default=cache / "weft-conformance")
    parser.add_argument("--limit", type=int, default=60, help="seconds for one entry")
    return parser.parse_args(arguments)


def entries(programs):
    """Those of all three families; a list is f77/attr and the like."""
    found = []
    for family in ("f77", "f90", "f08"):
        for folder in FOLDERS:
            listed = f"{family}/{folder}"
            if any((programs / listed / name).is_file() for name in testlist.FILES):
                found += testlist.entries(programs, listed)
    return found


class Runner:
    """Builds and runs entries in a folder of its own."""

    def __init__(self, given, programs):
        self.given = given
        self.programs = programs
        self.place = given.work / "fortran" / Path(given.compiler).name
        shutil.rmtree(self.place, ignore_errors=True)
        self.environment = {**os.environ, "WEFT_FC": given.compiler, "LC_ALL": "C",
                            "NO_STOP_MESSAGE": "1"}  # flang says "Fortran STOP" otherwise
        self.helpers = {}

    def run(self, command, cwd, limit=300):
        try:
            done = subprocess.run([str(w) for w in command], cwd=cwd, text=True,
                                  stdout=subprocess.PIPE, stderr=subprocess.STDOUT,
                                  stdin=subprocess.DEVNULL, timeout=limit, errors="replace",
                                  env=self.environment)
        except subprocess.TimeoutExpired as error:
            raise build.NotBuilt(f"more than {limit} seconds") from error
        return done

    def compile(self, source, folder):
        made = folder / (source.stem + ".o")
        flags = ["-O1", "-g1", "-w", "-I", self.place / "include"]
        if source.suffix == ".c":
            command = [self.given.mpicc, *flags, "-DWEFT_LEGACY",
                       "-I", self.programs / "include"]
        else:
            command = [self.given.mpifort, *flags, "-I", folder,
                       "-I", self.place / "util"]
        done = self.run([*command, "-c", source, "-o", made], folder)
        if done.returncode != 0:
            raise build.NotBuilt(build.first_error(done.stdout))
        return made

    def prepare(self):
        """Configured headers, and what MPICH's programs share."""
        include = self.place / "include"
        include.mkdir(parents=True)
        util = self.place / "util"
        util.mkdir()
        text = "".join(f"#define {k} {v}\n" for k, v in build.SYSTEM.items())
        (include / "mpitestconf.h").write_text(text)
        for family, name in (("f77", "mtest_f77.f"), ("f90", "mtest_f90.f90"),
                             ("f08", "mtest_f08.f90")):
            self.helpers[family] = [self.compile(self.programs / "util" / name, util)]
        self.helpers["c"] = [self.compile(self.programs / name, util) for name in
                             ("util/mtest.c", "util/mtest_common.c", "util/dtypes.c",
                              "util/mtest_single.c")]
        for path in self.programs.glob("f77/*/*.h.in"):
            text = re.sub(r"@(\w+)@", lambda m: SUBSTITUTES.get(m[1], "INTEGER"),
                          path.read_text())
            (include / path.name[:-3]).write_text(text)

    def folder_of(self, listed):
        """A copy of the folder's sources."""
        folder = self.place / listed
        if not folder.is_dir():
            shutil.copytree(self.programs / listed, folder)
            near = listed.split("/")[1]
            for path in [*self.programs.glob(f"f90/{near}/*"),
                         *self.programs.glob(f"f77/{near}/*")]:
                if path.suffix in (".h", ".c") and not (folder / path.name).exists():
                    shutil.copy(path, folder)
            if near == "io":
                self.merge_tests(folder)
        return folder

    def merge_tests(self, folder):
        """The programs that MPICH's testmerge makes of definitions and a template."""
        for name, changes in F90_OF_F77.items():
            if not (folder / name).is_file():
                text = (self.programs / "f77/io" / name).read_text()
                for old, new in changes:
                    text = re.sub(old, new, text)
                (folder / name).write_text(text)
        maint = self.programs / "maint"
        script = folder / "testmerge"
        script.write_text((maint / "testmerge.in").read_text().split("\n", 1)[1])
        done = self.run(["perl", script, f"-defn={maint / 'common.defn'}", *F90_OF_F77], folder)
        if done.returncode != 0:
            raise build.NotBuilt(build.first_error(done.stdout))

    def sources(self, folder, program):
        """What the Makefile.am says, or the file of that name."""
        said = build.variables(folder / "Makefile.am").get(f"{program}_SOURCES")
        if said:
            return [folder / Path(word).name for word in said.split()
                    if word.endswith((".f", ".f90", ".c"))]
        return [next(folder / f"{program}{end}" for end in (".f", ".f90", ".c")
                     if (folder / f"{program}{end}").is_file())]

    def make(self, entry):
        folder = self.folder_of(entry.list)
        program = folder / entry.program
        if program.is_file():
            return program
        family = entry.list.split("/")[0]
        objects = [self.compile(s, folder) for s in self.sources(folder, entry.program)]
        is_c = all(s.suffix == ".c" for s in self.sources(folder, entry.program))
        linker = self.given.mpicc if is_c else self.given.mpifort
        done = self.run([linker, *objects, *self.helpers["c" if is_c else family],
                         "-o", program], folder)
        if done.returncode != 0:
            raise build.NotBuilt(build.first_error(done.stdout))
        return program

    def result(self, entry):
        """None, or why the entry did not pass."""
        try:
            program = self.make(entry)
            done = self.run([self.given.mpiexec, "-n", entry.ranks, program,
                             *entry.arguments], program.parent, self.given.limit)
        except build.NotBuilt as error:
            return str(error)
        except StopIteration:
            return "it has no source"
        lines = [line.strip() for line in done.stdout.splitlines() if line.strip()]
        if done.returncode == 0 and lines == ["No Errors"]:
            return None
        return f"code {done.returncode}: {lines[0][:150] if lines else 'it is silent'}"


def known_failures(compiler):
    found = {}
    for line in (HERE / "fortran.tsv").read_text().splitlines():
        cells = line.split("\t")
        if len(cells) == 4 and not line.startswith("#") and cells[2] in ("all", compiler):
            found[cells[0], cells[1]] = cells[3]
    return found


def main(arguments):
    given = options(arguments)
    for name in ("mpifort", "mpicc", "mpiexec"):
        setattr(given, name, getattr(given, name).absolute())
    if given.offline and package.archive_in(given.work) is None:
        sys.exit(SKIPPED)
    _, programs = package.programs(given.work, print)
    chosen = [e for e in entries(programs) if given.only in f"{e.list} {e.name}"]
    if given.rotating:
        chosen = conformance.rotating_part(chosen, conformance.turn_of_commit())
    runner = Runner(given, programs)
    runner.prepare()
    known = known_failures("flang" if "flang" in given.compiler else "gfortran")
    passed, wrong = 0, []
    for entry in chosen:
        why = runner.result(entry)
        passed += why is None
        if why is None and entry.key in known:
            print(f"{entry.list}\t{entry.name}\tpasses now: take it out of fortran.tsv")
        elif why is not None and entry.key not in known:
            wrong.append(entry.key)
            print(f"{entry.list}\t{entry.name}\t{why}", flush=True)
    print(f"{passed} of {len(chosen)} entries pass")
    sys.exit(len(wrong) > 0)


if __name__ == "__main__":
    main(sys.argv[1:])
