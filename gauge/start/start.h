/*
 * start.h - how the ends of a run come to be, without any MPI.
 *
 * By default this process forks the others and is end 0. With --listen it waits for
 * others who --join it over TCP and know the job's token; they receive its command line.
 * Under a launcher (PMI_RANK, OMPI_COMM_WORLD_RANK, PMIX_RANK, SLURM_PROCID in the
 * environment) the ends exist already and find each other: on one machine by their common
 * parent, elsewhere by --control HOST:PORT. The launcher itself is not spoken to, because
 * the MPI under test may want to.
 */
#ifndef GAUGE_START_H
#define GAUGE_START_H

#include "gauge/start/control.h"

struct gauge_start {
    int ends;            /* 0: two, or what the launcher says */
    const char *listen;  /* HOST:PORT, or NULL */
    const char *join;    /* HOST:PORT, or NULL */
    const char *control; /* HOST:PORT, or NULL: the same on every end of a launcher */
    const char *token;   /* or NULL: made, and shown to the user */
    bool is_forked;      /* fork even under a launcher */
    bool is_pinned;      /* give each forked end a processor of its own */
    bool is_together;    /* or all of them the same one */
    const char *how;     /* out: "forked", "listening", "joined", "launched" */
};

/* Whether the environment says that a launcher started us, and where we stand. `ends` is
 * 0 where it does not say how many there are; --ends must then. */
bool gauge_start_launched(int *end, int *ends);

/* Brings the ends together. Returns in each of them, with its control channel. */
enum gauge_rc gauge_start(struct gauge_start *start, struct gauge_control *control);
/* Waits for the forked ends; the worse of their results and ours. */
enum gauge_rc gauge_start_end(enum gauge_rc rc);

/* net.c: streams between ends that did not come from one fork. */
enum gauge_rc gauge_net_listen(const char *where, const char *token, int ends, int *fds);
enum gauge_rc gauge_net_join(const char *where, const char *token, int wanted, int *fd,
                             int *end, int *ends);
enum gauge_rc gauge_net_local(int end, int ends, int *fds);

#endif
