/*
 * record.h - which functions a process enters, for the test that follows the tour of a
 * message.
 *
 * The program and the library are compiled with -finstrument-functions, so that every
 * entered function is told to record.c. It keeps the addresses, of all threads, between
 * tour_begin() and tour_end(); tour_write() writes them down.
 */
#ifndef WEFT_TESTS_TOUR_RECORD_H
#define WEFT_TESTS_TOUR_RECORD_H

#include <stdio.h>

void tour_begin(void);
void tour_end(void);

/* One line: the address of main(), then those that were entered, in order. */
void tour_write(FILE *file);

#endif
