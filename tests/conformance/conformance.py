#!/usr/bin/env python3
"""conformance.py - runs MPICH's test programs against Weft.

Gets the programs from Debian's source package, builds them with Weft's mpicc, runs the
entries of their lists, and compares the result with docs/conformance.md: an entry that passed
there and does not here makes this program fail.  With --update the document is written anew
for the lists that ran; with --connections too, only the column that counts what passed so, and
only if nothing became worse.
"""

import argparse
import fcntl
import json
import os
import subprocess
import sys
import threading
import time
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace
from pathlib import Path

import build
import job
import package
import table
import testlist

SKIPPED = 77  # as Meson wants it
HERE = Path(__file__).resolve().parent
ROOT = HERE.parents[1]
FIXED = HERE / "fixed.tsv"
NOT_AWAITED = 10  # seconds

QUICK = ["attr", "comm", "errhan", "group", "info", "init", "topo", "mpi_t",
         "threads/comm", "threads/init", "threads/mpi_t", "datatype"]
# Messages and collectives: these take longer.
LATER = ["pt2pt", "part", "threads/pt2pt", "threads/part", "coll", "threads/coll", "rma",
         "threads/rma", "io"]


def options(arguments):
    cache = Path(os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache")
    parser = argparse.ArgumentParser(
        description=__doc__.split("\n\n", 1)[1],
        formatter_class=argparse.RawDescriptionHelpFormatter,
        epilog=f"The lists without --lists: {' '.join(QUICK)}.\n"
               f"Others: {' '.join(LATER)}. All of them: all.")
    where = parser.add_mutually_exclusive_group()
    where.add_argument("--build", type=Path, metavar="DIR",
                       help="a build of Weft; it is installed into the work folder")
    where.add_argument("--prefix", type=Path, metavar="DIR", help="an installed Weft")
    where.add_argument("--get", action="store_true",
                       help="only get the programs, so that later runs need no network")
    parser.add_argument("--lists", nargs="+", metavar="LIST", default=QUICK)
    parser.add_argument("--only", metavar="TEXT", default="",
                        help="only entries that contain TEXT; nothing is compared")
    parser.add_argument("--fixed", action="store_true",
                        help=f"of all lists the entries that {FIXED.name} names")
    parser.add_argument("--rotating", type=int, nargs="?", const=10, metavar="N",
                        help="of the lists another tenth, or N-th, with every commit; ten run "
                             "all")
    parser.add_argument("--connections", action="store_true",
                        help="all messages over network connections, by the loopback")
    parser.add_argument("--rdm", action="store_true",
                        help="all messages over endpoints without connections; not recorded")
    parser.add_argument("--tagged", action="store_true",
                        help="all messages over a network that matches them, tcp;ofi_rxm")
    parser.add_argument("--dgram", action="store_true",
                        help="all messages over datagrams that Weft repeats; not recorded")
    parser.add_argument("--work", type=Path, metavar="DIR",
                        default=cache / "weft-conformance",
                        help="where programs are kept between runs (default: %(default)s)")
    parser.add_argument("-j", "--jobs", type=int, default=os.cpu_count(), metavar="N",
                        help="entries at the same time (default: %(default)s)")
    parser.add_argument("--limit", type=int, metavar="SECONDS",
                        help="no entry gets more time than this")
    parser.add_argument("--memory", type=float, metavar="GB",
                        help="what needs more is not run (default: what is free now)")
    parser.add_argument("--update", action="store_true", help="write docs/conformance.md")
    parser.add_argument("--offline", action="store_true",
                        help="get nothing: if the programs are not there, skip (code 77)")
    parser.add_argument("--json", type=Path, metavar="FILE", help="all results as JSON")
    chosen = parser.parse_args(arguments)
    if not (chosen.build or chosen.prefix or chosen.get):
        parser.error("one of --build, --prefix and --get is needed")
    if chosen.update and (chosen.only or chosen.fixed or chosen.rotating or chosen.limit or
                          chosen.memory is not None):
        parser.error("--update wants whole lists, with their own limits")
    if chosen.update and (chosen.rdm or chosen.dgram):
        parser.error("--update records no run with --rdm or --dgram")
    if chosen.connections:
        os.environ["WEFT_TRANSPORT"] = "msg"
    if chosen.rdm:
        os.environ["WEFT_TRANSPORT"] = "rdm"
        os.environ.setdefault("FI_PROVIDER", "tcp;ofi_rxm")
    if chosen.dgram:
        os.environ["WEFT_TRANSPORT"] = "dgram"
    if chosen.tagged:
        os.environ["WEFT_TRANSPORT"] = "tagged"
        os.environ["FI_PROVIDER"] = "tcp;ofi_rxm"
    if chosen.fixed or chosen.lists == ["all"]:
        chosen.lists = QUICK + LATER
    return chosen


def free_memory():
    """GB that this machine can give now."""
    text = Path("/proc/meminfo").read_text()
    return int(text.split("MemAvailable:")[1].split()[0]) * 1024 / 1e9


def installed(chosen):
    """The prefix of the Weft to be tested."""
    if chosen.prefix:
        return chosen.prefix.resolve()
    target = chosen.work / "installed"
    subprocess.run(["meson", "install", "-C", chosen.build, "--no-rebuild", "--quiet",
                    "--destdir", target.resolve()], check=True,
                   stdout=subprocess.DEVNULL)
    told = subprocess.run(["meson", "introspect", "--buildoptions", chosen.build],
                          check=True, capture_output=True, text=True).stdout
    prefix = next(o["value"] for o in json.loads(told) if o["name"] == "prefix")
    return target.resolve() / Path(prefix).relative_to("/")


class Progress:
    """Now and then a line, and on a terminal what was done last."""

    def __init__(self, what, total):
        self.what = what
        self.total = total
        self.done = 0
        self.lock = threading.Lock()
        self.start = time.monotonic()
        self.last = self.start

    def tell(self, last):
        with self.lock:
            self.done += 1
            now = time.monotonic()
            if sys.stderr.isatty():
                print(f"\r\033[K{self.what}: {self.done} of {self.total}: {last:.60}",
                      end="", file=sys.stderr, flush=True)
            elif now - self.last > 10:
                self.last = now
                print(f"{self.what}: {self.done} of {self.total}, "
                      f"{now - self.start:.0f} s", flush=True)

    def end(self):
        if sys.stderr.isatty():
            print("\r\033[K", end="", file=sys.stderr)


def run_all(entries, builder, mpiexec, chosen):
    """Results by list and entry. What needs much memory runs last, one after the other."""
    results = {}
    memory = free_memory() if chosen.memory is None else chosen.memory
    progress = Progress("entries run", len(entries))

    def one(entry):
        result, why = job.run(entry, builder, mpiexec, memory, chosen.work / "logs")
        results[entry.key] = result, why
        progress.tell(f"{entry.list}: {entry.name}")

    with ThreadPoolExecutor(chosen.jobs) as pool:
        list(pool.map(one, [e for e in entries if e.memory == 0]))
    for entry in entries:
        if entry.memory > 0:
            one(entry)
    progress.end()
    return {listed: {e.name: results[e.key] for e in entries if e.list == listed}
            for listed in chosen.lists}


def build_all(entries, builder, jobs):
    """Builds each program once, before two entries of it meet."""
    programs = sorted({(entry.list, entry.program) for entry in entries})
    progress = Progress("programs built", len(programs))

    def one(program):
        try:
            builder.build(*program)
        except build.NotBuilt:
            pass  # said when the entry's turn comes
        progress.tell("/".join(program))

    with ThreadPoolExecutor(jobs) as pool:
        list(pool.map(one, programs))
    progress.end()


def report(results):
    for listed, entries in results.items():
        counts = [sum(r == kind for r, _ in entries.values())
                  for kind in (job.PASSED, *table.NOT_PASSED)]
        print(f"{listed}: {len(entries)} entries, {counts[0]} passed, {counts[1]} failed, "
              f"{counts[2]} not built, {counts[3]} not run")


def fixed_entries():
    """List and entry of each line."""
    lines = FIXED.read_text().splitlines()
    return {tuple(line.split("\t")) for line in lines if line and not line.startswith("#")}


def turn_of_commit():
    """Which tenth the current commit runs, as for the suite `long`."""
    told = subprocess.run([HERE.parents[1] / "tools" / "budget", "--turn"], capture_output=True,
                          text=True, check=True)
    return int(told.stdout)


def rotating_part(entries, turn, parts=10):
    """Every tenth entry, say, beginning with another one each turn."""
    return entries[turn % parts::parts]


def old_table(document):
    return table.parse(document.read_text()) if document.is_file() else table.Table()


def hurried(entries, old):
    """The entries; those that did not pass before are not waited for: some never end."""
    return [replace(e, limit=min(e.limit, NOT_AWAITED)) if e.key in old.others else e
            for e in entries]


def compare(results, document, is_whole):
    """Prints what changed; True if nothing became worse."""
    old = old_table(document)
    is_good = True
    for listed, entries in results.items():
        for name, result, why in table.worse(old, listed, entries):
            print(f"WORSE   {listed}: {name}: {result}: {why}")
            is_good = False
        if is_whole and table.lost(old, listed, entries):
            print(f"WORSE   {listed}: {table.lost(old, listed, entries)} entries are gone")
            is_good = False
        for name in table.better(old, listed, entries):
            print(f"better  {listed}: {name}")
    return is_good


def update(results, document, version, is_connected):
    new = old_table(document)
    new.version = version
    reasons = table.read_reasons(HERE / "reasons.tsv")
    for listed, entries in results.items():
        if is_connected:
            new.set_connected(listed, entries)
        else:
            new.set_list(listed, entries, reasons)
    document.write_text(new.text())


def run(chosen, version, programs):
    """Builds, runs, compares; the exit code."""
    prefix = installed(chosen)
    document = ROOT / "docs" / "conformance.md"
    builder = build.Builder(programs, chosen.work / "built", prefix / "bin" / "mpicc")
    entries = [replace(e, limit=min(e.limit, chosen.limit or e.limit))
               for listed in chosen.lists for e in testlist.entries(programs, listed)
               if chosen.only in e.name]
    if chosen.fixed:
        named = fixed_entries()
        entries = [e for e in entries if e.key in named]
        if len(entries) != len(named):
            print(f"{FIXED.name} names entries that there are not:",
                  *sorted(named - {e.key for e in entries}))
            return 1
    if chosen.rotating:
        entries = hurried(rotating_part(entries, turn_of_commit(), chosen.rotating),
                          old_table(document))
    try:
        builder.prepare()
    except build.NotBuilt as error:
        print(f"what all programs share cannot be built: {error}")
        return 1
    build_all(entries, builder, chosen.jobs)
    results = run_all(entries, builder, prefix / "bin" / "mpiexec", chosen)
    report(results)
    if chosen.json:
        chosen.json.write_text(json.dumps(results, indent=1))
    if chosen.only:
        for listed, found in results.items():
            for name, (result, why) in found.items():
                print(f"{listed}: {name}: {result}{': ' + why if why else ''}")
        return 0
    is_good = compare(results, document, not (chosen.fixed or chosen.rotating))
    if chosen.update and (is_good or not chosen.connections):
        update(results, document, version, chosen.connections)
        return 0
    return 0 if is_good else 1


def main(arguments):
    chosen = options(arguments)
    if chosen.offline and package.archive_in(chosen.work) is None:
        print(f"not run: MPICH's test programs are not in {chosen.work}; "
              "tests/conformance/conformance.py --get gets them")
        return SKIPPED
    try:
        version, programs = package.programs(chosen.work, print)
    except package.Unavailable as error:
        print(f"MPICH's test programs cannot be got: {error}")
        return 1
    if chosen.get:
        print(f"MPICH {version}: {programs}")
        return 0
    with open(chosen.work / "lock", "w") as lock:  # one run at a time in a work folder
        fcntl.flock(lock, fcntl.LOCK_EX)
        return run(chosen, version, programs)


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
