/*
 * group.h - groups: ordered sets of processes, as small as they can be written down.
 *
 * A process is known by its job and its rank there, in 64 bits (base/process.h). A group
 * whose ranks follow a formula, first + rank * stride within one job, is kept as that
 * formula: the world, a row, a column, the world backwards, a single process. Only
 * what no formula says has a table of its own, of 8 bytes per rank. The form is the same
 * whichever operations led to a group, so equal groups look equal.
 *
 * Groups never change. They are counted like error handlers: how often the user holds the
 * handle, and how many objects use the group. While the user does not hold it the handle
 * is invalid; when nobody uses it either, the group is freed. MPI_GROUP_EMPTY is not
 * counted.
 *
 * A group knows the session that its processes were first asked for, and what is made of
 * it inherits that: so communicators know theirs.
 *
 * Making a group has two steps. A set operation writes the members into a draft, which is
 * the caller's and needs no lock; weft_group_make() makes the group of it, and empties
 * it. What takes, counts or finds groups needs the library's lock; looking into one does
 * not.
 */
#ifndef WEFT_CORE_GROUP_H
#define WEFT_CORE_GROUP_H

#include "base/process.h"
#include "core/handle.h"

#include "mpi.h"

#include <stdatomic.h>

/* Where the ranks 0, 1, 2... of a group are. */
struct weft_map {
    const uint64_t *table; /* NULL: the formula says it */
    uint64_t first;
    int64_t stride; /* 0 below two ranks */
};

struct weft_spread; /* of rooms above; one piece of memory */

struct weft_group {
    MPI_Group handle;
    int held; /* by the user */
    int used; /* by objects */
    int size;
    int rank; /* of this process, or MPI_UNDEFINED */
    struct weft_map map;
    uint64_t session; /* the number of the one it derives from; 0: none */
    _Atomic(struct weft_spread *) spread; /* coll/nodes.h; NULL: nobody has asked yet */
};

extern struct weft_group weft_group_empty;

static inline uint64_t weft_map_process(const struct weft_map *map, int rank)
{
    return weft_likely(map->table == NULL) ? map->first + (uint64_t)(rank * map->stride)
                                           : map->table[rank];
}

static inline uint64_t weft_group_process(const struct weft_group *group, int rank)
{
    return weft_map_process(&group->map, rank);
}

/* Says who this process is, before the first group is made; and frees all groups. */
void weft_group_open(uint64_t me);
void weft_group_close(void);

/* The group behind a handle, or NULL: null handle, stale, not one. */
struct weft_group *weft_group_from_handle(MPI_Group handle);

/* The rank of a process in the group, or MPI_UNDEFINED. */
int weft_group_rank_of(const struct weft_group *group, uint64_t process);

/* ---- drafts ---- */

struct weft_group_draft {
    int size;
    struct weft_map map; /* its table is `table` */
    uint64_t *table;
    int capacity;
    uint64_t *reserve; /* a table for as many as `capacity`, not used yet, or NULL */
    uint64_t session;  /* as in the group */
};

/* An empty draft takes room for so many members: no lack of memory refuses them later. */
WEFT_MUST_CHECK enum weft_rc weft_group_draft_reserve(struct weft_group_draft *draft,
                                                      int members);

/* Appends a process that is not in it yet. */
WEFT_MUST_CHECK enum weft_rc weft_group_add(struct weft_group_draft *draft,
                                            uint64_t process);

/* A draft that is not made a group of. */
void weft_group_drop(struct weft_group_draft *draft);

/* The group, used once; MPI_GROUP_EMPTY's for no members. Empties the draft either way.
 */
WEFT_MUST_CHECK enum weft_rc weft_group_make(struct weft_group_draft *draft,
                                             struct weft_group **out);

/* `size` processes of our own job: `first` is a rank in it, and so are those behind. */
WEFT_MUST_CHECK enum weft_rc weft_group_make_range(uint32_t first, int size,
                                                   struct weft_group **out);

/*
 * The operations of MPI_Group_*, into an empty draft. On failure, which is want of
 * memory, the draft is empty again. Ranks and ranges were checked in bindings/.
 */
WEFT_MUST_CHECK enum weft_rc weft_group_union(const struct weft_group *a,
                                              const struct weft_group *b,
                                              struct weft_group_draft *draft);
WEFT_MUST_CHECK enum weft_rc weft_group_intersection(const struct weft_group *a,
                                                     const struct weft_group *b,
                                                     struct weft_group_draft *draft);
WEFT_MUST_CHECK enum weft_rc weft_group_difference(const struct weft_group *a,
                                                   const struct weft_group *b,
                                                   struct weft_group_draft *draft);
WEFT_MUST_CHECK enum weft_rc weft_group_incl(const struct weft_group *group, int n,
                                             const int *ranks,
                                             struct weft_group_draft *draft);
WEFT_MUST_CHECK enum weft_rc weft_group_excl(const struct weft_group *group, int n,
                                             const int *ranks,
                                             struct weft_group_draft *draft);
WEFT_MUST_CHECK enum weft_rc weft_group_range_incl(const struct weft_group *group, int n,
                                                   int (*ranges)[3],
                                                   struct weft_group_draft *draft);
WEFT_MUST_CHECK enum weft_rc weft_group_range_excl(const struct weft_group *group, int n,
                                                   int (*ranges)[3],
                                                   struct weft_group_draft *draft);

/* How many ranks a range first, last, stride names; its stride is not 0. */
int weft_group_range_length(const int range[3]);

/* MPI_IDENT, MPI_SIMILAR or MPI_UNEQUAL. */
WEFT_MUST_CHECK enum weft_rc weft_group_compare(const struct weft_group *a,
                                                const struct weft_group *b, int *result);

/* Ranks of `from`, or MPI_PROC_NULL, as ranks of `to`. */
WEFT_MUST_CHECK enum weft_rc weft_group_translate(const struct weft_group *from, int n,
                                                  const int *ranks,
                                                  const struct weft_group *to,
                                                  int *translated);

/* ---- counting ---- */

void weft_group_hold(struct weft_group *group);
void weft_group_let_go(struct weft_group *group);
struct weft_group *weft_group_use(struct weft_group *group);
void weft_group_release(struct weft_group *group);

#endif
