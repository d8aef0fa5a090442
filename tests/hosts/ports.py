"""ports.py PROGRAM - ports for datagrams on two hosts: what a real link does to them.

PROGRAM is port.c's. Over loopback the contract of ports is tried by tests/unit/test_port.c.
"""

import errno
import subprocess
import sys
import time

from lab import Lab, skip_without_means

MANY = 1000
LONGEST = 1472


class Port:
    """A port on a host, for as long as it is used."""

    def __init__(self, lab, program, kind, host):
        self.process = subprocess.Popen(
            lab.command("exec", host, program, kind, f"10.77.0.{host}", "eth0"), text=True,
            stdin=subprocess.PIPE, stdout=subprocess.PIPE)
        self.address, *numbers = self.process.stdout.readline().split()
        self.longest, self.room = (int(number) for number in numbers)

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.process.stdin.close()
        assert self.process.wait(10) == 0

    def begin(self, *words):
        print(*words, file=self.process.stdin, flush=True)

    def answer(self):
        return [int(word) for word in self.process.stdout.readline().split()]

    def __call__(self, *words):
        self.begin(*words)
        return self.answer()


def move(a, b, count=MANY, length=LONGEST):
    """Sends datagrams from a to b. Returns how many have come, how many of them differ, and
    the calls of both; none of them is wrong."""
    sends = took = different = takes = 0
    for _ in range(0, count, 100):  # less than the room
        taken, unsent, _, calls = a("send", 100, length)
        assert (taken, unsent) == (100, 0)
        sends += calls
        came, are, wrong, calls = b("take", 100)
        assert wrong == 0
        took, different, takes = took + came, different + are, takes + calls
    return took, different, sends, takes


def datagrams_cross_the_link(a, b):
    assert a.longest == b.longest == LONGEST and b.room > 100, (a.longest, b.room)
    assert a("peer", b.address) == [0] and b("peer", a.address) == [0]
    took, different, sends, takes = move(a, b)
    assert took == different == MANY, took
    return sends, takes


def packets_are_lost_and_repeated(lab, a, b):
    lab("loss", 1, 10)
    took, different, *_ = move(a, b)
    assert MANY * 0.8 < took == different < MANY * 0.98, took
    lab("loss", 1, 0)
    lab("twice", 2, 10)
    a("send", MANY // 10, LONGEST)
    took, different, wrong, _ = b("take", 10 * MANY)
    assert different == MANY // 10 < took and wrong == 0, (took, different)
    lab("twice", 2, 0)


def a_link_that_is_down_is_no_error(lab, a, b):
    lab.run(1, "ip", "link", "set", "eth0", "down")
    taken, unsent, cause, _ = a("send", 100, LONGEST)
    assert taken == unsent == 100 and cause in (errno.ENETUNREACH, errno.ENETDOWN), cause
    lab.run(1, "ip", "link", "set", "eth0", "up")
    time.sleep(0.2)
    assert move(a, b, 100)[:2] == (100, 100)


def a_link_that_becomes_narrower_is_no_error(lab, a, b):
    lab.run(1, "ip", "link", "set", "eth0", "mtu", 1300)
    taken, unsent, cause, _ = a("send", 100, LONGEST)
    assert taken == unsent == 100 and cause in (errno.EMSGSIZE, errno.EINVAL), (unsent, cause)
    assert move(a, b, 100, 1000)[:2] == (100, 100)
    lab.run(1, "ip", "link", "set", "eth0", "mtu", 1500)
    took, different, sends, _ = move(a, b, 100)
    assert took == different == 100 and sends < 10, "trains go one by one now"


def main(program):
    skip_without_means("tc")
    with Lab(2, ssh=False) as lab:
        for kind in ("udp", "fabric"):
            with Port(lab, program, kind, 1) as a, Port(lab, program, kind, 2) as b:
                sends, takes = datagrams_cross_the_link(a, b)
                print(f"ok    {kind}: {MANY} datagrams in {sends} and {takes} calls")
                assert kind != "udp" or sends < MANY / 20, sends
    with Lab(2, "--single", ssh=False) as lab:
        for kind in ("udp", "fabric"):
            with Port(lab, program, kind, 1) as a, Port(lab, program, kind, 2) as b:
                datagrams_cross_the_link(a, b)
                packets_are_lost_and_repeated(lab, a, b)
                a_link_that_is_down_is_no_error(lab, a, b)
                if kind == "udp":  # the provider lets IP split them
                    a_link_that_becomes_narrower_is_no_error(lab, a, b)
                print(f"ok    {kind}, packet by packet")
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1]))
