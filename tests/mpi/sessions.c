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

/* A communicator from a process set, and a message around it. */
static int ring_in(MPI_Session session, const char *set, const char *tag)
{
    MPI_Group group = MPI_GROUP_NULL;
    MPI_Comm comm = MPI_COMM_NULL;
    int rank = -1;
    int size = -1;
    int group_size = -1;
    int got = -1;

    CHECK(MPI_Group_from_session_pset(session, set, &group) == MPI_SUCCESS);
    CHECK(group != MPI_GROUP_NULL);
    CHECK(MPI_Group_size(group, &group_size) == MPI_SUCCESS);
    CHECK(MPI_Comm_create_from_group(group, tag, MPI_INFO_NULL, MPI_ERRORS_RETURN,
                                     &comm) == MPI_SUCCESS);
    CHECK(MPI_Group_free(&group) == MPI_SUCCESS);
    CHECK(MPI_Comm_rank(comm, &rank) == MPI_SUCCESS);
    CHECK(MPI_Comm_size(comm, &size) == MPI_SUCCESS && size == group_size);
    CHECK(MPI_Sendrecv(&rank, 1, MPI_INT, (rank + 1) % size, 3, &got, 1, MPI_INT,
                       (rank + size - 1) % size, 3, comm,
                       MPI_STATUS_IGNORE) == MPI_SUCCESS);
    CHECK(got == (rank + size - 1) % size);
    CHECK(MPI_Allreduce(MPI_IN_PLACE, &got, 1, MPI_INT, MPI_SUM, comm) == MPI_SUCCESS);
    CHECK(got == size * (size - 1) / 2);
    /* An error on it reaches its own handler, whatever became of the world. */
    IS_ERROR(MPI_Send(&got, 1, MPI_INT, size, 3, comm), MPI_ERR_RANK);
    CHECK(MPI_Comm_free(&comm) == MPI_SUCCESS);
    return size;
}

static int number_in(MPI_Info info, const char *key)
{
    char value[64] = "";
    int length = sizeof(value);
    int is_there = 0;

    CHECK(MPI_Info_get_string(info, key, &length, value, &is_there) == MPI_SUCCESS);
    CHECK(is_there);
    return atoi(value);
}

static void what_infos_tell(MPI_Session session, const char *level)
{
    MPI_Info info = MPI_INFO_NULL;
    MPI_Group group = MPI_GROUP_NULL;
    char value[64] = "";
    int length = sizeof(value);
    int is_there = 0;
    int size = -1;

    CHECK(MPI_Session_get_info(session, &info) == MPI_SUCCESS);
    CHECK(MPI_Info_get_string(info, "thread_level", &length, value, &is_there) ==
          MPI_SUCCESS);
    CHECK(is_there && strcmp(value, level) == 0);
    length = sizeof(value);
    CHECK(MPI_Info_get_string(info, "mpi_memory_alloc_kinds", &length, value,
                              &is_there) == MPI_SUCCESS);
    CHECK(is_there && strstr(value, "system") != NULL);
    CHECK(MPI_Info_free(&info) == MPI_SUCCESS);
    CHECK(MPI_Session_get_pset_info(session, "mpi://SELF", &info) == MPI_SUCCESS);
    CHECK(number_in(info, "mpi_size") == 1);
    CHECK(MPI_Info_free(&info) == MPI_SUCCESS);
    CHECK(MPI_Session_get_pset_info(session, "mpi://WORLD", &info) == MPI_SUCCESS);
    CHECK(MPI_Group_from_session_pset(session, "mpi://WORLD", &group) == MPI_SUCCESS);
    CHECK(MPI_Group_size(group, &size) == MPI_SUCCESS);
    CHECK(number_in(info, "mpi_size") == size);
    CHECK(MPI_Group_free(&group) == MPI_SUCCESS);
    CHECK(MPI_Info_free(&info) == MPI_SUCCESS);
    IS_ERROR(MPI_Session_get_pset_info(session, "mpi://NOBODY", &info), MPI_ERR_ARG);
    IS_ERROR(MPI_Session_get_pset_info(session, "mpi://SELF", NULL), MPI_ERR_ARG);
    IS_ERROR(MPI_Session_get_info(session, NULL), MPI_ERR_ARG);
    IS_ERROR(MPI_Session_get_num_psets(session, (MPI_Info)MPI_COMM_SELF, &size),
             MPI_ERR_INFO);
}

static void a_level_that_was_asked_for(void)
{
    MPI_Session session = MPI_SESSION_NULL;
    MPI_Info info = MPI_INFO_NULL;

    CHECK(MPI_Info_create(&info) == MPI_SUCCESS);
    CHECK(MPI_Info_set(info, "thread_level", "MPI_THREAD_FUNNELED") == MPI_SUCCESS);
    CHECK(MPI_Session_init(info, MPI_ERRORS_RETURN, &session) == MPI_SUCCESS);
    CHECK(MPI_Info_free(&info) == MPI_SUCCESS);
    what_infos_tell(session, "MPI_THREAD_FUNNELED");
    CHECK(MPI_Session_finalize(&session) == MPI_SUCCESS);
    IS_ERROR(MPI_Session_init((MPI_Info)MPI_COMM_SELF, MPI_ERRORS_RETURN, &session),
             MPI_ERR_INFO);
}

static void groups_and_communicators(MPI_Session session)
{
    MPI_Group group = MPI_GROUP_EMPTY;
    int world = ring_in(session, "mpi://WORLD", "org.weft.world");

    CHECK(ring_in(session, "mpi://SELF", "org.weft.self") == 1);
    CHECK(ring_in(session, "weft://NODE", "org.weft.node") <= world);
    CHECK(ring_in(session, "mpi://world", "org.weft.world") == world);
    CHECK(MPI_Group_from_session_pset(session, "mpi://NOBODY", &group) == MPI_SUCCESS);
    CHECK(group == MPI_GROUP_NULL);
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
    MPI_Group group = MPI_GROUP_NULL;
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
    IS_ERROR(MPI_Group_from_session_pset(session, NULL, &group), MPI_ERR_ARG);
    IS_ERROR(MPI_Group_from_session_pset(session, "mpi://SELF", NULL), MPI_ERR_ARG);
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
    what_infos_tell(session, "MPI_THREAD_MULTIPLE");
    a_level_that_was_asked_for();
    groups_and_communicators(session);
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
    groups_and_communicators(across);
    wrong_sessions();
    CHECK(MPI_Barrier(MPI_COMM_WORLD) == MPI_SUCCESS);
    CHECK(MPI_Finalize() == MPI_SUCCESS);

    process_sets(across);
    groups_and_communicators(across);
    handlers(across);
    CHECK(MPI_Session_finalize(&across) == MPI_SUCCESS);
    one_session();
    CHECK(MPI_Finalized(&flag) == MPI_SUCCESS && flag == 1);
    return 0;
}
