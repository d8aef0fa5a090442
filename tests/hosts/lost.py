"""lost.py - connections between hosts that are reset, dropped by a firewall, or idle because a
process was stopped. Hosts are netlab's, ../mpi/lost.c is the program; cases are called as those
of ../launch (common.py).

mpiexec and its daemons, which speak by ssh, see nothing of all this: the ranks have to tell.
"""

import re
import signal
import sys
import time
from os import kill
from pathlib import Path

sys.path.append(str(Path(__file__).resolve().parent.parent / "launch"))

import common
from common import Running, case, claim, mpiexec_path
from lab import NAME, Lab, skip_without_means

BEAT = 2  # seconds of a heartbeat
SLACK = 10  # seconds that a loaded machine may add
PORTS = "47000-47999"
TABLE = "weft_lost"
PLACE = r"from \S+ to rank \d on \S+ \(10\.77\.0\.\d port \d+\): "
lab = Lab(2)


def start(how, kind, beat=BEAT):
    program = Path(mpiexec_path()).parent.parent / "tests/mpi/mpi_lost"
    return Running([*lab.command("exec", 1), mpiexec_path(), "--bind-to", "none", "--hosts",
                    f"{NAME}1,{NAME}2", "-n", 2, program, how, kind, "by-others"],
                   variables={"WEFT_TRANSPORT": "shm+msg", "WEFT_HEARTBEAT": str(beat)})


def reset():
    """As a firewall does that has forgotten a connection."""
    lab("exec", 1, "ss", "-K", "( ( dport >= :47000 and dport <= :47999 ) or "
        "( sport >= :47000 and sport <= :47999 ) ) and dport != :22 and sport != :22",
        capture_output=True)


def drop():
    """Silently, what goes to data ports or comes from them; ssh, whose own end may have any
    port, goes on."""
    for host in (1, 2):
        lab("exec", host, "nft", f"add table inet {TABLE}; "
            f"add chain inet {TABLE} in {{ type filter hook input priority 0; }}; "
            f"add rule inet {TABLE} in tcp dport {PORTS} tcp sport != 22 drop; "
            f"add rule inet {TABLE} in tcp sport {PORTS} tcp dport != 22 drop")


def let_through():
    for host in (1, 2):
        lab("exec", host, "nft", f"delete table inet {TABLE}")


def finish(running, pattern, limit, since=None):
    """The job has ended in time, with a code that is not 0 and one line that fits."""
    begin = since or time.monotonic()
    done = running.finish()
    seconds = time.monotonic() - begin
    lines = common.headlines(done.err)
    claim(done.code not in (0, 124), f"ended with {done.code}")
    claim(len(lines) == 1 and re.search(pattern, lines[0]), f"said {lines}")
    claim(seconds < limit + SLACK, f"took {seconds:.1f} s, more than {limit} s")
    return done


@case("reset")
def a_reset_connection_ends_a_job_that_waits_for_a_message():
    for how in ("recv", "any", "many", "transfers", "barrier", "finalize"):
        running = start(how, "fatal")
        running.expect("ready")
        reset()
        finish(running, r"MPI_\w+.*: lost the connection " + PLACE, 2)


@case("reset")
def a_reset_connection_is_an_error_that_a_program_can_handle():
    for how in ("recv", "waitall"):
        running = start(how, "return")
        running.expect("ready")
        reset()
        done = finish(running, r"MPI_Finalize: lost the connection " + PLACE, 2)
        claim(b"was told" in done.out, f"printed {done.out}")


@case("silence")
def a_network_that_falls_silent_ends_the_job():
    """Whether data are on their way, or a receive only waits."""
    for how in ("recv", "transfers", "many"):
        running = start(how, "fatal")
        running.expect("ready")
        drop()
        try:
            finish(running, r"MPI_\w+ on .*: lost the connection " + PLACE +
                   r"no answer for 4\.0 s .*WEFT_PORTS.*WEFT_NET", 3 * BEAT)
        finally:
            let_through()


@case("silence")
def ports_that_are_dropped_from_the_start_end_the_job():
    drop()
    try:
        finish(start("recv", "fatal"), r"MPI_Sendrecv on .*: no connection " + PLACE +
               r"no answer for 4\.0 s .*WEFT_PORTS.*WEFT_NET", 3 * BEAT)
    finally:
        let_through()


@case("silence")
def a_stopped_process_is_not_taken_for_a_silent_network():
    running = start("patience", "return", beat=1)
    running.expect("ready")
    ranks = lab.pids(2, "tests/mpi/mpi_lost")
    stopped = [pid for pid in ranks if "mpiexec" not in Path(f"/proc/{pid}/cmdline").read_text()]
    for pid in stopped:
        kill(pid, signal.SIGSTOP)
    time.sleep(4)
    for pid in stopped:
        kill(pid, signal.SIGCONT)
    done = running.finish()
    claim(done.code == 0 and done.out.count(b"all came") == 2,
          f"code {done.code}, {done.out}, {done.err}")


if __name__ == "__main__":
    skip_without_means("ss")
    with lab:
        code = common.main()
    sys.exit(code)
