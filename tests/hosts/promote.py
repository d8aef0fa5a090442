"""promote.py - datagrams and connections between hosts, and which of them a peer gets
(WEFT_TRANSPORT=shm+dgram+msg). Hosts are netlab's, promote.c is the program; cases are called as those
of ../launch (common.py).
"""

import re
import sys
import tempfile
import time
from pathlib import Path

sys.path.append(str(Path(__file__).resolve().parent.parent / "launch"))

import common
from common import Running, case, claim, mpiexec_path
from lab import NAME, Lab, skip_without_means

PORTS = "47000-47999"
TABLE = "weft_promote"
HOSTS = 3
lab = Lab(HOSTS)


def start(*words, ranks=HOSTS, log="info", **variables):
    program = common.program("promote")
    hosts = ",".join(f"{NAME}{i}" for i in range(1, HOSTS + 1))
    return Running([*lab.command("exec", 1), mpiexec_path(), "--bind-to", "none", "--hosts", hosts,
                    "--map-by", "node", "-n", ranks, program, *words],
                   variables={"WEFT_TRANSPORT": "shm+dgram+msg", "WEFT_LOG": log} | variables)


def drop(*protocols, way="in", hosts=range(1, HOSTS + 1)):
    """Silently, what goes to data ports; ssh goes on."""
    hook = {"in": "input", "out": "output"}[way]
    for host in hosts:
        lab("exec", host, "nft", f"add table inet {TABLE}; "
            f"add chain inet {TABLE} ports {{ type filter hook {hook} priority 0; }}; " +
            "; ".join(f"add rule inet {TABLE} ports {protocol} {side} {PORTS} "
                      f"{protocol} {other} != 22 drop"
                      for protocol in protocols
                      for side, other in (("dport", "sport"), ("sport", "dport"))))


def let_through():
    for host in range(1, HOSTS + 1):
        lab("exec", host, "nft", f"delete table inet {TABLE}", check=False, capture_output=True)


def finish_well(running):
    done = running.finish()
    claim(done.code == 0 and b"all came" in done.out, f"code {done.code}, {done.out}, {done.err}")
    return done.err.decode(errors="replace")


def connections(said):
    """Pairs of ranks that were connected, from what each rank has said."""
    found = re.findall(r"rank (\d+) on \S+: connected to rank (\d+), stream 0", said)
    return {tuple(sorted((int(a), int(b)))) for a, b in found}


def silent(said):
    """Pairs of which one has not heard of the other in time: a process may not get a processor."""
    found = re.findall(r"rank (\d+) on \S+: rank (\d+) has not answered a datagram in time", said)
    return {tuple(sorted((int(a), int(b)))) for a, b in found}


@case("rule")
def a_few_messages_need_no_connection():
    said = finish_well(start(20))
    claim(connections(said) <= silent(said), f"connected: {connections(said)}")


@case("rule")
def many_messages_are_promoted():
    said = finish_well(start(200, "connected"))
    claim(connections(said) == {(0, 1), (0, 2), (1, 2)}, f"connected: {connections(said)}")
    claim("take the connection" in said, said)


@case("rule")
def a_stream_is_promoted_while_small_messages_go():
    said = finish_well(start("stream", 30))
    claim((0, 1) in connections(said) and connections(said) <= {(0, 1)} | silent(said),
          f"connected: {connections(said)}")


@case("rule")
def a_ring_of_long_messages_connects_neighbours_alone():
    """All with all once, then 1 MiB to the next. Where libfabric is not loaded before the end, nobody
    is."""
    ranks = 24
    said = finish_well(start("ring", ranks=ranks))
    ring = {tuple(sorted((i, (i + 1) % ranks))) for i in range(ranks)}
    others = connections(said) - ring - silent(said)
    claim(not others, f"others are connected: {others}")


@case("firewall")
def where_no_datagram_comes_through_connections_do_it():
    for way in ("in", "out"):
        drop("udp", way=way)
        try:
            begin = time.monotonic()
            said = finish_well(start(20))
            claim("no datagram comes from the host of rank" in said, said)
            claim(connections(said) == {(0, 1), (0, 2), (1, 2)}, f"connected: {connections(said)}")
            claim(time.monotonic() - begin < 20, "it took too long")
        finally:
            let_through()


@case("firewall")
def one_way_is_not_enough_for_datagrams():
    """What one host sends comes through, and its answers do not: the others go on without it."""
    drop("udp", hosts=[2])
    try:
        said = finish_well(start(20))
        both = {(0, 1), (1, 2)}
        claim(both <= connections(said) <= both | silent(said), f"connected: {connections(said)}")
    finally:
        let_through()


@case("firewall")
def a_path_of_datagrams_that_dies_hands_its_packets_over():
    with tempfile.TemporaryDirectory() as folder:
        file = Path(folder) / "go"
        running = start(40, file)
        running.expect("half")
        drop("udp")
        try:
            file.touch()
            said = finish_well(running)
        finally:
            let_through()
    claim("were not acknowledged by dgram: they take the connection" in said, said)
    claim("no datagram comes from the host" not in said, said)


@case("stopped")
def a_rank_that_is_stopped_for_long_is_not_lost():
    """Longer than the 15 s after which nobody waits for a host that has died."""
    with tempfile.TemporaryDirectory() as folder:
        file = Path(folder) / "go"
        running = start(40, file)
        running.expect("half")
        found = lab("exec", 2, "pgrep", "-x", Path(common.program("promote")).name[:15],
                    capture_output=True).stdout.split()
        claim(len(found) == 1, f"on the second host: {found}")
        lab("exec", 2, "kill", "-STOP", *found)
        file.touch()
        time.sleep(18)
        lab("exec", 2, "kill", "-CONT", *found)
        finish_well(running)


@case("firewall")
def when_nothing_comes_through_one_line_says_so():
    drop("udp", "tcp")
    try:
        done = start(20, log="warn", WEFT_HEARTBEAT="2").finish()
    finally:
        let_through()
    lines = common.headlines(done.err)
    claim(done.code not in (0, 124), f"ended with {done.code}")
    claim(len(lines) == 1 and
          re.search(r"no path to rank \d is left: dgram: .*, \d+ packets not acknowledged; "
                    r"msg: no connection from \S+ to rank \d", lines[0]), f"said {lines}")


if __name__ == "__main__":
    skip_without_means()
    with lab:
        code = common.main()
    sys.exit(code)
