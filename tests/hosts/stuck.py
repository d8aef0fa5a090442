"""stuck.py - what mpiexec says of jobs that hang on several hosts: the jobs and the sentences are
those of ../launch/hang.py, with two ranks on each of three hosts.
"""

import os
import signal
import subprocess
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
    return common.front_of(lambda: lab.pids(1, mpiexec_path()))


def ask_by_signal(running):
    os.kill(front(), signal.SIGUSR1)
    return read_report(running)


def ask_by_top():
    """weft-top on the host of mpiexec, where there is no other job."""
    words = [*lab.command("exec", 1), Path(mpiexec_path()).with_name("weft-top"), "--once"]
    shown = subprocess.run([str(word) for word in words], check=True, stdout=subprocess.PIPE,
                           text=True).stdout
    claim(shown.startswith(f"{RANKS} ranks of ") and f" on {HOSTS} hosts:\n" in shown, shown)
    return shown


def try_hang(name):
    """A rank that is about to connect, for the first time, waits for no one yet: who asks while
    it does so asks again."""
    hosts = ",".join(f"{NAME}{host + 1}" for host in range(HOSTS))
    running, _ = hang.hang(name, RANKS, lab.command("exec", 1),
                           ("--bind-to", "none", "--hosts", hosts),
                           again=lambda _: os.kill(front(), signal.SIGUSR1))
    for ask in (lambda: ask_by_signal(running), ask_by_top):
        claim(wait_until(lambda: hang.is_named(ask(), name, RANKS), 30), f"{name}: {ask()}")
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
