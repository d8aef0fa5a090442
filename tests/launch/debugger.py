"""debugger.py - debuggers and mpiexec: the MPIR interface, by which they find the ranks.

acquire.py is the debugger of these cases. See common.py for how cases are written and called.
"""

import re
import shutil
import subprocess
import sys
import tempfile
from pathlib import Path

import common
from common import HOST, Running, case, claim, equal, main, mpiexec_path, program, start

ACQUIRE = Path(__file__).with_name("acquire.py")
# A process that is being traced cannot look for leaks.
TRACED = {"ASAN_OPTIONS": common.SANITIZERS["ASAN_OPTIONS"] + ":detect_leaks=0"}


def gdb(*words, variables=None, code=0):
    """Lines that acquire.py says in gdb."""
    done = Running(["gdb", "-nx", "-q", "-batch", "-x", ACQUIRE, *words],
                   TRACED | (variables or {})).finish()
    said = [line.removeprefix("MPIR ") for line in done.out.decode().splitlines()
            if line.startswith("MPIR ")]
    equal(done.code, code, f"{done.out.decode()}\n{done.err.decode()}")
    return said, done.out.decode()


def launch(*words, mpiexec=None, variables=None):
    return gdb("--args", mpiexec or mpiexec_path(), *words, variables=variables)


def hold_table(said, path, ranks):
    """Each rank is in the table, with the path of its program; returns process ids."""
    found = [re.fullmatch(rf"rank (\d+) {re.escape(HOST)} (\S+) (\d+)", line) for line in said]
    rows = [match.groups() for match in found if match]
    equal([(int(rank), name) for rank, name, _ in rows],
          [(rank, path) for rank in range(ranks)], "\n".join(said))
    return [int(pid) for _, _, pid in rows]


@case("mpir")
def a_debugger_that_starts_mpiexec_gets_all_ranks_before_their_first_instruction():
    said, out = launch("-n", 3, program("ring"), "hello", variables={"ACQUIRE": "1"})
    equal(said[0], "state 1")
    equal(said[1], "MPIR_i_am_starter MPIR_acquired_pre_main MPIR_partial_attach_ok")
    equal(len(set(hold_table(said, program("ring"), 3))), 3)
    claim(re.search(r"\nMPIR stack of 1 _start \S*/ld\S*\n", out), out)
    claim("states T T T" in said, out)  # the one that was let go, too
    equal(said[-1], "exit 0")
    equal(sorted(line for line in out.splitlines() if line.startswith("hello")),
          ["hello 0 of 3", "hello 1 of 3", "hello 2 of 3"])


@case("mpir")
def a_stripped_mpiexec_has_what_a_debugger_looks_for():
    with tempfile.TemporaryDirectory() as folder:
        copy = Path(folder) / "mpiexec"
        shutil.copy(mpiexec_path(), copy)
        subprocess.run(["strip", copy], check=True)
        said, _ = launch("-n", 2, program("ring"), "hello", mpiexec=copy)
    hold_table(said, program("ring"), 2)
    equal(said[-1], "exit 0")


@case("mpir")
def a_debugger_hears_why_a_job_is_aborted():
    said, out = launch("-n", 2, program("fail"), "exit-after", "barrier")
    equal(said[-2:], ["aborts: ended with code 3", "exit 3"], out)


@case("mpir")
def the_path_of_a_program_is_absolute():
    name = Path(program("talk"))
    said, _ = launch("-wdir", name.parent, "-n", 1, f"./{name.name}", "lines", 1, ":",
                     "-n", 1, "true")
    rows = [line.split()[3] for line in said if line.startswith("rank ")]
    equal(rows, [str(name), shutil.which("true")])


@case("mpir")
def a_debugger_finds_the_ranks_of_a_job_that_runs():
    running = start("-n", 2, program("ring"), "hello", "stay")
    for _ in range(2):
        claim(running.read_line().startswith("hello"), "no ring")
    said, _ = gdb("-p", running.pid)
    equal(said[0], "state 1")
    for pid in hold_table(said, program("ring"), 2):
        claim(Path(f"/proc/{pid}/exe").resolve() == Path(program("ring")).resolve(), pid)
        claim(common.state_of(pid) in "RS", "a rank was stopped")
    running.send(2)
    running.end(130, [r"Interrupt: ending the job"])


if __name__ == "__main__":
    sys.exit(main())
