/*
 * deaths.c - programs that die, by the name of what kills them: deaths.py reads what
 * mpiexec says of each. The second argument is the rank that dies; the others wait for
 * it, most of them in MPI_Barrier.
 */
#include <mpi.h>

#include <fcntl.h>
#include <pthread.h>
#include <signal.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <unistd.h>

enum { TAG = 5, LONG = 8 << 20 };

static int rank;
static int victim;
static bool is_to_die_in_init;
static int size;
static char buffer[LONG];
static int *volatile nowhere = (int *)64; /* where nothing is mapped */
static volatile int zero;

static void receive(int from, int tag)
{
    MPI_Recv(buffer, 8, MPI_BYTE, from, tag, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
}

static void send(int to, int tag)
{
    MPI_Send(buffer, 8, MPI_BYTE, to, tag, MPI_COMM_WORLD);
}

/* The call that the test looks for is the last one of the victim, and has returned. */
static void leave_a_mark(void)
{
    MPI_Bcast(buffer, 77, MPI_BYTE, victim, MPI_COMM_WORLD);
}

static void write_nowhere(void)
{
    *nowhere = 1;
}

/* Is the first thread of this process asleep? */
static bool is_asleep(void)
{
    char text[512] = "";
    FILE *file = fopen("/proc/self/stat", "r");
    const char *end;

    if (file == NULL || fgets(text, sizeof(text), file) == NULL) {
        return false;
    }
    fclose(file);
    end = strrchr(text, ')');
    return end != NULL && end[2] == 'S';
}

/* Kills when the first thread has been asleep for a while: in a call that waits. */
static void *kill_sleeper(void *how)
{
    for (int times = 0; times < 20; times = is_asleep() ? times + 1 : 0) {
        usleep(5000);
    }
    kill(getpid(), *(int *)how);
    return NULL;
}

/* Kills in the midst of something. */
static void *kill_later(void *how)
{
    usleep(100 * 1000);
    kill(getpid(), *(int *)how);
    return NULL;
}

static void begin(void *(*killer)(void *))
{
    static int how = SIGKILL;
    pthread_t thread;

    pthread_create(&thread, NULL, killer, &how);
}

/* ---- in callbacks ---- */

static void crash_op(void *in, void *inout, int *count, MPI_Datatype *type)
{
    (void)in;
    (void)inout;
    (void)count;
    (void)type;
    if (rank == victim) {
        write_nowhere();
    }
}

/* Data go to the victim from both sides of it, so that it is it who reduces. */
static void op(void)
{
    MPI_Op mine;
    int value = 1;
    int sum = 0;

    leave_a_mark();
    MPI_Op_create(crash_op, 1, &mine);
    MPI_Reduce(&value, &sum, 1, MPI_INT, mine, victim, MPI_COMM_WORLD);
}

static void crash_handler(MPI_Comm *comm, int *code, ...)
{
    (void)comm;
    (void)code;
    write_nowhere();
}

static void errhandler(void)
{
    MPI_Errhandler mine;

    leave_a_mark();
    if (rank == victim) {
        MPI_Comm_create_errhandler(crash_handler, &mine);
        MPI_Comm_set_errhandler(MPI_COMM_WORLD, mine);
        MPI_Bcast(buffer, -1, MPI_BYTE, victim, MPI_COMM_WORLD);
    }
}

static int crash_delete(MPI_Comm comm, int key, void *value, void *extra)
{
    (void)comm;
    (void)key;
    (void)value;
    (void)extra;
    write_nowhere();
    return MPI_SUCCESS;
}

static void attribute(void)
{
    int key;

    leave_a_mark();
    if (rank == victim) {
        MPI_Comm_create_keyval(MPI_COMM_NULL_COPY_FN, crash_delete, &key, NULL);
        MPI_Comm_set_attr(MPI_COMM_WORLD, key, buffer);
        MPI_Comm_delete_attr(MPI_COMM_WORLD, key);
    }
}

/* ---- outside MPI ---- */

static void segv(void)
{
    leave_a_mark();
    if (rank == victim) {
        write_nowhere();
    }
}

static void *abort_here(void *unused)
{
    (void)unused;
    abort();
}

static void thread(void)
{
    pthread_t other;

    leave_a_mark();
    if (rank == victim) {
        pthread_create(&other, NULL, abort_here, NULL);
        pthread_join(other, NULL);
    }
}

static void exit0(void)
{
    leave_a_mark();
    if (rank == victim) {
        exit(0);
    }
}

static void exit3(void)
{
    leave_a_mark();
    if (rank == victim) {
        exit(3);
    }
}

static void quick_exit_(void)
{
    leave_a_mark();
    if (rank == victim) {
        _exit(4);
    }
}

static int overflow(int depth)
{
    volatile char frame[4096];

    frame[0] = (char)depth;
    return depth == zero - 1 ? 0 : overflow(depth + 1) + frame[0];
}

static void stack(void)
{
    leave_a_mark();
    if (rank == victim) {
        exit(overflow(1));
    }
}

static void bus(void)
{
    leave_a_mark();
    if (rank == victim) {
        FILE *file = tmpfile();
        char *map;

        if (file == NULL || ftruncate(fileno(file), 4096) != 0) {
            exit(99);
        }
        map = mmap(NULL, 4096, PROT_READ | PROT_WRITE, MAP_SHARED, fileno(file), 0);
        if (map == MAP_FAILED || ftruncate(fileno(file), 0) != 0) {
            exit(99);
        }
        map[0] = 1;
    }
}

static void fpe(void)
{
    leave_a_mark();
    if (rank == victim) {
#if defined(__x86_64__)
        exit(100 / zero);
#else
        raise(SIGFPE); /* division by zero is defined there */
#endif
    }
}

static void ill(void)
{
    leave_a_mark();
    if (rank == victim) {
        __builtin_trap();
    }
}

static void term(void)
{
    leave_a_mark();
    if (rank == victim) {
        kill(getpid(), SIGTERM);
        pause();
    }
}

static void xcpu(void)
{
    const struct rlimit limit = {0, RLIM_INFINITY}; /* at once: some of it is used */

    leave_a_mark();
    if (rank == victim) {
        setrlimit(RLIMIT_CPU, &limit);
        for (;;) {
            zero++;
        }
    }
}

static void memory(void)
{
    leave_a_mark();
    if (rank == victim) {
        for (;;) {
            memset(malloc(1 << 20), 1, 1 << 20);
        }
    }
}

/* ---- in calls ---- */

static void recv(void)
{
    if (rank == victim) {
        begin(kill_sleeper);
        receive(0, TAG);
    }
}

/* The announcement has gone out; nobody receives. */
static void rendezvous(void)
{
    if (rank == victim) {
        begin(kill_sleeper);
        MPI_Send(buffer, LONG, MPI_BYTE, size - 1, TAG, MPI_COMM_WORLD);
    }
}

/* Long messages without end, in both directions, and a kill somewhere in them. */
static void transfer(void)
{
    const int other = rank == victim ? size - 1 : victim;

    for (int i = 0; rank == victim || rank == size - 1; i++) {
        static char in[LONG];

        MPI_Sendrecv(buffer, LONG, MPI_BYTE, other, TAG, in, LONG, MPI_BYTE, other, TAG,
                     MPI_COMM_WORLD, MPI_STATUS_IGNORE);
        if (rank == victim && i == 0) {
            begin(kill_later);
        }
    }
}

static void sends(void)
{
    if (rank == victim) {
        for (int i = 0; i < 1000; i++) {
            send(0, TAG);
        }
        kill(getpid(), SIGKILL);
    } else if (rank == 0) {
        for (int i = 0; i < 1001; i++) {
            receive(victim, TAG);
        }
    }
}

static void wait_(void)
{
    MPI_Request request;

    if (rank == victim) {
        MPI_Irecv(buffer, 8, MPI_BYTE, 0, TAG, MPI_COMM_WORLD, &request);
        begin(kill_sleeper);
        MPI_Wait(&request, MPI_STATUS_IGNORE);
    }
}

static void probe(void)
{
    if (rank == victim) {
        begin(kill_sleeper);
        MPI_Probe(MPI_ANY_SOURCE, TAG, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
    }
}

/* It waits in a collective itself, on a communicator that has a name. */
static void collective(void)
{
    MPI_Comm named;

    MPI_Comm_dup(MPI_COMM_WORLD, &named);
    MPI_Comm_set_name(named, "named");
    if (rank == victim) {
        begin(kill_sleeper);
        MPI_Barrier(named);
    }
    leave_a_mark();
}

static void abort_(void)
{
    leave_a_mark();
    if (rank == victim) {
        MPI_Abort(MPI_COMM_WORLD, 7);
    }
}

static void fatal(void)
{
    leave_a_mark();
    if (rank == victim) {
        MPI_Bcast(buffer, 8, MPI_BYTE, size, MPI_COMM_WORLD);
    }
}

/* Two at the same moment. */
static void two(void)
{
    MPI_Barrier(MPI_COMM_WORLD);
    if (rank == victim || rank == size - 1) {
        kill(getpid(), SIGKILL);
    }
}

/* Waits until somebody kills something: a daemon, a host. */
static void idle(void)
{
    if (rank == size - 1) {
        puts("idle");
        fflush(stdout);
    }
    while (rank == size - 1) {
        pause();
    }
    MPI_Bcast(buffer, 77, MPI_BYTE, size - 1, MPI_COMM_WORLD);
}

/* ---- the edges of a life ---- */

static bool is_victim(void)
{
    const char *text = getenv("PMI_RANK");

    return text != NULL && atoi(text) == victim;
}

/* MPI_Init reads the environment: then it is the one that is in it. */
char *getenv(const char *name)
{
    const size_t length = strlen(name);

    if (is_to_die_in_init) {
        kill(getpid(), SIGKILL);
    }
    for (char **at = environ; at != NULL && *at != NULL; at++) {
        if (strncmp(*at, name, length) == 0 && (*at)[length] == '=') {
            return *at + length + 1;
        }
    }
    return NULL;
}

/* Another rank has come through MPI_Init. */
static void wait_for_file(const char *path)
{
    for (int i = 0; i < 4000 && access(path, F_OK) != 0; i++) {
        usleep(5000);
    }
}

/* Those that die before MPI_Init has returned. */
static void die_early(const char *name, const char *path)
{
    if (strcmp(name, "before") == 0 && is_victim()) {
        wait_for_file(path);
        kill(getpid(), SIGKILL);
    }
    if (strcmp(name, "init") == 0 && is_victim()) {
        wait_for_file(path);
        is_to_die_in_init = true;
    }
}

static void finish(void)
{
    MPI_Finalize();
    if (rank == victim) {
        kill(getpid(), SIGKILL);
    }
    exit(0);
}

static const struct {
    const char *name;
    void (*die)(void);
} deaths[] = {
    {"op", op},
    {"errhandler", errhandler},
    {"attribute", attribute},
    {"segv", segv},
    {"thread", thread},
    {"exit0", exit0},
    {"exit3", exit3},
    {"_exit", quick_exit_},
    {"stack", stack},
    {"bus", bus},
    {"fpe", fpe},
    {"ill", ill},
    {"term", term},
    {"xcpu", xcpu},
    {"memory", memory},
    {"recv", recv},
    {"rendezvous", rendezvous},
    {"transfer", transfer},
    {"sends", sends},
    {"wait", wait_},
    {"probe", probe},
    {"collective", collective},
    {"abort", abort_},
    {"fatal", fatal},
    {"two", two},
    {"idle", idle},
    {"finalized", finish},
};

int main(int argc, char **argv)
{
    const char *name = argc > 1 ? argv[1] : "";

    victim = argc > 2 ? atoi(argv[2]) : 1;
    if (argc > 3) {
        die_early(name, argv[3]);
    }
    MPI_Init(&argc, &argv);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Comm_size(MPI_COMM_WORLD, &size);
    if (rank == 0 && argc > 3) {
        close(open(argv[3], O_CREAT | O_WRONLY, 0600));
    }
    MPI_Barrier(MPI_COMM_WORLD); /* from now on each is in a call, or about to be */
    for (size_t i = 0; i < sizeof(deaths) / sizeof(deaths[0]); i++) {
        if (strcmp(name, deaths[i].name) == 0) {
            deaths[i].die();
        }
    }
    MPI_Barrier(MPI_COMM_WORLD);
    MPI_Finalize();
    return 0;
}
