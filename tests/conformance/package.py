"""package.py - gets MPICH's test programs out of Debian's source package.

apt-get source needs source packages enabled, which most machines have not.  The machine's
own settings are left alone: a copy of its list of registries, with source packages added, is
given to apt together with state of its own, so that this works without privileges too.
"""

import os
import re
import shutil
import subprocess
import sys
import tarfile
from pathlib import Path

PACKAGE = "mpich"


class Unavailable(Exception):
    """There is no network, no apt, or no such source package."""


def run(command, **more):
    try:
        done = subprocess.run(command, stdin=subprocess.DEVNULL, capture_output=True,
                              text=True, timeout=900, **more)
    except (OSError, subprocess.TimeoutExpired) as error:
        raise Unavailable(f"{command[0]}: {error}") from error
    if done.returncode != 0:
        said = (done.stderr.strip() or done.stdout.strip() or "it failed").splitlines()
        raise Unavailable(f"{' '.join(command[-2:])}: {said[-1]}")
    return done.stdout


def settings():
    """Where apt keeps its lists of registries: the file and the folder."""
    out = run(["apt-config", "shell", "FILE", "Dir::Etc::sourcelist/f", "PARTS",
               "Dir::Etc::sourceparts/d"])
    found = dict(re.findall(r"^(\w+)='(.*)'$", out, re.M))
    return Path(found.get("FILE", "")), Path(found.get("PARTS", ""))


def with_sources(name, text):
    """The text of a list of registries, with source packages."""
    if name.endswith(".sources"):
        return re.sub(r"^(Types:[ \t]*).*$", r"\1deb-src", text, flags=re.M)
    lines = re.findall(r"^[ \t]*deb(?:-src)?([ \t].*)$", text, re.M)
    return "".join(f"deb-src{rest}\n" for rest in dict.fromkeys(lines))


def own_settings(place):
    """A folder of apt settings with source packages, and the options that make apt use it."""
    listed, parts = settings()
    shutil.rmtree(place, ignore_errors=True)
    for folder in ("parts", "lists/partial", "cache/archives/partial"):
        (place / folder).mkdir(parents=True)
    found = [listed] if listed.is_file() else []
    if parts.is_dir():
        found += [p for p in sorted(parts.iterdir()) if p.suffix in (".list", ".sources")]
    for at, path in enumerate(found):
        name = f"{at}{path.suffix}"
        (place / "parts" / name).write_text(with_sources(name, path.read_text()))
    options = {
        "Dir::Etc::sourcelist": "/dev/null",
        "Dir::Etc::sourceparts": place / "parts",
        "Dir::State::lists": place / "lists",
        "Dir::Cache": place / "cache",
        "Acquire::Retries": "2",
    }
    if os.geteuid() == 0:
        options["APT::Sandbox::User"] = "root"  # this folder is not apt's own
    return [word for key, value in options.items() for word in ("-o", f"{key}={value}")]


def download(place):
    """Brings the package's archive into `place`; apt checks it against its signatures."""
    options = own_settings(place / "apt")
    run(["apt-get", *options, "-q", "update"])
    run(["apt-get", *options, "-q", "--download-only", "source", PACKAGE], cwd=place)
    shutil.rmtree(place / "apt")


def archive_in(place):
    found = sorted(place.glob(f"{PACKAGE}_*.orig.tar.*"))
    return found[-1] if found else None


def extract(archive, target):
    """The folder test/mpi of the package, as `target`."""
    part = target.with_suffix(".part")
    shutil.rmtree(part, ignore_errors=True)
    part.mkdir(parents=True)
    marker = "/test/mpi/"
    with tarfile.open(archive) as tar:
        for member in tar:
            if marker in member.name and (member.isfile() or member.isdir()):
                member.name = member.name.split(marker, 1)[1]
                if member.name and ".." not in Path(member.name).parts:
                    tar.extract(member, part)
    part.rename(target)


def programs(place, progress):
    """The folder with MPICH's test programs; gets them first where they are not there yet."""
    place.mkdir(parents=True, exist_ok=True)
    archive = archive_in(place)
    if archive is None:
        progress(f"getting the source package of {PACKAGE}")
        download(place)
        archive = archive_in(place)
        if archive is None:
            raise Unavailable(f"the source package of {PACKAGE} holds no archive")
    version = archive.name.split("_", 1)[1].split(".orig", 1)[0]
    target = place / f"programs-{version}"
    if not target.is_dir():
        progress(f"unpacking {archive.name}")
        extract(archive, target)
    return version, target


if __name__ == "__main__":
    print(*programs(Path(sys.argv[1]), print))
