/*
 * kvs.h - what a launcher tells a rank, and the launcher's key-value store.
 *
 * Three implementations: PMI-1, one text line per request on an inherited descriptor (our
 * mpiexec, hydra); PMI-2, one counted text per request on such a descriptor (Slurm); and
 * PMIx, a library loaded when it is needed (Slurm, Open MPI's mpirun). A rank puts values
 * under keys; after all ranks have called fence(), any rank can get them. One thread at a
 * time calls these functions, except abort().
 *
 * The function that finds a failure logs it in one line that names the launcher.
 */
#ifndef WEFT_WIREUP_KVS_H
#define WEFT_WIREUP_KVS_H

#include "base/rc.h"
#include "wireup/segment.h"

#include <stdbool.h>

enum { WEFT_KVS_VALUE_MAX = 1000, WEFT_JOB_ID_MAX = 256 };

/* A rank's position in the job, as its launcher sees it. */
struct weft_who {
    char job[WEFT_JOB_ID_MAX];
    int rank;
    int size;
    int node; /* counted from 0, in an order that is the same for all ranks */
    int node_count;
    int local_rank;
    int local_size;
    int leader; /* the lowest rank on this node */
};

struct weft_kvs_ops {
    const char *name; /* "pmi-1", "pmi-2", "pmix" */

    /* Connects, and fills in rank, size and node of this process. */
    enum weft_rc (*open)(struct weft_who *who);
    /* Fills the node and local rank of every rank of the job. */
    enum weft_rc (*locations)(const struct weft_who *who, struct weft_location *map);
    enum weft_rc (*put)(const char *key, const char *value);
    /* is_collecting: all values that were put are distributed to all nodes. */
    enum weft_rc (*fence)(bool is_collecting);
    /* What `rank` has put; `value` has room for WEFT_KVS_VALUE_MAX + 1. */
    enum weft_rc (*get)(int rank, const char *key, char *value);
    /* Gets a value without waiting. WEFT_AGAIN: it has been requested; call again later.
     * The slot is NULL where get() does not wait. */
    enum weft_rc (*try_get)(int rank, const char *key, char *value);
    /* With try_get(): has an answer come that no try_get() has taken? */
    bool (*has_answers)(void);
    /* With try_get(): becomes readable when an answer comes; -1: no try_get() waits. */
    int (*descriptor)(void);
    /* Does get() wait for a value that is not put yet? Then no fence is needed. */
    bool (*is_lazy)(void);
    /* Asks the launcher to end the job; from any thread, takes no lock, may return. */
    void (*abort)(int code, const char *cause);
    /* Tells the launcher that this rank is done; at exit. */
    void (*close)(void);
};

extern const struct weft_kvs_ops weft_pmi1_ops;
extern const struct weft_kvs_ops weft_pmix_ops;
const struct weft_kvs_ops *weft_pmi2(void);

/* Takes the descriptor over now, as a rank of our own mpiexec, so that abort() works;
 * open() asks for the rest later. */
void weft_pmi1_adopt(int fd, int rank);

/*
 * Asks our own mpiexec, after weft_pmi1_adopt(), for the memory of this rank's next MPI
 * program. On success the caller owns *fd, and *program is the number of the program,
 * counted from 0. WEFT_ERR_LAUNCH, after a line that says why: mpiexec has refused.
 */
WEFT_MUST_CHECK enum weft_rc weft_pmi1_next_program(int *fd, int *program);

/*
 * Reads PMI-1's map of ranks, "(vector,(first node, nodes, ranks per node),...)", which
 * repeats until all ranks are placed. Fills `map` if it is not NULL, and the fields of
 * `who` that concern nodes. WEFT_ERR_ARGUMENT if the text is not such a map.
 */
WEFT_MUST_CHECK enum weft_rc
weft_pmi1_read_mapping(const char *text, struct weft_who *who, struct weft_location *map);

/* Computes the fields of `who` that concern nodes, and the local ranks in `map`, from the
 * nodes in `map`. WEFT_ERR_NOMEM: no memory for the counts. */
WEFT_MUST_CHECK enum weft_rc weft_who_from_nodes(struct weft_who *who,
                                                 struct weft_location *map);

#endif
