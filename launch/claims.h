/*
 * claims.h - the processors of this host that jobs of ours have taken for themselves.
 *
 * A job that binds its ranks claims each of their processors by binding an abstract Unix
 * socket with the name "weft-cpu-N". The kernel lets one process have a name, and
 * releases it when that process ends, however it ends. Nothing is written to a file
 * system.
 *
 * A claim is advice: it decides where ranks are bound, and nothing else. Another user who
 * takes the names achieves that ranks are not bound, or, where binding was demanded, that
 * mpiexec refuses. Jobs in another network namespace (most containers) are not seen, nor
 * are those of other launchers.
 */
#ifndef WEFT_LAUNCH_CLAIMS_H
#define WEFT_LAUNCH_CLAIMS_H

#include "topology.h"

/*
 * The variable by which a rank that is bound, and whatever it starts, knows the claims
 * made inside it. An mpiexec that finds it claims processors under names of that rank:
 * they are the rank's already, so that others do not look at them, and two such mpiexec
 * see each other.
 */
#define CLAIMS_SCOPE "WEFT_BOUND"

/* Claims that are held; zeroed memory holds none. */
struct claims {
    int *sockets;
    int count;
};

/* Sets `is_taken` of every core, or thread of a core, of which somebody has claimed a
 * processor. */
void claims_look(struct topology *topology);

/*
 * Claims all processors of a set, in ascending order. On false, some are taken by
 * another job (errno is EADDRINUSE) or cannot be claimed; drop what is held then.
 */
bool claims_take(struct claims *claims, const cpu_set_t *set);

/* Gives back everything that is held. */
void claims_drop(struct claims *claims);

#endif
