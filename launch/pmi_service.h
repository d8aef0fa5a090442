/*
 * pmi_service.h - PMI-1, the launcher's side: one text line a request, one an answer.
 *
 * Each rank of this host has a socket. Keys live in one space for the whole job: those
 * that are for all go to the root of the tree, where other hosts ask for them and then
 * keep a copy. Weft's own ranks say beside a key which rank puts it ("rank=7"): such keys
 * stay on the host of that rank, and whoever gets one is answered when it is there. Such
 * an answer ends with that word and the key, so that a rank may ask for several at once.
 * What
 * a rank asks that concerns the job or other hosts is told to the owner through the
 * upcalls. A request that is no request gets no answer and a line for the user; the job
 * goes on.
 *
 * Nothing here blocks, and no answer is lost: answers that the socket of a rank does not
 * take wait in a queue, and while that holds PMI_WAITING bytes nothing more is read from
 * the rank. Only answers to what it has asked before make the queue longer. Nor is
 * anything read while PMI_ASKED questions of the rank, and PMI_ASKED_EACH for each rank
 * of the job, wait for an answer; Weft's own ranks ask for a few keys of each other rank.
 */
#ifndef WEFT_LAUNCH_PMI_SERVICE_H
#define WEFT_LAUNCH_PMI_SERVICE_H

#include "bytes.h"

#include <stdbool.h>
#include <stddef.h>

enum {
    PMI_LINE = 4096,
    PMI_KEY = 64,
    PMI_WAITING = 64 * 1024,
    PMI_COMPLAINTS = 16, /* lines about one rank's requests */
    PMI_ASKED = 1024,
    PMI_ASKED_EACH = 4,
};

struct pmi_client {
    int fd; /* our end; -1: closed */
    int rank;
    int app; /* which program of an MPMD job */
    bool is_in_barrier;
    bool has_finalized;
    bool has_ended; /* the process */
    bool is_lost;   /* and the others go on: no barrier waits for it */
    size_t count;
    char *line;           /* what has come of the next requests; made on first use */
    struct bytes waiting; /* answers that the socket has not taken */
    bool is_passing; /* with byte `passed_at` of these goes the descriptor `passed` */
    int passed;
    size_t passed_at;
    bool is_waiting;  /* for room in the socket */
    bool is_left_out; /* nothing is read from it */
    int complaints;
    int asked; /* its questions that have no answer yet */
};

/* A lookup that waits for its key. */
struct pmi_waiter {
    struct pmi_waiter *next;
    int rank;   /* that asks */
    int daemon; /* of that rank */
    char key[]; /* with the rank that is to put it */
};

struct pmi_service {
    struct pmi_client *clients; /* of this host */
    int count;
    int first;           /* place of the first of them (hosts.h) */
    const int *place_of; /* of each rank of the job; NULL: the same as the rank */
    int size;            /* of the job */
    int in_barrier;      /* of those that are not lost */
    int lost;
    bool is_held;  /* nothing is read from any client; see pmi_service_hold() */
    char name[64]; /* of the key-value space */
    char *mapping; /* PMI_process_mapping */
    void *keys;    /* a tsearch tree */
    struct pmi_waiter *waiters;
    void (*aborted)(void *owner, int rank, int code);
    /* All of this host are in the barrier; they wait for pmi_service_release(). */
    void (*arrived)(void *owner);
    /* A key for all that other hosts should know. */
    void (*put)(void *owner, const char *name, const char *value);
    /* A key that is not here: answered some time by pmi_service_answer(). `of` is the
     * rank that has put it, or -1: one for all. False: there is nobody else to ask. */
    bool (*ask)(void *owner, int rank, int of, const char *name);
    /* A rank on another host waited for a key that is now here, or never will be. */
    void (*found)(void *owner, int daemon, int rank, const char *name, const char *value);
    /* A rank begins its next MPI program: its number goes to *program. The descriptor of
     * its memory, which stays ours, or -1, and *why says in a word why not. */
    int (*next_program)(void *owner, int rank, int *program, const char **why);
    /* `is_waiting` or `is_left_out` of a client has changed. */
    void (*watch)(void *owner, struct pmi_client *client);
    /* A line for the user. */
    void (*complain)(void *owner, const char *line);
    void *owner;
};

/* Sends answers that wait, reads once what a client has sent, and answers. False when the
 * client has closed its end. */
bool pmi_service_tend(struct pmi_service *service, struct pmi_client *client);

/* Reads nothing from the clients of this host while the way to other hosts is full, and
 * goes on when it is not. */
void pmi_service_hold(struct pmi_service *service, bool is_held);

/* Closes our end, and forgets what the client has not taken. */
void pmi_client_close(struct pmi_client *client);

/* The barrier is over. */
void pmi_service_release(struct pmi_service *service);

/* A key from another host; the first counts. */
void pmi_service_put(struct pmi_service *service, const char *name, const char *value);

/* The value of a key for all, or NULL. */
const char *pmi_service_find(const struct pmi_service *service, const char *name);

/*
 * A rank on the host of `daemon` wants what our rank `of` puts under `name`: found() is
 * called now, or when that is done, or when the rank ends without having done so.
 */
void pmi_service_want(struct pmi_service *service, int daemon, int rank, int of,
                      const char *name);
void pmi_service_rank_ended(struct pmi_service *service, int rank);

/* It has ended too early, and the others go on. */
void pmi_service_rank_lost(struct pmi_service *service, int rank);

/* The answer to ask() for one of our ranks: `name` as in found(), or NULL if it is not
 * known; `value`, or NULL: there is no such key. A rank may have asked for several. */
void pmi_service_answer(struct pmi_service *service, int rank, const char *name,
                        const char *value);

/* Forgets all keys. */
void pmi_service_close(struct pmi_service *service);

#endif
