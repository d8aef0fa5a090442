"""sources.py - gets the archive of a Debian source package, and unpacks it.

Only the archive of the authors is got, not Debian's changes: what is built is what they wrote.
Settings of apt with source packages come from tests/conformance/package.py.
"""

import re
import shutil
import sys
import tarfile
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[1] / "conformance"))
import package  # noqa: E402

Unavailable = package.Unavailable
RUN = "/usr/lib/apt/apt-helper"
URI = re.compile(r"^'(\S+)' (\S+\.orig\.tar\.\w+) \d+ (\w+:\w+)$", re.M)


def archive_in(place, name):
    found = sorted(place.glob(f"{name}_*.orig.tar.*"))
    return found[-1] if found else None


def get(place, names, progress):
    """Brings the archives that are not in `place` yet; apt checks what it brings."""
    place.mkdir(parents=True, exist_ok=True)
    missing = [name for name in names if archive_in(place, name) is None]
    if not missing:
        return
    options = package.own_settings(place / "apt")
    package.run(["apt-get", *options, "-q", "update"])
    for name in missing:
        progress(f"getting the source package of {name}")
        told = package.run(["apt-get", *options, "-q", "--print-uris", "--download-only",
                            "source", name])
        found = URI.search(told)
        if not found:
            raise Unavailable(f"the source package of {name} holds no archive")
        uri, file, checksum = found.groups()
        part = place / f"{file}.part"
        package.run([RUN, *options, "download-file", uri, str(part), checksum])
        part.rename(place / file)
    shutil.rmtree(place / "apt")


def version_of(archive):
    """hypre_2.26.0.orig.tar.gz, fftw3_3.3.10+ds.orig.tar.xz"""
    text = archive.name.split("_", 1)[1].split(".orig", 1)[0]
    return re.sub(r"[+~].*", "", text)


def unpack(archive, target, wanted=lambda name: True):
    """The archive's one folder as `target`, new; only the members that are `wanted`."""
    part = target.with_name(target.name + ".part")
    for folder in (part, target):
        shutil.rmtree(folder, ignore_errors=True)
    part.mkdir(parents=True)
    with tarfile.open(archive) as tar:
        for member in tar:
            name = member.name.removeprefix("./").partition("/")[2]
            if not name or ".." in Path(name).parts or not wanted(name):
                continue
            member.name = name
            if member.islnk():  # a hard link names its target from the archive's root
                member.linkname = member.linkname.removeprefix("./").partition("/")[2]
            if member.isfile() or member.isdir() or member.issym() or member.islnk():
                tar.extract(member, part)
    part.rename(target)
