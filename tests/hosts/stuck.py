"""stuck.py - what mpiexec says of jobs that hang on several hosts: the jobs and the sentences are
those of ../launch/hang.py, with two ranks on each of three hosts.
"""

import os
import signal
import sys
from pathlib import Path

sys.path.append(str(Path(__file__).resolve().parent.parent / "launch"))

import common
import hang
from common import case, claim, mpiexec_path, read_report, wait_until
from lab import NAME, Lab, skip_without_means

HOSTS = 3
RANKS = 6
QUICK = ("tag", "finalize", "stopped")  # the rest is .ci/long's
lab = Lab(HOSTS)


def front():
    """The mpiexec that the user would see."""
    def found():
        pids = lab.pids(1, mpiexec_path())
        parents = {pid: common.parent_of(pid) for pid in pids}
        return [pid for pid in pids if parents[pid] not in pids]
    claim(wait_until(found, 10), "no mpiexec on host 1")
    return found()[0]


def try_hang(name):
    hosts = ",".join(f"{NAME}{host + 1}" for host in range(HOSTS))
    running, _ = hang.hang(name, RANKS, lab.command("exec", 1),
                           ("--bind-to", "none", "--hosts", hosts))
    os.kill(front(), signal.SIGUSR1)
    hang.hold(read_report(running), name, RANKS)
    os.kill(front(), signal.SIGTERM)
    running.finish()


@case("quick")
def three_hangs_are_named_across_hosts():
    for name in QUICK:
        try_hang(name)


@case("all")
def every_hang_is_named_across_hosts():
    for name in hang.HANGS:
        if name not in QUICK:
            try_hang(name)


if __name__ == "__main__":
    skip_without_means()
    with lab:
        code = common.main()
    sys.exit(code)
