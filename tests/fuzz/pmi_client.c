/*
 * pmi_client.c - a rank's side of PMI-1: the input is what a launcher writes, all of it
 * before the rank asks for anything.
 */
#include "launcher.h"

#include "wireup/pmi1.c" /* for its state, which lives as long as a process */

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
    if (size <= LAUNCHER_MOST) {
        memset(&pmi, 0, sizeof(pmi));
        pmi.own_rank = -1;
        ask_launcher(data, size, ask_everything);
    }
    return 0;
}
