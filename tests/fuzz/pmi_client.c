/*
 * pmi_client.c - a rank's side of PMI-1: the input is what a launcher writes, all of it
 * before the rank asks for anything.
 */
#include "fuzz.h"

#include "wireup/pmi1.c" /* for its state, which lives as long as a process */

#include <sys/socket.h>

enum { RANKS = 4, MOST = 60000 };

static void ask_everything(void)
{
    struct weft_who who;
    struct weft_location map[RANKS];
    char value[WEFT_KVS_VALUE_MAX + 1];
    int program;
    int fd;

    memset(&who, 0, sizeof(who));
    if (weft_pmi1_ops.open(&who) != WEFT_OK) {
        return;
    }
    demand(who.local_rank < who.local_size && who.local_size <= RANKS &&
               who.node < who.node_count && who.leader < RANKS,
           "a place that is none");
    if (weft_pmi1_ops.locations(&who, map) == WEFT_OK) {
        demand(map[RANKS - 1].local_rank < RANKS, "a map that is none");
    }
    if (weft_pmi1_ops.get(0, "key", value) == WEFT_OK) {
        demand(strlen(value) <= WEFT_KVS_VALUE_MAX, "a value without end");
    }
    (void)weft_pmi1_ops.put("key", "value");
    (void)weft_pmi1_ops.fence(false);
    if (weft_pmi1_next_program(&fd, &program) == WEFT_OK) {
        close(fd);
    }
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    char number[16];
    int pair[2];

    if (size > MOST) {
        return 0;
    }
    demand(socketpair(AF_UNIX, SOCK_STREAM, 0, pair) == 0, "no socket");
    memset(&pmi, 0, sizeof(pmi));
    pmi.own_rank = -1;
    snprintf(number, sizeof(number), "%d", pair[0]);
    setenv("PMI_FD", number, 1);
    setenv("PMI_RANK", "2", 1);
    setenv("PMI_SIZE", "4", 1);
    (void)!send(pair[1], data, size, MSG_DONTWAIT);
    shutdown(pair[1], SHUT_WR);
    ask_everything();
    close(pair[0]);
    close(pair[1]);
    return 0;
}
