/*
 * rsh.h - the way to another host: ssh, or what stands in its place.
 *
 * WEFT_RSH holds the words that stand before the name of the host; without it they are
 * ssh's, or in an allocation of Slurm those of srun, which needs no keys. The command
 * that follows has no argument that is worth hiding.
 */
#ifndef WEFT_LAUNCH_RSH_H
#define WEFT_LAUNCH_RSH_H

#include "plan.h"

#include <stddef.h>
#include <sys/types.h>

#define DAEMON_OPTION "--weft-daemon"

void rsh_choose(struct list *words, bool is_in_slurm);

/* The full path of this program, as it is to be found on the other hosts; to be freed. */
char *rsh_own_path(void);

struct way {
    pid_t pid;
    int talk;  /* its standard input and output */
    int error; /* what it prints on standard error */
};

/*
 * Makes the process that becomes the way, and does not wait for it. False, and errno, if
 * there is none; that the command cannot be run is told by its end (rsh_explain). `net`
 * is WEFT_NET, which ssh obeys as far as route.h can tell.
 */
bool rsh_start(const struct list *words, const char *host, const char *net,
               const char *path, struct way *way);

/*
 * The way has ended before a daemon spoke: one line with the host, the command, what has
 * failed and what to do. `status` is waitpid's, `said` what came from standard error.
 */
void rsh_explain(char *line, size_t size, const struct list *words, const char *host,
                 const char *path, int status, const char *said);

#endif
