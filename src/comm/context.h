/*
 * context.h - the numbers that keep the messages of communicators apart.
 *
 * A context is 29 bits and the plane below them (core/comm.h). The highest bit,
 * WEFT_CONTEXT_SEVERAL_JOBS, is reserved and never set: all members are of one job. Equal
 * ranks of two jobs own equal numbers, so a communicator with members of several jobs
 * must not get a context from one of its members alone.
 *
 * The lowest of the other 28 bits say which process of the job owns the context, as many
 * as the job has ranks to count; the rest is that process's to give. So no two processes
 * give the same one, and none has to ask another. The owner takes one for a communicator
 * that it is a member of and gets it back when every member has released that
 * communicator (unmake.c): only then can it be given again, for the messages of a member
 * that is still there would be taken for those of a new one.
 *
 * They are given in turn, so that one that came back is not given again before thousands
 * of others: a message that its communicator did not receive may still be on its way, and
 * would be taken for one of the new communicator.
 *
 * The first three of every owner are kept: they hold MPI_COMM_WORLD's, MPI_COMM_SELF's
 * and the one over which communicators are made that have no parent. All calls need the
 * library's lock.
 */
#ifndef WEFT_COMM_CONTEXT_H
#define WEFT_COMM_CONTEXT_H

#include "core/comm.h"

enum { WEFT_CONTEXT_PARENTLESS = 2 * WEFT_PLANES };

#define WEFT_CONTEXT_SEVERAL_JOBS (UINT32_C(1) << 31)

/* This process is `me`, of a job of `size`. */
void weft_context_open(uint64_t me, uint32_t size);
void weft_context_close(void);

/* One of our own, or 0: all are used, or there is no memory. */
uint32_t weft_context_take(void);

/* One of our own comes back; 0 is nothing. */
void weft_context_give(uint32_t context);

/* The process that owns it. */
uint64_t weft_context_owner(uint32_t context);

#endif
