/*
 * tools.c - MPI-5.0 chapter 15: profiling control; MPI_T: begin, end, enumerations.
 */
#include "tools.h"

#include "engine/lock.h"
#include "tools/control.h"
#include "tools/performance.h"

#include <string.h>

/* For profiling tools, which put their own in its place; the library ignores it. */
int PMPI_Pcontrol(const int level, ...)
{
    (void)level;
    return MPI_SUCCESS;
}
WEFT_WEAK_ALIAS(MPI_Pcontrol, PMPI_Pcontrol);

static int tools; /* that have called MPI_T_init_thread; under the lock */

/* A tool may call from any thread, whatever the program has promised about its own. */
int weft_tools_enter(void)
{
    weft_lock_as_visitor();
    if (tools == 0) {
        weft_lock_leave_as_visitor();
        return MPI_T_ERR_NOT_INITIALIZED;
    }
    return MPI_SUCCESS;
}

int weft_tools_leave(int err)
{
    weft_lock_leave_as_visitor();
    return err;
}

void weft_tools_give_bytes(char *to, int *length, const char *text, size_t size)
{
    if (length == NULL) {
        return;
    }
    if (to != NULL && *length > 0) {
        size_t room = (size_t)*length - 1;
        size_t n = size < room ? size : room;

        memcpy(to, text, n);
        to[n] = '\0';
    }
    *length = (int)size + 1;
}

void weft_tools_give_text(char *to, int *length, const char *text)
{
    weft_tools_give_bytes(to, length, text, strlen(text));
}

void weft_tools_give_int(int *to, int value)
{
    if (to != NULL) {
        *to = value;
    }
}

int PMPI_T_init_thread(int required, int *provided)
{
    weft_lock_as_visitor();
    tools++;
    weft_lock_leave_as_visitor();
    weft_tools_give_int(provided, required);
    return MPI_SUCCESS;
}
WEFT_WEAK_ALIAS(MPI_T_init_thread, PMPI_T_init_thread);

int PMPI_T_finalize(void)
{
    int err = weft_tools_enter();

    if (err != MPI_SUCCESS) {
        return err;
    }
    tools--;
    if (tools == 0) {
        weft_pvar_free_all();
    }
    return weft_tools_leave(MPI_SUCCESS);
}
WEFT_WEAK_ALIAS(MPI_T_finalize, PMPI_T_finalize);

static bool is_enum(MPI_T_enum enumtype)
{
    uintptr_t number = (uintptr_t)enumtype;

    return number >= 1 && number <= WEFT_SET_NUMBERS &&
           weft_control_has_words((enum weft_setting)(number - 1));
}

int PMPI_T_enum_get_info(MPI_T_enum enumtype, int *num, char *name, int *name_len)
{
    enum weft_setting which = (enum weft_setting)((uintptr_t)enumtype - 1);
    int err = weft_tools_enter();

    if (err != MPI_SUCCESS) {
        return err;
    }
    if (!is_enum(enumtype)) {
        return weft_tools_leave(MPI_T_ERR_INVALID_HANDLE);
    }
    weft_tools_give_int(num, weft_control_word_count(which));
    weft_tools_give_text(name, name_len, weft_setting_row(which)->name);
    return weft_tools_leave(MPI_SUCCESS);
}
WEFT_WEAK_ALIAS(MPI_T_enum_get_info, PMPI_T_enum_get_info);

int PMPI_T_enum_get_item(MPI_T_enum enumtype, int indx, int *value, char *name,
                         int *name_len)
{
    enum weft_setting which = (enum weft_setting)((uintptr_t)enumtype - 1);
    const char *word;
    size_t length;
    int err = weft_tools_enter();

    if (err != MPI_SUCCESS) {
        return err;
    }
    if (!is_enum(enumtype)) {
        return weft_tools_leave(MPI_T_ERR_INVALID_HANDLE);
    }
    if (indx < 0 || indx >= weft_control_word_count(which)) {
        return weft_tools_leave(MPI_T_ERR_INVALID_ITEM);
    }
    word = weft_control_word(which, indx, &length);
    weft_tools_give_int(value, indx);
    weft_tools_give_bytes(name, name_len, word, length);
    return weft_tools_leave(MPI_SUCCESS);
}
WEFT_WEAK_ALIAS(MPI_T_enum_get_item, PMPI_T_enum_get_item);
