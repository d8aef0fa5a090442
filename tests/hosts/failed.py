"""failed.py - ranks that die under --keep-going while ranks on other hosts, which have never
spoken to them, wait for them. Hosts are netlab's, failed.c is the program; cases are called as
those of ../launch (common.py).
"""

import re
import sys
from pathlib import Path

sys.path.append(str(Path(__file__).resolve().parent.parent / "launch"))

import common
from common import Running, case, claim, mpiexec_path, program
from lab import NAME, Lab, skip_without_means

HOSTS = 3
RANKS = 6  # two on each host
lab = Lab(HOSTS)


def run(first, last, *more, **settings):
    """Those from first to last die; all others are told, and nobody says anything else."""
    hosts = ",".join(f"{NAME}{host + 1}" for host in range(HOSTS))
    done = Running([*lab.command("exec", 1), mpiexec_path(), "--bind-to", "none", "--keep-going",
                    "--timeout", "30", "--hosts", hosts, "-n", RANKS, program("failed"), first,
                    last, *more], settings).finish()
    dead = range(first, last + 1)
    told = sorted(int(word) for word in re.findall(rb"told (\d)", done.out))
    lines = done.err.decode().splitlines()
    claim(done.code == 137, f"ended with {done.code}: {lines}")
    claim(told == [rank for rank in range(RANKS) if rank not in dead], f"told {told}")
    claim(sorted(line.split(" (")[0].split(" on ")[0] for line in lines)
          == [f"mpiexec: rank {rank}" for rank in dead]
          and all("killed by signal 9" in line for line in lines), f"said {lines}")


@case("keep going")
def ranks_on_other_hosts_learn_of_a_rank_that_they_have_never_spoken_to():
    for victim in (0, 1, 3, 5):
        run(victim, victim)
        run(victim, victim, "later")


@case("keep going")
def a_host_may_lose_all_its_ranks():
    run(4, 5)
    run(2, 3, "later")
    run(1, 4, "later")


@case("keep going")
def those_who_leave_are_reached_even_without_a_progress_thread():
    run(4, 5, WEFT_PROGRESS="0")
    run(4, 5, "later", WEFT_PROGRESS="0")


if __name__ == "__main__":
    skip_without_means()
    with lab:
        code = common.main()
    sys.exit(code)
