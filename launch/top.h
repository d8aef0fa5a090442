/*
 * top.h - where weft-top finds a job: an abstract socket of this name, with the process
 * id of mpiexec behind it. A process that connects gets one report, and then the
 * connection ends.
 */
#ifndef WEFT_LAUNCH_TOP_H
#define WEFT_LAUNCH_TOP_H

#include <stddef.h>
#include <sys/socket.h>
#include <sys/un.h>

#define TOP_NAME "weft-top-"
/* Who asks from a socket of this name, with anything behind it, gets stacks as well. */
#define TOP_STACKS "weft-stacks-"

/* Fills the address of a job, and returns its length. */
socklen_t top_address(struct sockaddr_un *address, int pid);

#endif
