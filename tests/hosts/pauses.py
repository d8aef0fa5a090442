"""pauses.py - waits that last: each is ended by a peer after 0, 1, 3, 6, 7, 9 or 11 seconds, and whoever
waits returns soon after, without having used a processor meanwhile. pauses.c is the program, which has
the kinds of waits; all of a group wait at the same time. Hosts are netlab's; cases are called as those
of ../launch (common.py).

What "soon" means is measured: while many processes want a processor, everybody is late. A wait for which
nobody rings is not late but never over, or until something else wakes it, seconds later.
"""

import os
import sys
import tempfile
import threading
import time
from pathlib import Path

sys.path.append(str(Path(__file__).resolve().parent.parent / "launch"))

import common
from common import Running, case, claim, mpiexec_path, program
from lab import NAME, Lab, skip_without_means

PAUSES = (0, 1, 3, 6, 7, 9, 11)
LATE = 4  # seconds, and
LATE_EACH = 1  # so many more for each process for which a processor has no time
COST = 1.0  # seconds of a processor; libfabric is loaded meanwhile
END = 100  # seconds after which a job ends as one that hangs
CPUS = len(os.sched_getaffinity(0))
SIGNAL = 128 + 9
common.PATIENCE = END + 20
lab = Lab(2)


class Load(threading.Thread):
    """How many processes want each processor, all the time."""

    def __init__(self):
        super().__init__(daemon=True)
        self.seen = []
        self.start()

    def run(self):
        while True:
            running = int(Path("/proc/loadavg").read_text().split()[3].split("/")[0])
            self.seen.append((time.monotonic(), running / CPUS))
            time.sleep(0.1)

    def most(self, begin, end):
        return max((load for at, load in self.seen if begin - 1 <= at <= end), default=0)


class Job:
    """Runs the waits of these kinds; those who end them have a host of their own if `between`."""

    def __init__(self, turn, kinds, *words, code=0, between=False, **variables):
        self.folder = tempfile.TemporaryDirectory()
        self.kinds, self.code = kinds, code
        tellers, waiters = sum(kinds.values()), len(PAUSES) * len(kinds)
        under = lab.command("exec", 1) if between else []
        where = ["--hosts", f"{NAME}1:{tellers},{NAME}2:{waiters}"] if between else []
        self.name = "+".join([*variables.values(), *words, *kinds])
        self.running = Running(
            [*under, mpiexec_path(), "--timeout", END, "--bind-to", "none", *words, *where,
             "-n", tellers + waiters, program("pauses"), self.folder.name, turn, *kinds],
            variables)

    def wrong(self, load):
        """What is wrong with it, as sentences."""
        done = self.running.finish()
        told, back = {}, {}
        for words in map(str.split, done.out.decode().splitlines()):
            {"told": told, "back": back}[words[0]][words[1], int(words[2])] = words[3:]
        for kind in self.kinds:
            for pause in PAUSES:
                if (kind, pause) not in told:
                    yield f"{kind} {pause}: nobody was told"
                elif (kind, pause) not in back:
                    yield f"{kind} {pause}: it never returned"
                else:
                    yield from self.judge(kind, pause, float(told[kind, pause][0]),
                                          *map(float, back[kind, pause]), load)
        if done.code != self.code:
            yield f"it ended with {done.code}: {done.err[-2000:]}"
        self.folder.cleanup()

    @staticmethod
    def judge(kind, pause, told, back, cost, load):
        most = load.most(told, back)
        if back < told:
            yield f"{kind} {pause}: it returned {told - back:.3f} s before it was told"
        if back - told > LATE + LATE_EACH * most:
            yield f"{kind} {pause}: it returned {back - told:.1f} s after it was told"
        if cost > COST:
            yield f"{kind} {pause}: it has used a processor for {cost:.1f} s"


def hold(*jobs):
    load = Load()
    wrong = [f"{job.name}: {sentence}" for job in jobs for sentence in job.wrong(load)]
    claim(not wrong, "; ".join(wrong))


def kinds(*names, but=()):
    """How many ranks tell, by kind; without names of all but those."""
    found = {}
    with os.popen(f"{program('pauses')} --list") as listed:
        for name, tellers in map(str.split, listed):
            if name not in but and (not names or name in names):
                found[name] = int(tellers)
    return found


@case("node")
def who_waits_on_one_node_is_told():
    hold(Job(0, kinds(but=["death"])), Job(1, kinds("death"), "--keep-going", code=SIGNAL))


@case("hosts")
def who_waits_for_another_host_is_told():
    """Over datagrams all kinds; where libfabric is loaded, which takes a processor for 0.1 s in each
    process, those in which networks differ most."""
    fatal = {"between": True, "code": SIGNAL}
    hold(Job(1, kinds(but=["death"]), between=True, WEFT_TRANSPORT="shm+dgram"),
         Job(2, kinds("message", "computed", "start", "lock"), between=True,
             WEFT_TRANSPORT="auto"),
         Job(0, kinds("message", "computed"), between=True, WEFT_TRANSPORT="shm+dgram+msg"),
         Job(2, kinds("death"), "--keep-going", **fatal, WEFT_TRANSPORT="shm+dgram"),
         Job(0, kinds("death"), "--keep-going", **fatal, WEFT_TRANSPORT="shm+msg"))


if __name__ == "__main__":
    if "hosts" in sys.argv:
        skip_without_means()
        with lab:
            code = common.main()
    else:
        code = common.main()
    sys.exit(code)
