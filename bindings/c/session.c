/*
 * session.c - MPI-5.0 chapter 11.3: sessions and process sets; chapter 9.3: their error
 * handlers.
 */
#include "binding.h"

#include "check/rc.h"
#include "core/info.h"
#include "engine/lock.h"
#include "runtime/session.h"

#include <stdio.h>
#include <string.h>

/* `session` is the one whose handler is told, or NULL. */
static int check_out(const char *function, struct weft_session *session,
                     const void *address, const char *name)
{
    return address != NULL
               ? MPI_SUCCESS
               : weft_raise_session(session, function, WEFT_E_NULL_ARGUMENT, name);
}

/* A handler that fits a session. */
static int check_errhandler(const char *function, struct weft_session *session,
                            MPI_Errhandler handle, struct weft_errhandler **out)
{
    char text[128];

    *out = weft_errhandler_from_handle(handle);
    if (*out == NULL) {
        return weft_raise_session(
            session, function, MPI_ERR_ERRHANDLER, WEFT_T_HANDLE,
            weft_describe_handle(WEFT_KIND_ERRHANDLER, handle, text, sizeof(text)));
    }
    if ((*out)->call.any != NULL && (*out)->family != WEFT_KIND_SESSION) {
        return weft_raise_session(session, function, WEFT_E_HANDLER_OTHER,
                                  weft_kind_name((*out)->family));
    }
    return MPI_SUCCESS;
}

/* The level that `info` asks for, or the highest. With the objects' lock;
 * `info` may be NULL. */
static const char *thread_level(const struct weft_info *info)
{
    static const char *const levels[] = {"MPI_THREAD_SINGLE", "MPI_THREAD_FUNNELED",
                                         "MPI_THREAD_SERIALIZED", "MPI_THREAD_MULTIPLE"};
    const char *wanted = info != NULL ? weft_info_get(info, "thread_level") : NULL;

    for (int i = 0; wanted != NULL && i < 3; i++) {
        if (strcmp(wanted, levels[i]) == 0) {
            return levels[i];
        }
    }
    return levels[3];
}

/* False: `handle` is neither an info object nor MPI_INFO_NULL. */
static bool read_info(MPI_Info handle, const char **level)
{
    const struct weft_info *info;

    weft_object_lock();
    info = handle != MPI_INFO_NULL ? weft_info_from_handle(handle) : NULL;
    *level = thread_level(info);
    weft_object_unlock();
    return info != NULL || handle == MPI_INFO_NULL;
}

static int check_info(const char *function, struct weft_session *session, MPI_Info info)
{
    const char *level;
    char text[128];

    return read_info(info, &level)
               ? MPI_SUCCESS
               : weft_raise_session(
                     session, function, MPI_ERR_INFO, WEFT_T_HANDLE,
                     weft_describe_handle(WEFT_KIND_INFO, info, text, sizeof(text)));
}

int PMPI_Session_init(MPI_Info info, MPI_Errhandler errhandler, MPI_Session *session)
{
    WEFT_RECORD_PLAIN(Session_init);
    static const char function[] = "MPI_Session_init";
    struct weft_errhandler *handler;
    struct weft_session *made;
    const char *level;
    enum weft_rc rc;
    int err = check_errhandler(function, NULL, errhandler, &handler);

    if (err != MPI_SUCCESS) {
        return err;
    }
    if (!read_info(info, &level)) {
        return weft_raise_on(handler, function, WEFT_E_INFO_NONE);
    }
    if (session == NULL) {
        return weft_raise_on(handler, function, WEFT_E_SESSION_NULL_ARGUMENT);
    }
    rc = weft_session_open(handler, &made);
    if (rc != WEFT_OK) {
        return weft_raise_on(handler, function, weft_class_of(rc), WEFT_T_CANNOT_OPEN);
    }
    made->thread_level = level;
    *session = made->handle;
    return MPI_SUCCESS;
}
WEFT_WEAK_ALIAS(MPI_Session_init, PMPI_Session_init);

int PMPI_Session_finalize(MPI_Session *session)
{
    WEFT_RECORD_PLAIN(Session_finalize);
    static const char function[] = "MPI_Session_finalize";
    struct weft_session *s;
    int err = check_out(function, NULL, session, "session");

    if (err == MPI_SUCCESS) {
        err = weft_check_session(function, *session, &s);
    }
    if (err == MPI_SUCCESS) {
        weft_session_close(s);
        *session = MPI_SESSION_NULL;
    }
    return err;
}
WEFT_WEAK_ALIAS(MPI_Session_finalize, PMPI_Session_finalize);

int PMPI_Session_get_num_psets(MPI_Session session, MPI_Info info, int *npset_names)
{
    static const char function[] = "MPI_Session_get_num_psets";
    struct weft_session *s;
    int err = weft_check_session(function, session, &s);

    if (err == MPI_SUCCESS) {
        err = check_info(function, s, info);
    }
    if (err == MPI_SUCCESS) {
        err = check_out(function, s, npset_names, "npset_names");
    }
    if (err == MPI_SUCCESS) {
        *npset_names = weft_pset_count();
    }
    return err;
}
WEFT_WEAK_ALIAS(MPI_Session_get_num_psets, PMPI_Session_get_num_psets);

/* A length of 0 asks for the length alone. */
int PMPI_Session_get_nth_pset(MPI_Session session, MPI_Info info, int n, int *pset_len,
                              char *pset_name)
{
    static const char function[] = "MPI_Session_get_nth_pset";
    struct weft_session *s;
    int err = weft_check_session(function, session, &s);

    if (err == MPI_SUCCESS) {
        err = check_info(function, s, info);
    }
    if (err == MPI_SUCCESS) {
        err = check_out(function, s, pset_len, "pset_len");
    }
    if (err != MPI_SUCCESS) {
        return err;
    }
    if (n < 0 || n >= weft_pset_count()) {
        return weft_raise_session(s, function, WEFT_E_PSET_NUMBER, n, weft_pset_count());
    }
    if (*pset_len < 0 || (*pset_len > 0 && pset_name == NULL)) {
        return weft_raise_session(s, function, WEFT_E_PSET_ROOM, *pset_len,
                                  pset_name == NULL ? "NULL" : "an address");
    }
    if (*pset_len > 0) {
        snprintf(pset_name, (size_t)*pset_len, "%s", weft_pset_name(n));
    }
    *pset_len = (int)strlen(weft_pset_name(n)) + 1;
    return MPI_SUCCESS;
}
WEFT_WEAK_ALIAS(MPI_Session_get_nth_pset, PMPI_Session_get_nth_pset);

/* An info object with one key or two; the second may be NULL. */
static int give_info(const char *function, struct weft_session *session,
                     const char *const pairs[4], MPI_Info *out)
{
    struct weft_info *info;
    enum weft_rc rc;

    weft_object_lock();
    rc = weft_info_create(&info);
    for (int i = 0; rc == WEFT_OK && i < 4 && pairs[i] != NULL; i += 2) {
        rc = weft_info_set(info, pairs[i], pairs[i + 1]);
        if (rc != WEFT_OK) {
            weft_info_free(info);
        }
    }
    if (rc == WEFT_OK) {
        *out = weft_info_handle(info);
    }
    weft_object_unlock();
    return rc == WEFT_OK ? MPI_SUCCESS
                         : weft_raise_session(session, function, WEFT_E_NO_MEM_INFO);
}

int PMPI_Session_get_info(MPI_Session session, MPI_Info *info_used)
{
    static const char function[] = "MPI_Session_get_info";
    struct weft_session *s;
    int err = weft_check_session(function, session, &s);

    if (err == MPI_SUCCESS) {
        err = check_out(function, s, info_used, "info_used");
    }
    if (err == MPI_SUCCESS) {
        const char *const pairs[4] = {"thread_level", s->thread_level,
                                      "mpi_memory_alloc_kinds", "mpi,system"};

        err = give_info(function, s, pairs, info_used);
    }
    return err;
}
WEFT_WEAK_ALIAS(MPI_Session_get_info, PMPI_Session_get_info);

int PMPI_Session_get_pset_info(MPI_Session session, const char *pset_name, MPI_Info *info)
{
    static const char function[] = "MPI_Session_get_pset_info";
    struct weft_session *s;
    char size[16];
    const char *const pairs[4] = {"mpi_size", size, NULL, NULL};
    int which;
    int err = weft_check_session(function, session, &s);

    if (err == MPI_SUCCESS) {
        err = check_out(function, s, pset_name, "pset_name");
    }
    if (err == MPI_SUCCESS) {
        err = check_out(function, s, info, "info");
    }
    if (err != MPI_SUCCESS) {
        return err;
    }
    which = weft_pset_find(pset_name);
    if (which < 0) {
        return weft_raise_session(s, function, WEFT_E_PSET_NAME, pset_name);
    }
    snprintf(size, sizeof(size), "%d", weft_pset_size(which));
    return give_info(function, s, pairs, info);
}
WEFT_WEAK_ALIAS(MPI_Session_get_pset_info, PMPI_Session_get_pset_info);

/* A name that is no set's gives MPI_GROUP_NULL and no error (MPI-5.0, 7.3.2). */
int PMPI_Group_from_session_pset(MPI_Session session, const char *pset_name,
                                 MPI_Group *newgroup)
{
    static const char function[] = "MPI_Group_from_session_pset";
    struct weft_session *s;
    struct weft_group *group;
    enum weft_rc rc;
    int which;
    int err = weft_check_session(function, session, &s);

    if (err == MPI_SUCCESS) {
        err = check_out(function, s, pset_name, "pset_name");
    }
    if (err == MPI_SUCCESS) {
        err = check_out(function, s, newgroup, "newgroup");
    }
    if (err != MPI_SUCCESS) {
        return err;
    }
    which = weft_pset_find(pset_name);
    if (which < 0) {
        *newgroup = MPI_GROUP_NULL;
        return MPI_SUCCESS;
    }
    weft_lock();
    rc = weft_pset_group(s, which, &group);
    if (rc == WEFT_OK) {
        weft_group_hold(group);
        weft_group_release(group);
        *newgroup = group->handle;
    }
    weft_unlock();
    if (rc != WEFT_OK) {
        return weft_raise_session(s, function, weft_class_of(rc), WEFT_T_NO_MEM_ANY);
    }
    return MPI_SUCCESS;
}
WEFT_WEAK_ALIAS(MPI_Group_from_session_pset, PMPI_Group_from_session_pset);

int PMPI_Session_set_errhandler(MPI_Session session, MPI_Errhandler errhandler)
{
    static const char function[] = "MPI_Session_set_errhandler";
    struct weft_session *s;
    struct weft_errhandler *handler;
    int err = weft_check_session(function, session, &s);

    if (err == MPI_SUCCESS) {
        err = check_errhandler(function, s, errhandler, &handler);
    }
    if (err == MPI_SUCCESS) {
        weft_errhandler_replace(&s->errhandler, handler);
    }
    return err;
}
WEFT_WEAK_ALIAS(MPI_Session_set_errhandler, PMPI_Session_set_errhandler);

int PMPI_Session_get_errhandler(MPI_Session session, MPI_Errhandler *errhandler)
{
    static const char function[] = "MPI_Session_get_errhandler";
    struct weft_session *s;
    int err = weft_check_session(function, session, &s);

    if (err == MPI_SUCCESS) {
        err = check_out(function, s, errhandler, "errhandler");
    }
    if (err == MPI_SUCCESS) {
        *errhandler = weft_errhandler_hold(&s->errhandler);
    }
    return err;
}
WEFT_WEAK_ALIAS(MPI_Session_get_errhandler, PMPI_Session_get_errhandler);

int PMPI_Session_call_errhandler(MPI_Session session, int errorcode)
{
    static const char function[] = "MPI_Session_call_errhandler";
    struct weft_session *s;
    int err = weft_check_session(function, session, &s);

    if (err == MPI_SUCCESS) {
        weft_raise_session(s, function, errorcode, WEFT_T_RAISED);
    }
    return err;
}
WEFT_WEAK_ALIAS(MPI_Session_call_errhandler, PMPI_Session_call_errhandler);
