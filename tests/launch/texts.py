"""texts.py - whole lines that users read when a job cannot be started or ends badly.

Each case is a command, its exit code and all that is said on standard error, compared line by
line: {host} is the name of this host, {pid} a process, {n} another number,
{mpiexec} the path of mpiexec. The texts are those of launch/texts.h and of src/base/texts.h;
mistakes in calls of MPI are ../mpi/error_texts.tsv's. See common.py for how cases are written
and called.
"""

import os
import platform
import re
import struct
import subprocess
import sys
import tempfile
from pathlib import Path

from common import (FOREIGN, Running, case, claim, equal, is_sanitized, main, mpiexec_path,
                    program)

HOLES = {"{host}": re.escape(platform.node()), "{pid}": r"\d+", "{n}": r"\d+",
         "{mpiexec}": None}
FEW = 2


# What ranks did last, which tests/launch/deaths.py compares.
BLACK_BOX = re.compile(r" +(rank \d+ (was|had) |nothing is (known|recorded) of |\d+ ranks? (was|were) |[\d.,]+ (us|ms|s|min|h)  MPI_).*")


def hold(command, code, lines, **settings):
    """Runs it; what it says is these lines, in any order of processes, and what ranks did last."""
    done = Running(command, **settings).finish()
    said = sorted(line for line in done.err.decode(errors="replace").splitlines()
                  if not BLACK_BOX.fullmatch(line))
    about = f"{command}\ncode {done.code}, said:\n" + "\n".join(said)
    equal(done.code, code, about)
    equal(len(said), len(lines), about)
    holes = HOLES | {"{mpiexec}": re.escape(mpiexec_path())}
    for line, wanted in zip(said, sorted(lines)):
        pattern = "".join(holes.get(part, re.escape(part))
                          for part in re.split(r"(\{\w+\})", wanted))
        claim(re.fullmatch(pattern, line), f"{about}\nexpected: {wanted}")


def job(*words, code, says, **settings):
    """The same for a job of mpiexec; `says` is what follows the name of mpiexec."""
    hold([mpiexec_path(), *words], code, [f"mpiexec: {line}" for line in says], **settings)


def in_folder(function):
    """Calls it in a folder of its own, which goes with it."""
    def inside():
        before = os.getcwd()
        with tempfile.TemporaryDirectory() as folder:
            os.chdir(folder)
            try:
                function()
            finally:
                os.chdir(before)
    inside.__name__ = function.__name__
    return inside


# ---- the command line ----

@case("command line")
@in_folder
def what_is_wrong_with_the_command_line():
    Path("slots").write_text("localhost slots=many\n")
    Path("words").write_text("# hosts\nlocalhost big\n")
    Path("empty").write_text("# nobody\n")
    ranks = "the number of ranks must be between 1 and 1000000"
    for words, says in (
            (("--no-such", "true"), ["--no-such: unknown option; mpiexec --help lists them"]),
            (("--hostfiel", "x", "true"), ["--hostfiel: unknown option; is --hostfile meant? "
                                           "mpiexec --help lists them"]),
            (("-n", "0", "true"), [f"-n 0: {ranks}"]),
            (("-n", "two", "true"), [f"-n two: {ranks}"]),
            (("-n",), ["-n: a value must follow: mpiexec --help lists what it takes"]),
            ((), ["no program to start; mpiexec --help tells more"]),
            (("-n", "1", "true", ":", "true"), ["true: with several programs each needs its -n"]),
            (("--timeout", "abc", "true"),
             ["--timeout abc: the time must be a positive number of seconds"]),
            (("--bind-to", "foo", "true"),
             ["--bind-to foo: Weft knows core, core:K, hwthread, hwthread:K, l3cache, numa, "
              "socket and none"]),
            (("--map-by", "foo", "true"),
             ["--map-by foo: Weft knows block (or slot), cyclic (or node), core, hwthread, l3cache, "
              "numa, socket, and ppr:N:X with X of node, socket, numa and l3cache; each may be "
              "followed by :PE=K for K cores a rank"]),
            (("--rank-by", "core", "true"),
             ["--rank-by core: Weft numbers ranks by slot only; see --map-by"]),
            (("--hosts", "a b", "true"), ["host a b: this is not a host name"]),
            (("--hosts", "a\nb\x1b]0;c", "true"),
             ["host a?b?]0;c: this is not a host name"]),
            (("--hosts", "localhost:2", "-n", "3", "true"),
             ["3 ranks, but host localhost has only 2 slots: start fewer ranks, give the hosts "
              "more slots, or allow more ranks than slots with --oversubscribe"]),
            (("--hostfile", "nowhere", "true"),
             ["--hostfile nowhere: No such file or directory"]),
            (("--hostfile", "slots", "true"),
             ["host localhost: the number of slots must be between 1 and 1000000"]),
            (("--hostfile", "words", "true"),
             ["words, line 2: big: this is not known; a line is 'NAME slots=4 max_slots=8', "
              "'NAME:4' or 'NAME'"]),
            (("--hostfile", "empty", "true"),
             ["empty: no hosts in this file: it has a line for each, as node1 slots=8"])):
        job(*words, code=2, says=says)


# ---- settings ----

@case("settings")
def what_is_wrong_with_a_setting():
    job("true", code=2, says=["WEFT_PORTS=abc: no range of ports, as 47000-47999"],
        variables={"WEFT_PORTS": "abc"})
    job("true", code=0, variables={"WEFT_TRANPSORT": "shm"},
        says=["WEFT_TRANPSORT is not a setting and has no effect; did you mean WEFT_TRANSPORT?"])
    job("true", code=0, variables={"WEFT_TRANSPORT": "tcp"},
        says=["WEFT_TRANSPORT=tcp: the value is not one of auto|msg|shm|shm+msg|rdm|shm+rdm|tagged|"
              "shm+tagged|dgram|shm+dgram|dgram+msg|shm+dgram+msg; auto is used"])
    job("true", code=0, variables={"WEFT_HEARTBEAT": "often"},
        says=["WEFT_HEARTBEAT=often: the value is not a number (seconds); 5 is used"])
    ring = program("ring")
    job("-n", 1, ring, "a", code=16, variables={"WEFT_COLL": "bcast=ring"},
        says=[f"rank 0 on {{host}} ({ring}): WEFT_COLL: bcast has no algorithm \"ring\"; it has "
              "flags, shared, chain, levels, split, binomial"])
    job("-n", 1, ring, "a", code=16, variables={"WEFT_COLL": "bcast=split,bcast=binomial"},
        says=[f"rank 0 on {{host}} ({ring}): WEFT_COLL: bcast is there twice"])


# ---- programs ----

def elf_of(machine):
    """The beginning of a program for this machine's number in the ELF standard."""
    return (b"\x7fELF\x02\x01\x01" + bytes(9) + struct.pack("<HH", 2, machine)).ljust(256, b"\0")


def make(name, content, mode):
    Path(name).write_bytes(content)
    os.chmod(name, mode)


@case("programs")
@in_folder
def why_a_program_cannot_be_started():
    make("plain", b"text\n", 0o644)
    make("riscv" if platform.machine() != "riscv64" else "s390",
         elf_of(243 if platform.machine() != "riscv64" else 22), 0o755)
    other = "./riscv" if platform.machine() != "riscv64" else "./s390"
    os.mkdir("folder")
    for name, code, why in (
            ("./nothing", 127, "No such file or directory: check its path, on this host"),
            ("nothing-there", 127, "No such file or directory: no folder of PATH has it; a "
                                   "program of this folder is ./NAME"),
            ("./plain", 126, "Permission denied: make it executable (chmod +x), and its folders "
                             "readable"),
            ("./folder", 126, "Permission denied: it is a folder"),
            (other, 126, "Exec format error: it was built for another kind of processor")):
        job("-n", FEW, name, code=code,
            says=[f"rank 0 on {{host}} ({name}): cannot be started: {why}"])
    job("-wdir", "/nothing", "true", code=126,
        says=["rank 0 on {host} (true): cannot enter /nothing: No such file or directory: the "
              "folder of -wdir has to be on every host"])


@case("programs")
@in_folder
def a_library_that_is_not_there():
    Path("gone.c").write_text("int gone(void) { return 0; }\n")
    Path("main.c").write_text("int gone(void); int main(void) { return gone(); }\n")
    subprocess.run("cc -shared -fPIC -o libgone.so gone.c && cc -o lacking main.c -L. -lgone && "
                   "rm libgone.so", shell=True, check=True)
    hold([mpiexec_path(), "-n", 1, "./lacking"], 127,
         ["./lacking: error while loading shared libraries: libgone.so: cannot open shared object "
          "file: No such file or directory",
          "mpiexec: rank 0 on {host} (./lacking): ended with code 127: a library or command that "
          "it needs is not there"])


# ---- ends ----

@case("ends")
def how_a_rank_has_ended():
    fail = program("fail")
    for words, code, cause in (
            (("sh", "-c", "exit 3"), 3, "ended with code 3"),
            (("sh", "-c", "kill -9 $$"), 137, "killed by signal 9, Killed"),
            (("sh", "-c", "kill -11 $$"), 139, "killed by signal 11, Segmentation fault"),
            (("sh", "-c", "exit 127"), 127,
             "ended with code 127: a library or command that it needs is not there")):
        job("-n", 1, *words, code=code, says=[f"rank 0 on {{host}} ({words[0]}): {cause}"])
    for how, code, cause in (
            ("leave", 1, "ended without calling MPI_Finalize"),
            ("abort-9", 9, "MPI_Abort on MPI_COMM_WORLD with code 9"),
            ("comm", 5, "MPI_Barrier: MPI_ERR_COMM: the communicator is MPI_COMM_NULL: was this "
                        "process left out when it was made (MPI_UNDEFINED), or was it freed?")):
        job("-n", FEW, fail, how, "pause", code=code,
            says=[f"rank 1 on {{host}} ({fail}): {cause}"])
    job("--timeout", 0.2, "sleep", 60, code=124,
        says=["no end after 0.2 s (--timeout): ending the job"])


@case("ends")
def output_that_nobody_takes():
    with open("/dev/full", "wb") as full:
        job("-n", 1, "echo", "text", code=1, stdout=full,
            says=["standard output: No space left on device: ending the job"])


# ---- limits ----

@case("limits")
def what_a_limit_of_the_shell_does():
    if is_sanitized():
        return  # sanitizers need more of everything
    ring = program("ring")
    job("-n", 1, "sh", "-c", "exit 0", code=0, says=[])
    hold([mpiexec_path(), "-n", 1, "sh", "-c", f"ulimit -v 60000; exec {ring} a"], 1,
         ["mpiexec: rank 0 on {host} (sh): ended with code 1",
          "weft: process {pid}: cannot map the memory that ranks share, {n} bytes: Cannot allocate "
          "memory: raise the limit of address space (ulimit -v)"])
    hold(["sh", "-c", f"ulimit -n 12; exec {mpiexec_path()} -n 2 true"], 126,
         ["mpiexec: rank 0 on {host} (true): cannot make pipes: Too many open files: raise the "
          "limit of open files (ulimit -n), or start fewer ranks here"])


# ---- other hosts ----

@case("hosts")
def a_host_that_cannot_be_reached():
    for rsh, why in (
            ("/bin/false", "ended with code 1 and printed nothing: try the command by hand"),
            ("/nothing", "cannot run /nothing: No such file or directory: install it, or name "
                         "another command in WEFT_RSH")):
        job("--hosts", "elsewhere", "true", code=1, variables={"WEFT_RSH": rsh},
            says=[f"host elsewhere: cannot start {{mpiexec}} there by {rsh}: {why}"])
    with tempfile.TemporaryDirectory() as folder:
        for name, word, cure in (
                ("refused", "ssh: connect to host elsewhere port 22: Connection refused",
                 "the host is up, but takes no ssh: start sshd there, or open its port (22)"),
                ("unknown", "ssh: Could not resolve hostname elsewhere: Name or service not known",
                 "no such host is known: check the name, in DNS or /etc/hosts")):
            path = Path(folder) / name
            path.write_text(f"#!/bin/sh\necho '{word}' >&2\nexit 255\n")
            path.chmod(0o755)
            job("--hosts", "elsewhere", "true", code=1, variables={"WEFT_RSH": str(path)},
                says=[f"host elsewhere: cannot start {{mpiexec}} there by {path}: {word}: {cure}"])


# ---- other launchers ----

@case("launchers")
def a_rank_that_its_launcher_has_not_prepared():
    ring = program("ring")
    for variables, why in (
            ({"PMI_FD": "99", "PMI_RANK": "0", "PMI_SIZE": "2"},
             "descriptor 99, through which the launcher is reached, was closed on the way: does a "
             "script or wrapper between launcher and program close descriptors?"),
            ({"PMI_FD": "1", "PMI_RANK": "5", "PMI_SIZE": "2"},
             "PMI-1: the environment has PMI_FD=1 PMI_RANK=5 PMI_SIZE=2, which makes no sense: "
             "unset them, or start the program by mpiexec"),
            ({"SLURM_STEP_ID": "0", "SLURM_PROCID": "0", "SLURM_NTASKS": "2",
              "SLURM_JOB_ID": "1"},
             "started by srun without PMI, so that its tasks cannot find each other: use srun "
             "--mpi=pmix or srun --mpi=pmi2")):
        claim(all(name.startswith(FOREIGN) for name in variables), variables)
        hold([ring, "a"], 1, [f"weft: process {{pid}}: {why}"], variables=variables)


if __name__ == "__main__":
    sys.exit(main())
