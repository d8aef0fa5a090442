"""refused.py - mpiexec, its daemons and the wire-up of ranks, while calls are refused (refuse.c).

The cases are those of ../../launch and ../../hosts, and are called in the same way (common.py). The
groups "here", on one host, and "there", on several, hold a choice of these cases: each call is refused
once before it succeeds, so that every place that sends has been refused, again and again. The group
"by chance" refuses one call in ten. Any other group of those scripts can be named, too; REFUSE in the
environment (refuse.c) then says which calls are refused.
"""

import os
import shutil
import sys
import tempfile
from pathlib import Path

TESTS = Path(__file__).resolve().parent.parent.parent
sys.path += [str(TESTS / "launch"), str(TESTS / "hosts")]

import common
import crash
import hang
import hosts
import mpiexec as here
from common import case, claim, equal, program
from lab import skip_without_means

EVERY = "1 1"
SOME = "20 10"

# The command that starts a daemon names the library, because ssh passes no environment on.
SSH = """#!/bin/sh
for word; do
    case $word in
    */mpiexec)
        set -- "$@" env "LD_PRELOAD=$LD_PRELOAD" "REFUSE='$REFUSE'" "REFUSE_LOG=$REFUSE_LOG" \\
            "'PATH=$PATH'"
        ;;
    esac
    set -- "$@" "$word"
    shift
done
exec SSH "$@"
"""


def under(refuse, cases):
    """The same cases with this value of REFUSE, under names of their own."""
    def wrap(function, name):
        def run():
            common.everywhere["REFUSE"] = refuse
            function()
        run.__name__ = f"{name}_{function.__name__}"
        return run
    name = "refused" if refuse == EVERY else "now_and_then_refused"
    return [wrap(function, name) for function in cases]


def words_of_several_hundred_ranks_are_looked_up():
    for words in ((), ("half",)):
        done = common.mpiexec("-n", 200, "--bind-to", "none", program("keys"), *words)
        equal(len(done.lines()), 200)


def words_of_a_hundred_ranks_are_looked_up_across_hosts():
    done = hosts.run("--hosts", hosts.hosts(1, 2, 3), "-n", 120, "--oversubscribe", "--bind-to",
                     "none", program("keys"))
    equal(len(done.lines()), 120)


def frames_that_are_refused_do_not_wait_for_the_heartbeat():
    """Between two heartbeats the loops of mpiexec and its daemons sleep, at most 20 s."""
    done = hosts.run("--hosts", hosts.hosts(1, 2, 3), "-n", 3, "true",
                     variables={"WEFT_HEARTBEAT": "160"})
    claim(done.seconds < 15, f"it took {done.seconds:.1f} s")


HERE = [
    words_of_several_hundred_ranks_are_looked_up,
    here.standard_output_and_error_stay_apart,
    here.a_line_that_was_begun_is_ended_before_others_speak,
    here.the_line_of_a_failure_tears_no_other,
    here.standard_input_goes_to_rank_0_and_the_others_see_its_end,
    here.stdin_says_which_ranks_read,
    here.every_rank_gets_all_of_much_input,
    here.a_signal_ends_mpiexec_that_waits_for_its_reader,
    here.what_was_asked_for_and_cannot_be_done_is_refused,
    here.timeout_ends_the_job_with_124,
    hang.weft_top_shows_a_job_as_often_as_it_asks,
    crash.when_all_abort_one_is_named,
    crash.abort_from_a_second_thread_gives_its_code,
    crash.abort_ends_others_that_flood_the_output,
]
THERE = [
    frames_that_are_refused_do_not_wait_for_the_heartbeat,
    words_of_a_hundred_ranks_are_looked_up_across_hosts,
    hosts.ranks_meet_across_hosts,
    hosts.a_rank_that_fails_is_named_where_ranks_are_in_turn,
    hosts.much_output_is_complete_and_a_slow_reader_waits,
    hosts.input_for_all_hosts_waits_for_the_slowest_rank,
    hosts.a_second_program_has_a_world_of_its_own,
    hosts.a_signal_ends_a_job_whose_ranks_have_ended_while_nobody_reads,
    hosts.a_password,
    hosts.an_unknown_host,
    hosts.a_daemon_that_is_asked_to_end_says_so,
]
BY_CHANCE = [
    here.a_label_is_before_every_line_and_nowhere_else,
    here.much_input_arrives_whole,
    hosts.words_are_looked_up_where_ranks_are_in_turn,
    hosts.output_of_other_hosts_comes_in_whole_lines,
]
PIPES = ("pipe read again", "pipe read half", "pipe write again", "pipe write half")
SOCKETS = ("socket recv again", "socket recv half", "socket send again", "socket send half")
EXPECTED = {  # how the lines begin that REFUSE_LOG must have
    "here": [("mpiexec", *PIPES, *SOCKETS), ("rank", "socket read half", "socket send half")],
    "there": [("mpiexec", *PIPES), ("daemon", *PIPES, *SOCKETS, "socket sendmsg")],
}


def choose():
    for group, cases in (("here", HERE), ("there", THERE)):
        for function in under(EVERY, cases):
            case(group)(function)
    for function in under(SOME, BY_CHANCE):
        case("by chance")(function)


def say_what_was_refused(log, group):
    """True if each kind of call that the group expects was refused at least once."""
    met = sorted(set(log.read_text().splitlines())) if log.exists() else []
    expected = [f"{who} {what}" for who, *kinds in EXPECTED.get(group, []) for what in kinds]
    missing = [start for start in expected if not any(line.startswith(start) for line in met)]
    print(f"refused: {', '.join(met)}", *(f"never refused: {what}" for what in missing), sep="\n")
    return not missing


def main():
    group = sys.argv[sys.argv.index("--group") + 1] if "--group" in sys.argv else ""
    choose()
    with tempfile.TemporaryDirectory(prefix="refused-") as name:
        folder = Path(name)
        folder.chmod(0o755)
        way, log = folder / "ssh", folder / "log"
        way.write_text(SSH.replace("SSH \"$@\"", f"{shutil.which('ssh')} \"$@\""))
        way.chmod(0o755)
        os.environ["PATH"] = f"{folder}:{os.environ['PATH']}"
        [library] = [word for word in sys.argv if word.endswith("/refuse.so")]
        common.everywhere |= {"LD_PRELOAD": os.path.abspath(library), "REFUSE_LOG": str(log),
                              "REFUSE": os.environ.get("REFUSE", SOME)}
        code = common.main()
        return 0 if say_what_was_refused(log, group) and code == 0 else 1


if __name__ == "__main__":
    if "here" in sys.argv:
        ended = main()
    else:
        skip_without_means()
        with hosts.lab:
            ended = main()
    sys.exit(ended)
