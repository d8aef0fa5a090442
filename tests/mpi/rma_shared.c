/*
 * rma_shared.c - which memory of windows that are created or allocated
 * MPI_Win_shared_query() tells, and that loads and stores reach it. rma_windows.c asks
 * shared windows.
 *
 * With `near`, memory that the library has allocated is reached on this node, unless
 * WEFT_TRANSPORT shares none. With `own`, its owner alone reaches it (WEFT_RMA=messages).
 */
#include "rma.h"

static bool is_near_expected;
static int rank;
static int size;
static MPI_Comm comm; /* of all, in the opposite order */
static bool *is_here; /* by rank: this process, or on its node and memory is shared */

static void find_here(void)
{
    const char *transport = getenv("WEFT_TRANSPORT");
    MPI_Comm node = node_comm();
    MPI_Group near;
    MPI_Group all;

    is_here = calloc((size_t)size, sizeof(*is_here));
    CHECK(is_here != NULL);
    is_near_expected &= transport == NULL || strstr(transport, "shm") != NULL;
    DONE(MPI_Comm_group(node, &near));
    DONE(MPI_Comm_group(comm, &all));
    for (int r = 0; r < size; r++) {
        int place = 0;

        DONE(MPI_Group_translate_ranks(all, 1, &r, near, &place));
        is_here[r] = r == rank || (is_near_expected && place != MPI_UNDEFINED);
    }
    DONE(MPI_Group_free(&near));
    DONE(MPI_Group_free(&all));
    DONE(MPI_Comm_free(&node));
}

/* Sizes and units differ; one has nothing. */
static MPI_Aint bytes_of(int who, int empty)
{
    return who == empty ? 0 : 4000 + 16 * who;
}

static int unit_of(int who)
{
    return 1 << who % 4;
}

/* Is the memory of `who` in a window of this kind reached from here? */
static bool is_reached(enum kind kind, int who)
{
    return kind == CREATED ? who == rank : is_here[who];
}

static char *ask(MPI_Win win, enum kind kind, int who, int empty)
{
    const bool is_told = is_reached(kind, who) && who != empty;
    MPI_Aint bytes = -1;
    int unit = -1;
    char *base = (char *)&unit;

    DONE(MPI_Win_shared_query(win, who, &bytes, &unit, &base));
    CHECK(bytes == (is_told ? bytes_of(who, empty) : 0));
    CHECK(unit == unit_of(who));
    CHECK(is_told ? base != NULL : base == NULL);
    return base;
}

/* MPI_PROC_NULL: the lowest rank whose memory can be shared and is not empty. */
static void ask_first(MPI_Win win, enum kind kind, int empty)
{
    MPI_Aint bytes = -1;
    int unit = -1;
    char *base = (char *)&unit;
    int first = 0;

    DONE(MPI_Win_shared_query(win, MPI_PROC_NULL, &bytes, &unit, &base));
    while (first < size && (first == empty || !is_reached(kind, first))) {
        first++;
    }
    if (kind == CREATED || first == size || !is_near_expected) {
        CHECK(bytes == 0 && base == NULL);
    } else {
        CHECK(bytes == bytes_of(first, empty) && unit == unit_of(first));
        CHECK(base == ask(win, kind, first, empty));
    }
}

/* A put is seen by a load; stores are seen by their owner, and by a get. */
static void use(MPI_Win win, enum kind kind, int empty, const unsigned char *mine)
{
    DONE(MPI_Win_lock_all(0, win));
    for (int who = 0; who < size; who++) {
        const unsigned char mark = (unsigned char)(1 + rank);
        unsigned char found = 0;
        char *there = ask(win, kind, who, empty);

        if (there == NULL) {
            continue;
        }
        DONE(MPI_Put(&mark, 1, MPI_BYTE, who, 8 * (1 + rank) / unit_of(who), 1, MPI_BYTE,
                     win));
        DONE(MPI_Win_flush(who, win));
        CHECK((unsigned char)there[8 * (1 + rank)] == mark);
        there[8 * (101 + rank)] = (char)(50 + rank);
        DONE(MPI_Win_sync(win));
        DONE(MPI_Get(&found, 1, MPI_BYTE, who, 8 * (101 + rank) / unit_of(who), 1,
                     MPI_BYTE, win));
        DONE(MPI_Win_flush(who, win));
        CHECK(found == 50 + rank);
    }
    DONE(MPI_Win_sync(win));
    DONE(MPI_Barrier(comm));
    DONE(MPI_Win_sync(win));
    for (int who = 0; who < size && rank != empty; who++) {
        const bool has_stored = kind == CREATED ? who == rank : is_here[who];

        CHECK(mine[8 * (1 + who)] == (has_stored ? 1 + who : 0));
        CHECK(mine[8 * (101 + who)] == (has_stored ? 50 + who : 0));
    }
    DONE(MPI_Win_unlock_all(win));
}

static void query_window(enum kind kind, int empty)
{
    const MPI_Aint bytes = bytes_of(rank, empty);
    char *memory = calloc(1, (size_t)bytes + 1);
    char *base = memory;
    MPI_Win win;

    CHECK(memory != NULL);
    if (kind == CREATED) {
        DONE(MPI_Win_create(memory, bytes, unit_of(rank), MPI_INFO_NULL, comm, &win));
    } else {
        DONE(MPI_Win_allocate(bytes, unit_of(rank), MPI_INFO_NULL, comm, &base, &win));
        memset(base, 0, (size_t)bytes);
    }
    DONE(MPI_Barrier(comm));
    ask_first(win, kind, empty);
    CHECK(rank == empty || ask(win, kind, rank, empty) == base);
    use(win, kind, empty, (const unsigned char *)base);
    ask_first(win, kind, empty);
    DONE(MPI_Win_free(&win));
    free(memory);
}

static void nobody_has_memory(void)
{
    MPI_Aint bytes = -1;
    int unit = -1;
    char *base = (char *)&unit;
    MPI_Win win;

    DONE(MPI_Win_allocate(0, 4, MPI_INFO_NULL, comm, &base, &win));
    base = (char *)&unit;
    DONE(MPI_Win_shared_query(win, MPI_PROC_NULL, &bytes, &unit, &base));
    CHECK(bytes == 0 && base == NULL);
    DONE(MPI_Win_free(&win));
}

int main(int argc, char **argv)
{
    CHECK(argc == 2);
    is_near_expected = strcmp(argv[1], "near") == 0;
    DONE(MPI_Init(&argc, &argv));
    DONE(MPI_Comm_rank(MPI_COMM_WORLD, &rank));
    DONE(MPI_Comm_split(MPI_COMM_WORLD, 0, -rank, &comm));
    DONE(MPI_Comm_rank(comm, &rank));
    DONE(MPI_Comm_size(comm, &size));
    find_here();
    for (int empty = -1; empty < 2; empty++) {
        query_window(CREATED, empty);
        query_window(ALLOCATED, empty);
    }
    nobody_has_memory();
    free(is_here);
    DONE(MPI_Comm_free(&comm));
    DONE(MPI_Finalize());
    return 0;
}
