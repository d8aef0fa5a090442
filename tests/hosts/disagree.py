"""disagree.py - members of a communicator on several hosts that make different collective calls:
the program ../mpi/disagree.c over each network. Hosts are netlab's; cases are called as those of
../launch (common.py).
"""

import re
import sys
from pathlib import Path

sys.path.append(str(Path(__file__).resolve().parent.parent / "launch"))

from common import Running, case, claim, mpiexec_path, program
from common import main as run_cases
from lab import NAME, Lab, skip_without_means

HOSTS = 3
lab = Lab(HOSTS)


def launch(hosts, ranks, *words, **settings):
    names = ",".join(f"{NAME}{host + 1}" for host in range(hosts))
    return Running([*lab.command("exec", 1), mpiexec_path(), "--bind-to", "none", "--timeout", "200",
                    "--hosts", names, "-n", ranks, program("mpi_disagree"), *words],
                   settings).finish()


def run(hosts, ranks, *words, **settings):
    done = launch(hosts, ranks, *words, **settings)
    said = done.err.decode()
    claim(done.code == 0, f"ended with {done.code}: {said[-2000:]}")
    return done.out.decode()


@case("connections")
def members_on_three_hosts_get_errors_or_their_data():
    run(3, 5)


@case("datagrams")
def members_on_three_hosts_get_errors_or_their_data_over_datagrams():
    run(3, 5, WEFT_TRANSPORT="shm+dgram")


@case("few")
def members_that_have_never_spoken_to_each_other_learn_that_they_disagree():
    for transport in ("auto", "dgram", "rdm"):
        run(2, 2, "first", WEFT_TRANSPORT=transport, WEFT_HEARTBEAT="1")


@case("few")
def a_rank_in_finalize_that_gets_the_data_of_another_call_names_its_sender():
    said = launch(2, 2, "finalize").err.decode()
    claim(re.search(r"rank 1 .*: MPI_Finalize: MPI_ERR_TRUNCATE: rank 0 has sent 1200000 bytes", said),
          said)


@case("few")
def sixty_four_ranks_learn_that_they_disagree_and_wait_for_late_ones():
    claim(re.search(r"the slowest pair took", run(2, 64, "small")), "it says how long it took")


if __name__ == "__main__":
    skip_without_means()
    with lab:
        code = run_cases()
    sys.exit(code)
