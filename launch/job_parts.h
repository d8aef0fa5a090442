/*
 * job_parts.h - what the files of the keeper share: the job itself, its states and
 * events. From the ground up; a file calls those before it, and what comes from below is
 * handed up by tree->on_frame and by the upcalls of the PMI-1 service:
 *
 *   neighbours.c  what the daemons next to us are told, and what they have done
 *   states.c      the table: what happens in which state, and what is done then
 *   watch.c       which descriptors the loop waits for
 *   input.c       standard input, on its way to ranks
 *   networks.c    the networks that hosts share, where ranks listen
 *   sites.c       where in the program ranks are
 *   hang.c        what ranks do, and whether they move
 *   blame.c       which failure is the cause, and who waited for that rank
 *   black_box.c   what ranks have done last (box.h)
 *   top.c         what weft-top asks
 *   report.c      --report: which networks would be used
 *   segments.c    the segments of programs, and who is missing in them
 *   failed.c      ranks that have ended while the others go on
 *   programs.c    the MPI programs that a rank runs one after the other
 *   ends.c        how a rank has ended, and whether that is a failure
 *   lookup.c      keys and barriers that span hosts
 *   debug.c       debuggers that run a file of commands
 *   panes.c       debuggers in tmux
 *   proctable.c   the process ids of all ranks, for debuggers
 *   start.c       the birth of the ranks
 *   tree.c        the daemons: starting, hearing and missing them (tree.h)
 *   remote.c      ranks on other hosts: what the frames of the tree mean
 *   events.c      from descriptors to events of the table: ranks, front, terminal
 *   job.c         the loop around it, beginning and end
 *
 * A daemon on another host is a keeper too and has a job of the same kind, with the ranks
 * of its host. It ends ranks by the same table; but what is printed goes to the root, and
 * so do failures, which only the root judges.
 */
#ifndef WEFT_LAUNCH_JOB_PARTS_H
#define WEFT_LAUNCH_JOB_PARTS_H

#include "memory.h"
#include "output.h"
#include "placement.h"
#include "plan.h"
#include "pmi_service.h"
#include "setup.h"
#include "spawn.h"
#include "neighbours.h"
#include "tree.h"

#include "wireup/segment.h"

#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

enum state { STARTING, RUNNING, STOPPING, KILLING, DONE, STATES };

enum event {
    ALL_STARTED,
    START_FAILED,
    RANK_FAILED,
    ALL_ENDED,
    ASKED_TO_END, /* Ctrl-C and its like */
    TIMED_OUT,
    GRACE_OVER,
    FRONT_GONE,
    EVENT_COUNT,
};

struct rank {
    pid_t pid;
    bool is_running;
    pid_t debugger;  /* that runs commands on it; 0: none */
    bool has_fallen; /* by itself, and too early */
    int status;      /* what waitpid() has said */
    uint64_t ended;  /* when, by CLOCK_REALTIME; 0: it runs */
    int program;     /* the MPI program that it runs, counted from 0 */
    int input;       /* our end of its standard input, if we feed it; else 0 */
    size_t input_at; /* how much it has taken of what we hold */
    struct stream output;
    struct stream error;
    size_t output_left; /* what is still relayed of them, at the end of the job */
    size_t error_left;
};

/* Standard input, where we pass it on (input.c). */
struct feed {
    bool is_reading;   /* the root's: we read it, and it is not at its end */
    bool is_inherited; /* the root's: its one reader has it itself */
    bool is_terminal;  /* the root's */
    bool is_left_out;  /* the root's: it is not watched, until it can be passed on */
    bool is_unwatched; /* the root's: a file, which can always be read */
    bool is_at_end;    /* what we hold is the last of it */
    struct bytes held; /* what some rank of this host does not take yet */
    int64_t *untaken;  /* the root's, by daemon: on its way there; -1: nobody reads it */
};

/* The two outputs of a rank on another host, at the root. */
struct remote_rank {
    struct stream output;
    struct stream error;
};

struct report;
struct networks;
struct program;
struct failed;
struct hang;
struct blame;
struct black_box;
struct shipping;
struct stuck_rank;

struct job {
    const struct plan *plan;
    struct setup setup; /* what all daemons know */
    struct tree tree;
    int first; /* our ranks: the place of the first of them (hosts.h), and how many */
    int count;
    struct rank *ranks; /* of this host */
    int running;
    int debuggers;    /* of them, that run commands */
    bool has_arrived; /* all our ranks are in the barrier */
    bool has_told_end;
    bool is_given_up;            /* the end of the job waits for nothing more */
    struct hang *hang;           /* what ranks do; NULL: nobody has asked */
    struct blame *blame;         /* of the job's failure; NULL: none has failed */
    struct black_box *black_box; /* the root's; NULL: nothing was asked for */
    int fallen;                  /* the root's: the rank that has failed first, or -1 */
    bool is_host_lost;           /* the root's: that has ended the job */
    struct report *report;       /* the root's, for --report */
    struct shipping *shipping;   /* for --ship; NULL: nothing is shipped */
    struct networks *networks;   /* the root's: which host is in which */
    char *shared;                /* what ranks are told of that, in their environment */
    struct remote_rank **remote; /* by rank, made when it speaks; the root's */
    size_t *taken;               /* by daemon: of its output, and not told yet */
    bool is_remote_left_out;     /* some of it could not be passed on */
    uint64_t heard_below;        /* the root's: when output of a daemon last came */
    size_t untaken;              /* of our output, by the root */
    bool is_relay_bounded;       /* our ranks are gone: what their pipes hold is all */
    bool is_output_left_out;     /* until it has been taken */
    struct weft_segment segment; /* of the first MPI program, which ranks inherit */
    struct program *programs;    /* those that followed, and are in use here */
    int last_program;            /* the last that a rank of the job has begun */
    int32_t *pids;               /* of all ranks, at the root; 0: not known yet */
    int known_pids;              /* how many of them are known */
    struct failed *failed;       /* ranks that have ended, while the others go on */
    struct memory memory;        /* what the memory killer has done before */
    char killer[160]; /* the rank that ends now was killed by it: so; or empty */
    struct placement placement;
    char refusal[512]; /* why our ranks cannot be started; empty: it has been said */
    struct pmi_service pmi;
    struct sink output;
    struct sink error;
    struct sink *error_to; /* the one of the two that standard error goes to */
    int epoll;
    int children; /* a signalfd for SIGCHLD */
    int front;
    int top;              /* where weft-top asks; 0: nowhere */
    bool is_top_left_out; /* it is not watched, until there is a place */
    struct feed feed;
    enum state state;
    int code;  /* the exit code; set by the first failure */
    int asked; /* the signal that asked us to end the job */
    bool has_failed;
    uint64_t grace_end; /* 0: none */
    uint64_t kill_end;  /* processes that are there then cannot be killed; 0: none */
    int kill_rounds;    /* how often that has been put off */
    uint64_t time_out;  /* 0: none */
    uint64_t cut_short; /* when --timeout or SIGTERM has ended the job; 0: neither has */
};

/* Something has happened: does what the table says. */
void job_happen(struct job *job, enum event event);

/* Whole lines to the user, on standard error. */
void job_print(struct job *job, const char *text, size_t n);

/* A line to the user, on standard error. */
void job_say(struct job *job, const char *format, ...)
    __attribute__((format(printf, 2, 3)));

/* A daemon is gone, or was never there: the job cannot go on. */
void job_lose_daemon(struct job *job, const char *line);

/* Do the others go on when a rank fails? Until something else ends the job. */
bool job_is_going_on(const struct job *job);

/* Notes a failure. The code and the line of the first one count; later ones are its
 * consequences, and are printed only with --keep-going. */
void job_fail(struct job *job, int code, int rank, const char *format, ...)
    __attribute__((format(printf, 4, 5)));

/* Notes the first failure, if it is not a rank's; the caller has printed the cause. */
void job_fail_silently(struct job *job, int code);

/* Ranks were killed some seconds ago, and some are still there: says which, and goes on
 * as if they had ended. */
void job_leave_stubborn(struct job *job);

/* To each rank and whatever it has started in its process group; but SIGUSR1, which asks
 * us for a report, goes to no rank that it would end. */
void job_signal_ranks(struct job *job, int signal);

/* The rank of the job that is our rank `local`, and the other way round; a rank that is
 * not ours gives what is none of ours. */
int job_rank(const struct job *job, int local);
int job_local(const struct job *job, int rank);
bool job_has_rank(const struct job *job, int rank);

/* The program of a rank. */
const struct app *job_app_of(const struct job *job, int rank);

/* Is this a daemon on another host, and not the mpiexec of the user? */
bool job_is_daemon(const struct job *job);

/* What has to be there before ranks can start; false after a line. */
bool job_open_ranks(struct job *job);

/* Starts all ranks; failures go to the table. */
void job_start_ranks(struct job *job);

/* Starts them here and below, if all daemons are there; else says so when they are. */
void job_start_when_ready(struct job *job);

/* Is it over, here and below? Then the table or the parent hears of it. */
void job_look_for_end(struct job *job);

/*
 * Standard input. The first is called before ranks are started, the second for each: it
 * gives a descriptor, which is the caller's if it is above 2, or -1 with errno set. Then
 * what comes: on our own standard input, room in a rank's pipe, from the root, and to it.
 */
void job_open_input(struct job *job);
int job_input_of(struct job *job, int local);
void job_on_input(struct job *job);
void job_on_input_room(struct job *job);
void job_on_input_frame(struct job *job, const char *text, size_t n);
void job_on_input_taken(struct job *job, const struct frame *frame);
/* Milliseconds until job_tend_input() has to be called; -1: not without an event. */
int job_input_patience_ms(const struct job *job);

/* Passes on what ranks on other hosts have printed. */
void job_tend_remote(struct job *job);
void job_prompt_remote(struct job *job, uint64_t now, uint64_t ns);
void job_finish_remote(struct job *job, void (*finish)(struct job *, struct stream *));
/* Reads one of our ranks' outputs, on its way to the root. */
void job_relay(struct job *job, int local, int which);
/* Our ranks are gone: from now on only what their pipes hold is read, however many
 * processes outside of the job still have them open. */
void job_bound_relay(struct job *job);

/* What a frame of the tree means, when it is for us; else it is sent on. */
frame_fn job_on_frame;

/* The steps of --report. */
void job_report_addresses(struct job *job);
void job_on_probe(struct job *job, const char *table, size_t bytes);
void job_on_report(struct job *job, const struct frame *frame, const char *payload);

/*
 * What ranks do (hang.c). The first two are the loop's: when something is due, 0 for
 * never, and doing it. The third asks for a report, whose head says who wants it. The
 * fourth tells whether there is a place for one more socket, and the fifth asks for a
 * report that goes to it: it closes the socket, or refuses. The rest hears frames.
 */
uint64_t job_hang_due(const struct job *job);
void job_hang_tend(struct job *job, uint64_t now);
void job_hang_ask(struct job *job, const char *head);
bool job_hang_has_place(const struct job *job);
bool job_hang_ask_for(struct job *job, int fd, bool has_stacks);
/* The socket of one that has asked takes more of its answer. */
void job_on_top_room(struct job *job);
void job_on_ask(struct job *job, bool has_stacks);
void job_on_quiet(struct job *job, const struct frame *frame);
void job_on_doing(struct job *job, const struct frame *frame, const char *payload);

/* The process of one of our ranks that has called MPI_Init, which a shell may have
 * started. */
pid_t job_pid_of(const struct job *job, int local);
/* Adds to what our ranks do where they have called it, and stacks of ranks outside MPI.
 */
void job_name_sites(const struct job *job, struct stuck_rank *ranks, bool has_stacks);

/* What one of our ranks does now; what a daemon says of its ranks, or NULL. */
void job_look_at(const struct job *job, int local, struct stuck_rank *rank);
struct stuck_rank *job_read_doing(const struct job *job, const struct frame *frame,
                                  const char *payload);

/*
 * The failure that ends the job (blame.c). The first ends the job because of a rank; the
 * second notes a rank that has failed while the others go on; the third looks at what
 * ranks do before they are ended. Then those of the loop: when something is due, doing
 * it, and the end.
 */
void job_blame(struct job *job, int code, int rank, const char *cause);
void job_blame_note(struct job *job, int rank);
void job_blame_look(struct job *job);
uint64_t job_blame_due(const struct job *job);
void job_blame_tend(struct job *job, uint64_t now);
void job_blame_close(struct job *job);
void job_on_doing_at_end(struct job *job, const struct frame *frame, const char *payload);

/*
 * What ranks have done last (black_box.c). The first notes how one of our ranks has
 * ended. At the root, the second writes the file of --trace while the job runs; the third
 * asks for all that is said at its end, and is done when it asks no more. Then those of
 * the loop, and of frames.
 */
void job_box_note_end(struct job *job, int local, int status);
void job_box_look(struct job *job);
void job_box_end(struct job *job);
bool job_box_is_asking(const struct job *job);
uint64_t job_box_due(const struct job *job);
void job_box_tend(struct job *job, uint64_t now);
void job_on_clock(struct job *job, const struct frame *frame, const char *payload);
void job_on_box_ask(struct job *job, const struct frame *frame);
void job_on_box(struct job *job, const struct frame *frame, const char *payload);

/* Lets weft-top ask, and hears it (top.c). Askers for whom there is no place wait in the
 * queue of the socket; the third is called when a place is free. */
void job_open_top(struct job *job);
void job_on_top(struct job *job);
void job_let_in_top(struct job *job);

/* Tells the root which networks this host is in; as the root, tells all which of them
 * hosts share, and hears both. */
void job_tell_networks(struct job *job);
void job_tell_shared(struct job *job);
void job_on_networks(struct job *job, const struct frame *frame, const char *payload);
void job_on_shared(struct job *job, const char *text, size_t bytes);
void job_close_networks(struct job *job);

/* Fills a new segment for the ranks of this host; false after a line. */
bool job_make_segment(const struct job *job, struct weft_segment *out);

/* The segment of the MPI program that one of our ranks runs. */
const struct weft_segment *job_segment_of(const struct job *job, int local);

/* The descriptor of the segment of a program, which is made if it is new; or -1. */
int job_open_program(struct job *job, int number);
/* Closes the segments of programs that none of our ranks runs or will run. */
void job_drop_unused_programs(struct job *job);

bool job_rank_has_ended(const struct job *job, int local);

/*
 * Marks one of our ranks, which has ended, as lost in the programs that still need it;
 * says which is the first of these.
 */
int job_mark_lost(struct job *job, int local, const char *cause);

/* Lists a failed rank in this program and those after it, also in later ones. */
void job_note_failed(struct job *job, int rank, int program);

/* One of our ranks has ended too early: the others are told so if they are to go on, else
 * the job ends. */
void job_lose_or_fail(struct job *job, int local, int code, const char *cause);

/* A rank has ended so on another host: by its daemon's word, to the root; by the root's,
 * to a daemon. */
void job_on_rank_failed(struct job *job, const struct frame *frame, const char *payload);
void job_on_rank_failed_elsewhere(struct job *job, const struct frame *frame);

/* Has this rank, which has ended well, left out a program that others run? Then why. */
bool job_has_left_out_program(const struct job *job, int local, char *why, size_t size);

/* A rank has begun its next MPI program: here, or elsewhere. */
int job_on_next_program(void *job, int rank, int *program, const char **why);
void job_on_program(struct job *job, int program);

/* Keys and barriers. */
void job_open_lookup(struct job *job);
void job_look_for_barrier(struct job *job);
void job_release(struct job *job);
void job_on_put(struct job *job, const char *payload, size_t bytes);
/* Reads from our ranks again, once the way to our parent has taken what they asked. */
void job_tend_words(struct job *job);
void job_on_get(struct job *job, const struct frame *frame, const char *key);
void job_on_value(struct job *job, const struct frame *frame, const char *payload);

/* Our ranks have been started: tells their process ids to the root, and hears of those of
 * others there. Once all are known, the front hears of them. */
void job_tell_pids(struct job *job);
void job_on_pids(struct job *job, const struct frame *frame, const char *payload);

/*
 * Debuggers (debug.h). The first is for this host, before ranks are started; false: `why`
 * says what is missing. The second, for one of our ranks that has just been started,
 * gives a debugger its outputs; the third hears of a child that has ended. The fourth is
 * the root's, when all ranks are known.
 */
bool job_prepare_debug(struct job *job, char *why, size_t size);
void job_start_debugger(struct job *job, int r, int output, int error);
void job_reap_debugger(struct job *job, pid_t pid, int status);
void job_open_panes(struct job *job);

/* What an event is about; a rank's number goes beside it. */
enum source {
    FROM_CHILDREN,
    FROM_FRONT,
    FROM_INPUT,
    FROM_INPUT_ROOM,
    FROM_OUTPUT,
    FROM_ERROR,
    FROM_PMI,
    FROM_UP,
    FROM_CHILD,
    FROM_CHILD_ERROR,
    FROM_TOP,
    FROM_TOP_ROOM,
};

/* From now on what comes from `fd` goes to job_dispatch(). The second is for one that had
 * left the set, or is in it still, or is closed (-1). */
void job_watch(struct job *job, int fd, enum source source, int rank);
void job_watch_again(struct job *job, int fd, enum source source, int rank);
/* For the socket of one of our ranks, by what the PMI-1 service waits for. */
void job_watch_client(struct job *job, int local);
void job_dispatch(struct job *job, uint64_t data);

/* Is this one of the signals that end a job? The first one decides the exit code. */
bool job_is_asked_to_end(struct job *job, int signal);

/* Takes up what was left out, if it can go on now. */
void job_tend_input(struct job *job);
void job_tend_sink(struct job *job, struct sink *sink, uint64_t now);

/* How one of our ranks has ended, by the status that waitpid() gave. */
void job_judge_end(struct job *job, int local, int status);

/* The upcall of the PMI-1 service: a rank has called MPI_Abort. */
void job_on_abort(void *job, int rank, int code);

#endif
