"""slurm.py - a private Slurm of two nodes, for as long as a test needs it.

munged, slurmctld and two slurmd run in namespaces of their own: nobody outside can reach
their ports, and nothing outlives the namespaces. These live as long as one shell, the
anchor, which waits for the end of its standard input: when we close it, or are gone, the
anchor kills all that is there and removes the folder. Needs root.
"""

import os
import subprocess
import tempfile
import time
from pathlib import Path

PATIENCE = 20  # seconds until the nodes have to be there

# Slurm looks addresses up with AI_ADDRCONFIG, to which an address of 127.0.0.0/8 is none.
ANCHOR = """
ip link set lo up && ip address add 192.0.2.1/32 dev lo &&
echo weft >/proc/sys/kernel/hostname && echo up && read -r _
kill -9 -1
rm -rf "$1"
"""

# The nodes share a machine, so that each needs its own folders, for PMIx's too (TmpFS).
CONFIGURATION = """
ClusterName=weft
SlurmctldHost=weft(127.0.0.1)
SlurmUser=root
SlurmdUser=root
AuthType=auth/munge
AuthInfo=socket={folder}/munge/socket
StateSaveLocation={folder}/state
SlurmdSpoolDir={folder}/spool-%n
TmpFS={folder}/tmp-%n
SlurmctldPidFile={folder}/slurmctld.pid
SlurmdPidFile={folder}/slurmd-%n.pid
ProctrackType=proctrack/pgid
TaskPlugin=task/none
JobAcctGatherType=jobacct_gather/none
AccountingStorageType=accounting_storage/none
SelectType=select/cons_tres
SelectTypeParameters=CR_Core
SlurmdParameters=config_overrides
SchedulerType=sched/builtin
MpiDefault=none
KillWait=1
ReturnToService=2
NodeName=n1 NodeHostname=weft NodeAddr=127.0.0.1 Port=6821 CPUs=16 State=UNKNOWN
NodeName=n2 NodeHostname=weft NodeAddr=127.0.0.1 Port=6822 CPUs=16 State=UNKNOWN
PartitionName=all Nodes=ALL Default=YES MaxTime=INFINITE State=UP
"""


class Slurm:
    """Running once it is made; to be closed."""

    def __init__(self):
        self.folder = Path(tempfile.mkdtemp(prefix="weft-slurm-"))
        self.folder.chmod(0o755)  # munged wants its socket to be in reach of all
        self.variables = {"SLURM_CONF": str(self.folder / "slurm.conf")}
        self.daemons = []
        self.anchor = subprocess.Popen(
            ["unshare", "--net", "--pid", "--mount", "--uts", "--fork", "--kill-child",
             "--mount-proc", "sh", "-c", ANCHOR, "anchor", self.folder],
            stdin=subprocess.PIPE, stdout=subprocess.PIPE)
        try:
            if self.anchor.stdout.readline() != b"up\n":
                raise RuntimeError("no namespaces for Slurm; is this root?")
            self._start()
        except BaseException:
            self.close()
            raise

    def _start(self):
        for name in ("munge", "state", "spool-n1", "spool-n2", "tmp-n1", "tmp-n2"):
            (self.folder / name).mkdir()
        configuration = CONFIGURATION.format(folder=self.folder)
        (self.folder / "slurm.conf").write_text(configuration)
        munge = self.folder / "munge"
        (munge / "key").write_bytes(os.urandom(128))
        (munge / "key").chmod(0o600)
        self._daemon("munged", "--foreground", f"--key-file={munge}/key",
                     f"--socket={munge}/socket", f"--pid-file={munge}/pid",
                     f"--log-file={munge}/log", f"--seed-file={munge}/seed")
        self._wait_until("munged answers", (munge / "socket").is_socket)
        self._daemon("slurmctld", "-D")
        self._daemon("slurmd", "-D", "-N", "n1")
        self._daemon("slurmd", "-D", "-N", "n2")
        self._wait_until("both nodes are idle", self._is_ready)

    def _daemon(self, *words):
        with open(self.folder / f"{words[0]}-{len(self.daemons)}.out", "wb") as out:
            self.daemons.append(subprocess.Popen(
                self.command(*words), stdin=subprocess.DEVNULL, stdout=out,
                stderr=subprocess.STDOUT, env=os.environ | self.variables))

    def _is_ready(self):
        done = subprocess.run(self.command("sinfo", "-h", "-N", "-o", "%T"), check=False,
                              stdout=subprocess.PIPE, stderr=subprocess.DEVNULL,
                              env=os.environ | self.variables, timeout=PATIENCE)
        return done.stdout.split() == [b"idle", b"idle"]

    def _wait_until(self, what, is_so):
        end = time.monotonic() + PATIENCE
        while not is_so():
            ended = [daemon.args for daemon in self.daemons if daemon.poll() is not None]
            if ended or time.monotonic() > end:
                raise RuntimeError(f"{what}: not so; ended: {ended}\n{self.logs()}")
            time.sleep(0.02)

    def logs(self):
        """The ends of what the daemons say."""
        return "\n".join(f"{path.name}:\n{path.read_text(errors='replace')[-2000:]}"
                         for path in sorted(self.folder.glob("*.out")))

    def command(self, *words):
        """The command that does this where Slurm is; wants `variables` set, too."""
        spaces = f"/proc/{self.anchor.pid}/ns"
        return ["nsenter", f"--net={spaces}/net", f"--mount={spaces}/mnt",
                f"--uts={spaces}/uts", f"--pid={spaces}/pid_for_children", "--",
                *(str(word) for word in words)]

    def sockets(self):
        """The text of /proc/net/unix, where Slurm is."""
        return Path(f"/proc/{self.anchor.pid}/net/unix").read_text()

    def close(self):
        """Ends all of it and returns when nothing is left."""
        self.anchor.stdin.close()
        self.anchor.wait()
        self.anchor.stdout.close()
        for daemon in self.daemons:
            daemon.wait()
        if self.folder.exists():
            raise RuntimeError(f"{self.folder} is left behind")
