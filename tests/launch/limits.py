"""limits.py - small limits of the shell (ulimit): a job works, or says in words why not.

Each limit is set for ranks that send messages over connections, which need most, and for
mpiexec with all that it starts. Which values are enough is not
said here: that depends on the machine's libraries. See common.py for how cases are
written.
"""

import re
import sys

from common import Running, case, claim, equal, is_sanitized, main, mpiexec_path, program

EXPECTED = ["a 0 of 2", "a 1 of 2"]

# Lines of the loader and of the shell, before any of our code runs.
NOT_OURS = re.compile(r"error while loading shared libraries|^sh: |cannot (open|allocate)|"
                      r"Cannot fork|^/bin/sh: ")

# What would send the user the wrong way.
MISLEADING = re.compile(rb"was closed on the way|install it|install lib|is not one for MPI|"
                        rb"MPI_ERR_INTERN|without calling MPI_Finalize")

# What a rank says of itself must name a limit or the system's word for it.
HONEST = re.compile(rb"ulimit|Too many open files|Cannot allocate memory|File too large|"
                    rb"killed by signal|failed to map segment")



def commands(limit):
    ring = program("ring")
    return (("msg", [mpiexec_path(), "-n", 2, "sh", "-c", f"{limit}; exec {ring} a"]),
            ("auto", ["sh", "-c", f"{limit}; exec {mpiexec_path()} -n 2 {ring} a"]))


def hold(limit):
    if is_sanitized():
        return  # sanitizers need more of everything than any limit here leaves
    for transport, command in commands(limit):
        done = Running(command, variables={"WEFT_TRANSPORT": transport}).finish()
        about = f"{limit}, {transport}\ncode {done.code}\n{done.out!r}\n{done.err!r}"
        if done.code == 0:
            equal(done.lines(), EXPECTED, about)
            continue
        claim(done.err.strip() != b"", about)
        claim(not MISLEADING.search(done.err), about)
        claim(HONEST.search(done.err), about)
        said = done.err.decode(errors="replace").splitlines()
        # Two lines of each rank, if both speak before the first failure ends the job, and five
        # of mpiexec.
        claim(len(said) <= 9 or any(NOT_OURS.search(line) for line in said), about)


def hold_all(letter, values):
    for value in values:
        hold(f"ulimit -{letter} {value}")


@case("limits")
def open_files():
    hold_all("n", (4, 8, 10, 12, 16, 64))


@case("limits")
def address_space():
    hold_all("v", (4000, 12000, 16000, 30000))


@case("limits")
def size_of_files():
    hold_all("f", (0, 1000))


@case("limits")
def locked_memory():
    hold_all("l", (0,))


@case("limits")
def stack():
    hold_all("s", (64,))


@case("limits")
def all_at_once():
    hold("ulimit -n 64; ulimit -v 400000; ulimit -f 9000; ulimit -l 64; ulimit -s 512")


if __name__ == "__main__":
    sys.exit(main())
