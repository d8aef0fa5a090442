"""ship_cost.py - what mpiexec --ship costs: 50 MB to 16 bare hosts of netlab's.

Compared with a copy by ssh to each host in turn, in processor time of all hosts together: that of
sshd with all that it has started there, and that of the commands here. It may be twice as much.
"""

import os
import resource
import subprocess
import sys
import tempfile
import time
from pathlib import Path

sys.path.append(str(Path(__file__).resolve().parent.parent / "launch"))

import common
from common import Running, case, claim, mpiexec_path
from lab import NAME, Lab, skip_without_means, words_of

HOSTS = 16
BYTES = 50_000_000
ROUNDS = 3
TICK = os.sysconf("SC_CLK_TCK")
lab = Lab(HOSTS + 1, "--bare", 2)
folder = None


def seconds_of(pid):
    """Processor time of a process and of those that it has waited for."""
    words = Path(f"/proc/{pid}/stat").read_text().rsplit(")", 1)[1].split()
    return sum(int(word) for word in words[11:15]) / TICK


def listeners():
    """The sshd of each host, which waits for all that comes by it."""
    pids = [pid for i in range(2, HOSTS + 2) for pid in subprocess.run(
        ["ip", "netns", "pids", f"{NAME}{i}"], check=True, text=True,
        stdout=subprocess.PIPE).stdout.split() if words_of(pid).startswith("sshd: /usr/sbin/sshd")]
    claim(len(pids) == HOSTS, f"{pids}")
    return pids


def spent(pids):
    here = resource.getrusage(resource.RUSAGE_CHILDREN)
    return here.ru_utime + here.ru_stime + sum(seconds_of(pid) for pid in pids)


def measure(pids, work):
    """Processor and wall time; what has ended is waited for when sshd has nothing left."""
    before, begin = spent(pids), time.monotonic()
    work()
    wall = time.monotonic() - begin
    claim(common.wait_until(lambda: not any(lab.pids(i) for i in range(2, HOSTS + 2)), 20),
          "something is left")
    return spent(pids) - before, wall


def copy():
    for i in range(2, HOSTS + 2):
        with open(folder / "data", "rb") as data:
            lab("exec", 1, "ssh", f"{NAME}{i}", "cat >/tmp/data", stdin=data)


def ship():
    hosts = ",".join(f"{NAME}{i}" for i in range(2, HOSTS + 2))
    Running([*lab.command("exec", 1), mpiexec_path(), "--hosts", hosts, "-n", HOSTS, "--ship-file",
             "data", "true"], cwd=folder).end()


@case("cost")
def shipping_costs_no_more_than_twice_a_copy():
    (folder / "data").write_bytes(os.urandom(BYTES))
    pids = listeners()
    ratios = []
    for _ in range(ROUNDS):
        copied, copy_wall = measure(pids, copy)
        shipped, ship_wall = measure(pids, ship)
        ratios.append(shipped / copied)
        print(f"      copies: {copied:.2f} s of processors in {copy_wall:.2f} s; --ship: {shipped:.2f} s "
              f"in {ship_wall:.2f} s; ratio {ratios[-1]:.2f}", flush=True)
    claim(min(ratios) <= 2, f"{ratios}")


if __name__ == "__main__":
    skip_without_means("unshare", "pivot_root")
    with tempfile.TemporaryDirectory(prefix="ship-") as made:
        folder = Path(made)
        with lab:
            code = common.main()
    sys.exit(code)
