"""forged.py - a job over datagrams goes on, whoever else sends to its ports.

Two ranks exchange messages and look at every byte (job.c), while their ports get datagrams by
the million of somebody who can record, claim any source and send anything, but has no secret
(forger.c): random, altered, truncated, sent back, and replayed from other ports. The data stay
right and the job ends well. Each of these datagrams is counted by the rank (msg_rejected), or
was lost in front of it, where the kernel's buffer was full, or its filter has found another version
or job; none is taken for one of the job. Peers stay as many as there were. Then the job is started
again, and what was recorded of the first one comes to the ports of the second, from the right
sources: all of it has the number of another job, and the rank gets none of it.
All is on the loopback and bounded.

    forged.py MPIEXEC JOB FORGER [COUNT [SECONDS]]
"""

import os
import re
import subprocess
import sys
import tempfile
from pathlib import Path

from strangers import claim

PATIENCE = 150


def sockets_of(pid):
    found = set()
    for fd in os.listdir(f"/proc/{pid}/fd"):
        try:
            found.update(re.findall(r"socket:\[(\d+)\]", os.readlink(f"/proc/{pid}/fd/{fd}")))
        except OSError:
            pass  # closed meanwhile
    return found


def port_of(pid):
    """Address and port of the datagrams of a process, and how many the kernel has dropped."""
    own = sockets_of(pid)
    for line in Path(f"/proc/{pid}/net/udp").read_text().splitlines()[1:]:
        words = line.split()
        if words[9] in own:
            address, port = words[1].split(":")
            numbers = bytes.fromhex(address)[::-1] if sys.byteorder == "little" \
                else bytes.fromhex(address)
            return ".".join(map(str, numbers)), int(port, 16), int(words[12])
    raise AssertionError(f"process {pid} has no port for datagrams")


class Skipped(Exception):
    """Raw sockets are not for everybody."""


def attack(mpiexec, job, command, folder):
    """Runs a job and the forger beside it; what the job said, and what the forger and the
    kernel have counted."""
    stop = folder / "stop"
    stop.unlink(missing_ok=True)
    variables = dict(os.environ, WEFT_TRANSPORT="dgram", WEFT_LOG="warn")
    running = subprocess.Popen([mpiexec, "--timeout", str(PATIENCE), "-n", "2", job, stop],
                               env=variables, stdout=subprocess.PIPE,
                               stderr=subprocess.PIPE, text=True)
    try:
        pids = {}
        while len(pids) < 2:
            words = running.stdout.readline().split()
            claim(words[:1] == ["pid"], f"no word of the job: {words}")
            pids[int(words[1])] = int(words[2])
        places = [port_of(pids[rank]) for rank in range(2)]
        forger, count, seconds, records = command
        done = subprocess.run([forger, places[0][0], str(places[0][1]), str(places[1][1]),
                               count, seconds, records], text=True, stdout=subprocess.PIPE,
                              check=False, timeout=PATIENCE)
        if done.returncode == 77:
            raise Skipped
        claim(done.returncode == 0, f"the forger: {done.returncode}")
        dropped = [port_of(pids[rank])[2] for rank in range(2)]
        stop.touch()
        out, err = running.communicate(timeout=PATIENCE)
    finally:
        running.kill()
    claim(running.returncode == 0, f"code {running.returncode}\n{out}{err}")
    return out, [int(word) for word in done.stdout.split()], dropped


def check(out, counted, dropped, is_other_job=False):
    *sent, recorded = counted
    said = {int(rank): (int(rejected), int(peers)) for rank, rejected, peers in re.findall(
        r"^end (\d) strangers (\d+) connections (\d+)", out, re.MULTILINE)}
    for rank in range(2):
        rejected, peers = said[rank]
        print(f"rank {rank}: {sent[rank]} sent, {rejected} rejected, {dropped[rank]} dropped by "
              f"the kernel; {recorded} recorded")
        claim(peers == 1, f"rank {rank}: {peers} peers")
        claim(rejected <= sent[rank], f"rank {rank} rejected more than was forged")
        claim(rejected + dropped[rank] >= sent[rank],
              f"rank {rank}: some of {sent[rank]} were neither rejected nor dropped")
        claim((rejected == 0) == is_other_job, f"rank {rank} rejected {rejected}")


def main(mpiexec, job, forger, count="1000000", seconds="20"):
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        records = folder / "records"
        try:
            check(*attack(mpiexec, job, (forger, count, seconds, records), folder))
            print("what was recorded, in the next job:")
            again = str(int(count) // 10)
            check(*attack(mpiexec, job, (forger, again, seconds, records), folder),
                  is_other_job=True)
        except Skipped:
            print("skipped: raw sockets are root's")
            return 77
    return 0


sys.exit(main(*sys.argv[1:]))
