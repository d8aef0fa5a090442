/*
 * texts.h - the catalogue: what mpiexec says when something is wrong. The library's is
 * base/texts.h, where it is said how a text is to be written. docs/errors.md lists both.
 */
#ifndef WEFT_LAUNCH_TEXTS_H
#define WEFT_LAUNCH_TEXTS_H

/* ---- options and hosts ---- */

#define TEXT_OPTION_UNKNOWN    "%s: unknown option; "
#define TEXT_OPTION_EMPTY      "a value must follow: mpiexec --help lists what it takes"
#define TEXT_OPTION_HOSTS_LATE "hosts are given once, before the first program"
#define TEXT_OPTION_NO_PROGRAM "no program to start; mpiexec --help tells more"
#define TEXT_OPTION_NO_EFFECT  "%s has no effect here: %s"
#define TEXT_OPTION_PARAMETER  "%s %s has no effect here: %s"
#define TEXT_OPTION_EACH_N     "with several programs each needs its -n"
#define TEXT_OPTION_SOCKETS    "the sockets cannot be read: install libhwloc15"
#define TEXT_RANK_BY           "Weft numbers ranks by slot only; see --map-by"
#define TEXT_MAP_BY                                                                      \
    "Weft knows block (or slot), cyclic (or node), core, hwthread, l3cache, numa, "      \
    "socket, and ppr:N:X with X of node, socket, numa and l3cache; each may be "         \
    "followed by :PE=K for K cores a rank"
#define TEXT_MAP_BY_THREAD                                                               \
    "--map-by hwthread goes with --bind-to hwthread or none; --map-by core is for cores"
#define TEXT_BIND_TO                                                                     \
    "Weft knows core, core:K, hwthread, hwthread:K, l3cache, numa, socket and none"
#define TEXT_CPU_BIND "Weft knows cores, threads, ldoms, sockets and none"
#define TEXT_DISTRIBUTION                                                                \
    "Weft knows block and cyclic for hosts, each perhaps followed by :block or :cyclic " \
    "for the sockets of a host"
#define TEXT_RANKFILE_ALONE                                                              \
    "--rankfile says where each rank is: leave out --map-by, --distribution, -ppn and "  \
    "--cpus-per-rank"
#define TEXT_RANKFILE_BIND "--rankfile names cores: it goes with --bind-to core or none"
#define TEXT_RANKFILE_COUNT                                                              \
    "--rankfile %s: it has %d ranks, but the job has %d: change -n, or the file"
#define TEXT_RANKFILE_MISSING "%s: rank %d is missing: each rank has a line"
#define TEXT_RANKFILE_EMPTY   "%s: no rank is there: a line is 'rank N=HOST slot=CORES'"
#define TEXT_RANKFILE_LINE    "a line is 'rank N=HOST slot=CORES'"
#define TEXT_RANKFILE_SLOT                                                               \
    "slot=%s: cores are 'CORES' or 'SOCKET:CORES', as 0,2-3 or 1:0-2"
#define TEXT_RANKFILE_TWICE  "rank %ld is there twice"
#define TEXT_RANKFILE_HOST   "host %s is not in the list of hosts"
#define TEXT_RANKFILE_NTH    "%s: the list of hosts has %d"
#define TEXT_PORTS           "WEFT_PORTS=%s: no range of ports, as 47000-47999"
#define TEXT_HOSTS_TOO_MANY  "too many hosts"
#define TEXT_HOSTS_NO_MEMORY "no memory"
#define TEXT_HOSTS_NO_NAME   "this is not a host name"
#define TEXT_HOSTS_FILE      "--hostfile %s: %s"
#define TEXT_HOSTS_LINE                                                                  \
    "%s, line %d: %s: this is not known; a line is 'NAME slots=4 max_slots=8', "         \
    "'NAME:4' or 'NAME'"
#define TEXT_HOSTS_MAX_SLOTS "it has more slots than its max_slots"
#define TEXT_HOSTS_SLOTS     "the number of slots must be between 1 and 1000000"
#define TEXT_HOSTS_NONE                                                                  \
    "%s: no hosts in this file: it has a line for each, as node1 slots=8"
#define TEXT_HOSTS_LONG    "this name is too long"
#define TEXT_HOSTS_NO_LIST "this is not a list of nodes"
#define TEXT_ALLOCATION                                                                  \
    "this is an allocation of %s, but its hosts cannot be read: name them with --hosts " \
    "or --hostfile; to use only this host: --hosts localhost"
#define TEXT_SLOTS_PPN                                                                   \
    "host %s: it has %d slots, -ppn wants %d: give it more slots, or allow more ranks "  \
    "than slots with --oversubscribe"
#define TEXT_SLOTS                                                                       \
    "%d ranks, but %s%s has only %d slots: start fewer ranks, give the hosts more "      \
    "slots, or allow more ranks than slots with --oversubscribe"
#define TEXT_HOST_RANKS                                                                  \
    "%d ranks, but one host gets only %d: name more hosts, or allow more ranks with "    \
    "--oversubscribe"

/* ---- how ranks end ---- */

#define TEXT_RANK   "rank %d on %s (%s): %s"
#define TEXT_KILLED "killed by signal %d, %s%s"
#define TEXT_THREADS                                                                     \
    "killed by signal %d, %s%s; two of its threads were in MPI at a time, and "          \
    "MPI_THREAD_MULTIPLE was not asked for: call MPI_Init_thread"
#define TEXT_CODE_127                                                                    \
    "ended with code 127: a library or command that it needs is not there"
#define TEXT_CODE        "ended with code %d"
#define TEXT_NO_FINALIZE "ended without calling MPI_Finalize"
#define TEXT_OVERWRITTEN                                                                 \
    "%s; some rank has overwritten memory of MPI: look for a write outside of an array"
#define TEXT_ABORT "MPI_Abort with code %d"
#define TEXT_FEWER_PROGRAMS                                                              \
    "has ended after fewer MPI programs than other ranks have begun: every rank has to " \
    "run the same number of them, one after the other"
#define TEXT_SECOND_PROGRAM                                                              \
    "has begun an MPI program, while its last one still runs or has ended without "      \
    "MPI_Finalize: a rank runs them one after the other"
#define TEXT_CANNOT_START "cannot %s%s: %s%s"
#define TEXT_FOREIGN                                                                     \
    "%.150s is linked with %.60s (%s)%s%.60s, not with the standard ABI's "              \
    "libmpi_abi.so: %sstart it by its own MPI's mpiexec, or use --allow-foreign"

/* ---- what helps when a program cannot be started ---- */

#define TEXT_CURE_REBUILD    "rebuild it with Weft's mpicc, "
#define TEXT_CURE_FORTRAN    "rebuild it with Weft's mpifort, "
#define TEXT_CURE_PROGRAM    ": check its path, on this host"
#define TEXT_CURE_PATH       ": no folder of PATH has it; a program of this folder is ./NAME"
#define TEXT_CURE_FOLDER     ": the folder of -wdir has to be on every host"
#define TEXT_CURE_DIRECTORY  ": it is a folder"
#define TEXT_CURE_EXECUTABLE ": make it executable (chmod +x), and its folders readable"
#define TEXT_CURE_MACHINE    ": it was built for another kind of processor"
#define TEXT_CURE_DESCRIPTORS                                                            \
    ": raise the limit of open files (ulimit -n), or start fewer ranks here"
#define TEXT_CURE_PROCESSES                                                              \
    ": raise the limit of processes (ulimit -u, or pids.max of the cgroup), or start "   \
    "fewer ranks here"

/* ---- what ends a job from outside ---- */

#define TEXT_SIGNAL   "%s: ending the job%s"
#define TEXT_TIMEOUT  "no end after %g s (--timeout): ending the job"
#define TEXT_OUTPUT   "standard output: %s: ending the job"
#define TEXT_KEEPER   "the keeper of the job was killed by signal %d: the job is ended"
#define TEXT_STUBBORN "some processes cannot be killed"
#define TEXT_UNKILLED                                                                    \
    "rank %d on %s (process %d) cannot be killed: its state is %c%s, see proc(5); the "  \
    "job ends without it"
#define TEXT_UNKILLED_MORE "nor can %d more rank%s on %s"

/* ---- hosts ---- */

#define TEXT_HOST_START  "host %s: cannot start %s there by %s: %s: %s"
#define TEXT_HOST_KILLED "killed by signal %d, %s"
#define TEXT_HOST_SILENT "ended with code %d and printed nothing"
#define TEXT_HOST_FORK   "host %s: cannot make a process for %s: %s"
#define TEXT_HOST_FRAME                                                                  \
    "host %s: its daemon has sent an invalid frame (of kind %u with %u bytes)"
#define TEXT_HOST_WAITING "host %s: no answer by %s for %d s; mpiexec waits up to %d s"
#define TEXT_HOST_CLOSE                                                                  \
    "host %s: its daemon, or one behind it, lives and has not ended for %g s: the job "  \
    "ends without it"
#define TEXT_HOST_NONSENSE   "host %s: what comes from its daemon is no frame"
#define TEXT_DAEMON_END      "its link to mpiexec was closed"
#define TEXT_DAEMON_WRITE    "it cannot write to mpiexec"
#define TEXT_DAEMON_NONSENSE "what came from mpiexec is no frame"
#define TEXT_DAEMON_SILENCE  "no sign of life from mpiexec"
#define TEXT_DAEMON_FRONT    "its front was killed"
#define TEXT_DAEMON_SIGNAL   "it was asked to end: %s"
#define TEXT_HOST_PORT       "host %s: no port of %d-%d is free: %s: widen WEFT_PORTS"
#define TEXT_REPORT_MEMORY   "no memory for the report: start it with fewer hosts"

/* ---- --ship ---- */

#define TEXT_SHIP_READ    "--ship: %s cannot be read: %s"
#define TEXT_SHIP_NO_FILE "it is no file"
#define TEXT_SHIP_PROGRAM                                                                \
    "--ship: %s: no such program here: name one of this host, which is then shipped"
#define TEXT_SHIP_TWICE                                                                  \
    "--ship: %s and %s differ, and both would be %s on the hosts: name one of them "     \
    "by another path"
#define TEXT_SHIP_LIBRARY                                                                \
    "--ship: %s needs %s, which is not found here: set LD_LIBRARY_PATH, or install it"
#define TEXT_SHIP_CHANGED "--ship: %s was changed while it was sent: start the job anew"
#define TEXT_SHIP_HASH                                                                   \
    "host %s: %s has arrived damaged (its hash differs): start the job anew; if it "     \
    "happens again, check the memory and disks of both hosts"
#define TEXT_SHIP_STORE                                                                  \
    "host %s: %s cannot be stored in %s: %s: free some room there (%.0f MB are needed)"
#define TEXT_SHIP_GLIBC                                                                  \
    "host %s has glibc %s, and %s needs %d.%d: build it on a system as old as that host"
#define TEXT_SHIP_LOADER                                                                 \
    "host %s has no %s, and %s needs it: build the program for the C library of that "   \
    "host"
#define TEXT_SHIP_MACHINE                                                                \
    "host %s is %s, and this mpiexec is built for %s: --ship needs hosts of one kind"
#define TEXT_SHIP_OLD_LIBC                                                               \
    "host %s has glibc %s, and mpiexec needs %s: build Weft on a system as old as that " \
    "host"
#define TEXT_SHIP_NO_LOADER                                                              \
    "host %s has no %s: --ship needs hosts with the C library of this one"
#define TEXT_SHIP_NO_FOLDER                                                              \
    "host %s: no folder there takes programs of %s MB: %s: set TMPDIR there, for "       \
    "shells that are not interactive"
#define TEXT_SHIP_LEFT "host %s: %s cannot be removed: %s"

/* ---- the host of mpiexec ---- */

#define TEXT_NO_KEEPER "cannot start the process that keeps the job: %s%s"
#define TEXT_PREPARE   "cannot prepare the job: %s"
#define TEXT_RANDOM    "cannot draw random numbers: %s"
#define TEXT_WATCH     "cannot watch descriptor %d: %s"
#define TEXT_NO_PMI    "rank %d speaks no PMI-1: %.80s"
#define TEXT_PMI_UNKNOWN                                                                 \
    "rank %d asks over PMI-1 for %s, which this version does not offer"

#endif
