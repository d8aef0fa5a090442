"""common.py - what the tests of mpiexec share: cases, runs of mpiexec, and a terminal.

A case is a function whose name is the sentence it proves, under a group:

    @case("signals")
    def sigterm_ends_the_job_with_143(): ...

Every run is held to more than its case asks for: what it prints on standard error is
named line by line, and afterwards nothing of it is left: no process (each run has a mark
in its environment), no file, no socket. A script is called with the path of mpiexec,
those of the programs, and then perhaps a choice:

    crash.py MPIEXEC PROGRAM... [--group GROUP] [--case NAME] [--rounds N] [--sanitized]
"""

import argparse
import os
import pty
import re
import resource
import select
import signal
import socket
import subprocess
import sys
import termios
import time
import traceback
from pathlib import Path

PATIENCE = 60  # seconds after which a run counts as hanging
OF_MPIEXEC = 3  # processes that mpiexec itself is: front, keeper, guard
ENDING = 2  # seconds that a job may take to end, with all it has started
ROUNDS = 5  # how often a case is repeated that is left to chance
HOST = socket.gethostname()
_MARK = f"mark-{os.getpid()}-{time.monotonic_ns()}-"

_cases = {}
_options = None
_mark_count = 0


# ---- cases ----

def case(group):
    """Makes a function a case of this group."""
    def register(function):
        _cases[function.__name__] = (group, function)
        return function
    return register


def program(name):
    """The path of a test program, by its name."""
    for path in _options.programs:
        if os.path.basename(path) in (name, "launch_" + name):
            return path
    raise LookupError(f"{name} is not among the programs on the command line")


def mpiexec_path():
    return _options.mpiexec


def rounds():
    return _options.rounds


def is_long():
    """Is this .ci/long, which leaves nothing out?"""
    return rounds() >= 4 * ROUNDS


def is_sanitized():
    return _options.sanitized


def equal(got, expected, about=""):
    if got != expected:
        raise AssertionError(f"{about}\n     got: {repr(got)[:2000]}\n"
                             f"expected: {repr(expected)[:2000]}")


def claim(is_so, about):
    if not is_so:
        raise AssertionError(about)


def parse_arguments():
    parser = argparse.ArgumentParser()
    parser.add_argument("mpiexec")
    parser.add_argument("programs", nargs="*")
    parser.add_argument("--group", help="only the cases of this group")
    parser.add_argument("--case", help="only this one")
    parser.add_argument("--rounds", type=int,
                        default=int(os.environ.get("WEFT_TEST_ROUNDS", ROUNDS)))
    parser.add_argument("--sanitized", action="store_true")
    options = parser.parse_args()
    options.mpiexec = os.path.abspath(options.mpiexec)
    options.programs = [os.path.abspath(path) for path in options.programs]
    return options


def run_case(name, function):
    """True if it holds; else says what does not."""
    begin = time.monotonic()
    try:
        function()
    except Exception as wrong:  # whatever it is, the other cases go on, and in peace
        why = " ".join(f"{wrong}".split())  # first: who reads a log may see its head only
        print(f"FAIL  {name}: {why[:1000]}\n{traceback.format_exc()}", flush=True)
        for pid in processes_with(_MARK):
            kill_quietly(pid)
        return False
    seconds = time.monotonic() - begin
    print(f"ok    {name.replace('_', ' ')} ({seconds:.2f} s)", flush=True)
    return True


def use_all_signals():
    """What our caller ignores (nohup, a shell's &) mpiexec would rightly ignore too."""
    for number in (signal.SIGHUP, signal.SIGQUIT, signal.SIGTERM, signal.SIGCHLD):
        signal.signal(number, signal.SIG_DFL)
    signal.signal(signal.SIGINT, signal.default_int_handler)


def main():
    """Runs what the command line names and returns the exit code."""
    global _options
    _options = parse_arguments()
    use_all_signals()
    resource.setrlimit(resource.RLIMIT_CORE, (0, 0))
    chosen = {name: function for name, (group, function) in _cases.items()
              if _options.group in (None, group) and _options.case in (None, name)}
    if not chosen:
        print("no such case; there are:", *_cases, sep="\n    ")
        return 1
    good = sum(run_case(name, function) for name, function in chosen.items())
    print(f"{good} of {len(chosen)} hold")
    return 0 if good == len(chosen) else 1


# ---- what is left behind ----

def processes_with(mark):
    """Process ids of all that have this mark in their environment; never this one's."""
    found = []
    for folder in Path("/proc").iterdir():
        if folder.name.isdigit() and int(folder.name) != os.getpid():
            try:
                if mark.encode() in (folder / "environ").read_bytes():
                    found.append(int(folder.name))
            except OSError:
                pass  # it has ended meanwhile
    return found


def state_of(pid):
    """The kernel's letter for what a process does: R, S, T, Z; "" if it is gone."""
    try:
        return Path(f"/proc/{pid}/stat").read_text().rsplit(")", 1)[1].split()[0]
    except OSError:
        return ""


def name_of(pid):
    """What a process calls itself; "" if it is gone."""
    try:
        return Path(f"/proc/{pid}/comm").read_text().rstrip("\n")
    except OSError:
        return ""


def parent_of(pid):
    try:
        return int(Path(f"/proc/{pid}/stat").read_text().rsplit(")", 1)[1].split()[1])
    except OSError:
        return -1


def front_of(find):
    """The mpiexec that the user would see, of those whose numbers a function finds: the one that
    none of the others has started."""
    def found():
        pids = find()
        parents = {pid: parent_of(pid) for pid in pids}
        return [pid for pid in pids if parents[pid] not in pids]
    claim(wait_until(found, 10), "no mpiexec is running")
    return found()[0]


def describe(pids):
    def words(pid):
        try:
            return Path(f"/proc/{pid}/cmdline").read_bytes().replace(b"\0", b" ").decode()
        except OSError:
            return "gone"
    return "; ".join(f"{pid} {state_of(pid)} {words(pid)}" for pid in pids)


def traces():
    """Files and abstract sockets on this machine that bear our name. Claims of cores are
    left out: they end with their process, and every job uses the same names."""
    found = set()
    for folder in ("/dev/shm", "/tmp"):
        found |= {f"{folder}/{entry.name}" for entry in os.scandir(folder)
                  if "weft" in entry.name and not entry.is_dir(follow_symlinks=False)}
    sockets = Path("/proc/net/unix").read_text()
    return found | set(re.findall(r"@weft-(?!cpu-)\S*", sockets))


def wait_until(is_so, seconds):
    """True as soon as it is so; False if it is not by then."""
    end = time.monotonic() + seconds
    while not is_so():
        if time.monotonic() > end:
            return False
        time.sleep(0.002)
    return True


def is_others(trace):
    """Does a process hold this socket? Then it is no run's of which none is left."""
    table = Path("/proc/net/unix").read_text().splitlines()
    wanted = {f"socket:[{row.split()[6]}]" for row in table if row.endswith(trace)}
    for folder in Path("/proc").glob("[0-9]*/fd"):
        try:
            if wanted & {os.readlink(entry) for entry in folder.iterdir()}:
                return True
        except OSError:
            pass  # it has ended meanwhile
    return False


def nothing_is_left(mark, before, seconds=0.0):
    """No process within `seconds`, and no traces; other people's vanish by themselves."""
    wait_until(lambda: not processes_with(mark), seconds)
    left = processes_with(mark)
    told = describe(left)
    for pid in left:
        kill_quietly(pid)
    claim(not left, f"processes are left: {told}")
    suspects = {trace for trace in traces() - before if not is_others(trace)}
    wait_until(lambda: not suspects & traces(), 10)
    equal(suspects & traces(), set(), "files or sockets are left")


def kill_quietly(pid):
    try:
        os.kill(pid, signal.SIGKILL)
    except ProcessLookupError:
        pass


# ---- running mpiexec ----

# A sanitizer's report ends in an exit code that no case expects; SEGV is a case's own.
SANITIZERS = {
    "ASAN_OPTIONS": "exitcode=99:handle_segv=0",
    "LSAN_OPTIONS": "exitcode=99",
    "UBSAN_OPTIONS": "halt_on_error=1:exitcode=99",
}
FOREIGN = ("PMI", "WEFT_", "SLURM_", "OMPI_", "HYDI_", "MPI_LOCAL", "PBS_", "LSB_", "FLUX_",
           "PE_HOSTFILE", "NHOSTS")


NO_FOLDER = "/nonexistent"  # where no user has a file of settings
everywhere = {}  # variables that a script gives to each of its runs


def environment(mark, variables=None):
    """Ours without any launcher's, with the mark; a variable that is None is left out."""
    kept = {name: value for name, value in os.environ.items()
            if not name.startswith(FOREIGN)}
    kept |= SANITIZERS | {"WEFT_TEST_MARK": mark, "XDG_CONFIG_HOME": NO_FOLDER}
    kept |= everywhere | (variables or {})
    return {name: value for name, value in kept.items() if value is not None}


def new_mark():
    global _mark_count
    _mark_count += 1
    return f"{_MARK}{_mark_count}-"


# Lines under that of a failure, which depend on how far others have come.
DETAILS = (r"  and \d+ (more )?ranks? that waited for it: ",
           r"  (rank \d+ (was|had)|nothing is (known|recorded) of) ",
           r"  \d+ ranks? (was|were|fell too:) ", r"  and \d+ more groups of ranks ",
           r" +\d[\d.]* (us|ms|s)  MPI_\w+")


def headlines(text):
    """The lines of standard error, without the details of a failure."""
    return [line for line in text.decode(errors="replace").splitlines()
            if not any(re.match(detail, line) for detail in DETAILS)]


class Done:
    """A run that has ended: its exit code, what it printed, and how long it took."""

    def __init__(self, code, out, err, seconds):
        self.code = code
        self.out = out
        self.err = err
        self.seconds = seconds

    def lines(self):
        """The lines of standard output, sorted: ranks speak in any order."""
        return sorted(self.out.decode().splitlines())

    def hold(self, code, says):
        """It ended with this code, and each line of standard error fits its pattern."""
        about = (f"code {self.code}\nstdout: {self.out[-2000:]!r}\n"
                 f"stderr: {self.err[-2000:]!r}")
        said = headlines(self.err)
        equal(self.code, code, about)
        equal(len(said), len(says), about)
        for line, pattern in zip(said, says):
            claim(re.search(pattern, line), f"{line[-500:]!r} does not match {pattern!r}")
        return self


class Running:
    """A run under way. Ends by end(), which checks it, or by abandon()."""

    def __init__(self, command, variables=None, **settings):
        self.mark = new_mark()
        self.before = traces()
        self.begin = time.monotonic()
        settings = {"stdin": subprocess.DEVNULL, "stdout": subprocess.PIPE,
                    "stderr": subprocess.PIPE, "bufsize": 0} | settings
        self.process = subprocess.Popen([str(word) for word in command],
                                        env=environment(self.mark, variables), **settings)

    @property
    def pid(self):
        return self.process.pid

    def keeper(self):
        """The process id of the keeper, which is a child of the front's."""
        def children():
            return [pid for pid in processes_with(self.mark)
                    if parent_of(pid) == self.pid and name_of(pid) == "weft-keeper"]
        claim(wait_until(children, PATIENCE), "there is no keeper")
        return children()[0]

    def read_line(self):
        """The next line of standard output, without its end."""
        got, output = b"", self.process.stdout
        while not got.endswith(b"\n"):
            claim(select.select([output], [], [], PATIENCE)[0], f"only {got!r} is said")
            part = output.read(1)  # not more, or finish() would miss it
            claim(part, f"only {got!r} is said, and then the end")
            got += part
        return got[:-1].decode()

    def parts(self, stream, size):
        """What comes from standard output or error, as it comes, up to its end."""
        while True:
            claim(select.select([stream], [], [], PATIENCE)[0], "nothing more is said")
            part = stream.read(size)
            if not part:
                return
            yield part

    def expect(self, word, count=1):
        """Reads standard output until a line has come `count` times."""
        for _ in range(count):
            equal(self.read_line(), word)

    def send(self, number):
        self.process.send_signal(number)

    def abandon(self):
        """After a failure: ends what there is, so that the next case has peace."""
        for pid in processes_with(self.mark):
            kill_quietly(pid)
        self.process.communicate()

    def finish(self, given=None):
        try:
            out, err = self.process.communicate(given, timeout=PATIENCE)
        except subprocess.TimeoutExpired:
            told = describe(processes_with(self.mark))
            self.abandon()
            raise AssertionError(f"no end after {PATIENCE} s: {told}") from None
        seconds = time.monotonic() - self.begin
        code = self.process.returncode
        return Done(128 - code if code < 0 else code, out or b"", err or b"", seconds)

    def end(self, code=0, says=(), given=None, sweep=0.0):
        """Waits for the end and holds it to what is expected."""
        done = self.finish(given).hold(code, says)
        nothing_is_left(self.mark, self.before, sweep)
        return done


REPORT_END = b"  the job goes on\n"


def read_report(running, seconds=PATIENCE):
    """What mpiexec says on standard error up to the end of a report of what ranks do."""
    said, end = b"", time.monotonic() + seconds
    while REPORT_END not in said:
        left = end - time.monotonic()
        claim(left > 0 and select.select([running.process.stderr], [], [], left)[0],
              f"no report: {said[-3000:].decode()}")
        part = running.process.stderr.read(65536)
        claim(part, f"an end without a report: {said[-3000:].decode()}")
        said += part
    return said.decode()


def mpiexec(*words, code=0, says=(), given=None, under=(), **settings):
    """Runs mpiexec to its end; `under` is what stands in front of it."""
    if given is not None:
        settings["stdin"] = subprocess.PIPE
    command = [*under, _options.mpiexec, *words]
    return Running(command, **settings).end(code, says, given)


def start(*words, **settings):
    return Running([_options.mpiexec, *words], **settings)


def failure(rank, name, cause):
    """The pattern of the one line that names a failure; `rank` None: any."""
    number = r"\d+" if rank is None else str(rank)
    return (rf"^mpiexec: rank {number} on {re.escape(HOST)} \({re.escape(name)}\): "
            rf"{cause}$")


# ---- a terminal ----

class Terminal:
    """A run of mpiexec in a terminal of its own, which does not echo what is typed."""

    def __init__(self, command, is_echoing=False):
        self.mark = new_mark()
        self.before = traces()
        self.text = b""
        self.pid, self.master = pty.fork()
        if self.pid == 0:
            if not is_echoing:
                modes = termios.tcgetattr(0)
                modes[3] &= ~(termios.ECHO | termios.ECHOCTL)
                termios.tcsetattr(0, termios.TCSANOW, modes)
            os.execvpe(str(command[0]), [str(word) for word in command],
                       environment(self.mark))

    def type(self, text):
        os.write(self.master, text)

    def look(self, seconds=0.0):
        """Takes in what has been shown meanwhile; False once nothing more can come."""
        try:
            if select.select([self.master], [], [], seconds)[0]:
                self.text += os.read(self.master, 65536)
        except OSError:  # EIO: nobody has it open any more
            return False
        return True

    def expect(self, word, seconds=10.0):
        """What is shown up to and including `word`, which must come in that time."""
        end = time.monotonic() + seconds
        while word not in self.text:
            left = end - time.monotonic()
            claim(left > 0 and self.look(left),
                  f"{word!r} is not shown in {seconds} s: {self.text!r}")
        shown, self.text = self.text.split(word, 1)
        return shown + word

    def end(self, seconds=PATIENCE):
        """Waits for the end: exit code and what was shown since."""
        end = time.monotonic() + seconds
        while self.look(0.01) and time.monotonic() < end:
            pass
        pid, status = 0, 0
        while pid == 0 and time.monotonic() < end:
            pid, status = os.waitpid(self.pid, os.WNOHANG)
        if pid == 0:
            kill_quietly(self.pid)
            os.waitpid(self.pid, 0)
        os.close(self.master)
        nothing_is_left(self.mark, self.before, 0.1)
        claim(pid != 0, f"no end after {seconds} s: {self.text!r}")
        return os.waitstatus_to_exitcode(status), self.text.decode().replace("\r\n", "\n")


# ---- what talk.c prints ----

def _next(x):
    return (x * 1103515245 + 12345) & 0x7FFFFFFF


def line(rank, number, longest=9000):
    """Line `number` of a rank, as talk.c makes it, without its end."""
    length = 1 + (_next(_next(rank * 65536 + number)) >> 8) % longest
    letter = bytes([ord("a") + rank])
    return (letter + b"%d:" % number + letter * length)[:length]


def lines_are_whole(text, ranks, count, longest=9000):
    """`text` is what `ranks` ranks say in `count` lines each, in each one's own order."""
    claim(text.endswith(b"\n"), "the last line has no end")
    said = [0] * ranks
    for got in text[:-1].split(b"\n"):
        rank = got[0] - ord("a") if got else -1
        claim(0 <= rank < ranks, f"a line of nobody: {got[:80]!r}")
        claim(got == line(rank, said[rank], longest),
              f"line {said[rank]} of rank {rank} is torn: {got[:80]!r}")
        said[rank] += 1
    equal(said, [count] * ranks, "lines of each rank")
