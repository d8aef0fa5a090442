/* onecoll: time per call of one collective, for bench/choice.  Arguments: the
 * collective as WEFT_COLL names it, and bytes: of the whole message of bcast,
 * of one process's vector of doubles in reductions, of the block of each other
 * process elsewhere.  The figure is the slowest process's time per call,
 * median over batches of about 10 ms.  The root moves by one each call.  A
 * second row has the algorithm that most calls were made by, of which Weft's
 * counters (MPI_T) tell. */
#include "bench.h"
enum { BATCHES = 7 };

static const char *const names[] = {"barrier", "bcast",     "gather",
                                    "scatter", "allgather", "alltoall",
                                    "reduce",  "allreduce", "reduce_scatter_block",
                                    "scan",    "exscan",    NULL};
enum {
    BARRIER,
    BCAST,
    GATHER,
    SCATTER,
    ALLGATHER,
    ALLTOALL,
    REDUCE,
    ALLREDUCE,
    PARTS,
    SCAN,
    EXSCAN
};

static char *out, *in;

static void once(int what, int n, int root)
{
    MPI_Comm c = MPI_COMM_WORLD;
    switch (what) {
    case BARRIER:
        MPI_Barrier(c);
        break;
    case BCAST:
        MPI_Bcast(out, n, MPI_BYTE, root, c);
        break;
    case GATHER:
        MPI_Gather(out, n, MPI_BYTE, in, n, MPI_BYTE, root, c);
        break;
    case SCATTER:
        MPI_Scatter(out, n, MPI_BYTE, in, n, MPI_BYTE, root, c);
        break;
    case ALLGATHER:
        MPI_Allgather(out, n, MPI_BYTE, in, n, MPI_BYTE, c);
        break;
    case ALLTOALL:
        MPI_Alltoall(out, n, MPI_BYTE, in, n, MPI_BYTE, c);
        break;
    case REDUCE:
        MPI_Reduce(out, in, n / 8, MPI_DOUBLE, MPI_SUM, root, c);
        break;
    case ALLREDUCE:
        MPI_Allreduce(out, in, n / 8, MPI_DOUBLE, MPI_SUM, c);
        break;
    case PARTS:
        MPI_Reduce_scatter_block(out, in, n / 8, MPI_DOUBLE, MPI_SUM, c);
        break;
    case SCAN:
        MPI_Scan(out, in, n / 8, MPI_DOUBLE, MPI_SUM, c);
        break;
    case EXSCAN:
        MPI_Exscan(out, in, n / 8, MPI_DOUBLE, MPI_SUM, c);
    }
}

static double loop(int what, int n, int calls)
{
    MPI_Barrier(MPI_COMM_WORLD);
    double t = MPI_Wtime();
    for (int i = 0; i < calls; i++)
        once(what, n, i % np);
    t = MPI_Wtime() - t;
    MPI_Allreduce(MPI_IN_PLACE, &t, 1, MPI_DOUBLE, MPI_MAX, MPI_COMM_WORLD);
    return t / calls;
}

/* ---- which algorithm ---- */

enum { ALGORITHMS = 16, NAME = 128 };

static struct {
    char name[NAME];
    MPI_T_pvar_handle handle;
} counters[ALGORITHMS];
static int counter_count;
static MPI_T_pvar_session session;

/* Counts the calls by each of its algorithms from now on. */
static void count_algorithms(const char *what)
{
    char start[NAME], name[NAME];
    int provided, variables, length, verbosity, class, bind, read, on, atomic, count;
    MPI_Datatype type;
    snprintf(start, sizeof start, "coll_%s_", what);
    MPI_T_init_thread(MPI_THREAD_SINGLE, &provided);
    MPI_T_pvar_session_create(&session);
    MPI_T_pvar_get_num(&variables);
    for (int i = 0; i < variables && counter_count < ALGORITHMS; i++) {
        length = sizeof name;
        MPI_T_pvar_get_info(i, name, &length, &verbosity, &class, &type, NULL, NULL, NULL,
                            &bind, &read, &on, &atomic);
        if (strncmp(name, start, strlen(start)))
            continue;
        strcpy(counters[counter_count].name, name + strlen(start));
        MPI_T_pvar_handle_alloc(session, i, NULL, &counters[counter_count].handle,
                                &count);
        MPI_T_pvar_start(session, counters[counter_count++].handle);
    }
}

/* Prints the one by which most calls were made. */
static void tell_algorithm(void)
{
    const char *best = "";
    unsigned long long most = 0, value;
    for (int i = 0; i < counter_count; i++) {
        MPI_T_pvar_read(session, counters[i].handle, &value);
        if (value > most) {
            most = value;
            best = counters[i].name;
        }
    }
    MPI_T_pvar_session_free(&session);
    MPI_T_finalize();
    printf("algorithm\t%s\n", best);
}

int main(int argc, char **argv)
{
    double t[BATCHES];
    int what = 0, n, calls;
    bench_begin(&argc, &argv, 0);
    if (argc != 3)
        MPI_Abort(MPI_COMM_WORLD, 2);
    while (names[what] && strcmp(names[what], argv[1]))
        what++;
    if (!names[what])
        MPI_Abort(MPI_COMM_WORLD, 2);
    n = atoi(argv[2]);
    out = buffer((size_t)np * (size_t)n);
    in = buffer((size_t)np * (size_t)n);
    memset(out, 0, (size_t)np * (size_t)n);
    loop(what, n, 2);
    if (me == 0)
        count_algorithms(argv[1]);
    calls = (int)(0.01 / loop(what, n, 5)) / np * np + np;
    if (calls > 3000)
        calls = 3000;
    for (int b = 0; b < BATCHES; b++)
        t[b] = loop(what, n, calls);
    if (me == 0) {
        row(argv[1], argv[2], median(t, BATCHES) * 1e6, "us");
        tell_algorithm();
    }
    MPI_Finalize();
    return 0;
}
