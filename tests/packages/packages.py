"""packages.py ROOT - Debian packages of the tree, built, checked, installed, used, upgraded and
removed.

    packages.py ROOT            all of it, as root
    packages.py ROOT --debs DIR with the packages there, instead of building them

The packages are built from the files that git knows, and lintian finds no error and no warning in
them.  They are installed into a fresh Debian 12 root of their own, made by mmdebstrap from this
machine's package sources, where an ordinary user compiles and runs a program.  Open MPI and MPICH
come and go beside them, and have the plain names while they are there; a higher version replaces
the packages; and after they are removed no file of theirs is left.
"""

import argparse
import re
import shutil
import tempfile
from pathlib import Path

from common import Root, claim, run, say
from readme import copy_sources

PACKAGES = ["libweft1", "libweft-dev", "libweft-fortran1", "libweft-fortran-dev", "weft-bin",
            "weft-gauge", "weft-doc"]
HIGHER = "0.1.0+again"
FORTRAN = """\
use mpi_f08
call MPI_Init()
print *, "in Fortran"
call MPI_Finalize()
end
"""

# The project has no mail address, and lintian wants the host of one to exist.
NOT_ASKED = "bogus-mail-host,bogus-mail-host-in-debian-changelog"


def build(root, folder):
    """Makes the packages of the tree."""
    sources = folder / "weft"
    sources.mkdir()
    copy_sources(str(root), str(sources))
    run(["dpkg-buildpackage", "--build=binary", "--no-sign"], cwd=sources)


def check(folder):
    """The packages there; lintian is content with them."""
    debs = [p for p in folder.glob("*.deb") if "dbgsym" not in p.name]
    claim(sorted(p.name.split("_")[0] for p in debs) == sorted(PACKAGES), f"all packages: {debs}")
    run(["lintian", "--allow-root", "--fail-on", "error,warning",
         "--suppress-tags", NOT_ASKED] + [str(p) for p in debs])
    return debs


def make_higher(debs, folder):
    """The same packages with a higher version."""
    made = []
    for deb in debs:
        inside = folder / "inside"
        run(["dpkg-deb", "-R", str(deb), str(inside)])
        control = inside / "DEBIAN" / "control"
        text = control.read_text()
        version = re.search(r"^Version: (.*)$", text, re.M).group(1)
        text = text.replace(f"Version: {version}", f"Version: {HIGHER}")
        control.write_text(text.replace(f"(= {version})", f"(= {HIGHER})"))
        to = folder / f"{deb.name.split('_')[0]}_{HIGHER}.deb"
        run(["dpkg-deb", "--root-owner-group", "-b", str(inside), str(to)])
        shutil.rmtree(inside)
        made.append(to)
    return made


def use(root, ending=""):
    """An ordinary user compiles and runs a program in C, and one in Fortran."""
    root.as_user("cd; gzip -dc /usr/share/doc/weft-doc/hello.c.gz >hello.c 2>/dev/null "
                 "|| cp /usr/share/doc/weft-doc/hello.c hello.c; "
                 f"mpicc{ending} -o hello hello.c")
    said = root.as_user(f"cd; mpiexec{ending} -n 3 ./hello")
    claim(len(re.findall(r"of 3", said)) == 3, f"three ranks said hello:\n{said}")
    claim("libmpi_abi.so.1" in root.as_user("cd; ldd hello"), "the program links Weft")
    (root.at / "tmp" / "hello.f90").write_text(FORTRAN)
    said = root.as_user(f"cd; mpifort{ending} -o hello-f /tmp/hello.f90; "
                        f"mpiexec{ending} -n 2 ./hello-f")
    claim(said.count("in Fortran") == 2, f"two ranks said hello in Fortran:\n{said}")


def whose(root):
    """The library whose mpicc and mpiexec have the plain names."""
    return [root.as_root(f"readlink -f /usr/bin/{name}").strip() for name in ["mpicc", "mpiexec"]]


def is_weft(paths):
    return all("/weft/" in path for path in paths)


def beside_others(root):
    """Open MPI and MPICH come, and keep the plain names, until the user wants it otherwise."""
    claim(is_weft(whose(root)), f"Weft alone has the plain names: {whose(root)}")
    root.apt("install -qy --no-install-recommends openmpi-bin libopenmpi-dev mpich libmpich-dev")
    claim(not any("/weft/" in path for path in whose(root)), f"others have them: {whose(root)}")
    use(root, ".weft")
    said = root.as_user("cd; cp hello.c other.c; mpicc.openmpi -o other other.c; "
                        "mpiexec.openmpi --oversubscribe -n 2 ./other; "
                        "mpicc.mpich -o other other.c; mpiexec.mpich -n 2 ./other")
    claim(len(re.findall(r"of 2", said)) == 4, f"the other two work:\n{said}")
    root.as_root("update-alternatives --set mpi /usr/bin/mpicc.weft; "
                 "update-alternatives --set mpirun /usr/bin/mpirun.weft")
    claim(is_weft(whose(root)), f"the user chose Weft: {whose(root)}")
    use(root)
    root.as_root("update-alternatives --auto mpi; update-alternatives --auto mpirun")
    root.apt("purge -qy --autoremove openmpi-bin libopenmpi-dev mpich libmpich-dev")
    claim(is_weft(whose(root)), f"Weft alone again: {whose(root)}")


def main():
    ask = argparse.ArgumentParser()
    ask.add_argument("root")
    ask.add_argument("--debs")
    arguments = ask.parse_args()
    with tempfile.TemporaryDirectory(prefix="packages-") as name:
        folder = Path(name)
        folder.chmod(0o755)
        if arguments.debs is None:
            build(Path(arguments.root), folder)
        debs = check(Path(arguments.debs) if arguments.debs else folder)
        say(f"built, and lintian is content: {' '.join(sorted(p.name for p in debs))}")
        root = Root(folder)
        root.apt("update -q")
        root.apt("install -qy --no-install-recommends gcc libc6-dev")
        before = root.files()
        say("a fresh Debian 12 with a compiler")
        root.install(debs)
        use(root)
        for command in ["weft-info --version", "weft-gauge --help", "weft-top --help"]:
            root.as_user(command)
        say("installed and used by an ordinary user")
        beside_others(root)
        say("Open MPI and MPICH came and went")
        root.install(make_higher(debs, folder))
        claim(HIGHER in root.as_root("dpkg-query -W -f '${Version}' weft-bin"), "upgraded")
        use(root)
        say("upgraded and used")
        root.apt("purge -qy --autoremove " + " ".join(PACKAGES))
        left = {path for path in root.files() - before
                if re.search(r"weft|libmpi|/mpi|mpi\.h", path, re.I)}
        claim(left == set(), f"nothing is left: {sorted(left)}")
        said = root.as_root("find /var/lib/dpkg /etc/alternatives -name '*weft*' -o "
                            "-name '*mpi*'")
        claim(said == "", f"nothing is left in dpkg's own files: {said}")
        say("removed without a trace")
    print("1 passed, 0 failed")


if __name__ == "__main__":
    main()
