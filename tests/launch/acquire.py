"""acquire.py - a debugger of parallel programs in small, run inside gdb (debugger.py).

It takes mpiexec and its ranks over by the MPIR interface as any debugger does, and prints
what it sees, each line after "MPIR ". It uses no debugging information of mpiexec.

    gdb -x acquire.py --args mpiexec ...      starts a job; ACQUIRE names the ranks it attaches to
    gdb -x acquire.py -p PID                  attaches to a job that runs, and leaves it
"""

import os
import subprocess

import gdb

SPAWNED, ABORTING = 1, 2


def say(*words):
    print("MPIR", *words, flush=True)


def number(name):
    return int(gdb.parse_and_eval(f"*(int *)&{name}"))


def text(address):
    return gdb.parse_and_eval(f"*(char **){address}").string()


def table():
    """Host, path and process id of each rank: two pointers and an int, 24 bytes in all."""
    begin = int(gdb.parse_and_eval("*(long *)&MPIR_proctable"))
    return [(text(at), text(at + 8), int(gdb.parse_and_eval(f"*(int *){at + 16}")))
            for at in range(begin, begin + 24 * number("MPIR_proctable_size"), 24)]


def is_there(name):
    return gdb.lookup_minimal_symbol(name) is not None if hasattr(
        gdb, "lookup_minimal_symbol") else "No symbol" not in gdb.execute(
            f"info address {name}", to_string=True)


def state_of(host, pid):
    """The kernel's letter for what a process does; ssh asks for those of other hosts."""
    here = host == table()[0][0]
    told = subprocess.run([*([] if here else ["ssh", host]), "cat", f"/proc/{pid}/stat"],
                          check=True, stdout=subprocess.PIPE, text=True).stdout
    return told.rsplit(")", 1)[1].split()[0]


def show_table():
    for rank, (host, path, pid) in enumerate(table()):
        say("rank", rank, host, path, pid)


def attach(rank):
    """Attaches to a rank, says where it stands, and lets it go."""
    pid = table()[rank][2]
    gdb.execute("add-inferior -no-connection")
    gdb.execute(f"inferior {len(gdb.inferiors())}")
    gdb.execute(f"attach {pid}")
    frame = gdb.newest_frame()
    say("stack of", rank, frame.name() or "?", gdb.solib_name(frame.pc()) or "?")
    gdb.execute("detach")
    gdb.execute("inferior 1")


def launch():
    gdb.execute("starti")
    gdb.execute("set var *(int *)&MPIR_being_debugged = 1")
    gdb.execute("break MPIR_Breakpoint")
    gdb.execute("continue")
    say("state", number("MPIR_debug_state"))
    say(*(name for name in ("MPIR_i_am_starter", "MPIR_acquired_pre_main",
                            "MPIR_partial_attach_ok") if is_there(name)))
    show_table()
    for rank in [int(word) for word in os.environ.get("ACQUIRE", "").split()]:
        attach(rank)
    say("states", *(state_of(host, pid) for host, _, pid in table()))
    gdb.execute("continue")
    if gdb.selected_inferior().pid != 0 and number("MPIR_debug_state") == ABORTING:
        address = "&MPIR_debug_abort_string"
        say("aborts:", gdb.parse_and_eval(f"*(char **){address}").string())
        gdb.execute("continue")
    say("exit", gdb.parse_and_eval("$_exitcode"))


gdb.execute("set pagination off")
gdb.execute("set confirm off")
gdb.execute("set breakpoint pending on")
gdb.execute("set startup-with-shell off")
if gdb.selected_inferior().pid == 0:
    launch()
else:
    say("state", number("MPIR_debug_state"))
    show_table()
    gdb.execute("detach")
