"""says.py - what a user reads when a program ends badly, or a setting is misspelt.

See common.py for how cases are written and called.
"""

import os
import re
import signal
import sys
import tempfile
from pathlib import Path

from common import (Running, case, claim, equal, failure, main, mpiexec, mpiexec_path,
                    program, read_report, start, wait_until)


def fails(how, code, cause, count=1, rank=None):
    """One line for the failure; what was printed before it is there."""
    name = program("says")
    with tempfile.NamedTemporaryFile() as file:
        done = mpiexec("-n", count, name, how, file.name, code=code,
                       says=[failure(rank, name, cause)])
        return done.lines(), file.read().decode().splitlines()


@case("output")
def what_was_printed_before_an_abort_is_shown():
    for count in (1, 2, 5):
        printed, written = fails("abort", 7, "MPI_Abort on MPI_COMM_WORLD with code 7", count)
        claim("before" in printed and "in a file" in written, (printed, written))


@case("output")
def what_was_printed_before_a_fatal_error_is_shown():
    printed, written = fails("fatal", 6, ".*MPI_Send.*MPI_ERR_RANK.*")
    equal((printed, written), (["before"], ["in a file"]))


@case("output")
def a_stream_that_is_locked_does_not_hold_an_abort_up():
    fails("locked", 7, "MPI_Abort on MPI_COMM_WORLD with code 7")
    fails("handler", 7, "MPI_Abort on MPI_COMM_WORLD with code 7")


@case("output")
def the_same_under_other_launchers_and_alone():
    silence = os.pipe()[0]  # hydra wants an input without an end
    for under in ((), ("mpiexec.hydra", "-launcher", "fork", "-n", 2)):
        done = Running([*under, program("says"), "abort"], stdin=silence).finish()
        claim(done.code != 0 and b"before" in done.out, (under, done.code, done.out))


PRINTED = sorted(["one", "three"] * 3 + [f"two of rank {rank}" for rank in range(3)])


@case("prints")
def a_line_is_seen_while_its_rank_goes_on():
    running = start("-n", 3, program("prints"), "waits")
    equal(sorted(running.read_line() for _ in PRINTED), PRINTED)
    running.send(signal.SIGINT)
    running.end(130, [".*"])


@case("prints")
def no_line_is_lost_by_a_death():
    for how, number in (("kill", 9), ("segv", 11), ("abort", 6)):
        done = mpiexec("-n", 3, program("prints"), how, code=128 + number,
                       says=[failure(1, program("prints"), f"killed by signal {number}, .*")])
        equal(done.lines(), PRINTED, how)


IN_ORDER = b"one\ntwo\nthree\n"
BUFFERED = b"two\none\nthree\n"


@case("prints")
def the_mode_of_a_program_is_its_own():
    for mode, expected in (("full", BUFFERED), ("line", IN_ORDER), ("none", IN_ORDER)):
        equal(mpiexec("-n", 1, program("prints"), "order", mode).out, expected, mode)
    equal(mpiexec("-n", 1, program("prints"), "order").out, IN_ORDER)
    equal(mpiexec("-n", 1, program("prints"), "order", under=(mpiexec_path(), "-n", 1)).out,
          IN_ORDER)


@case("prints")
def what_goes_into_a_file_or_another_program_is_buffered_as_ever():
    with tempfile.NamedTemporaryFile() as file:
        for to in (f"> {file.name}; cat {file.name}", "| cat"):
            script = f"{program('prints')} order {to}"
            equal(mpiexec("-n", 1, "sh", "-c", script).out, BUFFERED, to)


@case("prints")
def python_prints_at_once_unless_the_user_has_said_how():
    show = (sys.executable, "-c", "import os; print('one'); os.write(1, b'two\\n'); "
            "print('three')")
    equal(mpiexec("-n", 1, *show, variables={"PYTHONUNBUFFERED": None}).out, IN_ORDER)
    equal(mpiexec("-n", 1, "-envnone", *show).out, IN_ORDER)
    for word in ("", "0"):
        said = mpiexec("-n", 1, *show, variables={"PYTHONUNBUFFERED": word}).out
        equal(said, BUFFERED, f"PYTHONUNBUFFERED={word}")


@case("prints")
def bytes_pass_as_they_are_beside_standard_error():
    command = (program("prints"), "bytes", 4_000_000)
    alone = Running(command).finish()
    done = start("-n", 1, *command).finish()
    claim(len(alone.out) == 4_000_000 and alone.err, "the program alone")
    equal(done.code, 0)
    claim((done.out, done.err) == (alone.out, alone.err), "bytes differ")


CURE = ": receive more, or send less"


@case("errors")
def a_message_longer_than_its_buffer_is_described():
    short = "rank 1 has sent 400 bytes with tag 5, and the receive has room for 40"
    for how, call in (("recv", "MPI_Recv"), ("posted", "MPI_Wait")):
        fails(how, 15, f"{call} on MPI_COMM_WORLD: MPI_ERR_TRUNCATE: {short}{CURE}", 2, 0)
    fails("waitall", 19, "MPI_Waitall on MPI_COMM_WORLD: MPI_ERR_IN_STATUS: at least one of 2 "
          f"operations failed: {short}", 2, 0)
    fails("collective", 15, "MPI_Bcast .*: rank 1 calls MPI_Bcast of 40 bytes with root 0, but rank 0 "
          "calls MPI_Bcast of 400 bytes with root 0: all members have to make the same calls .*",
          2, 1)


@case("errors")
def a_long_message_is_described_too():
    fails("long", 15, "MPI_Recv .*rank 1 has sent 400000 bytes with tag 5, .* room for 40"
          + CURE, 2, 0)


@case("errors")
def a_type_without_a_name_is_described():
    fails("unnamed", 10, "MPI_Allreduce .*MPI_SUM is not defined for contiguous of "
          "MPI_DOUBLE, 24 bytes: use a type that it is defined for, or MPI_Op_create")
    fails("uncommitted", 3, r"MPI_Send .*the datatype \(contiguous of MPI_DOUBLE, 24 bytes\) "
          "is not committed: call MPI_Type_commit")


def killed(*options, transport="auto"):
    """What is said, line by line, when rank 1 is killed while the others wait for it."""
    running = start(*options, "-n", 5, program("says"), "waits",
                    variables={"WEFT_TRANSPORT": transport})
    running.expect("before")
    pid = int(running.read_line())

    def do_all_wait():
        running.send(signal.SIGUSR1)
        return "4 ranks in MPI_Barrier" in read_report(running)
    claim(wait_until(do_all_wait, 30), "the others do not wait")
    os.kill(pid, signal.SIGKILL)
    done = running.finish()
    equal(done.code, 137, done.err)
    return done.err.decode().splitlines()


def is_death(line):
    return re.match(failure(1, program("says"), "killed by signal 9, Killed"), line)


@case("errors")
def ranks_that_waited_for_the_one_that_failed_are_folded_into_one_line():
    for transport in ("auto", "msg"):  # over connections the others may be heard of first
        lines = killed(transport=transport)
        claim(is_death(lines[0]), lines)
        equal([line for line in lines[1:] if line.startswith("  and ")],
              ["  and 4 ranks that waited for it: 0, 2-4"])


@case("errors")
def a_rank_that_ends_a_job_which_has_gone_on_is_a_consequence():
    lines = killed("--keep-going")
    claim(is_death(lines[0]), lines)
    claim(re.fullmatch(r"  rank [0234] on \S+, which waited for it, ends the job: MPI_Barrier on "
                       r"MPI_COMM_WORLD: MPI_ERR_PROC_ABORTED: rank 1 on \S+ died: killed by "
                       "signal 9, Killed", lines[1]), lines)
    claim(re.fullmatch("  and 3 more ranks that waited for it: .*", lines[2]), lines)
    equal(len(lines), 3, lines)


@case("settings")
def a_misspelt_setting_is_told_once_for_the_job():
    for name, meant in (("WEFT_NETT", "WEFT_NET"), ("WEFT_TRANPSORT", "WEFT_TRANSPORT"),
                        ("weft_log", "WEFT_LOG")):
        mpiexec("-n", 5, program("says"), "nothing", variables={name: "1"},
                says=[f"^mpiexec: {name} is not a setting and has no effect; did you mean "
                      f"{meant}\\?$"])
    mpiexec("-n", 2, program("says"), "nothing", variables={"WEFT_OF_MINE": "1"})
    for option in ("-x", "-env"):  # for all programs, and for one
        words = ("WEFT_LGO=1",) if option == "-x" else ("WEFT_LGO", "1")
        mpiexec(option, *words, "-n", 2, program("says"), "nothing",
                says=[r"^mpiexec: WEFT_LGO is not a setting and has no effect; did you mean "
                      r"WEFT_LOG\?$"])


@case("settings")
def a_misspelt_setting_is_told_once_under_other_launchers():
    silence = os.pipe()[0]  # hydra wants an input without an end
    for under in ((), ("mpiexec.hydra", "-launcher", "fork", "-n", 3)):
        done = Running([*under, program("says"), "nothing"], stdin=silence,
                       variables={"WEFT_LGO": "1", "WEFT_CHECKSUM": "yes"}).finish()
        equal(sorted(done.err.decode().splitlines()),
              ["weft: WEFT_CHECKSUM=yes: the value is not one of 0|1; 0 is used",
               "weft: WEFT_LGO is not a setting and has no effect; did you mean WEFT_LOG?"],
              under)


@case("settings")
def a_value_that_a_setting_does_not_take_is_told_once_for_the_job():
    mpiexec("-n", 5, program("says"), "nothing",
            variables={"WEFT_LOG": "loud", "WEFT_WARM": "soon"},
            says=[r"^mpiexec: WEFT_(LOG|WARM)=.*"] * 2)
    mpiexec("-n", 5, program("says"), "nothing", variables={"WEFT_LOG": "loud"},
            says=[r"^mpiexec: WEFT_LOG=loud: the value is not one of "
                  r"none\|error\|warn\|info\|debug; error is used$"])
    mpiexec("-n", 2, program("says"), "nothing", variables={"WEFT_WARM": "soon"},
            says=[r"^mpiexec: WEFT_WARM=soon: the value is not a number \(milliseconds\); 1000 is "
                  "used$"])


class Settings(tempfile.TemporaryDirectory):
    """A folder of a user with a file of settings: the variables for it, and its path."""

    def __init__(self, text):
        super().__init__()
        self.path = Path(self.name) / "weft/weft.conf"
        self.path.parent.mkdir()
        self.path.write_text(text)

    def __enter__(self):
        return {"XDG_CONFIG_HOME": self.name}, self.path


SHOW = ("sh", "-c", "echo $WEFT_WARM ${WEFT_NET-unset}")


@case("settings")
def ranks_have_what_a_file_says_unless_the_environment_says_more():
    with Settings("WEFT_WARM = 20  # ms\nWEFT_NET = eth7\n") as (user, _):
        for words, variables, expected in (((), {}, "20 eth7"), (("-envnone",), {}, "20 eth7"),
                                           ((), {"WEFT_WARM": "30"}, "30 eth7"),
                                           ((), {"WEFT_NET": ""}, "20"),
                                           (("-genv", "WEFT_NET", "a"), {}, "20 a"),
                                           (("-env", "WEFT_WARM", "4"), {}, "4 eth7")):
            equal(mpiexec(*words, "-n", 2, *SHOW, variables=user | variables).lines(),
                  [expected] * 2, str((words, variables)))
    with Settings("") as (user, path):
        path.unlink()
        equal(mpiexec("-n", 1, *SHOW, variables=user).lines(), ["unset"])


@case("settings")
def a_file_is_found_in_the_home_if_xdg_config_home_names_no_folder():
    with tempfile.TemporaryDirectory() as home:
        path = Path(home) / ".config/weft/weft.conf"
        path.parent.mkdir(parents=True)
        path.write_text("WEFT_WARM = 20\n")
        for name in (None, "", "relative"):
            equal(mpiexec("-n", 1, *SHOW, variables={"HOME": home, "XDG_CONFIG_HOME": name})
                  .lines(), ["20 unset"])


@case("settings")
def what_is_wrong_with_a_file_is_told_once_for_the_job():
    with Settings("WEFT_NETT = eth1\nWEFT_LOG = loud\n") as (user, path):
        says = [rf"^mpiexec: {path}:1: WEFT_NETT is not a setting and has no effect; did you "
                r"mean WEFT_NET\?$", rf"^mpiexec: {path}:2: WEFT_LOG = loud: the value is not "
                "one of .*, and has no effect$"]
        mpiexec("-n", 5, program("says"), "nothing", variables=user, says=says)
        path.chmod(0o666)
        mpiexec("-n", 2, program("says"), "nothing", variables=user,
                says=[f"^mpiexec: {path}: .*: everybody may write it"])


@case("settings")
def a_rank_of_mpiexec_opens_no_file_and_another_does():
    with Settings("") as (user, path):
        # Read by a rank, this would end the job.
        script = f"echo WEFT_COLL = bcast=ring > {path}; exec {program('says')} nothing"
        mpiexec("-n", 3, "sh", "-c", script, variables=user)
        silence = os.pipe()[0]  # hydra wants an input without an end
        path.write_text("WEFT_LGO = 1\nWEFT_WARM = 3\n")
        for under in ((), ("mpiexec.hydra", "-launcher", "fork", "-n", 3)):
            done = Running([*under, program("says"), "nothing"], stdin=silence,
                           variables=user).finish()
            equal(done.err.decode(), f"weft: {path}:1: WEFT_LGO is not a setting and has no "
                  "effect; did you mean WEFT_LOG?\n", under)
            equal(done.code, 0)


@case("settings")
def a_setting_that_differs_between_ranks_ends_the_job():
    name = program("says")
    for setting, other in (("WEFT_COLL", "bcast=split"), ("WEFT_TRANSPORT", "msg")):
        usual = {"WEFT_COLL": "", "WEFT_TRANSPORT": "auto"}[setting]
        mpiexec("-n", 1, "env", f"{setting}={other}", name, "nothing", ":",
                "-n", 1, name, "nothing", code=16,
                says=[f'.*: {setting} is ("{other}" on rank 0 and "{usual}" on rank 1|'
                      f'"{usual}" on rank 1 and "{other}" on rank 0): it must be the same on '
                      "all ranks$"])


@case("settings")
def an_algorithm_that_does_not_exist_ends_the_job():
    mpiexec("-n", 3, program("says"), "nothing", variables={"WEFT_COLL": "bcast=ring"},
            code=16, says=['.*: WEFT_COLL: bcast has no algorithm "ring"; it has flags, '
                           "shared, chain, levels, split, binomial$"])


if __name__ == "__main__":
    sys.exit(main())
