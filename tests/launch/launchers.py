"""launchers.py - one program under every launcher: ours, hydra, Open MPI's, Slurm, none.

The program is place.c, whose lines say where each rank is. It has no part in finding that
out, and is the same file in all cases. Needs root, for namespaces and for Slurm, and all
launchers: one that is missing is a failure. See common.py for how cases are written.
"""

import os
import re
import shlex
import subprocess
import sys
import tempfile
from collections import Counter
from pathlib import Path
from typing import NamedTuple

from common import (Running, case, claim, equal, is_sanitized, main, mpiexec_path,
                    nothing_is_left, program, wait_until)
from slurm import Slurm

SIZES = (1, 2, 4, 8)
FAREWELL = 3  # seconds that a launcher may take to sweep up after a failure
MEMFD = r"/memfd:weft \(deleted\)"
FILE = r"/dev/shm/weft-[0-9a-f]{32} \(deleted\)"

MILLION_MS = 1000
MILLION_KIB = 64 * 1024

# An input that neither says anything nor ends: when hydra sees the end of its input only
# at the end of the job, it fails (4.0.2, control_cb).
SILENCE, _SILENT = os.pipe()

# libpmix and its plugins never give some of their memory back; it is not ours to mend.
WITH_PMIX = re.compile("openmpi|srun|sbatch|PMIX")
LEAKS_ALLOWED = {"ASAN_OPTIONS": "exitcode=99:detect_leaks=0"}


# ---- launchers ----

def ours(count, *words):
    return [mpiexec_path(), "-n", count, *words]


def hydra(count, *words):
    return ["mpiexec.hydra", "-launcher", "fork", "-n", count, *words]


def open_mpi(count, *words):
    return ["mpirun.openmpi", "--allow-run-as-root", "--oversubscribe", "-n", count, *words]


LAUNCHERS = (ours, hydra, open_mpi)

# Open MPI's own does not want to run inside itself.
PAIRS = [(outer, inner) for outer in LAUNCHERS for inner in LAUNCHERS
         if (outer, inner) != (open_mpi, open_mpi)]


def without(_, *words):
    return words


def place():
    return program("place")


def run(command, code=0, says=None, variables=None):
    """Runs it and holds it to its code, to what it says and to leaving nothing behind.

    `code` None: any but 0. `says` None: nothing on standard error; else it is not looked
    at here, because launchers have much to say about a failure.
    """
    variables = variables or {}
    if WITH_PMIX.search(" ".join(map(str, [*command, *variables]))):
        variables = LEAKS_ALLOWED | variables
    running = Running(command, variables=variables, stdin=SILENCE)
    done = running.finish()
    nothing_is_left(running.mark, running.before, FAREWELL)
    about = f"{command}\ncode {done.code}\nstdout: {done.out!r}\nstderr: {done.err!r}"
    claim(done.code == code or (code is None and done.code != 0), about)
    claim(says is not None or done.err == b"", about)
    return done


# ---- a private Slurm ----

_slurm = []


def slurm():
    """Started when it is first asked for."""
    if not _slurm:
        _slurm.append(Slurm())
    return _slurm[0]


def run_there(*words, **settings):
    """Runs a command where Slurm is."""
    done = run(slurm().command(*words), variables=slurm().variables, **settings)
    claim("@weft-" not in slurm().sockets(), "a socket of ours is left")
    return done


def srun(count, *words, **settings):
    return run_there("srun", "-Q", "-N1", "--mpi=pmix", "-n", count, *words, **settings)


# ---- what place.c prints ----

class Place(NamedTuple):
    """One rank's line."""

    rank: int
    size: int
    job_size: int
    shared: int  # ranks that have mapped the segment
    node: int
    node_count: int
    local: int
    given: int  # the local rank by the launcher's word
    secret: str  # a sum of it
    segment: str  # device and inode
    memory: str


LINE = re.compile(r"place rank=(\d+) size=(\d+) job_size=(\d+) shared=(\d+) "
                  r"node=(\d+) of (\d+) local=(\d+) given=(-?\d+) "
                  r"secret=([0-9a-f]{8}) segment=(\S+) memory=(.+)")


def places_in(text):
    """All ranks' lines, by rank; there is nothing else in the text."""
    found = []
    for line in text.splitlines():
        match = LINE.fullmatch(line)
        claim(match, f"not a line of place.c: {line!r}")
        found.append(Place(*map(int, match.groups()[:8]), *match.groups()[8:]))
    return sorted(found)


def places(done):
    return places_in(done.out.decode())


def hold_job(said, nodes, memory=MEMFD, is_launcher_right=True):
    """These are the ranks of one job, of which rank r is on node nodes[r].

    What the launcher says is the same, if it is right.
    """
    about = "\n".join(map(str, said))
    equal([p.rank for p in said], list(range(len(nodes))), about)
    segments = {node: set() for node in nodes}
    count = Counter()
    for p in said:
        equal((p.size, p.job_size), (len(nodes), len(nodes)), about)
        equal(p.shared, nodes.count(nodes[p.rank]), about)
        equal(p.local, count[nodes[p.rank]], about)
        if is_launcher_right:
            equal(p.given, p.local, about)
            equal((p.node, p.node_count), (nodes[p.rank], len(set(nodes))), about)
        claim(re.fullmatch(memory, p.memory), about)
        segments[nodes[p.rank]].add(p.segment)
        count[nodes[p.rank]] += 1
    equal([len(of) for of in segments.values()], [1] * len(segments), about)
    equal(len(set.union(*segments.values())), len(segments), about)
    equal(len({p.secret for p in said}), 1, about)


def hold_one_node(said, size, **expected):
    hold_job(said, [0] * size, **expected)


def hold_inner(said):
    """A job of two inside another, whose words about local ranks may still be there."""
    hold_one_node([p._replace(given=p.local) for p in said], 2)


def hold_alone(said):
    """Each is a job of one, of which no launcher knows."""
    for p in said:
        hold_one_node([p._replace(given=0)], 1)


def hold_complaint(done, pattern, count):
    """Each of `count` processes says why it cannot start, and none of them did."""
    said = done.err.decode()
    equal(len(re.findall(pattern, said, re.MULTILINE)), count, said)
    equal(done.out, b"")


# ---- the same program under each ----

@case("places")
def our_mpiexec_gives_each_rank_its_place():
    for size in SIZES:
        hold_one_node(places(run(ours(size, place()))), size)


@case("places")
def hydra_gives_each_rank_its_place():
    for size in SIZES:
        hold_one_node(places(run(hydra(size, place()))), size)


@case("places")
def open_mpi_gives_each_rank_its_place():
    for size in SIZES:
        hold_one_node(places(run(open_mpi(size, place()))), size)


@case("places")
def alone_it_is_a_job_of_one():
    hold_alone(places(run([place()])))


@case("places")
def hydra_with_two_nodes_gives_each_rank_its_place():
    hosts = ("-hosts", "one,two")
    hold_job(places(run(hydra(4, *hosts, "-ppn", 2, place()))), [0, 0, 1, 1])
    hold_job(places(run(hydra(4, *hosts, "-ppn", 1, place()))), [0, 1, 0, 1])
    hold_job(places(run(hydra(5, *hosts, "-ppn", 2, place()))), [0, 0, 1, 1, 0])


@case("places")
def what_a_rank_starts_is_a_job_of_one():
    for launcher in LAUNCHERS:
        said = places(run(launcher(2, place(), "child", shlex.quote(place()))))
        hold_one_node([p for p in said if p.size == 2], 2)
        hold_alone([p for p in said if p.size != 2])
        equal(len(said), 4)


@case("places")
def a_launcher_that_a_rank_starts_gives_places_as_ever():
    for outer, inner in [*PAIRS, *((without, inner) for inner in LAUNCHERS)]:
        command = shlex.join(map(str, inner(2, place())))
        said = places(run(outer(1, place(), "child", command)))
        hold_alone([p for p in said if p.size == 1])
        hold_inner([p for p in said if p.size == 2])
        equal(len(said), 3)


@case("places")
def of_two_launchers_around_a_rank_the_inner_one_counts():
    for outer, inner in PAIRS:
        hold_inner(places(run(outer(1, *inner(2, place())))))


# ---- Slurm ----

ADVICE = "use srun --mpi=pmix or srun --mpi=pmi2$"


@case("slurm")
def srun_with_pmix_gives_each_rank_its_place():
    for size in SIZES:
        hold_one_node(places(srun(size, place())), size)


@case("slurm")
def srun_on_two_nodes_gives_each_rank_its_place():
    two = ("srun", "-Q", "-N2", "--mpi=pmix", "-n4", "--ntasks-per-node=2")
    hold_job(places(run_there(*two, place())), [0, 0, 1, 1])
    hold_job(places(run_there(*two, "-m", "cyclic", place())), [0, 1, 0, 1])


def by_pmi2(*words, **settings):
    return run_there("srun", "-Q", "-K", "--mpi=pmi2", *words, **settings)


@case("slurm")
def srun_with_pmi2_gives_each_rank_its_place():
    for size in (1, 4):
        hold_one_node(places(by_pmi2("-N1", "-n", size, place())), size)
    two = ("-N2", "-n4", "--ntasks-per-node=2")
    hold_job(places(by_pmi2(*two, place())), [0, 0, 1, 1])
    hold_job(places(by_pmi2(*two, "-m", "cyclic", place())), [0, 1, 0, 1])


@case("slurm")
def plain_srun_speaks_what_slurm_is_set_to():
    for kind in ("pmi2", "pmix"):
        plain = ("env", f"SLURM_MPI_TYPE={kind}", "srun", "-Q", "-N1", "-n2")
        hold_one_node(places(run_there(*plain, place())), 2)


@case("slurm")
def srun_without_pmi_is_told_what_to_do():
    for count in (2, 4):
        done = run_there("srun", "-Q", "-N1", "-n", count, place(), code=None, says=any)
        hold_complaint(done, f"^weft: .* without PMI,.*{ADVICE}", count)


@case("slurm")
def what_a_task_of_pmi2_starts_is_a_job_of_one():
    said = places(by_pmi2("-N1", "-n2", place(), "child", shlex.quote(place())))
    hold_one_node([p for p in said if p.size == 2], 2)
    hold_alone([p for p in said if p.size != 2])
    equal(len(said), 4)


@case("slurm")
def pmi2_ends_a_job_whose_rank_aborts_or_is_killed():
    """Slurm loses the code of the abort, and wants -K to care for a task that was killed."""
    done = by_pmi2("-N1", "-n4", place(), "abort", 2, 7, code=None, says=any)
    claim(ABORTED in done.err, done.err)
    by_pmi2("-N1", "-n4", place(), "kill", 1, code=None, says=any)


@case("slurm")
def pmi2_serves_one_program_and_the_second_says_so():
    done = by_pmi2("-N1", "-n2", *two_programs(), code=None, says=())
    equal(sorted(done.lines()), ["a 0 of 2", "a 1 of 2"])
    claim(b"only Weft's mpiexec serves several" in done.err, done.err)


@case("slurm")
def srun_of_one_task_is_a_job_of_one():
    hold_one_node(places(run_there("srun", "-Q", "-N1", "-n1", place())), 1)


@case("slurm")
def a_batch_script_is_a_job_of_one_and_its_steps_are_jobs():
    out = slurm().folder / "batch.out"
    inner = shlex.join(ours("2", place()))
    script = f"{place()}; srun -Q --mpi=pmix {place()}; {inner}; echo end"
    run_there("sbatch", "-N1", "-n4", "-Q", "-o", out, "--wrap", script)
    claim(wait_until(lambda: out.exists() and out.read_text().endswith("end\n"), 20),
          f"{out.exists() and out.read_text()}\n{slurm().logs()}")
    said = places_in(out.read_text().removesuffix("end\n"))
    hold_alone([p for p in said if p.size == 1])
    hold_one_node([p for p in said if p.size == 2], 2)
    hold_one_node([p for p in said if p.size == 4], 4)
    equal(len(said), 7)


@case("slurm")
def what_a_task_starts_is_a_job_of_one():
    said = places(srun(2, place(), "child", shlex.quote(place())))
    hold_one_node([p for p in said if p.size == 2], 2)
    hold_alone([p for p in said if p.size != 2])
    equal(len(said), 4)


@case("slurm")
def srun_started_by_a_rank_gives_places_as_ever():
    command = f"srun -Q -N1 -n2 --mpi=pmix {shlex.quote(place())}"
    said = places(run_there(place(), "child", command))
    hold_alone([p for p in said if p.size == 1])
    hold_one_node([p for p in said if p.size == 2], 2)
    equal(len(said), 3)


@case("slurm")
def srun_without_pmi_started_by_a_rank_makes_no_lonely_ranks():
    command = f"srun -Q -N1 -n2 {shlex.quote(place())}"
    done = run_there(place(), "child", command, code=None, says=any)
    equal(len(re.findall(ADVICE, done.err.decode(), re.M)), 2, done.err)
    equal(len(places(done)), 1)


@case("slurm")
def launchers_inside_a_step_or_allocation_give_places_as_ever():
    steps = [("srun", "-Q", "-N1", "-n1", f"--mpi={kind}")
             for kind in ("none", "pmi2", "pmix")]
    for outer in (*steps, ("salloc", "-Q", "-N1", "-n2")):
        for inner in (ours, hydra):
            hold_one_node(places(run_there(*outer, *inner(2, place()))), 2)


# ---- death ----

ABORTED = b"MPI_Abort on MPI_COMM_WORLD with code 7"


@case("death")
def abort_under_any_launcher_ends_the_job_with_its_code():
    for launcher in LAUNCHERS:
        done = run(launcher(4, place(), "abort", 2, 7), code=7, says=any)
        claim(ABORTED in done.err, done.err)
    claim(ABORTED in run([place(), "abort", 0, 7], code=7, says=any).err, "alone")


@case("death")
def the_last_words_of_a_rank_are_not_lost_under_hydra():
    for _ in range(10):  # without a pause before the abort every third time
        claim(ABORTED in run(hydra(4, place(), "abort", 2, 7), code=7, says=any).err, "lost")


def hold_one_line(done):
    """The rank that fails says so; those that waited for it say nothing."""
    said = [line for line in done.err.decode().splitlines() if line.startswith("weft: ")]
    claim(len(said) == 1 and re.match(r"weft: rank 1 on \S+: MPI_Barrier: MPI_ERR_COMM: the "
                                      "communicator is MPI_COMM_NULL: ", said[0]), done.err)


@case("death")
def a_fatal_error_is_one_line_of_the_rank_that_fails():
    for launcher in (hydra, open_mpi):
        hold_one_line(run(launcher(4, program("fail"), "comm", "barrier"), code=None, says=any))


@case("slurm")
def a_fatal_error_under_srun_is_one_line_of_the_rank_that_fails():
    hold_one_line(srun(4, program("fail"), "comm", "barrier", code=None, says=any))


@case("slurm")
def abort_under_srun_ends_the_job_with_its_code():
    done = srun(4, place(), "abort", 2, 7, code=7, says=any)
    claim(ABORTED in done.err, done.err)


@case("death")
def a_killed_rank_ends_the_job_under_any_launcher():
    for launcher in LAUNCHERS:
        run(launcher(4, place(), "kill", 1), code=None, says=any)


@case("slurm")
def a_killed_rank_ends_the_job_under_srun():
    srun(4, place(), "kill", 1, code=None, says=any)


@case("death")
def a_killed_rank_leaves_no_file_where_files_are_shared():
    run(hydra(4, "unshare", "-n", place(), "kill", 0), code=None, says=any)


# ---- the ladder ----

# A host of its own, out of reach by memory and by network.
OWN_SHM = ("unshare", "-n", "-m", "sh", "-c",
           'mount -t tmpfs none /dev/shm && ip link set lo up && exec "$0" apart')


@case("ladder")
def without_a_common_network_a_file_is_shared_and_unlinked():
    hold_one_node(places(run(hydra(4, "unshare", "-n", place()))), 4, memory=FILE)


@case("ladder")
def one_rank_out_of_reach_makes_all_take_the_file():
    said = places(run(hydra(3, place(), ":", "-n", 1, "unshare", "-n", place())))
    hold_one_node(said, 4, memory=FILE)


@case("ladder")
def ranks_with_nothing_in_common_count_as_different_nodes():
    said = places(run(hydra(4, *OWN_SHM, place()), code=7, says=any))
    hold_job(said, [0, 1, 2, 3], memory=f"{MEMFD}|{FILE}", is_launcher_right=False)


@case("ladder")
def those_who_can_share_do_and_the_others_count_as_nodes():
    said = places(run(hydra(2, place(), "apart", ":", "-n", 2, *OWN_SHM, place()),
                      code=7, says=any))
    hold_job(said, [0, 0, 1, 2], memory=f"{MEMFD}|{FILE}", is_launcher_right=False)


@case("ladder")
def ranks_in_user_namespaces_of_their_own_share_a_node():
    for launcher in LAUNCHERS:
        hold_one_node(places(run(launcher(4, "unshare", "-Ur", place()))), 4)


# Another user who reads the names of our sockets, and puts a file of each name into place.
SQUATTER = """
import os, re, sys
os.setuid(65534)
os.umask(0)
print("ready", flush=True)
seen = set()
while os.getppid() == int(sys.argv[1]):
    for name in re.findall(r"@(weft-[0-9a-f]+)", open("/proc/net/unix").read()):
        if name not in seen:
            seen.add(name)
            try:
                fd = os.open("/dev/shm/" + name, os.O_RDWR | os.O_CREAT | os.O_EXCL, 0o666)
                os.write(fd, b"not a segment")
            except OSError:
                pass
"""


@case("ladder")
def another_user_cannot_put_a_segment_into_place():
    squatter = subprocess.Popen([sys.executable, "-c", SQUATTER, str(os.getpid())],
                                stdout=subprocess.PIPE)
    squatter.stdout.readline()
    left = []
    try:
        for _ in range(3):
            command = hydra(3, place(), ":", "-n", 1, "unshare", "-n", place())
            done = Running(command, stdin=SILENCE).finish()
            hold_one_node(places_in(done.out.decode()), 4, memory=FILE)
    finally:
        squatter.kill()
        squatter.wait()
        for entry in os.scandir("/dev/shm"):
            if entry.name.startswith("weft-") and entry.stat().st_uid == 65534:
                left.append(entry.name)
                os.unlink(entry.path)
    claim(left, "the squatter has seen no name, so that this proves nothing")


# ---- wire-up that fails ----

@case("errors")
def a_closed_descriptor_is_named():
    closed = {"PMI_FD": "77", "PMI_RANK": "0", "PMI_SIZE": "1"}
    pattern = r"^weft: .*descriptor 77, .*was closed on the way"
    hold_complaint(run([place()], None, any, closed), pattern, 1)
    hold_complaint(run(hydra(2, "env", "PMI_FD=77", place()), None, any), pattern, 2)


@case("errors")
def a_rank_out_of_range_is_named():
    for rank, size in ((4, 4), (-1, 4), ("x", 4), (0, 0), (0, "")):
        given = {"PMI_FD": "0", "PMI_RANK": str(rank), "PMI_SIZE": str(size)}
        hold_complaint(run([place()], None, any, given), "^weft: .*makes no sense: unset them, ", 1)
    done = run(hydra(2, "env", "PMI_RANK=2", place()), None, any)
    hold_complaint(done, "^weft: .*PMI_RANK=2 .*makes no sense: unset them, ", 2)


@case("errors")
def a_pmix_server_that_is_not_there_is_named():
    given = {"PMIX_NAMESPACE": "x", "PMIX_RANK": "0"}
    hold_complaint(run([place()], None, any, given),
                   "^weft: .*reach the launcher over PMIx: ", 1)


@case("errors")
def a_missing_libpmix_is_named_with_the_fix():
    listed = subprocess.run(["/sbin/ldconfig", "-p"], check=True, capture_output=True,
                            text=True).stdout
    library = Path(re.search(r"libpmix\.so\.2 .*=> (\S+)", listed)[1]).resolve()
    with tempfile.NamedTemporaryFile() as empty:
        hide = f'mount --bind {empty.name} {library} && exec "$0"'
        done = run(open_mpi(2, "unshare", "-m", "sh", "-c", hide, place()), None, any)
    hold_complaint(done, r"^weft: .*speaks PMIx.*install libpmix", 2)


# ---- descriptors ----

def hold_descriptors(done, count):
    """Init opened something in each rank, all of it close-on-exec."""
    lines = done.out.decode().splitlines()
    equal([line for line in lines if line.startswith("leak ")], [])
    opened = [line for line in lines if re.fullmatch(r"opened [1-9]\d*", line)]
    equal(len(opened), count, done.out)


@case("descriptors")
def what_init_opens_is_close_on_exec():
    hold_descriptors(run([place(), "descriptors"]), 1)
    for launcher in LAUNCHERS:
        hold_descriptors(run(launcher(2, place(), "descriptors")), 2)


@case("slurm")
def what_init_opens_under_srun_is_close_on_exec():
    hold_descriptors(srun(2, place(), "descriptors"), 2)
    hold_descriptors(by_pmi2("-N1", "-n2", place(), "descriptors"), 2)


# ---- a very large job ----

# ---- several MPI programs in one rank ----

def two_programs():
    ring = program("ring")
    return ("sh", "-c", f"{ring} a && {ring} b")


@case("programs")
def a_second_program_works_by_pmix():
    expected = [f"{word} {rank} of 2" for word in "ab" for rank in range(2)]
    equal(run(open_mpi(2, *two_programs())).lines(), expected)
    equal(srun(2, *two_programs()).lines(), expected)


@case("programs")
def hydra_serves_one_program_and_the_second_says_so():
    done = run(hydra(2, *two_programs()), code=None, says=())
    equal(done.lines(), ["a 0 of 2", "a 1 of 2"])
    claim(b"only Weft's mpiexec serves several" in done.err, done.err)


@case("million")
def a_rank_of_a_million_starts_quickly_and_small():
    done = run([program("million"), place(), "brief"],
               variables={"WEFT_TRANSPORT": "shm"})
    text, measured = done.out.decode().split("million ")
    said = places_in(text)
    equal([p[:7] for p in said], [(640000, 1000000, 1000000, 1, 10000, 15625, 0)])
    figures = dict(word.split("=") for word in measured.split())
    print(f"      {measured}", end="")
    claim(float(figures["milliseconds"]) < MILLION_MS, measured)
    claim(is_sanitized() or int(figures["kibibytes"]) < MILLION_KIB, measured)


if __name__ == "__main__":
    try:
        code = main()
    finally:
        if _slurm:
            _slurm[0].close()
    sys.exit(code)
