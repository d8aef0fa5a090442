/*
 * pmi2_client.c - a rank's side of PMI-2: the input is what a launcher writes, all of it
 * before the rank asks for anything.
 */
#include "launcher.h"

#include "wireup/pmi2.c" /* for its state, which lives as long as a process */

static void ask_everything(void)
{
    struct weft_who who;
    struct weft_location map[RANKS];
    char value[WEFT_KVS_VALUE_MAX + 1];

    memset(&who, 0, sizeof(who));
    if (weft_pmi2()->open(&who) != WEFT_OK) {
        return;
    }
    demand(who.local_rank < who.local_size && who.local_size <= RANKS &&
               who.node < who.node_count && who.leader < RANKS,
           "a place that is none");
    if (weft_pmi2()->locations(&who, map) == WEFT_OK) {
        demand(map[RANKS - 1].local_rank < RANKS, "a map that is none");
    }
    if (weft_pmi2()->get(0, "key", value) == WEFT_OK) {
        demand(strlen(value) <= WEFT_KVS_VALUE_MAX, "a value without end");
    }
    (void)weft_pmi2()->put("key", "value");
    (void)weft_pmi2()->fence(false);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    if (size <= LAUNCHER_MOST) {
        memset(&pmi, 0, sizeof(pmi));
        ask_launcher(data, size, ask_everything);
    }
    return 0;
}
