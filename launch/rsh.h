/*
 * rsh.h - starts the command that reaches another host: ssh, or another of the kind.
 *
 * WEFT_RSH holds the words that precede the name of the host. If it is not set, they are
 * ssh's, or those of srun in an allocation of Slurm, which needs no keys. The command on
 * the other host has no argument that is worth hiding.
 */
#ifndef WEFT_LAUNCH_RSH_H
#define WEFT_LAUNCH_RSH_H

#include "plan.h"

#include <stddef.h>
#include <sys/types.h>

#define DAEMON_OPTION "--weft-daemon"
#define DAEMON_ENDS   "weft-daemon ends: " /* before a daemon's last words, on stderr */

void rsh_choose(struct list *words, bool is_in_slurm);

/* A word as a shell reads it, in quotes where that is needed; to be freed. */
char *rsh_quote(const char *word);

/* The full path of this program, as it is to be found on the other hosts; to be freed. */
char *rsh_own_path(void);

/*
 * The process that runs the command, and its pipes. Standard input and output do not
 * share an open file description: ssh makes its output nonblocking, and a wrapper that
 * reads our words before ssh does would get EAGAIN.
 */
struct rsh {
    pid_t pid;
    int input;  /* its standard input, which we write */
    int output; /* its standard output, which we read */
    int error;  /* what it prints on standard error */
};

/*
 * Starts the process that runs the command, and does not wait for it. Returns false, with
 * errno set, if there is none; if the command cannot be run, its exit status says so
 * (rsh_explain). `net` is WEFT_NET, which ssh obeys as far as route.h can tell. `path`
 * and `option`, if it is not NULL, are what runs on the host.
 */
bool rsh_start(const struct list *words, const char *host, const char *net,
               const char *path, const char *option, struct rsh *rsh);

/*
 * Explains why the process ended before the daemon spoke: one line with the host, the
 * command, what has failed and what to do. `status` is waitpid's, `said` what came from
 * standard error.
 */
void rsh_explain(char *line, size_t size, const struct list *words, const char *host,
                 const char *path, int status, const char *said);

#endif
