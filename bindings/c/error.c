/*
 * error.c - MPI-5.0 chapters 9.4 and 9.5: error classes, codes and strings, those of the
 * standard and those that the program adds. All may be called at any time.
 */
#include "binding.h"

#include "check/rc.h"
#include "core/error.h"
#include "core/user_error.h"
#include "engine/lock.h"

#include <stdio.h>
#include <string.h>

/* Appends the names of failed processes, as far as this process knows them. */
static void name_failed(char *text, size_t size)
{
    const size_t used = strlen(text);
    char dead[WEFT_FAILED_TEXT];

    if (weft_runtime_is_open() &&
        weft_describe_failed(NULL, dead, sizeof(dead))[0] != 0) {
        snprintf(text + used, size - used, ": %s", dead);
    }
}

/* What a code means: its class and its text. False: it is none. */
static bool look_up(int code, int *class, char *text, size_t size)
{
    const struct weft_error_row *row = weft_error_row(code);
    const char *own;
    bool is_known = true;

    if (row != NULL) {
        *class = code;
        snprintf(text, size, "%s: %s", row->name, row->meaning);
        if (code == MPI_ERR_PROC_ABORTED) {
            name_failed(text, size);
        }
        return true;
    }
    weft_object_lock();
    is_known = weft_user_error_find(code, class, &own);
    if (is_known) {
        snprintf(text, size, "%s", own);
    }
    weft_object_unlock();
    return is_known;
}

int PMPI_Error_class(int errorcode, int *errorclass)
{
    char text[MPI_MAX_ERROR_STRING];
    int err = weft_check_out("MPI_Error_class", NULL, errorclass, "errorclass");

    if (err == MPI_SUCCESS && !look_up(errorcode, errorclass, text, sizeof(text))) {
        err = weft_raise("MPI_Error_class", WEFT_E_CODE, errorcode);
    }
    return err;
}
WEFT_WEAK_ALIAS(MPI_Error_class, PMPI_Error_class);

/*
 * For a class of the standard it gives the sentence of this thread's last error of that
 * class, and else its meaning. For failed processes the text names all that are known.
 */
int PMPI_Error_string(int errorcode, char *string, int *resultlen)
{
    const char *sentence = weft_raised_sentence(errorcode);
    int class;
    int err = weft_check_out("MPI_Error_string", NULL, string, "string");

    if (err == MPI_SUCCESS) {
        err = weft_check_out("MPI_Error_string", NULL, resultlen, "resultlen");
    }
    if (err != MPI_SUCCESS) {
        return err;
    }
    if (!look_up(errorcode, &class, string, MPI_MAX_ERROR_STRING)) {
        return weft_raise("MPI_Error_string", WEFT_E_CODE, errorcode);
    }
    if (sentence != NULL && class == errorcode && class <= MPI_ERR_LASTCODE &&
        class != MPI_ERR_PROC_ABORTED) {
        snprintf(string, MPI_MAX_ERROR_STRING, "%s", sentence);
    }
    *resultlen = (int)strlen(string);
    return MPI_SUCCESS;
}
WEFT_WEAK_ALIAS(MPI_Error_string, PMPI_Error_string);

int PMPI_Add_error_class(int *errorclass)
{
    enum weft_rc rc;
    int err = weft_check_out("MPI_Add_error_class", NULL, errorclass, "errorclass");

    if (err != MPI_SUCCESS) {
        return err;
    }
    weft_object_lock();
    rc = weft_user_error_add_class(errorclass);
    weft_object_unlock();
    return weft_raise_rc(NULL, rc, "MPI_Add_error_class");
}
WEFT_WEAK_ALIAS(MPI_Add_error_class, PMPI_Add_error_class);

int PMPI_Add_error_code(int errorclass, int *errorcode)
{
    static const char function[] = "MPI_Add_error_code";
    char text[MPI_MAX_ERROR_STRING];
    int class = MPI_SUCCESS;
    enum weft_rc rc;
    int err = weft_check_out(function, NULL, errorcode, "errorcode");

    if (err != MPI_SUCCESS) {
        return err;
    }
    if (!look_up(errorclass, &class, text, sizeof(text)) || class != errorclass ||
        class == MPI_SUCCESS) {
        return weft_raise(function, WEFT_E_CLASS, errorclass);
    }
    weft_object_lock();
    rc = weft_user_error_add_code(errorclass, errorcode);
    weft_object_unlock();
    return weft_raise_rc(NULL, rc, function);
}
WEFT_WEAK_ALIAS(MPI_Add_error_code, PMPI_Add_error_code);

int PMPI_Add_error_string(int errorcode, const char *string)
{
    static const char function[] = "MPI_Add_error_string";
    const char *old;
    int class;
    enum weft_rc rc = WEFT_ERR_ARGUMENT;
    int err = weft_check_out(function, NULL, string, "string");

    if (err != MPI_SUCCESS) {
        return err;
    }
    if (strnlen(string, MPI_MAX_ERROR_STRING) == MPI_MAX_ERROR_STRING) {
        return weft_raise(function, WEFT_E_CODE_STRING_LONG, string,
                          MPI_MAX_ERROR_STRING - 1);
    }
    weft_object_lock();
    if (weft_user_error_find(errorcode, &class, &old)) {
        rc = weft_user_error_set_text(errorcode, string);
    }
    weft_object_unlock();
    if (rc == WEFT_ERR_ARGUMENT) {
        return weft_raise(function, WEFT_E_CODE_OR_CLASS_NOT_ADDED, errorcode);
    }
    return weft_raise_rc(NULL, rc, function);
}
WEFT_WEAK_ALIAS(MPI_Add_error_string, PMPI_Add_error_string);

int PMPI_Remove_error_class(int errorclass)
{
    static const char function[] = "MPI_Remove_error_class";
    enum weft_removed result;

    weft_object_lock();
    result = weft_user_error_remove_class(errorclass);
    weft_object_unlock();
    if (result == WEFT_REMOVED_UNKNOWN) {
        return weft_raise(function, WEFT_E_CLASS_NOT_ADDED, errorclass);
    }
    return result == WEFT_REMOVED ? MPI_SUCCESS
                                  : weft_raise(function, WEFT_E_CLASS_IN_USE, errorclass);
}
WEFT_WEAK_ALIAS(MPI_Remove_error_class, PMPI_Remove_error_class);

int PMPI_Remove_error_code(int errorcode)
{
    static const char function[] = "MPI_Remove_error_code";
    enum weft_removed result;

    weft_object_lock();
    result = weft_user_error_remove_code(errorcode);
    weft_object_unlock();
    if (result == WEFT_REMOVED_UNKNOWN) {
        return weft_raise(function, WEFT_E_CODE_NOT_ADDED, errorcode);
    }
    return result == WEFT_REMOVED ? MPI_SUCCESS
                                  : weft_raise(function, WEFT_E_CODE_IN_USE, errorcode);
}
WEFT_WEAK_ALIAS(MPI_Remove_error_code, PMPI_Remove_error_code);

int PMPI_Remove_error_string(int errorcode)
{
    enum weft_removed result;

    weft_object_lock();
    result = weft_user_error_remove_text(errorcode);
    weft_object_unlock();
    return result == WEFT_REMOVED
               ? MPI_SUCCESS
               : weft_raise("MPI_Remove_error_string", WEFT_E_CODE_NO_STRING, errorcode);
}
WEFT_WEAK_ALIAS(MPI_Remove_error_string, PMPI_Remove_error_string);
