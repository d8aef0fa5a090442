"""netlab.py - the lab itself: its hosts are apart, its links can be cut, capped, lossy."""

import itertools
import math
import re
import subprocess
import sys
import time
from pathlib import Path

from lab import NAME, Lab, skip_without_means

LISTEN = """
import socket, threading
def serve(c):
    n = 0
    while part := c.recv(65536):
        n += len(part)
    c.sendall(b"%d" % n)
    c.close()
s = socket.create_server(("", 5000))
print("ready", flush=True)
while True:
    threading.Thread(target=serve, args=(s.accept()[0],), daemon=True).start()
"""
SEND = """
import socket, sys, time
begin = time.monotonic()
c = socket.create_connection((sys.argv[1], 5000), timeout=float(sys.argv[3]))
c.sendall(bytes(int(sys.argv[2])))
c.shutdown(socket.SHUT_WR)
assert c.recv(100) == sys.argv[2].encode()
print(time.monotonic() - begin)
"""
SEND_BY_FOUR = """
import socket, sys, threading
def send():
    c = socket.create_connection((sys.argv[1], 5000), timeout=30)
    c.sendall(bytes(int(sys.argv[2])))
    c.shutdown(socket.SHUT_WR)
    assert c.recv(100) == sys.argv[2].encode()
threads = [threading.Thread(target=send) for _ in range(4)]
for t in threads: t.start()
for t in threads: t.join()
"""

TRAINS, IN_TRAIN = 100, 20
CHOSEN = 0.1  # the part of the datagrams that is lost, doubled or late
RISK = 1e-9  # of a random count to be outside its bounds: it then shows a fault
SEEN_LATE = 10  # datagrams that are overtaken before the test believes that single ones are
SEND_TRAINS = f"""
import socket, time
s = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
s.setsockopt(socket.IPPROTO_UDP, 103, 1000)  # UDP_SEGMENT: one call for each train
for i in range({TRAINS}):
    s.sendto(b"".join((i * {IN_TRAIN} + j).to_bytes(1000, "big") for j in range({IN_TRAIN})),
             ("10.77.0.2", 5001))
    time.sleep(0.002)
"""
# Its standard input ends when everything is sent: a sender may be slow. The buffer holds all.
RECEIVE_TRAINS = """
import select, socket, sys
s = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
s.setsockopt(socket.SOL_SOCKET, 33, 16777216)  # SO_RCVBUFFORCE
s.bind(("", 5001))
print("ready", flush=True)
s.settimeout(0.5)
while True:
    is_sent = bool(select.select([sys.stdin], [], [], 0)[0])
    try:
        while True:
            print(int.from_bytes(s.recv(65536), "big"))
    except TimeoutError:
        if is_sent:
            break
"""


def reaches(lab, address, size=1, patience=1):
    return lab.has(1, "python3", "-c", SEND, address, size, patience)


def seconds_for(lab, address, size):
    return float(lab.run(1, "python3", "-c", SEND, address, size, 30))


def hosts_are_apart(lab):
    assert lab.run(1, "hostname") == f"{NAME}1"
    assert lab.run(2, "hostname") == f"{NAME}2"
    lab.run(1, "touch", "/dev/shm/of-the-first")
    assert not lab.has(2, "test", "-e", "/dev/shm/of-the-first")
    assert int(lab.run(2, "sh", "-c", "ls -d /proc/[0-9]* | wc -l")) < 20
    assert lab.run(1, "ip", "route").count("\n") == 1, "a way out, or a link too few"
    assert lab.run(1, "ssh", f"{NAME}2", "hostname") == f"{NAME}2"
    assert lab.run(1, "ssh", f"{NAME}2-b", "hostname") == f"{NAME}2"
    assert not lab.has(1, "sh", "-c", "exit 3")


def each_link_is_cut_alone(lab):
    lab("cut", 2, 0)
    assert not reaches(lab, "10.77.0.2") and reaches(lab, "10.78.0.2")
    lab("heal", 2, 0)
    lab("cut", 2, 1)
    assert reaches(lab, "10.77.0.2") and not reaches(lab, "10.78.0.2")
    lab("cut", 2)
    assert not reaches(lab, "10.77.0.2") and not reaches(lab, "10.78.0.2")
    lab("heal", 2)
    assert reaches(lab, "10.77.0.2") and reaches(lab, "10.78.0.2")


def least_seconds_for(lab, address, size):
    """Where nothing is capped: a busy machine only adds to the time."""
    return min(seconds_for(lab, address, size) for _ in range(5))


def each_link_is_capped_alone(lab):
    size = 4_000_000
    lab("rate", 2, "32mbit", 1)
    slow, fast = seconds_for(lab, "10.78.0.2", size), least_seconds_for(lab, "10.77.0.2", size)
    assert slow > 0.8 > fast or slow > 4 * fast, f"{slow} s, {fast} s"
    lab("rate", 2, "off", 1)
    assert seconds_for(lab, "10.78.0.2", size) < slow


def each_connection_is_capped_alone(lab):
    """As much by four connections at once as by one after the other is faster."""
    size = 1_000_000
    lab("flow", 1, "32mbit", 1)
    slow, fast = seconds_for(lab, "10.78.0.2", size), least_seconds_for(lab, "10.77.0.2", size)
    assert slow > 0.2 > fast or slow > 4 * fast, f"{slow} s, {fast} s"
    begin = time.monotonic()
    assert lab.has(1, "python3", "-c", SEND_BY_FOUR, "10.78.0.2", size)
    together = time.monotonic() - begin
    assert together < 3 * slow, f"{together} s, {slow} s each"
    lab("flow", 1, "off", 1)
    assert seconds_for(lab, "10.78.0.2", size) < slow


def packets_are_lost(lab):
    lab("loss", 1, 100, 0)
    assert not reaches(lab, "10.77.0.2") and reaches(lab, "10.78.0.2")
    lab("loss", 1, 0)
    assert reaches(lab, "10.77.0.2")


def numbers_that_arrive(lab):
    """Sends trains of numbered datagrams, and returns those that arrive, as they do."""
    with subprocess.Popen(lab.command("exec", 2, "python3", "-c", RECEIVE_TRAINS), text=True,
                          stdin=subprocess.PIPE, stdout=subprocess.PIPE) as receiver:
        receiver.stdout.readline()
        lab.run(1, "python3", "-c", SEND_TRAINS)
        return [int(line) for line in receiver.communicate()[0].splitlines()]


def bounds(trials, chance):
    """The bounds of a binomial count, below and above which it is with a probability of RISK."""
    each = [math.exp(math.lgamma(trials + 1) - math.lgamma(k + 1) - math.lgamma(trials - k + 1)
                     + k * math.log(chance) + (trials - k) * math.log(1 - chance))
            for k in range(trials + 1)]
    sums = list(itertools.accumulate(each))
    sums_from_above = list(itertools.accumulate(reversed(each)))
    low = sum(total < RISK for total in sums)
    high = trials - sum(total < RISK for total in sums_from_above)
    return low, high


def is_likely(count, trials, chance):
    low, high = bounds(trials, chance)
    return low <= count <= high


def in_the_switch(*words):
    return subprocess.run(["ip", "netns", "exec", f"{NAME}0", *words], check=True, text=True,
                          stdout=subprocess.PIPE).stdout


def datagrams_are_late(lab, everything):
    """How many datagrams the switch chooses is random. How many of these are overtaken depends
    on how fast the others come, which a busy machine makes slow: none has to be. So trains are
    sent until some were."""
    begin, late = time.monotonic(), 0
    while late < SEEN_LATE:
        lab("late", 2, round(100 * CHOSEN))  # its counters begin at 0
        came = numbers_that_arrive(lab)
        chosen = int(re.search(r"counter packets (\d+)", in_the_switch(
            "nft", "list", "chain", "netdev", "netlab", "late0.2"))[1])
        dropped = int(re.search(r"dropped (\d+)", in_the_switch(
            "tc", "-s", "qdisc", "show", "dev", "port0.2", "parent", "1:2"))[1])
        assert is_likely(chosen, len(everything), CHOSEN), f"{chosen} chosen"
        assert len(came) == len(set(came)) == len(everything) - dropped, \
            f"{len(came)} came, {dropped} dropped"
        descents = sum(number < before for before, number in zip(came, came[1:]))
        assert descents <= chosen, f"{descents} late, {chosen} chosen"
        late += descents
        assert time.monotonic() - begin < 120, f"{late} late"


def packets_are_chosen_one_by_one(lab):
    """Loss, repeats and delay concern single datagrams of what was sent in one call."""
    everything = list(range(TRAINS * IN_TRAIN))
    assert numbers_that_arrive(lab) == everything

    lab("loss", 1, round(100 * CHOSEN))
    came = numbers_that_arrive(lab)
    lost = set(everything) - set(came)
    touched = {number // IN_TRAIN for number in lost}
    assert came == sorted(set(came)) and is_likely(len(lost), len(everything), CHOSEN), len(lost)
    assert is_likely(len(touched), TRAINS, 1 - (1 - CHOSEN)**IN_TRAIN), \
        f"{len(lost)} datagrams lost of {len(touched)} trains"
    lab("loss", 1, 0)

    lab("twice", 2, round(100 * CHOSEN))
    came = numbers_that_arrive(lab)
    assert set(came) == set(everything), len(set(came))
    assert is_likely(len(came) - len(everything), len(everything), CHOSEN), len(came)
    lab("twice", 2, 0)

    datagrams_are_late(lab, everything)
    lab("late", 2, 0)
    assert numbers_that_arrive(lab) == everything


def new_connections_are_lost(lab):
    lab("deaf", "on")
    assert not reaches(lab, "10.77.0.2") and int(lab.output("deaf", "lost")) > 0
    lab("deaf", "off")
    assert reaches(lab, "10.77.0.2")


def a_host_crashes_and_comes_back(lab):
    lab("crash", 2)
    assert not lab.has(2, "true") and not reaches(lab, "10.77.0.2")
    lab("boot", 2)
    assert lab.run(1, "ssh", f"{NAME}2", "hostname") == f"{NAME}2"


def nothing_is_left():
    assert not Path(f"/run/netlab-{NAME}").exists()
    spaces = subprocess.run(["ip", "netns", "list"], check=True, text=True,
                            stdout=subprocess.PIPE).stdout
    assert not [line for line in spaces.splitlines() if line.startswith(NAME)], spaces


def main():
    skip_without_means("tc")
    with Lab(2, "--links", 2) as lab:
        hosts_are_apart(lab)
        with subprocess.Popen(lab.command("exec", 2, "python3", "-c", LISTEN),
                              stdout=subprocess.PIPE) as server:
            try:
                server.stdout.readline()
                for test in (each_link_is_cut_alone, each_link_is_capped_alone,
                             each_connection_is_capped_alone, packets_are_lost,
                             new_connections_are_lost, a_host_crashes_and_comes_back):
                    begin = time.monotonic()
                    test(lab)
                    print(f"ok    {test.__name__} ({time.monotonic() - begin:.1f} s)")
            finally:
                server.kill()
    with Lab(2, "--single", ssh=False) as lab:
        packets_are_chosen_one_by_one(lab)
        print("ok    packets_are_chosen_one_by_one")
    nothing_is_left()
    return 0


if __name__ == "__main__":
    sys.exit(main())
