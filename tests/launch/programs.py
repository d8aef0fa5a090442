"""programs.py - ranks that run several MPI programs, one after the other.

See common.py for how cases are written and called.
"""

import sys

from common import case, claim, equal, failure, main, mpiexec, program, start

FEWER = "has ended after fewer MPI programs than other ranks have begun: .*"
UNFINISHED = "has begun an MPI program, while its last one still runs .*"


def script(text):
    """A rank that is a shell script; {ring} stands for the program."""
    return ("sh", "-c", text.format(ring=program("ring")))


def said_by(count, *words):
    """What `count` ranks say that have run a program for each of these words."""
    return sorted(f"{word} {rank} of {count}" for word in words for rank in range(count))


@case("same")
def a_second_program_has_a_world_of_its_own():
    for count in (2, 5):
        done = mpiexec("-n", count, *script("{ring} first && {ring} second"))
        equal(done.lines(), said_by(count, "first", "second"))


@case("same")
def messages_that_a_program_has_not_received_are_gone_with_it():
    done = mpiexec("-n", 2, *script("{ring} a unread && {ring} b unread && {ring} c"))
    equal(done.lines(), said_by(2, "a", "b", "c"))


@case("same")
def twenty_programs_follow_each_other():
    words = [f"p{number}" for number in range(20)]
    done = mpiexec("-n", 2, *script(f"for w in {' '.join(words)}; "
                                    "do {ring} $w || exit 1; done"))
    equal(done.lines(), said_by(2, *words))


@case("same")
def each_program_of_a_job_of_several_knows_its_number_again():
    both = script("{ring} a && {ring} b")
    done = mpiexec("-n", 1, "env", "EXPECTED_APPNUM=0", *both,
                   ":", "-n", 1, "env", "EXPECTED_APPNUM=1", *both)
    equal(done.lines(), said_by(2, "a", "b"))


@case("same")
def connections_of_a_second_program_are_new_ones():
    done = mpiexec("-n", 2, *script("{ring} a && {ring} b && {ring} c"),
                   variables={"WEFT_TRANSPORT": "msg"})
    equal(done.lines(), said_by(2, "a", "b", "c"))


@case("same")
def a_rank_may_be_late_for_the_next_program():
    late = script("{ring} a && ([ $PMI_RANK = 0 ] || sleep 0.3) && {ring} b")
    equal(mpiexec("-n", 3, *late).lines(), said_by(3, "a", "b"))


@case("uneven")
def a_rank_that_leaves_a_program_out_ends_the_job():
    early = script("{ring} a && ([ $PMI_RANK = 1 ] || {ring} b)")
    mpiexec("-n", 2, *early, code=1, says=[failure(1, "sh", FEWER)])


@case("uneven")
def a_rank_that_has_ended_before_the_others_begin_is_missed_too():
    late = script("{ring} a && ([ $PMI_RANK = 1 ] || (sleep 0.3; {ring} b))")
    mpiexec("-n", 2, *late, code=1, says=[failure(1, "sh", FEWER)])


@case("uneven")
def with_keep_going_the_others_hear_of_it():
    late = script("{ring} a && ([ $PMI_RANK = 1 ] || (sleep 0.3; {ring} b))")
    done = start("--keep-going", "-n", 2, *late).finish()
    claim(done.code != 0, done.err)
    claim(b"died: it has ended before" in done.err, done.err)


@case("uneven")
def a_program_after_one_without_finalize_is_refused_in_one_line():
    done = mpiexec("-n", 2, *script("{ring} a open; {ring} b"), code=1,
                   says=[failure(None, "sh", UNFINISHED)])
    equal([text for text in done.lines() if text.startswith("b")], [], "b has run")


@case("uneven")
def two_programs_at_once_are_refused():
    at_once = script("{ring} a stay & {ring} b stay; wait")
    mpiexec("-n", 2, *at_once, code=1, says=[failure(None, "sh", UNFINISHED)])


if __name__ == "__main__":
    sys.exit(main())
