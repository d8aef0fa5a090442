/*
 * job_parts.h - what the files of the keeper share: the job itself, its states and
 * events.
 *
 *   states.c   the table: what happens in which state, and what is done then
 *   start.c    the birth of the ranks
 *   events.c   what ranks, front and terminal do: from descriptors to events of the table
 *   job.c      the loop around it, beginning and end
 */
#ifndef WEFT_LAUNCH_JOB_PARTS_H
#define WEFT_LAUNCH_JOB_PARTS_H

#include "output.h"
#include "placement.h"
#include "plan.h"
#include "pmi_service.h"
#include "spawn.h"

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
    struct stream output;
    struct stream error;
};

struct job {
    const struct plan *plan;
    char host[256];
    struct rank *ranks;
    int running;
    struct weft_segment segment;
    struct placement placement;
    struct environment environment;
    struct pmi_service pmi;
    struct sink output;
    struct sink error;
    struct sink *error_to; /* the one of the two that standard error goes to */
    int epoll;
    int children; /* a signalfd for SIGCHLD */
    int front;
    int input; /* our end of rank 0's standard input, if we feed it; else -1 */
    bool is_input_left_out; /* it cannot be fed now */
    enum state state;
    int code;  /* the exit code; set by the first failure */
    int asked; /* the signal that asked us to end the job */
    bool has_failed;
    uint64_t grace_end; /* 0: none */
    uint64_t time_out;  /* 0: none */
};

/* Something has happened: does what the table says. */
void job_happen(struct job *job, enum event event);

/* A line to the user, on standard error. */
void job_say(struct job *job, const char *format, ...)
    __attribute__((format(printf, 2, 3)));

/* Do the others go on when a rank fails? Until something else ends the job. */
bool job_is_going_on(const struct job *job);

/* The first failure counts: its code and its line; what follows is a consequence, and is
 * told only where the others go on. */
void job_fail(struct job *job, int code, int rank, const char *format, ...)
    __attribute__((format(printf, 4, 5)));

/* The same for a failure that is not a rank's; the caller has said why. */
void job_fail_silently(struct job *job, int code);

/* To each rank and whatever it has started in its process group. */
void job_signal_ranks(struct job *job, int signal);

/* The program of a rank. */
const struct app *job_app_of(const struct job *job, int rank);

/* Starts all ranks; failures go to the table. */
void job_start_ranks(struct job *job);

/* What an event is about; a rank's number goes beside it. */
enum source { FROM_CHILDREN, FROM_FRONT, FROM_INPUT, FROM_OUTPUT, FROM_ERROR, FROM_PMI };

/* From now on what comes from `fd` goes to job_dispatch(). */
void job_watch(struct job *job, int fd, enum source source, int rank);
void job_dispatch(struct job *job, uint64_t data);

/* Is this one of the signals that end a job? The first one decides the exit code. */
bool job_is_asked_to_end(struct job *job, int signal);

/* Takes up what was left out, if it can go on now. */
void job_tend_input(struct job *job);
void job_tend_sink(struct job *job, struct sink *sink, uint64_t now);

/* The upcall of the PMI-1 service. */
void job_on_abort(void *job, int rank, int code);

#endif
