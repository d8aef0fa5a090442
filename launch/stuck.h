/*
 * stuck.h - who waits for whom in a job that does not move: from a table of what each
 * rank does to the lines of a report. Pure functions: they look at nothing but the table.
 * The launcher does nothing else while a report is made, so none compares each rank with
 * each other one: all take at most some n log n steps for n ranks.
 *
 *   stuck_words.c  what one rank does, in words
 *   stuck_calls.c  which ranks are in the same collective
 *   stuck_graph.c  who waits for whom, and where waiting ends
 *   stuck_cycles.c who waits in a circle
 *   stuck_near.c   what nearly fits: messages and receives, collectives
 *   stuck.c        the report
 */
#ifndef WEFT_LAUNCH_STUCK_H
#define WEFT_LAUNCH_STUCK_H

#include "bytes.h"

#include "wireup/doing.h"

enum stuck_life {
    STUCK_NOT_BEGUN, /* it has not called MPI_Init */
    STUCK_LIVING,
    STUCK_FINALIZED, /* its process still runs */
    STUCK_ENDED,
    STUCK_DEAD,   /* it has failed, and the others go on */
    STUCK_SILENT, /* its host has not answered */
};

enum { STUCK_WHY = 128, STUCK_TEXT = 320, STUCK_SITE = 224, STUCK_STACK = 480 };

/* What is known of one rank; the table has one for each rank of the job, in order. */
struct stuck_rank {
    enum stuck_life life;
    char state;      /* of its process, as /proc has it: R, S, D, T; 0: not known */
    bool is_polling; /* its MPI_Test or MPI_Iprobe calls move */
    struct weft_doing doing; /* of a rank that does not wait: at most the call it is in */
    char why[STUCK_WHY];     /* of a dead one */
    char site[STUCK_SITE];   /* of the call that it is in; empty: not known */
    char stack[STUCK_STACK]; /* of one that does not wait, if that was asked for */
};

struct stuck {
    const struct stuck_rank *ranks;
    int count;
};

/* Adds the report to `to`: lines, each with its end. */
void stuck_report(const struct stuck *stuck, struct bytes *to);

/* ---- between its files ---- */

/* Adds a line. */
void stuck_say(struct bytes *to, const char *format, ...)
    __attribute__((format(printf, 2, 3)));

/* Ranks as "0-2, 5", not more than a line holds; `is_in` says which. */
void stuck_list(const struct stuck *stuck, const bool *is_in, char *text, size_t size);

/* The words of one rank: what it does; its peer, tag and bytes; on which communicator;
 * and the place of the call in the program. */
struct stuck_words {
    char doing[STUCK_TEXT];
    char detail[STUCK_TEXT];
    char where[STUCK_TEXT];
    char site[STUCK_SITE];
};
void stuck_describe(const struct stuck_rank *rank, struct stuck_words *words);
/* All of it in one text. */
void stuck_describe_whole(const struct stuck_rank *rank, char *text, size_t size);

/* Peer, tag and bytes of a message; `towards` is "from" or "to". */
void stuck_describe_message(const struct weft_doing_message *message, const char *towards,
                            char *text, size_t size);

/* Does the rank wait in a call of MPI, or spin in one? */
bool stuck_is_waiting(const struct stuck_rank *rank);
bool stuck_is_collective(const struct stuck_rank *rank);     /* does it wait in one? */
const char *stuck_collective(const struct stuck_rank *rank); /* its name */

/* By how many calls the collective of the first rank is ahead of that of the second,
 * which is on the same communicator; 0 if that is not known. */
int stuck_ahead(const struct stuck_rank *a, const struct stuck_rank *b);

/* Ranks that wait in the same collective on the same communicator share a call. */
struct stuck_calls {
    int *of;      /* by rank: the number of its call; -1: it is in no collective */
    int *members; /* the ranks of one call after the other, those of each in order */
    int *first;   /* by call: where its members begin; one more: where they end */
    int *comm; /* by call: the first call on that communicator; they follow each other */
    int count;
};
bool stuck_calls_open(const struct stuck *stuck, struct stuck_calls *calls);
void stuck_calls_close(struct stuck_calls *calls);
int stuck_calls_size(const struct stuck_calls *calls, int call);

/* Whom a rank waits for. */
enum { STUCK_EDGES = 8 };
struct stuck_edges {
    int to[STUCK_EDGES];
    int count;
    bool is_any; /* for a message of any rank, or for any of several requests */
};

struct stuck_graph {
    const struct stuck *stuck;
    struct stuck_calls calls;
    struct stuck_edges *edges; /* by rank */
    int *looker;  /* by call: a rank that knows whom all wait for, and 1; 0: none */
    int *waiters; /* those of one rank after the other */
    int *first;   /* by rank: where they begin; one more: where they end */
    int skips;    /* ranks ahead of a call that may still be passed over */
};
/* False: no memory. It has to be closed in both cases. */
bool stuck_graph_open(const struct stuck *stuck, struct stuck_graph *graph);
void stuck_graph_close(struct stuck_graph *graph);

/* Marks the ranks that wait for this one, which has failed: straight or through others.
 */
void stuck_mark_waiters(const struct stuck *stuck, int rank, bool *is_waiter);

/* Those of the graph. */
void stuck_say_cycles(const struct stuck_graph *graph, struct bytes *to);
void stuck_say_ends(const struct stuck_graph *graph, struct bytes *to);

/* Near misses. */
void stuck_say_messages(const struct stuck *stuck, struct bytes *to);
void stuck_say_collectives(const struct stuck_graph *graph, struct bytes *to);

/* Comparisons of ranks and visits of edges so far; tests hold their growth. */
extern unsigned long stuck_steps;

#endif
