/*
 * coll_random_model.h - one operation of coll_random.c: its buffers, and what has to be
 * in them afterwards.
 *
 * What goes from one process to another is a function of the case, of the sender, and of
 * a key that says to whom: so every process knows what it has to get without asking. All
 * places around the data are checked to be untouched, and so is all that is sent.
 */
#ifndef WEFT_TEST_COLL_RANDOM_MODEL_H
#define WEFT_TEST_COLL_RANDOM_MODEL_H

#include "coll_random_layout.h"
#include "coll_random_place.h"

#include <limits.h>

enum {
    GUARD = 4, /* numbers before and behind the data */
    UNTOUCHED = 0x5a5a5a5a,
    TO_ALL = 0,     /* key of what all get; else it is the rank, and */
    TO_EDGE = 5000, /* of neighbours the sender's edge */
};

enum kind {
    BARRIER,
    BCAST,
    GATHER,
    GATHERV,
    SCATTER,
    SCATTERV,
    ALLGATHER,
    ALLGATHERV,
    ALLTOALL,
    ALLTOALLV,
    ALLTOALLW,
    REDUCE,
    ALLREDUCE,
    REDUCE_SCATTER,
    REDUCE_SCATTER_BLOCK,
    SCAN,
    EXSCAN,
    NEIGHBOR_ALLGATHER,
    NEIGHBOR_ALLGATHERV,
    NEIGHBOR_ALLTOALL,
    NEIGHBOR_ALLTOALLV,
    NEIGHBOR_ALLTOALLW,
    MESSAGE, /* to one that is some ranks away, from the one as far before */
    KINDS,
};

enum face { BLOCKING, NONBLOCKING, PERSISTENT, FACES };

struct block {
    const struct layout *layout;
    int numbers;
    long first;   /* place of the first element */
    long displ;   /* as it is passed: elements, or bytes */
    bool is_wild; /* has no numbers, and is nowhere */
};

/* What a process gives or gets. */
struct side {
    int count;
    struct block *blocks;
    uint32_t *memory;
    uint32_t *before; /* a copy */
    uint32_t *at;     /* place 0 */
    long room;
    bool is_used;            /* else garbage is passed */
    bool has_sizes;          /* of its own for each block */
    void *passed;            /* the buffer */
    MPI_Count element_count; /* of one block */
    MPI_Datatype type;
    int *counts;
    int *displs;
    MPI_Count *large_counts;
    MPI_Aint *large_displs;
    MPI_Datatype *types;
};

struct operation {
    enum kind kind;
    enum face face;
    uint32_t seed;
    uint32_t round; /* of a persistent one */
    struct place place;
    int root_side;
    int root;
    int away; /* of a message */
    int tag;
    int unit;  /* all lengths are multiples of it */
    int count; /* numbers */
    bool wants_in_place;
    bool is_in_place;
    bool is_large;     /* counts are MPI_Count */
    bool frees_early;  /* the types and the operation are freed when it has begun */
    bool starts_early; /* a persistent one is started when it is made */
    bool has_own_comm;
    enum arithmetic arithmetic;
    MPI_Op op;
    struct side send;
    struct side recv;
    struct {
        int *counts;
        MPI_Count *large_counts;
    } parts; /* of a reduce-scatter, in elements */
    MPI_Request requests[2];
};

/* ---- what is sent ---- */

static inline uint32_t mix(uint32_t a, uint32_t b, uint32_t c, uint32_t d)
{
    uint32_t h = a * 2654435761u ^ b * 2246822519u ^ c * 3266489917u ^ d * 668265263u;

    h ^= h >> 15;
    h *= 2246822519u;
    return h ^ h >> 13;
}

/* A process, in whichever group it is. */
static inline int process(int side, int rank)
{
    return 10000 * side + rank;
}

static inline uint32_t value(const struct operation *o, int from, int key, int i)
{
    return mix(o->seed + 977 * o->round, (uint32_t)from, (uint32_t)key + 7, (uint32_t)i);
}

static inline bool is_reduction(const struct operation *o)
{
    return o->kind >= REDUCE && o->kind <= EXSCAN;
}

static inline bool is_around(const struct operation *o)
{
    return o->kind >= NEIGHBOR_ALLGATHER && o->kind <= NEIGHBOR_ALLTOALLW;
}

static inline bool is_w(const struct operation *o)
{
    return o->kind == ALLTOALLW || o->kind == NEIGHBOR_ALLTOALLW;
}

static inline bool is_rooted(const struct operation *o)
{
    switch (o->kind) {
    case BCAST:
    case GATHER:
    case GATHERV:
    case SCATTER:
    case SCATTERV:
    case REDUCE:
        return true;
    default:
        return false;
    }
}

static inline bool has_own_sizes(const struct operation *o)
{
    switch (o->kind) {
    case GATHERV:
    case SCATTERV:
    case ALLGATHERV:
    case ALLTOALLV:
    case ALLTOALLW:
    case NEIGHBOR_ALLGATHERV:
    case NEIGHBOR_ALLTOALLV:
    case NEIGHBOR_ALLTOALLW:
        return true;
    default:
        return false;
    }
}

/* ---- who takes part ---- */

static inline int our_side(const struct operation *o)
{
    return o->place.is_inter ? o->place.side : 0;
}

static inline int their_side(const struct operation *o)
{
    return o->place.is_inter ? 1 - o->place.side : 0;
}

static inline int peers(const struct operation *o)
{
    return o->place.ranks[their_side(o)];
}

static inline bool is_root(const struct operation *o)
{
    return our_side(o) == o->root_side && o->place.rank == o->root;
}

/* In the root's group, and not the root. */
static inline bool is_outside(const struct operation *o)
{
    return is_rooted(o) && o->place.is_inter && our_side(o) == o->root_side &&
           !is_root(o);
}

static inline bool gives(const struct operation *o)
{
    switch (o->kind) {
    case BARRIER:
    case BCAST:
        return false;
    case GATHER:
    case GATHERV:
    case REDUCE:
        return !o->place.is_inter || our_side(o) != o->root_side;
    case SCATTER:
    case SCATTERV:
        return is_root(o);
    default:
        return true;
    }
}

static inline bool gets(const struct operation *o)
{
    switch (o->kind) {
    case BARRIER:
        return false;
    case BCAST:
        return !is_outside(o);
    case GATHER:
    case GATHERV:
    case REDUCE:
        return is_root(o);
    case SCATTER:
    case SCATTERV:
        return !o->place.is_inter || our_side(o) != o->root_side;
    default:
        return true;
    }
}

static inline bool is_scatter(const struct operation *o)
{
    return o->kind == SCATTER || o->kind == SCATTERV;
}

/* ---- blocks ---- */

static inline int block_count(const struct operation *o, bool is_send)
{
    int list[NEIGHBOURS_MOST];

    switch (o->kind) {
    case GATHER:
    case GATHERV:
    case ALLGATHER:
    case ALLGATHERV:
        return is_send ? 1 : peers(o);
    case SCATTER:
    case SCATTERV:
        return is_send ? peers(o) : 1;
    case ALLTOALL:
    case ALLTOALLV:
    case ALLTOALLW:
        return peers(o);
    case NEIGHBOR_ALLGATHER:
    case NEIGHBOR_ALLGATHERV:
        return is_send ? 1 : neighbours(&o->place, o->place.rank, true, list);
    case NEIGHBOR_ALLTOALL:
    case NEIGHBOR_ALLTOALLV:
    case NEIGHBOR_ALLTOALLW:
        return neighbours(&o->place, o->place.rank, !is_send, list);
    default:
        return 1;
    }
}

/* To whom block k goes. */
static inline int key_of(const struct operation *o, int k)
{
    switch (o->kind) {
    case SCATTER:
    case SCATTERV:
    case ALLTOALL:
    case ALLTOALLV:
    case ALLTOALLW:
        return k;
    case NEIGHBOR_ALLTOALL:
    case NEIGHBOR_ALLTOALLV:
    case NEIGHBOR_ALLTOALLW:
        return TO_EDGE + k;
    default:
        return TO_ALL;
    }
}

/* From whom block k comes, or -1, and its key there. */
static inline int sender_of(const struct operation *o, int k, int *key)
{
    const int n = o->place.ranks[0];
    int list[NEIGHBOURS_MOST];

    *key = TO_ALL;
    switch (o->kind) {
    case BCAST:
        return process(o->root_side, o->root);
    case SCATTER:
    case SCATTERV:
        *key = o->place.rank;
        return process(o->root_side, o->root);
    case ALLTOALL:
    case ALLTOALLV:
    case ALLTOALLW:
        *key = o->place.rank;
        return process(their_side(o), k);
    case NEIGHBOR_ALLGATHER:
    case NEIGHBOR_ALLGATHERV:
        neighbours(&o->place, o->place.rank, true, list);
        return list[k];
    case NEIGHBOR_ALLTOALL:
    case NEIGHBOR_ALLTOALLV:
    case NEIGHBOR_ALLTOALLW:
        neighbours(&o->place, o->place.rank, true, list);
        *key = list[k] >= 0 ? TO_EDGE + edge_at_sender(&o->place, k) : 0;
        return list[k];
    case MESSAGE:
        return (o->place.rank + n - o->away % n) % n;
    default:
        return process(their_side(o), k);
    }
}

/* Both groups of a reduce-scatter divide the same whole. */
static inline int part(const struct operation *o, int rank)
{
    const int n = o->place.ranks[our_side(o)];
    int most = o->place.ranks[0];
    int weights = 0;
    int given = 0;

    if (o->kind == REDUCE_SCATTER_BLOCK) {
        if (!o->place.is_inter) {
            return o->count;
        }
        most = most > o->place.ranks[1] ? most : o->place.ranks[1];
        return o->count / o->unit / most * peers(o) * o->unit;
    }
    for (int r = 0; r < n; r++) {
        weights += (int)(mix(o->seed, (uint32_t)r, 3, 3) % 5);
    }
    for (int r = 0; r < n - 1; r++) {
        const int weight = (int)(mix(o->seed, (uint32_t)r, 3, 3) % 5);
        const int own = weights > 0 ? o->count / o->unit * weight / weights : 0;

        if (r == rank) {
            return own * o->unit;
        }
        given += own * o->unit;
    }
    return o->count - given;
}

static inline int parts_before(const struct operation *o, int rank)
{
    int numbers = 0;

    for (int r = 0; r < rank; r++) {
        numbers += part(o, r);
    }
    return numbers;
}

/* Numbers of what one process gives to a key. */
static inline int length(const struct operation *o, int from, int key)
{
    const int most = o->count / o->unit;
    const uint32_t low = (uint32_t)(from < key ? from : key);
    const uint32_t high = (uint32_t)(from < key ? key : from);
    const bool is_mutual =
        o->wants_in_place && (o->kind == ALLTOALLV || o->kind == ALLTOALLW);
    const uint32_t drawn = is_mutual ? mix(o->seed, low, high, 99)
                                     : mix(o->seed, (uint32_t)from, (uint32_t)key, 98);

    if (!has_own_sizes(o)) { /* two groups may give different lengths */
        return o->place.is_inter && !is_rooted(o) && from >= process(1, 0)
                   ? most / 2 * o->unit
                   : o->count;
    }
    return drawn % 4 == 0 ? 0 : (int)(drawn / 4 % (uint32_t)(most + 1)) * o->unit;
}

static inline int reduced_numbers(const struct operation *o, bool is_send)
{
    const int n = o->place.ranks[our_side(o)];

    if (o->kind != REDUCE_SCATTER && o->kind != REDUCE_SCATTER_BLOCK) {
        return o->count;
    }
    return is_send || o->is_in_place ? parts_before(o, n) : part(o, o->place.rank);
}

static inline int block_numbers(const struct operation *o, bool is_send, int k)
{
    const int me = process(our_side(o), o->place.rank);
    int from;
    int key;

    if (is_reduction(o)) {
        return reduced_numbers(o, is_send);
    }
    if (is_send) {
        return length(o, me, key_of(o, k));
    }
    from = sender_of(o, k, &key);
    return length(o, from >= 0 ? from : me, key);
}

/* ---- layouts ---- */

/* A layout fits if its elements divide the unit or, in a reduction, have its width.
 * Columns are for reductions alone, whose elements follow each other from the first on.
 */
static inline bool fits(const struct operation *o, const struct layout *layout)
{
    if (is_reduction(o)) {
        return layout->per == width_of(o->arithmetic) &&
               (layout->most == 0 ||
                reduced_numbers(o, true) <= layout->most * layout->per);
    }
    return layout->most == 0 && o->unit % layout->per == 0;
}

/* The ranks of a reduction have the same layout. */
static inline const struct layout *choose_layout(const struct operation *o, uint32_t salt)
{
    const uint32_t drawn = is_reduction(o)
                               ? mix(o->seed, 5, 5, 5)
                               : mix(o->seed, (uint32_t)o->place.rank, salt, 6);
    int i = (int)(drawn % (uint32_t)LENGTH(layouts));

    if (is_reduction(o) && !is_users(o->arithmetic)) {
        return width_of(o->arithmetic) == 1 ? &one : &two;
    }
    while (!fits(o, &layouts[i])) {
        i = (i + 1) % LENGTH(layouts);
    }
    return &layouts[i];
}

static inline long place_of(const struct block *block, int i)
{
    const struct layout *layout = block->layout;

    return block->first + (long)(i / layout->per) * layout->extent +
           layout->at[i % layout->per];
}

/* The lowest and the highest place of a block that begins at 0. */
static inline void span(const struct block *block, long *low, long *high)
{
    const struct layout *layout = block->layout;
    const long last = (long)(block->numbers / layout->per - 1) * layout->extent;

    *low = lowest(layout) + (last < 0 ? last : 0);
    *high = highest(layout) + (last < 0 ? 0 : last);
}

/* Blocks of their own places: any order, with gaps between them. `cursor` counts
 * elements, or numbers where each block has its own layout. */
static inline void put_block(const struct operation *o, struct block *block, long *cursor,
                             uint32_t drawn)
{
    const int elements = block->numbers / block->layout->per;
    long low;
    long high;

    if (block->numbers == 0) {
        block->is_wild = true;
        block->displ = drawn % 2 == 0 ? INT_MAX : INT_MIN;
    } else if (is_w(o)) {
        span(block, &low, &high);
        block->first = *cursor - low;
        block->displ = block->first * NUMBER;
        *cursor += high - low + 1 + (long)(drawn % 3);
    } else {
        block->displ = *cursor;
        block->first = *cursor * block->layout->extent;
        *cursor += elements + (long)(drawn % 3);
    }
}

static inline void place_blocks(const struct operation *o, struct side *side,
                                bool is_send)
{
    const uint32_t drawn = mix(o->seed, (uint32_t)o->place.rank, is_send, 8);
    const int n = side->count;
    long cursor = 0;

    for (int k = 0; k < n; k++) {
        struct block *block = &side->blocks[k];

        block->numbers = block_numbers(o, is_send, k);
        block->layout = choose_layout(o, (uint32_t)(is_send ? 1 : 2) +
                                             (is_w(o) ? 10u * (uint32_t)k : 0));
    }
    for (int k = 0; k < n; k++) {
        const int i = (int)((drawn + (drawn % 5 < 2 ? (uint32_t)(n - k) : (uint32_t)k)) %
                            (uint32_t)n);
        struct block *block = &side->blocks[side->has_sizes ? i : k];

        if (side->has_sizes) {
            put_block(o, block, &cursor, drawn >> (k % 16));
        } else {
            block->first =
                (long)k * (block->numbers / block->layout->per) * block->layout->extent;
        }
    }
}

/* ---- memory ---- */

static inline void open_memory(struct side *side)
{
    long low = 0;
    long high = 0;

    for (int k = 0; k < side->count; k++) {
        long from;
        long to;

        if (side->blocks[k].numbers > 0) {
            span(&side->blocks[k], &from, &to);
            from += side->blocks[k].first;
            to += side->blocks[k].first;
            low = from < low ? from : low;
            high = to > high ? to : high;
        }
    }
    side->room = high - low + 1 + 2 * GUARD;
    side->memory = malloc((size_t)side->room * NUMBER);
    side->before = malloc((size_t)side->room * NUMBER);
    CHECK(side->memory != NULL && side->before != NULL);
    side->at = side->memory + GUARD - low;
}

static inline void *numbers_for(int count, size_t bytes)
{
    void *memory = calloc((size_t)count + 1, bytes);

    CHECK(memory != NULL);
    return memory;
}

/* What is passed: counts, displacements and types, or garbage. */
static inline void open_arguments(const struct operation *o, struct side *side)
{
    const int n = side->count;

    side->counts = numbers_for(n, sizeof(int));
    side->displs = numbers_for(n, sizeof(int));
    side->large_counts = numbers_for(n, sizeof(MPI_Count));
    side->large_displs = numbers_for(n, sizeof(MPI_Aint));
    side->types = numbers_for(n, sizeof(MPI_Datatype));
    for (int k = 0; k < n; k++) {
        const struct block *block = &side->blocks[k];
        MPI_Datatype type = is_reduction(o) && !is_users(o->arithmetic)
                                ? type_of_op(o->arithmetic)
                                : block->layout->type;

        if (o->frees_early && !(is_reduction(o) && !is_users(o->arithmetic)) &&
            (is_w(o) || k == 0)) {
            MPI_Type_dup(type, &type);
        }
        side->counts[k] = block->numbers / block->layout->per;
        side->large_counts[k] = side->counts[k];
        side->displs[k] = (int)block->displ;
        side->large_displs[k] = block->is_wild && o->is_large
                                    ? (block->displ > 0 ? PTRDIFF_MAX : PTRDIFF_MIN)
                                    : block->displ;
        side->types[k] = type;
    }
    side->passed = side->is_used ? side->at : NULL;
    side->element_count = side->is_used ? side->counts[0] : -1;
    side->type = side->is_used ? side->types[0] : MPI_DATATYPE_NULL;
}

static inline void free_types(const struct operation *o, struct side *side)
{
    if (o->frees_early && !(is_reduction(o) && !is_users(o->arithmetic))) {
        for (int k = 0; k < (is_w(o) ? side->count : 1); k++) {
            MPI_Type_free(&side->types[k]);
        }
    }
}

static inline void open_parts(struct operation *o)
{
    const int n = o->place.ranks[our_side(o)];

    o->parts.counts = numbers_for(n, sizeof(int));
    o->parts.large_counts = numbers_for(n, sizeof(MPI_Count));
    for (int r = 0; r < n && o->kind == REDUCE_SCATTER; r++) {
        o->parts.counts[r] = part(o, r) / width_of(o->arithmetic);
        o->parts.large_counts[r] = o->parts.counts[r];
    }
}

static inline void open_side(struct operation *o, struct side *side, bool is_send)
{
    side->count = block_count(o, is_send);
    side->blocks = numbers_for(side->count, sizeof(struct block));
    side->is_used = is_send ? gives(o) : gets(o);
    side->has_sizes = has_own_sizes(o) && (is_send || !is_scatter(o)) &&
                      !(is_send && (o->kind == GATHERV || o->kind == ALLGATHERV ||
                                    o->kind == NEIGHBOR_ALLGATHERV));
    place_blocks(o, side, is_send);
    open_memory(side);
    open_arguments(o, side);
    if (o->is_in_place && is_send != is_scatter(o)) {
        side->is_used = false;
        side->passed = MPI_IN_PLACE;
        side->element_count = -1;
        side->type = MPI_DATATYPE_NULL;
    }
}

static inline void close_side(struct side *side)
{
    free(side->blocks);
    free(side->memory);
    free(side->before);
    free(side->counts);
    free(side->displs);
    free(side->large_counts);
    free(side->large_displs);
    free(side->types);
}

/* ---- filling ---- */

static inline void fill_block(const struct operation *o, struct side *side, int k,
                              int key)
{
    const struct block *block = &side->blocks[k];
    const int me = process(our_side(o), o->place.rank);

    for (int i = 0; i < block->numbers; i++) {
        uint32_t number = value(o, me, key, i);

        if (is_reduction(o)) {
            number = operand(o->arithmetic, i % width_of(o->arithmetic), number);
        }
        side->at[place_of(block, i)] = number;
    }
}

static inline bool is_gather(const struct operation *o)
{
    return o->kind == GATHER || o->kind == GATHERV || o->kind == ALLGATHER ||
           o->kind == ALLGATHERV;
}

static inline void spoil(struct side *side)
{
    for (long i = 0; i < side->room; i++) {
        side->memory[i] = UNTOUCHED;
    }
}

/* In place, what is given lies where the outcome goes. */
static inline void fill(struct operation *o)
{
    const bool is_there = o->is_in_place && !is_scatter(o);
    struct side *side = is_there ? &o->recv : &o->send;

    spoil(&o->send);
    spoil(&o->recv);
    if (o->kind == BCAST && is_root(o)) {
        fill_block(o, &o->recv, 0, TO_ALL);
    } else if (is_there && is_gather(o)) {
        fill_block(o, side, o->place.rank, TO_ALL);
    } else if (gives(o)) {
        for (int k = 0; k < side->count; k++) {
            fill_block(o, side, k, key_of(o, k));
        }
    }
    memcpy(o->send.before, o->send.memory, (size_t)o->send.room * NUMBER);
    memcpy(o->recv.before, o->recv.memory, (size_t)o->recv.room * NUMBER);
}

/* ---- checking ---- */

/* Says which case it is, and ends the job. */
static void tell(const struct operation *o, const char *what, long at, uint32_t is,
                 uint32_t expected);

/* The number is as it should be; then it is taken out. */
static inline void expect(struct operation *o, int k, int i, uint32_t number)
{
    uint32_t *at = &o->recv.at[place_of(&o->recv.blocks[k], i)];

    if (*at != number) {
        tell(o, "a number", i, *at, number);
    }
    *at = UNTOUCHED;
}

/* The outcome of one element of the processes from 0 to `last` of one group. */
static inline void outcome(const struct operation *o, int at, int last, uint32_t *out)
{
    const int width = width_of(o->arithmetic);

    for (int r = 0; r <= last; r++) {
        uint32_t right[PER_MOST];

        for (int k = 0; k < width; k++) {
            right[k] =
                operand(o->arithmetic, k, value(o, process(their_side(o), r), 0, at + k));
        }
        if (r > 0) {
            combine(o->arithmetic, out, right);
        }
        memcpy(out, right, (size_t)width * NUMBER);
    }
}

static inline void expect_outcome(struct operation *o, int first, int count, int last)
{
    const int width = width_of(o->arithmetic);

    for (int i = 0; i < count; i += width) {
        uint32_t out[PER_MOST] = {0};

        outcome(o, first + i, last, out);
        for (int k = 0; k < width; k++) {
            expect(o, 0, i + k, out[k]);
        }
    }
}

/* What rank 0 has in place of an exclusive scan stays. */
static inline void expect_own(struct operation *o)
{
    for (int i = 0; i < o->count; i++) {
        expect(o, 0, i,
               operand(o->arithmetic, i % width_of(o->arithmetic), value(o, 0, 0, i)));
    }
}

static inline void check_reduction(struct operation *o)
{
    const int rank = o->place.rank;
    const int all = peers(o) - 1;

    switch (o->kind) {
    case SCAN:
        expect_outcome(o, 0, o->count, rank);
        break;
    case EXSCAN:
        if (rank > 0) {
            expect_outcome(o, 0, o->count, rank - 1);
        } else if (o->is_in_place) {
            expect_own(o);
        }
        break;
    case REDUCE_SCATTER:
    case REDUCE_SCATTER_BLOCK:
        expect_outcome(o, parts_before(o, rank), part(o, rank), all);
        break;
    default:
        expect_outcome(o, 0, o->count, all);
    }
}

static inline void check_data(struct operation *o)
{
    for (int k = 0; k < o->recv.count; k++) {
        int key;
        const int from = sender_of(o, k, &key);

        for (int i = 0; from >= 0 && i < o->recv.blocks[k].numbers; i++) {
            expect(o, k, i, value(o, from, key, i));
        }
    }
}

static inline void expect_unchanged(const struct operation *o, const struct side *side,
                                    const char *what)
{
    for (long i = 0; i < side->room; i++) {
        if (side->memory[i] != side->before[i]) {
            tell(o, what, i, side->memory[i], side->before[i]);
        }
    }
}

static inline void check(struct operation *o)
{
    const bool is_input = /* what was there is nobody's concern */
        (o->kind == REDUCE_SCATTER || o->kind == REDUCE_SCATTER_BLOCK) && o->is_in_place;

    expect_unchanged(o, &o->send, "a place of what is sent");
    if (!gets(o) || (o->is_in_place && is_scatter(o))) {
        expect_unchanged(o, &o->recv, "a place of who gets nothing");
        return;
    }
    if (is_reduction(o)) {
        check_reduction(o);
    } else {
        check_data(o);
    }
    for (long i = 0; i < o->recv.room; i++) {
        if (o->recv.memory[i] != (uint32_t)UNTOUCHED &&
            !(is_input && i >= GUARD && i < o->recv.room - GUARD)) {
            tell(o, "a place around", i, o->recv.memory[i], (uint32_t)UNTOUCHED);
        }
    }
}

#endif
