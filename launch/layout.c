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

/* One rank to each host in turn, leaving out those that are full. */
static void deal_in_turn(const struct deal *deal, int times, int *host_of)
{
    int round = 0; /* how many ranks a host has that has not been left out */
    int rank = 0;

    while (rank < deal->ranks) {
        for (int i = 0; i < deal->hosts->count && rank < deal->ranks; i++) {
            if (round < room_of(deal, i, times)) {
                host_of[rank++] = i;
            }
        }
        round++;
    }
}

int layout_rank(const struct layout *layout, int place)
{
    return layout->rank_at != NULL ? layout->rank_at[place] : place;
}

int layout_place(const struct layout *layout, int rank)
{
    return layout->place_of != NULL && rank >= 0 && rank < layout->ranks
               ? layout->place_of[rank]
               : rank;
}

bool layout_set_ranks(struct layout *layout, int *rank_at, int ranks)
{
    int *place_of = calloc((size_t)ranks + 1, sizeof(*place_of));
    bool is_sound = place_of != NULL;

    for (int r = 0; is_sound && r < ranks; r++) {
        place_of[r] = -1;
    }
    for (int p = 0; is_sound && p < ranks; p++) {
        is_sound = rank_at[p] >= 0 && rank_at[p] < ranks && place_of[rank_at[p]] < 0;
        if (is_sound) {
            place_of[rank_at[p]] = p;
        }
    }
    if (!is_sound) {
        free(place_of);
        return false;
    }
    layout->rank_at = rank_at;
    layout->place_of = place_of;
    layout->ranks = ranks;
    return true;
}

/* Makes a node of each host that has ranks; `next` becomes the first place of each. */
static void add_nodes(struct layout *layout, const struct hosts *hosts, int ranks,
                      const int *host_of, int *next)
{
    int first = 0;

    for (int r = 0; r < ranks; r++) {
        next[host_of[r]]++;
    }
    for (int i = 0; i < hosts->count; i++) {
        const int count = next[i];

        if (count > 0) {
            add_node(layout, hosts->at[i].name, first, count);
        }
        next[i] = first;
        first += count;
    }
}

/* Sorts the ranks by their hosts. */
static bool make_by_rank(struct layout *layout, const struct hosts *hosts, int ranks,
                         const int *host_of)
{
    int *rank_at = calloc((size_t)ranks + 1, sizeof(*rank_at));
    int *next = calloc((size_t)hosts->count + 1, sizeof(*next));
    bool is_made = rank_at != NULL && next != NULL;

    if (is_made) {
        add_nodes(layout, hosts, ranks, host_of, next);
        for (int r = 0; r < ranks; r++) {
            rank_at[next[host_of[r]]++] = r;
        }
        is_made = layout_set_ranks(layout, rank_at, ranks);
    }
    free(next);
    if (!is_made) {
        free(rank_at);
        fprintf(stderr, "%s: no memory for the layout of the job\n", program_name);
    }
    return is_made;
}

static bool make_in_turn(struct layout *layout, const struct deal *deal, int times)
{
    int *host_of = calloc((size_t)deal->ranks + 1, sizeof(*host_of));
    bool is_made;

    if (host_of == NULL) {
        perror(program_name);
        return false;
    }
    deal_in_turn(deal, times, host_of);
    is_made = make_by_rank(layout, deal->hosts, deal->ranks, host_of);
    free(host_of);
    return is_made;
}

static bool make_blocks(struct layout *layout, const struct deal *deal, int times)
{
    int first = 0;

    for (int i = 0; i < deal->hosts->count && first < deal->ranks; i++) {
        int take = room_of(deal, i, times);

        take = take < deal->ranks - first ? take : deal->ranks - first;
        add_node(layout, deal->hosts->at[i].name, first, take);
        first += take;
    }
    return true;
}

bool layout_make(struct layout *layout, const struct hosts *hosts, int ranks,
                 const struct sharing *sharing)
{
    const int per_host = sharing->per_host;
    const struct deal deal = {
        .hosts = hosts,
        .ranks = ranks,
        .per_host = per_host,
        .has_slots = has_slots(hosts),
    };
    int times;

    memset(layout, 0, sizeof(*layout));
    if (!allocate(layout, hosts->count)) {
        return false;
    }
    set_up_root(layout);
    if (sharing->host_of != NULL) {
        return make_by_rank(layout, hosts, ranks, sharing->host_of);
    }
    if (hosts->count <= 1 && per_host > 0 && ranks > per_host && !sharing->may_exceed) {
        fprintf(stderr, "%s: " TEXT_HOST_RANKS "\n", program_name, ranks, per_host);
        return false;
    }
    if (hosts->count == 0 || (hosts->count == 1 && hosts_is_here(hosts->at[0].name) &&
                              (hosts->system != NULL || per_host > 0))) {
        add_node(layout, layout->stations[0].name, 0, ranks);
        layout->stations[0].node = 0;
        return true;
    }
    if (!sharing->may_exceed && exceeds(hosts, ranks, per_host)) {
        return false;
    }
    times = times_for(&deal);
    if (times == 0) {
        fprintf(stderr, "%s: %d ranks are more than max_slots of the hosts allow\n",
                program_name, ranks);
        return false;
    }
    return sharing->is_cyclic && hosts->count > 1 ? make_in_turn(layout, &deal, times)
                                                  : make_blocks(layout, &deal, times);
}

int layout_daemon_of(const struct layout *layout, int rank)
{
    const int place = layout_place(layout, rank);
    int low = 0;
    int high = layout->nodes - 1;

    while (low < high) { /* the last node that begins not above it */
        int middle = (low + high + 1) / 2;

        if (layout->stations[layout->by_node[middle]].first <= place) {
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
                station->name, station->ranks, layout_rank(layout, station->first));
    }
}

/* Ranks that follow each other on one node. */
struct run {
    int node;
    int ranks;
};

/* The runs of the whole job, in rank order, to be freed; NULL: no memory. */
static struct run *list_runs(const struct layout *layout, int *count)
{
    const struct station *last = &layout->stations[layout->by_node[layout->nodes - 1]];
    const int ranks = last->first + last->ranks;
    struct run *runs = calloc((size_t)ranks + 1, sizeof(*runs));

    *count = 0;
    for (int r = 0; runs != NULL && r < ranks;) {
        const struct station *station = &layout->stations[layout_daemon_of(layout, r)];
        const int place = layout_place(layout, r);
        int length = 1;

        while (place + length < station->first + station->ranks &&
               layout_rank(layout, place + length) == r + length) {
            length++;
        }
        runs[(*count)++] = (struct run){station->node, length};
        r += length;
    }
    return runs;
}

/* After how many runs they begin anew, to the last one; whoever reads the map repeats it.
 */
static int period_of(const struct run *runs, int count)
{
    int period = 1;

    for (int i = 1; i < count; i++) {
        if (runs[i].node != runs[i % period].node ||
            runs[i].ranks != runs[i % period].ranks) {
            period = i + 1;
        }
    }
    return period;
}

char *layout_mapping(const struct layout *layout)
{
    char *text = NULL;
    size_t size = 0;
    FILE *to = open_memstream(&text, &size);
    int count = 0;
    struct run *runs = list_runs(layout, &count);

    count = runs != NULL ? period_of(runs, count) : 0;
    if (to == NULL) {
        free(runs);
        return NULL;
    }
    fprintf(to, "(vector");
    for (int n = 0; n < count;) { /* neighbours with as many ranks are one entry */
        int alike = 1;

        while (n + alike < count && runs[n + alike].node == runs[n].node + alike &&
               runs[n + alike].ranks == runs[n].ranks) {
            alike++;
        }
        fprintf(to, ",(%d,%d,%d)", runs[n].node, alike, runs[n].ranks);
        n += alike;
    }
    fprintf(to, ")");
    fclose(to);
    free(runs);
    return text;
}
