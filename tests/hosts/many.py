"""many.py - many daemons: a tree of 200 on this machine, and 20 hosts over ssh.

The 200 are started without ssh (pretend), so that what is seen is the tree alone: that
nobody has more children than 16 or more descriptors than they need, that the way from the
root to anyone is short, and how long start, lookup and end take. Where all links are slow
(far.c), it shows how many messages, one after the other, each of these takes.
"""

import os
import re
import shutil
import socket
import subprocess
import sys
import tempfile
import time
from pathlib import Path

sys.path.append(str(Path(__file__).resolve().parent.parent / "launch"))

import common
from common import (Running, case, claim, equal, is_long, mpiexec_path, program,
                    wait_until)
from lab import NAME, Lab, skip_without_means

PRETEND = Path(__file__).resolve().parent / "pretend"
FAN_OUT = 16
BASE = 24  # descriptors of a daemon with one rank and no children


def start(count, *words, way=PRETEND):
    names = ",".join(f"pretended{i}" for i in range(count))
    return Running([mpiexec_path(), "--hosts", names, "-n", count, *words],
                   variables={"WEFT_RSH": str(way)})


def keepers(running):
    """The keepers of all daemons and of mpiexec, by process, with their parents' keeper."""
    pids = common.processes_with(running.mark)
    names = {}
    for pid in pids:
        try:
            names[pid] = Path(f"/proc/{pid}/comm").read_text().strip()
        except OSError:
            pass
    found = {}
    for pid in names:
        if names[pid] == "weft-keeper":
            above = common.parent_of(common.parent_of(pid))
            found[pid] = above if names.get(above) == "weft-keeper" else 0
    return found


def depth(tree, pid):
    return 0 if tree[pid] == 0 else 1 + depth(tree, tree[pid])


@case("tree")
def daemons_are_a_tree_with_few_descriptors():
    for count, most in ((10, 1), (50, 2), (200, 2)):
        running = start(count, "sh", "-c", "echo ready; exec sleep 1000")
        running.expect("ready", count)
        tree = keepers(running)
        equal(len(tree), count + 1, "keepers")
        children = [list(tree.values()).count(pid) for pid in tree]
        claim(max(children) <= FAN_OUT, f"{max(children)} children")
        equal(max(depth(tree, pid) for pid in tree), most, f"depth of {count}")
        held = {pid: len(os.listdir(f"/proc/{pid}/fd")) for pid in tree}
        for pid, number in zip(tree, children):
            claim(held[pid] <= BASE + 3 * number, f"{held[pid]} for {number} children")
        begin = time.monotonic()
        os.kill(running.pid, common.signal.SIGTERM)
        running.end(143, ["ending the job"], sweep=5)
        print(f"      {count} daemons: at most {max(held.values())} descriptors, "
              f"end in {time.monotonic() - begin:.2f} s", flush=True)


@case("times")
def start_lookup_and_abort_take_their_time():
    for count in (10, 50, 200) if is_long() else (10, 50):
        empty = start(count, "true").end(sweep=5).seconds
        met = start(count, program("meet")).end(sweep=5)
        equal(len(met.lines()), count)
        looked = start(count, program("keys")).end(sweep=5)
        equal(len(looked.lines()), count)
        failed = start(count, "sh", "-c",
                       f"test $PMI_RANK = {count - 1} && exit 5; exec sleep 1000")
        aborted = failed.end(5, [rf"rank {count - 1} on pretended{count - 1} .*code 5"],
                             sweep=5)
        print(f"      {count} daemons: start and end {empty:.2f} s, with MPI {met.seconds:.2f}"
              f" s, with {count * (count - 1)} lookups {looked.seconds:.2f} s, aborted after "
              f"{aborted.seconds:.2f} s", flush=True)


DELAY = 0.2  # seconds on a slow link, each way
SLACK = 1

# What is started, its exit code, and how many times a message goes all the way between the
# root and the farthest daemon: greeting and setup, both of which each level waits for;
# ready, start, ended, close, closed; and besides, the failure, its stop, and the clocks and
# black boxes that are asked for and answered; or a request and its answer, twice the way
# each, and a barrier.
JOURNEYS = {
    "start and end": (("true",), 0, 7),
    "lookup": (("keys", "half"), 0, 13),
    "abort": (("sh", "-c", "test $PMI_RANK = {last} && exit 5; exec sleep 1000"), 5, 13),
}


def seconds_over(way, count, words, code):
    words = [program(words[0]) if words[0] == "keys" else words[0],
             *(word.replace("{last}", str(count - 1)) for word in words[1:])]
    done = start(count, *words, way=way).end(code, ["code 5"] if code else (), sweep=5)
    return done.seconds


@case("far")
def the_time_on_slow_links_grows_with_the_depth_alone():
    for count, levels in ((10, 1), (50, 2), (200, 2))[:3 if is_long() else 2]:
        for name, (words, code, journeys) in JOURNEYS.items():
            for _ in range(3):  # the machine may be busy for a while
                near, far = (seconds_over(f"{program('far')} {ms}", count, words, code)
                             for ms in (0, int(1000 * DELAY)))
                if far - near < journeys * levels * DELAY + SLACK:
                    break
            else:
                claim(False, f"{count} daemons, {name}: {near:.2f} s, {far:.2f} s far away")
            print(f"      {count} daemons, {levels} levels, {name}: {near:.2f} s, with "
                  f"{DELAY} s on each link {far - near:.2f} s more: "
                  f"{(far - near) / DELAY / levels:.1f} a level", flush=True)


@case("times")
def a_daemon_in_the_middle_dies():
    running = start(50, "sh", "-c", "echo ready; exec sleep 1000")
    running.expect("ready", 50)
    tree = keepers(running)
    middle = [pid for pid in tree if tree[pid] and pid in tree.values()]
    common.kill_quietly(middle[0])
    done = running.end(1, [r"^mpiexec: host pretended\d+: its daemon has ended"], sweep=4)
    claim(done.seconds < 20, f"it took {done.seconds} s")


# ---- what takes longer than a heartbeat ----

class SlowFile:
    """A program whose every start takes so long; `path` is None where that cannot be had."""

    def __init__(self, seconds):
        self.folder = tempfile.TemporaryDirectory()
        self.path = Path(self.folder.name) / "slow-true"
        shutil.copy("/bin/true", self.path)
        self.process = subprocess.Popen([program("slow"), self.path, str(int(1000 * seconds))],
                                        stdout=subprocess.PIPE)
        if self.process.stdout.readline() != b"ready\n":
            self.path = None

    def __enter__(self):
        return self.path

    def __exit__(self, *_):
        self.process.kill()
        self.process.communicate()
        self.folder.cleanup()


def start_slowly(ranks, path):
    names = ("--hosts", f"pretended1:{ranks},pretended2:{ranks}", "-n", 2 * ranks)
    return Running([mpiexec_path(), *names, path],
                   variables={"WEFT_RSH": str(PRETEND), "WEFT_HEARTBEAT": "2"})


@case("slow")
def a_host_that_takes_long_to_start_its_ranks_is_not_dead():
    for ranks, seconds in ((4, 0.4), (1, 1.5)):  # one after the other: 3.2 s, 3 s
        with SlowFile(seconds) as path:
            if path is None:
                print("      left out: no fanotify")
                return
            start_slowly(ranks, path).end(sweep=5)


@case("slow")
def a_name_server_that_does_not_answer_does_not_end_the_job():
    """Each lookup takes longer than a heartbeat; with 18 hosts daemons look up names, too."""
    count = 18
    with tempfile.TemporaryDirectory() as folder, socket.socket(type=socket.SOCK_DGRAM) as dead:
        dead.bind(("127.93.0.53", 53))
        way, settings = Path(folder) / "ssh", Path(folder) / "resolv.conf"
        way.write_text(f"#!/bin/sh\nexec {PRETEND} \"$@\"\n")
        way.chmod(0o755)
        settings.write_text("nameserver 127.93.0.53\noptions timeout:3 attempts:1\n")
        names = ",".join(f"nowhere{i}" for i in range(count))
        command = ["unshare", "-m", "sh", "-c",
                   f'mount --bind {settings} /etc/resolv.conf && exec "$@"', "sh",
                   mpiexec_path(), "--hosts", names, "-n", count, "true"]
        Running(command, variables={"WEFT_RSH": str(way), "WEFT_HEARTBEAT": "2",
                                    "WEFT_NET": "127.0.0.0/8"}).end(sweep=5)


@case("slow")
def a_path_with_a_quote_reaches_the_shell_of_a_host_as_it_is():
    with tempfile.TemporaryDirectory() as folder:
        way, strange = Path(folder) / "way", Path(folder) / "it's a $path"
        way.write_text("#!/bin/sh\nshift\nexec sh -c \"$*\"\n")  # as sshd does
        way.chmod(0o755)
        strange.mkdir()
        shutil.copy(mpiexec_path(), strange / "mpiexec")
        done = Running([strange / "mpiexec", "--hosts", "pretended1", "-n", 2, "echo", "here"],
                       variables={"WEFT_RSH": str(way)}).end(sweep=5)
        equal(done.lines(), ["here", "here"])


@case("allocation")
def a_list_of_slurms_nodes_is_read():
    for nodes, tasks, expected in (
            ("n[1-3]", "2(x3)", "n1 n1 n2 n2 n3 n3"),
            ("a7,b[08-10]-x,c", "1,2(x2),1(x2)", "a7 b08-x b08-x b09-x b09-x b10-x c"),
            ("lonely", "3", "lonely lonely lonely")):
        variables = {"WEFT_RSH": str(PRETEND), "SLURM_JOB_ID": "1",
                     "SLURM_JOB_NODELIST": nodes, "SLURM_TASKS_PER_NODE": tasks}
        done = Running([mpiexec_path(), "sh", "-c", "exit $((PMI_RANK + 1))"],
                       variables=variables).finish()
        rank, host = re.match(r"mpiexec: rank (\d+) on (\S+) ", done.err.decode()).groups()
        equal(host, expected.split()[int(rank)], nodes)
        said = Running([mpiexec_path(), "sh", "-c", "echo $MPI_LOCALRANKID"],
                       variables=variables).end(sweep=2).lines()
        equal(len(said), len(expected.split()))


class Allocation:
    """Runs mpiexec as a batch system would: its hosts are pretended, and written down."""

    def __init__(self, folder):
        self.folder = Path(folder)
        self.way = self.folder / "way"
        self.way.write_text(f"#!/bin/sh\necho $1 >>{folder}/called\nexec {PRETEND} \"$@\"\n")
        self.way.chmod(0o755)

    def file(self, text):
        """A file of the batch system's, by its path."""
        path = self.folder / "nodes"
        path.write_text(text)
        return str(path)

    def start(self, *words, **variables):
        (self.folder / "called").write_text("")
        return Running([mpiexec_path(), *words],
                       variables={"WEFT_RSH": str(self.way)} | variables)

    def blocks(self, *words, **variables):
        """The hosts, and how many ranks each has, in the order of ranks."""
        done = self.start(*words, "sh", "-c", "echo $PMI_RANK $MPI_LOCALRANKID "
                          "$MPI_LOCALNRANKS", **variables).end(sweep=2)
        places = [tuple(map(int, text.split())) for text in done.lines()]
        sizes = [size for _, local, size in sorted(places) if local == 0]
        return sorted((self.folder / "called").read_text().split()), sizes


@case("allocation")
def hosts_are_read_as_pbs_lsf_sge_and_flux_tell_them():
    with tempfile.TemporaryDirectory() as folder:
        batch = Allocation(folder)
        lines = batch.file("n1\nn1\nn2\nn2\nn2\n")
        two = (["n1", "n2"], [2, 3])
        equal(batch.blocks(PBS_NODEFILE=lines), two, "PBS")
        equal(batch.blocks(LSB_DJOB_HOSTFILE=lines, LSB_JOBID="1"), two, "LSF, file")
        equal(batch.blocks(LSB_MCPU_HOSTS="n1 2 n2 3"), two, "LSF, host and slots")
        equal(batch.blocks(LSB_MCPU_HOSTS="n1 2 n2 3 ", LSB_DJOB_HOSTFILE="/nowhere"), two,
              "LSF, the file is not there")
        equal(batch.blocks(LSB_HOSTS="n1 n1 n2 n2 n2"), two, "LSF, words")
        equal(batch.blocks(PBS_NODEFILE=batch.file("n2\nn1\nn2\n\nn1\nn2")),
              (["n1", "n2"], [3, 2]), "PBS, in turn")
        shares = batch.file("n1 2 all.q@n1 UNDEFINED\nn2 3 all.q@n2 UNDEFINED\n")
        equal(batch.blocks(PE_HOSTFILE=shares), two, "SGE")
        flux = batch.folder / "flux"
        flux.write_text('#!/bin/sh\ntest "$*" = "getattr hostlist" && echo "n[1-2],m"\n')
        flux.chmod(0o755)
        path = f"{folder}:{os.environ['PATH']}"
        equal(batch.blocks("-n", 6, PATH=path, FLUX_URI="local:///run/flux"),
              (["m", "n1", "n2"], [2, 2, 2]), "Flux")


# Writes its words down, and runs the command here.
SRUN = """#!/bin/sh
echo "$*" >>{folder}/called
while [ "$1" != --nodelist ]; do shift; done
shift 3
exec "$@"
"""


@case("allocation")
def a_heterogeneous_job_of_slurm_has_the_hosts_of_all_components():
    parts = {"SLURM_JOB_ID": "7", "SLURM_HET_SIZE": "2",
             "SLURM_JOB_NODELIST_HET_GROUP_0": "n1",
             "SLURM_TASKS_PER_NODE_HET_GROUP_0": "1",
             "SLURM_JOB_NODELIST_HET_GROUP_1": "n[2-3]",
             "SLURM_TASKS_PER_NODE_HET_GROUP_1": "2(x2)"}
    with tempfile.TemporaryDirectory() as folder:
        batch = Allocation(folder)
        equal(batch.blocks(**parts), (["n1", "n2", "n3"], [1, 2, 2]))
        del parts["SLURM_JOB_NODELIST_HET_GROUP_1"]
        batch.start("-n", 2, "true", **parts).end(2, ["^mpiexec: .* allocation of Slurm"])
        srun = batch.folder / "srun"
        srun.write_text(SRUN.format(folder=folder))
        srun.chmod(0o755)
        parts |= {"SLURM_JOB_NODELIST_HET_GROUP_1": "n[2-3]", "WEFT_RSH": "",
                  "PATH": f"{folder}:{os.environ['PATH']}"}
        batch.start("true", **parts).end(sweep=2)
        called = sorted(re.findall(r"--nodelist (n\d) --het-group=(\d)",
                                   (batch.folder / "called").read_text()))
        equal(called, [("n1", "0"), ("n2", "1"), ("n3", "1")])


@case("allocation")
def hosts_are_read_from_three_dialects_of_files_and_where_hydra_names_one():
    with tempfile.TemporaryDirectory() as folder:
        batch = Allocation(folder)
        for text in ("n1 slots=2 # Open MPI's\nn2 slots=3 max_slots=4\n",
                     "n1:2\nn2:3\n", "n1\nn2\nn1\nn2\nn2\n", "n[1-2]:2\nn2\n"):
            path = batch.file(text)
            equal(batch.blocks("--hostfile", path), (["n1", "n2"], [2, 3]), text)
            equal(batch.blocks(HYDRA_HOST_FILE=path, PBS_NODEFILE="/nowhere"),
                  (["n1", "n2"], [2, 3]), text)
        most = batch.file("n1 slots=1 max_slots=2\nn2 slots=1 max_slots=3\n")
        equal(batch.blocks("-f", most, "-n", 5, "--oversubscribe"), (["n1", "n2"], [2, 3]))
        batch.start("-f", most, "-n", 6, "--oversubscribe", "true").end(
            2, ["6 ranks are more than max_slots of the hosts allow"])
        batch.start("-f", batch.file("n1 slot=2\n"), "-n", 2, "true").end(
            2, ["nodes, line 1: slot: this is not known"])
        batch.start("-n", 2, "true", HYDRA_HOST_FILE="/nowhere").end(
            2, ["^mpiexec: .*/nowhere: No such file"])


@case("allocation")
def hosts_that_are_named_count_more_than_an_allocation():
    with tempfile.TemporaryDirectory() as folder:
        batch = Allocation(folder)
        lines = batch.file("n1\nn2\n")
        equal(batch.blocks("--hosts", "m1", "-n", 2, PBS_NODEFILE=lines), (["m1"], [2]))
        equal(batch.blocks("--hosts", "localhost", "-n", 3, PBS_NODEFILE="/nowhere"), ([], [3]))


@case("allocation")
def this_host_with_its_domain_is_this_host():
    with tempfile.TemporaryDirectory() as folder:
        batch = Allocation(folder)
        lines = batch.file(f"{common.HOST}.cluster\n{common.HOST}.cluster\n")
        equal(batch.blocks(PBS_NODEFILE=lines), ([], [2]))
        equal(batch.blocks("-n", 5, PBS_NODEFILE=lines), ([], [5]))


@case("allocation")
def an_allocation_whose_hosts_cannot_be_read_is_an_error():
    with tempfile.TemporaryDirectory() as folder:
        batch = Allocation(folder)
        empty = batch.file("")
        told = "^mpiexec: this is an allocation of {}, but its hosts .*--hosts localhost$"
        for system, variables, before in (
                ("PBS", {"PBS_NODEFILE": "/nowhere"}, ["/nowhere: No such file"]),
                ("PBS", {"PBS_NODEFILE": empty}, []),
                ("PBS", {"PBS_NUM_NODES": "2"}, []),
                ("LSF", {"LSB_DJOB_HOSTFILE": "/nowhere"}, ["/nowhere: No such file"]),
                ("LSF", {"LSB_MCPU_HOSTS": "n1 2 n2"}, []),
                ("LSF", {"LSB_DJOB_NUMPROC": "8"}, []),
                ("SGE", {"PE_HOSTFILE": empty}, []),
                ("SGE", {"SGE_ROOT": "/sge", "NHOSTS": "2"}, []),
                ("Slurm", {"SLURM_JOB_ID": "1", "SLURM_JOB_NUM_NODES": "2"}, []),
                ("Flux", {"FLUX_URI": "local:///run/flux", "PATH": "/usr/bin:/bin"},
                 [r"flux:.* not found"])):
            batch.start("-n", 2, "true", **variables).end(2, [*before, told.format(system)])


@case("twenty")
def twenty_hosts_over_ssh():
    skip_without_means()
    with Lab(20) as lab:
        names = ",".join(f"{NAME}{i}" for i in range(1, 21))
        command = [*lab.command("exec", 1), mpiexec_path(), "--hosts", names, "-n", 40]
        done = Running([*command, program("keys")]).end()
        equal(sorted(int(re.match(r"rank (\d+) of 40 on", text)[1])
                     for text in done.lines()), list(range(40)))
        for text in done.lines():
            rank, host = re.match(rf"rank (\d+) of 40 on {NAME}(\d+)$", text).groups()
            equal(int(host), int(rank) // 2 + 1)
        print(f"      40 ranks on 20 hosts, 1560 lookups: {done.seconds:.2f} s")
        done = Running([*command, "sh", "-c",
                        "test $PMI_RANK = 39 && exit 5; exec sleep 1000"])
        done.end(5, [rf"rank 39 on {NAME}20 .*code 5"])
        running = Running([*command, "sh", "-c", "echo ready; exec sleep 1000"],
                          variables={"WEFT_HEARTBEAT": "3"})
        running.expect("ready", 40)
        lab("crash", 2)
        running.finish().hold(1, [rf"^mpiexec: host {NAME}2: no sign of life for 3 s"])
        for number in range(3, 21):
            claim(wait_until(lambda n=number: not lab.pids(n, "sleep 1000"), 30),
                  f"ranks are left on host {number}")


if __name__ == "__main__":
    sys.exit(common.main())
