/*
 * layout.c - which ranks run on which host: see hosts.h.
 */
#include "hosts.h"

#include "plan.h"
#include "texts.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

static bool has_slots(const struct hosts *hosts)
{
    for (int i = 0; i < hosts->count; i++) {
        if (hosts->at[i].slots > 0) {
            return true;
        }
    }
    return false;
}

static int slots_of(const struct host *host)
{
    return host->slots > 0 ? host->slots : 1;
}

static int all_slots(const struct hosts *hosts)
{
    long sum = 0;

    for (int i = 0; i < hosts->count; i++) {
        sum += slots_of(&hosts->at[i]);
    }
    return sum < 1000000 ? (int)sum : 1000000;
}

bool hosts_are_limited(const struct hosts *hosts, int per_host)
{
    return per_host > 0 || has_slots(hosts);
}

int hosts_ranks(const struct hosts *hosts, int per_host)
{
    return per_host > 0 ? per_host * hosts->count : all_slots(hosts);
}

/* What decides how many ranks a host gets. */
struct deal {
    const struct hosts *hosts;
    int ranks;
    int per_host;
    bool has_slots;
};

/* How many ranks host `i` takes, at most: `times` more than it says, if that is allowed,
 * and never more than its max_slots. */
static int room_of(const struct deal *deal, int i, int times)
{
    const struct host *host = &deal->hosts->at[i];
    const int count = deal->hosts->count;
    long room = deal->ranks / count + (i < deal->ranks % count ? 1 : 0);

    if (deal->per_host > 0) {
        room = (long)deal->per_host * times;
    } else if (deal->has_slots) {
        room = (long)slots_of(host) * times;
    }
    room = host->most > 0 && room > host->most ? host->most : room;
    return room < deal->ranks ? (int)room : deal->ranks;
}

static long room_of_all(const struct deal *deal, int times)
{
    long sum = 0;

    for (int i = 0; i < deal->hosts->count; i++) {
        sum += room_of(deal, i, times);
    }
    return sum;
}

/* How many times what they have the hosts must take, so that all ranks find room; 0: they
 * find none, because of max_slots. */
static int times_for(const struct deal *deal)
{
    int low = 1;
    int high = deal->ranks;

    if (room_of_all(deal, high) < deal->ranks) {
        return 0;
    }
    while (low < high) {
        const int middle = low + (high - low) / 2;

        if (room_of_all(deal, middle) < deal->ranks) {
            low = middle + 1;
        } else {
            high = middle;
        }
    }
    return low;
}

static bool exceeds(const struct hosts *hosts, int ranks, int per_host)
{
    const int room = per_host > 0 ? per_host * hosts->count : all_slots(hosts);

    if (per_host == 0 && !has_slots(hosts)) {
        return false;
    }
    for (int i = 0; per_host > 0 && i < hosts->count; i++) {
        if (hosts->at[i].slots > 0 && hosts->at[i].slots < per_host) {
            fprintf(stderr, "%s: " TEXT_SLOTS_PPN "\n", program_name, hosts->at[i].name,
                    hosts->at[i].slots, per_host);
            return true;
        }
    }
    if (ranks > room) {
        fprintf(stderr, "%s: " TEXT_SLOTS "\n", program_name, ranks,
                hosts->count == 1 ? "host " : "the list of hosts",
                hosts->count == 1 ? hosts->at[0].name : "", room);
        return true;
    }
    return false;
}

static bool allocate(struct layout *layout, int hosts)
{
    layout->stations = calloc((size_t)hosts + 1, sizeof(*layout->stations));
    layout->by_node = calloc((size_t)hosts + 1, sizeof(*layout->by_node));
    if (layout->stations == NULL || layout->by_node == NULL) {
        perror(program_name);
        return false;
    }
    return true;
}

static void set_up_root(struct layout *layout)
{
    char host[256] = "";

    gethostname(host, sizeof(host) - 1);
    layout->stations[0] = (struct station){.name = strdup(host), .node = -1};
    layout->count = 1;
}

static void add_node(struct layout *layout, char *name, int first, int ranks)
{
    int d = hosts_is_here(name) ? 0 : layout->count++;

    layout->stations[d].name = d == 0 ? layout->stations[0].name : name;
    layout->stations[d].node = layout->nodes;
    layout->stations[d].first = first;
    layout->stations[d].ranks = ranks;
    layout->by_node[layout->nodes++] = d;
}

bool layout_make(struct layout *layout, const struct hosts *hosts, int ranks,
                 int per_host, bool may_exceed)
{
    const struct deal deal = {
        .hosts = hosts,
        .ranks = ranks,
        .per_host = per_host,
        .has_slots = has_slots(hosts),
    };
    int first = 0;
    int times;

    memset(layout, 0, sizeof(*layout));
    if (!allocate(layout, hosts->count)) {
        return false;
    }
    set_up_root(layout);
    if (hosts->count <= 1 && per_host > 0 && ranks > per_host && !may_exceed) {
        fprintf(stderr, "%s: " TEXT_HOST_RANKS "\n", program_name, ranks, per_host);
        return false;
    }
    if (hosts->count == 0 || (hosts->count == 1 && hosts_is_here(hosts->at[0].name) &&
                              (hosts->system != NULL || per_host > 0))) {
        add_node(layout, layout->stations[0].name, 0, ranks);
        layout->stations[0].node = 0;
        return true;
    }
    if (!may_exceed && exceeds(hosts, ranks, per_host)) {
        return false;
    }
    times = times_for(&deal);
    if (times == 0) {
        fprintf(stderr, "%s: %d ranks are more than max_slots of the hosts allow\n",
                program_name, ranks);
        return false;
    }
    for (int i = 0; i < hosts->count && first < ranks; i++) {
        int take = room_of(&deal, i, times);

        take = take < ranks - first ? take : ranks - first;
        add_node(layout, hosts->at[i].name, first, take);
        first += take;
    }
    return true;
}

int layout_daemon_of(const struct layout *layout, int rank)
{
    int low = 0;
    int high = layout->nodes - 1;

    while (low < high) { /* the last node whose first rank is not above it */
        int middle = (low + high + 1) / 2;

        if (layout->stations[layout->by_node[middle]].first <= rank) {
            low = middle;
        } else {
            high = middle - 1;
        }
    }
    return layout->by_node[low];
}

const char *layout_host_of(const struct layout *layout, int rank)
{
    return layout->stations[layout_daemon_of(layout, rank)].name;
}

void layout_say(const struct layout *layout, const struct hosts *hosts)
{
    if (hosts->count == 0) {
        fprintf(stderr, "%s: no hosts are named: all ranks run here\n", program_name);
    } else if (hosts->system != NULL) {
        fprintf(stderr, "%s: %d hosts of an allocation of %s\n", program_name,
                hosts->count, hosts->system);
    } else {
        fprintf(stderr, "%s: %d hosts, as they are named\n", program_name, hosts->count);
    }
    for (int n = 0; n < layout->nodes; n++) {
        const struct station *station = &layout->stations[layout->by_node[n]];

        fprintf(stderr, "%s: host %s: %d ranks, the first is %d\n", program_name,
                station->name, station->ranks, station->first);
    }
}

char *layout_mapping(const struct layout *layout)
{
    char *text = NULL;
    size_t size = 0;
    FILE *to = open_memstream(&text, &size);

    if (to == NULL) {
        return NULL;
    }
    fprintf(to, "(vector");
    for (int n = 0;
         n < layout->nodes;) { /* neighbours with as many ranks are one entry */
        const int ranks = layout->stations[layout->by_node[n]].ranks;
        int alike = 1;

        while (n + alike < layout->nodes &&
               layout->stations[layout->by_node[n + alike]].ranks == ranks) {
            alike++;
        }
        fprintf(to, ",(%d,%d,%d)", n, alike, ranks);
        n += alike;
    }
    fprintf(to, ")");
    fclose(to);
    return text;
}
