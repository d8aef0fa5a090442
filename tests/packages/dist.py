"""dist.py ROOT - the tarball of `meson dist` builds where there is neither network nor git.

It is unpacked inside a repository of somebody else, what is installed and the unit tests are built in
a network namespace of its own, and these tests are run.  The installed tools say the version of the tree and the
commit of the tarball.  The installation is then moved, works, and names no folder that it was made
in.
"""

import json
import re
import shutil
import sys
import tempfile
from pathlib import Path

from common import claim, run, say


def offline(command, **settings):
    """Runs it where no other machine can be reached."""
    return run(["unshare", "--net", "sh", "-ec", 'ip link set lo up; exec "$@"', "sh",
                *map(str, command)], **settings)


def make(root, folder):
    """The tarball of HEAD."""
    run(["meson", "setup", "-Dtests=disabled", str(folder / "made"), str(root)])
    # .ci/long writes rows into a file that git knows.
    run(["meson", "dist", "-C", str(folder / "made"), "--no-tests", "--allow-dirty"])
    found = list((folder / "made" / "meson-dist").glob("weft-*.tar.xz"))
    claim(len(found) == 1, f"one tarball: {found}")
    return found[0]


def unpack(tarball, folder):
    """Its sources, inside a repository that has nothing to do with them."""
    strange = folder / "strange"
    strange.mkdir()
    run(["git", "init", "-q"], cwd=strange)
    run(["git", "-c", "user.name=x", "-c", "user.email=x@localhost", "commit", "-q",
         "--allow-empty", "-m", "x"], cwd=strange)
    run(["tar", "-xf", str(tarball), "-C", str(strange)])
    return strange / tarball.name.removesuffix(".tar.xz")


def installed(build):
    """The files that `meson install` wants to be built."""
    targets = json.loads(run(["meson", "introspect", str(build), "--targets"]))
    return [name for target in targets if target["installed"] for name in target["filename"]]


def use(prefix, folder, root, commit):
    """What is installed works and says what it is."""
    version = re.search(r"version: '([^']+)'", (root / "meson.build").read_text()).group(1)
    said = offline([prefix / "bin" / "weft-info", "--version"])
    claim(said.startswith(f"Weft {version},"), said)
    offline([prefix / "bin" / "mpicc", "-o", folder / "hello", root / "docs" / "hello.c"])
    said = offline([prefix / "bin" / "mpiexec", "-n", "3", folder / "hello"])
    claim(said.count("of 3") == 3, said)
    told = folder / f"told-{prefix.name}"
    offline([prefix / "bin" / "mpiexec", "-n", "2", prefix / "bin" / "weft-gauge", "run",
             "one_one", "mpi", "--sizes", "8", "--time", "0.1", "--json", told])
    header = json.loads(told.read_text().splitlines()[0])
    claim((header["version"], header["commit"]) == (version, commit), header)


def names_of(prefix, folders):
    """Pairs of a file of the installation and a folder that it names."""
    files = [path for path in prefix.rglob("*") if path.is_file() and not path.is_symlink()]
    return [(path, name) for path in files for name in folders
            if str(name).encode() in path.read_bytes()]


def main():
    root = Path(sys.argv[1]).resolve()
    commit = run(["git", "describe", "--always"], cwd=root).strip()
    with tempfile.TemporaryDirectory(prefix="dist-") as name:
        folder = Path(name)
        tarball = make(root, folder)
        say(f"{tarball.name}, {tarball.stat().st_size >> 10} KiB, of {commit}")
        sources, build, prefix = unpack(tarball, folder), folder / "build", folder / "first"
        offline(["meson", "setup", "-Dtests=enabled", "-Db_lto=false", f"--prefix={prefix}", build,
                 sources])
        offline(["ninja", "-C", build] + [Path(p).relative_to(build) for p in installed(build)])
        say("built without network")
        said = offline(["meson", "test", "-C", build, "--suite", "unit", "--num-processes", "2",
                        "--timeout-multiplier", "10"])
        counted = re.search(r"^Ok: +(\d+)", said, re.M)
        claim(counted and int(counted.group(1)) > 50, said)
        say(f"{counted.group(1)} unit tests passed")
        offline(["meson", "install", "-C", build, "--no-rebuild"])
        use(prefix, folder, sources, commit)
        moved = folder / "second"
        prefix.rename(moved)
        named = names_of(moved, [prefix, build, sources])
        claim(named == [], f"no file names a folder that it was made in: {named}")
        shutil.rmtree(build)
        use(moved, folder, sources, commit)
        say("installed, used, moved and used again")
    print("1 passed, 0 failed")


if __name__ == "__main__":
    main()
