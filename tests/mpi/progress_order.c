/*
 * progress_order.c - chapter 3: messages keep their order whichever way they go: stored
 * by their sender into a receive that was offered to it, or through the queues.
 *
 * Every rank sends to the next one and receives from the one before, itself if alone.
 * Both draw the same random numbers, so that a receiver knows what each receive must get:
 * the first message that suits it and no earlier receive, whenever either came.
 *
 * "disturbed": a timer interrupts it a thousand times a second, and now and then a child
 * is forked while helper and messages are busy. "threads": the same with four threads,
 * each with tags of its own. The handler must always run on the main thread, because no
 * other takes signals.
 */
#include "bytes.h"
#include "check.h"
#include "draw.h"

#include <pthread.h>
#include <signal.h>
#include <stdbool.h>
#include <sys/time.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

enum {
    ROUNDS = 2000, /* of all threads together */
    THREADS = 4,
    ROUNDS_BETWEEN_FORKS = 100,
    MOST = 6,
    CAPACITY = 64 * 1024, /* enough to be offered */
    TAGS = 2,
};

struct message {
    int tag;
    int bytes;
    int way; /* of its sender */
};

struct receive {
    int source; /* ours, or MPI_ANY_SOURCE */
    int tag;
    int gets; /* which message */
};

struct round {
    int count;
    bool is_sent_first; /* by who draws it */
    int pause;
    struct message messages[MOST];
    struct receive receives[MOST];
};

/* A thread, and what it sends from and receives into. */
struct worker {
    int number;
    int first_tag;
    bool has_any_tag; /* nobody else's messages could be taken */
    int rounds;
    bool is_forking;
    char *out[MOST];
    char *in[MOST];
};

static int rank;
static int size;
static pthread_t main_thread;
static volatile sig_atomic_t alarms;
static volatile sig_atomic_t strays; /* taken by another thread */

/* False if some receive would get nothing. */
static bool match(struct round *r)
{
    for (int i = 0; i < r->count; i++) {
        r->receives[i].gets = -1;
    }
    for (int m = 0; m < r->count; m++) {
        int i = 0;

        while (i < r->count &&
               (r->receives[i].gets >= 0 || (r->receives[i].tag != MPI_ANY_TAG &&
                                             r->receives[i].tag != r->messages[m].tag))) {
            i++;
        }
        if (i == r->count) {
            return false;
        }
        r->receives[i].gets = m;
    }
    return true;
}

/* What `sender` sends in a round, and what its receiver posts. */
static void make_round(const struct worker *w, int number, int sender, struct round *r)
{
    static const int sizes[] = {0, 8, 1000, 4096, 5000, 32768, 50000, CAPACITY};
    uint32_t state =
        (uint32_t)((number * THREADS + w->number) * 100 + sender + 1) * 48271u;
    const int receiver_looks = draw(&state, 4); /* how often wildcards are */

    r->count = 1 + draw(&state, MOST);
    r->is_sent_first = draw(&state, 2) == 0;
    r->pause = draw(&state, 4) == 0 ? draw(&state, 20000) : 0;
    for (int i = 0; i < r->count; i++) {
        r->messages[i].tag = w->first_tag + draw(&state, TAGS);
        r->messages[i].bytes = sizes[draw(&state, (int)(sizeof(sizes) / sizeof(*sizes)))];
        r->messages[i].way = draw(&state, 4);
    }
    do {
        for (int i = 0; i < r->count; i++) {
            r->receives[i].source = sender;
            r->receives[i].tag = w->first_tag + draw(&state, TAGS);
            if (draw(&state, 4) < receiver_looks) {
                r->receives[i].source = draw(&state, 2) == 0 ? MPI_ANY_SOURCE : sender;
                if (draw(&state, 2) == 0 && w->has_any_tag) {
                    r->receives[i].tag = MPI_ANY_TAG;
                }
            }
        }
    } while (!match(r));
}

static void compute(int turns)
{
    for (volatile int i = 0; i < turns; i++) {
    }
}

static uint32_t seed(const struct worker *w, int number, int sender, int message)
{
    return (uint32_t)(((number * THREADS + w->number) * 64 + sender) * MOST + message);
}

static void post(const struct worker *w, const struct round *r, MPI_Request *requests)
{
    for (int i = 0; i < r->count; i++) {
        memset(w->in[i], 0, CAPACITY);
        CHECK(MPI_Irecv(w->in[i], CAPACITY, MPI_BYTE, r->receives[i].source,
                        r->receives[i].tag, MPI_COMM_WORLD, &requests[i]) == MPI_SUCCESS);
    }
}

/* Blocking only if our own receives are posted, because all ranks do the same. */
static void send(const struct worker *w, const struct round *r, int number,
                 bool may_block, MPI_Request *requests)
{
    const int to = (rank + 1) % size;

    for (int i = 0; i < r->count; i++) {
        const struct message *m = &r->messages[i];

        fill_bytes(w->out[i], (size_t)m->bytes, seed(w, number, rank, i));
        requests[i] = MPI_REQUEST_NULL;
        if (may_block && m->way == 0) {
            CHECK(MPI_Send(w->out[i], m->bytes, MPI_BYTE, to, m->tag, MPI_COMM_WORLD) ==
                  MPI_SUCCESS);
        } else if (m->way == 1) {
            CHECK(MPI_Issend(w->out[i], m->bytes, MPI_BYTE, to, m->tag, MPI_COMM_WORLD,
                             &requests[i]) == MPI_SUCCESS);
        } else {
            CHECK(MPI_Isend(w->out[i], m->bytes, MPI_BYTE, to, m->tag, MPI_COMM_WORLD,
                            &requests[i]) == MPI_SUCCESS);
        }
    }
}

static void check_round(const struct worker *w, const struct round *r, int number,
                        const MPI_Status *statuses)
{
    const int from = (rank + size - 1) % size;

    for (int i = 0; i < r->count; i++) {
        const int which = r->receives[i].gets;
        int count;

        CHECK(statuses[i].MPI_SOURCE == from);
        CHECK(statuses[i].MPI_TAG == r->messages[which].tag);
        CHECK(MPI_Get_count(&statuses[i], MPI_BYTE, &count) == MPI_SUCCESS);
        CHECK(count == r->messages[which].bytes);
        CHECK(are_bytes(w->in[i], (size_t)count, seed(w, number, from, which)));
    }
}

/* ---- disturbances ---- */

static void on_alarm(int number)
{
    (void)number;
    alarms = alarms + 1;
    if (!pthread_equal(pthread_self(), main_thread)) {
        strays = 1;
    }
}

static void start_alarms(void)
{
    const struct sigaction action = {.sa_handler = on_alarm, .sa_flags = SA_RESTART};
    const struct itimerval timer = {.it_interval = {0, 1000}, .it_value = {0, 1000}};

    CHECK(sigaction(SIGALRM, &action, NULL) == 0);
    CHECK(setitimer(ITIMER_REAL, &timer, NULL) == 0);
}

static void stop_alarms(void)
{
    const struct itimerval never = {0};

    CHECK(setitimer(ITIMER_REAL, &never, NULL) == 0);
    CHECK(alarms > 0 && !strays);
}

/* The child has no helper and calls no MPI; it becomes another program, or ends. */
static void fork_child(bool is_other_program)
{
    const pid_t child = fork();
    int status = -1;

    CHECK(child >= 0);
    if (child == 0) {
        if (is_other_program) {
            execl("/bin/true", "true", (char *)NULL);
        }
        _exit(is_other_program ? 1 : 0);
    }
    CHECK(waitpid(child, &status, 0) == child);
    CHECK(WIFEXITED(status) && WEXITSTATUS(status) == 0);
}

/* ---- rounds ---- */

static void run_round(const struct worker *w, int number)
{
    MPI_Request requests[2 * MOST];
    MPI_Status statuses[MOST];
    struct round theirs;
    struct round ours;

    make_round(w, number, (rank + size - 1) % size, &theirs);
    make_round(w, number, rank, &ours);
    if (ours.is_sent_first) {
        send(w, &ours, number, false, &requests[MOST]);
        compute(ours.pause);
        post(w, &theirs, requests);
    } else {
        post(w, &theirs, requests);
        compute(ours.pause);
        send(w, &ours, number, true, &requests[MOST]);
    }
    compute(theirs.pause);
    if (w->is_forking && number % ROUNDS_BETWEEN_FORKS == 0) {
        fork_child(number % (2 * ROUNDS_BETWEEN_FORKS) == 0);
    }
    CHECK(MPI_Waitall(theirs.count, requests, statuses) == MPI_SUCCESS);
    check_round(w, &theirs, number, statuses);
    CHECK(MPI_Waitall(ours.count, &requests[MOST], MPI_STATUSES_IGNORE) == MPI_SUCCESS);
}

/* A message longer than the receive that was offered fills it, fails it, and no other. */
static void test_truncation(const struct worker *w)
{
    enum { SHORT = 40000, LONG = CAPACITY };
    const int from = (rank + size - 1) % size;
    MPI_Request requests[2];
    MPI_Request send_request;

    CHECK(MPI_Comm_set_errhandler(MPI_COMM_WORLD, MPI_ERRORS_RETURN) == MPI_SUCCESS);
    for (int i = 0; i < 50; i++) {
        memset(w->in[0], 0, CAPACITY);
        CHECK(MPI_Irecv(w->in[0], SHORT, MPI_BYTE, from, 0, MPI_COMM_WORLD,
                        &requests[0]) == MPI_SUCCESS);
        CHECK(MPI_Irecv(w->in[1], LONG, MPI_BYTE, from, 0, MPI_COMM_WORLD,
                        &requests[1]) == MPI_SUCCESS);
        CHECK(MPI_Barrier(MPI_COMM_WORLD) == MPI_SUCCESS);
        compute(i * 1000);
        fill_bytes(w->out[0], LONG, seed(w, i, rank, 0));
        fill_bytes(w->out[1], LONG, seed(w, i, rank, 1));
        if (i % 2 == 0 && size > 1) {
            CHECK(MPI_Send(w->out[0], LONG, MPI_BYTE, (rank + 1) % size, 0,
                           MPI_COMM_WORLD) == MPI_SUCCESS);
            send_request = MPI_REQUEST_NULL;
        } else {
            CHECK(MPI_Isend(w->out[0], LONG, MPI_BYTE, (rank + 1) % size, 0,
                            MPI_COMM_WORLD, &send_request) == MPI_SUCCESS);
        }
        CHECK(MPI_Send(w->out[1], LONG, MPI_BYTE, (rank + 1) % size, 0, MPI_COMM_WORLD) ==
              MPI_SUCCESS);
        CHECK(MPI_Wait(&send_request, MPI_STATUS_IGNORE) == MPI_SUCCESS);
        IS_ERROR(MPI_Wait(&requests[0], MPI_STATUS_IGNORE), MPI_ERR_TRUNCATE);
        CHECK(MPI_Wait(&requests[1], MPI_STATUS_IGNORE) == MPI_SUCCESS);
        CHECK(are_bytes(w->in[0], SHORT, seed(w, i, from, 0)));
        for (int b = SHORT; b < CAPACITY; b++) {
            CHECK(w->in[0][b] == 0);
        }
        CHECK(are_bytes(w->in[1], LONG, seed(w, i, from, 1)));
    }
    CHECK(MPI_Comm_set_errhandler(MPI_COMM_WORLD, MPI_ERRORS_ARE_FATAL) == MPI_SUCCESS);
}

/* ---- workers ---- */

static void open_worker(struct worker *w)
{
    for (int i = 0; i < MOST; i++) {
        w->out[i] = malloc(CAPACITY);
        w->in[i] = malloc(CAPACITY);
        CHECK(w->out[i] != NULL && w->in[i] != NULL);
    }
}

static void close_worker(struct worker *w)
{
    for (int i = 0; i < MOST; i++) {
        free(w->out[i]);
        free(w->in[i]);
    }
}

static void *run_worker(void *argument)
{
    const struct worker *w = argument;

    for (int i = 0; i < w->rounds; i++) {
        run_round(w, i);
    }
    return NULL;
}

static void run_threads(void)
{
    struct worker workers[THREADS];
    pthread_t threads[THREADS];
    sigset_t alarm_only;

    sigemptyset(&alarm_only);
    sigaddset(&alarm_only, SIGALRM);
    CHECK(pthread_sigmask(SIG_BLOCK, &alarm_only, NULL) == 0); /* inherited */
    for (int i = 0; i < THREADS; i++) {
        workers[i] = (struct worker){
            .number = i,
            .first_tag = 10 * i,
            .rounds = ROUNDS / THREADS,
        };
        open_worker(&workers[i]);
        CHECK(pthread_create(&threads[i], NULL, run_worker, &workers[i]) == 0);
    }
    CHECK(pthread_sigmask(SIG_UNBLOCK, &alarm_only, NULL) == 0);
    for (int i = 0; i < ROUNDS / ROUNDS_BETWEEN_FORKS; i++) {
        nanosleep(&(struct timespec){.tv_nsec = 5000000}, NULL);
        fork_child(i % 2 == 0);
    }
    for (int i = 0; i < THREADS; i++) {
        CHECK(pthread_join(threads[i], NULL) == 0);
        close_worker(&workers[i]);
    }
}

int main(int argc, char **argv)
{
    const bool is_threaded = argc > 1 && strcmp(argv[1], "threads") == 0;
    const bool is_disturbed = argc > 1;
    struct worker alone = {
        .has_any_tag = true,
        .rounds = ROUNDS,
        .is_forking = is_disturbed,
    };
    int provided;

    main_thread = pthread_self();
    CHECK(MPI_Init_thread(&argc, &argv,
                          is_threaded ? MPI_THREAD_MULTIPLE : MPI_THREAD_SINGLE,
                          &provided) == MPI_SUCCESS);
    CHECK(MPI_Comm_rank(MPI_COMM_WORLD, &rank) == MPI_SUCCESS);
    CHECK(MPI_Comm_size(MPI_COMM_WORLD, &size) == MPI_SUCCESS);
    open_worker(&alone);
    if (is_disturbed) {
        start_alarms();
    }
    test_truncation(&alone);
    if (is_threaded) {
        run_threads();
    } else {
        run_worker(&alone);
    }
    if (is_disturbed) {
        stop_alarms();
    }
    CHECK(MPI_Finalize() == MPI_SUCCESS); /* at once: helpers may still be busy */
    close_worker(&alone);
    return 0;
}
