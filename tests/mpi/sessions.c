/*
 * sessions.c - chapter 11.3: sessions before, beside and after the World Model, process
 * sets, error handlers of sessions.
 */
#include "check.h"

static int called;
static int last_class;
static MPI_Session last_session;

static void note_error(MPI_Session *session, int *class, ...)
{
    called++;
    last_class = *class;
    last_session = *session;
}

static void process_sets(MPI_Session session)
{
    int count = 0;
    int worlds = 0;
    int selves = 0;
    int nodes = 0;

    CHECK(MPI_Session_get_num_psets(session, MPI_INFO_NULL, &count) == MPI_SUCCESS);
    CHECK(count >= 2);
    for (int i = 0; i < count; i++) {
        char name[MPI_MAX_PSET_NAME_LEN] = "";
        char start[4] = "";
        int length = 0;
        int full;

        CHECK(MPI_Session_get_nth_pset(session, MPI_INFO_NULL, i, &length, NULL) ==
              MPI_SUCCESS);
        full = length;
        CHECK(full > 1 && full <= MPI_MAX_PSET_NAME_LEN);
        length = MPI_MAX_PSET_NAME_LEN;
        CHECK(MPI_Session_get_nth_pset(session, MPI_INFO_NULL, i, &length, name) ==
              MPI_SUCCESS);
        CHECK(length == full && (int)strlen(name) == full - 1);
        length = sizeof(start);
        CHECK(MPI_Session_get_nth_pset(session, MPI_INFO_NULL, i, &length, start) ==
              MPI_SUCCESS);
        CHECK(length == full && strlen(start) == 3 && strncmp(start, name, 3) == 0);
        worlds += strcmp(name, "mpi://WORLD") == 0;
        selves += strcmp(name, "mpi://SELF") == 0;
        nodes += strcmp(name, "weft://NODE") == 0;
    }
    CHECK(worlds == 1 && selves == 1 && nodes == 1);
}

static void handlers(MPI_Session session)
{
    MPI_Errhandler mine = MPI_ERRHANDLER_NULL;
    MPI_Errhandler before = MPI_ERRHANDLER_NULL;
    MPI_Errhandler now = MPI_ERRHANDLER_NULL;
    MPI_Errhandler kept;

    CHECK(MPI_Session_create_errhandler(note_error, &mine) == MPI_SUCCESS);
    CHECK(MPI_Session_get_errhandler(session, &before) == MPI_SUCCESS);
    CHECK(before == MPI_ERRORS_RETURN);
    CHECK(MPI_Session_set_errhandler(session, mine) == MPI_SUCCESS);
    CHECK(MPI_Session_get_errhandler(session, &now) == MPI_SUCCESS && now == mine);
    kept = mine;
    CHECK(MPI_Errhandler_free(&mine) == MPI_SUCCESS && mine == MPI_ERRHANDLER_NULL);

    called = 0;
    CHECK(MPI_Session_call_errhandler(session, MPI_ERR_OTHER) == MPI_SUCCESS);
    CHECK(called == 1 && last_class == MPI_ERR_OTHER && last_session == session);
    IS_ERROR(MPI_Session_get_num_psets(session, MPI_INFO_NULL, NULL), MPI_ERR_ARG);
    CHECK(called == 2 && last_class == MPI_ERR_ARG);
    IS_ERROR(MPI_Session_set_errhandler(session, MPI_ERRHANDLER_NULL),
             MPI_ERR_ERRHANDLER);
    CHECK(called == 3);
    CHECK(MPI_Errhandler_free(&now) == MPI_SUCCESS);
    IS_ERROR(MPI_Session_set_errhandler(session, kept), MPI_ERR_ERRHANDLER);
    CHECK(MPI_Session_set_errhandler(session, before) == MPI_SUCCESS);
    CHECK(called == 4);
    IS_ERROR(MPI_Session_get_nth_pset(session, MPI_INFO_NULL, 99, &called, NULL),
             MPI_ERR_ARG);
}

/* With MPI_ERRORS_RETURN in force. */
static void wrong_arguments(MPI_Session session)
{
    int length = 4;
    int negative = -1;

    IS_ERROR(MPI_Session_get_nth_pset(session, MPI_INFO_NULL, -1, &length, NULL),
             MPI_ERR_ARG);
    IS_ERROR(MPI_Session_get_nth_pset(session, MPI_INFO_NULL, 0, &length, NULL),
             MPI_ERR_ARG);
    IS_ERROR(MPI_Session_get_nth_pset(session, MPI_INFO_NULL, 0, &negative, NULL),
             MPI_ERR_ARG);
    IS_ERROR(MPI_Session_get_nth_pset(session, MPI_INFO_NULL, 0, NULL, NULL),
             MPI_ERR_ARG);
    IS_ERROR(MPI_Session_get_errhandler(session, NULL), MPI_ERR_ARG);
}

/* Where an error without a session reaches MPI_COMM_SELF's handler. */
static void wrong_sessions(void)
{
    MPI_Session none = MPI_SESSION_NULL;
    MPI_Session session = MPI_SESSION_NULL;
    MPI_Session stale;
    MPI_Errhandler handler = MPI_ERRHANDLER_NULL;
    int count = 0;

    CHECK(MPI_Comm_set_errhandler(MPI_COMM_SELF, MPI_ERRORS_RETURN) == MPI_SUCCESS);
    IS_ERROR(MPI_Session_finalize(&none), MPI_ERR_SESSION);
    IS_ERROR(MPI_Session_finalize(NULL), MPI_ERR_ARG);
    IS_ERROR(MPI_Session_get_num_psets(none, MPI_INFO_NULL, &count), MPI_ERR_SESSION);
    IS_ERROR(MPI_Session_init(MPI_INFO_NULL, MPI_ERRHANDLER_NULL, &session),
             MPI_ERR_ERRHANDLER);
    IS_ERROR(MPI_Session_init(MPI_INFO_NULL, MPI_ERRORS_RETURN, NULL), MPI_ERR_ARG);
    IS_ERROR(MPI_Session_create_errhandler(NULL, &handler), MPI_ERR_ARG);
    CHECK(MPI_Session_init(MPI_INFO_NULL, MPI_ERRORS_RETURN, &session) == MPI_SUCCESS);
    stale = session;
    CHECK(MPI_Session_finalize(&session) == MPI_SUCCESS && session == MPI_SESSION_NULL);
    IS_ERROR(MPI_Session_get_num_psets(stale, MPI_INFO_NULL, &count), MPI_ERR_SESSION);
    IS_ERROR(MPI_Session_finalize(&stale), MPI_ERR_SESSION);
}

static void one_session(void)
{
    MPI_Session session = MPI_SESSION_NULL;
    char name[MPI_MAX_PROCESSOR_NAME];
    int length = 0;

    CHECK(MPI_Session_init(MPI_INFO_NULL, MPI_ERRORS_RETURN, &session) == MPI_SUCCESS);
    CHECK(session != MPI_SESSION_NULL);
    CHECK(MPI_Session_fromint(MPI_Session_toint(session)) == session);
    CHECK(MPI_Get_processor_name(name, &length) == MPI_SUCCESS && length > 0);
    process_sets(session);
    handlers(session);
    wrong_arguments(session);
    CHECK(MPI_Session_finalize(&session) == MPI_SUCCESS);
    CHECK(session == MPI_SESSION_NULL);
}

int main(int argc, char **argv)
{
    MPI_Session across = MPI_SESSION_NULL;
    int flag = -1;

    one_session();
    one_session(); /* again, after the library was closed */
    CHECK(MPI_Initialized(&flag) == MPI_SUCCESS && flag == 0);
    CHECK(MPI_Session_init(MPI_INFO_NULL, MPI_ERRORS_RETURN, &across) == MPI_SUCCESS);

    CHECK(MPI_Init(&argc, &argv) == MPI_SUCCESS);
    one_session();
    process_sets(across);
    wrong_sessions();
    CHECK(MPI_Barrier(MPI_COMM_WORLD) == MPI_SUCCESS);
    CHECK(MPI_Finalize() == MPI_SUCCESS);

    process_sets(across);
    handlers(across);
    CHECK(MPI_Session_finalize(&across) == MPI_SUCCESS);
    one_session();
    CHECK(MPI_Finalized(&flag) == MPI_SUCCESS && flag == 1);
    return 0;
}
