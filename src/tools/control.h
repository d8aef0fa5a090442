/*
 * control.h - control variables: the settings (base/settings.h), seen by tools.
 *
 * A setting with words is an int that says which, with an enumeration of them; any other
 * is an unsigned long long. Writing one counts for this process, and goes before what the
 * environment says. How much is logged can be changed at any time; everything else is
 * read when the library opens, so it can be written while the library is not open, and
 * has to be the same in all processes. All calls need the library's lock.
 */
#ifndef WEFT_TOOLS_CONTROL_H
#define WEFT_TOOLS_CONTROL_H

#include "base/rc.h"
#include "base/settings.h"

#include "mpi.h"

#include <stdbool.h>
#include <stddef.h>

/* The variable of this name, or -1. */
int weft_control_find(const char *name);

/* Is the value an int that says which word, and not a number? */
bool weft_control_has_words(enum weft_setting which);

int weft_control_scope(enum weft_setting which);

/*
 * WEFT_ERR_ARGUMENT: the row does not accept the value. WEFT_ERR_UNSUPPORTED: the library
 * is open.
 */
WEFT_MUST_CHECK enum weft_rc weft_control_write(enum weft_setting which, uint64_t value);

/* The words of a setting: how many, and one of them with its length. */
int weft_control_word_count(enum weft_setting which);
const char *weft_control_word(enum weft_setting which, int position, size_t *length);

#endif
