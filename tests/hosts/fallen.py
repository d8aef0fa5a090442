"""fallen.py - what mpiexec says of ranks that die on several hosts: the programs and the sentences
are those of ../launch/deaths.py, with two ranks on each of three hosts. The rank that dies is on
the second host, which is not that of mpiexec.
"""

import re
import sys
import tempfile
import time
from pathlib import Path

sys.path.append(str(Path(__file__).resolve().parent.parent / "launch"))

import common
import deaths
from common import Running, case, claim, equal, mpiexec_path, program, wait_until
from lab import NAME, Lab, skip_without_means

HOSTS = 3
RANKS = 6
VICTIM = 3
QUICK = ("segv", "recv", "collective", "abort", "exit0")  # the rest is .ci/long's
lab = Lab(HOSTS)


def options(*more):
    hosts = ",".join(f"{NAME}{host + 1}" for host in range(HOSTS))
    return ["--bind-to", "none", "--hosts", hosts, *more]


def die(name, *more, **settings):
    settings = {"ranks": RANKS, "victim": VICTIM, "front": lab.command("exec", 1)} | settings
    return deaths.die(name, **({"options": options(*more)} | settings))


def try_death(name):
    if name in deaths.SILENT:
        deaths.hold_silent(name, die(name), VICTIM)
    else:
        deaths.hold(name, die(name), RANKS, VICTIM)


def nothing_is_left_on_hosts():
    for host in range(1, HOSTS + 1):
        claim(wait_until(lambda: not lab.pids(host, program("deaths")), 10), f"on host {host}")


@case("quick")
def some_deaths_are_told_across_hosts():
    for name in QUICK:
        try_death(name)
    nothing_is_left_on_hosts()


@case("all")
def every_death_is_told_across_hosts():
    for name in (*deaths.DEATHS, *deaths.SILENT):
        if name not in QUICK:
            try_death(name)
    nothing_is_left_on_hosts()


@case("all")
def the_memory_killer_is_named_on_a_host():
    """On that of mpiexec, whose cgroup the test can choose."""
    deaths.hold_memory(front=lab.command("exec", 1), ranks=RANKS, options=options())


@case("quick")
def a_file_has_the_ranks_of_all_hosts_with_clocks_aligned():
    """All hosts of the lab have one clock: what is found must be less than the doubt."""
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "job.json"
        done = die("collective", "--trace", path)
        deaths.hold("collective", done, RANKS, VICTIM)
        trace, by_rank = deaths.read_trace(path, RANKS)
        last = by_rank[VICTIM][-1]
        equal((last["name"], last["ph"]), ("MPI_Barrier", "X"))
        equal([by_rank[r][-1]["name"] for r in range(RANKS) if r != VICTIM], ["MPI_Bcast"] * 5)
        hosts = trace["otherData"]["hosts"]
        equal([host["name"] for host in hosts], [f"{NAME}{host + 1}" for host in range(HOSTS)])
        for host in hosts[1:]:
            claim(host["round_trip_ns"] > 0, host)
            claim(abs(host["clock_offset_ns"]) <= host["round_trip_ns"] / 2 + 1000, host)


def lose_host(harm):
    """What the others did is told of a job that loses a host."""
    running = Running([*lab.command("exec", 1), mpiexec_path(), *options(), "-n", RANKS,
                       program("deaths"), "idle"])
    try:
        running.expect("idle")
        claim(wait_until(are_asleep, 30), "no rank waits")
        harm()
        done = running.finish()
    except AssertionError:
        running.abandon()
        raise
    said = done.err.decode()
    claim(done.code != 0, said)
    claim(re.search(rf"^mpiexec: host {NAME}3: ", said), said)
    claim(re.search(r"^  4 ranks were in MPI_Bcast root 5, 77 bytes on 'MPI_COMM_WORLD' for up to "
                    r".*: 0-3$", said, re.M), said)
    claim(re.search(r"^  2 ranks were on a host that does not answer: 4-5$", said, re.M), said)


def ranks_of(host):
    return [pid for pid in lab.pids(host, program("deaths"))
            if common.name_of(pid).startswith("launch_deaths")]


def are_asleep():
    """Do the ranks of the first hosts sleep, and not only for a moment?"""
    for _ in range(20):
        pids = ranks_of(1) + ranks_of(2)
        if len(pids) != 4 or any(common.state_of(pid) != "S" for pid in pids):
            return False
        time.sleep(0.01)
    return True


@case("lost")
def a_daemon_that_is_killed_leaves_what_others_did():
    def harm():
        for pid in lab.pids(3, "--weft-daemon"):
            common.kill_quietly(pid)
    lose_host(harm)


@case("lost")
def a_host_that_crashes_leaves_what_others_did():
    lose_host(lambda: lab("crash", 3))
    lab("boot", 3)


if __name__ == "__main__":
    skip_without_means()
    with lab:
        code = common.main()
    sys.exit(code)
