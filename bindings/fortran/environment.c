/*
 * environment.c - initialisation, info values, spawning, and the other procedures whose
 * arguments differ from those of C.
 */
#include "fortran.h"

#include <stdlib.h>

PROCEDURE(init, int *ierror)
{
    int err = CALL(Init)(NULL, NULL);

    if (err == MPI_SUCCESS) {
        weft_fortran_register();
    }
    weft_end(ierror, err);
}
ALSO(init_f08, init);

PROCEDURE(init_thread, const int *required, int *provided, int *ierror)
{
    int err = CALL(Init_thread)(NULL, NULL, *required, provided);

    if (err == MPI_SUCCESS) {
        weft_fortran_register();
    }
    weft_end(ierror, err);
}
ALSO(init_thread_f08, init_thread);

PROCEDURE(pcontrol, const int *level)
{
    CALL(Pcontrol)(*level);
}
ALSO(pcontrol_f08, pcontrol);

#define FUNCTION(type, name, ...)                                                        \
    WEFT_EXPORT type NAME(name)(__VA_ARGS__);                                            \
    type NAME(name)(__VA_ARGS__)

FUNCTION(double, wtime, void)
{
    return CALL(Wtime)();
}
ALSO(wtime_f08, wtime);

FUNCTION(double, wtick, void)
{
    return CALL(Wtick)();
}
ALSO(wtick_f08, wtick);

FUNCTION(MPI_Aint, aint_add, const MPI_Aint *base, const MPI_Aint *disp)
{
    return CALL(Aint_add)(*base, *disp);
}
ALSO(aint_add_f08, aint_add);

FUNCTION(MPI_Aint, aint_diff, const MPI_Aint *addr1, const MPI_Aint *addr2)
{
    return CALL(Aint_diff)(*addr1, *addr2);
}
ALSO(aint_diff_f08, aint_diff);

/* The compiler has to believe that the buffer is read and written here. */
PROCEDURE(f_sync_reg, void *buf)
{
    (void)buf;
}

PROCEDURE(f_sync_reg_f08ts, const CFI_cdesc_t *buf)
{
    (void)buf;
}

/* Copies statuses between the two forms of Fortran, which have one layout. */
PROCEDURE(status_f2f08, const int *f_status, int *f08_status, int *ierror)
{
    for (int i = 0; i < 8; i++) {
        f08_status[i] = f_status[i];
    }
    weft_end(ierror, MPI_SUCCESS);
}
ALSO(status_f2f08_f08, status_f2f08);
ALSO(status_f082f, status_f2f08);
ALSO(status_f082f_f08, status_f2f08);

PROCEDURE(info_create_env, int *info, int *ierror)
{
    MPI_Info made = MPI_INFO_NULL;
    int err = CALL(Info_create_env)(0, NULL, &made);

    *info = weft_info_out(made);
    weft_end(ierror, err);
}
ALSO(info_create_env_f08, info_create_env);

PROCEDURE(info_get, const int *info, const char *key, const int *valuelen, char *value,
          int *flag, int *ierror, size_t key_length, size_t value_length)
{
    char *word = weft_word_in(key, key_length);
    char *text = malloc((*valuelen > 0 ? (size_t)*valuelen : 0) + 1);
    int is_set = 0;
    int err = weft_need(WEFT_CALL("MPI_Info_get"), word != NULL ? text : NULL);

    if (err == MPI_SUCCESS) {
        err = CALL(Info_get)(weft_info_in(*info), word, *valuelen, text, &is_set);
        if (err == MPI_SUCCESS && is_set) {
            weft_string_out(value, value_length, text);
        }
    }
    free(text);
    free(word);
    *flag = weft_logical_out(is_set);
    weft_end(ierror, err);
}
ALSO(info_get_f08, info_get);

/* In Fortran `buflen` counts no NUL, neither before nor after the call. */
PROCEDURE(info_get_string, const int *info, const char *key, int *buflen, char *value,
          int *flag, int *ierror, size_t key_length, size_t value_length)
{
    char *word = weft_word_in(key, key_length);
    int length = *buflen > 0 ? *buflen + 1 : 0;
    char *text = malloc((size_t)length + 1);
    int is_set = 0;
    int err = weft_need(WEFT_CALL("MPI_Info_get_string"), word != NULL ? text : NULL);

    if (err == MPI_SUCCESS) {
        err = CALL(Info_get_string)(weft_info_in(*info), word, &length, text, &is_set);
        if (err == MPI_SUCCESS && is_set) {
            if (*buflen > 0) {
                weft_string_out(value, value_length, text);
            }
            *buflen = length - 1;
        }
    }
    free(text);
    free(word);
    *flag = weft_logical_out(is_set);
    weft_end(ierror, err);
}
ALSO(info_get_string_f08, info_get_string);

PROCEDURE(session_get_nth_pset, const int *session, const int *info, const int *n,
          int *pset_len, char *pset_name, int *ierror, size_t name_length)
{
    const struct weft_call call = {"MPI_Session_get_nth_pset", WEFT_ON_SESSION, *session};
    int length = *pset_len > 0 ? *pset_len + 1 : 0;
    char *text = malloc((size_t)length + 1);
    int err = weft_need(call, text);

    if (err == MPI_SUCCESS) {
        text[0] = '\0';
        err = CALL(Session_get_nth_pset)(weft_session_in(*session), weft_info_in(*info),
                                         *n, &length, text);
        if (err == MPI_SUCCESS) {
            if (*pset_len > 0) {
                weft_string_out(pset_name, name_length, text);
            }
            *pset_len = length - 1;
        }
    }
    free(text);
    weft_end(ierror, err);
}
ALSO(session_get_nth_pset_f08, session_get_nth_pset);

/* mpif.h and `use mpi` have no way to return an address in a choice argument. */
PROCEDURE(buffer_detach, void *buffer, int *size, int *ierror)
{
    void *address;

    (void)buffer;
    weft_end(ierror, CALL(Buffer_detach)(&address, size));
}

PROCEDURE(buffer_detach_f08, void **buffer, int *size, int *ierror)
{
    weft_end(ierror, CALL(Buffer_detach)(buffer, size));
}

PROCEDURE(buffer_detach_c_f08, void **buffer, MPI_Count *size, int *ierror)
{
    weft_end(ierror, CALL(Buffer_detach_c)(buffer, size));
}

PROCEDURE(comm_detach_buffer, const int *comm, void *buffer, int *size, int *ierror)
{
    void *address;

    (void)buffer;
    weft_end(ierror, CALL(Comm_detach_buffer)(weft_comm_in(*comm), &address, size));
}

PROCEDURE(comm_detach_buffer_f08, const int *comm, void **buffer, int *size, int *ierror)
{
    weft_end(ierror, CALL(Comm_detach_buffer)(weft_comm_in(*comm), buffer, size));
}

PROCEDURE(comm_detach_buffer_c_f08, const int *comm, void **buffer, MPI_Count *size,
          int *ierror)
{
    weft_end(ierror, CALL(Comm_detach_buffer_c)(weft_comm_in(*comm), buffer, size));
}

PROCEDURE(session_detach_buffer, const int *session, void *buffer, int *size, int *ierror)
{
    void *address;

    (void)buffer;
    weft_end(ierror,
             CALL(Session_detach_buffer)(weft_session_in(*session), &address, size));
}

PROCEDURE(session_detach_buffer_f08, const int *session, void **buffer, int *size,
          int *ierror)
{
    weft_end(ierror,
             CALL(Session_detach_buffer)(weft_session_in(*session), buffer, size));
}

PROCEDURE(session_detach_buffer_c_f08, const int *session, void **buffer, MPI_Count *size,
          int *ierror)
{
    weft_end(ierror,
             CALL(Session_detach_buffer_c)(weft_session_in(*session), buffer, size));
}

/* Turns the first `count` handles into INTEGERs. */
static void datatypes_out(int *handles, const MPI_Datatype *types, MPI_Count count)
{
    for (MPI_Count i = 0; i < count; i++) {
        handles[i] = weft_datatype_out(types[i]);
    }
}

PROCEDURE(type_get_contents, const int *datatype, const int *max_integers,
          const int *max_addresses, const int *max_datatypes, int *integers,
          MPI_Aint *addresses, int *datatypes, int *ierror)
{
    MPI_Datatype type = weft_datatype_in(*datatype);
    MPI_Datatype *types =
        calloc(*max_datatypes > 0 ? (size_t)*max_datatypes : 1, sizeof(*types));
    int count[3] = {0};
    int combiner;
    int err = weft_need(WEFT_CALL("MPI_Type_get_contents"), types);

    if (err == MPI_SUCCESS) {
        err = CALL(Type_get_contents)(type, *max_integers, *max_addresses, *max_datatypes,
                                      integers, addresses, types);
    }
    if (err == MPI_SUCCESS) {
        PMPI_Type_get_envelope(type, &count[0], &count[1], &count[2], &combiner);
        datatypes_out(datatypes, types, count[2]);
    }
    free(types);
    weft_end(ierror, err);
}
ALSO(type_get_contents_f08, type_get_contents);

PROCEDURE(type_get_contents_c_f08, const int *datatype, const MPI_Count *max_integers,
          const MPI_Count *max_addresses, const MPI_Count *max_large_counts,
          const MPI_Count *max_datatypes, int *integers, MPI_Aint *addresses,
          MPI_Count *large_counts, int *datatypes, int *ierror)
{
    MPI_Datatype type = weft_datatype_in(*datatype);
    MPI_Datatype *types =
        calloc(*max_datatypes > 0 ? (size_t)*max_datatypes : 1, sizeof(*types));
    MPI_Count count[4] = {0};
    int combiner;
    int err = weft_need(WEFT_CALL("MPI_Type_get_contents_c"), types);

    if (err == MPI_SUCCESS) {
        err = CALL(Type_get_contents_c)(type, *max_integers, *max_addresses,
                                        *max_large_counts, *max_datatypes, integers,
                                        addresses, large_counts, types);
    }
    if (err == MPI_SUCCESS) {
        PMPI_Type_get_envelope_c(type, &count[0], &count[1], &count[2], &count[3],
                                 &combiner);
        datatypes_out(datatypes, types, count[3]);
    }
    free(types);
    weft_end(ierror, err);
}

static void free_texts(char **texts)
{
    for (int i = 0; texts != NULL && texts[i] != NULL; i++) {
        free(texts[i]);
    }
    free(texts);
}

/* A list of texts that ends with a blank one, or after `limit`; each `step` bytes behind
 * the one before. NULL: there is no memory. */
static char **texts_in(const char *text, size_t length, size_t step, int limit)
{
    char **texts = NULL;
    int count = 0;

    for (;;) {
        char **grown = realloc(texts, ((size_t)count + 1) * sizeof(*texts));

        if (grown == NULL) {
            free_texts(texts);
            return NULL;
        }
        texts = grown;
        texts[count] = NULL;
        if (count == limit) {
            return texts;
        }
        texts[count] = weft_string_in(text + (size_t)count * step, length);
        if (texts[count] == NULL) {
            free_texts(texts);
            return NULL;
        }
        if (limit < 0 && texts[count][0] == '\0') {
            free(texts[count]);
            texts[count] = NULL;
            return texts;
        }
        count++;
    }
}

PROCEDURE(comm_spawn, const char *command, const char *argv, const int *maxprocs,
          const int *info, const int *root, const int *comm, int *intercomm,
          int *errcodes, int *ierror, size_t command_length, size_t argv_length)
{
    const struct weft_call call = {"MPI_Comm_spawn", WEFT_ON_COMM, *comm};
    const bool has_arguments = !weft_is_argv_null(argv);
    char *name = weft_string_in(command, command_length);
    char **arguments =
        has_arguments ? texts_in(argv, argv_length, argv_length, -1) : NULL;
    MPI_Comm made = MPI_COMM_NULL;
    int err = weft_need(call, has_arguments && arguments == NULL ? NULL : name);

    if (err == MPI_SUCCESS) {
        err = CALL(Comm_spawn)(name, arguments, *maxprocs, weft_info_in(*info), *root,
                               weft_comm_in(*comm), &made, weft_errcodes(errcodes));
    }
    *intercomm = weft_comm_out(made);
    free_texts(arguments);
    free(name);
    weft_end(ierror, err);
}
ALSO(comm_spawn_f08, comm_spawn);

struct commands {
    int count;
    char **names;
    char ***argvs; /* NULL: none has arguments */
    MPI_Info *infos;
};

/* False: there is no memory. */
static bool commands_in(struct commands *c, const char *commands, size_t command_length,
                        const char *argvs, size_t argv_length, const int *infos)
{
    const size_t count = (size_t)c->count;
    const bool has_arguments = !weft_is_argvs_null(argvs);

    c->names = texts_in(commands, command_length, command_length, c->count);
    c->infos = calloc(count + 1, sizeof(*c->infos));
    c->argvs = has_arguments ? calloc(count + 1, sizeof(*c->argvs)) : NULL;
    if (c->infos == NULL || c->names == NULL || (has_arguments && c->argvs == NULL)) {
        return false;
    }
    for (size_t i = 0; i < count; i++) {
        c->infos[i] = weft_info_in(infos[i]);
        if (has_arguments) { /* (count, *), so the words of one are `count` apart */
            c->argvs[i] =
                texts_in(argvs + i * argv_length, argv_length, count * argv_length, -1);
            if (c->argvs[i] == NULL) {
                return false;
            }
        }
    }
    return true;
}

static void commands_free(struct commands *c)
{
    for (int i = 0; c->argvs != NULL && i < c->count; i++) {
        free_texts(c->argvs[i]);
    }
    free(c->argvs);
    free(c->infos);
    free_texts(c->names);
}

PROCEDURE(comm_spawn_multiple, const int *count, const char *commands, const char *argvs,
          const int *maxprocs, const int *infos, const int *root, const int *comm,
          int *intercomm, int *errcodes, int *ierror, size_t command_length,
          size_t argv_length)
{
    const struct weft_call call = {"MPI_Comm_spawn_multiple", WEFT_ON_COMM, *comm};
    struct commands c = {.count = 0};
    MPI_Comm made = MPI_COMM_NULL;
    int err;
    int rank = -1;

    PMPI_Comm_rank(weft_comm_in(*comm), &rank);
    c.count = rank == *root && *count > 0 ? *count : 0; /* significant there alone */
    if (commands_in(&c, commands, command_length, argvs, argv_length, infos)) {
        err = CALL(Comm_spawn_multiple)(*count, c.names, c.argvs, maxprocs, c.infos,
                                        *root, weft_comm_in(*comm), &made,
                                        weft_errcodes(errcodes));
    } else {
        err = weft_refuse(call, WEFT_F_NO_MEM_ARGUMENT);
    }
    *intercomm = weft_comm_out(made);
    commands_free(&c);
    weft_end(ierror, err);
}
ALSO(comm_spawn_multiple_f08, comm_spawn_multiple);
