/*
 * spawn.h - one rank: its environment, its descriptors, its birth.
 */
#ifndef WEFT_LAUNCH_SPAWN_H
#define WEFT_LAUNCH_SPAWN_H

#include "plan.h"

#include <sched.h>
#include <stdbool.h>
#include <sys/types.h>

/* The environment that all ranks share, made once. */
struct environment {
    struct list common; /* NAME=VALUE */
};

void environment_open(struct environment *environment, const struct plan *plan);
/* Adds NAME=VALUE, in the place of an earlier one of that name. */
void environment_set(struct environment *environment, char *entry);
void environment_close(struct environment *environment);

struct birth {
    const struct app *app;
    const struct environment *environment;
    const cpu_set_t *processors; /* NULL: as ours */
    int rank;
    int size;
    int local_rank;
    int local_size;
    int input; /* descriptors that become 0, 1 and 2 */
    int output;
    int error;
    int segment; /* descriptors that the rank inherits under their own numbers */
    int pmi;
    bool is_held; /* it stops before its first instruction, until SIGCONT */
};

struct stillborn {
    const char *step;   /* what could not be done: "be started", "enter " */
    const char *object; /* "", or what it was about: a folder */
    int error;          /* errno */
};

/*
 * Starts a rank, in a process group of its own, and returns its process, or -1 and why.
 * The caller keeps all descriptors.
 */
pid_t spawn_rank(const struct birth *birth, struct stillborn *why);

/* In a child: signals have their usual effect, none is blocked. */
void spawn_reset_signals(void);

/* Allows us as many descriptors as the system does; the ranks get back what we had. */
void spawn_raise_limit(void);

#endif
