"""messages.py - messages between hosts, which are netlab's.

The programs of ../mpi on two and four hosts, several ranks on each, so that shared memory
and connections are mixed; under our mpiexec and under hydra. Cases are called as those of
../launch (common.py); the programs are found beside mpiexec.
"""

import re
import subprocess
import sys
from pathlib import Path

sys.path.append(str(Path(__file__).resolve().parent.parent / "launch"))

import common
from common import Running, case, claim, is_long, mpiexec_path, program, wait_until
from lab import NAME, Lab, skip_without_means

HOSTS = 4
PROGRAMS = ("p2p", "probe", "comm", "progress", "requests", "datatype_random", "persistent",
            "partitioned", "buffered", "coll_alltoall", "p2p_flood")
KEPT = 4  # on four hosts, where two run all: the rest in .ci/long
LEVELS = ("barrier=levels,bcast=levels,reduce=levels,allreduce=levels,allgather=levels",
          "bcast=chain,allreduce=lanes")
lab = Lab(HOSTS, "--links", 2)


def hosts(*numbers):
    return ",".join(f"{NAME}{number}" for number in numbers)


def mpi(name):
    return Path(mpiexec_path()).parent.parent / "tests/mpi" / f"mpi_{name}"


def left():
    return [pid for number in range(1, HOSTS + 1) for word in ("mpi_", "launch_mixed")
            for pid in lab.pids(number, word)]


def mpiexec(names, ranks):
    """The hosts share their cores, and a thread that tests and yields leaves little to
    other hosts' (Linux 6.18): so no rank is bound, and daemons may be silent for long."""
    return [mpiexec_path(), "--bind-to", "none", "--hosts", names, "-n", ranks]


def run(command, *words, code=0, variables=None):
    """Standard error is the programs' affair: many of them provoke errors."""
    variables = {"WEFT_HEARTBEAT": "60"} | (variables or {})
    done = Running([*lab.command("exec", 1), *command, *words],
                   variables=variables).finish()
    claim(done.code == code,
          f"{words}: code {done.code} instead of {code}\n{done.err[-3000:].decode()}")
    claim(wait_until(lambda: not left(), 30), f"{words}: processes are left: {left()}")
    return done


@case("mpiexec")
def programs_run_on_two_hosts():
    for name in PROGRAMS:
        run(mpiexec(hosts(1, 2), 4), mpi(name))


@case("mpiexec")
def programs_run_on_four_hosts():
    for name in PROGRAMS if is_long() else PROGRAMS[:KEPT]:
        run(mpiexec(hosts(1, 2, 3, 4), 8), mpi(name))


@case("mpiexec")
def any_source_takes_from_both_ways():
    for names, ranks in ((hosts(1, 2), 4), (hosts(1, 2, 3, 4), 8)):
        run(mpiexec(names, ranks), program("mixed"))


@case("mpiexec")
def one_sided_operations_reach_memory_on_other_hosts():
    """Some targets share memory with the origin, and others are reached by the network."""
    run(mpiexec(hosts(1, 2, 3), 6), mpi("rma_far"), "direct", variables={"WEFT_TRANSPORT": "shm+msg"})
    if is_long():  # on one node .ci/run has these, too
        run(mpiexec(hosts(1, 2, 3), 6), mpi("rma_far"), "direct", variables={"WEFT_TRANSPORT": "shm+rdm"})
        run(mpiexec(hosts(1, 2, 3), 6), mpi("rma_far"), "messages",
            variables={"WEFT_RMA": "messages"})
    run(mpiexec(hosts(1, 2, 3), 6), mpi("rma_shared"), "near")
    run(mpiexec(hosts(1, 2, 3), 6), mpi("rma_shared"), "own",
        variables={"WEFT_RMA": "messages"})
    run(mpiexec(hosts(1, 2, 3), 6), mpi("rma_ways"), "node_copied+net_memory",
        "node_mapped+net_memory", "node_mapped", "node_copied+net_messages")
    three = hosts(1, 2, 3)
    uneven = f"{NAME}1:1,{NAME}2:2,{NAME}3:3"
    for names, ranks, variables in ((three, 9, {}), (uneven, 6, {"WEFT_TRANSPORT": "shm+rdm"})):
        run(mpiexec(names, ranks), mpi("rma_random"), ranks, 40, variables=variables)
    for name in ("rma_random", "rma_dynamic",
                 *(("rma_accumulate", "rma_passive", "rma_sync") if is_long() else ())):
        run(mpiexec(hosts(1, 2, 3), 6), mpi(name))


@case("mpiexec")
def who_speaks_to_three_has_three_connections():
    for when in ("lazy", "all"):
        run(mpiexec(hosts(1, 2, 3, 4), 8), program("connections"), when,
            variables={"WEFT_TRANSPORT": "msg", "WEFT_CONNECT": when})


@case("mpiexec")
def random_traffic_goes_between_hosts():
    for names, ranks in ((hosts(1, 2), 4), (hosts(1, 2, 3, 4), 8)):
        run(mpiexec(names, ranks), mpi("stress"), 1, 4, 1)


@case("mpiexec")
def the_named_network_carries_the_messages():
    """Without the first link, only the second can."""
    lab("cut", 2, 0)
    try:
        run(mpiexec(f"{NAME}1-b,{NAME}2-b", 4), mpi("p2p"),
            variables={"WEFT_NET": "10.78.0.0/16"})
    finally:
        lab("heal", 2, 0)


@case("mpiexec")
def the_network_comes_up_with_the_first_contact():
    run(mpiexec(hosts(1, 2), 8), program("contact"),
        variables={"WEFT_TRANSPORT": "shm+msg", "WEFT_WARM": "0"})


@case("mpiexec")
def a_job_that_lasts_is_ready_for_the_first_contact():
    run(mpiexec(hosts(1, 2), 8), program("contact"), "alone",
        variables={"WEFT_WARM": "200"})


@case("mpiexec")
def a_rank_that_has_left_is_still_connected_to():
    """Connections that a freed communicator needs come later than the leaving barrier."""
    for progress in ("1", "0"):
        running = Running([*lab.command("exec", 1), *mpiexec(hosts(1, 2, 3, 4), 8),
                           program("release")], stdin=subprocess.PIPE,
                          variables={"WEFT_TRANSPORT": "shm+msg", "WEFT_HEARTBEAT": "60",
                                     "WEFT_PROGRESS": progress})
        running.expect("ready")
        lab("deaf", "on")
        try:
            running.process.stdin.write(b"\n")
            running.process.stdin.flush()
            claim(wait_until(lambda: int(lab.output("deaf", "lost")) > 0, 20),
                  "no connection was needed: this proves nothing")
        finally:
            lab("deaf", "off")
        running.end()


@case("collectives")
def collectives_agree_with_the_model_on_mixed_hosts():
    """A few ranks on three hosts; .ci/long has 1, 3 and 5 on each, and different numbers."""
    three = hosts(1, 2, 3)
    uneven = f"{NAME}1:1,{NAME}2:3,{NAME}3:5"
    places = [(three, 3), (three, 9), (three, 15), (uneven, 9)]
    for names, ranks in places if is_long() else [(three, 5)]:
        run(mpiexec(names, ranks), mpi("coll_random"), 5 + ranks, 150 if is_long() else 40)


@case("collectives")
def algorithms_for_several_nodes_agree_with_the_model():
    for names, ranks in ((hosts(1, 2, 3, 4), 8), (f"{NAME}1:1,{NAME}2:3,{NAME}3:5", 9)):
        for value in LEVELS:
            run(mpiexec(names, ranks), mpi("coll_random"), ranks, 150 if is_long() else 30,
                variables={"WEFT_COLL": value})


@case("collectives")
def one_rank_of_each_node_speaks_to_others():
    """Two rounds among four leaders, who tell one member; that one tells its leader."""
    run(mpiexec(hosts(1, 2, 3, 4), 8), mpi("coll_forced"), 3, 1,
        variables={"WEFT_COLL": "allgather=levels"})


def strict(face):
    """A provider of our own, as a network that has only connections, or none (face.c)."""
    folder = Path(mpiexec_path()).parent.parent / "tests/fault/strict"
    return {"FI_PROVIDER_PATH": str(folder), "FI_PROVIDER": "strict"} | (
        {"STRICT_FACE": face} if face else {})


@case("networks")
def what_libfabric_offers_decides_about_connections():
    """Ranks of one node use shared memory in either case."""
    for variables, network in (({"FI_PROVIDER": "tcp;ofi_rxm"}, "rdm"),
                               (strict("verbs"), "rdm"), (strict(None), "msg"), ({}, "msg"),
                               ({"FI_PROVIDER": "tcp;ofi_rxm,tcp"}, "msg")):
        said = run(mpiexec(hosts(1, 2), 4), mpi("p2p"),
                   variables=variables | {"WEFT_LOG": "info"}).err.decode()
        claim(len(re.findall(fr"network between nodes: {network}\b", said)) == 4,
              f"{variables}: not {network}: {said[-2000:]}")


@case("networks")
def nodes_that_offer_different_networks_are_told():
    done = run(mpiexec(hosts(1, 2), 2), "sh", "-c",
               f"[ $(hostname) = {NAME}1 ] || export FI_PROVIDER='tcp;ofi_rxm'; exec {mpi('p2p')}",
               code=1)
    claim(b"has opened the network" in done.err and b"WEFT_TRANSPORT" in done.err
          and b"the network msg" in done.err and b"the network rdm" in done.err,
          f"no line that names both: {done.err[-2000:]}")


@case("hydra")
def collectives_know_the_nodes_under_hydra():
    run(["mpiexec.hydra", "-launcher", "ssh", "-hosts", hosts(1, 2, 3, 4), "-ppn", 2, "-n", 8],
        mpi("coll_forced"), 3, 1, variables={"WEFT_COLL": "allgather=levels"})


@case("hydra")
def the_network_comes_up_with_the_first_contact_under_hydra():
    run(["mpiexec.hydra", "-launcher", "ssh", "-hosts", hosts(1, 2), "-ppn", 4, "-n", 8],
        program("contact"), variables={"WEFT_TRANSPORT": "shm+msg", "WEFT_WARM": "0"})


@case("hydra")
def programs_run_under_hydra():
    for names, ranks in ((hosts(1, 2), 4), (hosts(1, 2, 3, 4), 8)):
        for path in (program("mixed"), *map(mpi, ("p2p", "probe", "coll_alltoall"))):
            run(["mpiexec.hydra", "-launcher", "ssh", "-hosts", names, "-ppn", 2, "-n",
                 ranks], path)


if __name__ == "__main__":
    skip_without_means("mpiexec.hydra")
    with lab:
        code = common.main()
    sys.exit(code)
