"""container.py ROOT - packaging/container/Containerfile, built by buildah and used.

The base image is a fresh Debian 12 by mmdebstrap, so that no registry of images is asked.  In the
image an ordinary user starts the program that is there, compiles one, and finds the commit.
"""

import json
import re
import sys
import tempfile
from pathlib import Path

from common import claim, debian, run, say
from readme import copy_sources


class Buildah:
    """buildah with a store of its own, in a folder."""

    def __init__(self, folder):
        self.start = ["buildah", "--root", str(folder / "store"), "--runroot",
                      str(folder / "run"), "--storage-driver", "vfs"]

    def __call__(self, *words):
        return run(self.start + [str(word) for word in words]).strip()

    def inside(self, container, script):
        return self("run", "--isolation", "chroot", container, "--", "sh", "-ec", script)


def main():
    root = Path(sys.argv[1]).resolve()
    commit = run(["git", "describe", "--always"], cwd=root).strip()
    with tempfile.TemporaryDirectory(prefix="container-") as name:
        folder = Path(name)
        buildah = Buildah(folder)
        base = buildah("from", "scratch")
        buildah("add", base, debian(), "/")
        buildah("commit", "--rm", base, "localhost/base")
        say("a base image")
        sources = folder / "sources"
        sources.mkdir()
        copy_sources(str(root), str(sources))
        buildah("build", "--isolation", "chroot", "--pull-never", "--build-arg",
                "BASE=localhost/base", "--build-arg", f"COMMIT={commit}", "-t", "localhost/weft",
                "-f", sources / "packaging" / "container" / "Containerfile", sources)
        about = json.loads(buildah("inspect", "--type", "image", "localhost/weft"))
        config = about["OCIv1"]["config"]
        claim(config["User"] == "weft" and config["Cmd"][0] == "mpiexec", config)
        at = buildah("from", "--pull-never", "localhost/weft")
        claim(buildah.inside(at, "id -un; pwd").split() == ["weft", "/home/weft"], "a user")
        said = buildah.inside(at, " ".join(config["Cmd"]))
        claim(len(re.findall(r"of 2", said)) == 2, said)
        buildah("copy", "--chown", "weft", at, sources / "docs" / "hello.c", "/home/weft/mine.c")
        said = buildah.inside(at, "mpicc -o mine mine.c; mpiexec -n 4 ./mine")
        claim(len(re.findall(r"of 4", said)) == 4, said)
        said = buildah.inside(at, "mpiexec -n 2 weft-gauge run one_one mpi --sizes 8 "
                                  "--time 0.1 --json told >/dev/null; head -n 1 told")
        claim(json.loads(said)["commit"] == commit, said)
        said = buildah.inside(at, "which meson ninja || true; ls /src /build || true")
        claim("meson" not in said.replace("meson.build", ""), said)
        mounted = buildah("mount", at)
        size = int(run(["du", "-sm", mounted]).split()[0])
        say(f"built and used by an ordinary user; the image has {size} MiB")
        buildah("umount", at)
        buildah("rm", "--all")
    print("1 passed, 0 failed")


if __name__ == "__main__":
    main()
