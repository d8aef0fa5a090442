"""debugger.py - debuggers and mpiexec: the MPIR interface, by which they find the ranks, and --debug,
which starts them.

acquire.py is the debugger of the first cases. See common.py for how cases are written and called.
"""

import os
import re
import shutil
import subprocess
import sys
import tempfile
from pathlib import Path

import common
from common import HOST, Running, case, claim, equal, failure, main, mpiexec_path, program, start

ACQUIRE = Path(__file__).with_name("acquire.py")
# A process that is being traced cannot look for leaks.
TRACED = {"ASAN_OPTIONS": common.SANITIZERS["ASAN_OPTIONS"] + ":detect_leaks=0"}


def gdb(*words, variables=None, code=0):
    """Lines that acquire.py says in gdb."""
    done = Running(["gdb", "-nx", "-q", "-batch", "-x", ACQUIRE, *words],
                   TRACED | (variables or {})).finish()
    said = [line.removeprefix("MPIR ") for line in done.out.decode().splitlines()
            if line.startswith("MPIR ")]
    equal(done.code, code, f"{done.out.decode()}\n{done.err.decode()}")
    return said, done.out.decode()


def launch(*words, mpiexec=None, variables=None):
    return gdb("--args", mpiexec or mpiexec_path(), *words, variables=variables)


def hold_table(said, path, ranks):
    """Each rank is in the table, with the path of its program; returns process ids."""
    found = [re.fullmatch(rf"rank (\d+) {re.escape(HOST)} (\S+) (\d+)", line) for line in said]
    rows = [match.groups() for match in found if match]
    equal([(int(rank), name) for rank, name, _ in rows],
          [(rank, path) for rank in range(ranks)], "\n".join(said))
    return [int(pid) for _, _, pid in rows]


@case("mpir")
def a_debugger_that_starts_mpiexec_gets_all_ranks_before_their_first_instruction():
    said, out = launch("-n", 3, program("ring"), "hello", variables={"ACQUIRE": "1"})
    equal(said[0], "state 1")
    equal(said[1], "MPIR_i_am_starter MPIR_acquired_pre_main MPIR_partial_attach_ok")
    equal(len(set(hold_table(said, program("ring"), 3))), 3)
    claim(re.search(r"\nMPIR stack of 1 _start \S*/ld\S*\n", out), out)
    claim("states T T T" in said, out)  # the one that was let go, too
    equal(said[-1], "exit 0")
    equal(sorted(line for line in out.splitlines() if line.startswith("hello")),
          ["hello 0 of 3", "hello 1 of 3", "hello 2 of 3"])


@case("mpir")
def a_stripped_mpiexec_has_what_a_debugger_looks_for():
    with tempfile.TemporaryDirectory() as folder:
        copy = Path(folder) / "mpiexec"
        shutil.copy(mpiexec_path(), copy)
        subprocess.run(["strip", copy], check=True)
        said, _ = launch("-n", 2, program("ring"), "hello", mpiexec=copy)
    hold_table(said, program("ring"), 2)
    equal(said[-1], "exit 0")


@case("mpir")
def a_debugger_hears_why_a_job_is_aborted():
    said, out = launch("-n", 2, program("fail"), "exit-after", "barrier")
    equal(said[-2:], ["aborts: ended with code 3", "exit 3"], out)


@case("mpir")
def the_path_of_a_program_is_absolute():
    name = Path(program("talk"))
    said, _ = launch("-wdir", name.parent, "-n", 1, f"./{name.name}", "lines", 1, ":",
                     "-n", 1, "true")
    rows = [line.split()[3] for line in said if line.startswith("rank ")]
    equal(rows, [str(name), shutil.which("true")])


@case("mpir")
def a_debugger_finds_the_ranks_of_a_job_that_runs():
    running = start("-n", 2, program("ring"), "hello", "stay")
    for _ in range(2):
        claim(running.read_line().startswith("hello"), "no ring")
    said, _ = gdb("-p", running.pid)
    equal(said[0], "state 1")
    for pid in hold_table(said, program("ring"), 2):
        claim(Path(f"/proc/{pid}/exe").resolve() == Path(program("ring")).resolve(), pid)
        claim(common.state_of(pid) in "RS", "a rank was stopped")
    running.send(2)
    running.end(130, [r"Interrupt: ending the job"])


# ---- --debug ----

def debug(ranks, commands, *words, code=0, says=(), options=()):
    """Lets gdb run commands on some ranks; returns the lines of each rank, by its number."""
    with tempfile.NamedTemporaryFile("w") as file:
        file.write(commands)
        file.flush()
        done = start("--debug", ranks, "--debug-commands", file.name, *options, *words,
                     variables=TRACED, stderr=subprocess.STDOUT).finish()
    lines = done.out.decode().splitlines()
    by_rank = {}
    for line in lines:
        match = re.fullmatch(r"\[(\d+)\] (.*)", line)
        if match:
            by_rank.setdefault(int(match.group(1)), []).append(match.group(2))
    about = done.out.decode()
    equal(done.code, code, about)
    for pattern in says:
        claim(any(re.search(pattern, line) for line in lines), f"{pattern}: {about}")
    return by_rank, about


@case("debug")
def gdb_runs_commands_on_the_ranks_that_are_named():
    by_rank, about = debug("1,3-4", "catch syscall exit_group\ncontinue\necho at the end\\n\n"
                           "continue\n", "-n", 5, program("ring"), "hello")
    for rank in range(5):
        claim(f"hello {rank} of 5" in by_rank[rank], about)
        equal("at the end" in by_rank[rank], rank in (1, 3, 4), about)
        equal(any("exited normally" in line for line in by_rank[rank]), rank in (1, 3, 4), about)


@case("debug")
def a_rank_that_gdb_leaves_goes_on():
    by_rank, about = debug("all", "echo seen\\n\n", "-n", 2, program("ring"), "hello")
    for rank in range(2):
        claim({"seen", f"hello {rank} of 2"} <= set(by_rank[rank]), about)


@case("debug")
def a_rank_under_gdb_keeps_its_exit_code_and_says_where_it_falls():
    by_rank, about = debug("1", "continue\nbt\n", "-n", 2, program("fail"), "segv", "barrier",
                           code=139, says=[failure(1, program("fail"), ".*signal 11.*")])
    claim(any(re.match(r"#\d+ .* in main ", line) for line in by_rank[1]), about)
    debug("1", "continue\n", "-n", 2, program("fail"), "exit-after", "barrier", code=3)


@case("debug")
def rank_0_under_gdb_reads_standard_input():
    with tempfile.NamedTemporaryFile("w") as file:
        file.write("continue\n")
        file.flush()
        done = start("--debug", 0, "--debug-commands", file.name, "-n", 1, "cat",
                     variables=TRACED, stdin=subprocess.PIPE).finish(b"what is typed\n")
    claim("[0] what is typed" in done.out.decode().splitlines(), done.out.decode())


@case("debug")
def a_debugger_that_cannot_be_had_is_named_with_the_cure():
    ring = program("ring")
    with tempfile.NamedTemporaryFile("w") as file:
        for words, said in (
                (("--debug", "0", "--debugger", "no-gdb -x", "--debug-commands", file.name),
                 "--debug: no-gdb is not installed; install it, or name another debugger by "
                 "--debugger"),
                (("--debug", "0"),
                 "--debug: there is no terminal; --debug-commands FILE runs a file of commands"),
                (("--debug", "0,2", "--debug-commands", file.name),
                 "--debug 0,2: the job has no such rank"),
                (("--debug", "0,x", "--debug-commands", file.name),
                 "--debug 0,x: ranks are named as 0,3-5 or all"),
                (("--debug-commands", file.name),
                 "--debug RANKS: is missing: it says which ranks to debug, as 0,3-5 or all")):
            common.mpiexec(*words, "-n", 2, ring, "hello", code=2,
                           says=[f"^mpiexec: {re.escape(said)}$"], variables={"TMUX": None})


@case("debug")
def nothing_is_left_when_gdb_or_mpiexec_is_killed():
    with tempfile.NamedTemporaryFile("w") as file:
        file.write("echo begun\\n\nshell sleep 1000\n")
        file.flush()
        for victim, code in (("gdb", 130), ("front", 137), ("keeper", 137)):
            running = start("--debug", 1, "--debug-commands", file.name, "-n", 2,
                            program("ring"), "hello", "stay", variables=TRACED)
            while running.read_line() != "[1] begun":
                pass
            if victim == "gdb":
                for pid in common.processes_with(running.mark):
                    if common.name_of(pid) == "gdb":
                        common.kill_quietly(pid)
                while "hello 1 of 2" not in running.read_line():
                    pass
                running.send(2)
            else:
                common.kill_quietly(running.pid if victim == "front" else running.keeper())
            equal(running.finish().code, code, victim)
            common.nothing_is_left(running.mark, running.before, 10)


class Screen:
    """A server of tmux, with mpiexec in its first pane or beside it."""

    def __init__(self):
        self.folder = tempfile.TemporaryDirectory()
        self.mark = common.new_mark()
        self.before = common.traces()
        self.env = common.environment(self.mark, TRACED | {
            "TMUX_TMPDIR": self.folder.name, "TMUX": None, "TERM": "screen", "SHELL": "/bin/sh"})

    def tmux(self, *words):
        done = subprocess.run(["tmux", "-f", "/dev/null", *map(str, words)], env=self.env,
                              check=False, text=True, stdout=subprocess.PIPE,
                              stderr=subprocess.PIPE)
        return done.stdout if done.returncode == 0 else ""

    def panes(self):
        """The panes of debuggers, and what each shows."""
        listed = self.tmux("list-panes", "-a", "-F", "#{pane_id} #{window_name}").splitlines()
        return {pane: self.tmux("capture-pane", "-p", "-t", pane)
                for pane, name in (line.split(" ", 1) for line in listed) if name == "ranks"}

    def prompts(self, count):
        claim(common.wait_until(lambda: sum("(gdb)" in text for text in self.panes().values())
                                == count, common.PATIENCE), self.panes())
        return self.panes()

    def close(self):
        claim(common.wait_until(lambda: not self.panes(), 20), f"panes stay: {self.panes()}")
        self.tmux("kill-server")
        common.nothing_is_left(self.mark, self.before, 20)
        self.folder.cleanup()


@case("tmux")
def inside_tmux_each_rank_has_a_gdb_in_a_pane_of_a_new_window():
    screen = Screen()
    out = Path(screen.folder.name) / "out"
    screen.tmux("new-session", "-d", "-x", 200, "-y", 60, "-n", "first",
                f"{mpiexec_path()} -n 3 --debug 0,2 {program('ring')} hello > {out} 2>&1;"
                f" echo code $? >> {out}; sleep 1000")
    panes = screen.prompts(2)
    equal({re.search(r"^rank (\d)$", text, re.MULTILINE).group(1) for text in panes.values()},
          {"0", "2"})
    for pane in panes:
        screen.tmux("send-keys", "-t", pane, "continue", "Enter")
    claim(common.wait_until(lambda: "code" in out.read_text(), common.PATIENCE),
          out.read_text())
    equal(sorted(out.read_text().splitlines()),
          ["code 0", "hello 0 of 3", "hello 1 of 3", "hello 2 of 3"])
    claim(common.wait_until(lambda: not screen.panes(), 20), "panes outlive the job")
    screen.tmux("kill-server")
    screen.close()


@case("tmux")
def outside_tmux_the_gdbs_are_in_a_new_session_that_ends_with_mpiexec():
    screen = Screen()
    master, slave = os.openpty()
    process = subprocess.Popen([mpiexec_path(), "-n", "2", "--debug", "all", program("ring"),
                                "hello"], env=screen.env, stdin=slave, stdout=subprocess.PIPE,
                               stderr=subprocess.STDOUT, text=True)
    line = process.stdout.readline()
    equal(line, f"mpiexec: the debuggers are in tmux: tmux attach -t weft-{process.pid}\n")
    screen.prompts(2)
    process.kill()
    process.communicate()
    os.close(master)
    os.close(slave)
    screen.close()


# ---- message queues ----

QUEUES = {
    0: ["MPI_COMM_WORLD: 0 of 3: 0 1 2",
        "  send to 2 (2), tag 80, 200000 bytes, send, rendezvous",
        "  receive from 1 (1), tag 5, 16 bytes, receive",
        "  receive from any, tag 6, 32 bytes, receive",
        "  receive from 1 (1), tag 99, 4 bytes, receive",
        "  message from 1 (1), tag 70, 8 bytes, message, eager",
        "  message from 1 (1), tag 71, 100000 bytes, message, rendezvous",
        "MPI_COMM_SELF: 0 of 1: 0",
        "second: 0 of 3: 0 1 2",
        "  receive from 2 (2), any tag, 64 bytes, receive",
        "  receive from any, any tag, 128 bytes, receive",
        "reversed: 2 of 3: 2 1 0",
        "  send to 1 (1), tag 81, 4 bytes, send, rendezvous",
        "  message from 0 (2), tag 72, 12 bytes, message, eager"],
    1: ["MPI_COMM_WORLD: 1 of 3: 0 1 2",
        "  send to 0 (0), tag 71, 100000 bytes, send, rendezvous",
        "MPI_COMM_SELF: 0 of 1: 1",
        "second: 1 of 3: 0 1 2",
        "reversed: 1 of 3: 2 1 0",
        "  message from 2 (0), tag 81, 4 bytes, message, rendezvous"],
    2: ["MPI_COMM_WORLD: 2 of 3: 0 1 2",
        "  message from 0 (0), tag 80, 200000 bytes, message, rendezvous",
        "MPI_COMM_SELF: 0 of 1: 2",
        "second: 2 of 3: 0 1 2",
        "reversed: 0 of 3: 2 1 0"],
}


def queues_of(pid, *words):
    """What the library says of a process, line by line."""
    done = subprocess.run([program("mqs_debugger"), program("libweft_queues.so"), str(pid),
                           *map(str, words)], check=False, text=True, timeout=common.PATIENCE,
                          stdout=subprocess.PIPE, stderr=subprocess.STDOUT)
    equal(done.returncode, 0, done.stdout)
    return done.stdout.splitlines()


def is_in_recv(pid):
    """Is the receive that this rank waits for posted?"""
    return any("tag 99" in line for line in queues_of(pid))


@case("queues")
def the_queues_of_a_stuck_rank_are_what_it_posted():
    running = start("--bind-to", "none", "--keep-going", "-n", 3, program("queues"))
    pids = dict(map(int, re.findall(r"\d+", running.read_line())) for _ in range(3))
    claim(common.wait_until(lambda: is_in_recv(pids[0]), common.PATIENCE), queues_of(pids[0]))
    for rank, expected in QUEUES.items():
        said = queues_of(pids[rank])
        equal(said[:-1], expected)
        claim(re.fullmatch(r"library /\S+/libweft_queues\.so", said[-1]), said[-1])
    rounds = 100
    for pid in pids.values():  # bits that are wrong end a list, and nothing else
        got = int(re.fullmatch(rf"queues in (\d+) of {rounds}",
                               queues_of(pid, "garbage", rounds)[0]).group(1))
        claim(0 < got < rounds, f"{got} of {rounds}")
    equal(queues_of(pids[0])[:-1], QUEUES[0], "after that")
    equal(queues_of(pids[2], "dead")[0],
          "no queues: no libmpi_abi.so of a version of Weft that this library knows")
    running.send(2)
    running.finish()
    common.nothing_is_left(running.mark, running.before, 10)


if __name__ == "__main__":
    sys.exit(main())
