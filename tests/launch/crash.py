"""crash.py - whatever fails, the job ends within two seconds and leaves nothing behind.

Each case is repeated (--rounds, or WEFT_TEST_ROUNDS, which .ci/long sets), and each time is held to its exit code, to the one line
that says what happened, and to what is left: no process, no file, no socket. The time that
most of them take is compared with that of jobs that end well, run in between: a machine
that is busy with something else slows both down. See common.py for how cases are written
and called.
"""

import ctypes
import errno
import os
import re
import resource
import signal
import statistics
import subprocess
import sys
import time
from pathlib import Path

from common import (ENDING, HOST, OF_MPIEXEC, PATIENCE, case, claim, equal, failure, main, mpiexec,
                    mpiexec_path, name_of, nothing_is_left, processes_with, program, rounds,
                    start, wait_until)

RANKS = 4
FOR_EVER = 1000
ROUNDS_EACH = 4  # rounds for each job that ends well
SLOWNESS = 3  # times as long as such a job: the work that the end of one may be


def each_time(once, count=RANKS):
    """Calls `once` again and again; it returns how many seconds the end took."""
    taken, well = [], []
    for round_number in range(rounds()):
        if round_number % ROUNDS_EACH == 0:
            well.append(mpiexec("-n", count, program("ring")).seconds)
        taken.append(once(round_number))
    middle = statistics.median(taken)
    limit = ENDING + SLOWNESS * statistics.median(well)
    # A single one may be as late as the machine makes it, but for PATIENCE: a hang.
    claim(middle < limit, f"{middle:.2f} s in the middle, not {limit:.2f}")


def spread(round_number):
    """From 0 to 19 over all rounds: a rotation of the moment at which something is killed."""
    return round_number * 20 // rounds() % 20


def fails(how, code, cause, others="barrier", count=RANKS, rank=1):
    """Rank 1 of fail.c fails in this way while the others do that."""
    name = program("fail")

    def once(_):
        done = mpiexec("-n", count, name, how, others, code=code,
                       says=[failure(rank, name, cause)])
        return done.seconds
    each_time(once, count)


# ---- a rank fails ----

@case("ranks")
def a_rank_that_dies_by_segv_ends_the_job():
    fails("segv", 139, "killed by signal 11, Segmentation fault")


@case("ranks")
def a_crash_with_two_threads_in_mpi_names_the_level():
    fails("two", 139, "killed by signal 11, Segmentation fault; two of its threads were in MPI "
                      "at a time, and MPI_THREAD_MULTIPLE was not asked for: call MPI_Init_thread")


@case("ranks")
def a_rank_that_dies_by_kill_ends_the_job():
    fails("kill", 137, "killed by signal 9, Killed")


@case("ranks")
def an_exit_code_before_init_ends_the_job():
    fails("exit-before", 3, "ended with code 3")


@case("ranks")
def an_exit_code_after_init_ends_the_job():
    fails("exit-after", 3, "ended with code 3", count=8)


@case("ranks")
def leaving_without_finalize_is_a_failure():
    fails("leave", 1, "ended without calling MPI_Finalize")


@case("ranks")
def a_rank_that_fails_ends_others_that_only_sleep():
    fails("exit-after", 3, "ended with code 3", others="pause")


@case("ranks")
def a_rank_that_fails_ends_others_that_flood_the_output():
    fails("kill", 137, "killed by signal 9, Killed", others="flood")


@case("ranks")
def a_rank_that_fails_ends_others_that_are_stopped():
    fails("kill", 137, "killed by signal 9, Killed", others="stopped")


@case("ranks")
def when_all_fail_one_is_named():
    fails("exit-after", 3, "ended with code 3", others="also", rank=None)


@case("ranks")
def one_of_64_ends_them_all():
    fails("segv", 139, "killed by signal 11, Segmentation fault", count=64)


OVERWRITTEN = "; some rank has overwritten memory of MPI: look for a write outside of an array"


@case("stray")
def a_rank_that_overwrites_the_header_of_the_segment_does_not_take_mpiexec_along():
    fails("scribble-header", 6, "ended with code 6", others="pause")


@case("stray")
def a_rank_that_overwrites_its_slice_is_still_a_failure_of_the_job():
    fails("scribble-slice", 6, "ended with code 6" + OVERWRITTEN, others="pause")


@case("stray")
def a_slice_without_code_and_cause_does_not_make_a_failure_a_success():
    fails("scribble-states", 6, "ended with code 6" + OVERWRITTEN, others="pause")


@case("stray")
def a_rank_cannot_shorten_the_segment_under_the_others():
    fails("truncate", 6, "ended with code 6", others="pause")


@case("stray")
def a_limit_of_file_sizes_below_the_segment_is_told_in_one_line():
    def limit(soft, hard):
        return lambda: resource.setrlimit(resource.RLIMIT_FSIZE, (soft, hard))
    small = 64 * 1024
    mpiexec("-n", 2, "true", preexec_fn=limit(small, resource.RLIM_INFINITY))
    mpiexec("-n", 2, "true", code=1, preexec_fn=limit(small, small),
            says=[r"the memory that ranks share, \d+ bytes: File too large: raise .*ulimit -f"])


@case("stubborn")
def a_rank_that_fails_ends_others_that_ignore_int_and_term():
    fails("kill", 137, "killed by signal 9, Killed", others="ignore")


# ---- a rank fails, and the others go on ----

@case("keep going")
def the_others_go_on_without_a_rank_that_was_killed():
    name = program("fail")
    for how, code, cause in (("kill", 137, "killed by signal 9, Killed"),
                             ("exit-after", 3, "ended with code 3"),
                             ("exit-before", 3, "ended with code 3"),
                             ("leave", 1, "ended without calling MPI_Finalize")):
        done = mpiexec("-n", RANKS, "--keep-going", "--timeout", "0.5", name, how, "pause",
                       code=code, says=[failure(1, name, cause), "--timeout"])
        claim(done.seconds >= 0.5, f"it ended after {done.seconds:.2f} s")


@case("keep going")
def an_error_that_is_fatal_names_the_rank_that_died():
    name = program("fail")
    for how in ("kill", "exit-before"):
        code, cause = (137, "killed by signal 9, Killed") if how == "kill" else (
            3, "ended with code 3")
        told = (r"MPI_Barrier on MPI_COMM_WORLD: MPI_ERR_PROC_ABORTED: rank 1 on \S+ died: "
                + cause)
        mpiexec("-n", RANKS, "--keep-going", name, how, "barrier", code=code,
                says=[failure(1, name, cause),
                      rf"^  rank \d on \S+, which waited for it, ends the job: {told}$"])


@case("keep going")
def each_rank_that_dies_is_named():
    name = program("fail")
    mpiexec("-n", RANKS, "--keep-going", name, "exit-after", "also", code=3,
            says=[failure(None, name, "ended with code 3")] * RANKS)


@case("keep going")
def an_abort_ends_the_others_all_the_same():
    name = program("fail")
    says = [failure(1, name, ".*MPI_Abort.*5.*")]
    each_time(lambda _: mpiexec("-n", RANKS, "--keep-going", name, "abort-5", "pause",
                                code=5, says=says).seconds)


# ---- a rank ends the job ----

@case("stubborn")
def abort_is_explained_even_if_the_rank_cannot_tell_mpiexec():
    fails("mute", 5, "MPI_Abort on MPI_COMM_WORLD with code 5")


@case("abort")
def when_all_abort_one_is_named():
    fails("abort-5", 5, "MPI_Abort on MPI_COMM_WORLD with code 5", "also", 8, rank=None)


@case("abort")
def abort_from_a_second_thread_gives_its_code():
    fails("thread", 5, "MPI_Abort on MPI_COMM_WORLD with code 5")


@case("abort")
def abort_gives_its_code_at_8_ranks():
    fails("abort-77", 77, "MPI_Abort on MPI_COMM_WORLD with code 77", count=8)


@case("abort")
def abort_with_0_is_1():
    fails("abort-0", 1, "MPI_Abort on MPI_COMM_WORLD with code 0")


@case("abort")
def abort_with_256_is_1():
    fails("abort-256", 1, "MPI_Abort on MPI_COMM_WORLD with code 256")


@case("abort")
def abort_ends_others_that_flood_the_output():
    fails("abort-5", 5, "MPI_Abort on MPI_COMM_WORLD with code 5", others="flood")


@case("abort")
def a_fatal_error_names_the_call_and_the_class():
    fails("comm", 5, "MPI_Barrier: MPI_ERR_COMM: .+")


# ---- what ranks have started ----

IGNORES_TERM = f"(trap '' TERM; exec sleep {FOR_EVER}) & "
OWN_SESSION = f"setsid sleep {FOR_EVER} & "
NOHUP = f"nohup sleep {FOR_EVER} >/dev/null 2>&1 & "
DAEMON = ("(setsid sh -c \"trap '' TERM HUP INT; "
          f"sleep {FOR_EVER} & exec sleep {FOR_EVER}\" </dev/null >/dev/null 2>&1 &) ; ")
ALL_OF_THEM = IGNORES_TERM + OWN_SESSION + NOHUP + DAEMON
ALL_COUNT = 5  # a daemon has a child


def leaves_nothing(started):
    """A rank that has started these fails; another time, all end well."""
    script = started + f"exec {program('fail')} kill"
    says = [failure(1, "bash", "killed by signal 9, Killed")]

    def once(_):
        well = mpiexec("-n", RANKS, "bash", "-c", started + "exec true")
        done = mpiexec("-n", RANKS, "bash", "-c", script, code=137, says=says)
        return max(well.seconds, done.seconds)
    each_time(once)


@case("descendants")
def a_background_process_that_ignores_term_does_not_stay():
    leaves_nothing(IGNORES_TERM)


@case("descendants")
def a_process_in_its_own_session_does_not_stay():
    leaves_nothing(OWN_SESSION)


@case("descendants")
def a_process_under_nohup_does_not_stay():
    leaves_nothing(NOHUP)


@case("descendants")
def a_daemon_does_not_stay():
    leaves_nothing(DAEMON)


@case("descendants")
def a_rank_that_goes_on_starting_processes_leaves_none():
    script = (f"if test $PMI_RANK = 1; then sleep 0.05; exit 3; fi; trap '' TERM; "
              f"while :; do setsid sleep {FOR_EVER} & sleep 0.005; done")
    says = [failure(1, "bash", "ended with code 3")]
    each_time(lambda _: mpiexec("-n", RANKS, "bash", "-c", script, code=3,
                                says=says).seconds)


@case("descendants")
def a_program_behind_bash_fails_as_if_it_were_not():
    name = program("fail")
    causes = {f"{name} exit-after; exit $?": (3, "ended with code 3"),
              f"{name} leave; exit $?": (1, "ended without calling MPI_Finalize"),
              f"{name} abort-5; true": (5, "MPI_Abort on MPI_COMM_WORLD with code 5")}
    for script, (code, cause) in causes.items():
        says = [failure(1, "bash", cause)]
        each_time(lambda _, s=script, c=code, t=says: mpiexec(
            "-n", RANKS, "bash", "-c", s, code=c, says=t).seconds)


# ---- mpiexec itself is killed ----

BEHIND_BASH = ("bash", "-c", f"sleep {FOR_EVER}; true")


def vanishes(run, since):
    """Seconds from `since` until the last process of a run is gone."""
    gone = wait_until(lambda: not processes_with(run.mark), PATIENCE)
    seconds = time.monotonic() - since
    nothing_is_left(run.mark, run.before)
    claim(gone, f"it takes more than {PATIENCE} s")
    return seconds


def kill_front(run):
    """Kills mpiexec, the process that the user sees; seconds until nothing is left."""
    since = time.monotonic()
    run.send(signal.SIGKILL)
    seconds = vanishes(run, since)
    equal(run.finish().code, 137)
    return seconds


def ready(*words, **settings):
    """A job of which every rank has said that it is ready."""
    run = start("-n", RANKS, *words, **settings)
    run.expect("ready", RANKS)
    return run


@case("killed")
def mpiexec_killed_leaves_nothing():
    each_time(lambda _: kill_front(ready(program("fail"), "never")))


@case("killed")
def mpiexec_killed_leaves_nothing_of_ranks_that_ignore_signals():
    each_time(lambda _: kill_front(ready(program("fail"), "never", "ignore")))


@case("killed")
def mpiexec_killed_leaves_nothing_that_ranks_have_started():
    script = ALL_OF_THEM + f"{program('fail')} never; true"

    def once(_):
        run = ready("bash", "-c", script)
        # For each rank its shell, the program and what it started.
        everybody = OF_MPIEXEC + RANKS * (2 + ALL_COUNT)
        claim(wait_until(lambda: len(processes_with(run.mark)) == everybody, PATIENCE),
              f"not {everybody} but {len(processes_with(run.mark))} processes")
        return kill_front(run)
    each_time(once)


@case("killed")
def mpiexec_killed_while_it_starts_leaves_nothing():
    def once(round_number):
        run = start("-n", 8, *BEHIND_BASH)
        time.sleep((spread(round_number) + 1) / 1000)
        return kill_front(run)
    each_time(once, 8)


@case("killed")
def mpiexec_killed_leaves_nothing_when_nobody_reads_its_output():
    def once(_):
        run = start("-n", RANKS, program("fail"), "never", "flood")
        time.sleep(0.1)  # the pipe is full
        return kill_front(run)
    each_time(once)


@case("killed")
def the_whole_process_group_killed_leaves_nothing():
    def once(_):
        run = start("-n", RANKS, "bash", "-c",
                    f"{OWN_SESSION} echo ready; sleep {FOR_EVER}; true",
                    start_new_session=True)
        run.expect("ready", RANKS)
        since = time.monotonic()
        os.killpg(run.pid, signal.SIGKILL)
        seconds = vanishes(run, since)
        equal(run.finish().code, 137)
        return seconds
    each_time(once)


def kill_both(run):
    """Kills front and keeper; seconds until nothing is left."""
    keeper = run.keeper()
    os.kill(keeper, signal.SIGSTOP)  # it cannot act on the front's end
    since = time.monotonic()
    run.send(signal.SIGKILL)
    os.kill(keeper, signal.SIGKILL)
    seconds = vanishes(run, since)
    equal(run.finish().code, 137)
    return seconds


@case("killed")
def front_and_keeper_killed_together_take_the_ranks_along():
    each_time(lambda _: kill_both(ready(program("fail"), "never", "ignore")))


@case("killed")
def front_and_keeper_killed_together_take_all_along_that_ranks_started():
    for words in (("bash", "-c", f"{OWN_SESSION} {DAEMON} echo ready; sleep {FOR_EVER}"),
                  (mpiexec_path(), "-n", 1, "bash", "-c",
                   f"{OWN_SESSION} echo ready; sleep {FOR_EVER}")):
        each_time(lambda _, words=words: kill_both(ready(*words)))


@case("killed")
def the_guard_killed_changes_nothing():
    run = ready("bash", "-c", f"{OWN_SESSION} echo ready; test $PMI_RANK != 0 || read -r _",
                stdin=subprocess.PIPE)

    def guards():
        return [pid for pid in processes_with(run.mark) if name_of(pid) == "weft-guard"]
    claim(wait_until(lambda: len(guards()) == 1, PATIENCE), "there is no guard")
    guard = guards()[0]
    equal(Path(f"/proc/{guard}/cmdline").read_bytes().rstrip(b"\0"), b"weft-guard")
    os.kill(guard, signal.SIGKILL)
    run.end(given=b"go on\n")


@case("killed")
def the_keeper_killed_ends_the_job():
    script = ALL_OF_THEM + f"{program('fail')} never; true"

    def once(_):
        run = ready("bash", "-c", script)
        since = time.monotonic()
        os.kill(run.keeper(), signal.SIGKILL)
        run.end(137, ["^mpiexec: the keeper of the job was killed by signal 9"])
        return time.monotonic() - since
    each_time(once)


@case("killed")
def the_keeper_killed_while_it_starts_ends_the_job():
    def once(round_number):
        run = start("-n", 8, *BEHIND_BASH)
        keeper = run.keeper()
        time.sleep(spread(round_number) / 1000)
        since = time.monotonic()
        os.kill(keeper, signal.SIGKILL)
        run.end(137, ["^mpiexec: the keeper of the job was killed by signal 9"])
        return time.monotonic() - since
    each_time(once, 8)


# ---- mpiexec is asked to end ----

def ended_by(number, others):
    """A signal to mpiexec ends ranks that do this; seconds until it has."""
    run = ready(program("fail"), "never", others)
    since = time.monotonic()
    run.send(number)
    run.end(128 + number, [f"^mpiexec: {signal.strsignal(number)}: ending the job"])
    return time.monotonic() - since


@case("asked")
def sigterm_ends_ranks_that_wait():
    each_time(lambda _: ended_by(signal.SIGTERM, "barrier"))


@case("asked")
def sigint_ends_ranks_that_are_stopped():
    each_time(lambda _: ended_by(signal.SIGINT, "stopped"))


@case("stubborn")
def sigterm_ends_ranks_that_ignore_it():
    each_time(lambda _: ended_by(signal.SIGTERM, "ignore"))


# A rank with a second thread, which anybody may trace.
TRACED = """
import ctypes, threading, time
ctypes.CDLL(None).prctl(0x59616d61, ctypes.c_ulong(-1))
threading.Thread(target=lambda: (print(threading.get_native_id(), flush=True),
                                 time.sleep(600))).start()
time.sleep(600)
"""


@case("stubborn")
def a_rank_that_cannot_be_killed_is_named_and_left():
    """A process stays as long as a thread of it is traced and the tracer has not heard of its
    end."""
    seize, every_kind = 0x4206, 0x40000000
    trace = ctypes.CDLL(None, use_errno=True).ptrace
    trace.argtypes = [ctypes.c_long, ctypes.c_long, ctypes.c_void_p, ctypes.c_void_p]
    run = start("-n", 1, sys.executable, "-c", TRACED)
    thread = int(run.read_line())
    if trace(seize, thread, None, None) != 0:
        run.abandon()
        claim(ctypes.get_errno() == errno.EPERM, os.strerror(ctypes.get_errno()))
        return  # this system lets nobody trace
    run.send(signal.SIGTERM)
    claim(b"Terminated" in run.process.stderr.readline(), "SIGTERM is not told of")
    run.send(signal.SIGTERM)
    done = run.finish()
    os.waitpid(thread, every_kind)
    done.hold(143, [rf"^mpiexec: rank 0 on {re.escape(HOST)} \(process \d+\) cannot be killed: its "
                    r"state is Z( \(.*\))?, see proc\(5\); the job ends without it$",
                    "some processes cannot be killed"])
    nothing_is_left(run.mark, run.before, PATIENCE)


@case("asked")
def a_guard_that_is_stopped_does_not_hold_up_the_end():
    run = ready(program("fail"), "never", "pause")
    guards = [pid for pid in processes_with(run.mark) if name_of(pid) == "weft-guard"]
    equal(len(guards), 1, "guards")
    os.kill(guards[0], signal.SIGSTOP)
    run.send(signal.SIGTERM)
    run.end(143, says=["Terminated"])


@case("asked")
def a_second_sigterm_does_not_wait():
    def once(_):
        run = ready(program("fail"), "never", "ignore")
        run.send(signal.SIGTERM)
        line = run.process.stderr.readline()
        claim(b"Terminated" in line, repr(line))
        since = time.monotonic()
        run.send(signal.SIGTERM)
        run.end(143)
        return time.monotonic() - since + 1.2  # that is, 0.8 s: less than the grace
    each_time(once)


@case("asked")
def two_sigints_end_the_job_even_if_the_keeper_hangs():
    def once(_):
        run = ready(program("fail"), "never", "ignore")
        os.kill(run.keeper(), signal.SIGSTOP)
        since = time.monotonic()
        run.send(signal.SIGINT)
        # Two signals that come at once are one: pressed until it has been seen twice.
        while run.process.poll() is None and time.monotonic() - since < PATIENCE:
            time.sleep(0.05)
            run.send(signal.SIGINT)
        run.end(130)
        return time.monotonic() - since
    each_time(once)


if __name__ == "__main__":
    sys.exit(main())
