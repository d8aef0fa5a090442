/*
 * habits.h - options that the MPI standard and other launchers have given to hands.
 *
 * Each function says in one line what is wrong.
 */
#ifndef WEFT_LAUNCH_HABITS_H
#define WEFT_LAUNCH_HABITS_H

#include "plan.h"

#include <stdbool.h>

/*
 * -configfile: the words of a file, with ":" between its lines. A line that ends
 * with "\" goes on in the next, one that begins with "#" is left out, and words may be in
 * quotes. The words live as long as the process, and
 * `words` has none before.
 */
bool habits_read_config(const char *path, struct list *words);

/*
 * -soft: the largest number of a list of "a", "a:b" or "a:b:c" (from a to b in steps of
 * c) that is not above `most`. 0 after a line: there is none.
 */
int habits_soft(const char *list, int most);

/* -path: the program of this name in one of the folders of a list, "a:b"; NULL after a
 * line: none has it. A name with a slash is itself. */
char *habits_find(const char *folders, char *name);

/* --output: the name of a rank's file, in which %r is the rank; to be freed, or NULL. */
char *habits_output(const char *pattern, int rank);

/* Opens that file and makes the folders above it; -1: errno says why not. */
int habits_open_output(const char *pattern, int rank);

/* --mca: what to use instead of a parameter of Open MPI; never NULL. */
const char *habits_parameter(const char *name);

#endif
