/*
 * refusals.h - memory that is refused to the MPI library, and to nothing else.
 *
 * The program defines malloc() and its relatives, and mmap(). A call of one of them
 * counts if the library has made it, from whichever thread, between refusals_begin() and
 * refusals_end().
 */
#ifndef WEFT_TEST_REFUSALS_H
#define WEFT_TEST_REFUSALS_H

#include <stdbool.h>

/* Finds the library in the memory of this process. Once, before all others. */
void refusals_open(void);

/* Refuses allocation `number`, counted from 1, and with `is_lasting` all that follow. 0:
 * refuses nothing. */
void refusals_begin(int number, bool is_lasting);

/* Ends that, and returns whether an allocation was refused. */
bool refusals_end(void);

/* The place in the library of the first allocation that was refused, as an offset from
 * where it begins; for addr2line. */
unsigned long refusals_place(void);

#endif
