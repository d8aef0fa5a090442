#!/usr/bin/env python3
"""programs.py - builds real programs from their sources, runs them, checks their answers.

Gets Debian's source packages, builds what their authors wrote with Weft's mpicc, mpicxx and mpifort, or
with those of another MPI, runs each with its mpiexec, and checks the answer as the program
itself defines it.  Then each is run once more with a library in between that spoils what it
receives: the check has to find that.  One line for each program; the exit code is 1 if one
failed.  docs/programs.md has results.
"""

import argparse
import fcntl
import importlib
import os
import shutil
import statistics
import sys
import time
from pathlib import Path

import kit as kits
import sources

import conformance  # sources has made it known

SKIPPED = 77  # as Meson wants it
HERE = Path(__file__).resolve().parent
PROGRAMS = ["hpcc", "fftw", "netpipe", "netpipe_put", "sundials", "scotch", "hypre", "boost_mpi",
            "p4est", "pnetcdf", "hdf5", "hdf5_field", "mumps", "petsc"]
OPENMPI = {"OMPI_ALLOW_RUN_AS_ROOT": "1", "OMPI_ALLOW_RUN_AS_ROOT_CONFIRM": "1",
           "OMPI_MCA_rmaps_base_oversubscribe": "1"}
OPENMPI_OLD = "-DOMPI_OMIT_MPI1_COMPAT_DECLS=0 -DOMPI_REMOVED_USE_STATIC_ASSERT=0"


def options(arguments):
    cache = Path(os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache")
    parser = argparse.ArgumentParser(
        description=__doc__.split("\n\n", 1)[1],
        formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("programs", nargs="*", metavar="PROGRAM",
                        help=f"some of {' '.join(PROGRAMS)}; without: all")
    where = parser.add_mutually_exclusive_group()
    where.add_argument("--build", type=Path, metavar="DIR",
                       help="a build of Weft; it is installed into the work folder")
    where.add_argument("--prefix", type=Path, metavar="DIR", help="an installed Weft")
    parser.add_argument("--peer", action="append", default=[], choices=["mpich", "openmpi"],
                        help="Debian's MPICH or Open MPI, beside Weft or alone")
    parser.add_argument("--get", action="store_true", help="only get the sources")
    parser.add_argument("--offline", action="store_true",
                        help="get nothing: if a source is not there, skip (code 77)")
    parser.add_argument("--small", action="store_true", help="only what fits into .ci/run")
    parser.add_argument("--no-build", action="store_true", help="what was built before")
    parser.add_argument("--rounds", type=int, default=1, metavar="N",
                        help="each run so often, the MPIs in turn; prints medians")
    parser.add_argument("--jobs", "-j", type=int, default=os.cpu_count(), metavar="N",
                        help="compilers at the same time (default: %(default)s)")
    parser.add_argument("--work", type=Path, metavar="DIR", default=cache / "weft-programs",
                        help="where sources and programs are kept (default: %(default)s)")
    chosen = parser.parse_args(arguments)
    chosen.programs = chosen.programs or PROGRAMS
    unknown = [name for name in chosen.programs if name not in PROGRAMS]
    if unknown:
        parser.error(f"no program {' '.join(unknown)}")
    if not (chosen.build or chosen.prefix or chosen.peer or chosen.get):
        parser.error("one of --build, --prefix, --peer and --get is needed")
    chosen.work = chosen.work.resolve()
    return chosen


def chosen_kits(chosen):
    found = []
    if chosen.build or chosen.prefix:
        binaries = conformance.installed(chosen) / "bin"
        found.append(kits.Kit("weft", *(str(binaries / name)
                                        for name in ("mpicc", "mpicxx", "mpiexec")),
                              old="-DWEFT_LEGACY", mpifort=str(binaries / "mpifort")))
    for peer in chosen.peer:
        commands = [shutil.which(f"{name}.{peer}") for name in ("mpicc", "mpicxx", "mpiexec")]
        if None in commands:
            sys.exit(f"{peer} is not installed")
        kit = kits.Kit(peer, *commands, mpifort=shutil.which(f"mpif90.{peer}") or "")
        if peer == "openmpi":
            kit.old, kit.environment = OPENMPI_OLD, OPENMPI
        found.append(kit)
    return found


class Program:
    """One program, built with one MPI."""

    def __init__(self, name, recipe, archive, kit, work):
        self.recipe = recipe
        self.archive = archive
        self.kit = kit
        self.source = work / kit.name / name
        self.logs = work / kit.name / f"{name}.logs"
        self.name = f"{name} {sources.version_of(archive)}"
        self.built = 0.0
        self.times = {}  # (run, ranks): seconds of each round
        self.passed = self.all = 0
        self.faults = []

    def build(self, jobs):
        start = time.monotonic()
        shutil.rmtree(self.logs, ignore_errors=True)
        self.logs.mkdir(parents=True)
        self.kit.log = self.logs / "build"
        sources.unpack(self.archive, self.source,
                       getattr(self.recipe, "wanted", lambda name: True))
        try:
            self.recipe.build(self.kit, self.source, jobs)
        except kits.NotBuilt as error:
            self.faults.append(f"not built: {error}")
        self.built = time.monotonic() - start

    def run(self, small):
        for run in self.recipe.runs(self.kit, self.source, small):
            run.before()
            code, said, seconds = kits.call(run.command, run.folder, self.kit.environment,
                                            run.limit)
            (self.logs / f"{run.name}, {run.ranks}".replace("/", "_")).write_text(said)
            passed, of, faults = run.check(code, said, run.folder)
            self.times.setdefault((run.name, run.ranks), []).append(seconds)
            self.passed += passed
            self.all += of
            self.faults += [f"{run.name}, {run.ranks} ranks: {fault}" for fault in faults]

    def run_spoiled(self):
        """The check has to fail when what arrives is not what was sent."""
        spoiler = self.logs / "spoil.so"
        self.kit.log = self.logs / "spoil.build"
        self.kit.make([self.kit.mpicc, "-O1", "-w", "-shared", "-fPIC", HERE / "spoil.c",
                       "-o", spoiler], self.logs)
        run = self.recipe.spoiled(self.kit, self.source)
        run.before()
        environment = {**self.kit.environment, "LD_PRELOAD": str(spoiler),
                       "SPOIL": self.recipe.SPOILED,
                       "SPOIL_LEAST": str(getattr(self.recipe, "SPOILED_LEAST", 1))}
        code, said, _ = kits.call(run.command, run.folder, environment, run.limit)
        _, _, faults = run.check(code, said, run.folder)
        (self.logs / "spoiled").write_text("\n".join([said, "noticed:", *faults, ""]))
        if code is None:
            self.faults.append(f"{run.name}: does not end with spoiled data")
        elif not faults:
            self.faults.append(f"{run.name}: spoiled data passes its check")

    def tell(self):
        is_good = not self.faults and self.passed == self.all > 0
        spent = sum(sum(seconds) for seconds in self.times.values())
        print(f"{self.name} with {self.kit.name}: {'passed' if is_good else 'FAILED'}, "
              f"{self.passed} of {self.all} runs; build {self.built:.0f} s, "
              f"run {spent:.0f} s", flush=True)
        for fault in self.faults[:20]:
            print(f"    {fault}")
        if not is_good:
            print(f"    logs: {self.logs}", flush=True)
        return is_good


def compare(programs):
    """Medians of each run in seconds, a row for each, a column for each MPI."""
    print("| program | run | ranks | " + " | ".join(p.kit.name for p in programs) + " |")
    for run, ranks in programs[0].times:
        cells = [f"{statistics.median(p.times[run, ranks]):.2f}"
                 if (run, ranks) in p.times else "-" for p in programs]
        print(f"| {programs[0].name} | {run} | {ranks} | " + " | ".join(cells) + " |")


def one_program(name, chosen, found):
    recipe = importlib.import_module(name)
    archive = sources.archive_in(chosen.work / "sources", recipe.PACKAGE)
    programs = [Program(name, recipe, archive, kit, chosen.work) for kit in found]
    for program in programs:
        if not chosen.no_build:
            program.build(chosen.jobs)
    for _ in range(chosen.rounds):
        for program in programs:
            if not program.faults:
                program.run(chosen.small)
    for program in programs:
        if not program.faults:
            program.run_spoiled()
    results = [program.tell() for program in programs]
    if chosen.rounds > 1:
        compare(programs)
    return all(results)


def main(arguments):
    chosen = options(arguments)
    packages = [importlib.import_module(name).PACKAGE for name in chosen.programs]
    place = chosen.work / "sources"
    if chosen.offline:
        for package in packages:
            if sources.archive_in(place, package) is None:
                print(f"not run: the source of {package} is not in {place}; "
                      "tests/programs/programs.py --get gets it")
                return SKIPPED
    try:
        sources.get(place, packages, print)
    except sources.Unavailable as error:
        print(f"the sources cannot be got: {error}")
        return 1
    if chosen.get:
        return 0
    with open(chosen.work / "lock", "w") as lock:  # one at a time in a work folder
        fcntl.flock(lock, fcntl.LOCK_EX)
        found = chosen_kits(chosen)
        results = [one_program(name, chosen, found) for name in chosen.programs]
    return 0 if all(results) else 1


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
