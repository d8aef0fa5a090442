/*
 * launcher.h - a launcher for a rank's side of PMI-1 and PMI-2: what it writes is the
 * input, all of it before the rank asks for anything.
 */
#ifndef WEFT_FUZZ_LAUNCHER_H
#define WEFT_FUZZ_LAUNCHER_H

#include "fuzz.h"

#include <sys/socket.h>
#include <unistd.h>

enum { RANKS = 4, LAUNCHER_MOST = 60000 }; /* bytes that a socket takes at once */

/* Rank 2 of RANKS asks. */
static inline void ask_launcher(const uint8_t *data, size_t size, void (*ask)(void))
{
    char number[16];
    int pair[2];

    demand(socketpair(AF_UNIX, SOCK_STREAM, 0, pair) == 0, "no socket");
    snprintf(number, sizeof(number), "%d", pair[0]);
    setenv("PMI_FD", number, 1);
    setenv("PMI_RANK", "2", 1);
    setenv("PMI_SIZE", "4", 1);
    (void)!send(pair[1], data, size, MSG_DONTWAIT);
    shutdown(pair[1], SHUT_WR);
    ask();
    close(pair[0]);
    close(pair[1]);
}

#endif
