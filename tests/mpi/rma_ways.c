/*
 * rma_ways.c - performance variables tell which ways operations on a window take.
 *
 *   rma_ways CREATED ALLOCATED SHARED DYNAMIC
 *
 * Each argument has the ways that a window of this kind must count for once it has been
 * used, joined by +, as node_copied+net_memory: the names of variables without rma_.
 */
#include "rma.h"

static const char *const ways[] = {"node_mapped", "node_copied", "node_messages",
                                   "net_memory", "net_messages"};
static const char *const accumulates[] = {"accumulate_word", "accumulate_process"};
enum { WAY_COUNT = 5 };

static MPI_T_pvar_session session;

static unsigned long long level(const char *way)
{
    MPI_T_pvar_handle handle = MPI_T_PVAR_HANDLE_NULL;
    unsigned long long value = 12345;
    char name[64];
    int index = -1;
    int count = 0;

    snprintf(name, sizeof(name), "rma_%s", way);
    DONE(MPI_T_pvar_get_index(name, MPI_T_PVAR_CLASS_LEVEL, &index));
    DONE(MPI_T_pvar_handle_alloc(session, index, NULL, &handle, &count));
    DONE(MPI_T_pvar_read(session, handle, &value));
    DONE(MPI_T_pvar_handle_free(session, &handle));
    return value;
}

static bool is_in(const char *list, const char *way)
{
    return strstr(list, way) != NULL;
}

static void use(const struct window *w)
{
    long long word = 1;

    DONE(MPI_Win_lock_all(0, w->win));
    for (int r = 0; r < w->size; r++) {
        DONE(MPI_Accumulate(&word, 1, MPI_LONG_LONG, r, at(w, r, 0), 1, MPI_LONG_LONG,
                            MPI_SUM, w->win));
    }
    DONE(MPI_Win_unlock_all(w->win));
}

/* `factor` windows of this kind, which are all there are. */
static void check_levels(const char *expected, unsigned factor)
{
    const bool is_by_word = is_in(expected, "mapped") || is_in(expected, "copied");
    const bool is_by_process = is_in(expected, "messages") || is_in(expected, "memory");

    CHECK(level("windows") == factor);
    for (int i = 0; i < WAY_COUNT; i++) {
        CHECK(level(ways[i]) == (is_in(expected, ways[i]) ? factor : 0));
    }
    CHECK(level(accumulates[0]) == (is_by_word ? factor : 0));
    CHECK(level(accumulates[1]) == (is_by_process ? factor : 0));
}

int main(int argc, char **argv)
{
    int provided;

    DONE(MPI_T_init_thread(MPI_THREAD_SINGLE, &provided));
    DONE(MPI_T_pvar_session_create(&session));
    CHECK(level("windows") == 0); /* before MPI_Init, too */
    DONE(MPI_Init(&argc, &argv));
    CHECK(argc == 1 + KINDS);
    for (enum kind kind = CREATED; kind < KINDS; kind++) {
        struct window one = make_window(kind, 64, 8);
        struct window other;

        use(&one);
        check_levels(argv[1 + kind], 1);
        other = make_window(kind, 64, 8);
        use(&other);
        check_levels(argv[1 + kind], 2);
        DONE(MPI_Barrier(MPI_COMM_WORLD));
        free_window(&one);
        check_levels(argv[1 + kind], 1);
        free_window(&other);
        check_levels("", 0);
    }
    DONE(MPI_Finalize());
    CHECK(level("windows") == 0);
    DONE(MPI_T_pvar_session_free(&session));
    DONE(MPI_T_finalize());
    return 0;
}
