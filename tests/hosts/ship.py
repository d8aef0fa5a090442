"""ship.py - mpiexec --ship: hosts that have nothing but sshd.

Host 1 is the user's, with Weft. The others are bare (netlab): each has a root file system of its
own with a shell, a few commands and sshd, no Weft and no folder in common. Every run is held to
leave nothing on any of them: no process, no file. A case that spoils a host mends it.
"""

import os
import shutil
import signal
import subprocess
import sys
import tempfile
import time
from contextlib import contextmanager
from pathlib import Path

sys.path.append(str(Path(__file__).resolve().parent.parent / "launch"))

import common
from common import Running, case, claim, equal, is_long, mpiexec_path, program, wait_until
from lab import NAME, Lab, skip_without_means, words_of

HIDE = Path(__file__).resolve().parent / "hide"
HOSTS = 4
BARE = range(2, HOSTS + 1)
SWEEP = 10  # seconds after which what is left is left
lab = Lab(HOSTS, "--bare", 2)
folder = None


def names(*numbers, user=None):
    return ",".join(f"{user + '@' if user else ''}{NAME}{number}" for number in numbers or BARE)


def processes():
    return {(number, pid): words_of(pid) for number in range(1, HOSTS + 1)
            for pid in lab.pids(number)}


PLACES = ("tmp", "var/tmp", "dev/shm", "home", "root", "run")


def inside(number):
    """The file system of a host, as seen from outside."""
    return Path(f"/proc/{lab.file(f'pid.{number}').read_text().strip()}/root")


def files():
    return {str(path) for number in BARE for place in PLACES
            for path in (inside(number) / place).rglob("*")}


class Shipped(Running):
    """A run of mpiexec --ship on host 1, in a folder that no other host has."""

    def __init__(self, *words, variables=None):
        self.found = files()
        super().__init__([*lab.command("exec", 1), mpiexec_path(), "--ship", *words], cwd=folder,
                         variables={"WEFT_HEARTBEAT": "2"} | (variables or {}))

    def front(self):
        return common.front_of(lambda: lab.pids(1, mpiexec_path()))

    def end(self, code=0, says=(), given=None, sweep=SWEEP):
        done = self.finish(given).hold(code, says)
        nothing_is_left(self.found, sweep)
        return done


def nothing_is_left(before, sweep=SWEEP):
    wait_until(lambda: not processes() and files() <= before, sweep)
    equal(processes(), {}, "processes are left")
    equal(files() - before, set(), "files are left")


def run(*words, code=0, says=()):
    return Shipped(*words).end(code, says)


def expected(ranks, *numbers):
    each = ranks // len(numbers)
    return sorted(f"rank {rank} of {ranks} on {NAME}{numbers[rank // each]}: 42"
                  for rank in range(ranks))


def bare(number, *words):
    return lab.run(number, *words)


# ---- what arrives ----

@case("start")
def bare_hosts_run_a_program_with_its_library():
    own = program("ship_program")
    equal(run("--hosts", names(), "-n", 6, own).lines(), expected(6, *BARE))
    equal(run("--hosts", names(user="somebody"), "-n", 3, own).lines(), expected(3, *BARE))
    equal(run("--hosts", names(1, 3), "-n", 4, own).lines(), expected(4, 1, 3))
    run("--hosts", names(), "-n", 6, program("mixed"))


@case("start")
def a_host_that_has_the_file_gets_none():
    """The content decides: a file of that path with other bytes is not taken."""
    data = folder / "data"
    data.write_bytes(os.urandom(100_000))
    there = inside(2) / str(data)[1:]
    there.parent.mkdir(parents=True)
    words = ("--hosts", names(2, 3), "--ship-file", data, "sh", "-c", "wc -c <data")
    for content in (data.read_bytes(), os.urandom(100_000), b"other"):
        there.write_bytes(content)
        equal(run(*words).lines(), ["100000"] * 2)
    equal(there.read_bytes(), b"other")
    there.unlink()
    there.parent.rmdir()


@case("start")
def files_keep_their_names_and_modes():
    strange = ["two words", "it's", 'a "quoted" one', "line\nbreak", "$(touch x)", "a;b", "-n"]
    (folder / "sub/deep").mkdir(parents=True)
    for name in (*strange, "sub/one", "sub/deep/two"):
        (folder / name).write_text(f"in {name}")
    (folder / "sub/deep/tool").write_text("#!/bin/sh\necho tool\n")
    (folder / "sub/deep/tool").chmod(0o755)
    (folder / "empty").touch()
    (folder / "twin").write_text(f"in {strange[0]}")
    words = [word for name in (*strange, "sub", "./empty", "twin") for word in ("--ship-file", name)]
    show = ('for f in * sub/one sub/deep/two; do [ -d "$f" ] || printf "%s=%s\\n" "$f" '
            '"$(cat -- "$f")"; done; ./sub/deep/tool; ls -ld . .. twin sub/deep/tool')
    said = run("--hosts", names(2), "-n", 1, *words, "sh", "-c", show).out.decode()
    for name in (*strange, "sub/one", "sub/deep/two"):
        claim(f"{name}=in {name}\n" in said, f"{name}: {said}")
    claim(f"twin=in {strange[0]}\n" in said and "empty=\n" in said and "tool\n" in said, said)
    modes = [text.split()[0] for text in said.splitlines()[-4:]]
    equal(modes, ["drwx------"] * 2 + ["-rwx------", "-rw-------"], said)


@case("start")
def a_program_may_be_a_script():
    script = folder / "my script"
    script.write_text("#!/bin/sh\necho \"$PMI_RANK $1 ${0##*/} $(cat input)\"\n")
    script.chmod(0o755)
    (folder / "input").write_text("given")
    equal(run("--hosts", names(2, 3), "--ship-file", "input", "./my script", "a  b").lines(),
          [f"{rank} a  b my script given" for rank in range(2)])
    done = run("--hosts", names(2, 3), "--ship-file", "input", "-n", 1, "./my script", "a", ":", "-n", 1,
               "sh", "-c", "cat input; echo")
    equal(done.lines(), ["0 a my script given", "given"])
    shutil.copy(program("ship_program"), folder / "copy")
    build = Path(mpiexec_path()).parent.parent
    search = {"LD_LIBRARY_PATH": f"{build}/bindings:{build}/tests/hosts"}
    run("--hosts", names(2, 3), "-n", 2, "-env", "LD_LIBRARY_PATH", search["LD_LIBRARY_PATH"],
        "./copy")
    for name in (program("ship_program"), "copy"):
        done = Shipped("--hosts", names(2, 3), "-n", 2, "--ship-file", name, "sh", "-c",
                       f"./{os.path.basename(name)}", variables=search).end()
        equal(done.lines(), expected(2, 2, 3))


@case("start")
def folders_are_the_host_s_or_the_job_s():
    show = ("sh", "-c", 'echo "$PWD $HOME $(id -u)"')
    done = run("--hosts", names(2, user="somebody"), "-n", 1, "-wdir", "/var/tmp", *show)
    equal(done.lines(), ["/var/tmp /home/somebody 1000"])
    claim(run("--hosts", names(2), "-n", 1, "-wdir", "a/b", *show).out.split()[0]
          .endswith(b"/run/a/b"), "a relative folder is the job's")
    run("--hosts", names(2), "-n", 1, "-wdir", "/missing", "sh", "-c", "true", code=126,
        says=["cannot enter /missing: No such file or directory: the folder of -wdir"])


@case("start")
def networks_are_reported_as_ever():
    done = run("--hosts", names(2, 3), "--report")
    claim(b"10.77.0.2" in done.out + done.err, done.out + done.err)


@case("start")
def two_jobs_do_not_disturb_each_other():
    words = ("--hosts", names(), "-n", 3, program("ship_program"))
    running = [Shipped(*words) for _ in range(3)]
    for job in running:
        equal(job.finish().hold(0, []).lines(), expected(3, *BARE))
    nothing_is_left(running[0].found)


@case("start")
def what_is_there_and_does_not_fit_is_not_used():
    """Another Weft, and libraries that are none."""
    libraries = inside(3) / "usr/lib/x86_64-linux-gnu"
    fakes = [inside(3) / "usr/bin/mpiexec",
             *(libraries / name for name in ("libmpi_abi.so.1", "libfabric.so.1", "libsodium.so.23"))]
    for fake in fakes:
        fake.write_text("not this one")
        fake.chmod(0o755)
    equal(run("--hosts", names(), "-n", 3, program("ship_program")).lines(), expected(3, *BARE))
    for fake in fakes:
        fake.unlink()


# ---- what cannot be ----

def cover(number, place, options):
    bare(number, "mount", "-t", "tmpfs", "-o", f"mode=1777,{options}", "tmpfs", place)


TAKERS = ("/tmp", "/var/tmp", "/dev/shm")


@case("errors")
def a_folder_without_programs_is_passed_over():
    where = ("--hosts", names(3), "-n", 1, "sh", "-c", "pwd")
    cover(3, "/tmp", "noexec")
    claim(run(*where).out.startswith(b"/var/tmp/weft."), "/tmp is noexec")
    cover(3, "/var/tmp", "size=1m")
    claim(run(*where).out.startswith(b"/dev/shm/weft."), "/var/tmp is full")
    cover(3, "/dev/shm", "ro")
    run(*where, code=1, says=[
        rf"^mpiexec: host {NAME}3: no folder there takes programs of \d+ MB: /tmp starts no programs, "
        r"/var/tmp is full, /dev/shm cannot be written: set TMPDIR there, for shells"])
    for place in TAKERS:
        bare(3, "umount", place)


@case("errors")
def a_disk_that_fills_up_is_one_line():
    for place in TAKERS:
        cover(4, place, "nr_inodes=8")
    run("--hosts", names(2, 4), "-n", 2, program("ship_program"), code=1, says=[
        rf"^mpiexec: host {NAME}4: \S+ cannot be stored in /tmp/weft\.\w+: No space left on device: free "
        r"some room there \([\d.]+ MB are needed\)$"])
    for place in TAKERS:
        bare(4, "umount", place)


@case("errors")
def a_newer_c_library_is_one_line():
    """The program says that it needs another C library, where it said which one."""
    text = Path(program("ship_program")).read_bytes()
    claim(text.count(b"\0GLIBC_2.34\0") == 1, "the program needs glibc 2.34")
    future = folder / "future"
    future.write_bytes(text.replace(b"\0GLIBC_2.34\0", b"\0GLIBC_2.99\0"))
    future.chmod(0o755)
    has = os.confstr("CS_GNU_LIBC_VERSION").split()[1]
    run("--hosts", names(2), "-n", 1, "./future", code=1, says=[
        rf"^mpiexec: host {NAME}2 has glibc {has}, and future needs 2\.99: build it on a system as old"])


@contextmanager
def replaced(number, command, script):
    """A command of a host is a script for a while, which may call the true one, NAME.true."""
    path = inside(number) / "usr/bin" / command
    kept = path.with_name(f"{command}.true")
    path.rename(kept)  # it is the same file on all bare hosts
    path.write_text(f"#!/bin/sh\n{script}\n")
    path.chmod(0o755)
    yield
    kept.rename(path)


@case("errors")
def another_kind_of_processor_is_one_line():
    with replaced(3, "uname", "echo riscv64"):
        run("--hosts", names(2, 3), "-n", 2, program("ship_program"), code=1, says=[
            rf"^mpiexec: host {NAME}3 is riscv64, and this mpiexec is built for \w+: --ship needs"])


@case("errors")
def a_c_library_that_is_too_old_for_mpiexec_is_one_line():
    """The daemon is changed on its way, so that it wants a newer one."""
    change = "head.true \"$@\" | LC_ALL=C sed 's/GLIBC_2\\.34/GLIBC_2.99/'"
    has = os.confstr("CS_GNU_LIBC_VERSION").split()[1]
    with replaced(3, "head", change):
        run("--hosts", names(2, 3), "-n", 2, program("ship_program"), code=1, says=[
            rf"^mpiexec: host {NAME}3 has glibc {has}, and mpiexec needs 2\.99: build Weft on a system"])


@case("errors")
def a_daemon_that_is_cut_short_leaves_nothing():
    with replaced(3, "head", "head.true -c 1000"):
        run("--hosts", names(2, 3), "-n", 2, program("ship_program"), code=1, says=[
            rf"^mpiexec: host {NAME}3: cannot start sh there by ssh: ended with code 1"])


@case("errors")
def what_is_not_here_cannot_be_shipped():
    (folder / "one").mkdir()
    for name in ("one/x", "x"):
        (folder / name).write_text(name)
    for words, code, says in (
            (("./missing",), 127, r"--ship: \./missing: no such program here"),
            (("--ship-file", "missing", "true"), 127, r"--ship: \S+/missing cannot be read: No such file"),
            (("--ship-file", "/dev/null", "true"), 127, r"--ship: /dev/null cannot be read: it is no file"),
            (("--ship-file", "x", "--ship-file", folder / "one/x", "true"), 127,
             r"--ship: \S+/x and \S+/one/x differ, and both would be x on the hosts")):
        run("--hosts", names(2), "-n", 1, *words, code=code, says=[says])


@case("errors")
def a_program_that_fails_there_is_told_as_ever():
    run("--hosts", names(2), "-n", 1, "sh", "-c", "exit 3", code=3,
        says=[rf"rank 0 on {NAME}2 \(sh\): ended with code 3"])
    run("--hosts", names(2), "-n", 1, "no-such-command", code=127,
        says=["--ship: no-such-command: no such program here"])


# ---- nothing is left ----

def start_waiting():
    running = Shipped("--hosts", names(), "-n", 3, program("ship_program"), "wait")
    for _ in range(3):
        running.read_line()
    return running


def die(running):
    """mpiexec was killed: who has started it sees that; the hosts clear up by themselves."""
    running.process.wait(common.PATIENCE)
    running.process.communicate()
    nothing_is_left(running.found)


def kill_mpiexec(which):
    running = start_waiting()
    front = running.front()
    keepers = [pid for pid in lab.pids(1) if common.parent_of(pid) == front
               and common.name_of(pid) == "weft-keeper"]
    for pid in {"front": [front], "keeper": keepers, "both": [front, *keepers]}[which]:
        common.kill_quietly(pid)  # one may end the other first
    die(running)


def kill_daemon(which):
    running = start_waiting()
    pids = [pid for pid in lab.pids(3, "--weft-daemon")]
    keepers = [pid for pid in pids if common.name_of(pid) == "weft-keeper"]
    fronts = [pid for pid in pids if pid not in keepers]
    claim(len(keepers) == 1 and len(fronts) == 1, f"{pids}")
    for pid in {"front": fronts, "keeper": keepers, "both": fronts + keepers}[which]:
        common.kill_quietly(pid)  # one may end the other first
    die(running)


def kill_early(part):
    """While hosts are reached, or files are on their way; each time a bit later."""
    big = folder / "big"
    if not big.exists():
        big.write_bytes(os.urandom(20_000_000))
    running = Shipped("--hosts", names(), "-n", 3, "--ship-file", "big", program("ship_program"),
                      "wait")
    time.sleep(1.2 * part)  # any moment is good
    running.send(signal.SIGKILL)
    for pid in lab.pids(1, mpiexec_path()):
        common.kill_quietly(pid)
    die(running)


def end_by_abort():
    running = Shipped("--hosts", names(), "-n", 3, program("ship_program"), "abort")
    done = running.finish()
    equal(done.code, 7, done.err)
    nothing_is_left(running.found)


def end_by_itself():
    equal(run("--hosts", names(), "-n", 3, program("ship_program")).lines(), expected(3, *BARE))


def times():
    return 100 if is_long() else 1


@case("ends")
def nothing_is_left_after_a_normal_end():
    for _ in range(times()):
        end_by_itself()


@case("ends")
def nothing_is_left_after_an_abort():
    for _ in range(times()):
        end_by_abort()


@case("ends")
def nothing_is_left_when_mpiexec_is_killed():
    for i in range(max(times() // 2, 3)):
        kill_mpiexec(("both", "front", "keeper")[i % 3])


@case("ends")
def nothing_is_left_when_a_daemon_is_killed():
    for i in range(max(times() // 2, 3)):
        kill_daemon(("both", "front", "keeper")[i % 3])


@case("ends")
def nothing_is_left_when_mpiexec_is_killed_early():
    count = max(times() // 2, 4)
    for i in range(count):
        kill_early(i / count)


@case("ends")
def what_ranks_leave_is_removed():
    """Folders that cannot be entered, a file that grows, and a child in a session of its own."""
    work = ("mkdir -p a/b c; echo x >a/b/x; chmod 000 a/b; chmod 500 c; "
            "(while :; do echo more >>grows; touch new.$$; done) & sleep 0.2")
    run("--hosts", names(2, 3, user="somebody"), "-n", 2, "sh", "-c", work)


# ---- the tree ----

@case("tree")
def contents_go_through_daemons_to_daemons():
    """Twenty daemons on this machine: four of them are reached through others."""
    (folder / "data").write_bytes(os.urandom(5_000_000))
    before = set(Path("/tmp").glob("weft.*"))
    hosts = ",".join(f"pretended{i}" for i in range(20))
    done = Running([mpiexec_path(), "--hosts", hosts, "-n", 20, "--ship-file", "data", "sh", "-c",
                    "cksum <data; pwd"], cwd=folder,
                   variables={"WEFT_RSH": str(HIDE), "SHIP_HIDDEN": str(folder)}).end(sweep=SWEEP)
    lines = done.out.decode().splitlines()
    sums = [text for text in lines if not text.startswith("/")]
    equal(len(sums), 20)
    equal(len(set(lines) - set(sums)), 20)
    with open(folder / "data", "rb") as data:
        equal(set(sums), {subprocess.run(["cksum"], stdin=data, check=True, text=True,
                                         stdout=subprocess.PIPE).stdout.strip()})
    equal(set(Path("/tmp").glob("weft.*")) - before, set(), "folders are left")


# ---- a real program ----

@case("hpcc")
def hpcc_gives_right_answers_on_bare_hosts():
    """Built by ../programs, of which the source has to be there. Its library of linear algebra and
    what belongs to Fortran are nothing that a bare host has."""
    build = Path(mpiexec_path()).parent.parent
    programs = Path(__file__).resolve().parent.parent / "programs"
    work = Path(os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache") / "weft-programs"
    built = subprocess.run([sys.executable, "-B", programs / "programs.py", "--offline", "--small",
                            "--build", build, "hpcc"], check=False)
    if built.returncode == 77:
        print("      not run: the source is not there")
        return
    claim(built.returncode == 0, "hpcc is not built, or fails here")
    sys.path.append(str(programs))
    import hpcc
    source = work / "weft/hpcc"
    text = (source / "_hpccinf.txt").read_text()
    (folder / "hpccinf.txt").write_text(hpcc.input_text(text, 400, 1, 3))
    shutil.copy(source / "hpcc", folder)
    done = Shipped("--hosts", names(), "-n", 3, "--ship-file", "hpcc", "--ship-file", "hpccinf.txt",
                   "sh", "-c", "./hpcc && { [ $PMI_RANK != 0 ] || cat hpccoutf.txt; }",
                   variables={"LD_LIBRARY_PATH": str(build / "bindings")}).end()
    (folder / "hpccoutf.txt").write_bytes(done.out)
    equal(hpcc.check(0, "", folder), (1, 1, []))


if __name__ == "__main__":
    skip_without_means("unshare", "pivot_root")
    with tempfile.TemporaryDirectory(prefix="ship-") as made:
        folder = Path(made)
        with lab:
            code = common.main()
    sys.exit(code)
