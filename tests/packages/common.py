"""common.py - what the tests of packages share: commands that have to succeed, claims, and a Debian
root of their own."""

import os
import shutil
import subprocess
import sys
import tempfile
import time
from pathlib import Path

HERE = Path(__file__).resolve().parent
sys.path.insert(0, str(HERE.parent / "house"))

began = time.monotonic()


def say(text):
    print(f"{time.monotonic() - began:6.0f} s  {text}", flush=True)


def run(command, **settings):
    """What it printed; ends the test if it fails."""
    done = subprocess.run(command, text=True, stdout=subprocess.PIPE, stderr=subprocess.STDOUT,
                          stdin=subprocess.DEVNULL, **settings)
    if done.returncode != 0:
        print(done.stdout[-6000:])
        sys.exit(f"{command}: code {done.returncode}")
    return done.stdout


def claim(is_so, text):
    if not is_so:
        sys.exit(f"not so: {text}")


def debian():
    """A tarball of a fresh Debian 12, by mmdebstrap from this machine's package sources.

    .ci/long says where it is kept for a day, so that its parts make it once."""
    kept = Path(os.environ.get("XDG_CACHE_HOME") or tempfile.mkdtemp(prefix="debian-")) / "root.tar"
    if not kept.exists() or time.time() - kept.stat().st_mtime > 86400:
        kept.parent.mkdir(parents=True, exist_ok=True)
        new = kept.with_name("new.tar")
        sources = [str(p) for p in Path("/etc/apt/sources.list.d").glob("*.sources")]
        sources += [p for p in ["/etc/apt/sources.list"] if os.path.exists(p)]
        run(["mmdebstrap", "--variant=apt", "--aptopt=Acquire::Check-Valid-Until \"false\"",
             "bookworm", str(new)] + sources)
        new.rename(kept)
    return kept


class Root:
    """A Debian 12 of its own, in a folder, with an ordinary user."""

    def __init__(self, folder):
        self.at = folder / "root"
        self.at.mkdir()
        run(["tar", "-xf", str(debian()), "--numeric-owner", "-C", str(self.at)])
        for name in ["/etc/resolv.conf", "/etc/hosts"]:
            shutil.copy(name, str(self.at) + name)
        self.as_root("useradd --create-home --shell /bin/bash somebody")

    def as_root(self, command, folder="/"):
        inside = f"export DEBIAN_FRONTEND=noninteractive LC_ALL=C; cd {folder}; " + command
        return run(["unshare", "--mount", "--pid", "--fork", "--kill-child", "sh", "-ec",
                    'mount --rbind /dev "$0/dev"; mount -t proc proc "$0/proc"; '
                    'exec chroot "$0" sh -ec "$1"', str(self.at), inside])

    def as_user(self, command):
        return self.as_root("su somebody -c '" + command + "'")

    def install(self, debs):
        """Local packages, and what they need."""
        for deb in debs:
            shutil.copy(deb, self.at / "tmp")
        names = " ".join(f"/tmp/{deb.name}" for deb in debs)
        self.as_root(f"apt-get update -q && apt-get install -qy --no-install-recommends {names}; "
                     f"rm {names}")

    def apt(self, what):
        return self.as_root(f"apt-get {what}")

    def files(self):
        """Everything but what apt and dpkg keep for themselves."""
        found = self.as_root("find / -xdev \\( -path /proc -o -path /dev -o -path /tmp -o "
                             "-path /var/cache -o -path /var/lib/apt -o -path /var/lib/dpkg -o "
                             "-path /var/log -o -path /home \\) -prune -o -print")
        return set(found.splitlines())
