"""readme.py - the README tells the truth.

    readme.py --chapters ROOT WEFT_INFO [--update]
        the list of chapters in README.md is what  weft-info --chapters  prints
    readme.py --follow ROOT
        the commands under "Quick start" work when followed literally, in a fresh copy of the
        sources and with a fresh home, and hello prints the lines that stand there
"""

import os
import re
import subprocess
import sys
import tempfile
from pathlib import Path


def block(text, language, begin=""):
    """The first block of this language whose text begins so."""
    return re.search(rf"```{language}\n({begin}.*?)```", text, re.S)


def chapters(root, weft_info, is_update):
    readme = Path(root) / "README.md"
    text = readme.read_text()
    printed = subprocess.run([weft_info, "--chapters"], check=True, text=True,
                             capture_output=True).stdout
    found = block(text, "text", "chapter ")
    if found is None:
        sys.exit("README.md: no list of chapters")
    if is_update:
        readme.write_text(text[:found.start(1)] + printed + text[found.end(1):])
    elif found.group(1) != printed:
        sys.exit("README.md: the list of chapters is not what weft-info --chapters prints: "
                 "run tests/house/readme.py --chapters ROOT WEFT_INFO --update")


def copy_sources(root, to):
    """The files git knows or would take, as a fresh clone has them."""
    names = subprocess.run(["git", "-C", root, "ls-files", "-co", "--exclude-standard", "-z"],
                           check=True, capture_output=True).stdout
    tar = subprocess.Popen(["tar", "-C", root, "--null", "-T", "-", "-c"],
                           stdin=subprocess.PIPE, stdout=subprocess.PIPE)
    unpack = subprocess.Popen(["tar", "-C", to, "-x"], stdin=tar.stdout)
    tar.stdin.write(names)
    tar.stdin.close()
    if tar.wait() != 0 or unpack.wait() != 0:
        sys.exit("the sources cannot be copied")


def without_host(lines):
    """Lines of hello in a fixed order, without the name of the host at their end."""
    return sorted(line.rsplit(" on ", 1)[0] for line in lines)


def follow(root):
    text = (Path(root) / "README.md").read_text()
    commands = block(text, "sh").group(1)
    shown = block(text, "text", "hello ").group(1)
    with tempfile.TemporaryDirectory() as folder:
        sources, home = Path(folder) / "weft", Path(folder) / "home"
        sources.mkdir()
        home.mkdir()
        copy_sources(root, sources)
        environment = {k: v for k, v in os.environ.items()
                       if not k.startswith(("WEFT_", "LD_", "MESON"))}
        environment["HOME"] = str(home)
        done = subprocess.run(["sh", "-e", "-c", commands], cwd=sources, text=True,
                              env=environment, capture_output=True)
    lines = [x for x in done.stdout.splitlines() if x.startswith("hello from rank")]
    if done.returncode != 0 or without_host(lines) != without_host(shown.splitlines()):
        sys.exit(f"followed literally, the README fails:\n{done.stdout}{done.stderr}")
    print("\n".join(lines))


def main(arguments):
    if arguments[:1] == ["--chapters"]:
        chapters(arguments[1], arguments[2], arguments[3:] == ["--update"])
    elif arguments[:1] == ["--follow"]:
        follow(arguments[1])
    else:
        sys.exit(__doc__)


if __name__ == "__main__":
    main(sys.argv[1:])
