/*
 * box_pack.c - the rows of a host on their way to the root, and the clocks of hosts.
 *
 * What a daemon sends is checked as if a rank had written it: numbers are in their
 * ranges, and texts end and can be printed.
 */
#include "box.h"

#include <stdlib.h>
#include <string.h>

void box_pack(const struct box *box, struct bytes *to)
{
    bytes_add_number(to, box->site_count);
    for (int s = 0; s < box->site_count; s++) {
        bytes_add_text(to, box->sites[s]);
    }
    for (int r = 0; r < box->count; r++) {
        const struct box_rank *rank = &box->ranks[r];

        bytes_add_number(to, rank->life);
        bytes_add_number(to, rank->is_open);
        bytes_add_number(to, rank->has_ended);
        bytes_add_number(to, rank->has_fallen);
        bytes_add_number(to, rank->status);
        bytes_add_number(to, (int64_t)rank->ended);
        bytes_add_number(to, (int64_t)rank->left_out);
        bytes_add_number(to, rank->doing.what != WEFT_DOING_NOTHING);
        if (rank->doing.what != WEFT_DOING_NOTHING) {
            bytes_add(to, &rank->doing, sizeof(rank->doing));
        }
        bytes_add_number(to, rank->count);
        bytes_add(to, rank->events, (size_t)rank->count * sizeof(*rank->events));
    }
}

static uint64_t shift(uint64_t ns, int64_t offset)
{
    return ns - (uint64_t)offset; /* wraps, whichever sign it has */
}

static void make_printable(char *text)
{
    for (; *text != '\0'; text++) {
        if ((unsigned char)*text < ' ' || *text == 0x7f) {
            *text = '?';
        }
    }
}

/* The numbers that the sites of a host have here; NULL: no memory, or nonsense. */
static uint32_t *read_sites(struct box *box, struct reader *reader, int64_t *count)
{
    uint32_t *numbers;

    *count = reader_number(reader);
    if (reader->is_bad || *count < 1 || *count > BOX_SITES) {
        return NULL;
    }
    numbers = calloc((size_t)*count, sizeof(*numbers));
    for (int64_t s = 0; numbers != NULL && s < *count; s++) {
        const char *text = reader_text(reader);
        char copy[BOX_SITE_TEXT + 1];

        if (text == NULL || reader->is_bad) {
            free(numbers);
            return NULL;
        }
        strncpy(copy, text, sizeof(copy) - 1);
        copy[sizeof(copy) - 1] = '\0';
        make_printable(copy);
        numbers[s] = box_site(box, copy);
    }
    return numbers;
}

static bool read_events(struct box_rank *rank, struct reader *reader, int64_t offset,
                        const uint32_t *sites, int64_t site_count)
{
    const int64_t count = reader_number(reader);
    const void *from;

    if (reader->is_bad || count < 0 || count > BOX_MOST) {
        return false;
    }
    from = reader_take(reader, (size_t)count * sizeof(*rank->events));
    free(rank->events);
    rank->events = calloc((size_t)count + 1, sizeof(*rank->events));
    rank->count = from != NULL && rank->events != NULL ? (int)count : 0;
    if (rank->count > 0) {
        memcpy(rank->events, from, (size_t)count * sizeof(*rank->events));
    }
    for (int i = 0; i < rank->count; i++) {
        struct box_event *event = &rank->events[i];

        event->when = shift(event->when, offset);
        event->site = event->site < site_count ? sites[event->site] : 0;
        event->call = event->call < WEFT_CALLS ? event->call : WEFT_CALL_NONE;
    }
    return from != NULL && rank->events != NULL;
}

static bool read_rank(struct box_rank *rank, struct reader *reader, int64_t offset,
                      const uint32_t *sites, int64_t site_count)
{
    const int64_t life = reader_number(reader);

    rank->life = life >= 0 && life <= BOX_LIVES ? (enum box_life)life : BOX_SILENT;
    rank->is_open = reader_number(reader) != 0;
    rank->has_ended = reader_number(reader) != 0;
    rank->has_fallen = reader_number(reader) != 0;
    rank->status = (int)reader_number(reader);
    rank->ended = shift((uint64_t)reader_number(reader), offset);
    rank->left_out = (uint64_t)reader_number(reader);
    if (reader_number(reader) != 0) {
        const void *doing = reader_take(reader, sizeof(rank->doing));

        if (doing == NULL) {
            return false;
        }
        memcpy(&rank->doing, doing, sizeof(rank->doing));
        weft_doing_check(&rank->doing);
    }
    return read_events(rank, reader, offset, sites, site_count);
}

bool box_unpack(struct box *box, int first, int count, int64_t offset, const char *from,
                size_t bytes)
{
    struct reader reader = {.at = from, .left = bytes};
    int64_t site_count;
    uint32_t *sites = read_sites(box, &reader, &site_count);
    bool is_good = sites != NULL;

    for (int r = first; is_good && r < first + count; r++) {
        is_good = read_rank(&box->ranks[r], &reader, offset, sites, site_count);
    }
    free(sites);
    for (int r = first; !is_good && r < first + count; r++) {
        free(box->ranks[r].events);
        box->ranks[r] = (struct box_rank){.life = BOX_SILENT};
    }
    return is_good;
}

void box_clock_note(struct box_clock *clock, uint64_t sent, uint64_t there, uint64_t back)
{
    const uint64_t round_trip = back > sent ? back - sent : 0;

    if (clock->answers++ > 0 && round_trip >= clock->round_trip) {
        return;
    }
    clock->round_trip = round_trip;
    clock->offset = (int64_t)(there - (sent + round_trip / 2));
}
