"""odd.py - containers and odd machines: a job works in each, at a cost that --report names.

A place is what stands in front of mpiexec or of a rank: a filter of system calls, namespaces, a
cgroup, limits, missing folders. In each place the same small set is run: hello, short and long
messages and collectives (odd.c), and an abort that leaves nothing behind. docs/containers.md has
the table. Most places need root, and some a kernel that has the feature; what cannot be made here
is said and left out. See common.py for how cases are written and called.
"""

import os
import re
import shutil
import subprocess
import sys
import tempfile
from pathlib import Path

import common
from common import HOST, Running, case, claim, equal, is_sanitized, mpiexec_path, program, wait_until

RANKS = 3
NOBODY = 23456  # no entry of passwd has it
ONE, TWO = "one copy", "two copies"
USER = ["setpriv", f"--reuid={NOBODY}", f"--regid={NOBODY}", "--clear-groups"]


# ---- places ----

def shell(*commands):
    """A place that a few commands make, in namespaces that unshare has made before."""
    return ["sh", "-c", "; ".join([*commands, 'exec "$@"']), "sh"]


def mounts(*commands):
    return ["unshare", "-m", "--propagation", "private", *shell(*commands)]


def confine(*calls, error="EPERM", rank=None):
    return [program("confine"), ",".join(f"{call}={error}" for call in calls),
            *(() if rank is None else ("-r", rank))]


MEMORY = ("process_vm_readv", "process_vm_writev")
NO_MEM = 39  # MPI_ERR_NO_MEM
WINDOWS = "windows inside the host:"
MAPPED = "mapped memory if MPI allocates it"
WORD = "accumulates under a lock word of the target"


def can(*words):
    """Is there such a place on this machine?"""
    done = subprocess.run([str(word) for word in (*words, "true")], stdin=subprocess.DEVNULL,
                          stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, check=False)
    if done.returncode != 0:
        print(f"left out: {' '.join(map(str, words))[:120]}: {done.stderr.decode()[-200:].strip()}",
              flush=True)
    return done.returncode == 0


def is_root():
    if os.geteuid() != 0:
        print("left out: only root can make these places", flush=True)
    return os.geteuid() == 0


# ---- the set ----

def hold_set(under=(), inside=(), copies=ONE, ranks=RANKS, variables=None, more=()):
    """Runs the set with `under` in front of mpiexec and `inside` in front of the ranks. `copies`
    None: either."""
    command = [*under, mpiexec_path(), "--bind-to", "none", "-n", ranks]
    about = f"{under} {inside}"
    done = Running([*command, *inside, program("odd")], variables=variables).end(0, more)
    if is_sanitized():
        copies = None  # what a sanitizer maps may be out of reach
    for rank, text in enumerate(done.lines()):
        claim(re.fullmatch(rf"{rank} of {ranks} fine, {copies or '(one copy|two copies)'}", text),
              f"{about}: {text}")
    equal(len(done.lines()), ranks, about)
    run = Running([*command, *inside, program("odd"), "abort"], variables=variables)
    done = run.finish()
    said = done.err.decode()
    equal(done.code, 7, f"{about}: {said}")
    claim(re.search(r"^mpiexec: rank 1 on .*: MPI_Abort on MPI_COMM_WORLD with code 7$", said,
                    re.MULTILINE), f"{about}: {said}")
    common.nothing_is_left(run.mark, run.before, common.ENDING)


def report(under=()):
    """What mpiexec --report says of this machine, without the line of addresses."""
    done = Running([*under, mpiexec_path(), "--report"]).end()
    return done.out.decode().split("\n", 1)[1]


def says(under, *patterns, never=()):
    said = report(under)
    for pattern in patterns:
        claim(re.search(pattern, said, re.M), f"{under}: {pattern} is not in {said}")
    for pattern in never:
        claim(not re.search(pattern, said), f"{under}: {pattern} is in {said}")


# ---- system calls that a filter refuses ----

@case("calls")
def a_machine_without_limits_has_no_costs():
    hold_set()
    says((), r"^\S+: (\d+ of )?\d+ processors", f"{WINDOWS} {MAPPED}, single copy otherwise; {WORD}$",
         never=("no process_vm", "no memfd", "no membarrier", "windows between"))


@case("calls")
def memory_of_others_is_out_of_reach_by_seccomp():
    for error in ("EPERM", "ENOSYS"):
        hold_set(inside=confine(*MEMORY, error=error), copies=TWO)
    hold_set(under=confine(*MEMORY), copies=TWO)
    says(confine(*MEMORY), r"no process_vm_readv \(Operation not permitted: a seccomp filter, or "
         r"Yama\): long messages inside the host are copied twice, through the segment")
    says(confine(*MEMORY, error="ENOSYS"), r"no process_vm_readv \(Function not implemented",
         f"{WINDOWS} {MAPPED}, messages otherwise; {WORD}, or by messages$")


@case("calls")
def settings_decide_how_windows_are_reached():
    says(("env", "WEFT_RMA=messages"), rf"{WINDOWS} messages \(WEFT_RMA\); the target's process")
    says(("env", "WEFT_TRANSPORT=msg"), rf"{WINDOWS} as between hosts \(WEFT_TRANSPORT\)$")
    says(("env", "WEFT_TRANSPORT=shm+rdm"), f"{WINDOWS} {MAPPED}, single copy otherwise")


@case("calls")
def memory_of_others_is_out_of_reach_for_one_rank_only():
    for rank in (0, 1):
        for calls in (MEMORY, MEMORY[:1], MEMORY[1:]):
            hold_set(inside=confine(*calls, rank=rank), copies=None, ranks=2)


@case("calls")
def a_segment_is_a_file_where_memfd_is_refused():
    for error in ("EPERM", "ENOSYS"):
        hold_set(under=confine("memfd_create", error=error))
    says(confine("memfd_create"), r"no memfd_create: what ranks share is a file without a name in "
         r"/(dev/shm|tmp), and each rank takes 4.2 MiB")


@case("calls")
def other_calls_may_be_refused():
    for calls in (("membarrier",), ("close_range",), ("ptrace",), ("sched_setaffinity",),
                  ("sched_getaffinity",)):
        for error in ("EPERM", "ENOSYS"):
            hold_set(under=confine(*calls, error=error), ranks=2)
    says(confine("membarrier", "ptrace"), r"no membarrier \(.*\): a rank that sleeps in MPI wakes "
         r"up every millisecond", r"no ptrace \(.*\): --hang-stacks shows no stacks")


# ---- users ----

@case("users")
def an_ordinary_user_without_an_entry_has_what_root_has():
    if is_root():
        hold_set(under=["env", "-u", "HOME", "-u", "USER", *USER])
        hold_set(under=["setpriv", "--no-new-privs", "--bounding-set=-all", "--inh-caps=-all"])


@case("users")
def a_rank_that_nobody_may_look_into_works():
    """Its memory is closed to others of its user; only root may still look."""
    hold_set(variables={"ODD_UNDUMPABLE": "1"}, copies=None)
    if is_root():
        hold_set(under=USER, variables={"ODD_UNDUMPABLE": "1"}, copies=TWO)


@case("users")
def ranks_of_different_users_work():
    if is_root():
        each = ["sh", "-c", f'exec setpriv --reuid=$(({NOBODY} + PMI_RANK)) --regid={NOBODY} '
                '--clear-groups "$@"', "sh"]
        hold_set(inside=each, copies=TWO)


@case("users")
def almost_no_environment_is_enough():
    for name in ("PATH", "HOME", "USER"):
        hold_set(variables={name: None}, under=(), ranks=2)
    hold_set(variables=dict.fromkeys([name for name in os.environ if name not in ("LD_LIBRARY_PATH",
                                      "LD_PRELOAD")]), ranks=2)


@case("users")
def closed_descriptors_do_no_harm():
    """What mpiexec opens must not become its standard output, and lines must not go there."""
    for closed in ("<&-", "2>&-"):
        done = Running(["sh", "-c", f'exec "$@" {closed}', "sh", mpiexec_path(), "-n", 2,
                        program("odd")]).end()
        equal(len(done.lines()), 2, closed)
    for closed in (">&-", "<&- >&- 2>&-"):
        done = Running(["sh", "-c", f'exec "$@" {closed}', "sh", mpiexec_path(), "-n", 2,
                        program("odd")]).end()
        equal((done.out, done.err), (b"", b""), closed)
    hold_set(inside=["sh", "-c", 'exec "$@" <&- 2>&-', "sh"], ranks=2)


# ---- namespaces ----

@case("namespaces")
def one_namespace_for_all_costs_nothing():
    for words in (["unshare", "-Ur"], ["unshare", "-Urn"],
                  ["unshare", "-Urp", "--fork", "--kill-child", "--mount-proc"]):
        if can(*words):
            hold_set(under=words)
    if is_root() and can(*USER, "unshare", "-Ur"):
        hold_set(under=[*USER, "unshare", "-Ur"])


@case("namespaces")
def a_namespace_for_each_rank_costs_a_copy():
    """As with a container for each rank: numbers of processes mean nothing to the others."""
    for words in (["unshare", "-Ur"], ["unshare", "-Urpnmi", "--fork", "--kill-child", "--mount-proc"],
                  ["unshare", "-Urp", "--fork", "--kill-child"]):
        if can(*words):
            hold_set(inside=words, copies=TWO)


@case("namespaces")
def one_rank_in_a_container_speaks_with_the_others_outside():
    words = ["unshare", "-Urpm", "--fork", "--kill-child", "--mount-proc"]
    if can(*words):
        hold_set(inside=["sh", "-c", f'test $PMI_RANK = 1 && exec {" ".join(words)} "$@"; exec "$@"',
                         "sh"], copies=None)


@case("namespaces")
def numbers_of_another_pid_namespace_in_proc_are_not_believed():
    words = ["unshare", "-Urp", "--fork", "--kill-child"]
    if can(*words):
        hold_set(under=words)
        says(words, "/proc is of another PID namespace: if mpiexec is killed with -9, processes that "
             "ranks have started are left")
        leaves_nothing(words)


def leaves_nothing(under):
    """A rank fails; the others, who ignore SIGTERM, and what they have started end with it."""
    script = "trap '' TERM; setsid sleep 1000 & sleep 1001 & test $PMI_RANK != 0 || exit 3; sleep 1002; :"
    run = Running([*under, mpiexec_path(), "--bind-to", "none", "-n", RANKS, "bash", "-c", script])
    done = run.finish()
    equal(done.code, 3, done.err)
    common.nothing_is_left(run.mark, run.before, common.ENDING)


# ---- folders ----

@case("folders")
def a_small_or_missing_shm_does_not_matter():
    if not is_root():
        return
    for words in (mounts("mount -t tmpfs -o size=64m none /dev/shm"),
                  mounts("mount -t tmpfs -o size=64k none /dev/shm"),
                  mounts("mount -t tmpfs -o ro none /dev/shm")):
        hold_set(under=words)
    without = mounts("mount -t tmpfs none /dev", "mknod /dev/urandom c 1 9", "mknod /dev/null c 1 3",
                     "chmod 666 /dev/null")
    hold_set(under=without)
    says(without, "no /dev/shm to write to: only under other launchers")
    says(mounts("mount -t tmpfs -o ro none /dev/shm"), "no /dev/shm to write to")
    hold_set(under=mounts("mount -t tmpfs none /dev"), ranks=2)  # not even /dev/null


@case("folders")
def a_segment_in_a_file_finds_a_folder_with_room():
    if not is_root():
        return
    small = mounts("mount -t tmpfs -o size=64k none /dev/shm")
    hold_set(under=[*small, *confine("memfd_create")])
    with tempfile.TemporaryDirectory(dir="/var/tmp") as folder:
        copy = Path(shutil.copy(program("confine"), folder))
        none = [*mounts("mount -t tmpfs -o size=64k none /dev/shm",
                        "mount -t tmpfs -o ro none /tmp"), copy, "memfd_create=EPERM"]
        if not program("odd").startswith("/tmp/"):
            Running([*none, mpiexec_path(), "-n", 2, "true"]).end(
                1, [r"cannot make the memory that ranks share: memfd_create is refused, and /tmp: "
                    "Read-only file system: allow memfd_create, or mount a larger /dev/shm"])


@case("folders")
def windows_fit_or_are_refused_where_shm_is_full():
    """Without memfd_create the segment is a file there, and a missing page would be SIGBUS."""
    if not is_root():
        return
    small = [*mounts("mount -t tmpfs -o size=64m none /dev/shm"), *confine("memfd_create"),
             mpiexec_path(), "-n", 3, program("full"), 100 << 20]
    Running(small).end(0)
    Running([*small, "fatal"]).end(
        NO_MEM, [r"MPI_Win_allocate_shared on MPI_COMM_WORLD: MPI_ERR_NO_MEM: no memory that ranks can "
                 r"share for the window, \d+ bytes here: make it smaller; where memfd_create is "
                 "refused, mount a larger /dev/shm$"])


READ_ONLY = ("mount --bind / /", "mount -o remount,bind,ro /",
             "mount -t tmpfs -o ro none /dev/shm")


@case("folders")
def nothing_has_to_be_writable():
    if not is_root() or not can(*mounts(*READ_ONLY)):
        return
    hold_set(under=mounts(*READ_ONLY))
    with tempfile.TemporaryDirectory() as folder:
        place = mounts(*READ_ONLY, f"cd {folder}")
        Running([*place, mpiexec_path(), "-n", 2, "--output", "rank-%r", program("odd")]).end(
            2, ["^mpiexec: --output rank-%r: Read-only file system$"])
        done = Running([*place, mpiexec_path(), "-n", 2, "--trace", "trace.json",
                        program("odd")]).end(0, ["^mpiexec: --trace trace.json: Read-only file system$"])
        equal(len(done.lines()), 2)


@case("folders")
def a_folder_that_is_gone_or_closed_can_be_worked_in():
    with tempfile.TemporaryDirectory() as folder:
        gone = Path(folder) / "gone"
        gone.mkdir()
        hold_set(under=["sh", "-c", f'cd {gone}; rmdir {gone}; exec "$@"', "sh"], ranks=2)


def library_folder():
    """Where the program finds the library; $ORIGIN, by which it does, needs /proc."""
    told = subprocess.run(["ldd", program("odd")], check=True, stdout=subprocess.PIPE, text=True)
    return re.search(r"libmpi_abi\.so\.1 => (\S+)/", told.stdout).group(1)


@case("folders")
def nothing_is_left_without_proc():
    if not is_root() or not can(*mounts("umount -l /proc")):
        return
    without = mounts("umount -l /proc")
    hold_set(under=without, variables={"LD_LIBRARY_PATH": library_folder()})
    leaves_nothing(without)
    says(without, "no /proc: if mpiexec is killed with -9, processes that ranks have started are left")


@case("folders")
def ranks_are_bound_without_sys():
    if not is_root() or not can(*mounts("umount -l /sys")):
        return
    without = mounts("umount -l /sys")
    hold_set(under=without)
    says(without, "no /sys: ranks are spread over processors without a look at cores")
    alone = ["unshare", "-n", *without]  # a job outside may have all cores; claims are a namespace's
    Running([*alone, mpiexec_path(), "-n", 1, "--bind-to", "core", "--report-bindings",
             program("odd")]).end(0, ["^mpiexec: rank 0: bound to processors "])


# ---- limits ----

class Cgroup:
    """A cgroup of version 1 or 2 with limits, for as long as it is used; None: none can be had."""

    # controller: the file of version 1, the file of version 2
    FILES = {"memory": ("memory.limit_in_bytes", "memory.max"), "pids": ("pids.max", "pids.max"),
             "cpu": ("cpu.cfs_quota_us", "cpu.max"), "cpuset": ("cpuset.cpus", "cpuset.cpus")}

    def __init__(self, controller, value):
        self.controller, self.value, self.folder = controller, value, None

    def __enter__(self):
        name = f"weft-odd-{os.getpid()}"
        for root, file in zip((Path("/sys/fs/cgroup") / self.controller, Path("/sys/fs/cgroup")),
                              self.FILES[self.controller]):
            folder = root / name
            try:
                folder.mkdir()
            except OSError:
                continue
            self.folder = folder
            try:
                mems = root / "cpuset.mems"
                if self.controller == "cpuset" and mems.exists():
                    (folder / "cpuset.mems").write_text(mems.read_text())
                (folder / file).write_text(str(self.value))
                return [*shell(f"echo $$ >{folder}/cgroup.procs")]
            except OSError:
                folder.rmdir()
                self.folder = None
        print(f"left out: no cgroup for {self.controller} can be made here", flush=True)
        return None

    def __exit__(self, *_):
        if self.folder is not None:
            wait_until(lambda: not (self.folder / "cgroup.procs").read_text(), 10)
            self.folder.rmdir()


@case("limits")
def a_part_of_the_processors_is_told():
    processors = sorted(os.sched_getaffinity(0))
    if len(processors) < 2:
        print("left out: one processor only", flush=True)
        return
    with Cgroup("cpuset", processors[-1]) as place:
        if place is not None:
            hold_set(under=place)
            says(place, r": 1 of \d+ processors by the cgroup or the affinity\n")
            done = Running([*place, mpiexec_path(), program("odd")]).end()
            equal(len(done.lines()), 1, "as many ranks as processors")


@case("limits")
def a_part_of_the_processor_time_is_told():
    value = "50000" if Path("/sys/fs/cgroup/cpu").exists() else "50000 100000"
    with Cgroup("cpu", value) as place:
        if place is not None:
            hold_set(under=place)
            says(place, r"processors.*, and time of 0.5 by the cgroup\n",
                 r"processor time is limited \(cpu.max\): who has used up its share stands still")
            done = Running([*place, mpiexec_path(), program("odd")]).end()
            equal(len(done.lines()), 1, "as many ranks as can be busy")


@case("limits")
def little_memory_is_told():
    if is_sanitized():
        return
    with Cgroup("memory", 128 << 20) as place:
        if place is not None:
            hold_set(under=place)
            says(place, r": memory: 128 MiB by the cgroup;")


TOO_FEW = r"raise the limit of processes \(ulimit -u, or pids.max of the cgroup\), or start fewer ranks"


def try_processes(place_of):
    """With every number of processes: the job works, perhaps without threads, or says why not."""
    ends = []
    for count in range(1, 11):
        with place_of(count) as place:
            if place is None:
                return
            run = Running([*place, mpiexec_path(), "--bind-to", "none", "-n", RANKS, program("odd")])
            done = run.finish()
            common.nothing_is_left(run.mark, run.before, common.ENDING)
        said = done.err.decode()
        about = f"{count} processes: {done.code} {done.out} {said}"
        if done.code == 0:
            equal(len(done.lines()), RANKS, about)
            claim(all(re.match("weft: rank . on .*: the progress thread cannot be started", line)
                      for line in said.splitlines()), about)
        else:
            claim(re.search(TOO_FEW, said), about)
        ends.append(done.code)
    claim(ends[0] != 0 and ends[-1] == 0, f"{ends}: the limit has no effect, or too much of it")


@case("limits")
def few_processes_by_the_cgroup():
    if is_sanitized():
        return
    try_processes(lambda count: Cgroup("pids", count))
    with Cgroup("pids", 40) as place:
        if place is not None:
            says(place, r": processes: 40 by the cgroup \(pids.max\), \d+ are there; mpiexec needs 3, a "
                 "rank 2, or 3 with a network")


class Limited:
    """A user of whom there may be so many processes."""

    user = NOBODY + 100

    def __init__(self, count):
        self.count = count

    def __enter__(self):
        Limited.user += 1  # zombies of the last run count, too
        return ["setpriv", f"--reuid={self.user}", f"--regid={NOBODY}", "--clear-groups", "bash", "-c",
                f'ulimit -u {self.count}; exec "$@"', "bash"]

    def __exit__(self, *_):
        pass


@case("limits")
def few_processes_by_ulimit():
    if not is_sanitized() and is_root():
        try_processes(Limited)
        with Limited(60) as place:
            says(place, r": processes: 60 of this user \(ulimit -u\); mpiexec needs 3")


# ---- networks and names, on one host ----

MSG = {"WEFT_TRANSPORT": "msg"}


@case("network")
def either_kind_of_address_is_enough():
    if not is_root() or not can("unshare", "-n"):
        return
    up = "ip link set lo up"
    for words in ((up, "echo 1 >/proc/sys/net/ipv6/conf/all/disable_ipv6"),
                  (up, "ip addr del 127.0.0.1/8 dev lo")):
        hold_set(under=["unshare", "-n", *shell(*words)], variables=MSG, copies=None, ranks=2)
    hold_set(under=["unshare", "-n"])  # no address at all, which shared memory does not need


def names(name, *lines):
    """A host of this name, with these lines in /etc/hosts and no other way to find a name."""
    text = "\\n".join(("127.0.0.1 localhost", *lines))
    return ["unshare", "--uts", "-m", "--propagation", "private",
            *shell(f"hostname {name}", f"printf '{text}\\n' >$HOSTS", "mount --bind $HOSTS /etc/hosts",
                   "mount --bind /dev/null /etc/resolv.conf")]


@case("network")
def a_wrong_name_of_the_host_does_not_matter():
    if not is_root() or not can("unshare", "--uts", "-m"):
        return
    with tempfile.NamedTemporaryFile() as file:
        for place in (names("nowhere-at-all"), names("deb", "127.0.1.1 deb"),
                      names("other", "203.0.113.9 other"), names("a.b.c.example")):
            name = place[-2].split(";")[0].split()[1]
            hold_set(under=place, ranks=2, variables={"HOSTS": file.name})
            done = Running([*place, mpiexec_path(), "--hosts", name, "-n", 2, program("odd")],
                           variables={"HOSTS": file.name}).end()
            equal(len(done.lines()), 2, name)


# ---- other launchers ----

@case("network")
def ranks_of_hydra_find_each_other_in_containers_or_say_that_they_cannot():
    """A /dev/shm that is too small for their file is no SIGBUS in the middle of the job."""
    if shutil.which("mpiexec.hydra") is None or not is_root():
        print("left out: no hydra", flush=True)
        return
    job = ["mpiexec.hydra", "-n", RANKS]
    for place, copies in ((["unshare", "-n"], ONE), (confine("memfd_create"), ONE),
                          (["unshare", "-Urpm", "--fork", "--kill-child", "--mount-proc"], TWO),
                          ([], ONE)):
        under = [] if place else mounts("mount -t tmpfs -o size=4m none /dev/shm")
        place = place or ["unshare", "-n"]  # with room for what most jobs touch
        done = Running([*under, *job, *place, program("odd")]).end()
        equal(done.lines(), [f"{rank} of {RANKS} fine, {copies}" for rank in range(RANKS)], str(place))
    run = Running([*mounts("mount -t tmpfs -o size=64k none /dev/shm"), *job, "unshare", "-n",
                   program("odd")])
    done = run.finish()
    claim(done.code != 0 and b"no connection from" in done.err and b"signal 7" not in done.err,
          f"{done.code}: {done.err}")
    common.nothing_is_left(run.mark, run.before, common.ENDING)


# ---- versions ----

@case("network")
def a_library_of_another_layout_works_over_pmi():
    """As a container's library of another version does under the mpiexec of the host."""
    done = Running([mpiexec_path(), "-n", RANKS, program("other_layout"), program("odd")]).end()
    equal(len(done.lines()), RANKS)


# ---- the checkout ----

OPENED = "ODD_CHECKOUT_IS_OPEN"


def open_checkout():
    """Other users start mpiexec here. Below a folder that they may not search, as the home of
    root, all folders are shown at their paths in an open one, to this script alone."""
    script, mpiexec, here = (Path(name).resolve() for name in (__file__, sys.argv[1], os.getcwd()))
    closed = [folder for folder in reversed(mpiexec.parents) if not folder.stat().st_mode & 1]
    if not closed or not is_root() or OPENED in os.environ:
        return
    with tempfile.TemporaryDirectory() as folder:
        steps = [f"mount -t tmpfs -o mode=755 none {folder}"]
        steps += [f"mkdir '{folder}/{path.name}' && mount --bind '{path}' '{folder}/{path.name}'"
                  for path in closed[0].iterdir() if path.is_dir()]
        steps += [f"mount --move {folder} {closed[0]}", f"cd {here}"]
        done = subprocess.run([*mounts("set -e", *steps), sys.executable, "-B", script, mpiexec,
                               *sys.argv[2:]], env=os.environ | {OPENED: "1"}, check=False)
    sys.exit(done.returncode)


if __name__ == "__main__":
    open_checkout()
    sys.exit(common.main())
