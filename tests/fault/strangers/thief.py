"""thief.py - nobody can take a rank's port from it.

A process of another user, as it were, tries without pause to listen at the ports of a job,
with SO_REUSEADDR as servers do. Ranks of the job listen there from MPI_Init on, long before
libfabric does; each job ends well, and the thief never listens at a port while a rank has it.
The names of abstract sockets that belonged to ports once are all taken, too.

    thief.py MPIEXEC JOB
"""

import os
import socket
import subprocess
import sys
import threading

from strangers import claim

JOBS = 5
RANKS = 5
FIRST = 21000  # outgoing connections take higher ones
PORTS = 8  # more than ranks, fewer than ranks and addresses
PATIENCE = 60


def take(port):
    """Listens for a moment."""
    with socket.socket() as made:
        made.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        try:
            made.bind(("127.0.0.1", port))
            made.listen()
            return True
        except OSError:
            return False


class Thief:
    def __init__(self):
        self.is_over = False
        self.taken = 0
        self.refused = 0
        self.thread = threading.Thread(target=self.steal)
        self.thread.start()

    def steal(self):
        while not self.is_over:
            for port in range(FIRST, FIRST + RANKS):
                if take(port):
                    self.taken += 1
                else:
                    self.refused += 1

    def stop(self):
        self.is_over = True
        self.thread.join()


def squat():
    """The names of the ports; the caller keeps them."""
    kept = []
    for port in range(FIRST, FIRST + PORTS):
        kept.append(socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM))
        kept[-1].bind(f"\0weft-port-{port}")
    return kept


def main(mpiexec, job):
    variables = dict(os.environ, WEFT_TRANSPORT="msg",
                     WEFT_PORTS=f"{FIRST}-{FIRST + PORTS - 1}")
    kept = squat()
    thief = Thief()
    try:
        for _ in range(JOBS):
            done = subprocess.run([mpiexec, "--timeout", str(PATIENCE), "-n", str(RANKS), job],
                                  env=variables, capture_output=True, text=True,
                                  timeout=2 * PATIENCE, check=False)
            claim(done.returncode == 0, f"code {done.returncode}\n{done.stdout}{done.stderr}")
    finally:
        thief.stop()
    for made in kept:
        made.close()
    claim(thief.refused > 0, "the thief never met a rank")
    print(f"the thief tried {thief.taken + thief.refused} times, {thief.refused} in vain")


main(*sys.argv[1:])
