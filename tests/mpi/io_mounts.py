#!/usr/bin/env python3
"""io_mounts.py MPIEXEC FOLDER FULL PROGRAM... - files on file systems of several kinds.

Mounts each kind that this machine has, in a mount namespace of its own, which ends with the test:
nothing is left. Each PROGRAM runs there with 3 ranks. FULL runs on file systems with 4 MiB, and
its other part anywhere. Ends with 77, skipped, where it may not mount.
"""

import os
import shutil
import subprocess
import sys
from pathlib import Path

SKIPPED = 77
IMAGE = 64 << 20  # bytes, of kinds that live in an image


def run(*words):
    return subprocess.run([str(word) for word in words], capture_output=True, text=True,
                          timeout=250, check=False)


def mount_image(kind, folder, size):
    """Where a new file system of a kind is mounted, or None."""
    maker, image = f"mkfs.{kind}", folder / f"{kind}.{size}.image"
    if shutil.which(maker) is None:
        return None
    with open(image, "wb") as file:
        file.truncate(size)
    place = folder / f"{kind}.{size}"
    place.mkdir()
    if run(maker, "-q", image).returncode != 0:
        return None
    return place if run("mount", "-o", "loop", image, place).returncode == 0 else None


def mount_tmpfs(folder, size):
    place = folder / f"tmpfs.{size}"
    place.mkdir()
    done = run("mount", "-t", "tmpfs", "-o", f"size={size}", "tmpfs", place)
    return place if done.returncode == 0 else None


def mount_overlay(folder):
    """Over a tmpfs, since an overlay cannot lie on another one."""
    base = folder / "base"
    base.mkdir()
    if run("mount", "-t", "tmpfs", "tmpfs", base).returncode != 0:
        return None
    lower, upper, work, place = (base / name for name in ("lower", "upper", "work", "place"))
    for part in (lower, upper, work, place):
        part.mkdir()
    options = f"lowerdir={lower},upperdir={upper},workdir={work}"
    done = run("mount", "-t", "overlay", "-o", options, "overlay", place)
    return place if done.returncode == 0 else None


def places(folder):
    """Names and folders of what could be mounted: large ones, then small ones."""
    large = {kind: mount_image(kind, folder, IMAGE) for kind in ("ext4", "xfs", "btrfs")}
    large["tmpfs"] = mount_tmpfs(folder, IMAGE)
    large["overlay"] = mount_overlay(folder)
    small = {"full tmpfs": mount_tmpfs(folder, 4 << 20),
             "full ext4": mount_image("ext4", folder, 4 << 20)}
    return [{name: place for name, place in found.items() if place} for found in (large, small)]


def job(mpiexec, name, words):
    done = run(mpiexec, "-n", 3, *words)
    if done.returncode != 0:
        print(f"{name}: {words[0]}: code {done.returncode}\n{done.stdout}{done.stderr}")
    return done.returncode == 0


def main(mpiexec, folder, full, *programs):
    folder = Path(folder)
    shutil.rmtree(folder, ignore_errors=True)
    folder.mkdir(parents=True)
    large, small = places(folder)
    is_well = job(mpiexec, "quota", [full, folder / "file", "quota"])
    for name, place in large.items():
        for program in programs:
            is_well = job(mpiexec, name, [program, place / "file"]) and is_well
    for name, place in small.items():
        is_well = job(mpiexec, name, [full, place / "file", "space"]) and is_well
    print("on: " + ", ".join([*large, *small]))
    if is_well and not large:
        return SKIPPED
    return 0 if is_well else 1


def alone():
    """Runs this program once more where its mounts are nobody else's."""
    if shutil.which("unshare") is None or run("unshare", "-m", "true").returncode != 0:
        print("no mount namespaces here")
        sys.exit(SKIPPED)
    os.environ["WEFT_TEST_MOUNTS"] = "alone"
    os.execvp("unshare", ["unshare", "-m", sys.executable, "-B", *sys.argv])


if __name__ == "__main__":
    if os.environ.get("WEFT_TEST_MOUNTS") != "alone":
        alone()
    sys.exit(main(*sys.argv[1:]))
