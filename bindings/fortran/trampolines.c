/*
 * trampolines.c - C functions for Fortran's reduction operations and error handlers.
 *
 * The ABI calls these without any state of ours, so each Fortran procedure gets a C
 * function of its own from a table. Objects made with the same procedure share one. A
 * function is given back when the last of its objects is freed; since operations that
 * were started and communicators may use it for longer, one that was never used is taken
 * before it, and then the one that was given back first.
 */
#include "fortran.h"

#include <pthread.h>
#include <stdlib.h>

enum { SLOTS = 64 };

struct slot {
    weft_procedure *fortran; /* NULL: never used */
    unsigned long given_back;
    int objects;
};

struct tie {
    struct tie *next;
    enum weft_trampoline kind;
    int slot;
    int object;
};

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static struct slot slots[WEFT_TRAMPOLINE_KINDS][SLOTS];
static struct tie *ties;
static unsigned long given_back;

typedef void fortran_op(void *in, void *inout, int *count, int *datatype);
typedef void fortran_op_large(void *in, void *inout, MPI_Count *count, int *datatype);
typedef void fortran_handler(int *object, int *error);

static void call_op(int slot, void *in, void *inout, int *count, MPI_Datatype *type)
{
    int datatype = weft_datatype_out(*type);

    ((fortran_op *)slots[WEFT_OF_OP][slot].fortran)(in, inout, count, &datatype);
}

static void call_op_large(int slot, void *in, void *inout, MPI_Count *count,
                          MPI_Datatype *type)
{
    int datatype = weft_datatype_out(*type);

    ((fortran_op_large *)slots[WEFT_OF_OP_LARGE][slot].fortran)(in, inout, count,
                                                                &datatype);
}

static void call_handler(enum weft_trampoline kind, int slot, int object, int *error)
{
    ((fortran_handler *)slots[kind][slot].fortran)(&object, error);
}

#define EACH8(f, n) f(n##0) f(n##1) f(n##2) f(n##3) f(n##4) f(n##5) f(n##6) f(n##7)
#define EACH(f)                                                                          \
    EACH8(f, 00)                                                                         \
    EACH8(f, 01)                                                                         \
    EACH8(f, 02) EACH8(f, 03) EACH8(f, 04) EACH8(f, 05) EACH8(f, 06) EACH8(f, 07)

/* The numbers are octal. */
#define OP(n)                                                                            \
    static void op_##n(void *in, void *inout, int *count, MPI_Datatype *type)            \
    {                                                                                    \
        call_op(n, in, inout, count, type);                                              \
    }                                                                                    \
    static void op_large_##n(void *in, void *inout, MPI_Count *count,                    \
                             MPI_Datatype *type)                                         \
    {                                                                                    \
        call_op_large(n, in, inout, count, type);                                        \
    }
#define HANDLERS(n)                                                                      \
    static void of_comm_##n(MPI_Comm *comm, int *error, ...)                             \
    {                                                                                    \
        call_handler(WEFT_OF_COMM, n, weft_comm_out(*comm), error);                      \
    }                                                                                    \
    static void of_file_##n(MPI_File *file, int *error, ...)                             \
    {                                                                                    \
        call_handler(WEFT_OF_FILE, n, weft_file_out(*file), error);                      \
    }                                                                                    \
    static void of_session_##n(MPI_Session *session, int *error, ...)                    \
    {                                                                                    \
        call_handler(WEFT_OF_SESSION, n, weft_session_out(*session), error);             \
    }                                                                                    \
    static void of_win_##n(MPI_Win *win, int *error, ...)                                \
    {                                                                                    \
        call_handler(WEFT_OF_WIN, n, weft_win_out(*win), error);                         \
    }

EACH(OP)
EACH(HANDLERS)

#define OF_OP(n)       (weft_procedure *)op_##n,
#define OF_OP_LARGE(n) (weft_procedure *)op_large_##n,
#define OF_COMM(n)     (weft_procedure *)of_comm_##n,
#define OF_FILE(n)     (weft_procedure *)of_file_##n,
#define OF_SESSION(n)  (weft_procedure *)of_session_##n,
#define OF_WIN(n)      (weft_procedure *)of_win_##n,

static weft_procedure *const functions[WEFT_TRAMPOLINE_KINDS][SLOTS] = {
    [WEFT_OF_OP] = {EACH(OF_OP)},           [WEFT_OF_OP_LARGE] = {EACH(OF_OP_LARGE)},
    [WEFT_OF_COMM] = {EACH(OF_COMM)},       [WEFT_OF_FILE] = {EACH(OF_FILE)},
    [WEFT_OF_SESSION] = {EACH(OF_SESSION)}, [WEFT_OF_WIN] = {EACH(OF_WIN)},
};

/* The slot for a procedure, or -1; with the mutex. */
static int choose(const struct slot *of, weft_procedure *fortran)
{
    int best = -1;

    for (int i = 0; i < SLOTS; i++) {
        if (of[i].fortran == fortran) {
            return i;
        }
        if (of[i].fortran == NULL) {
            return i; /* they are taken in order */
        }
        if (of[i].objects == 0 && (best < 0 || of[i].given_back < of[best].given_back)) {
            best = i;
        }
    }
    return best;
}

weft_procedure *weft_trampoline_take(enum weft_trampoline kind, weft_procedure *fortran)
{
    weft_procedure *function = NULL;
    int slot;

    pthread_mutex_lock(&lock);
    slot = choose(slots[kind], fortran);
    if (slot >= 0) {
        slots[kind][slot].fortran = fortran;
        slots[kind][slot].objects++;
        function = functions[kind][slot];
    }
    pthread_mutex_unlock(&lock);
    return function;
}

static void give_back(struct slot *slot)
{
    if (--slot->objects == 0) {
        slot->given_back = ++given_back;
    }
}

void weft_trampoline_tie(enum weft_trampoline kind, weft_procedure *function, int object)
{
    struct tie *tie = malloc(sizeof(*tie)); /* without it the slot stays taken */
    int slot = 0;

    while (functions[kind][slot] != function) {
        slot++;
    }
    pthread_mutex_lock(&lock);
    if (object < 0) {
        give_back(&slots[kind][slot]);
        free(tie);
    } else if (tie != NULL) {
        *tie = (struct tie){.next = ties, .kind = kind, .slot = slot, .object = object};
        ties = tie;
    }
    pthread_mutex_unlock(&lock);
}

static void free_object(int object, bool is_op)
{
    struct tie **link = &ties;
    struct tie *tie = NULL;

    pthread_mutex_lock(&lock);
    for (; *link != NULL; link = &(*link)->next) {
        if ((*link)->object == object && ((*link)->kind <= WEFT_OF_OP_LARGE) == is_op) {
            tie = *link;
            *link = tie->next;
            give_back(&slots[tie->kind][tie->slot]);
            break;
        }
    }
    pthread_mutex_unlock(&lock);
    free(tie);
}

void weft_trampoline_free_op(int op)
{
    free_object(op, true);
}

void weft_trampoline_free_errhandler(int errhandler)
{
    free_object(errhandler, false);
}
