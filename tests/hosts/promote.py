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


def drop(*protocols, way="in", hosts=range(1, HOSTS + 1), of=None):
    """Silently, what goes to data ports, of one host or of all; ssh goes on."""
    source = f"ip saddr 10.77.0.{of} " if of else ""
    hook = {"in": "input", "out": "output"}[way]
    for host in hosts:
        lab("exec", host, "nft", f"add table inet {TABLE}; "
            f"add chain inet {TABLE} ports {{ type filter hook {hook} priority 0; }}; " +
            "; ".join(f"add rule inet {TABLE} ports {source}{protocol} {side} {PORTS} "
                      f"{protocol} {other} != 22 drop"
                      for protocol in protocols
                      for side, other in (("dport", "sport"), ("sport", "dport"))))


def narrow(hosts=(2,)):
    """Silently, what is long and goes to data ports."""
    for host in hosts:
        lab("exec", host, "nft", f"add table inet {TABLE}; "
            f"add chain inet {TABLE} ports {{ type filter hook input priority 0; }}; "
            f"add rule inet {TABLE} ports udp dport {PORTS} udp length > 700 drop")


def let_through():
    for host in range(1, HOSTS + 1):
        lab("exec", host, "nft", f"delete table inet {TABLE}", check=False, capture_output=True)


def finish_well(running, note=None):
    done = running.finish()
    claim(done.code == 0 and b"all came" in done.out, f"code {done.code}, {done.out}, {done.err}")
    if note:
        print(f"{note}: {done.out.splitlines()[0].decode()}")
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
    """Nor libfabric, which the program says. WEFT_WARM: it is not loaded in advance."""
    said = finish_well(start(20, WEFT_WARM="0"))
    claim(connections(said) <= silent(said), f"connected: {connections(said)}")
    claim(silent(said) or "has loaded libfabric" not in said, said)


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
            said = finish_well(start(20), note=f"UDP is dropped, {way}")
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


def hand_over(*words, spoil):
    """What a job says whose datagrams are spoiled when it is half done: connections take them over."""
    with tempfile.TemporaryDirectory() as folder:
        file = Path(folder) / "go"
        running = start(*words, file)
        running.expect("half")
        spoil()
        try:
            file.touch()
            said = finish_well(running)
        finally:
            let_through()
    claim("were not acknowledged by dgram: they take the connection" in said, said)
    return said


@case("firewall")
def a_path_of_datagrams_that_dies_hands_its_packets_over():
    said = hand_over(40, spoil=lambda: drop("udp"))
    claim("no datagram comes from the host" not in said, said)


@case("narrow")
def where_only_short_datagrams_come_through_connections_do_it():
    """The peer answers, and sends by itself: it is not silent. On a busy machine it may seem so, or may
    have sent so much meanwhile that it is connected for that."""
    narrow()
    try:
        said = finish_well(start("talk", 6))
    finally:
        let_through()
    claim("were not acknowledged by dgram: they take the connection" in said, said)


@case("narrow")
def a_path_that_becomes_narrow_hands_its_packets_over():
    hand_over("talk", 12, spoil=narrow)


@case("narrow")
def a_path_that_is_narrow_both_ways_is_left():
    narrow(range(1, HOSTS + 1))
    try:
        said = finish_well(start(20))
    finally:
        let_through()
    claim(connections(said) == {(0, 1), (0, 2), (1, 2)}, f"connected: {connections(said)}")


@case("narrow")
def without_connections_one_line_names_the_cause():
    narrow()
    try:
        done = start("talk", 6, log="warn", WEFT_TRANSPORT="shm+dgram").finish()
    finally:
        let_through()
    lines = common.headlines(done.err)
    claim(done.code not in (0, 124), f"ended with {done.code}")
    claim(len(lines) == 1 and re.search(r"a datagram of \d+ bytes does not reach it: a link may drop "
                                        r"long ones \(MTU\); WEFT_TRANSPORT=shm\+msg", lines[0]),
          f"said {lines}")


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


def end_by(*words, spoil, **variables):
    """The one line of a job that ends because nothing comes through any more."""
    with tempfile.TemporaryDirectory() as folder:
        file = Path(folder) / "go"
        running = start(*words, file, log="warn", **variables)
        running.expect("half")
        spoil()
        try:
            file.touch()
            done = running.finish()
        finally:
            let_through()
    lines = common.headlines(done.err)
    claim(done.code not in (0, 124) and len(lines) == 1, f"ended with {done.code}, said {lines}")
    return lines[0]


@case("dead")
def who_only_waits_notices_that_nothing_comes_through():
    said = end_by("wait", spoil=lambda: drop("udp", "tcp"))
    claim(re.search(r"MPI_Recv.*no path to rank \d is left: dgram: .*; msg: no connection", said), said)
    said = end_by("wait", spoil=lambda: drop("udp"), WEFT_TRANSPORT="shm+dgram")
    claim(re.search(r"MPI_Recv.*no path to rank \d is left: dgram: it does not answer", said), said)


@case("dead")
def a_message_that_is_lost_after_its_send_ends_the_job():
    """The one that has sent it waits for somebody else, and the receiver for anybody."""
    def cut():
        drop("udp", "tcp", hosts=[1], of=2)
        drop("udp", "tcp", hosts=[2], of=1)
    said = end_by("forget", spoil=cut)
    claim(re.search(r"rank 1 on .*: no path to rank 0 is left: dgram: .*, 1 packets not acknowledged; "
                    r"msg: no connection", said), said)


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
