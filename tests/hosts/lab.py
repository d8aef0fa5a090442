"""lab.py - hosts for a test: a lab of netlab's, for as long as it is used.

    with Lab(4, ssh=True) as lab:
        lab.run(1, "hostname")

The lab has a name of its own, or NETLAB_NAME's, so that it disturbs no other: scripts that run at the
same time get different ones. Needs root and what netlab needs; where that is missing, a test script
ends with 77, which meson counts as skipped.
"""

import fcntl
import os
import re
import shutil
import subprocess
import sys
from pathlib import Path

NETLAB = Path(__file__).resolve().parent.parent / "netlab"
LOCKS = "/run/lock/weft-netlab"


def free_name():
    """The first name that no other script has now. What a killed one left of its lab is so taken
    down with the next lab of that name. The lock ends with this process."""
    for number in range(10):
        file = os.open(f"{LOCKS}{number}", os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o600)
        try:
            fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
            return f"weft{number}"
        except BlockingIOError:
            os.close(file)
    sys.exit("ten labs are in use: wait, or set NETLAB_NAME")


NAME = os.environ.get("NETLAB_NAME") or (free_name() if os.geteuid() == 0 else "weft")
SKIPPED = 77

# What every host runs: its first process with its child, and sshd, which listens.
OWN = re.compile(r"^(unshare|bash -c|sleep 86400|sshd: /usr/sbin/sshd|nsenter )")


def skip_without_means(*tools):
    """Ends the script if this machine cannot have a lab."""
    if os.geteuid() != 0:
        print("skipped: hosts are network namespaces, which only root can make")
        sys.exit(SKIPPED)
    missing = [tool for tool in ("ip", "nft", "nsenter", "ssh", "/usr/sbin/sshd", *tools)
               if shutil.which(tool) is None]
    if missing:
        print("skipped: missing:", *missing)
        sys.exit(SKIPPED)


def words_of(pid):
    """The command line of a process; "" if it is gone, or a zombie."""
    try:
        text = Path(f"/proc/{pid}/cmdline").read_bytes()
    except OSError:
        return ""
    return text.replace(b"\0", b" ").decode(errors="replace").strip()


class Lab:
    """Up once it is entered; down when it is left."""

    def __init__(self, count, *options, ssh=True):
        self.count = count
        self.options = [*options, *(["--ssh"] if ssh else [])]

    def __enter__(self):
        self("up", self.count, *self.options)
        return self

    def __exit__(self, *_):
        self("down")

    def __call__(self, *words, check=True, **settings):
        return subprocess.run(self.command(*words), check=check, text=True,
                              env=os.environ | {"NETLAB_NAME": NAME}, **settings)

    def command(self, *words):
        return ["env", f"NETLAB_NAME={NAME}", str(NETLAB), *(str(word) for word in words)]

    def output(self, *words):
        """What a command of netlab prints."""
        return self(*words, stdout=subprocess.PIPE, timeout=60).stdout.strip()

    def run(self, host, *words, **settings):
        """Runs a command on a host and returns what it prints, without the line's end."""
        done = self("exec", host, *words, stdout=subprocess.PIPE, timeout=60, **settings)
        return done.stdout.rstrip("\n")

    def pids(self, host, word=""):
        """Processes of a host, by their numbers outside, that have a word in their name;
        without those that make the host what it is."""
        listed = subprocess.run(["ip", "netns", "pids", f"{NAME}{host}"], check=True,
                                text=True, stdout=subprocess.PIPE).stdout.split()
        return [int(pid) for pid in listed
                if word in (words := words_of(pid)) and words and not OWN.search(words)]

    def file(self, name):
        """A file of the lab: ssh_config, say."""
        return Path(f"/run/netlab-{NAME}") / name

    def has(self, host, *words):
        """Does a command succeed on a host?"""
        return self("exec", host, *words, check=False, stdout=subprocess.DEVNULL,
                    stderr=subprocess.DEVNULL, timeout=60).returncode == 0
