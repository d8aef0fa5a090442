"""hosts.py - mpiexec over several hosts, which are netlab's.

The cases are written and called as those of ../launch (common.py); every run starts on
host 1 and is held to leave nothing on any host. A lab is made for the whole script.
"""

import hashlib
import json
import os
import re
import signal
import subprocess
import sys
import tempfile
import time
from pathlib import Path

sys.path.append(str(Path(__file__).resolve().parent.parent / "launch"))

import common
from common import (Running, case, claim, equal, line, lines_are_whole, mpiexec_path,
                    program, rounds, wait_until)
from lab import NAME, Lab, skip_without_means, words_of

HOSTS = 4
BEAT = 2  # seconds
lab = Lab(HOSTS, "--links", 2)


def host(number):
    return f"{NAME}{number}"


def hosts(*numbers):
    return ",".join(host(number) for number in numbers)


def left():
    return {(number, pid): words_of(pid) for number in range(1, HOSTS + 1)
            for pid in lab.pids(number)}


class OnHost(Running):
    """A run of mpiexec on host 1."""

    def __init__(self, *words, variables=None, **settings):
        variables = {"WEFT_HEARTBEAT": str(BEAT)} | (variables or {})
        super().__init__([*lab.command("exec", 1), mpiexec_path(), *words],
                         variables=variables, **settings)

    def front(self):
        return common.front_of(lambda: lab.pids(1, mpiexec_path()))

    def end(self, code=0, says=(), given=None, sweep=0.5):
        done = self.finish(given).hold(code, says)
        wait_until(lambda: not left(), sweep)
        remains = left()
        for _, pid in remains:
            common.kill_quietly(pid)
        equal(remains, {}, "processes are left on hosts")
        return done


def run(*words, code=0, says=(), given=None, **settings):
    if given is not None:
        settings["stdin"] = common.subprocess.PIPE
    return OnHost(*words, **settings).end(code, says, given)


def places(done):
    """What place.c says, by rank."""
    found = {}
    for text in done.lines():
        words = dict(word.split("=", 1) for word in text.split() if "=" in word)
        found[int(words["rank"])] = (int(words["size"]), int(words["node"]),
                                     int(words["local"]), int(words["shared"]))
    return found


def blocks(*counts):
    """The places of ranks in blocks: so many on each node."""
    found, rank = {}, 0
    for node, count in enumerate(counts):
        for local in range(count):
            found[rank] = (sum(counts), node, local, count)
            rank += 1
    return found


# ---- where ranks are ----

@case("start")
def two_hosts_have_their_ranks():
    for names in (hosts(1, 2), hosts(2, 1), hosts(2, 3)):
        done = run("--hosts", names, "-n", 4, program("place"))
        equal(places(done), blocks(2, 2), names)
    names = ("--hosts", hosts(2, 3), "-n", 4, "sh", "-c", "echo $PMI_RANK $(hostname)")
    equal(run(*names).lines(), [f"0 {host(2)}", f"1 {host(2)}", f"2 {host(3)}",
                                f"3 {host(3)}"])


@case("start")
def slots_and_ppn_say_how_many():
    with tempfile.NamedTemporaryFile("w") as file:
        file.write(f"{host(2)} slots=3\n{host(1)}:1\n\n# none\n{host(4)} slots=2\n")
        file.flush()
        for words, expected in (
                (("--hostfile", file.name), blocks(3, 1, 2)),
                (("--hostfile", file.name, "-n", 4), blocks(3, 1)),
                (("-f", file.name, "-n", 12, "--oversubscribe"), blocks(6, 2, 4)),
                (("--hosts", hosts(1, 2, 3, 4), "-ppn", 2), blocks(2, 2, 2, 2)),
                (("--hosts", hosts(1, 2, 3), "-n", 5), blocks(2, 2, 1)),
                (("--hosts", hosts(3, 3, 4)), blocks(2, 1))):
            equal(places(run(*words, program("place"))), expected, str(words))


def dealt(*nodes):
    """The places of ranks that go to these nodes, by rank."""
    return {rank: (len(nodes), node, nodes[:rank].count(node), nodes.count(node))
            for rank, node in enumerate(nodes)}


@case("start")
def cyclic_gives_each_host_a_rank_in_turn():
    slots = f"{host(2)}:3,{host(1)}:1,{host(4)}:2"
    for words, expected in (
            (("--hosts", hosts(1, 2, 3), "-n", 7, "--map-by", "cyclic"),
             dealt(0, 1, 2, 0, 1, 2, 0)),
            (("--hosts", hosts(2, 3), "-ppn", 2, "--bynode"), dealt(0, 1, 0, 1)),
            (("--hosts", slots, "--distribution=cyclic"), dealt(0, 1, 2, 0, 2, 0))):
        equal(places(run(*words, program("place"))), expected, str(words))
    done = run("--hosts", hosts(2, 3), "-n", 4, "--map-by", "cyclic", "--label", "sh", "-c",
               "cat; echo $PMI_RANK $(hostname)", given=b"input\n")
    equal(done.lines(), sorted(["[0] input"] + [f"[{r}] {r} {host(2 + r % 2)}"
                                                for r in range(4)]))


@case("start")
def words_are_looked_up_where_ranks_are_in_turn():
    done = run("--hosts", hosts(2, 1, 3), "-n", 7, "--map-by", "cyclic", program("keys"), 0)
    equal(done.lines(), [f"rank {rank} of 7 on {host((2, 1, 3)[rank % 3])}"
                         for rank in range(7)])


@case("start")
def a_rankfile_says_the_host_of_each_rank():
    with tempfile.NamedTemporaryFile("w") as file:
        file.write(f"rank 0={host(3)} slot=0\nrank 1={host(2)} slot=0:0-1\n"
                   f"rank 2={host(3)} slot=1\nrank 3={host(1)} slot=1\n")
        file.flush()
        done = run("--rankfile", file.name, program("place"))
        equal(places(done), dealt(0, 1, 0, 2))
        done = OnHost("--rankfile", file.name, "--report-bindings", "true").finish()
        told = sorted(done.err.decode().splitlines())
        pattern = "mpiexec: rank {} on {}: bound to processors "
        for rank, number in enumerate((3, 2, 3, 1)):
            claim(told[rank].startswith(pattern.format(rank, host(number))), done.err)
        refuses([r"^mpiexec: .*, line 1: host .* is not in the list of hosts$"],
                "--rankfile", file.name, "true", names=hosts(1, 2), count=4, code=2)


@case("start")
def a_rank_that_fails_is_named_where_ranks_are_in_turn():
    run("--hosts", hosts(2, 3), "-n", 5, "--map-by", "cyclic", "sh", "-c",
        "test $PMI_RANK != 3 || exit 9; sleep 60", code=9,
        says=[rf"^mpiexec: rank 3 on {host(3)} \(sh\): "])
    done = OnHost("--hosts", hosts(2, 3), "-n", 5, "--map-by", "cyclic", program("place"),
                  "kill", 3).finish()
    told = done.err.decode()
    claim(f"rank 3 on {host(3)} (" in told and
          "rank 3 was outside MPI; its last calls" in told, told)


@case("start")
def bindings_are_reported_for_all_hosts():
    done = OnHost("--hosts", hosts(2, 3), "--map-by", "ppr:2:node", "--report-bindings",
                  "true").finish()
    told = sorted(done.err.decode().splitlines())
    for rank, text in enumerate(told):
        start = f"mpiexec: rank {rank} on {host(2 + rank // 2)}: bound to processors "
        claim(text.startswith(start) and text.endswith("]"), done.err)
    equal(len(told), 4)


@case("start")
def sixteen_ranks_on_four_hosts():
    done = run("--hosts", hosts(1, 2, 3, 4), "-n", 16, program("place"))
    equal(places(done), blocks(4, 4, 4, 4))


@case("start")
def words_are_looked_up_across_hosts():
    for late in (0, 300):
        done = run("--hosts", hosts(2, 1, 3), "-n", 6, program("keys"), late)
        equal(done.lines(), [f"rank {rank} of 6 on {host((2, 2, 1, 1, 3, 3)[rank])}"
                             for rank in range(6)])
    done = run("--hosts", hosts(1, 2, 3), "-n", 3, program("keys"), "never")
    equal(done.lines(), ["rank 0: nothing of rank 2", "rank 1: nothing of rank 2"])


@case("start")
def hydra_gives_places_and_words_across_hosts():
    command = [*lab.command("exec", 1), "mpiexec.hydra", "-hosts", hosts(1, 2, 3), "-ppn",
               2, "-n", 6]
    equal(places(Running([*command, program("place")]).end()), blocks(2, 2, 2))
    done = Running([*command, program("keys")]).end()
    equal(sorted(done.lines()), [f"rank {rank} of 6 on {host(rank // 2 + 1)}"
                                 for rank in range(6)])
    command = [*lab.command("exec", 2), "mpiexec.hydra", "-launcher", "ssh", "-hosts",
               f"{host(3)}:3,{host(1)}:1", "-n", 4]
    equal(places(Running([*command, program("place")]).end()), blocks(3, 1))


@case("start")
def ranks_meet_across_hosts():
    done = run("--hosts", hosts(1, 2, 3), "-n", 6, program("meet"), 200)
    equal(done.lines(), [f"met {rank} of 6" for rank in range(6)])


@case("start")
def messages_to_another_host_are_refused_in_words_without_a_network():
    run("--hosts", hosts(1, 2), "-n", 2, program("meet"), "send", code=16,
        variables={"WEFT_TRANSPORT": "shm"},
        says=[rf"^weft: rank 0 on {host(1)}: rank 1 cannot be reached",
              rf"^mpiexec: rank 0 on {host(1)} .*MPI_Send.*no transport reaches that rank"])


@case("start")
def a_setting_that_differs_between_hosts_ends_the_job():
    name = program("meet")
    for first, second in (("", "bcast=split"), ("bcast=split", "")):
        run("--hosts", hosts(1, 2), "-n", 1, "env", f"WEFT_COLL={first}", name, 1, ":",
            "-n", 1, "env", f"WEFT_COLL={second}", name, 1, code=16,
            says=[r"^mpiexec: rank . on .*WEFT_COLL is (\"\" on rank .|\"bcast=split\" on "
                  r"rank .) and .* on rank .: it must be the same on all ranks$"])
    done = run("--hosts", hosts(1, 2), "-n", 2, name, 1,
               variables={"WEFT_COLL": "bcast=split"})
    equal(done.lines(), [f"met {rank} of 2" for rank in range(2)])


# ---- several MPI programs in one rank ----

def script(text):
    return ("sh", "-c", text.format(ring=program("ring")))


@case("programs")
def a_second_program_has_a_world_of_its_own():
    done = run("--hosts", hosts(1, 2, 3), "-n", 5,
               *script("{ring} a && {ring} b && {ring} c"))
    equal(done.lines(), [f"{word} {rank} of 5" for word in "abc" for rank in range(5)])


@case("programs")
def a_rank_that_leaves_a_program_out_ends_the_job_wherever_it_is():
    for pause, missing in (("true", 1), ("sleep 0.5", 0), ("sleep 0.5", 2)):
        words = script(f"{{ring}} a && ([ $PMI_RANK = {missing} ] || "
                       f"({pause}; {{ring}} b))")
        run("--hosts", hosts(1, 2, 3), "-n", 3, *words, code=1,
            says=[rf"^mpiexec: rank {missing} on {host(missing + 1)} \(sh\): "
                  "has ended after fewer MPI programs"])


# ---- what travels ----

@case("streams")
def output_of_other_hosts_comes_in_whole_lines():
    done = run("--hosts", hosts(1, 2, 3), "-n", 6, program("talk"), "lines", 300)
    lines_are_whole(done.out, 6, 300)
    done = run("--hosts", hosts(2, 3), "-n", 2, "--label", "sh", "-c", "echo a; printf b")
    equal(sorted(done.out.decode().split()), ["[0]", "[0]", "[1]", "[1]", "a", "a", "b", "b"])


@case("streams")
def much_output_is_complete_and_a_slow_reader_waits():
    running = OnHost("--hosts", hosts(2, 3), "-n", 2, "sh", "-c", "seq 1 200000")
    time.sleep(1)
    done = running.end()
    equal(sorted(done.out.split()), sorted([b"%d" % i for i in range(1, 200001)] * 2))


@case("streams")
def input_goes_to_rank_0_on_another_host():
    text = b"".join(b"line %d\n" % i for i in range(100000))
    equal(run("--hosts", hosts(2, 3), "-n", 2, "cat", given=text).out, text)
    with tempfile.TemporaryFile() as file:
        file.write(text)
        file.seek(0)
        equal(run("--hosts", hosts(2, 1), "-n", 2, "cat", stdin=file).out, text)
    run("--hosts", hosts(2), "-n", 1, "true", given=text)


@case("streams")
def stdin_names_ranks_on_any_host():
    text = b"".join(b"line %d\n" % i for i in range(100000))
    found = hashlib.md5(text).hexdigest()
    empty = hashlib.md5(b"").hexdigest()
    for names, ranks, expected in ((hosts(1, 2, 3), "all", "012345"),
                                   (hosts(2, 3, 4), "1,4-5", "145"),
                                   (hosts(1, 3), "4", "4"), (hosts(2), "none", "")):
        done = run("--hosts", names, "-n", 6, "--stdin", ranks, "sh", "-c",
                   "echo $PMI_RANK $(md5sum)", given=text)
        equal(done.lines(), [f"{r} {found if str(r) in expected else empty} -"
                             for r in range(6)], f"{names} {ranks}")


def place_in(file):
    """How far it has been read, by all who share it."""
    return os.lseek(file.fileno(), 0, os.SEEK_CUR)


@case("streams")
def input_for_all_hosts_waits_for_the_slowest_rank():
    text = bytes(range(256)) * 20_000
    with tempfile.TemporaryDirectory() as folder, tempfile.TemporaryFile() as file:
        file.write(text)
        file.seek(0)
        go = Path(folder) / "go"
        running = OnHost("--hosts", hosts(2, 3, 1), "-n", 6, "--stdin", "all", "sh", "-c",
                         "case $PMI_RANK in 0) exec cat;; 1) exit;; 2) exec <&-; sleep 1;; "
                         f"3) until test -e {go}; do sleep 0.05; done;; *) md5sum >&2;; esac",
                         stdin=file)
        got = running.process.stdout.read(4096)
        claim(wait_until(lambda: place_in(file) >= 65536, 10), "it reads nothing")
        time.sleep(0.5)  # time to read on, which it must not use
        claim(place_in(file) < 1 << 20, f"it has read {place_in(file)} bytes")
        go.touch()
        done = running.end(says=[f"^{hashlib.md5(text).hexdigest()}  -$"] * 2)
        equal(got + done.out, text)


@case("streams")
def environment_folder_mask_and_path_travel():
    with tempfile.TemporaryDirectory() as folder:
        tool = Path(folder) / "own-tool"
        tool.write_text("#!/bin/sh\necho $(pwd) $(umask) $OWN $(hostname) $HOSTNAME-\n")
        tool.chmod(0o755)
        path = f"{folder}:{os.environ['PATH']}"
        for words in (["own-tool"], ["./own-tool"]):
            done = run("--hosts", hosts(2), "-genv", "OWN", "a b", *words, cwd=folder,
                       variables={"PATH": path, "PWD": folder, "HOSTNAME": "wrong"},
                       umask=0o27)
            equal(done.out.decode(), f"{folder} 0027 a b {host(2)} -\n")
        (Path(folder) / "sub").mkdir()
        done = run("--hosts", hosts(2, 1), "-n", 2, "-wdir", "sub", "pwd", cwd=folder)
        equal(done.lines(), [f"{folder}/sub"] * 2)


@case("streams")
def the_secret_is_on_no_command_line_and_the_same_everywhere():
    running = OnHost("--hosts", hosts(2, 3), "-n", 2, "sleep", 1)
    claim(wait_until(lambda: lab.pids(2, "sleep") and lab.pids(3, "sleep"), 10), "no ranks")
    for number in (1, 2, 3):
        for pid in lab.pids(number, "weft-daemon"):
            claim(re.search(r"mpiexec --weft-daemon$", words_of(pid)), words_of(pid))
    secrets = set()
    for number in (2, 3):
        pid = lab.pids(number, "sleep")[0]
        fd = Path(f"/proc/{pid}/environ").read_bytes().split(b"WEFT_JOB=")[1].split()[0]
        with open(f"/proc/{pid}/fd/{fd.decode()}", "rb") as segment:
            secrets.add(segment.read(512)[104 + 128:104 + 128 + 32])
    equal(len(secrets), 1)
    claim(any(secrets.pop()), "an empty secret")
    running.end()


# ---- signals and ends ----

@case("ends")
def the_first_failure_is_the_jobs_wherever_it_is():
    names = ("--hosts", hosts(1, 2, 3), "-n", 3)
    for number in (0, 1, 2):
        where = rf"rank {number} on {host(number + 1)} \(sh\)"
        run(*names, "sh", "-c", f"test $PMI_RANK != {number} || exit 7; exec sleep 60",
            code=7, says=[rf"^mpiexec: {where}: ended with code 7$"])
        run(*names, "sh", "-c", f"test $PMI_RANK != {number} || kill -9 $$; exec sleep 60",
            code=137, says=[rf"^mpiexec: {where}: killed by signal 9, Killed$"])
    run(*names, program("fail"), "abort-9", "pause", code=9,
        says=[rf"^mpiexec: rank 1 on {host(2)} .*MPI_Abort on MPI_COMM_WORLD with code 9$"])
    run(*names, program("fail"), "leave", "pause", code=1,
        says=[rf"^mpiexec: rank 1 on {host(2)} .*ended without calling MPI_Finalize$"])


@case("ends")
def who_does_not_want_to_end_is_killed_with_all_that_was_started():
    script = "trap '' TERM; setsid sleep 1000 & test $PMI_RANK = 0 && exit 3; sleep 1000"
    run("--hosts", hosts(1, 2, 3), "-n", 3, "bash", "-c", script, code=3,
        says=["ended with code 3"])


@case("ends")
def what_ranks_leave_behind_ends_with_the_job():
    run("--hosts", hosts(2, 3), "-n", 2, "bash", "-c", "setsid sleep 1000 & disown; exit 0")


@case("ends")
def an_outsider_that_has_an_output_open_does_not_hold_up_the_end():
    """All that the rank has printed comes, and the outsider's text does not matter."""
    running = OnHost("--hosts", host(2), "-n", 1, "sh", "-c", "echo ready; read x; seq 20000",
                     stdin=subprocess.PIPE)
    running.expect("ready")
    [rank] = [pid for pid in lab.pids(2) if words_of(pid).startswith("sh -c echo ready")]
    with open(f"/proc/{rank}/fd/1", "wb"):
        equal(running.end(given=b"\n").out, "".join(f"{i}\n" for i in range(1, 20001)).encode())


@case("ends")
def a_signal_ends_a_job_whose_ranks_have_ended_while_nobody_reads():
    """The daemon waits until its output is taken, and mpiexec for the daemon. What is between the
    pipes of rank and reader takes 256 KiB, and each pipe 64 KiB more."""
    running = OnHost("--hosts", host(2), "-n", 1, "sh", "-c",
                     f"head -c {350 * 1024} /dev/zero | tr '\\0' x | fold -w 80")
    front, ended = running.front(), False
    for _ in range(common.PATIENCE):
        time.sleep(1)  # in most runs the rank has ended then
        os.kill(front, signal.SIGTERM)
        ended = wait_until(lambda: running.process.poll() is not None, 1)
        if ended:
            break
    claim(ended, "mpiexec has not ended")
    running.end(143, ["Terminated"])


@case("ends")
def signals_reach_ranks_on_all_hosts():
    script = "exec 2>/dev/null; trap 'echo got; exit 0' USR2; echo ready; while :; do sleep 0.05; done"
    running = OnHost("--hosts", hosts(1, 2, 3), "-n", 3, "bash", "-c", script)
    running.expect("ready", 3)
    os.kill(running.front(), signal.SIGUSR2)
    equal(running.end().lines(), ["got"] * 3)
    for number in (signal.SIGINT, signal.SIGTERM):
        running = OnHost("--hosts", hosts(1, 2, 3), "-n", 3, "bash", "-c",
                         "exec 2>/dev/null; trap 'echo got; exit 0' INT TERM; echo ready; "
                         "while :; do sleep 0.05; done")
        running.expect("ready", 3)
        os.kill(running.front(), number)
        equal(running.end(128 + number, ["ending the job"]).lines(), ["got"] * 3)


@case("ends")
def ranks_on_all_hosts_have_the_time_that_grace_says():
    running = OnHost("--grace", 60, "--hosts", hosts(2, 3), "-n", 2, "bash", "-c",
                     "exec 2>/dev/null; trap 'sleep 1.5; echo saved; exit 0' TERM; echo ready; "
                     "while :; do sleep 0.05; done")
    running.expect("ready", 2)
    os.kill(running.front(), signal.SIGTERM)
    equal(running.end(143, ["Terminated"]).lines(), ["saved"] * 2)


@case("ends")
def a_timeout_ends_the_job_on_all_hosts():
    run("--hosts", hosts(2, 3), "-n", 2, "--timeout", "1.5", "sleep", 60, code=124,
        says=["--timeout"])


# ---- what can fail at the start: the host, the command, the cause, the help ----

def refuses(says, *words, code=1, names=hosts(1, 2), count=2, **settings):
    begin = time.monotonic()
    run("--hosts", names, "-n", count, *(words or ("true",)), code=code, says=says,
        **settings)
    return time.monotonic() - begin


CANNOT = rf"^mpiexec: host {host(2)}: cannot start \S+/mpiexec there by ssh: "


class LabFile:
    """A file of all hosts, changed for a while."""

    def __init__(self, name, *changes):
        self.path = lab.file(name)
        self.before = self.path.read_text()
        self.text = self.before
        for old, new in changes:
            claim(old in self.text, f"{old} is not in {self.text}")
            self.text = self.text.replace(old, new)

    def __enter__(self):
        self.path.write_text(self.text)

    def __exit__(self, *_):
        self.path.write_text(self.before)


class Mounted:
    """Something else in the place of a folder or file, on one host."""

    def __init__(self, where, *words):
        self.where, self.words = where, words

    def __enter__(self):
        lab.run(2, "mount", *self.words, self.where)

    def __exit__(self, *_):
        lab.run(2, "umount", self.where)


@case("failures")
def a_password():
    key = f"IdentityFile {lab.file('key')}"
    with LabFile("ssh_config", (key, "IdentityFile /dev/null")):
        refuses([CANNOT + rf".*Permission denied.*password.*ssh-copy-id {host(2)}"])


@case("failures")
def an_unknown_key_of_the_host():
    with LabFile("ssh_config", ("StrictHostKeyChecking no", "StrictHostKeyChecking ask")):
        refuses([CANNOT + rf"Host key verification failed.*run 'ssh {host(2)}' once"])


@case("failures")
def an_unknown_host():
    refuses([r"^mpiexec: host nowhere: cannot start \S+ there by ssh: .*resolve.*"
             r"no such host is known"], names=f"{host(1)},nowhere")


@case("failures")
def no_weft_on_the_other_host():
    folder = os.path.dirname(mpiexec_path())
    with Mounted(folder, "-t", "tmpfs", "tmpfs"):
        refuses([CANNOT + r".*(not found|No such file).*installed under the same path"])


@case("failures")
def another_version_on_the_other_host():
    says = [rf"^mpiexec: host {host(2)}: \S+ there is of Weft 0.0.0-other \(protocol \d+\), "
            r"this one of \d\S+ \(protocol \d+\): install the same version on every host"]
    with Mounted(mpiexec_path(), "--bind", program("other_version")):
        refuses(says)
        refuses(says, names=hosts(1, 2, 3), count=3)
    with tempfile.TemporaryDirectory() as folder:  # under a shell that says something
        other = Path(folder) / "mpiexec"
        other.write_text(f"#!/bin/sh\necho Welcome!\nexec {program('other_version')} $@\n")
        other.chmod(0o755)
        with Mounted(mpiexec_path(), "--bind", other):
            refuses(says)


@case("failures")
def a_program_that_is_only_here():
    with tempfile.TemporaryDirectory() as folder:
        tool = Path(folder) / "tool"
        tool.write_text("#!/bin/sh\nsleep 5\n")
        tool.chmod(0o755)
        with Mounted(folder, "-t", "tmpfs", "tmpfs"):
            refuses([rf"^mpiexec: rank 1 on {host(2)} \(\S+tool\): cannot be started: No "
                     "such file"], tool, code=127)


@case("failures")
def a_library_that_is_only_here():
    with tempfile.TemporaryDirectory() as folder:
        libraries = Path(os.environ["WEFT_BUILD"]) / "bindings"
        with Mounted(libraries, "-t", "tmpfs", "tmpfs"):
            refuses([r"error while loading shared libraries: libmpi_abi",
                     rf"^mpiexec: rank 1 on {host(2)} .*code 127: a library or command that "
                     "it needs is not there"], program("place"), code=127, cwd=folder)


@case("failures")
def a_folder_that_is_only_here():
    with tempfile.TemporaryDirectory() as folder:
        sub = Path(folder) / "sub"
        sub.mkdir()
        with Mounted(folder, "-t", "tmpfs", "tmpfs"):
            refuses([rf"^mpiexec: rank 1 on {host(2)} \(true\): cannot enter {sub}: No such "
                     "file"], "-wdir", sub, "true", code=126)


@case("failures")
def no_folder_has_to_be_writable():
    with Mounted("/dev/shm", "-t", "tmpfs", "-o", "ro", "tmpfs"), \
            Mounted("/var/tmp", "-t", "tmpfs", "-o", "ro", "tmpfs"):
        done = run("--hosts", hosts(1, 2), "-n", 4, program("place"))
        equal(places(done), blocks(2, 2))


@case("failures")
def a_closed_port():
    rule = "add table ip t; add chain ip t c { type filter hook input priority 0; }; " \
        "add rule ip t c tcp dport 22 reject with tcp reset"
    lab.run(2, "nft", rule)
    try:
        refuses([CANNOT + r".*Connection refused.*start sshd there, or open its port"])
    finally:
        lab.run(2, "nft", "delete table ip t")


@case("failures")
def a_host_out_of_reach():
    lab("cut", 2)
    try:
        seconds = refuses([CANNOT + r".*timed out.*down, or a firewall drops"])
    finally:
        lab("heal", 2)
    claim(seconds < 20, f"it took {seconds} s")


@case("failures")
def too_few_slots():
    refuses([r"^mpiexec: 3 ranks, but the list of hosts has only 2 slots: .*--oversubscribe"],
            names=f"{host(1)}:1,{host(2)}:1", count=3, code=2)
    refuses([rf"^mpiexec: host {host(1)}: it has 1 slots, -ppn wants 2: .*--oversubscribe"],
            "-ppn", 2, "true", names=f"{host(1)}:1,{host(2)}:4", count=3, code=2)


@case("failures")
def a_placement_that_the_other_host_cannot_give():
    wide = len(os.sched_getaffinity(0)) + 1
    refuses([rf"^mpiexec: host {host(2)}: ranks cannot be bound as asked: 1 rank needs "
             rf"{wide} cores, but .*--bind-to none"],
            "--cpus-per-rank", wide, program("fail"), "never", names=host(2), count=1)


@case("failures")
def a_program_that_is_of_another_mpi_there():
    with tempfile.TemporaryDirectory(dir=Path(mpiexec_path()).parent) as name:
        folder = Path(name).resolve()
        (folder / "source.c").write_text("int main(void) { return 0; }\n")
        for words in (["-shared", "-Wl,-soname,libmpi.so.40", "-o", "libmpi.so"],
                      ["-o", "here"], ["-Wl,--no-as-needed", "-o", "there", "libmpi.so"]):
            subprocess.run(["cc", "-fPIC", "source.c", *words], cwd=folder, check=True)
        with Mounted(folder / "here", "--bind", folder / "there"):
            refuses([rf"^mpiexec: host {host(2)}: \S*/here is linked with libmpi.so.40"],
                    folder / "here", names=hosts(2), count=1)


@case("failures")
def no_ssh_at_all():
    refuses([rf"^mpiexec: host {host(2)}: cannot start .* by nossh: cannot run nossh: "
             "No such file or directory: install it, .*WEFT_RSH$"],
            variables={"WEFT_RSH": "nossh -x"})


@case("failures")
def a_daemon_killed_during_the_start():
    """Host 2's has been greeted, since mpiexec has sent it words; host 3's has not begun.
    The way to host 2 lasts until mpiexec writes to it again, longer than the daemon."""
    for killed in (slice(None), slice(1), slice(-1, None)):
        kill_daemon_that_starts(killed)


def kill_daemon_that_starts(killed):
    with tempfile.TemporaryDirectory() as folder:
        way, sent = Path(folder) / "way", Path(folder) / "sent"
        way.write_text("#!/bin/sh\nssh=\"ssh -x -T -o BatchMode=yes\"\n"
                       f"test $1 = {host(3)} && sleep 25\n"
                       f"test $1 = {host(2)} && {{ tee {sent} | $ssh \"$@\"; exit; }}\n"
                       "exec $ssh \"$@\"\n")
        way.chmod(0o755)
        running = OnHost("--hosts", hosts(1, 2, 3), "-n", 3, "sleep", 30,
                         variables={"WEFT_RSH": str(way)})
        claim(wait_until(lambda: sent.exists() and sent.stat().st_size > 0, 20),
              "mpiexec has sent the daemon nothing")
        found = lab.pids(2, "mpiexec --weft-daemon")
        claim(len(found) > 1, f"keeper and daemon of host 2 are {found}")
        for pid in found[killed]:
            common.kill_quietly(pid)
        done = running.end(1, [rf"^mpiexec: host {host(2)}: its daemon has ended"], sweep=3)
        claim(done.seconds < 20, f"it took {done.seconds} s")


@case("failures")
def ways_that_are_killed_leave_children():
    """Each is a shell whose child becomes mpiexec's at some moment of the end."""
    with tempfile.TemporaryDirectory() as folder:
        way = Path(folder) / "way"
        way.write_text("#!/bin/sh\ntest $1 = far1 && exit 3\nsleep 25\nexit 0\n")
        way.chmod(0o755)
        names = ",".join(f"far{number}" for number in range(1, 33))
        for _ in range(10):
            run("--hosts", names, "-n", 32, "true", code=1,
                says=[r"^mpiexec: host far1: cannot start .*ended with code 3"],
                variables={"WEFT_RSH": str(way)})


# ---- the death of a host, a link, a daemon, of mpiexec ----

class Dying:
    """A job on three hosts, whose ranks have started; over in time, with nothing left."""

    def __init__(self):
        self.running = OnHost("--hosts", hosts(1, 2, 3), "-n", 6, "bash", "-c",
                              "setsid sleep 1000 & echo ready; sleep 1000")
        try:
            self.running.expect("ready", 6)
        except AssertionError as lost:
            raise AssertionError(f"{lost}; {self.running.finish().err}") from None

    def end(self, code, says):
        """Returns the seconds until it was over everywhere."""
        begin = time.monotonic()
        done = self.running.finish()
        ended = time.monotonic() - begin
        claim(wait_until(lambda: not self.left(), max(0, BEAT + 2 - ended)),
              f"left after {BEAT + 2} s: {self.left()}")
        gone = time.monotonic() - begin
        claim(ended < BEAT + 2, f"it took {ended:.1f} s")
        if says is not None:
            done.hold(code, says)
        for _, pid in left():
            common.kill_quietly(pid)
        return gone

    @staticmethod
    def left():
        """What is left of the job; sshd itself waits longer for a host that is gone."""
        return {key: words for key, words in left().items()
                if not words.startswith("sshd: ")}


def each_time(once):
    """Three deaths or more; `once` is told which and returns how long it took."""
    taken = sorted(once(turn) for turn in range(min(max(rounds() // 2, 3), 10)))
    print(f"      {len(taken)} times, heartbeat {BEAT} s: over everywhere after "
          f"{taken[0]:.2f} to {taken[-1]:.2f} s", flush=True)


@case("crash")
def a_host_crashes():
    def once(_):
        dying = Dying()
        lab("crash", 2)
        try:
            return dying.end(1, [rf"^mpiexec: host {host(2)}: no sign of life for {BEAT} s"])
        finally:
            lab("boot", 2)
    each_time(once)


@case("cut")
def a_link_is_cut():
    def once(_):
        dying = Dying()
        lab("cut", 2)
        try:
            return dying.end(1, [rf"^mpiexec: host {host(2)}: no sign of life for {BEAT} s: "
                                 "it is down, or the link to it is cut"])
        finally:
            lab("heal", 2)
    each_time(once)


def kill_at_once(pids):
    """Kills processes, of which none can act on the end of another."""
    for pid in pids[1:]:
        os.kill(pid, signal.SIGSTOP)
    for pid in pids:
        common.kill_quietly(pid)


def daemon():
    """The two processes of the daemon on host 3: its front, which sshd started, and its keeper. A
    third one that has just been forked may have their words until it becomes something else."""
    def found():
        return lab.pids(3, "mpiexec --weft-daemon")
    claim(wait_until(lambda: len(found()) == 2, 5),
          f"front and keeper are {[(pid, common.parent_of(pid), words_of(pid)) for pid in found()]}")
    return found()


@case("daemon")
def a_daemon_that_is_asked_to_end_says_so():
    dying = Dying()
    os.kill(min(daemon()), signal.SIGTERM)
    dying.end(1, [rf"^mpiexec: host {host(3)}: its daemon has ended: it was asked to end: "
                  "Terminated"])


@case("daemon")
def a_daemon_is_killed():
    def once(turn):
        dying = Dying()
        pids = daemon()
        kill_at_once([pids[:1], pids[1:], pids][turn % 3])
        return dying.end(1, [rf"^mpiexec: host {host(3)}: its daemon has ended"])
    each_time(once)


@case("daemon")
def a_daemon_that_was_stopped_goes_on():
    """As a batch system does that suspends a job."""
    running = OnHost("--hosts", hosts(1, 3), "-n", 2, "sh", "-c", "echo ready; sleep 1")
    running.expect("ready", 2)
    pids = daemon()
    for number in (signal.SIGSTOP, signal.SIGCONT):
        for pid in pids:
            os.kill(pid, number)
        time.sleep(0.2)
    running.end()


@case("mpiexec")
def mpiexec_is_killed():
    def once(turn):
        dying = Dying()
        front = dying.running.front()
        keeper = [pid for pid in lab.pids(1, mpiexec_path())
                  if common.parent_of(pid) == front]
        kill_at_once([[front], keeper, [front, *keeper]][turn % 3])
        return dying.end(None, None)
    each_time(once)


# ---- which network ----

def report(*numbers, code=0, **settings):
    done = OnHost("--hosts", hosts(*numbers), "--report", **settings).end(code)
    return done.out.decode()


def pair(a, b, link):
    return (f"{host(a)} - {host(b)}: eth{link} 10.7{7 + link}.0.{a} - eth{link} "
            f"10.7{7 + link}.0.{b}: reached both ways, one network; datagrams both ways")


@case("report")
def each_two_hosts_have_a_network():
    said = report(1, 2, 3)
    for a, b in ((1, 2), (1, 3), (2, 3)):
        claim(pair(a, b, 0) in said, said)
    claim("lo 127.0.0.1 (loopback)" in said, said)
    claim(said.count(": windows inside the host: mapped memory") == 3, said)
    claim(said.count(": windows between hosts: the network's memory table") == 3, said)
    for setting, value in (("WEFT_RMA", "messages"), ("WEFT_CHECKSUM", "1")):
        told = report(2, 3, variables={setting: value})
        claim(told.count(f": windows between hosts: messages ({setting})") == 2, told)
    for wanted in ("eth1", "10.78.0.0/16", "ib0,eth1"):
        said = report(2, 3, variables={"WEFT_NET": wanted})
        claim(pair(2, 3, 1) in said and "eth0 10.77.0.2 (not in WEFT_NET)" in said, said)


@case("report")
def the_report_is_there_as_json_too():
    said = report(2, 3, variables={"WEFT_NET": "eth1"})
    found = json.loads(OnHost("--hosts", hosts(2, 3), "--report", "--json",
                              variables={"WEFT_NET": "eth1"}).end().out)
    equal(sorted(found), ["hosts", "of_several_hosts", "pairs", "ports"])
    equal((found["ports"], found["of_several_hosts"]), ([47000, 47999], []))
    lines = []
    for each in sorted(found["hosts"], key=lambda each: each["host"]):
        used = [f"{a['interface']} {a['address']}/{a['prefix']}" for a in each["addresses"]
                if a["not_used"] is None]
        left_out = [f"{a['interface']} {a['address']} ({a['not_used']})"
                    for a in each["addresses"] if a["not_used"] is not None]
        lines.append(f"{each['host']}: {', '.join(used)}; not used: {', '.join(left_out)}")
        lines += [f"{each['host']}: {text}" for text in each["machine"]]
    for p in found["pairs"]:
        lines.append(f"{p['a']} - {p['b']}: {p['interface_a']} {p['address_a']} - "
                     f"{p['interface_b']} {p['address_b']}: reached both ways, "
                     + ("one network" if p["one_network"] else "over a router")
                     + f"; {p['datagrams']}")
    equal(sorted(lines), sorted(said.splitlines()))
    OnHost("-n", 1, "--json", "true").end(2, ["^mpiexec: --json: this goes with --report$"])


@case("report")
def what_a_firewall_does_to_datagrams_is_said():
    """Connections are made in any case."""
    for rule, told in (("udp dport 47000-47999 drop", "no datagrams both ways (UDP)"),
                       ("udp length > 1000 drop", "only short datagrams both ways (UDP)")):
        lab("exec", 2, "nft", "add table inet weft_report; add chain inet weft_report ports "
            "{ type filter hook input priority 0; }; "
            f"add rule inet weft_report ports {rule}")
        try:
            said = report(1, 2, 3)
        finally:
            lab("exec", 2, "nft", "delete table inet weft_report")
        good = pair(1, 3, 0)
        claim(good in said, said)
        for a, b in ((1, 2), (2, 3)):
            line = pair(a, b, 0).replace("datagrams both ways", told)
            claim(line in said, said)


def ways(names, wanted):
    """The addresses between which ssh came, by host."""
    done = run("--hosts", names, "-n", names.count(",") + 1, "sh", "-c",
               "echo $(hostname) $SSH_CONNECTION", variables={"WEFT_NET": wanted})
    return {words[0]: (words[1], words[3])
            for words in map(str.split, done.lines()) if len(words) > 1}


@case("report")
def the_launch_goes_by_that_network_too():
    names = hosts(1, 2, 3)
    second = [(f"10.77.0.{i} {host(i)}\n", f"10.77.0.{i} {host(i)}\n10.78.0.{i} {host(i)}\n")
              for i in (2, 3)]
    by_first = {host(i): ("10.77.0.1", f"10.77.0.{i}") for i in (2, 3)}
    by_second = {host(i): ("10.78.0.1", f"10.78.0.{i}") for i in (2, 3)}
    equal(ways(names, "eth1"), by_first, "no address is known there")
    with LabFile("hosts", *second):
        equal(ways(names, "eth0"), by_first)
        lab("cut", 2, 0)
        try:
            for wanted in ("eth1", "10.78.0.0/16", "ib0,eth1"):
                equal(ways(names, wanted), by_second, wanted)
            refuses([CANNOT + r".*10\.77\.0\.2.*timed out"], names=names, count=3,
                    variables={"WEFT_NET": "eth0"})
        finally:
            lab("heal", 2, 0)
    equal(ways(f"{host(1)},{host(2)}-b", "eth1"), {host(2): by_second[host(2)]})


@case("report")
def bridges_and_addresses_of_several_hosts_are_left_out():
    for number in (2, 3):
        lab.run(number, "sh", "-c", "ip link add br9 type bridge && ip addr add "
                "10.9.0.1/24 dev br9 && ip link set br9 up && "
                "ip link add dup0 type veth peer name dup1 && ip addr add 10.8.0.1/24 dev dup0 "
                "&& ip link set dup0 up && ip link set dup1 up")
    try:
        said = report(2, 3)
        claim(re.search(r"br9 10.9.0.1 \((a bridge|down)\)", said), said)
        claim(f"{host(2)}: dup0 10.8.0.1 is left out: another host has it" in said, said)
        claim(pair(2, 3, 0) in said, said)
    finally:
        for number in (2, 3):
            lab.run(number, "sh", "-c", "ip link del br9; ip link del dup0")


def listening(names, **settings):
    """At which addresses ranks listen, by host."""
    done = run("--bind-to", "none", "--hosts", names, "-n", names.count(",") + 1,
               program("listen"), **settings)
    return {words[0]: words[1:] for words in map(str.split, done.lines())}


@case("report")
def ranks_listen_in_networks_that_hosts_share_and_nowhere_else():
    both = {host(i): [f"10.77.0.{i}", f"10.78.0.{i}"] for i in (2, 3)}
    public = {2: "203.0.113.2", 3: "198.51.100.3"}
    for number, address in public.items():
        lab.run(number, "sh", "-c", "ip link add pub0 type veth peer name pub1 && ip addr add "
                f"{address}/24 dev pub0 && ip link set pub0 up && ip link set pub1 up")
    try:
        equal(listening(hosts(2, 3)), both)
        equal(listening(hosts(2, 3), variables={"WEFT_NET": "pub0,eth0"}),
              {host(i): sorted([f"10.77.0.{i}", public[i]]) for i in (2, 3)},
              "WEFT_NET is the one rule")
        equal(listening(hosts(2, 3), variables={"WEFT_NETWORKS": "203.0.113.0/24"}), both,
              "what another launcher has left is not believed")
    finally:
        for number in public:
            lab.run(number, "ip", "link", "del", "pub0")
    equal(listening(hosts(2, 2), variables={"WEFT_TRANSPORT": "msg"}), {host(2): ["127.0.0.1"]},
          "a job on one host is on its own")


@case("report")
def another_network_is_taken_where_one_is_blocked_and_a_matrix_shown_where_all_are():
    # The first packet of a connection alone: the port at the other end of one is any free one.
    lab.run(2, "nft", "add table ip t; add chain ip t c { type filter hook input priority 0; }; "
            "add rule ip t c ip saddr 10.77.0.3 tcp dport 47000-47999 tcp flags & (syn|ack) == syn "
            "drop")
    try:
        said = report(1, 2, 3)
        claim(pair(1, 2, 0) in said and pair(2, 3, 1) in said, said)
        said = report(2, 3, code=1, variables={"WEFT_NET": "eth0"})
        claim(f"{host(2)} - {host(3)}: no address can be reached both ways" in said, said)
        claim(f"\n{host(3)} -x-> {host(2)}\nopen TCP and UDP ports 47000-47999" in said, said)
        said = report(2, 3, variables={"WEFT_NET": "eth0", "WEFT_PORTS": "48000-48010"})
        claim(pair(2, 3, 0) in said, said)
    finally:
        lab.run(2, "nft", "delete table ip t")
    OnHost("--report", variables={"WEFT_PORTS": "many"}).end(2, ["WEFT_PORTS=many: no range"])


if __name__ == "__main__":
    skip_without_means()
    with lab:
        code = common.main()
    sys.exit(code)
