"""mpiexec.py - what mpiexec does with its command line, its streams and its signals.

See common.py for how cases are written and called.
"""

import hashlib
import os
import re
import resource
import select
import shutil
import signal
import subprocess
import sys
import tempfile
import time
from pathlib import Path

from common import (HOST, OF_MPIEXEC, PATIENCE, Running, Terminal, case, claim, equal, failure,
                    is_sanitized, line, lines_are_whole, main, mpiexec, mpiexec_path, program,
                    read_report, start, state_of, wait_until, processes_with)

RANK_OF_SIZE = ("sh", "-c", "echo $PMI_RANK of $PMI_SIZE")
PROCESSORS = sorted(os.sched_getaffinity(0))


def ranks(count, name=""):
    """What `count` ranks say of themselves, sorted as Done.lines() sorts."""
    before = name + " " if name else ""
    return sorted(f"{before}{rank} of {count}" for rank in range(count))


def value_of(name, *options, variables=None):
    """A variable as rank 0 sees it; "unset" if it does not."""
    done = mpiexec(*options, "-n", 1, "sh", "-c", f"echo ${{{name}-unset}}",
                   variables=variables)
    return done.out.decode().rstrip("\n")


class Folder(tempfile.TemporaryDirectory):
    """A folder that is gone afterwards, as a Path."""

    def __enter__(self):
        return Path(super().__enter__()).resolve()


# ---- how many ranks, and of what ----

@case("command line")
def n_and_its_synonyms_give_the_number_of_ranks():
    for option in ("-n", "-np", "--np", "--n", "-c"):
        equal(mpiexec(option, 3, *RANK_OF_SIZE).lines(), ranks(3))


@case("command line")
def without_n_there_is_a_rank_for_each_processor_we_may_use():
    equal(mpiexec(*RANK_OF_SIZE).lines(), ranks(len(PROCESSORS)))
    one = ("taskset", "-c", PROCESSORS[0])
    equal(mpiexec(*RANK_OF_SIZE, under=one).lines(), ranks(1))


@case("command line")
def several_programs_form_one_job():
    words = ("-n", 1, program("probe"), "first", ":", "-n", 2, program("probe"), "second",
             ":", "-np", 1, "sh", "-c", f"exec {program('probe')} third")
    equal(mpiexec(*words).lines(),
          ["first 0 of 4", "second 1 of 4", "second 2 of 4", "third 3 of 4"])
    two = ("-n", 1, *RANK_OF_SIZE, ":", "-n", 2, *RANK_OF_SIZE)
    equal(mpiexec(*two).lines(), ranks(3))


@case("command line")
def each_of_several_programs_needs_its_n():
    says = "^mpiexec: {}: with several programs each needs its -n$"
    mpiexec("-n", 2, "true", ":", "false", code=2, says=[says.format("false")])
    mpiexec("true", ":", "-n", 2, "false", code=2, says=[says.format("true")])


@case("command line")
def more_ranks_than_cores_and_root_need_no_flag():
    equal(mpiexec("-n", 16, program("probe"), "hello").lines(), ranks(16, "hello"))


@case("command line")
def a_wrong_command_line_is_refused_in_one_line():
    wrong = [
        (["-n", "0", "true"], "^mpiexec: -n 0: the number of ranks"),
        (["-n", "x", "true"], "^mpiexec: -n x: the number of ranks"),
        (["-n", "2x", "true"], "^mpiexec: -n 2x: the number of ranks"),
        (["-n", "-1", "true"], "^mpiexec: -n -1: the number of ranks"),
        (["-n"], "^mpiexec: -n: a value must follow"),
        (["-env", "A"], "^mpiexec: -env: a value must follow"),
        (["--frobnicate", "true"], "^mpiexec: --frobnicate: unknown option; mpiexec"),
        (["--bindto", "true"], "--bindto: unknown option; is --bind-to meant[?]"),
        (["-hostfiel", "true"], "-hostfiel: unknown option; is --hostfile meant[?]"),
        (["--cpu-per-rank", "true"], "option; is --cpus-per-rank meant[?]"),
        (["-z", "true"], "^mpiexec: -z: unknown option; mpiexec --help"),
        (["--bind-to", "moon", "true"], "^mpiexec: --bind-to moon: .*core, core:K, hwthread"),
        (["--map-by", "moon", "true"], "^mpiexec: --map-by moon: Weft knows block"),
        (["--rank-by", "node", "true"], "^mpiexec: --rank-by node: "),
        (["--cpus-per-rank", "0", "true"], "^mpiexec: --cpus-per-rank 0: the number of cores"),
        (["-launcher", "rsh", "true"], "^mpiexec: -launcher rsh: .*WEFT_RSH"),
        (["--timeout", "soon", "true"], "^mpiexec: --timeout soon: the time"),
        (["--timeout", "0", "true"], "^mpiexec: --timeout 0: the time"),
        ([], "^mpiexec: no program"),
        (["-n", "2"], "^mpiexec: no program"),
        (["-n", "2", "true", ":"], "^mpiexec: no program"),
        ([":", "-n", "2", "true"], "^mpiexec: no program"),
    ]
    for words, pattern in wrong:
        equal(mpiexec(*words, code=2, says=[pattern]).out, b"")


@case("command line")
def help_and_version_are_answered():
    claim(b"usage: mpiexec" in mpiexec("--help").out, "--help")
    claim(b"usage: mpiexec" in mpiexec("-h").out, "-h")
    claim(re.match(rb"mpiexec of Weft \d", mpiexec("--version").out), "--version")


@case("command line")
def mpirun_is_the_same_program():
    with Folder() as folder:
        (folder / "mpirun").symlink_to(mpiexec_path())
        run = Running([folder / "mpirun", "-n", 2, *RANK_OF_SIZE])
        equal(run.end().lines(), ranks(2))
        Running([folder / "mpirun", "-n", "x"]).end(2, ["^mpirun: -n x: "])


@case("command line")
def two_dashes_end_the_options():
    equal(mpiexec("-n", 2, "--", *RANK_OF_SIZE).lines(), ranks(2))


# ---- where and with what environment ----

@case("environment")
def the_environment_is_passed_on():
    equal(value_of("SOME_WORD", variables={"SOME_WORD": "a b=c"}), "a b=c")


@case("environment")
def genv_and_x_set_for_all_programs_and_env_for_one():
    show = ("sh", "-c", "echo $PMI_RANK $A $B $C")
    done = mpiexec("-genv", "A", "all", "-x", "B=too", "-env", "C", "one", "-n", 1, *show,
                   ":", "-n", 1, *show)
    equal(done.lines(), ["0 all too one", "1 all too"])


@case("environment")
def what_is_set_later_and_nearer_counts():
    old = {"A": "inherited"}
    equal(value_of("A", "-genv", "A", "all", variables=old), "all")
    equal(value_of("A", "-env", "A", "one", "-genv", "A", "all", variables=old), "one")
    equal(value_of("A", "-x", "A=1", "-x", "A=2", variables=old), "2")


@case("environment")
def x_with_a_name_passes_it_on():
    old = {"A": "inherited", "B": "too"}
    equal(value_of("A", "-x", "A", variables=old), "inherited")
    equal(value_of("A", "-envnone", "-x", "A", variables=old), "inherited")
    equal(value_of("B", "-envnone", "-x", "A", variables=old), "unset")


@case("environment")
def envnone_and_envlist_pass_only_what_is_named():
    old = {"A": "1", "B": "2", "C": "3"}
    show = ("/bin/sh", "-c", "echo ${A-unset} ${B-unset} ${C-unset} $D")
    equal(mpiexec("-n", 1, "-envnone", *show, variables=old).out, b"unset unset unset\n")
    equal(mpiexec("-n", 1, "-envlist", "A,C", *show, variables=old).out, b"1 unset 3\n")
    equal(mpiexec("-n", 1, "-envnone", "-env", "D", "4", *show, variables=old).out,
          b"unset unset unset 4\n")


@case("environment")
def variables_of_another_launcher_do_not_reach_the_ranks():
    stale = {name: "stale" for name in (
        "PMI_FD", "PMI_RANK", "PMI_SIZE", "PMI_PORT", "PMI_ID", "PMI_JOBID",
        "PMI_SPAWNED", "PMIX_NAMESPACE", "PMIX_RANK", "PMIX_SERVER_URI41", "WEFT_JOB",
        "WEFT_INSIDE", "WEFT_STDOUT", "MPI_LOCALRANKID", "MPI_LOCALNRANKS")}
    done = mpiexec("-n", 2, "env", variables=stale)
    equal([text for text in done.lines() if text.endswith("=stale")], [])
    equal(mpiexec("-n", 2, program("probe"), "hello", variables=stale).lines(),
          ranks(2, "hello"))


@case("environment")
def wdir_is_where_a_program_runs():
    with Folder() as one, Folder() as two:
        done = mpiexec("-wdir", one, "-n", 1, "pwd", ":", "-wd", two, "-n", 1, "pwd")
        equal(done.lines(), sorted([str(one), str(two)]))


@case("environment")
def the_limit_of_descriptors_is_that_of_the_caller():
    def lower():
        resource.setrlimit(resource.RLIMIT_NOFILE, (256, 4096))
    show = ("sh", "-c", "ulimit -Sn; ulimit -Hn")
    equal(mpiexec("-n", 1, *show, preexec_fn=lower).out, b"256\n4096\n")


# ---- which processors ----

def core_of(processor):
    folder = Path(f"/sys/devices/system/cpu/cpu{processor}/topology")
    siblings = folder / "thread_siblings_list"
    return siblings.read_text() if siblings.exists() else str(processor)


def socket_of(processor):
    file = Path(f"/sys/devices/system/cpu/cpu{processor}/topology/physical_package_id")
    return file.read_text() if file.exists() else "0"


CORES = len({core_of(processor) for processor in PROCESSORS})
SOCKETS = len({socket_of(processor) for processor in PROCESSORS})
AFFINITY = ("python3", "-c", "import os; print(sorted(os.sched_getaffinity(0)))")
# Where no other job on this machine is seen: claims of cores belong to a network namespace.
ALONE = ("unshare", "-rn")


def processors_in(lines):
    """The lists of numbers that AFFINITY has printed."""
    return [[int(number) for number in re.findall(r"\d+", text)] for text in lines]


def ranges(numbers):
    """A list "0, 1, 3" as mpiexec writes it: "0-1,3"."""
    found = []
    for number in map(int, numbers.split(",")):
        if found and number == found[-1][1] + 1:
            found[-1][1] = number
        else:
            found.append([number, number])
    return ",".join(str(a) if a == b else f"{a}-{b}" for a, b in found)


def affinities(*words, under=(), **settings):
    """The processors of each rank, in no order, of a job that is alone on the machine."""
    done = mpiexec(*words, *AFFINITY, under=(*ALONE, *under), **settings)
    return processors_in(done.lines())


def are_apart(sets):
    every = [processor for one in sets for processor in one]
    return len(every) == len(set(every)) and set(every) <= set(PROCESSORS)


@case("placement")
def as_many_ranks_as_cores_have_one_each():
    claim(CORES >= 2, "this machine has a single core: there is nothing to place")
    for words in (["-n", CORES], ["-n", CORES, "--bind-to", "core"], ["-n", 2]):
        claim(are_apart(affinities(*words)), f"{words}: ranks share a core")


@case("placement")
def a_single_rank_and_more_ranks_than_processors_are_not_bound():
    equal(affinities("-n", 1), [PROCESSORS])
    many = len(PROCESSORS) + 1
    equal(affinities("-n", many), [PROCESSORS] * many)


@case("placement")
def a_single_rank_is_bound_when_it_is_asked_for():
    claim(len(affinities("-n", 1, "--bind-to", "core")[0]) < len(PROCESSORS), "not bound")


@case("placement")
def bind_to_none_binds_nobody():
    equal(affinities("-n", 2, "--bind-to", "none"), [PROCESSORS] * 2)


@case("placement")
def ranks_stay_on_the_processors_that_mpiexec_has():
    one = PROCESSORS[-1]
    equal(affinities("-n", 2, under=("taskset", "-c", one)), [[one]] * 2)


@case("placement")
def what_was_asked_for_and_cannot_be_done_is_refused():
    many = CORES + 1
    why = rf"^mpiexec: ranks cannot be bound as asked: .* {many} cores, but .* {CORES};"
    for words in (["-n", many, "--bind-to", "core"], ["-n", 1, "--cpus-per-rank", many],
                  ["-n", 1, "--map-by", f"slot:PE={many}"],
                  ["-n", many, "--map-by", "core"]):
        mpiexec(*words, program("fail"), "never", under=ALONE, code=2, says=[why])
    mpiexec("-n", 2, "--map-by", "ppr:1:node", "true", code=2, says=["only 1:"])


@case("placement")
def a_rank_is_as_wide_as_its_threads():
    claim(CORES >= 2, "this machine has a single core: there is nothing to place")
    both = [PROCESSORS[:2]] if CORES == len(PROCESSORS) == 2 else None
    for words, variables in ((["--cpus-per-rank", 2], None),
                             (["--map-by", "slot:PE=2"], {"OMP_NUM_THREADS": "1"}),
                             (["--bind-to", "core"], {"OMP_NUM_THREADS": "2,4"}),
                             (["--bind-to", "core", "-genv", "OMP_NUM_THREADS", 2], None)):
        got = affinities("-n", 1, *words, variables=variables)
        claim(len({core_of(p) for p in got[0]}) == 2, f"{words} {variables}: {got}")
        claim(both in (None, got), f"{words}: {got}")
    equal(affinities("-n", CORES, variables={"OMP_NUM_THREADS": "2"}),
          [PROCESSORS] * CORES, "ranks that are too wide are not bound")


@case("placement")
def without_n_there_are_as_many_ranks_as_fit_with_their_threads():
    threads = {"OMP_NUM_THREADS": str(len(PROCESSORS))}
    equal(mpiexec(*RANK_OF_SIZE, variables=threads).lines(), ranks(1))
    equal(mpiexec("--map-by", "ppr:3:node", *RANK_OF_SIZE).lines(), ranks(3))
    threads = {"OMP_NUM_THREADS": str(10 * len(PROCESSORS))}
    equal(mpiexec(*RANK_OF_SIZE, variables=threads).lines(), ranks(1))


@case("placement")
def two_jobs_at_once_do_not_share_a_core():
    claim(CORES >= 2, "this machine has a single core: there is nothing to place")
    held = "echo $(grep Cpus_allowed_list /proc/self/status); read x || true"
    job = f"{mpiexec_path()} -n 1 --bind-to core sh -c '{held}' <&3 &"
    script = f"exec 3<&0; {job} {job} wait"
    for _ in range(10):
        run = Running([*ALONE, "sh", "-c", script], stdin=subprocess.PIPE)
        told = sorted(run.read_line() for _ in range(2))
        run.end(given=b"\n\n")
        claim(told[0] != told[1], f"both have {told[0]}")


@case("placement")
def a_job_inside_a_bound_rank_shares_its_cores():
    claim(CORES >= 2, "this machine has a single core: there is nothing to place")
    inner = f"{mpiexec_path()} -n {CORES} --bind-to core {AFFINITY[0]} -c '{AFFINITY[2]}'"
    done = mpiexec("-n", 1, "--cpus-per-rank", CORES, "bash", "-c", inner, under=ALONE)
    sets = processors_in(done.lines())
    equal(len(sets), CORES)
    claim(are_apart(sets), sets)


def beside_a_job_on_all_cores(script):
    """Runs a shell script while another job, $!, has claimed every core."""
    job = f"{mpiexec_path()} -n {CORES} --bind-to core sh -c 'echo; sleep 60'"
    with Folder() as folder:
        os.mkfifo(folder / "started")
        before = f"exec 4<>{folder}/started; {job} >&4 & read x <&4; "
        return Running([*ALONE, "sh", "-c", before + script]).finish()


@case("placement")
def a_job_that_finds_the_cores_taken_is_not_bound_and_says_so():
    taken = f"other jobs have taken {CORES} of this host's {CORES}"
    done = beside_a_job_on_all_cores(
        f"{mpiexec_path()} -n 2 --report-bindings true; "
        f"{mpiexec_path()} -n 2 --bind-to core true; echo code $? >&2; kill $!; wait")
    told = [text for text in done.err.decode().splitlines() if "signal" not in text]
    equal(told[0], f"mpiexec: ranks 0-1: not bound: 2 ranks need 2 cores, but {taken}")
    claim(told[1].startswith("mpiexec: ranks cannot be bound as asked") and
          taken in told[1] and told[2] == "code 2", told)


@case("placement")
def a_job_that_was_killed_gives_its_cores_back():
    again = f"{mpiexec_path()} -n {CORES} --bind-to core true"
    done = beside_a_job_on_all_cores(
        f"{again} && echo too early; pkill -KILL -P $!; kill -KILL $!; "
        f"until {again} 2>/dev/null; do :; done; echo free")
    equal(done.out, b"free\n", done.err)


@case("placement")
def report_bindings_says_what_is_so():
    done = mpiexec("-n", 1, "--report-bindings", *AFFINITY,
                   says=["^mpiexec: rank 0: not bound: a single rank has all cores$"])
    equal(done.out.decode(), f"{PROCESSORS}\n")
    bound = r"^mpiexec: rank {}: bound to processors [0-9,-]+ [][|.B]+$"
    done = mpiexec("-n", 2, "--report-bindings", "--label", *AFFINITY, under=ALONE,
                   says=[bound.format(0), bound.format(1)])
    for text in done.out.decode().splitlines():
        rank, processors = re.match(r"\[(\d)\] \[(.*)\]", text).groups()
        told = f"rank {rank}: bound to processors {ranges(processors)} "
        claim(told in done.err.decode(), f"{told!r} is not said: {done.err!r}")


@case("placement")
def ranks_that_are_bound_alike_are_reported_in_one_line():
    mpiexec("-n", 3, "--bind-to", "none", "--report-bindings", "true",
            says=["^mpiexec: ranks 0-2: not bound: --bind-to none$"])
    if SOCKETS == 1:
        mpiexec("-n", CORES, "--bind-to", "socket", "--report-bindings", "true", under=ALONE,
                says=[rf"^mpiexec: ranks 0-{CORES - 1}: bound to processors .* \[B[B|]+\]$"])


@case("placement")
def ranks_are_bound_to_what_the_words_say():
    claim(CORES >= 2, "this machine has a single core: there is nothing to place")
    for words in (["-n", 2, "-bind-to", "core:1"], ["-n", 2, "--bind-to", "hwthread"],
                  ["-n", 2, "--map-by", "hwthread:PE=1"], ["-ppn", 2, "--map-by", "core"],
                  ["--ntasks=2", "--ntasks-per-node=2", "--cpus-per-task=1"],
                  ["-n", 2, "--distribution=cyclic:block"], ["-n", 2, "--cpu-bind=cores"],
                  ["--map-by", "ppr:2:node:PE=1"]):
        got = affinities(*words)
        claim(len(got) == 2 and are_apart(got), f"{words}: {got}")
    for one in affinities("-n", 2, "--bind-to", "hwthread"):
        equal(len(one), 1)
    for words in (["--bind-to", "socket"], ["--bind-to", "numa"], ["--cpu-bind", "sockets"]):
        if SOCKETS == 1:
            equal(affinities("-n", 2, *words), [PROCESSORS] * 2)


@case("placement")
def a_rankfile_says_where_each_rank_is():
    claim(CORES >= 2, "this machine has a single core: there is nothing to place")
    with tempfile.NamedTemporaryFile("w") as file:
        file.write("rank 1=localhost slot=0 # the first core\nrank 0=localhost slot=1\n")
        file.flush()
        words = ("--rankfile", file.name, "--label")
        done = mpiexec(*words, *AFFINITY, under=ALONE)
        first, second = processors_in([text[3:] for text in done.lines()])
        claim(are_apart([first, second]) and min(first) > min(second), done.out)
        mpiexec(*words, "-n", 3, "true", code=2, says=["it has 2 ranks, but the job has 3: "])
        mpiexec(*words, "-ppn", 1, "true", code=2, says=["leave out --map-by"])
        file.write(f"rank 2=localhost slot={10 * CORES}\n")
        file.flush()
        mpiexec(*words, "true", under=ALONE, code=2,
                says=[rf"^mpiexec: ranks cannot be bound as asked: .* core {10 * CORES},"])
        file.write("rank 3=localhost slot=1-0\n")
        file.flush()
        mpiexec(*words, "true", code=2, says=[rf"^mpiexec: {file.name}, line 4: slot=1-0: "])
    mpiexec("--rankfile", "/nonexistent", "true", code=2,
            says=["^mpiexec: /nonexistent: No such file"])


@case("placement")
def a_word_that_weft_does_not_know_is_answered_with_those_it_knows():
    for words, known in ((["--bind-to", "board"], "core, core:K, hwthread"),
                         (["--bind-to", "core:overload-allowed"], "core, core:K, hwthread"),
                         (["-bind-to", "rr"], "core, core:K, hwthread"),
                         (["--map-by", "dist:span"], r"block \(or slot\), cyclic"),
                         (["--distribution=arbitrary"], "block and cyclic"),
                         (["--cpu-bind=rank"], "cores, threads, ldoms")):
        mpiexec(*words, "true", code=2, says=[f"^mpiexec: {words[0].split('=')[0]} .*: Weft knows {known}"])


def has_loaded_hwloc(*words):
    run = start(*words, "sh", "-c", "echo ready; read x || true", stdin=subprocess.PIPE)
    run.read_line()
    maps = Path(f"/proc/{run.keeper()}/maps").read_text()
    run.end(given=b"\n")
    return "libhwloc" in maps


@case("placement")
def hwloc_is_loaded_only_when_something_is_bound():
    claim(has_loaded_hwloc("-n", 2), "binding works without hwloc?")
    for words in (["-n", 1], ["-n", 3], ["-n", 2, "--bind-to", "none"]):
        claim(not has_loaded_hwloc(*words), f"{words}: hwloc is loaded")


# ---- what ranks print ----

@case("output")
def lines_are_never_torn():
    lines_are_whole(mpiexec("-n", 8, program("talk"), "lines", 2000).out, 8, 2000)


@case("output")
def a_label_is_before_every_line_and_nowhere_else():
    text = mpiexec("-n", 4, "--label", program("talk"), "lines", 300).out
    for rank in range(4):
        label = b"[%d] " % rank
        own = [got[len(label):] for got in text.splitlines() if got.startswith(label)]
        equal(own, [line(rank, number) for number in range(300)], f"rank {rank}")
    equal(len(text.splitlines()), 1200)


def long_line_and_others(text, length, count):
    """One line of L in that length, and what two others say beside it."""
    said = text.split(b"\n")
    claim(b"L" * length in said, "the long line is torn")
    said.remove(b"L" * length)
    equal(said[-1], b"")
    for rank in (1, 2):
        own = [got for got in said if got.startswith(bytes([ord("a") + rank]))]
        equal(own, [line(rank, number, 1000) for number in range(count)], f"rank {rank}")


@case("output")
def a_line_of_a_mebibyte_arrives_whole_while_others_print():
    for _ in range(3):
        text = mpiexec("-n", 3, program("talk"), "long", 1 << 20).out
        long_line_and_others(text, 1 << 20, 2000)


@case("output")
def a_long_line_at_the_very_end_arrives_whole():
    slow = ("sh", "-c", "test $PMI_RANK = 0 && sleep 0.05; head -c 150000 /dev/zero |"
            " tr '\\0' $PMI_RANK; echo")
    for _ in range(10):
        said = mpiexec("-n", 4, *slow).lines()
        equal(said, [str(rank) * 150000 for rank in range(4)])


@case("output")
def a_line_that_was_begun_is_ended_before_others_speak():
    talk = ("if test $PMI_RANK = 0; then sleep 0.2; echo short; "
            "else head -c 255000 /dev/zero | tr '\\0' L; echo; fi")
    run = start("-n", 2, "sh", "-c", talk)
    # Nobody reads: the long line fills our pipe, the keeper, and the pipe of its rank.
    claim(wait_until(lambda: len(processes_with(run.mark)) == OF_MPIEXEC, PATIENCE),
          "the ranks go on")
    equal(run.end().out, b"L" * 255000 + b"\nshort\n")


@case("output")
def a_line_that_never_ends_does_not_hold_the_others_up():
    with Folder() as folder:
        done = mpiexec("-n", 3, "-wdir", folder, program("talk"), "unended", 100000)
    hold_beside_unended(done)


@case("output")
def a_progress_bar_does_not_hold_up_those_it_waits_for():
    with Folder() as folder:
        hold_beside_unended(mpiexec("-n", 3, "-wdir", folder, program("talk"), "progress",
                                    100000))


def hold_beside_unended(done):
    said = done.out.split(b"\n")
    for rank in (1, 2):
        own = [got for got in said if got.startswith(bytes([ord("a") + rank]))]
        equal(own, [line(rank, number, 1000) for number in range(2000)], f"rank {rank}")
    equal(done.out.count(b"L"), 100000)


@case("output")
def a_short_line_without_its_end_waits_and_others_go_before_it():
    talk = ("if test $PMI_RANK = 0; then printf a; sleep 0.6; echo c; "
            "else sleep 0.2; echo b; fi")
    equal(mpiexec("-n", 2, "sh", "-c", talk).out, b"b\nac\n")


@case("output")
def one_rank_is_passed_on_byte_for_byte():
    for text in ("a", "a\\n", "a\\nb", "\\n\\n", "\\0001\\0377x\\r", ""):
        expected = subprocess.run(["printf", "%b", text], capture_output=True).stdout
        equal(mpiexec("-n", 1, "printf", "%b", text).out, expected)
    size = 3 << 20
    done = mpiexec("-n", 1, "sh", "-c", f"head -c {size} /dev/zero")
    equal(done.out, bytes(size))


@case("output")
def text_without_a_line_end_is_not_lost():
    equal(mpiexec("-n", 3, "printf", "abc").out, b"abc\nabc\nabc")
    done = mpiexec("-n", 1, "sh", "-c", "echo a; printf b; printf c >&2", says=["^c$"])
    equal((done.out, done.err), (b"a\nb", b"c"))


@case("output")
def standard_output_and_error_stay_apart():
    done = mpiexec("-n", 2, "sh", "-c", "echo out; echo err >&2", says=["^err$"] * 2)
    equal(done.out, b"out\nout\n")


@case("output")
def lines_are_not_torn_where_output_and_error_are_one():
    run = start("-n", 4, program("talk"), "both", 150, stderr=subprocess.STDOUT)
    text = b""
    for part in run.parts(run.process.stdout, 3000):
        text += part
        time.sleep(0.0001)
    run.end()
    said = text[:-1].split(b"\n")
    for rank in range(4):
        expected = [line(rank, number) for number in range(150)]
        own = [got for got in said if got.startswith(bytes([ord("a") + rank]))]
        equal(sorted(own), sorted(expected * 2), f"rank {rank}")
    equal(len(said), 1200)


@case("output")
def the_line_of_a_failure_tears_no_other():
    crash = ("test $PMI_RANK = 0 && { sleep 0.2; exit 3; }; "
             f"{program('talk')} lines 500 >&2")
    run = start("-n", 3, "sh", "-c", crash)
    text = b""
    for part in run.parts(run.process.stderr, 500):
        text += part
        time.sleep(0.0002)
    said = text.split(b"\n")
    told = [got for got in said if b"mpiexec" in got]
    equal(len(told), 1, "one line of mpiexec")
    claim(re.match(failure(0, "sh", "ended with code 3"), told[0].decode()),
          repr(told[0][-200:]))
    run.finish().hold(3, [])
    said = said[:-1] if said[-1] == b"" else said
    for rank in (1, 2):  # the last line may be half: its rank was ended there
        own = [got for got in said if got.startswith(bytes([ord("a") + rank]))][:-1]
        equal(own, [line(rank, number) for number in range(len(own))], f"rank {rank}")


@case("output")
def labels_before_very_short_lines_do_no_harm():
    run = start("-n", 4, "--label", "sh", "-c", "yes '' | head -n 100000")
    time.sleep(0.3)  # everything that can be full is
    said = run.end().lines()
    equal(said, sorted([f"[{rank}] " for rank in range(4)] * 100000))


def resident(pid):
    """Bytes of memory that a process has now."""
    status = Path(f"/proc/{pid}/status").read_text()
    return int(re.search(r"VmRSS:\s+(\d+)", status).group(1)) * 1024


@case("output")
def a_slow_reader_loses_nothing_and_costs_no_memory():
    amount = 20_000_000
    run = start("-n", 8, program("talk"), "flood", amount)
    keeper, count, most = run.keeper(), 0, 0
    slow_end = time.monotonic() + 2
    for part in run.parts(run.process.stdout, 65536):
        count += len(part)
        if time.monotonic() < slow_end:
            time.sleep(0.01)
            most = max(most, resident(keeper))
    run.end()
    claim(count >= 8 * amount, f"only {count} bytes came")
    bound = (1 << 30) if is_sanitized() else 64 << 20
    claim(0 < most < bound, f"the keeper had {most >> 20} MiB")


@case("output")
def a_reader_that_leaves_ends_the_job():
    command = f"{mpiexec_path()} -n 4 yes | head -1; echo ${{PIPESTATUS[0]}}"
    done = Running(["bash", "-c", command]).end()
    equal(done.out, b"y\n141\n")


@case("output")
def a_full_disk_is_named():
    says = ["^mpiexec: standard output: No space left on device"]
    with open("/dev/full", "wb") as full:
        mpiexec("-n", 2, "sh", "-c", "echo text; sleep 60", stdout=full, code=1, says=says)
        for _ in range(20):  # the ranks end before it is known
            mpiexec("-n", 2, "echo", "text", stdout=full, code=1, says=says)


# ---- what rank 0 reads ----

READ_ALL = ("sh", "-c", "echo $PMI_RANK $(cat)")


@case("input")
def standard_input_goes_to_rank_0_and_the_others_see_its_end():
    equal(mpiexec("-n", 3, *READ_ALL, given=b"a word").lines(), ["0 a word", "1", "2"])
    with tempfile.TemporaryFile() as file:
        file.write(b"from a file")
        file.seek(0)
        equal(mpiexec("-n", 2, *READ_ALL, stdin=file).lines(), ["0 from a file", "1"])
    equal(mpiexec("-n", 2, *READ_ALL, stdin=subprocess.DEVNULL).lines(), ["0", "1"])


@case("input")
def much_input_arrives_whole():
    text = bytes(range(256)) * 40_000
    equal(mpiexec("-n", 2, "cat", given=text).out, text)


@case("input")
def closed_descriptors_are_as_good_as_empty_ones():
    words = f"{mpiexec_path()} -n 2 sh -c 'echo $PMI_RANK $(cat)'"
    equal(Running(["sh", "-c", f"{words} <&-"]).end().lines(), ["0", "1"])
    equal(Running(["sh", "-c", f"{words} >&-"]).end().out, b"")
    equal(Running(["sh", "-c", f"{words} 2>&-"]).end().lines(), ["0", "1"])
    equal(Running(["sh", "-c", f"{words} <&- >&- 2>&-"]).end().out, b"")


@case("input")
def a_loop_that_reads_is_not_robbed_of_its_input():
    loop = f"while read x; do echo $x; {mpiexec_path()} -n 2 true; done"
    with tempfile.TemporaryFile() as file:
        file.write(b"one\ntwo\nthree\n")
        file.seek(0)
        done = Running(["bash", "-c", loop], stdin=file).end()
    equal(done.out, b"one\ntwo\nthree\n")


@case("input")
def stdin_says_which_ranks_read():
    for words, expected in ((("--stdin", "none"), ""), (("--stdin", "2"), "2"),
                            (("--stdin=all",), "0123"), (("-s", "0,2-3"), "023"),
                            (("--input", "3"), "3")):
        equal(mpiexec(*words, "-n", 4, *READ_ALL, given=b"a word").lines(),
              [f"{r} a word" if str(r) in expected else str(r) for r in range(4)], str(words))
    for words, expected in ((("--stdin", "none"), ""), (("--stdin", "1"), "1"),
                            (("-s", "all"), "012")):
        with tempfile.TemporaryFile() as file:
            file.write(b"from a file")
            file.seek(0)
            equal(mpiexec(*words, "-n", 3, *READ_ALL, stdin=file).lines(),
                  [f"{r} from a file" if str(r) in expected else str(r) for r in range(3)],
                  str(words))
    equal(mpiexec("--stdin", "all", "-n", 3, *READ_ALL).lines(), ["0", "1", "2"])
    equal(mpiexec("-n", 1, *READ_ALL, ":", "-n", 1, "--stdin", 1, *READ_ALL,
                  given=b"x").lines(), ["0", "1 x"])


@case("input")
def stdin_that_names_no_ranks_is_an_error():
    for value in ("some", "-1", "1-", "3-1", "0,", ",", "", "1;2", "all,1"):
        mpiexec("-n", 4, f"--stdin={value}", "true", code=2,
                says=[f"^mpiexec: --stdin {re.escape(value)}: ranks are named as none, all, 2"
                      " or 0,3-5$"])
    for value in ("4", "0,4", "1-4", "99999999999999999999"):
        mpiexec("-n", 4, "--stdin", value, "true", code=2,
                says=[f"^mpiexec: --stdin {value}: the ranks of this job are 0 to 3$"])


@case("input")
def every_rank_gets_all_of_much_input():
    text = bytes(range(256)) * 20_000
    done = mpiexec("--stdin", "all", "-n", 3, "sh", "-c",
                   "test $PMI_RANK = 1 && sleep 0.3; md5sum", given=text)
    equal(done.lines(), [f"{hashlib.md5(text).hexdigest()}  -"] * 3)


@case("input")
def ranks_that_close_their_input_do_not_hold_up_the_others():
    text = b"".join(b"%d\n" % i for i in range(200_000))
    done = mpiexec("--stdin", "all", "-n", 4, "sh", "-c", "case $PMI_RANK in "
                   "0) exec <&-; sleep 0.3;; 1) exit;; 2) head -c 10 > /dev/null;; 3) cat;; "
                   "esac", given=text)
    equal(done.out, text)


def place_in(file):
    """How far it has been read, by all who share it."""
    return os.lseek(file.fileno(), 0, os.SEEK_CUR)


@case("input")
def a_rank_that_does_not_read_makes_the_others_wait_and_costs_no_memory():
    text = bytes(range(256)) * 20_000
    with tempfile.TemporaryDirectory() as folder, tempfile.TemporaryFile() as file:
        file.write(text)
        file.seek(0)
        go = Path(folder) / "go"
        run = start("--stdin", "all", "-n", 2, "sh", "-c", "test $PMI_RANK = 1 && exec cat; "
                    f"until test -e {go}; do sleep 0.05; done", stdin=file)
        got = run.process.stdout.read(4096)
        claim(wait_until(lambda: place_in(file) >= 65536, 10), "it reads nothing")
        time.sleep(0.3)  # time to read on, which it must not use
        claim(place_in(file) < 1 << 20, f"it has read {place_in(file)} bytes")
        go.touch()
        equal(got + run.end().out, text)


@case("input")
def stdin_none_leaves_the_input_to_others():
    loop = f"while read x; do echo $x; {mpiexec_path()} --stdin none -n 2 cat; done"
    with tempfile.TemporaryFile() as file:
        file.write(b"one\ntwo\nthree\n")
        file.seek(0)
        equal(Running(["bash", "-c", loop], stdin=file).end().out, b"one\ntwo\nthree\n")


# ---- the time that ranks have to end ----

# A checkpoint that takes longer than the second that ranks have without an option.
SLOW_END = "exec 2>/dev/null; trap 'sleep 1.5; echo saved; exit 0' TERM; echo ready; while :; do sleep 0.05; done"


@case("signals")
def ranks_have_the_time_that_grace_says_to_end():
    for options, variables, saved in (([], {}, 0), (["--grace", 60], {}, 2),
                                      ([], {"WEFT_GRACE": "60"}, 2),
                                      (["--grace", 0], {"WEFT_GRACE": "60"}, 0)):
        running = start(*options, "-n", 2, "bash", "-c", SLOW_END, variables=variables)
        running.expect("ready", 2)
        running.send(signal.SIGTERM)
        done = running.end(143, ["Terminated"])
        equal(done.lines(), ["saved"] * saved, f"{options} {variables}")


@case("signals")
def a_grace_that_is_no_time_is_refused():
    for value in ("-1", "soon", "", "nan"):
        mpiexec("--grace", value, "-n", 1, "true", code=2, says=["--grace"])


# ---- a terminal ----

def terminal(*words, **settings):
    return Terminal([mpiexec_path(), *words], **settings)


@case("terminal")
def a_prompt_is_shown_and_answered():
    shown = terminal("-n", 2, "sh", "-c", "test $PMI_RANK = 1 && exit; "
                     "printf 'name? '; read x; echo hello $x")
    time.sleep(0.3)
    shown.expect(b"name? ", PATIENCE)
    shown.type(b"Anna\n")
    shown.expect(b"hello Anna\r\n", PATIENCE)
    equal(shown.end(), (0, ""))


@case("terminal")
def text_that_was_interrupted_has_its_label_again():
    shown = terminal("-n", 2, "--label", "sh", "-c", "if test $PMI_RANK = 0; then "
                     "printf a; sleep 0.8; echo c; else sleep 0.5; echo b; fi")
    equal(shown.end(), (0, "[0] a\n[1] b\n[0] c\n"))


@case("terminal")
def the_end_of_typed_input_reaches_rank_0():
    shown = terminal("-n", 2, "sh", "-c", "echo ready; echo $PMI_RANK $(wc -l)")
    for _ in range(2):
        shown.expect(b"ready\r\n")
    shown.type(b"one\ntwo\n\x04")
    code, text = shown.end()
    equal((code, "0 2" in text), (0, True), text)


@case("terminal")
def what_is_typed_reaches_all_ranks_that_stdin_names():
    shown = terminal("-n", 3, "--stdin", "0,2", "sh", "-c", "echo ready; echo $PMI_RANK $(cat)")
    before = b"".join(shown.expect(b"ready\r\n") for _ in range(3))  # rank 1 may be through
    shown.type(b"one\ntwo\n\x04")
    code, text = shown.end()
    said = (before.decode().replace("\r", "") + text).split()
    equal((code, sorted(said)), (0, sorted("ready ready ready 1 0 one two 2 one two".split())))


NOBODY = ["setpriv", "--reuid=65534", "--regid=65534", "--clear-groups"]


def end_in_unread_terminal(signal_number, under=()):
    """Of a job that prints without end into a terminal of which nothing is read: its ranks have
    to end, and all of it if mpiexec is killed."""
    shown = Terminal([*under, mpiexec_path(), "-n", 2, "sh", "-c", "while echo a line; do :; done"])
    shown.expect(b"a line", PATIENCE)
    time.sleep(0.3)  # likely enough for the terminal to be full
    claim(ranks_of(shown), "there are no ranks")
    os.kill(shown.pid, signal_number)
    if signal_number == signal.SIGKILL:
        claim(wait_until(lambda: not processes_with(shown.mark), PATIENCE), "processes are left")
        equal(shown.end()[0], -signal.SIGKILL)
    else:
        claim(wait_until(lambda: not ranks_of(shown), PATIENCE), "ranks are left")
        equal(shown.end()[0], 128 + signal_number)


@case("terminal")
def a_terminal_that_nobody_reads_does_not_hold_up_the_end():
    for number in (signal.SIGTERM, signal.SIGKILL):
        end_in_unread_terminal(number)


@case("terminal")
def a_terminal_of_another_user_that_nobody_reads_does_not_either():
    """It cannot be opened again."""
    if os.geteuid() == 0:
        for number in (signal.SIGTERM, signal.SIGKILL):
            end_in_unread_terminal(number, NOBODY)


def ends_unread(shown, code):
    """Ends by itself, although nothing is read of its terminal."""
    status = []

    def has_ended():
        pid, *status[:] = os.waitpid(shown.pid, os.WNOHANG)
        return pid != 0

    claim(wait_until(has_ended, PATIENCE), "mpiexec waits for the reader of its terminal")
    equal(os.waitstatus_to_exitcode(status[0]), code)
    os.close(shown.master)


@case("unread")
def a_job_that_is_cut_short_waits_a_while_for_its_reader():
    """After --timeout, and after SIGTERM: without a second signal."""
    words = ["-n", 2, "sh", "-c", "while echo a line; do :; done"]
    timed, asked = terminal("--timeout", 1, *words), terminal(*words)
    for shown in (timed, asked):
        shown.expect(b"a line", PATIENCE)
    os.kill(asked.pid, signal.SIGTERM)
    ends_unread(timed, 124)
    ends_unread(asked, 128 + signal.SIGTERM)


@case("terminal")
def all_that_is_printed_into_a_terminal_of_another_user_comes():
    if os.geteuid() == 0:
        shown = Terminal([*NOBODY, mpiexec_path(), "-n", 1, "seq", 50000])
        equal(shown.end(), (0, "".join(f"{i}\n" for i in range(1, 50001))))


@case("terminal")
def control_c_ends_the_job_in_one_line():
    shown = terminal("-n", 2, program("fail"), "never", "pause")
    for _ in range(2):
        shown.expect(b"ready\r\n")
    shown.type(b"\x03")
    code, text = shown.end()
    equal(code, 130)
    claim(re.fullmatch(r"mpiexec: Interrupt: ending the job.*\n", text), repr(text))


def seconds_of_an_end_by(typed):
    """Of a job whose ranks ignore the signal, after as many Ctrl-C."""
    shown = terminal("-n", 2, program("fail"), "never", "ignore")
    for _ in range(2):
        shown.expect(b"ready\r\n")
    begin = time.monotonic()
    shown.type(b"\x03")
    shown.expect(b"ending the job", PATIENCE)
    for _ in range(typed - 1):
        shown.type(b"\x03")
    equal(shown.end()[0], 130)
    return time.monotonic() - begin


@case("terminal")
def a_second_control_c_ends_it_at_once():
    once, twice = (min(seconds_of_an_end_by(typed) for _ in range(2)) for typed in (1, 2))
    claim(twice < once, f"{twice:.2f} s, and after one Ctrl-C {once:.2f} s")


def is_rank(pid):
    """A rank leads its group; one that ends while we look is none any more."""
    try:
        return (os.getpgid(pid) == pid
                and "PMI_RANK" in Path(f"/proc/{pid}/environ").read_text())
    except (ProcessLookupError, FileNotFoundError, PermissionError):
        return False


def ranks_of(shown):
    """The ranks of a job in a terminal."""
    return [pid for pid in processes_with(shown.mark)
            if pid != shown.pid and is_rank(pid)]


@case("terminal")
def control_z_stops_the_job_and_sigcont_continues_it():
    shown = terminal("-n", 2, "sh", "-c", "test $PMI_RANK = 1 && exit; "
                     "echo ready; read x; echo got $x")
    shown.expect(b"ready\r\n")
    claim(wait_until(lambda: len(ranks_of(shown)) == 1, PATIENCE), "rank 1 has not ended")
    only = ranks_of(shown)
    shown.type(b"\x1a")
    claim(wait_until(lambda: state_of(shown.pid) == "T", PATIENCE), "mpiexec is not stopped")
    claim(wait_until(lambda: [state_of(pid) for pid in only] == ["T"], PATIENCE),
          "rank 0 is not stopped")
    os.kill(shown.pid, signal.SIGCONT)
    claim(wait_until(lambda: state_of(only[0]) == "S", PATIENCE), "rank 0 is not continued")
    shown.type(b"again\n")
    shown.expect(b"got again\r\n")
    equal(shown.end(), (0, ""))


@case("terminal")
def in_the_background_it_leaves_typed_input_alone():
    shown = Terminal(["bash", "--norc", "--noediting", "-i"])
    shown.type(b"PS1= PS2=\n")
    shown.type(f"{mpiexec_path()} -n 1 sh -c 'echo ready; sleep 1; echo done'\n".encode())
    shown.expect(b"ready\r\n")
    shown.type(b"\x1a")
    shown.expect(b"Stopped")
    shown.type(b"bg\n")
    shown.type(b"read word; echo got $word; wait; echo code $?; exit 0\n")
    time.sleep(0.2)
    shown.type(b"for the shell\n")
    shown.expect(b"got for the shell", PATIENCE)
    shown.expect(b"code 0", PATIENCE)
    equal(shown.end()[0], 0)


@case("terminal")
def typed_ahead_input_that_nobody_reads_does_not_block_mpiexec():
    shown = terminal("-n", 2, program("fail"), "never", "pause")
    for _ in range(2):
        shown.expect(b"ready\r\n")
    for _ in range(17):  # a pipe has 16 pages, and each takes one such line
        shown.type(b"x" * 2099 + b"\n")
        time.sleep(0.005)
    shown.type(b"\x03")
    shown.expect(b"ending the job", PATIENCE)
    equal(shown.end()[0], 130)


# ---- signals and time ----

TELL_SIGNALS = ("python3", "-c", """
import signal as s
s.pthread_sigmask(s.SIG_BLOCK, [s.SIGUSR1, s.SIGUSR2])
print("ready", flush=True)
for i in range(2):
    print(s.sigwait([s.SIGUSR1, s.SIGUSR2]).name, flush=True)
""")


@case("signals")
def the_users_signals_reach_every_rank():
    run = start("-n", 3, *TELL_SIGNALS)
    run.expect("ready", 3)
    run.send(signal.SIGUSR1)
    run.expect("SIGUSR1", 3)
    report = read_report(run)
    claim("  3 ranks asleep before MPI_Init: 0-2\n" in report, report)
    run.send(signal.SIGUSR2)
    run.expect("SIGUSR2", 3)
    run.end()


@case("signals")
def the_signal_for_a_report_ends_no_rank():
    run = start("-n", 2, "sh", "-c", "echo ready; exec sleep 60")
    run.expect("ready", 2)
    for _ in range(2):
        run.send(signal.SIGUSR1)
        claim(read_report(run).startswith("mpiexec: SIGUSR1: what the 2 ranks do:\n"), "no head")
    run.send(signal.SIGTERM)
    run.end(143, ["ending the job"])


BLOCK_ALL_FOR_A_WHILE = ("python3", "-c", """
import signal as s, sys
before = s.pthread_sigmask(s.SIG_BLOCK, s.valid_signals())
print("ready", flush=True)
sys.stdin.readline()
s.pthread_sigmask(s.SIG_SETMASK, before)
print("alive", flush=True)
""")

WAIT_IN_A_THREAD = ("python3", "-c", """
import signal as s, sys, threading
s.pthread_sigmask(s.SIG_BLOCK, s.valid_signals())
waits = threading.Thread(target=lambda: print(s.sigwait([s.SIGUSR1]).name, flush=True))
waits.start()
print("ready", flush=True)
sys.stdin.readline()
waits.join()
""")


@case("signals")
def the_signal_for_a_report_ends_no_rank_that_blocks_all_signals_for_a_moment():
    run = start("-n", 1, *BLOCK_ALL_FOR_A_WHILE, stdin=subprocess.PIPE)
    run.expect("ready")
    run.send(signal.SIGUSR1)
    read_report(run)
    equal(run.end(given=b"\n").lines(), ["alive"])


@case("signals")
def the_signal_for_a_report_reaches_a_thread_that_waits_for_it():
    run = start("-n", 1, *WAIT_IN_A_THREAD, stdin=subprocess.PIPE)
    run.expect("ready")

    def is_told():  # its thread may not wait yet
        run.send(signal.SIGUSR1)
        read_report(run)
        return select.select([run.process.stdout], [], [], 0.1)[0]
    claim(wait_until(is_told, 30), "it is not told")
    run.expect("SIGUSR1")
    run.end(given=b"\n")


@case("signals")
def a_signal_that_ends_mpiexec_ends_the_job():
    for number in (signal.SIGTERM, signal.SIGINT, signal.SIGHUP, signal.SIGQUIT):
        run = start("-n", 3, program("fail"), "never", "pause")
        run.expect("ready", 3)
        run.send(number)
        run.end(128 + number, [f"^mpiexec: {signal.strsignal(number)}: ending the job"])


@case("signals")
def a_signal_ends_mpiexec_that_waits_for_its_reader():
    run = start("-n", 4, program("talk"), "flood", 60000)
    claim(wait_until(lambda: len(processes_with(run.mark)) == OF_MPIEXEC, PATIENCE),
          "the ranks go on")
    time.sleep(0.1)
    equal(run.process.poll(), None, "nobody has read, and it has ended")
    run.send(signal.SIGTERM)
    claim(wait_until(lambda: run.process.poll() is not None, PATIENCE), "it goes on waiting")
    run.end(143, ["^mpiexec: Terminated: ending the job$"])


def states(mark):
    return [state_of(pid) for pid in processes_with(mark)]


SAVE_AT_THE_END = ("python3", "-c", """
import os, signal as s, time
s.pthread_sigmask(s.SIG_BLOCK, [s.SIGTERM])
print("ready", flush=True)
if os.environ.get("STOPPED"):
    os.kill(os.getpid(), s.SIGSTOP)
s.sigwait([s.SIGTERM])
time.sleep(0.3)
print("saved")
""")


@case("signals")
def a_rank_may_use_the_second_that_it_has():
    for options in ((), ("-genv", "STOPPED", "yes")):
        run = start("-n", 2, *options, *SAVE_AT_THE_END)
        run.expect("ready", 2)
        if options:
            claim(wait_until(lambda m=run.mark: states(m).count("T") == 2, PATIENCE), "running")
        run.send(signal.SIGTERM)
        equal(run.end(143, ["Terminated: ending the job"]).lines(), ["saved", "saved"])


@case("signals")
def what_the_caller_ignores_is_ignored():
    for number in (signal.SIGHUP, signal.SIGINT):
        run = start("-n", 2, "sh", "-c", "echo ready; sleep 0.3; echo done",
                    preexec_fn=lambda n=number: signal.signal(n, signal.SIG_IGN))
        run.expect("ready", 2)
        run.send(number)
        equal(run.end().lines(), ["done", "done"])


@case("signals")
def a_caller_that_ignores_its_children_does_no_harm():
    def ignore():
        signal.signal(signal.SIGCHLD, signal.SIG_IGN)
    mpiexec("-n", 2, "sh", "-c", "exit $PMI_RANK", code=1, preexec_fn=ignore,
            says=[failure(1, "sh", "ended with code 1")])


@case("signals")
def timeout_ends_the_job_with_124():
    done = mpiexec("-n", 2, "--timeout", "0.5", "sleep", "60", code=124,
                   says=[r"^mpiexec: no end after 0\.5 s \(--timeout\): ending the job$"])
    claim(0.5 <= done.seconds < 30, f"it took {done.seconds:.2f} s")  # not all of its sleep
    mpiexec("-n", 2, "--timeout", "0.5", program("fail"), "never", "ignore", code=124,
            says=["--timeout"])
    mpiexec("-n", 2, "--timeout", "60", "true")


# ---- options that hands bring along ----

@case("options")
def other_launchers_options_for_this_machine_work():
    with Folder() as folder:
        hosts = folder / "hosts"
        hosts.write_text(f"# this machine\n\nlocalhost slots=4\n{HOST}:2\n{HOST}\n")
        for words in (["-host", "localhost"], ["-host", f"{HOST}:4"], ["-H", HOST],
                      ["-hosts", f"localhost,{HOST}"], ["-f", hosts],
                      ["-machinefile", hosts], ["--hostfile", hosts], ["-ppn", 2],
                      ["-N", 2], ["--oversubscribe"], ["--allow-run-as-root"],
                      ["-envall"], ["-genvall"], ["-launcher", "ssh"],
                      ["--map-by", "slot"], ["--map-by", "node"], ["--rank-by", "slot"],
                      ["--map-by", "ppr:2:node"]):
            equal(mpiexec(*words, "-n", 2, *RANK_OF_SIZE).lines(), ranks(2), str(words))


@case("options")
def options_without_a_meaning_here_are_answered_and_the_job_runs():
    for words, said, hint in (
            (["--mca", "btl_tcp_if_include", "lo"], "--mca btl_tcp_if_include", "WEFT_NET"),
            (["-mca", "coll_tuned_use", "1"], "-mca coll_tuned_use", "WEFT_COLL"),
            (["--mca", "no_such", "1"], "--mca no_such", "weft-info --settings"),
            (["--use-hwthread-cpus"], None, "--bind-to hwthread"),
            (["--display", "map"], None, "--report-bindings"),
            (["--timestamp-output"], None, "ts, of moreutils"),
            (["--merge-stderr-to-stdout"], None, "2>&1"),
            (["--prefix", "/usr"], None, "--ship"),
            (["--tune", "x"], None, "weft.conf"), (["--am", "x"], None, "weft.conf"),
            (["-rmk", "slurm"], None, "allocation"), (["-usize", 4], None, "no ranks"),
            (["-order-nodes", "UP"], None, "--hosts"), (["-profile"], None, "--trace")):
        says = [rf"^mpiexec: {said or words[0]} has no effect here: .*{hint}"]
        equal(mpiexec(*words, "-n", 2, *RANK_OF_SIZE, says=says).lines(), ranks(2))


@case("options")
def options_that_cannot_be_left_out_are_refused_with_what_helps():
    for words, hint in ((["--cpu-set", "0"], "taskset"), (["--cpu-list", "0"], "taskset"),
                        (["--nolocal"], "--hosts"), (["-gdb"], "--debug all"),
                        (["-info"], "weft-info")):
        says = [rf"^mpiexec: {words[0]}: .*{hint}"]
        mpiexec(*words, "-n", 2, *RANK_OF_SIZE, code=2, says=says)


@case("options")
def other_launchers_names_of_what_weft_has_work():
    for words in (["-rr"], ["-disable-auto-cleanup"], ["--enable-recovery"], ["--noprefix"]):
        equal(mpiexec(*words, "-n", 2, *RANK_OF_SIZE).lines(), ranks(2), str(words))
    for word in ("--display-map", "--display-allocation", "-print-rank-map"):
        equal(mpiexec(word, "-n", 2, *RANK_OF_SIZE, says=["no hosts are named", "2 ranks"])
              .lines(), ranks(2), word)
    with Folder() as folder:
        (folder / "app").write_text("-n 1 echo a\n-n 1 echo b\n")
        equal(mpiexec("--app", folder / "app").lines(), ["a", "b"])


@case("options")
def a_variable_and_its_value_may_be_one_word():
    for option in ("-env", "-genv"):
        equal(mpiexec(option, "MINE=1 2=3", "-n", 1, "sh", "-c", "echo $MINE").lines(),
              ["1 2=3"], option)
        equal(mpiexec(option, "MINE", "4=5", "-n", 1, "sh", "-c", "echo $MINE").lines(),
              ["4=5"], option)


@case("options")
def the_variable_of_other_launchers_limits_the_time():
    mpiexec("-n", 1, "sleep", 1000, variables={"MPIEXEC_TIMEOUT": "0.5"}, code=124, says=["0.5 s"])
    mpiexec("--timeout", 1000, "-n", 1, "true", variables={"MPIEXEC_TIMEOUT": "1e-9"})
    for no_limit in ("0", "-1", "0.0"):
        mpiexec("-n", 1, "true", variables={"MPIEXEC_TIMEOUT": no_limit})
    mpiexec("-n", 1, "true", variables={"MPIEXEC_TIMEOUT": "soon"}, code=2,
            says=["^mpiexec: MPIEXEC_TIMEOUT soon: the time must be"])


@case("options")
def what_is_no_list_of_hosts_is_refused():
    with Folder() as folder:
        (folder / "empty").write_text("# nobody\n")
        (folder / "slots").write_text("localhost slots=many\n")
        for words, says in ((["-f", folder / "missing"], "No such file"),
                            (["-f", folder / "empty"], "no hosts in this file"),
                            (["-f", folder / "slots"], "host localhost: .*slots must be"),
                            (["-hosts", "a:0"], "host a:0: .*slots must be"),
                            (["-hosts", "-oProxyCommand=x"], "not a host name"),
                            (["-hosts", "localhost:1"], "localhost has only 1 slots"),
                            (["-ppn", "none"], "number of ranks")):
            mpiexec(*words, "-n", 2, "true", code=2, says=[says])
    mpiexec("-n", 1, "true", ":", "-hosts", "localhost", "-n", 1, "true", code=2,
            says=["-hosts: hosts are given once, before the first program"])
    mpiexec("-hosts", "localhost:1", "--oversubscribe", "-n", 2, "true")


@case("options")
def a_configfile_has_a_line_for_each_program():
    with Folder() as folder:
        path = folder / "programs"
        path.write_text("# two programs\n-n 2 echo 'a  b' c\\\n  d\n\n-n 1 echo \"x\"")
        equal(mpiexec("-configfile", path).lines(), ["a  b c d"] * 2 + ["x"])
        equal(mpiexec("--label", "-configfile", path).lines(),
              ["[0] a  b c d", "[1] a  b c d", "[2] x"])
        equal(mpiexec("-n", 1, "echo", "-configfile", path).lines(), [f"-configfile {path}"])
        (folder / "again").write_text(f"-configfile {path}\n")
        (folder / "empty").write_text("# nothing\n")
        for words, says in ((["again"], "may not name another"), (["empty"], "no program"),
                            (["missing"], "No such file"), (["empty", "x"], "may follow")):
            mpiexec("-configfile", folder / words[0], *words[1:], code=2, says=[says])


@case("options")
def a_program_is_found_by_path_and_its_number_of_ranks_is_soft():
    with Folder() as folder:
        tool = folder / "tool"
        tool.write_text("#!/bin/sh\necho found\n")
        tool.chmod(0o755)
        equal(mpiexec("-path", f"/nowhere:{folder}", "-n", 1, "tool").lines(), ["found"])
        mpiexec("-path", "/nowhere", "-n", 1, "tool", code=2,
                says=["-path /nowhere: there is no program tool"])
    for soft, most, count in (("2:8:2", 3, 2), ("1,5", 4, 1), ("4:9", 9, 5), ("8:9,3", 9, 3)):
        hosts = ("-hosts", f"localhost:{5 if most > 5 else most}")
        equal(len(mpiexec(*hosts, "-soft", soft, "-n", most, "echo").lines()), count)
    mpiexec("-soft", "3:4", "-n", 2, "true", code=2, says=["is at most 2"])
    for soft in ("x", "1:", "1:2:0", "1:2:3:4", ""):
        mpiexec("-soft", soft, "-n", 2, "true", code=2, says=["written as 4, 2:8"])


@case("options")
def each_rank_may_have_a_file_of_its_own():
    say = ("sh", "-c", "echo out $PMI_RANK; echo err $PMI_RANK >&2; printf end")
    with Folder() as folder:
        hosts = ("--hosts", "localhost:2,pretended:2", "-n", 4)
        way = {"WEFT_RSH": str(Path(__file__).resolve().parent.parent / "hosts/pretend")}
        done = mpiexec(*hosts, "--label", "--output", folder / "a/b/%r", *say,
                       says=[r"err \d"] * 4, variables=way)
        equal(done.out, b"")
        for rank in range(4):
            equal((folder / f"a/b/{rank}").read_text(), f"out {rank}\nend")
        mpiexec("-n", 2, "--output-filename", folder / "c", *say)
        equal((folder / "c/rank.1/stdout").read_text(), "out 1\nend")
        equal((folder / "c/rank.1/stderr").read_text(), "err 1\n")
        mpiexec("-n", 1, "--output", folder / "d", "true", code=2, says=["the name needs %r"])
        mpiexec("-n", 1, "--output", folder / "a/b/0/%r", "true", code=2,
                says=["Not a directory"])
        (folder / "e").mkdir()
        (folder / "e/1").mkdir()
        done = mpiexec("-n", 2, "--output", folder / "e/%r", *say,
                       says=["err|its file"] * 3)
        equal(done.out, b"out 1\nend")
        claim(b"rank 1: its file" in done.err, done.err)


@case("options")
def verbose_says_which_ranks_run_where():
    mpiexec("-v", "-hosts", "localhost:4", "-n", 3, "true",
            says=["^mpiexec: 1 hosts, as they are named$",
                  r"^mpiexec: host \S+: 3 ranks, the first is 0$"])


# ---- programs that cannot be started ----

@case("start")
def a_program_that_is_not_there_is_127():
    for name in ("no-such-program", "/no/such/program"):
        cause = "cannot be started: No such file or directory: .*"
        mpiexec("-n", 4, name, code=127, says=[failure(0, name, cause)])
    mpiexec("-n", 2, program("fail"), "never", ":", "-n", 2, "/no/such", code=127,
            says=[failure(2, "/no/such", "cannot be started: No such file or directory: .*")])


@case("start")
def a_program_that_may_not_run_is_126():
    with Folder() as folder:
        (folder / "text").write_text("#!/bin/sh\n")
        for path in (folder, folder / "text"):
            cause = "cannot be started: Permission denied: .*"
            mpiexec("-n", 2, path, code=126, says=[failure(0, str(path), cause)])


# ---- programs of another MPI ----

def link(folder, name, *words, source="int main(void) { return 0; }"):
    """Compiles a file of this name; the words are for the linker."""
    (folder / "source.c").write_text(source + "\n")
    subprocess.run(["cc", "-Wl,--no-as-needed", "-o", folder / name, folder / "source.c",
                    *words], check=True)
    return folder / name


def make_library(folder, name, *words):
    return link(folder, name, "-shared", "-fPIC", f"-Wl,-soname,{name}", *words,
                source="int something;")


def foreign(path, library, through=""):
    owner = "MPICH.*" if ".12" in library else "Open MPI"
    cure = f"rebuild it with Weft's {'mpifort' if 'mpifh' in library else 'mpicc'}"
    return (rf"^mpiexec: {re.escape(str(path))} is linked with {library} \({owner}\)"
            rf"{through}, not with .*libmpi_abi.so: {cure}")


@case("foreign")
def a_program_of_another_mpi_is_named_and_not_started():
    for name in ("libmpi.so.40", "libmpich.so.12", "libmpi.so.12", "libmpi_mpifh.so.40"):
        with Folder() as folder:
            made = link(folder, "made", make_library(folder, name))
            says = [foreign(made, name)]
            mpiexec("-n", 2, made, code=126, says=says)
            mpiexec("-n", 1, program("fail"), "never", ":", "-n", 1, made, code=126,
                    says=says)
            path = {"PATH": f"{folder}:{os.environ['PATH']}"}
            mpiexec("-n", 2, "made", code=126, says=[foreign("made", name)],
                    variables=path)
            mpiexec("-n", 2, "-wdir", folder, "./made", code=126,
                    says=[foreign("./made", name)])


@case("foreign")
def it_is_found_through_a_library_too():
    with Folder() as folder:
        mpi = make_library(folder, "libmpi.so.40")
        between = make_library(folder, "libbetween.so", mpi)
        loose = ("-Wl,--unresolved-symbols=ignore-all", between)
        says = [foreign(folder / "made", "libmpi.so.40", " through libbetween.so")]
        for path in (folder, "/nonexistent:$ORIGIN", "${ORIGIN}/."):
            made = link(folder, "made", *loose, f"-Wl,-rpath,{path}")
            mpiexec("-n", 2, made, code=126, says=says)
        made = link(folder, "made", *loose)
        search = {"LD_LIBRARY_PATH": str(folder)}
        mpiexec("-n", 2, made, code=126, says=says, variables=search)
        mpiexec("-env", "LD_LIBRARY_PATH", folder, "-n", 2, made, code=126, says=says)


@case("foreign")
def what_is_no_program_of_another_mpi_is_started():
    with Folder() as folder:
        like = make_library(folder, "libmpidec.so.4")
        made = link(folder, "made", like, f"-Wl,-rpath,{folder}")
        mpiexec("-n", 2, made)
        (folder / "script").write_text("#!/bin/sh\necho libmpi.so.40\n")
        (folder / "script").chmod(0o755)
        equal(mpiexec("-n", 2, folder / "script").lines(), ["libmpi.so.40"] * 2)
    equal(mpiexec("-n", 2, program("probe"), "hello").lines(), ranks(2, "hello"))


@case("foreign")
def allow_foreign_starts_it_after_all():
    with Folder() as folder:
        mpi = make_library(folder, "libmpi.so.40")
        made = link(folder, "made", mpi, f"-Wl,-rpath,{folder}")
        mpiexec("--allow-foreign", "-n", 2, made)


@case("start")
def a_folder_that_is_not_there_is_named():
    cause = "cannot enter /no/such/folder: No such file or directory: .*"
    mpiexec("-n", 2, "-wdir", "/no/such/folder", "true", code=126,
            says=[failure(0, "true", cause)])


@case("start")
def too_few_descriptors_are_said_in_one_line():
    def lower():
        resource.setrlimit(resource.RLIMIT_NOFILE, (40, 40))
    says = [failure(None, "sleep", "cannot make pipes: Too many open files: .*ulimit -n.*")]
    done = mpiexec("-n", 40, "sleep", 60, code=126, says=says, preexec_fn=lower)
    claim(done.seconds < 30, f"it took {done.seconds:.1f} s")  # not all of its sleep


# ---- descriptors, and who is a rank ----

def opened(done, prefix="open "):
    """Descriptor numbers and what they are, as probe says them."""
    return [text.split(" ", 2)[1:] for text in done.lines() if text.startswith(prefix)]


@case("descriptors")
def a_rank_has_its_streams_the_segment_and_pmi_and_no_more():
    for count in (1, 3):
        found = opened(mpiexec("-n", count, program("probe"), "descriptors"))
        kinds = sorted(re.sub(r"[\[(:].*", "", target) for fd, target in found
                       if int(fd) > 2)
        equal(kinds, sorted(["/memfd", "socket"] * count), str(found))
        equal(len(found), 5 * count, str(found))


@case("descriptors")
def what_a_rank_starts_inherits_nothing_and_is_no_rank():
    done = mpiexec("-n", 2, program("probe"), "child")
    equal(sorted(fd for fd, _ in opened(done)), sorted(["0", "1", "2"] * 2), done.out)
    said = [text for text in done.lines() if not text.startswith("open")]
    equal(said, ["child 0 of 2", "child 1 of 2"] + ["descriptors 0 of 1"] * 2)


# ---- how ranks find each other ----

MPICH_PROGRAM = """
#include <mpi.h>
#include <stdio.h>
#include <stdlib.h>
int main(int argc, char **argv)
{
    int rank, size, sum;
    MPI_Init(&argc, &argv);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Comm_size(MPI_COMM_WORLD, &size);
    MPI_Allreduce(&rank, &sum, 1, MPI_INT, MPI_SUM, MPI_COMM_WORLD);
    if (argc > 1 && rank == 1) {
        MPI_Abort(MPI_COMM_WORLD, atoi(argv[1]));
    }
    printf("%d of %d, sum %d\\n", rank, size, sum);
    MPI_Barrier(MPI_COMM_WORLD);
    return MPI_Finalize();
}
"""


def build_with_mpich(folder):
    (folder / "program.c").write_text(MPICH_PROGRAM)
    if shutil.which("mpicc.mpich"):
        build = ["mpicc.mpich"]
    else:
        flags = subprocess.run(["pkg-config", "--cflags", "--libs", "mpich"], check=True,
                               capture_output=True, text=True).stdout
        build = ["cc", "-Wl,--no-as-needed", *flags.split()]
    subprocess.run([*build, "-o", "program", "program.c"], cwd=folder, check=True)
    return folder / "program"


@case("wire-up")
def a_program_of_mpich_runs_by_pmi_1():
    with Folder() as folder:
        built = build_with_mpich(folder)
        started = ("--allow-foreign", "-n", 3, built)
        equal(mpiexec(*started).lines(), [f"{r} of 3, sum 3" for r in range(3)])
        done = start(*started, 7).finish()
        told = [text for text in done.err.decode().splitlines() if "mpiexec" in text]
        equal((done.code, len(told)), (7, 1), done.err)
        claim(re.match(failure(1, str(built), "MPI_Abort with code 7"), told[0]), told)


@case("wire-up")
def mpiexec_inside_a_rank_starts_a_job_of_its_own():
    inner = f"{mpiexec_path()} -n 2 {program('probe')} inner"
    equal(mpiexec("-n", 2, "bash", "-c", inner).lines(),
          ["inner 0 of 2"] * 2 + ["inner 1 of 2"] * 2)


@case("wire-up")
def ranks_share_one_segment_even_with_a_user_namespace_each():
    for under in ((), ("unshare", "-Ur")):
        done = mpiexec("-n", 4, *under, program("probe"), "segment")
        where = [text for text in done.lines() if not re.search(r"\d of 4$", text)]
        equal(len(where), 4, done.out)
        equal(len(set(where)), 1, "one memory for all")
        equal([text for text in done.lines() if re.search(r"\d of 4$", text)],
              ranks(4, "segment"))


@case("wire-up")
def a_segment_of_another_layout_is_left_alone():
    done = mpiexec("-n", 3, program("other_layout"), program("probe"), "segment")
    where = [text for text in done.lines() if not re.search(r"\d of 3$", text)]
    equal((len(where), len(set(where))), (3, 1), done.out)
    equal([text for text in done.lines() if re.search(r"\d of 3$", text)],
          ranks(3, "segment"))
    own = mpiexec("-n", 3, program("other_layout"), program("probe"), "hello")
    equal(own.lines(), ranks(3, "hello"))


@case("wire-up")
def a_wrapper_that_closes_descriptors_is_named():
    wrapper = ("python3", "-c", "import subprocess, sys; "
               "sys.exit(subprocess.run(sys.argv[1:], close_fds=True).returncode)")
    done = start("-n", 2, *wrapper, program("probe"), "hello").finish()
    said = done.err.decode().splitlines()
    told = [text for text in said if "was closed on the way" in text]
    claim(done.code != 0 and told, f"code {done.code}: {said}")
    claim("close descriptors?" in told[0], told[0])
    equal(done.out, b"", "a lonely rank 0 has run")


@case("wire-up")
def a_limit_of_address_space_is_not_told_as_a_closed_descriptor():
    if is_sanitized():
        return  # sanitizers need more address space than there is
    limited = ("bash", "-c", f"ulimit -v 200000; exec {program('probe')} hello")
    done = start("-n", 64, *limited).finish()  # the segment alone is larger
    claim(done.code != 0 and b"ulimit -v" in done.err and b"closed on" not in done.err, done.err)


if __name__ == "__main__":
    sys.exit(main())
