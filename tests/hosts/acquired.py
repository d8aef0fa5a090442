"""acquired.py - a debugger and mpiexec on several hosts: the table of ranks names their hosts and
their process ids there, all ranks wait for the debugger, and --debug starts one on each host. ../launch/acquire.py is the debugger.
"""

import os
import re
import signal
import sys
import tempfile
from pathlib import Path

sys.path.append(str(Path(__file__).resolve().parent.parent / "launch"))

import common
import debugger
from common import Running, case, claim, equal, mpiexec_path, program, wait_until
from lab import NAME, Lab, skip_without_means

HOSTS = 3
RANKS = 6
lab = Lab(HOSTS)
NAMES = [f"{NAME}{host + 1}" for host in range(HOSTS)]
OPTIONS = ("--bind-to", "none", "--hosts", ",".join(NAMES), "-n", RANKS)


def front():
    """The mpiexec that the user would see."""
    def found():
        pids = lab.pids(1, mpiexec_path())
        return [pid for pid in pids if common.parent_of(pid) not in pids]
    claim(wait_until(found, 10), "no mpiexec on host 1")
    return found()[0]


def number_there(pid):
    """The number of a process on its own host, which has a number space of its own."""
    status = Path(f"/proc/{pid}/status").read_text()
    return int(re.search(r"^NSpid:.*\s(\d+)$", status, re.MULTILINE).group(1))


def gdb(*words):
    done = Running([*lab.command("exec", 1), "gdb", "-nx", "-q", "-batch", "-x", debugger.ACQUIRE,
                    *words], debugger.TRACED | {"ACQUIRE": "0"}).finish()
    out = done.out.decode()
    said = [line.removeprefix("MPIR ") for line in out.splitlines() if line.startswith("MPIR ")]
    equal(done.code, 0, out + done.err.decode())
    rows = [line.split() for line in said if line.startswith("rank ")]
    equal([(int(row[1]), row[2]) for row in rows],
          [(rank, NAMES[rank // 2]) for rank in range(RANKS)], out)
    return said, [int(row[4]) for row in rows], out


@case("hosts")
def a_debugger_that_starts_mpiexec_gets_the_ranks_of_all_hosts():
    said, _, out = gdb("--args", mpiexec_path(), *OPTIONS, program("ring"), "hello")
    equal(said[0], "state 1", out)
    claim("states " + " ".join("T" * RANKS) in said, out)
    equal(said[-1], "exit 0", out)
    equal(sorted(line for line in out.splitlines() if line.startswith("hello")),
          [f"hello {rank} of {RANKS}" for rank in range(RANKS)], out)


@case("hosts")
def a_debugger_finds_the_ranks_of_a_job_that_runs():
    running = Running([*lab.command("exec", 1), mpiexec_path(), *OPTIONS, program("ring"), "hello",
                       "stay"])
    for _ in range(RANKS):
        claim(running.read_line().startswith("hello"), "no ring")
    _, pids, out = gdb("-p", number_there(front()))
    for host in range(HOSTS):
        ranks = [pid for pid in lab.pids(host + 1, program("ring"))
                 if os.readlink(f"/proc/{pid}/exe") == program("ring")]
        equal(sorted(pids[2 * host:2 * host + 2]), sorted(map(number_there, ranks)), out)
    os.kill(front(), signal.SIGTERM)
    running.finish()


@case("hosts")
def gdb_runs_commands_on_ranks_of_other_hosts():
    with tempfile.NamedTemporaryFile("w") as file:
        file.write("continue\necho at the end\\n\n")
        file.flush()
        running = Running([*lab.command("exec", 1), mpiexec_path(), *OPTIONS, "--debug", "0,5",
                           "--debug-commands", file.name, program("ring"), "hello"],
                          debugger.TRACED)
        out = running.finish().out.decode()
    equal(sorted(line for line in out.splitlines() if "hello" in line or "at the end" in line),
          sorted([f"[{rank}] hello {rank} of {RANKS}" for rank in range(RANKS)]
                 + ["[0] at the end", "[5] at the end"]), out)


if __name__ == "__main__":
    skip_without_means()
    with lab:
        code = common.main()
    sys.exit(code)
