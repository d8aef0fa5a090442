"""cluster.py - Slurm over three hosts of netlab's: srun in three forms, and mpiexec within.

Places and words, and messages: the programs of ../mpi, two ranks on each host, so that
shared memory and connections are mixed. munged and slurmctld run on host 1 and a slurmd on
each; all of it ends with the lab. Slurm's default is pmi2, which plain srun speaks.
"""

import os
import subprocess
import sys
import tempfile
from pathlib import Path

sys.path.append(str(Path(__file__).resolve().parent.parent / "launch"))

import common
from common import Running, case, claim, equal, mpiexec_path, program
from lab import NAME, Lab, skip_without_means

PATIENCE = 30
HOSTS = 3
lab = Lab(HOSTS)
folder = None

# The hosts share a file system, but for /dev/shm, where PMIx's folders have to be (TmpFS).
CONFIGURATION = f"""
ClusterName=weft
SlurmctldHost={NAME}1(10.77.0.1)
SlurmUser=root
SlurmdUser=root
AuthType=auth/munge
AuthInfo=socket={{folder}}/munge/socket
StateSaveLocation={{folder}}/state
SlurmdSpoolDir={{folder}}/spool-%n
TmpFS=/dev/shm
SlurmctldPidFile={{folder}}/slurmctld.pid
SlurmdPidFile={{folder}}/slurmd-%n.pid
ProctrackType=proctrack/pgid
TaskPlugin=task/none
JobAcctGatherType=jobacct_gather/none
AccountingStorageType=accounting_storage/none
SelectType=select/cons_tres
SelectTypeParameters=CR_Core
SlurmdParameters=config_overrides
SchedulerType=sched/backfill
SchedulerParameters=bf_interval=1
MpiDefault=pmi2
KillWait=1
ReturnToService=2
NodeName={NAME}[1-{HOSTS}] NodeAddr=10.77.0.[1-{HOSTS}] CPUs=16 State=UNKNOWN
PartitionName=all Nodes=ALL Default=YES MaxTime=INFINITE State=UP
"""


def daemon(host, *words):
    with open(folder / f"{words[0]}-{host}.out", "wb") as out:
        return subprocess.Popen(lab.command("exec", host, *words), stdout=out,
                                stdin=subprocess.DEVNULL, stderr=subprocess.STDOUT,
                                env=os.environ | variables())


def variables():
    return {"SLURM_CONF": str(folder / "slurm.conf")}


def is_ready():
    done = subprocess.run(lab.command("exec", 1, "sinfo", "-h", "-N", "-o", "%T"),
                          check=False, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL,
                          env=os.environ | variables())
    return done.stdout.split() == [b"idle"] * HOSTS


def start_slurm():
    for name in ("munge", "state", *(f"spool-{NAME}{i}" for i in range(1, HOSTS + 1))):
        (folder / name).mkdir()
    (folder / "slurm.conf").write_text(CONFIGURATION.format(folder=folder))
    munge = folder / "munge"
    (munge / "key").write_bytes(os.urandom(128))
    (munge / "key").chmod(0o600)
    daemon(1, "munged", "--foreground", f"--key-file={munge}/key",
           f"--socket={munge}/socket", f"--pid-file={munge}/pid",
           f"--log-file={munge}/log", f"--seed-file={munge}/seed")
    claim(common.wait_until((munge / "socket").is_socket, PATIENCE), "no munged")
    daemon(1, "slurmctld", "-D")
    for host in range(1, HOSTS + 1):
        daemon(host, "slurmd", "-D", "-N", f"{NAME}{host}")
    logs = folder.glob("*.out")
    claim(common.wait_until(is_ready, PATIENCE),
          "\n".join(path.read_text(errors="replace")[-1000:] for path in logs))


def run(*words, **settings):
    return Running([*lab.command("exec", 1), *words], variables=variables()).finish().hold(
        settings.get("code", 0), settings.get("says", ()))


def nodes(done):
    """Size, node and local rank of each rank, as place.c says."""
    found = []
    for text in done.lines():
        words = dict(word.split("=", 1) for word in text.split() if "=" in word)
        found.append(tuple(int(words[name]) for name in ("rank", "size", "node", "local")))
    return sorted(found)


def mpi(name):
    return Path(mpiexec_path()).parent.parent / "tests/mpi" / f"mpi_{name}"


PLAIN = ("srun", "-Q", "-N3", "-n6", "--ntasks-per-node=2")
PMIX = (*PLAIN, "--mpi=pmix")
FORMS = (PLAIN, (*PLAIN, "--mpi=pmi2"), PMIX)
PROGRAMS = ("p2p", "probe", "requests", "comm", "persistent", "buffered",
            "coll_alltoall", "p2p_flood", "progress")
EXPECTED = [(rank, 6, rank // 2, rank % 2) for rank in range(6)]


@case("start")
def srun_gives_places_and_words_across_hosts():
    for srun in FORMS:
        equal(nodes(run(*srun, program("place"))), EXPECTED, srun)
        said = run(*srun, program("keys"), 300).lines()
        equal(said, [f"rank {rank} of 6 on {NAME}{rank // 2 + 1}" for rank in range(6)], srun)


@case("start")
def mpiexec_uses_the_allocation():
    salloc = ("salloc", "-Q", "-N3", "-n6", "--ntasks-per-node=2", mpiexec_path())
    equal(nodes(run(*salloc, program("place"))), EXPECTED)
    equal(nodes(run(*salloc, "-n", 2, program("place"))), [(0, 2, 0, 0), (1, 2, 0, 1)])
    run(*salloc, "-n", 7, "true", code=2, says=["only 6 slots"])
    run(*salloc, "sh", "-c", "test $PMI_RANK = 5 && exit 4; sleep 60", code=4,
        says=[rf"rank 5 on {NAME}3 \(sh\): ended with code 4"])


@case("start")
def mpiexec_uses_all_components_of_a_heterogeneous_allocation():
    """Only the backfill scheduler starts such a job, up to a second later."""
    salloc = ("salloc", "-Q", "-N1", "-n2", ":", "-Q", "-N2", "-n4", "--ntasks-per-node=2")
    equal(nodes(run(*salloc, mpiexec_path(), program("place"))), EXPECTED)


@case("messages")
def messages_go_between_hosts_under_srun():
    """Standard error is the programs' affair: many of them provoke errors."""
    for path in (program("mixed"), *(mpi(name) for name in PROGRAMS)):
        for srun in (PLAIN, PMIX):
            done = Running([*lab.command("exec", 1), *srun, path],
                           variables=variables()).finish()
            about = f"{srun} {path}: code {done.code}\n{done.err[-3000:].decode()}"
            claim(done.code == 0, about)


if __name__ == "__main__":
    skip_without_means("slurmctld", "munged", "srun")
    with tempfile.TemporaryDirectory(prefix="weft-cluster-") as made:
        folder = Path(made)
        folder.chmod(0o755)
        with lab:
            start_slurm()
            code = common.main()
    sys.exit(code)
