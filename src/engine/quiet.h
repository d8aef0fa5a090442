/*
 * quiet.h - does the program look so often that rings for its progress thread are in
 * vain?
 *
 * A ring costs its sender a system call and this process a change of threads, on a
 * processor on which a rank computes or polls: 5 to 15 us together, and the two threads
 * then contend for the lock. It pays if the program computes. A program that looks into
 * MPI more often than that takes what has come itself, sooner than the thread would.
 *
 * So rings are judged: one is in vain if the program was away for less than WEFT_QUIET_NS
 * between two looks, on average since the ring before. While one of its threads waits in
 * MPI, asleep or not, it is not away. After some rings in vain in a row the process is
 * quiet: it leaves MPI without a wake level, so that nobody rings, and its progress
 * thread looks every millisecond instead. The first such millisecond in which no thread
 * of the program has looked ends that: what is there is taken, and from then on peers
 * ring again. If the program was outside MPI then with something outstanding, it takes
 * twice as many rings in vain to become quiet the next time.
 *
 * Only the rule is here; progress_thread.c applies it. All calls need the lock.
 */
#ifndef WEFT_ENGINE_QUIET_H
#define WEFT_ENGINE_QUIET_H

#include <stdbool.h>
#include <stdint.h>

enum {
    WEFT_QUIET_NS = 20000, /* as long as a ring and what follows may cost */
    WEFT_QUIET_LEAST = 4,  /* rings in vain before it is quiet */
    WEFT_QUIET_MOST = 1024,
};

/* All zero: rings are wanted, and none has come yet. */
struct weft_quiet {
    bool is_quiet;
    uint32_t useless;  /* rings in vain in a row */
    uint32_t doubled;  /* how often WEFT_QUIET_LEAST is doubled before it is quiet */
    uint64_t looks;    /* of the program, when the last ring was judged, or at a tick */
    uint64_t since_ns; /* `away_ns` of the last ring */
};

/* The program, which has looked so often by now and was away for so long, finds that the
 * progress thread was rung. Neither number ever falls. True: it becomes quiet. */
bool weft_quiet_judge(struct weft_quiet *quiet, uint64_t looks, uint64_t away_ns);

/* A millisecond of quiet has passed; `is_outside`: the program is outside MPI, with
 * something outstanding. True: the quiet is over. */
bool weft_quiet_tick(struct weft_quiet *quiet, uint64_t looks, bool is_outside);

#endif
