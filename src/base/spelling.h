/*
 * spelling.h - measures how similar two names are, to suggest the one that was meant.
 */
#ifndef WEFT_BASE_SPELLING_H
#define WEFT_BASE_SPELLING_H

/*
 * How many letters have to be put in, left out, changed or swapped with their neighbour
 * to make one name of the other; capitals and small letters are the same. Names of more
 * than 63 letters are as far away as their length.
 */
int weft_edit_distance(const char *a, const char *b);

#endif
