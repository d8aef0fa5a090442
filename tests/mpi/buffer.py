"""buffer.py RANKS MPIEXEC PROGRAM - runs buffer.c, inside a node and over connections, and holds
jobs that end by a bad buffer to their exit code, that of MPI_ERR_BUFFER, and to one line that
says what is wrong with the memory.
"""

import os
import re
import subprocess
import sys

PATIENCE = 60  # seconds after which a run counts as hanging
MPI_ERR_BUFFER = 1
LONG = 1024 * 1024
NOT_MAPPED = rf"its {LONG} bytes at 0x[0-9a-f]+ are not mapped: was the memory freed, or never allocated\?"
OF_DEVICE = rf"its {LONG} bytes at 0x[0-9a-f]+ are memory of a device \(CUDA\), .*"
WORDS = {"send": NOT_MAPPED, "recv": NOT_MAPPED, "device": OF_DEVICE}
INSIDE = {"send": "MPI_ERR_BUFFER: a buffer given to a send with tag 3: ",
          "recv": "MPI_ERR_BUFFER: a buffer given to a receive with tag 3: ",
          "device": "MPI_ERR_BUFFER: a buffer given to a send with tag 3: "}
BETWEEN = {"send": "MPI_Send on MPI_COMM_WORLD: MPI_ERR_BUFFER: the buffer: ",
           "recv": "MPI_Recv on MPI_COMM_WORLD: MPI_ERR_BUFFER: the buffer: ",
           "device": "MPI_Send on MPI_COMM_WORLD: MPI_ERR_BUFFER: the buffer: "}


def run(command, transport):
    return subprocess.run(command, env=os.environ | {"WEFT_TRANSPORT": transport},
                          capture_output=True, text=True, timeout=PATIENCE)


def main(ranks, mpiexec, program):
    """Returns the exit code."""
    command = [mpiexec, "-n", ranks, program]
    failed = 0
    done = run(command, "msg")
    if done.returncode != 0 or done.stderr:
        failed = 1
        print(f"errors are returned: {done}")
    done = run([*command, "bcast"], "auto")
    line = (r"mpiexec: rank [1-9] on \S+ \(.*\): MPI_ERR_BUFFER: the receive buffer of MPI_Bcast on "
            rf"MPI_COMM_WORLD: its {LONG} bytes at 0x[0-9a-f]+ cannot be accessed: are they read "
            r"only, or protected\?\n(  .*\n)*")
    if done.returncode != MPI_ERR_BUFFER or not re.fullmatch(line, done.stderr):
        failed = 1
        print(f"bcast: {done}")
    for transport, begins in (("auto", INSIDE), ("msg", BETWEEN)):
        for how, begin in begins.items():
            done = run([*command, how], transport)
            line = rf"mpiexec: rank \d on \S+ \(.*\): {re.escape(begin)}{WORDS[how]}\n(  .*\n)*"
            if done.returncode != MPI_ERR_BUFFER or not re.fullmatch(line, done.stderr):
                failed = 1
                print(f"{how}, {transport}: {done}")
    return failed


if __name__ == "__main__":
    sys.exit(main(*sys.argv[1:]))
