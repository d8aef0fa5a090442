/*
 * errors.c - errors that the Fortran library itself finds.
 *
 * The ABI has no function that raises an error of another call, and MPI_*_call_errhandler
 * takes a number alone. So each pair of call and text has an error code of its own, which
 * belongs to a class of the standard and has the whole sentence as its string:
 *
 *     MPI_Isend: MPI_ERR_COUNT: what is wrong: what helps
 *
 * A code is made when it is first raised, because MPI_LASTUSEDCODE shows it, and is used
 * again from then on. There are at most as many as pairs of a call and a text.
 */
#include "fortran.h"

#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

struct code {
    struct code *next;
    const char *call;
    const char *text;
    int number;
};

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static struct code *codes;

/* The code of this call and text, or NULL. The caller holds the mutex. */
static struct code *code_find(const char *call, const char *text)
{
    struct code *code = codes;

    while (code != NULL &&
           (strcmp(code->call, call) != 0 || strcmp(code->text, text) != 0)) {
        code = code->next;
    }
    return code;
}

static const char *class_name(int class)
{
    switch (class) {
    case MPI_ERR_BUFFER:
        return "MPI_ERR_BUFFER";
    case MPI_ERR_COUNT:
        return "MPI_ERR_COUNT";
    case MPI_ERR_NO_MEM:
        return "MPI_ERR_NO_MEM";
    case MPI_ERR_TYPE:
        return "MPI_ERR_TYPE";
    default:
        return "MPI_ERR_OTHER";
    }
}

/* A new code that is not in the list, or NULL. */
static struct code *code_make(const char *call, int class, const char *text,
                              const char *cure)
{
    struct code *code = malloc(sizeof(*code));
    char sentence[MPI_MAX_ERROR_STRING];

    if (code == NULL) {
        return NULL;
    }
    *code = (struct code){.call = call, .text = text};
    if (PMPI_Add_error_code(class, &code->number) != MPI_SUCCESS) {
        free(code);
        return NULL;
    }
    snprintf(sentence, sizeof(sentence), "%s: %s: %s: %s", call, class_name(class), text,
             cure);
    if (PMPI_Add_error_string(code->number, sentence) != MPI_SUCCESS) {
        PMPI_Remove_error_code(code->number);
        free(code);
        return NULL;
    }
    return code;
}

static void code_free(struct code *code)
{
    PMPI_Remove_error_string(code->number);
    PMPI_Remove_error_code(code->number);
    free(code);
}

/*
 * The code of a call and a text, or the class if there is no memory for one. The mutex is
 * not held during calls of MPI, which may run an error handler of the program. So another
 * thread may have made the same code meanwhile; then that one is used.
 */
static int code_of(const char *call, int class, const char *text, const char *cure)
{
    struct code *code;
    struct code *made;

    pthread_mutex_lock(&lock);
    code = code_find(call, text);
    pthread_mutex_unlock(&lock);
    if (code != NULL) {
        return code->number;
    }
    made = code_make(call, class, text, cure);
    pthread_mutex_lock(&lock);
    code = code_find(call, text);
    if (code == NULL && made != NULL) {
        made->next = codes;
        codes = made;
        code = made;
        made = NULL;
    }
    pthread_mutex_unlock(&lock);
    if (made != NULL) {
        code_free(made);
    }
    return code != NULL ? code->number : class;
}

int weft_refuse(struct weft_call call, int class, const char *text, const char *cure)
{
    const int code = code_of(call.name, class, text, cure);
    const MPI_Comm comm =
        call.kind == WEFT_ON_COMM ? weft_comm_in(call.handle) : MPI_COMM_NULL;
    const MPI_Win win =
        call.kind == WEFT_ON_WIN ? weft_win_in(call.handle) : MPI_WIN_NULL;
    const MPI_Session session =
        call.kind == WEFT_ON_SESSION ? weft_session_in(call.handle) : MPI_SESSION_NULL;

    if (call.kind == WEFT_ON_FILE) { /* MPI_FILE_NULL has an error handler, too */
        PMPI_File_call_errhandler(weft_file_in(call.handle), code);
    } else if (win != MPI_WIN_NULL) {
        PMPI_Win_call_errhandler(win, code);
    } else if (session != MPI_SESSION_NULL) {
        PMPI_Session_call_errhandler(session, code);
    } else {
        PMPI_Comm_call_errhandler(comm != MPI_COMM_NULL ? comm : MPI_COMM_SELF, code);
    }
    return code;
}
