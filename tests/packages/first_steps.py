"""first_steps.py ROOT - the first steps of README.md, followed literally in a fresh Debian 12.

Root installs the packages that the README names, an ordinary user types its commands, and hello
prints the lines that stand there.  The seconds of each step are printed.  In the same root Lmod loads
the module file of the installation.
"""

import re
import sys
import tempfile
import time
from pathlib import Path

from common import Root, claim, say
from readme import block, copy_sources, without_host

# Lmod keeps variables of its own, and writes the ends of lists in another way.
LMOD = """. /etc/profile.d/lmod.sh
theirs() { env | sort | grep -Ev "LMOD|ModuleTable|LOADEDMODULES|LMFILES|^_=" | sed "s|[:/]*$||"; }
theirs >before
module use $HOME/weft/share/modulefiles
module load weft
type -p mpicc mpiexec
mpiexec -n 2 $HOME/sources/hello
module unload weft
module unuse $HOME/weft/share/modulefiles
theirs | diff before - && echo same
mkdir -p others/openmpi && echo "#%Module1.0" >others/openmpi/4
module use $HOME/weft/share/modulefiles $PWD/others
module load openmpi
module load weft || echo refused
"""


def timed(what, function):
    start = time.monotonic()
    said = function()
    say(f"{what}: {time.monotonic() - start:.0f} s")
    return said


def as_user(root, name, script):
    """A login shell of the ordinary user reads this script."""
    path = root.at / "home" / "somebody" / name
    path.write_text(script)
    return root.as_root(f"su - somebody -c 'bash -e {name}'")


def main():
    tree = Path(sys.argv[1]).resolve()
    text = (tree / "README.md").read_text()
    packages = re.search(r"On Debian 12: `(apt-get install [^`]+)`", text).group(1)
    commands = block(text, "sh").group(1)
    shown = block(text, "text", "hello ").group(1).splitlines()
    with tempfile.TemporaryDirectory(prefix="first-steps-") as name:
        root = Root(Path(name))
        (root.at / "etc/apt/apt.conf.d/yes").write_text('APT::Get::Assume-Yes "true";\n')
        root.apt("update -q")
        sources = root.at / "home" / "somebody" / "sources"
        sources.mkdir()
        copy_sources(str(tree), str(sources))
        root.as_root("chown -R somebody: /home/somebody")
        say("a fresh Debian 12, and the sources in it")
        timed("packages", lambda: root.as_root(packages))
        for line in commands.splitlines():
            said = timed(line, lambda step=line: as_user(root, "step", f"cd sources\n{step}\n"))
        lines = [line for line in said.splitlines() if line.startswith("hello from rank")]
        claim(without_host(lines) == without_host(shown), f"hello prints what stands there: {said}")
        root.apt("install -q --no-install-recommends lmod")
        said = as_user(root, "step", LMOD)
        claim("/home/somebody/weft/bin/mpicc" in said and "of 2" in said, said)
        claim("same" in said and "refused" in said, said)
        say("Lmod loads and unloads the module file, and not beside another MPI")
    print("1 passed, 0 failed")


if __name__ == "__main__":
    main()
