/*
 * rma_direct.c - one-sided operations inside a node send no packets where memory can be
 * reached, and do where the user wants messages: counted by MPI_T. Without this a way
 * that is never taken would pass all other programs.
 *
 *   rma_direct           operations, locks, posts and completes of all windows send none
 *   rma_direct mapped    those of windows that are allocated and shared send none
 *   rma_direct messages  all of them do
 */
#include "rma.h"

enum { TIMES = 100, WORDS = 64 };

static MPI_T_pvar_session session;
static MPI_T_pvar_handle sent;

static void open_counter(void)
{
    int provided;
    int index;
    int count;

    DONE(MPI_T_init_thread(MPI_THREAD_SINGLE, &provided));
    DONE(MPI_T_pvar_get_index("shm_packets_sent", MPI_T_PVAR_CLASS_COUNTER, &index));
    DONE(MPI_T_pvar_session_create(&session));
    DONE(MPI_T_pvar_handle_alloc(session, index, NULL, &sent, &count));
    DONE(MPI_T_pvar_start(session, sent));
}

static unsigned long long packets(void)
{
    unsigned long long n = 0;

    DONE(MPI_T_pvar_read(session, sent, &n));
    return n;
}

static void operate(const struct window *w, int target)
{
    /* They are the operations' until the epoch ends. */
    static long long word = 1;
    static long long old;
    static long long zero;
    static long long words[WORDS];
    static long long others[WORDS];
    MPI_Datatype every_other;

    DONE(MPI_Type_vector(WORDS / 4, 1, 2, MPI_LONG_LONG, &every_other));
    DONE(MPI_Type_commit(&every_other));
    DONE(MPI_Put(words, WORDS, MPI_LONG_LONG, target, at(w, target, 0), WORDS,
                 MPI_LONG_LONG, w->win));
    DONE(MPI_Get(others, 1, every_other, target, at(w, target, 0), 1, every_other,
                 w->win));
    DONE(MPI_Accumulate(words, WORDS, MPI_LONG_LONG, target, at(w, target, 0), WORDS,
                        MPI_LONG_LONG, MPI_SUM, w->win));
    DONE(MPI_Fetch_and_op(&word, &old, MPI_LONG_LONG, target, at(w, target, 0), MPI_SUM,
                          w->win));
    DONE(MPI_Compare_and_swap(&word, &zero, &old, MPI_LONG_LONG, target, at(w, target, 8),
                              w->win));
    DONE(MPI_Type_free(&every_other));
}

/* Others learn of it by themselves. */
static void change_regions(const struct window *w, int turn)
{
    static char spare[8];

    if (w->kind == DYNAMIC && turn % 2 == 0) {
        DONE(MPI_Win_attach(w->win, spare, sizeof(spare)));
    } else if (w->kind == DYNAMIC) {
        DONE(MPI_Win_detach(w->win, spare));
    }
}

/* Packets of this rank that the operations of all epochs have taken. */
static unsigned long long count(const struct window *w)
{
    const int target = (w->rank + 1) % w->size;
    unsigned long long before;
    unsigned long long after;

    DONE(MPI_Win_lock(MPI_LOCK_SHARED, target, 0, w->win));
    operate(w, target); /* the first contact */
    DONE(MPI_Win_unlock(target, w->win));
    DONE(MPI_Barrier(w->comm));
    before = packets();
    for (int i = 0; i < TIMES; i++) {
        change_regions(w, i);
        DONE(MPI_Win_lock(i % 2 == 0 ? MPI_LOCK_SHARED : MPI_LOCK_EXCLUSIVE, target, 0,
                          w->win));
        operate(w, target);
        DONE(MPI_Win_flush(target, w->win));
        DONE(MPI_Win_unlock(target, w->win));
        DONE(MPI_Win_post(w->group, 0, w->win));
        DONE(MPI_Win_start(w->group, 0, w->win));
        operate(w, target);
        DONE(MPI_Win_complete(w->win));
        DONE(MPI_Win_wait(w->win));
    }
    after = packets();
    DONE(MPI_Barrier(w->comm));
    return after - before;
}

/* ---- no memory that could be shared ---- */

enum { GREAT = 16, LITTLE = 36, WINDOWS = GREAT + LITTLE, REGIONS = 1000 };

/* Half of 64 GiB, half of what is left, and so on to 1 MiB; then down to pages, four of
 * each size. */
static MPI_Aint bytes_of(int i)
{
    return (MPI_Aint)1 << (i < GREAT ? 35 - i : 20 - (i - GREAT) / 4);
}

/* Windows take all that this process has for extents of the segment, which nobody touches
 * (docs/memory.md). The last find nothing, and their memory is not shared. */
static void use_up(MPI_Win wins[WINDOWS])
{
    for (int i = 0; i < WINDOWS; i++) {
        void *base;

        DONE(MPI_Win_allocate(bytes_of(i), 1, MPI_INFO_NULL, MPI_COMM_SELF, &base,
                              &wins[i]));
    }
}

/* What is attached cannot be shown to others any more: the same operations go by
 * messages. */
static void do_without_a_table(void)
{
    static char spare[2 * REGIONS];
    static MPI_Win wins[WINDOWS];
    struct window w = make_window(DYNAMIC, WORDS * 8, 8);

    CHECK(w.size == 1 || count(&w) == 0);
    use_up(wins);
    for (int i = 0; i < REGIONS; i++) {
        DONE(MPI_Win_attach(w.win, &spare[2 * i], 1));
    }
    DONE(MPI_Barrier(w.comm));
    CHECK(w.size == 1 || count(&w) >= TIMES);
    for (int i = 0; i < REGIONS; i++) {
        DONE(MPI_Win_detach(w.win, &spare[2 * i]));
    }
    DONE(MPI_Barrier(w.comm));
    CHECK(w.size == 1 || count(&w) >= TIMES); /* never again */
    for (int i = 0; i < WINDOWS; i++) {
        DONE(MPI_Win_free(&wins[i]));
    }
    free_window(&w);
}

/* Is the memory the user's, which nobody else can map? */
static bool is_users(enum kind kind)
{
    return kind == CREATED || kind == DYNAMIC;
}

int main(int argc, char **argv)
{
    const char *what = argc > 1 ? argv[1] : "reach";
    const bool is_reached = strcmp(what, "reach") == 0;
    const bool is_mapped = is_reached || strcmp(what, "mapped") == 0;

    DONE(MPI_Init(&argc, &argv));
    open_counter();
    for (enum kind kind = CREATED; kind < KINDS; kind++) {
        struct window w = make_window(kind, WORDS * 8, 8);
        const unsigned long long n = count(&w);

        if (w.size > 1 && (is_users(kind) ? is_reached : is_mapped)) {
            CHECK(n == 0);
        } else if (w.size > 1 && !is_mapped) {
            CHECK(n >= TIMES);
        }
        free_window(&w);
    }
    if (is_reached) {
        do_without_a_table();
    }
    DONE(MPI_T_pvar_handle_free(session, &sent));
    DONE(MPI_T_pvar_session_free(&session));
    DONE(MPI_T_finalize());
    DONE(MPI_Finalize());
    return 0;
}
