/*
 * flush.h - writes out what the program has printed, before its process ends at once.
 */
#ifndef WEFT_BASE_FLUSH_H
#define WEFT_BASE_FLUSH_H

/*
 * Writes out what is in the buffers of all streams, as exit() would. Another thread may
 * hold a stream's lock for ever, and whoever reads our output may have stopped: after
 * half a second `end` is called from a signal handler (SIGALRM) and must end the process.
 * So this is for a process that ends anyway, and returns if all went well.
 */
void weft_flush_or_end(void (*end)(void));

#endif
