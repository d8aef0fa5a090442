/*
 * threads_any.c - chapters 11.4.1 and 11.6: functions that any thread may call at any
 * time, whatever level of thread support the program has asked for, called by several
 * threads before MPI_Init, while the main thread communicates, and after MPI_Finalize.
 *
 *   threads_any [single | funneled | serialized]
 *
 * A while after MPI_Init they begin to call MPI_T, then to open and close sessions as
 * well: each may change how the library takes its lock.
 */
#include "bytes.h"
#include "check.h"

#include <pthread.h>
#include <sched.h>
#include <stdatomic.h>
#include <unistd.h>

enum { THREADS = 2, ROUNDS = 2000, PAUSE_US = 50, LONG = 65536, SHORT = 64 };

enum phase { BEFORE, OPEN, WITH_TOOLS, WITH_SESSIONS, CLOSING, AFTER, OVER };

static _Atomic int phase;
static _Atomic int turns[THREADS]; /* of each thread in this phase */
static int rank;
static int partner;

/* ---- what the threads call ---- */

static void use_infos(int number)
{
    char key[MPI_MAX_INFO_KEY];
    char value[32];
    char expected[32];
    MPI_Info info;
    MPI_Info copy;
    int length = sizeof(value);
    int flag;
    int keys;

    snprintf(expected, sizeof(expected), "%d", number);
    CHECK(MPI_Info_create(&info) == MPI_SUCCESS);
    CHECK(MPI_Info_set(info, "thread", expected) == MPI_SUCCESS);
    CHECK(MPI_Info_set(info, "other", "x") == MPI_SUCCESS);
    CHECK(MPI_Info_dup(info, &copy) == MPI_SUCCESS);
    CHECK(MPI_Info_delete(copy, "other") == MPI_SUCCESS);
    CHECK(MPI_Info_get_nkeys(copy, &keys) == MPI_SUCCESS && keys == 1);
    CHECK(MPI_Info_get_nthkey(copy, 0, key) == MPI_SUCCESS);
    CHECK(strcmp(key, "thread") == 0);
    CHECK(MPI_Info_get_string(copy, "thread", &length, value, &flag) == MPI_SUCCESS);
    CHECK(flag && strcmp(value, expected) == 0);
    CHECK(MPI_Info_fromint(MPI_Info_toint(info)) == info);
    CHECK(MPI_Info_free(&info) == MPI_SUCCESS);
    CHECK(MPI_Info_free(&copy) == MPI_SUCCESS);
    CHECK(MPI_Info_create_env(0, NULL, &info) == MPI_SUCCESS);
    CHECK(MPI_Info_free(&info) == MPI_SUCCESS);
}

static void ignore_comm(MPI_Comm *comm, int *code, ...)
{
    (void)comm;
    (void)code;
}

static void ignore_session(MPI_Session *session, int *code, ...)
{
    (void)session;
    (void)code;
}

static void use_handlers(void)
{
    MPI_Errhandler handler;

    CHECK(MPI_Comm_create_errhandler(ignore_comm, &handler) == MPI_SUCCESS);
    CHECK(MPI_Errhandler_fromint(MPI_Errhandler_toint(handler)) == handler);
    CHECK(MPI_Errhandler_free(&handler) == MPI_SUCCESS);
    CHECK(MPI_Session_create_errhandler(ignore_session, &handler) == MPI_SUCCESS);
    CHECK(MPI_Errhandler_free(&handler) == MPI_SUCCESS);
}

static void use_codes(int number)
{
    char text[MPI_MAX_ERROR_STRING];
    char expected[32];
    int class;
    int code;
    int found;
    int length;

    snprintf(expected, sizeof(expected), "of thread %d", number);
    CHECK(MPI_Add_error_class(&class) == MPI_SUCCESS);
    CHECK(MPI_Add_error_code(class, &code) == MPI_SUCCESS);
    CHECK(MPI_Add_error_string(code, expected) == MPI_SUCCESS);
    CHECK(MPI_Error_class(code, &found) == MPI_SUCCESS && found == class);
    CHECK(MPI_Error_string(code, text, &length) == MPI_SUCCESS);
    CHECK(strcmp(text, expected) == 0);
    CHECK(MPI_Remove_error_string(code) == MPI_SUCCESS);
    CHECK(MPI_Remove_error_code(code) == MPI_SUCCESS);
    CHECK(MPI_Remove_error_class(class) == MPI_SUCCESS);
    CHECK(MPI_Error_string(MPI_ERR_PROC_ABORTED, text, &length) == MPI_SUCCESS);
}

static void ask(void)
{
    char text[MPI_MAX_LIBRARY_VERSION_STRING];
    int major;
    int minor;
    int flag;

    CHECK(MPI_Initialized(&flag) == MPI_SUCCESS);
    CHECK(MPI_Finalized(&flag) == MPI_SUCCESS);
    CHECK(MPI_Get_version(&major, &minor) == MPI_SUCCESS);
    CHECK(MPI_Get_library_version(text, &major) == MPI_SUCCESS);
    CHECK(MPI_Abi_get_version(&major, &minor) == MPI_SUCCESS);
}

static void ask_world(void)
{
    int level;
    int flag;

    CHECK(MPI_Query_thread(&level) == MPI_SUCCESS);
    CHECK(level < MPI_THREAD_MULTIPLE);
    CHECK(MPI_Is_thread_main(&flag) == MPI_SUCCESS);
    CHECK(!flag);
}

static void use_tool(void)
{
    int level;
    int variables;

    CHECK(MPI_T_init_thread(MPI_THREAD_MULTIPLE, &level) == MPI_SUCCESS);
    CHECK(level == MPI_THREAD_MULTIPLE);
    CHECK(MPI_T_cvar_get_num(&variables) == MPI_SUCCESS && variables > 0);
    CHECK(MPI_T_finalize() == MPI_SUCCESS);
}

static void use_session(void)
{
    MPI_Session session;
    MPI_Group group;
    int size;

    CHECK(MPI_Session_init(MPI_INFO_NULL, MPI_ERRORS_RETURN, &session) == MPI_SUCCESS);
    CHECK(MPI_Group_from_session_pset(session, "mpi://SELF", &group) == MPI_SUCCESS);
    CHECK(MPI_Group_size(group, &size) == MPI_SUCCESS && size == 1);
    CHECK(MPI_Group_free(&group) == MPI_SUCCESS);
    CHECK(MPI_Session_finalize(&session) == MPI_SUCCESS);
}

static void *call_all(void *arg)
{
    const int number = (int)(intptr_t)arg;
    int now;

    while ((now = atomic_load(&phase)) != OVER) {
        use_infos(number);
        use_handlers();
        use_codes(number);
        ask();
        if (now == OPEN || now == WITH_TOOLS) {
            ask_world();
        }
        if (now >= WITH_TOOLS) {
            use_tool();
        }
        if (now == WITH_SESSIONS || now == AFTER) {
            use_session();
        }
        atomic_fetch_add(&turns[number], 1);
        usleep(PAUSE_US);
    }
    return NULL;
}

/* ---- the main thread ---- */

/* Goes on when each thread has begun and ended a turn in this phase. */
static void enter(enum phase next)
{
    int before[THREADS];

    atomic_store(&phase, next);
    for (int i = 0; i < THREADS; i++) {
        before[i] = atomic_load(&turns[i]);
    }
    for (int i = 0; i < THREADS; i++) {
        while (atomic_load(&turns[i]) < before[i] + 2) {
            sched_yield();
        }
    }
}

static void communicate(void)
{
    static char in[LONG];
    static char out[LONG];

    for (int i = 0; i < ROUNDS; i++) {
        const int n = i % 7 == 0 ? LONG : SHORT;
        MPI_Request requests[2];

        fill_bytes(out, SHORT, (uint32_t)(rank + i));
        CHECK(MPI_Irecv(in, LONG, MPI_BYTE, partner, 1, MPI_COMM_WORLD, &requests[0]) ==
              MPI_SUCCESS);
        CHECK(MPI_Isend(out, n, MPI_BYTE, partner, 1, MPI_COMM_WORLD, &requests[1]) ==
              MPI_SUCCESS);
        for (volatile int k = 0; k < 500; k++) {
        }
        CHECK(MPI_Waitall(2, requests, MPI_STATUSES_IGNORE) == MPI_SUCCESS);
        CHECK(are_bytes(in, SHORT, (uint32_t)(partner + i)));
    }
}

static int level_of(const char *word)
{
    return strcmp(word, "single") == 0     ? MPI_THREAD_SINGLE
           : strcmp(word, "funneled") == 0 ? MPI_THREAD_FUNNELED
                                           : MPI_THREAD_SERIALIZED;
}

int main(int argc, char **argv)
{
    const int level = argc > 1 ? level_of(argv[1]) : MPI_THREAD_FUNNELED;
    pthread_t threads[THREADS];
    int size;
    int provided;

    for (int i = 0; i < THREADS; i++) {
        CHECK(pthread_create(&threads[i], NULL, call_all, (void *)(intptr_t)i) == 0);
    }
    enter(BEFORE);
    CHECK(MPI_Init_thread(&argc, &argv, level, &provided) == MPI_SUCCESS);
    CHECK(provided == level);
    CHECK(MPI_Comm_rank(MPI_COMM_WORLD, &rank) == MPI_SUCCESS);
    CHECK(MPI_Comm_size(MPI_COMM_WORLD, &size) == MPI_SUCCESS);
    partner = (rank ^ 1) < size ? rank ^ 1 : rank;
    enter(OPEN);
    communicate();
    enter(WITH_TOOLS);
    communicate();
    enter(WITH_SESSIONS);
    communicate();
    enter(CLOSING);
    CHECK(MPI_Finalize() == MPI_SUCCESS);
    enter(AFTER);
    atomic_store(&phase, OVER);
    for (int i = 0; i < THREADS; i++) {
        CHECK(pthread_join(threads[i], NULL) == 0);
    }
    return 0;
}
