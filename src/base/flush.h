/*
 * flush.h - what the program prints goes out in time: line by line, and before its
 * process ends at once.
 *
 * The C library buffers 4 KiB of a standard output that is no terminal, and that of a
 * rank is a pipe to mpiexec. Its user would see nothing for as long as 4 KiB take to come
 * together, and what is in the buffer when a signal ends the rank would be lost. So a
 * constructor, which runs before main(), gives standard output the mode that it has on a
 * terminal: each line is written when it is complete. It does so only if standard output
 * is the pipe that mpiexec has made for this rank, so what a rank writes into a file or
 * into another program keeps its full buffer. The program's own setvbuf() comes later,
 * and so it decides.
 */
#ifndef WEFT_BASE_FLUSH_H
#define WEFT_BASE_FLUSH_H

/* The variable in which mpiexec tells a rank the inode number of its output's pipe. */
#define WEFT_STDOUT "WEFT_STDOUT"

/*
 * Writes out what is in the buffers of all streams, as exit() would. Another thread may
 * hold a stream's lock for ever, and whoever reads our output may have stopped: after
 * half a second `end` is called from a signal handler (SIGALRM) and must end the process.
 * So this is for a process that ends anyway, and returns if all went well.
 */
void weft_flush_or_end(void (*end)(void));

#endif
