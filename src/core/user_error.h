/*
 * user_error.h - error classes, codes and strings that the program adds.
 *
 * They lie above MPI_ERR_LASTCODE; removed numbers are used again. A class is a code of
 * its own class. A class goes only when its codes and its string have gone, a code only
 * when its string has. Nothing here grows with how many came and went. All calls need the
 * lock of objects (engine/lock.h), but for the address that weft_user_error_last() gives,
 * which is valid for ever.
 */
#ifndef WEFT_CORE_USER_ERROR_H
#define WEFT_CORE_USER_ERROR_H

#include "base/rc.h"

#include <stdbool.h>

/* A new class, or a new code of `class`, which exists. */
WEFT_MUST_CHECK enum weft_rc weft_user_error_add_class(int *class);
WEFT_MUST_CHECK enum weft_rc weft_user_error_add_code(int class, int *code);

/* Gives a code or class a text in place of the one it had; "" takes it away. */
WEFT_MUST_CHECK enum weft_rc weft_user_error_set_text(int code, const char *text);

enum weft_removed {
    WEFT_REMOVED,
    WEFT_REMOVED_UNKNOWN, /* there is none to remove */
    WEFT_REMOVED_IN_USE,  /* a class with codes, or either with a string */
};

enum weft_removed weft_user_error_remove_class(int class);
enum weft_removed weft_user_error_remove_code(int code);
enum weft_removed weft_user_error_remove_text(int code);

/* Is it one of ours? Then *class is its class and *text its text, "" if it has none. */
bool weft_user_error_find(int code, int *class, const char **text);

/* Where the highest code in use stands: the value of MPI_LASTUSEDCODE. */
const int *weft_user_error_last(void);

#endif
