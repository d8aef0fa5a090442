/*
 * pauses.c - waits of many kinds, each of which is ended by a peer after a pause.
 *
 *     mpiexec ... pauses FOLDER TURN KIND...
 *     pauses --list
 *
 * The second form prints the kinds, and how many ranks tell in each. All tellers are the
 * first ranks, so that they can have a host of their own. For each kind of wait seven
 * ranks wait, in a single call of MPI, and a teller ends their waits one by one: 0, 1, 3,
 * 6, 7, 9 and 11 seconds after all of them have begun. Between two of these it sleeps
 * outside of MPI. That the waits have begun it sees by files in FOLDER, because a message
 * would be a first contact, and the waits for a first contact count most.
 *
 * A rank that waits has one of three habits, which TURN shifts: it has no other thread;
 * or one that looks into MPI now and then; or one that is blocked in MPI until the end.
 *
 * Times are of the clock of the machine, on which all hosts are. For each wait "told" is
 * printed, by whoever ends it, with the time just before it does so; and "back" with the
 * time of the return and with what the wait has cost of a processor.
 */
#include "mpi.h"

#include <pthread.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

enum {
    PAUSES = 7,
    LONG = 1 << 20,
    PARTITIONS = 2,
    TAG = 10,        /* and a number of the kind */
    TAG_BLOCKED = 5, /* of the thread that is blocked */
    TAG_NEVER = 6,
    LOOK_US = 300 * 1000,
    FILE_US = 5000,
};

enum habit { ALONE, LOOKS, IS_BLOCKED, HABITS };

static const int pauses[PAUSES] = {0, 1, 3, 6, 7, 9, 11};

/* One wait, as its two ranks see it. */
struct pair {
    int kind;   /* in the list */
    int pause;  /* in the list */
    int teller; /* ranks */
    int waiter;
    bool is_teller;
    int word;
    char *bytes; /* LONG */
    MPI_Comm comm;
    MPI_Win win;
    MPI_File file;
    MPI_Request request;
};

struct kind {
    const char *name;
    int tellers;  /* one for all waits, or one for each; none: a thread of the waiter */
    bool is_late; /* each teller calls MPI_Init when it tells */
    void (*prepare)(struct pair *pair);
    void (*tell)(struct pair *pair);
    void (*wait)(struct pair *pair);
    void (*finish)(struct pair *pair);
};

static const char *folder;
static const char *const *chosen; /* names, NULL behind them */

/* ---- times and files ---- */

static double seconds_of(clockid_t clock)
{
    struct timespec now;

    clock_gettime(clock, &now);
    return (double)now.tv_sec + (double)now.tv_nsec / 1e9;
}

static double now(void)
{
    return seconds_of(CLOCK_MONOTONIC);
}

static void sleep_until(double time)
{
    const double rest = time - now();

    if (rest > 0) {
        usleep((useconds_t)(rest * 1e6));
    }
}

static void fail(const char *what)
{
    fprintf(stderr, "pauses: %s\n", what);
    fflush(stderr);
    _exit(3);
}

static void claim(bool is_so, const char *what)
{
    if (!is_so) {
        fail(what);
    }
}

static const struct kind *kind_of(const struct pair *pair);

static void name_file(const struct pair *pair, const char *what, char *name, size_t size)
{
    snprintf(name, size, "%s/%s-%d-%s", folder, kind_of(pair)->name, pair->pause, what);
}

static void leave_file(const struct pair *pair, const char *what)
{
    char name[4096];
    FILE *file;

    name_file(pair, what, name, sizeof(name));
    file = fopen(name, "w");
    claim(file != NULL && fclose(file) == 0, "a file cannot be written");
}

static void await_file(const struct pair *pair, const char *what)
{
    char name[4096];

    name_file(pair, what, name, sizeof(name));
    while (access(name, F_OK) != 0) {
        usleep(FILE_US);
    }
}

static void say_told(const struct pair *pair)
{
    printf("told %s %d %.6f\n", kind_of(pair)->name, pauses[pair->pause], now());
    fflush(stdout);
}

/* ---- a message, at first contact ---- */

static int tag_of(const struct pair *pair)
{
    return TAG + pair->kind;
}

static void send_word(struct pair *pair)
{
    MPI_Send(&pair->word, 1, MPI_INT, pair->waiter, tag_of(pair), MPI_COMM_WORLD);
}

static void receive_word(struct pair *pair)
{
    MPI_Recv(&pair->word, 1, MPI_INT, pair->teller, tag_of(pair), MPI_COMM_WORLD,
             MPI_STATUS_IGNORE);
}

static void receive_from_any(struct pair *pair)
{
    MPI_Recv(&pair->word, 1, MPI_INT, MPI_ANY_SOURCE, tag_of(pair), MPI_COMM_WORLD,
             MPI_STATUS_IGNORE);
}

static void probe_word(struct pair *pair)
{
    MPI_Probe(pair->teller, tag_of(pair), MPI_COMM_WORLD, MPI_STATUS_IGNORE);
    receive_word(pair);
}

/* The program computes, and comes back when the message must have come. */
static void send_and_say(struct pair *pair)
{
    send_word(pair);
    leave_file(pair, "sent");
}

static void compute_first(struct pair *pair)
{
    MPI_Irecv(&pair->word, 1, MPI_INT, pair->teller, tag_of(pair), MPI_COMM_WORLD,
              &pair->request);
    await_file(pair, "sent");
    MPI_Wait(&pair->request, MPI_STATUS_IGNORE);
}

/* A long one, for which the receiver is late. */
static void receive_long(struct pair *pair)
{
    MPI_Recv(pair->bytes, LONG, MPI_CHAR, pair->waiter, tag_of(pair), MPI_COMM_WORLD,
             MPI_STATUS_IGNORE);
}

static void send_long(struct pair *pair)
{
    MPI_Issend(pair->bytes, LONG, MPI_CHAR, pair->teller, tag_of(pair), MPI_COMM_WORLD,
               &pair->request);
    MPI_Wait(&pair->request, MPI_STATUS_IGNORE);
}

/* The receiver is late with MPI_Init: its address is not published before. */
static void receive_first(struct pair *pair)
{
    MPI_Recv(&pair->word, 1, MPI_INT, pair->waiter, tag_of(pair), MPI_COMM_WORLD,
             MPI_STATUS_IGNORE);
}

static void send_first(struct pair *pair)
{
    MPI_Ssend(&pair->word, 1, MPI_INT, pair->teller, tag_of(pair), MPI_COMM_WORLD);
}

/* ---- collective functions of the two ---- */

static void make_comm(struct pair *pair)
{
    const int both[2] = {pair->teller, pair->waiter};
    MPI_Group world;
    MPI_Group group;

    MPI_Comm_group(MPI_COMM_WORLD, &world);
    MPI_Group_incl(world, 2, both, &group);
    MPI_Comm_create_group(MPI_COMM_WORLD, group, tag_of(pair), &pair->comm);
    MPI_Group_free(&group);
    MPI_Group_free(&world);
}

static void free_comm(struct pair *pair)
{
    MPI_Comm_free(&pair->comm);
}

static void broadcast(struct pair *pair)
{
    MPI_Bcast(&pair->word, 1, MPI_INT, 0, pair->comm);
}

static void reduce(struct pair *pair)
{
    int sum;

    MPI_Iallreduce(&pair->word, &sum, 1, MPI_INT, MPI_SUM, pair->comm, &pair->request);
    MPI_Wait(&pair->request, MPI_STATUS_IGNORE);
}

static void open_file(struct pair *pair)
{
    char name[4096];

    make_comm(pair);
    name_file(pair, "data", name, sizeof(name));
    claim(MPI_File_open(pair->comm, name, MPI_MODE_CREATE | MPI_MODE_WRONLY,
                        MPI_INFO_NULL, &pair->file) == MPI_SUCCESS,
          "a file cannot be opened");
}

static void write_ordered(struct pair *pair)
{
    MPI_File_write_ordered(pair->file, &pair->word, 1, MPI_INT, MPI_STATUS_IGNORE);
}

static void close_file(struct pair *pair)
{
    MPI_File_close(&pair->file);
    free_comm(pair);
}

/* ---- one-sided ---- */

static void open_window(struct pair *pair)
{
    int *memory;

    make_comm(pair);
    MPI_Win_allocate(sizeof(int), sizeof(int), MPI_INFO_NULL, pair->comm, &memory,
                     &pair->win);
    *memory = 0;
}

static void close_window(struct pair *pair)
{
    MPI_Win_free(&pair->win);
    free_comm(pair);
}

static void put_word(struct pair *pair, int target)
{
    MPI_Put(&pair->word, 1, MPI_INT, target, 0, 1, MPI_INT, pair->win);
}

static MPI_Group group_of(struct pair *pair, int member)
{
    MPI_Group both;
    MPI_Group group;

    MPI_Comm_group(pair->comm, &both);
    MPI_Group_incl(both, 1, &member, &group);
    MPI_Group_free(&both);
    return group;
}

static void expose(struct pair *pair)
{
    MPI_Group group = group_of(pair, pair->is_teller ? 1 : 0);

    MPI_Win_post(group, 0, pair->win);
    MPI_Win_wait(pair->win);
    MPI_Group_free(&group);
}

static void access_other(struct pair *pair)
{
    MPI_Group group = group_of(pair, pair->is_teller ? 1 : 0);

    MPI_Win_start(group, 0, pair->win);
    put_word(pair, pair->is_teller ? 1 : 0);
    MPI_Win_complete(pair->win);
    MPI_Group_free(&group);
}

/* The teller has its own memory locked until it tells. */
static void hold_lock(struct pair *pair)
{
    open_window(pair);
    if (pair->is_teller) {
        MPI_Win_lock(MPI_LOCK_EXCLUSIVE, 0, 0, pair->win);
    }
    MPI_Barrier(pair->comm);
}

static void give_lock(struct pair *pair)
{
    MPI_Win_unlock(0, pair->win);
}

static void take_lock(struct pair *pair)
{
    MPI_Win_lock(MPI_LOCK_EXCLUSIVE, 0, 0, pair->win);
    put_word(pair, 0);
    MPI_Win_unlock(0, pair->win);
}

static void take_lock_and_flush(struct pair *pair)
{
    MPI_Win_lock(MPI_LOCK_SHARED, 0, 0, pair->win);
    put_word(pair, 0);
    MPI_Win_flush(0, pair->win);
}

static void give_and_close(struct pair *pair)
{
    if (!pair->is_teller) {
        MPI_Win_unlock(0, pair->win);
    }
    close_window(pair);
}

/* ---- partitions ---- */

static void begin_partitions(struct pair *pair)
{
    if (pair->is_teller) {
        MPI_Psend_init(pair->bytes, PARTITIONS, LONG / PARTITIONS, MPI_CHAR, pair->waiter,
                       tag_of(pair), MPI_COMM_WORLD, MPI_INFO_NULL, &pair->request);
        MPI_Start(&pair->request);
        MPI_Pready(0, pair->request);
    } else {
        MPI_Precv_init(pair->bytes, PARTITIONS, LONG / PARTITIONS, MPI_CHAR, pair->teller,
                       tag_of(pair), MPI_COMM_WORLD, MPI_INFO_NULL, &pair->request);
        MPI_Start(&pair->request);
    }
}

static void send_partition(struct pair *pair)
{
    MPI_Pready(1, pair->request);
}

static void wait_for_request(struct pair *pair)
{
    MPI_Wait(&pair->request, MPI_STATUS_IGNORE);
}

static void end_partitions(struct pair *pair)
{
    if (pair->is_teller) {
        MPI_Wait(&pair->request, MPI_STATUS_IGNORE);
    }
    MPI_Request_free(&pair->request);
}

/* ---- without a teller, and with one that dies ---- */

static int query(void *state, MPI_Status *status)
{
    (void)state;
    MPI_Status_set_elements(status, MPI_INT, 0);
    MPI_Status_set_cancelled(status, 0);
    status->MPI_SOURCE = status->MPI_TAG = MPI_UNDEFINED;
    return MPI_SUCCESS;
}

static int forget(void *state)
{
    (void)state;
    return MPI_SUCCESS;
}

static int cancel(void *state, int is_complete)
{
    (void)state;
    (void)is_complete;
    return MPI_SUCCESS;
}

static void *complete_later(void *argument)
{
    struct pair *pair = argument;

    sleep_until(now() + pauses[pair->pause]);
    say_told(pair);
    MPI_Grequest_complete(pair->request);
    return NULL;
}

static void wait_for_own_thread(struct pair *pair)
{
    MPI_Request request;
    pthread_t thread;

    MPI_Grequest_start(query, forget, cancel, NULL, &pair->request);
    request = pair->request;
    claim(pthread_create(&thread, NULL, complete_later, pair) == 0, "no thread");
    MPI_Wait(&request, MPI_STATUS_IGNORE);
    pthread_join(thread, NULL);
}

static void return_errors(struct pair *pair)
{
    (void)pair;
    MPI_Comm_set_errhandler(MPI_COMM_WORLD, MPI_ERRORS_RETURN);
}

static void die(struct pair *pair)
{
    (void)pair;
    raise(SIGKILL);
}

static void receive_from_dead(struct pair *pair)
{
    int class = MPI_SUCCESS;
    int rc;

    rc = MPI_Recv(&pair->word, 1, MPI_INT, pair->teller, tag_of(pair), MPI_COMM_WORLD,
                  MPI_STATUS_IGNORE);
    MPI_Error_class(rc, &class);
    claim(class == MPI_ERR_PROC_ABORTED,
          "a receive from a dead rank gives another class");
}

/* ---- all kinds ---- */

static const struct kind kinds[] = {
    {.name = "message", .tellers = 1, .tell = send_word, .wait = receive_word},
    {.name = "any", .tellers = 1, .tell = send_word, .wait = receive_from_any},
    {.name = "probe", .tellers = 1, .tell = send_word, .wait = probe_word},
    {.name = "computed", .tellers = 1, .tell = send_and_say, .wait = compute_first},
    {.name = "long", .tellers = 1, .tell = receive_long, .wait = send_long},
    {"start", PAUSES, true, NULL, receive_first, send_first, NULL},
    {"broadcast", 1, false, make_comm, broadcast, broadcast, free_comm},
    {"reduction", 1, false, make_comm, reduce, reduce, free_comm},
    {"file", 1, false, open_file, write_ordered, write_ordered, close_file},
    {"exposure", 1, false, open_window, access_other, expose, close_window},
    {"access", 1, false, open_window, expose, access_other, close_window},
    {"lock", 1, false, hold_lock, give_lock, take_lock, close_window},
    {"flush", 1, false, hold_lock, give_lock, take_lock_and_flush, give_and_close},
    {"partitions", 1, false, begin_partitions, send_partition, wait_for_request,
     end_partitions},
    {.name = "request", .tellers = 0, .wait = wait_for_own_thread},
    {"death", PAUSES, false, return_errors, die, receive_from_dead, NULL},
};

enum { KINDS = sizeof(kinds) / sizeof(kinds[0]) };

static const struct kind *kind_of(const struct pair *pair)
{
    return &kinds[pair->kind];
}

/* ---- who does what ---- */

static bool is_chosen(int kind)
{
    for (int i = 0; chosen[i] != NULL; i++) {
        if (strcmp(chosen[i], kinds[kind].name) == 0) {
            return true;
        }
    }
    return false;
}

/* Counts the tellers of the kinds before this one. */
static int count_tellers(int kind)
{
    int count = 0;

    for (int k = 0; k < kind; k++) {
        count += is_chosen(k) ? kinds[k].tellers : 0;
    }
    return count;
}

static int count_waiters(int kind)
{
    int count = 0;

    for (int k = 0; k < kind; k++) {
        count += is_chosen(k) ? PAUSES : 0;
    }
    return count;
}

/* The wait of a kind that ends after this pause. */
static struct pair pair_of(int kind, int pause)
{
    const int tellers = kinds[kind].tellers;

    return (struct pair){
        .kind = kind,
        .pause = pause,
        .teller = tellers == 0 ? -1 : count_tellers(kind) + pause % tellers,
        .waiter = count_tellers(KINDS) + count_waiters(kind) + pause,
        .word = 1,
    };
}

/* Finds the pairs of this rank, in their order: a teller may have all pairs of a kind. */
static int find_pairs(int rank, struct pair found[PAUSES])
{
    int count = 0;

    for (int i = 0; i < KINDS * PAUSES; i++) {
        const struct pair pair = pair_of(i / PAUSES, i % PAUSES);

        if (is_chosen(pair.kind) && (rank == pair.teller || rank == pair.waiter)) {
            found[count] = pair;
            found[count].is_teller = rank == pair.teller;
            found[count].bytes = calloc(1, LONG);
            claim(found[count].bytes != NULL, "no memory");
            count++;
        }
    }
    return count;
}

static void call(void (*function)(struct pair *pair), struct pair *pair)
{
    if (function != NULL) {
        function(pair);
    }
}

static void tell_all(struct pair *pairs, int count)
{
    const struct kind *kind = kind_of(&pairs[0]);
    double begin;

    if (!kind->is_late) {
        MPI_Init(NULL, NULL);
    }
    for (int i = 0; i < count; i++) {
        call(kind->prepare, &pairs[i]);
    }
    for (int i = 0; i < count; i++) {
        await_file(&pairs[i], "waits");
    }
    begin = now();
    for (int i = 0; i < count; i++) {
        sleep_until(begin + pauses[pairs[i].pause]);
        if (kind->is_late) {
            MPI_Init(NULL, NULL);
        }
        say_told(&pairs[i]);
        kind->tell(&pairs[i]);
    }
    for (int i = 0; i < count; i++) {
        call(kind->finish, &pairs[i]);
    }
    MPI_Finalize();
}

/* ---- habits of those who wait ---- */

static atomic_bool is_over;

static void *look_now_and_then(void *ignored)
{
    int is_there;

    while (!atomic_load(&is_over)) {
        MPI_Iprobe(MPI_ANY_SOURCE, TAG_NEVER, MPI_COMM_WORLD, &is_there,
                   MPI_STATUS_IGNORE);
        usleep(LOOK_US);
    }
    return ignored;
}

/* Until the same rank sends something. */
static void *be_blocked(void *argument)
{
    int *rank = argument;
    int word;

    MPI_Recv(&word, 1, MPI_INT, *rank, TAG_BLOCKED, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
    return NULL;
}

static void begin_habit(enum habit habit, pthread_t *thread, int *rank)
{
    if (habit != ALONE) {
        claim(pthread_create(thread, NULL,
                             habit == LOOKS ? look_now_and_then : be_blocked, rank) == 0,
              "no thread");
    }
}

static void end_habit(enum habit habit, pthread_t thread, const int *rank)
{
    atomic_store(&is_over, true);
    if (habit == IS_BLOCKED) {
        MPI_Send(rank, 1, MPI_INT, *rank, TAG_BLOCKED, MPI_COMM_WORLD);
    }
    if (habit != ALONE) {
        pthread_join(thread, NULL);
    }
}

static void wait_for_it(struct pair *pair, enum habit habit)
{
    const struct kind *kind = kind_of(pair);
    const bool is_single = habit == ALONE && kind->tellers > 0;
    pthread_t thread;
    double cost;
    int level;

    MPI_Init_thread(NULL, NULL, is_single ? MPI_THREAD_SINGLE : MPI_THREAD_MULTIPLE,
                    &level);
    call(kind->prepare, pair);
    begin_habit(habit, &thread, &pair->waiter);
    leave_file(pair, "waits");
    cost = seconds_of(CLOCK_PROCESS_CPUTIME_ID);
    kind->wait(pair);
    printf("back %s %d %.6f %.3f\n", kind->name, pauses[pair->pause], now(),
           seconds_of(CLOCK_PROCESS_CPUTIME_ID) - cost);
    fflush(stdout);
    end_habit(habit, thread, &pair->waiter);
    call(kind->finish, pair);
    MPI_Finalize();
}

int main(int argc, char **argv)
{
    const char *number = getenv("PMI_RANK"); /* some are late with MPI_Init */
    struct pair pairs[PAUSES];
    int count;

    if (argc == 2 && strcmp(argv[1], "--list") == 0) {
        for (int k = 0; k < KINDS; k++) {
            printf("%s %d\n", kinds[k].name, kinds[k].tellers);
        }
        return 0;
    }
    claim(argc > 3 && number != NULL, "mpiexec ... pauses FOLDER TURN KIND...");
    folder = argv[1];
    chosen = (const char *const *)&argv[3];
    count = find_pairs(atoi(number), pairs);
    claim(count > 0, "there are more ranks than waits");
    if (pairs[0].is_teller) {
        tell_all(pairs, count);
    } else {
        const int habit = (pairs[0].kind + pairs[0].pause + atoi(argv[2])) % HABITS;

        wait_for_it(&pairs[0], (enum habit)habit);
    }
    return 0;
}
