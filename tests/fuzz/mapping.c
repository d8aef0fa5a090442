/*
 * mapping.c - texts of launchers and users that ranks read: the map of ranks, ports,
 * networks, the value of every setting, and the settings of another rank.
 */
#include "fuzz.h"

#include "base/settings.h"
#include "wireup/kvs.h"
#include "wireup/net.h"
#include "wireup/same.h"

enum { RANKS = 64 };

static void read_map(const char *text, int size)
{
    struct weft_location map[RANKS];
    struct weft_who who = {.rank = size / 2, .size = size};

    if (weft_pmi1_read_mapping(text, &who, map) != WEFT_OK) {
        return;
    }
    demand(who.node >= 0 && who.node < who.node_count, "no such node");
    demand(who.local_rank >= 0 && who.local_rank < who.local_size, "no such place");
    demand(who.leader >= 0 && who.leader <= who.rank, "no such leader");
    for (int r = 0; r < size; r++) {
        demand(map[r].node < (uint32_t)who.node_count, "a rank on no node");
    }
}

static void read_settings(const char *text)
{
    const struct weft_said said[WEFT_SAME_SETTINGS] = {{.sum = 0}};
    char why[WEFT_CAUSE_BYTES] = "";

    if (weft_same_compare(said, 1, text, 0, why, sizeof(why)) != WEFT_OK) {
        demand(strlen(why) > 0, "a difference without words");
    }
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    struct input in = {data, size};
    const int ranks = 1 + (int)(input_number(&in, 1) % RANKS);
    char *text = input_text(&in);
    int first;
    int last;
    int ignored;

    read_map(text, ranks);
    read_settings(text);
    if (weft_net_read_ports(text, &first, &last)) {
        demand(first > 0 && first <= last && last <= 65535, "no such ports");
    }
    (void)weft_net_is_wanted("eth0", "10.0.0.1", text);
    (void)weft_net_is_in(text, "10.0.0.0", 8);
    for (int i = 0; i < WEFT_SET_COUNT; i++) {
        (void)weft_setting_parse((enum weft_setting)i, text, &ignored);
    }
    free(text);
    return 0;
}
