/*
 * starved.c FILE INTS STATE MODE VICTIM SHARE KIND:FIRST... - a member of a collective
 * call is refused memory.
 *
 * For every KIND allocation FIRST of rank VICTIM is refused, then the one behind it, and
 * so on until the whole call had no refusal. Each call has a communicator of its own.
 * Then
 *
 *   the member that was refused memory succeeds, or returns MPI_ERR_NO_MEM;
 *   so do the others, and all return the same where the call agrees on its outcome;
 *   what a call has brought that succeeded is right;
 *   another communicator, which was there before, works as ever.
 *
 * A block has INTS ints. STATE is "cold", or "warm": the call is made once before. MODE
 * is "one", or "on": all allocations behind the first one are refused, too. SHARE is
 * "K/M": of the allocations behind the second one only every M-th is tried.
 *
 * Rank 0 writes a line before each call and one after it. A call that takes longer than
 * STARVED_SECONDS, 20 if that is not set, ends the job, and so does what has no memory
 * for a message: starve.py goes on behind it.
 */
#include "refusals.h"
#include "trial.h"

#include <signal.h>
#include <unistd.h>

enum { SECONDS = 20, MOST = 3000 };

static const struct {
    const struct kind *kinds;
    int forms;
} tables[] = {{coll_kinds, 3}, {make_kinds, 1}, {window_kinds, 1}, {file_kinds, 1}};

static struct {
    const char *path;
    int ints;
    bool is_warm;
    bool is_lasting;
    int victim;
    int turn;
    int turns;
    unsigned seconds; /* for one call */
} options;

static MPI_Comm control; /* is never starved */
static int rank;
static int size;
static int faults;

static void on_alarm(int number)
{
    static const char text[] = "a member waits for too long\n";

    (void)number;
    (void)!write(STDERR_FILENO, text, sizeof(text) - 1);
    _exit(77);
}

/* ---- one trial ---- */

static void fill(struct trial *t)
{
    for (int to = 0; to < size; to++) {
        for (int i = 0; i < t->ints; i++) {
            t->send[to * t->ints + i] = value(rank, to, i);
            t->recv[to * t->ints + i] = -1;
        }
    }
}

static struct trial begin_trial(enum form form)
{
    struct trial t = {
        .comm = MPI_COMM_NULL,
        .rank = rank,
        .size = size,
        .ints = options.ints,
        .send = malloc((size_t)size * (size_t)options.ints * sizeof(int)),
        .recv = malloc((size_t)size * (size_t)options.ints * sizeof(int)),
        .form = form,
        .path = options.path,
        .around = MPI_COMM_NULL,
        .made = MPI_COMM_NULL,
        .group = MPI_GROUP_NULL,
        .win = MPI_WIN_NULL,
        .file = MPI_FILE_NULL,
        .type = MPI_DATATYPE_NULL,
    };

    CHECK(t.send != NULL && t.recv != NULL);
    DONE(MPI_Comm_dup(control, &t.comm));
    fill(&t);
    return t;
}

/* Some of this fails, because the communicator may be broken. */
static void end_trial(struct trial *t)
{
    if (t->file != MPI_FILE_NULL) {
        MPI_File_close(&t->file);
    }
    if (t->win != MPI_WIN_NULL) {
        MPI_Win_free(&t->win);
    }
    if (t->type != MPI_DATATYPE_NULL) {
        MPI_Type_free(&t->type);
    }
    if (t->group != MPI_GROUP_NULL) {
        MPI_Group_free(&t->group);
    }
    if (t->made != MPI_COMM_NULL) {
        MPI_Comm_free(&t->made);
    }
    if (t->around != MPI_COMM_NULL) {
        MPI_Comm_free(&t->around);
    }
    MPI_Comm_free(&t->comm);
    free(t->send);
    free(t->recv);
}

struct outcome {
    int class;
    int is_wrong;
};

static const char *fault_in(const struct kind *kind, const struct outcome *all,
                            bool is_hit)
{
    for (int i = 0; i < size; i++) {
        if (all[i].class != MPI_SUCCESS && !is_hit) {
            return "an error, and nothing was refused";
        }
        if (all[i].class != MPI_SUCCESS && all[i].class != MPI_ERR_NO_MEM) {
            return "another class of error";
        }
        if (kind->agrees &&
            (all[i].class == MPI_SUCCESS) != (all[0].class == MPI_SUCCESS)) {
            return "some have an error";
        }
        if (all[i].is_wrong) {
            return "wrong data";
        }
    }
    return NULL;
}

static bool are_all_well(const struct outcome *all)
{
    for (int i = 0; i < size; i++) {
        if (all[i].class != MPI_SUCCESS) {
            return false;
        }
    }
    return true;
}

static void say(const char *what, const char *name, int number, const char *more,
                const struct outcome *all, unsigned long place)
{
    if (rank != 0) {
        return;
    }
    printf("%s %s %d", what, name, number);
    for (int i = 0; all != NULL && i < size; i++) {
        printf(" %d%s", all[i].class, all[i].is_wrong ? "!" : "");
    }
    if (place != 0) {
        printf(" at 0x%lx", place);
    }
    printf("%s%s\n", more != NULL ? ": " : "", more != NULL ? more : "");
    fflush(stdout);
}

/* Learns how the call has ended on all ranks. Returns whether memory was refused. */
static bool judge(const struct kind *kind, struct trial *t, const char *name, int number,
                  int err, bool is_hit)
{
    struct outcome all[RANKS_MOST];
    struct outcome mine = {0};
    unsigned long hit[2] = {is_hit, refusals_place()};
    const char *fault;

    MPI_Error_class(err, &mine.class);
    if (kind->is_right != NULL && !kind->agrees && err == MPI_SUCCESS) {
        mine.is_wrong = !kind->is_right(t);
    }
    DONE(MPI_Bcast(hit, 2, MPI_UNSIGNED_LONG, options.victim, control));
    DONE(MPI_Allgather(&mine, 2, MPI_INT, all, 2, MPI_INT, control));
    if (kind->is_right != NULL && kind->agrees && are_all_well(all)) {
        mine.is_wrong = !kind->is_right(t);
        DONE(MPI_Allgather(&mine, 2, MPI_INT, all, 2, MPI_INT, control));
    }
    fault = fault_in(kind, all, hit[0] != 0);
    faults += fault != NULL;
    say(fault != NULL ? "FAULT" : "end", name, number, fault, all, hit[0] ? hit[1] : 0);
    return hit[0] != 0;
}

/* Returns whether allocation `number` was there. */
static bool starve(const struct kind *kind, enum form form, const char *name, int number)
{
    struct trial t = begin_trial(form);
    bool is_hit;
    int err;

    alarm(options.seconds);
    if (kind->prepare != NULL) {
        kind->prepare(&t);
    }
    if (options.is_warm) {
        DONE(kind->run(&t));
        fill(&t);
        if (kind->prepare != NULL && t.around == MPI_COMM_NULL) {
            kind->prepare(&t);
        }
    }
    say("try", name, number, NULL, NULL, 0);
    DONE(MPI_Barrier(control));
    refusals_begin(rank == options.victim ? number : 0, options.is_lasting);
    err = kind->run(&t);
    is_hit = refusals_end();
    if (t.win != MPI_WIN_NULL) {
        MPI_Win_set_errhandler(t.win, MPI_ERRORS_RETURN);
    }
    is_hit = judge(kind, &t, name, number, err, is_hit);
    end_trial(&t);
    DONE(MPI_Barrier(control));
    alarm(0);
    return is_hit;
}

/* ---- all trials of a kind ---- */

static bool is_mine(int number)
{
    return number <= 2 || number % options.turns == options.turn;
}

static void starve_all(const struct kind *kind, enum form form, const char *name,
                       int number)
{
    for (bool goes_on = true; goes_on; number++) {
        CHECK(number < MOST);
        if (is_mine(number)) {
            goes_on = starve(kind, form, name, number);
        }
    }
}

static void name_of(const struct kind *kind, enum form form, char *name, size_t bytes)
{
    snprintf(name, bytes, "%s%s%s", form == NONBLOCKING ? "i" : "", kind->name,
             form == PERSISTENT ? "_init" : "");
}

static bool starve_named(const char *wanted, int first)
{
    char name[64];

    for (size_t table = 0; table < sizeof(tables) / sizeof(tables[0]); table++) {
        for (const struct kind *kind = tables[table].kinds; kind->name != NULL; kind++) {
            for (int form = 0; form < tables[table].forms; form++) {
                name_of(kind, (enum form)form, name, sizeof(name));
                if (strcmp(wanted, name) == 0) {
                    starve_all(kind, (enum form)form, name, first);
                    return true;
                }
            }
        }
    }
    return false;
}

/* ---- the program ---- */

static void list(void)
{
    char name[64];

    for (size_t table = 0; table < sizeof(tables) / sizeof(tables[0]); table++) {
        for (const struct kind *kind = tables[table].kinds; kind->name != NULL; kind++) {
            for (int form = 0; form < tables[table].forms; form++) {
                name_of(kind, (enum form)form, name, sizeof(name));
                puts(name);
            }
        }
    }
}

int main(int argc, char **argv)
{
    char name[64];
    int first;

    if (argc < 2) {
        list();
        return 0;
    }
    refusals_open();
    DONE(MPI_Init(&argc, &argv));
    DONE(MPI_Comm_set_errhandler(MPI_COMM_SELF, MPI_ERRORS_RETURN));
    DONE(MPI_Comm_set_errhandler(MPI_COMM_WORLD, MPI_ERRORS_RETURN));
    DONE(MPI_Comm_dup(MPI_COMM_WORLD, &control));
    DONE(MPI_Comm_rank(control, &rank));
    DONE(MPI_Comm_size(control, &size));
    CHECK(argc > 7 && size <= RANKS_MOST);
    options.path = argv[1];
    options.ints = atoi(argv[2]);
    options.is_warm = strcmp(argv[3], "warm") == 0;
    options.is_lasting = strcmp(argv[4], "on") == 0;
    options.victim = atoi(argv[5]);
    options.seconds = getenv("STARVED_SECONDS") != NULL
                          ? (unsigned)atoi(getenv("STARVED_SECONDS"))
                          : SECONDS;
    CHECK(sscanf(argv[6], "%d/%d", &options.turn, &options.turns) == 2);
    signal(SIGALRM, on_alarm);
    for (int i = 7; i < argc; i++) {
        CHECK(sscanf(argv[i], "%63[^:]:%d", name, &first) == 2);
        CHECK(starve_named(name, first));
    }
    say("done", "all", faults, NULL, NULL, 0);
    DONE(MPI_Comm_free(&control));
    DONE(MPI_Finalize());
    return faults > 0 ? 1 : 0;
}
