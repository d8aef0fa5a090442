"""lab.py - what the benchmarks between hosts of tests/netlab share; needs root.

A lab has a name of its own (NETLAB_NAME, or wnet). The words of MEASURE_WITH stand before each
command that is measured; it may name a program that keeps others from the processors meanwhile.
"""

import os
import re
import shlex
import signal
import subprocess
import sys
from contextlib import contextmanager
from pathlib import Path

HERE = Path(__file__).resolve().parent
NETLAB = HERE.parent / "tests" / "netlab"
DOCUMENT = HERE.parent / "docs" / "performance.md"
LAB = os.environ.setdefault("NETLAB_NAME", "wnet")
AUTOGROUP = Path("/proc/sys/kernel/sched_autogroup_enabled")
PEERS = ("openmpi", "mpich")
NAMES = {"weft": "Weft", "openmpi": "Open MPI", "mpich": "MPICH"}


class Failed(Exception):
    """A command did not end well; `out` is what it had printed until then."""

    def __init__(self, why, out=""):
        super().__init__(why)
        self.out = out


class Weft:
    """Where the parts of a Weft are, installed or built."""

    def __init__(self, prefix):
        prefix = Path(prefix).resolve()
        is_installed = (prefix / "bin").is_dir()
        self.mpicc = prefix / ("bin" if is_installed else "wrappers") / "mpicc"
        self.mpiexec = prefix / ("bin" if is_installed else "launch") / "mpiexec"
        self.gauge = prefix / ("bin" if is_installed else "gauge") / "weft-gauge"
        self.library = prefix / ("lib" if is_installed else "bindings") / "libmpi_abi.so.1"


@contextmanager
def one_group():
    """The kernel does not share cores between sessions, as which hosts look, but between threads
    (docs/engine.md, 3)."""
    before = AUTOGROUP.read_text(encoding="ascii") if AUTOGROUP.exists() else ""
    try:
        if before:
            AUTOGROUP.write_text("0", encoding="ascii")
        yield
    finally:
        if before:
            AUTOGROUP.write_text(before, encoding="ascii")


@contextmanager
def hosts(count, *options):
    """A lab of so many hosts, for as long as it is used; SIGTERM ends it, too."""
    subprocess.run([NETLAB, "up", str(count), "--ssh", *options], check=True)
    before = signal.signal(signal.SIGTERM, lambda *_: sys.exit(1))
    try:
        with one_group():
            yield
    finally:
        signal.signal(signal.SIGTERM, before)
        subprocess.run([NETLAB, "down"], check=True)


def launcher(name, weft, count, each=1):
    """Starts so many ranks on each of `count` hosts, on processors of their choice."""
    return spread(name, weft, [each] * count)


def spread(name, weft, ranks):
    """Starts ranks[i] ranks on host i, one host after the other."""
    slots = ",".join(f"{LAB}{i}:{each}" for i, each in enumerate(ranks, 1))
    words = {
        "weft": [weft.mpiexec, "--bind-to", "none", "--hosts", slots],
        "openmpi": ["mpirun.openmpi", "--allow-run-as-root", "--oversubscribe", "--bind-to",
                    "none", "--mca", "pml", "ob1", "--mca", "btl", "tcp,vader,self", "--host",
                    slots],
        "mpich": ["mpiexec.mpich", "-launcher", "ssh", "-hosts", slots],
    }
    return [NETLAB, "exec", 1, *words[name], "-n", sum(ranks)]


def local(name, weft, count):
    """Starts so many ranks on this machine, bound as each MPI does by itself."""
    words = {
        "weft": [weft.mpiexec],
        "openmpi": ["mpirun.openmpi", "--allow-run-as-root", "--oversubscribe"],
        "mpich": ["mpiexec.mpich"],
    }
    return [*words[name], "-n", count]


def end(job):
    """Ends a job that hangs, politely first: launchers sweep up."""
    for how in (signal.SIGTERM, signal.SIGKILL):
        os.killpg(job.pid, how)
        try:
            job.wait(10)
            return
        except subprocess.TimeoutExpired:
            pass


def run(words, limit=300):
    """What a command prints; hydra fails where its input ends before the job."""
    command = [*shlex.split(os.environ.get("MEASURE_WITH", "")), *map(str, words)]
    silence, silent = os.pipe()
    with subprocess.Popen(command, stdin=silence, stdout=subprocess.PIPE, text=True,
                          stderr=subprocess.PIPE, start_new_session=True) as job:
        try:
            out, err = job.communicate(timeout=limit)
        except subprocess.TimeoutExpired as late:
            end(job)
            raise Failed(f"{shlex.join(command)}: not over after {limit} s",
                         job.communicate()[0]) from late
        except BaseException:  # we are to end: so is the job
            end(job)
            raise
        finally:
            os.close(silence)
            os.close(silent)
    if job.returncode != 0:
        raise Failed(f"{shlex.join(command)}: code {job.returncode}\n{err[-2000:]}"
                     f"{out[-2000:]}", out)
    return out


def build(name, who, weft, folder):
    """A program of this folder, built for one of the MPIs."""
    program = Path(folder) / f"{name}-{who}"
    if not program.exists():
        compiler = weft.mpicc if who == "weft" else f"mpicc.{who}"
        subprocess.run([compiler, "-O2", "-std=gnu11", "-w", "-o", program,
                        HERE / f"{name}.c"], check=True)
    return program


def rows(text):
    """The lines that programs of this folder print: bench, parameter, value, unit."""
    for line in text.splitlines():
        bench, parameter, value, unit = line.split("\t")
        yield bench, parameter, float(value), unit


def version_of(package):
    text = subprocess.run(["dpkg-query", "-W", "-f", "${Version}", package], text=True,
                          stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, check=False).stdout
    found = re.search(r"\d+\.\d+(\.\d+)?", text)
    return found[0] if found else "?"


def write(name, text):
    """Puts a text between the marks of this name in the document."""
    begin, over = f"<!-- begin: {name} -->\n", f"<!-- end: {name} -->\n"
    old = DOCUMENT.read_text()
    if begin not in old or over not in old:
        raise Failed(f"{DOCUMENT}: the lines {begin.strip()} and {over.strip()} are missing")
    before, rest = old.split(begin)
    DOCUMENT.write_text(before + begin + text + over + rest.split(over)[1])
