"""odd.py - odd networks, names and containers between hosts, which are netlab's: the set of
../launch/odd.py, two ranks on each of two hosts. docs/containers.md has the table.
"""

import re
import sys
from pathlib import Path

sys.path.append(str(Path(__file__).resolve().parent.parent / "launch"))

import common
from common import Running, case, claim, equal, mpiexec_path, program, wait_until
from lab import NAME, Lab, skip_without_means, words_of

BEAT = 2  # seconds
HOSTS = (1, 2)
PORTS = "47000-47999"
TABLE = "weft_odd"
lab = Lab(len(HOSTS), "--links", 2)


def names(*numbers):
    return ",".join(f"{NAME}{number}" for number in numbers or HOSTS)


def left():
    return {(number, pid): words_of(pid) for number in HOSTS for pid in lab.pids(number)}


def start(*words, **variables):
    return Running([*lab.command("exec", 1), mpiexec_path(), "--bind-to", "none", *words],
                   variables={"WEFT_HEARTBEAT": str(BEAT)} | variables)


def finish(running, code):
    """The job has ended with this code, and nothing of it is left on any host."""
    done = running.finish()
    equal(done.code, code, done.err.decode())
    claim(wait_until(lambda: not left(), 10), f"left: {left()}")
    return done


def hold_set(*inside, hosts=names(), **variables):
    words = ("--hosts", hosts, "-ppn", 2, "-n", 4, *inside, program("odd"))
    done = finish(start(*words, **variables), 0)
    for rank, text in enumerate(done.lines()):
        claim(re.fullmatch(rf"{rank} of 4 fine, (one copy|two copies)", text), text)
    equal(len(done.lines()), 4)
    done = finish(start(*words, "abort", **variables), 7)
    claim(re.search(r"^mpiexec: rank 1 on .*MPI_Abort (on MPI_COMM_WORLD )?with code 7$",
                    done.err.decode(), re.MULTILINE), done.err.decode())


def report(*words):
    done = start("--hosts", names(), "--report", *words).finish()
    equal(done.code, 0, done.err.decode())
    return done.out.decode()


class Everywhere:
    """Commands on all hosts, where {} is the number of the host, and what undoes them."""

    def __init__(self, before, after):
        self.before, self.after = before, after

    def __enter__(self):
        for number in HOSTS:
            lab.run(number, "sh", "-ce", self.before.format(number))

    def __exit__(self, *_):
        for number in HOSTS:
            lab.run(number, "sh", "-c", self.after.format(number))


class LabFile:
    """A file of all hosts with other text, for a while."""

    def __init__(self, name, text):
        self.path, self.text = lab.file(name), text
        self.before = self.path.read_text()

    def __enter__(self):
        self.path.write_text(self.text)

    def __exit__(self, *_):
        self.path.write_text(self.before)


# ---- networks ----

@case("network")
def no_ipv6():
    switch = "for f in /proc/sys/net/ipv6/conf/*/disable_ipv6; do echo %d >$f; done"
    with Everywhere(switch % 1, switch % 0):
        hold_set()


SIXTH = "fd77::"


@case("network")
def only_ipv6():
    """No host has an address of version 4, the loopback included. sshd gets one that listens."""
    config = [lab.file(f"sshd6.{number}") for number in HOSTS]
    for number, path in zip(HOSTS, config):
        text = lab.file(f"sshd.{number}").read_text()
        path.write_text(f"ListenAddress {SIXTH}{number}\n" +
                        re.sub(r"ListenAddress .*\n", "", text))
    known = "".join(f"{SIXTH}{number} {NAME}{number}\n" for number in HOSTS)
    with Everywhere(
            f"ip -6 addr add {SIXTH}{{0}}/64 dev eth0 nodad; "
            f"/usr/sbin/sshd -f {lab.file('sshd6')}.{{0}}; "
            "ip -4 addr flush dev eth0; ip -4 addr flush dev eth1; ip -4 addr flush dev lo",
            "ip addr add 127.0.0.1/8 dev lo; ip addr add 10.77.0.{0}/24 dev eth0; "
            f"ip addr add 10.78.0.{{0}}/24 dev eth1; ip -6 addr del {SIXTH}{{0}}/64 dev eth0"), \
            LabFile("hosts", f"::1 localhost\n{known}"):
        hold_set()
        said = report()
        claim(f"eth0 {SIXTH}1 - eth0 {SIXTH}2: reached both ways, one network" in said, said)


DEAD = ("ip link add aaa0 type veth peer name aaa1; ip addr add 10.79.0.{{0}}/24 dev aaa0; "
        "ip link set aaa0 up{}")


@case("network")
def three_interfaces_of_which_one_has_no_carrier():
    with Everywhere(DEAD.format(""), "ip link del aaa0"):
        hold_set()
        said = report()
        claim("aaa0 10.79.0.1 (down)" in said, said)


@case("network")
def three_interfaces_of_which_one_leads_nowhere():
    """It is up, it comes first, both hosts are in its network, and nothing gets through."""
    with Everywhere(DEAD.format("; ip link set aaa1 up"), "ip link del aaa0"):
        said = report()
        claim(re.search(rf"{NAME}1 - {NAME}2: eth0 \S+ - eth0 \S+: reached both ways", said), said)
        done = finish(start("--hosts", names(), "-ppn", 2, "-n", 4, program("odd"),
                            WEFT_LOG="info"), 0)
        equal(len(done.lines()), 4)
        claim(re.search(r"no connection to rank \d on \S+ \(10\.79\.0\.\d port \d+\): .*: its next "
                        r"address is tried", done.err.decode()), done.err.decode())


@case("network")
def two_networks_of_which_one_drops_what_ranks_send():
    """A firewall on the first network, which lets ssh through."""
    rule = (f"nft 'add table inet {TABLE}; add chain inet {TABLE} in {{{{ type filter hook input "
            f"priority 0; }}}}; add rule inet {TABLE} in iifname eth0 tcp dport {PORTS} tcp sport != 22 {{}}'")
    for what in ("drop", "reject with tcp reset"):
        with Everywhere(rule.replace("{}", what), f"nft delete table inet {TABLE}"):
            hold_set()


# ---- names ----

def host_names(*wanted):
    """Hosts that call themselves otherwise."""
    class Named:
        def __enter__(self):
            for number, name in zip(HOSTS, wanted):
                lab.run(number, "hostname", name)

        def __exit__(self, *_):
            for number in HOSTS:
                lab.run(number, "hostname", f"{NAME}{number}")
    return Named()


@case("names")
def a_host_that_does_not_know_its_own_name():
    with host_names("nowhere-a", "nowhere-b"):
        hold_set()


@case("names")
def two_hosts_of_one_name():
    with host_names("localhost", "localhost"):
        hold_set()
    with host_names("twin", "twin"):
        hold_set()


@case("names")
def names_that_lead_to_the_loopback_or_to_each_other():
    """Debian's 127.0.1.1 for the own name, and two names that were exchanged."""
    text = lab.file("hosts").read_text()
    with host_names("deb", "deb2"), LabFile("hosts", text + "127.0.1.1 deb deb2\n"):
        hold_set()
    with host_names(f"{NAME}2", f"{NAME}1"):  # each has the name of the other
        done = start("--hosts", "10.77.0.1,10.77.0.2", "-ppn", 2, "-n", 4, program("odd"))
        equal(len(finish(done, 0).lines()), 4)


# ---- containers ----

@case("containers")
def a_container_for_each_rank_on_two_hosts():
    """Own users, numbers of processes, mounts and IPC; the host's network, as is usual."""
    hold_set("unshare", "-Urpmi", "--fork", "--kill-child", "--mount-proc")
    hold_set(program("confine"), "process_vm_readv=EPERM,process_vm_writev=EPERM")


@case("containers")
def costs_are_named_for_the_host_that_has_them():
    lab.run(2, "mount", "-t", "tmpfs", "-o", "ro", "none", "/dev/shm")
    try:
        said = report()
    finally:
        lab.run(2, "umount", "/dev/shm")
    claim(re.search(rf"^{NAME}1: \d+ processors", said, re.MULTILINE), said)
    claim(f"{NAME}2: no /dev/shm to write to" in said and
          f"{NAME}1: no /dev/shm to write to" not in said, said)


@case("containers")
def a_library_of_another_layout_works_over_pmi():
    hold_set(program("other_layout"))


if __name__ == "__main__":
    skip_without_means()
    with lab:
        code = common.main()
    sys.exit(code)
