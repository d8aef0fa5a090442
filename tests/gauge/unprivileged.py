#!/usr/bin/env python3
"""unprivileged.py - weft-gauge without any right and without any MPI.

What is run is a copy of the program alone, with nothing of its build beside it, by a user
who owns nothing; and once more where there is no file but it and the libraries it names.
"""

import os
import re
import shutil
import subprocess
import tempfile
import time
from pathlib import Path

import common
from common import case, clean, main

NOBODY = 65534
LOWERED = ["setpriv", "--no-new-privs", "--inh-caps=-all"]
if os.geteuid() == 0:
    LOWERED += [f"--reuid={NOBODY}", f"--regid={NOBODY}", "--clear-groups",
                "--bounding-set=-all"]


def alone(folder):
    """A copy of the program in a folder that everybody may read."""
    Path(folder).chmod(0o755)
    copy = Path(shutil.copy(common.GAUGE, folder))
    copy.chmod(0o755)
    return copy


def libraries():
    """The files of the libraries that the program names, the loader among them."""
    said = subprocess.run(["ldd", common.GAUGE], capture_output=True, text=True,
                          check=True).stdout
    return re.findall(r"(/\S+) \(0x", said)


def run(*words, **more):
    return subprocess.run(words, capture_output=True, text=True, check=False, timeout=120,
                          stdin=subprocess.DEVNULL, env=clean(), **more)


def section(text, title):
    """The names under a heading of `list`."""
    part = text[text.index(f"{title}:"):].split("\n\n")[0]
    return re.findall(r"^  (\w+) ", part, re.MULTILINE)


@case
def it_names_no_library_of_an_mpi():
    named = [Path(name).name for name in libraries()]
    assert named and not any("mpi" in name or "weft" in name for name in named), named


@case
def nobody_runs_every_pattern_over_every_module_or_is_told_why_not():
    with tempfile.TemporaryDirectory() as folder:
        program = alone(folder)
        who = run(*LOWERED, "sh", "-c", "id -u; grep CapEff /proc/self/status").stdout.split()
        print(f"      user {who[0]}, rights {who[-1]}")
        assert os.geteuid() != 0 or (who[0] == str(NOBODY) and int(who[-1], 16) == 0), who
        known = run(*LOWERED, program, "list", cwd=folder)
        assert known.returncode == 0 and "gauge_mpi_abi.so is not here" in known.stdout, known
        begin, ran = time.monotonic(), 0
        for pattern in section(known.stdout, "patterns"):
            for module in section(known.stdout, "modules"):
                done = run(*LOWERED, program, "run", pattern, module, "--sizes", "0,1,1K",
                           "--time", "0.02", "--samples", "60", cwd=folder)
                if done.returncode == 0:
                    assert f"{pattern} over {module}" in done.stdout, done
                    ran += 1
                else:
                    assert done.returncode == 2 and done.stderr.count("\n") == 1, done
        print(f"      {ran} runs in {time.monotonic() - begin:.0f} s")
        assert ran > 40, ran


@case
def it_runs_where_there_is_nothing_else():
    with tempfile.TemporaryDirectory() as folder:
        program = alone(folder)
        for name in libraries():
            place = Path(folder) / name.lstrip("/")
            place.parent.mkdir(parents=True, exist_ok=True)
            shutil.copy(name, place)
        for name in ("proc", "dev/shm", "tmp"):
            (Path(folder) / name).mkdir(parents=True)
            (Path(folder) / name).chmod(0o1777)
        space = ["unshare", "-m"] if os.geteuid() == 0 else ["unshare", "-rm"]
        user = [f"--userspec={NOBODY}:{NOBODY}"] if os.geteuid() == 0 else []
        if run(*space, "true").returncode != 0:
            print("      skipped: no mount namespace can be had here")
            return
        inside = [*space, "sh", "-c", f'mount --rbind /proc "{folder}/proc" && exec "$@"', "sh",
                  "chroot", *user, folder, f"/{program.name}"]
        for module in ("shm", "tcp", "sim"):
            done = run(*inside, "run", "one_one", module, "--sizes", "8", "--time", "0.05")
            assert done.returncode == 0 and f"one_one over {module}" in done.stdout, done


if __name__ == "__main__":
    main()
