/* net.c - a bad network: see net.h. */
#include "net.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

uint64_t net_random(struct net *net)
{
    uint64_t z = net->random += UINT64_C(0x9E3779B97F4A7C15);

    z = (z ^ (z >> 30)) * UINT64_C(0xBF58476D1CE4E5B9);
    z = (z ^ (z >> 27)) * UINT64_C(0x94D049BB133111EB);
    return z ^ (z >> 31);
}

uint64_t net_below(struct net *net, uint64_t limit)
{
    return limit == 0 ? 0 : net_random(net) % limit;
}

bool net_chance(struct net *net, uint32_t of_all)
{
    return of_all > 0 && net_below(net, NET_ALL) < of_all;
}

static bool is_before(const struct net_datagram *a, const struct net_datagram *b)
{
    return a->at != b->at ? a->at < b->at : a->key < b->key;
}

static void push(struct net *net, struct net_datagram *datagram)
{
    size_t at = net->count++;

    if (net->count > net->size) {
        net->size = net->size == 0 ? 64 : 2 * net->size;
        net->heap = realloc(net->heap, net->size * sizeof(struct net_datagram *));
        if (net->heap == NULL) {
            abort();
        }
    }
    while (at > 0 && is_before(datagram, net->heap[(at - 1) / 2])) {
        net->heap[at] = net->heap[(at - 1) / 2];
        at = (at - 1) / 2;
    }
    net->heap[at] = datagram;
}

static struct net_datagram *pop(struct net *net)
{
    struct net_datagram *first = net->heap[0];
    struct net_datagram *last = net->heap[--net->count];
    size_t at = 0;

    while (2 * at + 1 < net->count) {
        size_t child = 2 * at + 1;

        if (child + 1 < net->count && is_before(net->heap[child + 1], net->heap[child])) {
            child++;
        }
        if (!is_before(net->heap[child], last)) {
            break;
        }
        net->heap[at] = net->heap[child];
        at = child;
    }
    net->heap[at] = last;
    return first;
}

static void send_one(struct net *net, uint64_t at, int from, int to, const void *front,
                     size_t front_length, const void *data, size_t length)
{
    struct net_datagram *datagram = malloc(sizeof(*datagram) + front_length + length);

    if (datagram == NULL) {
        abort();
    }
    datagram->next = NULL;
    datagram->at = at;
    datagram->key = net->sent;
    datagram->from = from;
    datagram->to = to;
    datagram->length = front_length + length;
    datagram->was_harmed = net_chance(net, net->habits.corrupt);
    memcpy(datagram->bytes, front, front_length);
    if (length > 0) {
        memcpy(datagram->bytes + front_length, data, length);
    }
    if (datagram->was_harmed) {
        net->harmed++;
        datagram->bytes[net_below(net, datagram->length)] ^=
            (uint8_t)(1 + net_below(net, 255));
        if (net_below(net, 8) == 0) {
            datagram->length = net_below(net, datagram->length + 1);
        }
    }
    if (net_chance(net, net->habits.reorder)) {
        datagram->at += net_below(net, net->habits.late);
    }
    push(net, datagram);
}

void net_send(struct net *net, uint64_t now, int from, int to, const void *front,
              size_t front_length, const void *data, size_t length)
{
    uint64_t at = now;

    if (net->habits.gap > 0) {
        uint64_t *free_at = &net->free_at[from];

        *free_at = (*free_at > now ? *free_at : now) +
                   net->habits.gap * (front_length + length + 28) / 1500;
        at = *free_at;
    }
    at += net->habits.delay;
    net->sent++;
    if (net_chance(net, net->habits.loss)) {
        net->lost++;
    } else {
        send_one(net, at, from, to, front, front_length, data, length);
    }
    while (net_chance(net, net->habits.repeat)) {
        send_one(net, at + net_below(net, net->habits.late), from, to, front,
                 front_length, data, length);
    }
    if (net_chance(net, net->habits.replay)) {
        net->replayed++;
        send_one(net, at + net_below(net, net->habits.late), -1, to, front, front_length,
                 data, length);
    }
}

uint64_t net_next(const struct net *net)
{
    return net->count > 0 ? net->heap[0]->at : UINT64_MAX;
}

/* Linux counts 768 bytes for a short one, and 2,304 for one of 1,472 bytes. */
static uint32_t thirds_of(const struct net_datagram *datagram)
{
    return datagram->length < 300 ? 1 : 3;
}

int net_arrive(struct net *net, struct net_buffer *buffers)
{
    struct net_datagram *datagram = pop(net);
    struct net_buffer *buffer = &buffers[datagram->to];
    const int to = datagram->to;

    if (buffer->thirds + thirds_of(datagram) > 3 * net->habits.room) {
        net->overflowed++;
        free(datagram);
        return to;
    }
    if (buffer->last != NULL) {
        buffer->last->next = datagram;
    } else {
        buffer->first = datagram;
    }
    buffer->last = datagram;
    buffer->count++;
    buffer->thirds += thirds_of(datagram);
    return to;
}

struct net_datagram *net_take(struct net_buffer *buffer)
{
    struct net_datagram *datagram = buffer->first;

    if (datagram != NULL) {
        buffer->first = datagram->next;
        buffer->count--;
        buffer->thirds -= thirds_of(datagram);
        if (buffer->first == NULL) {
            buffer->last = NULL;
        }
    }
    return datagram;
}

void net_close(struct net *net)
{
    while (net->count > 0) {
        free(pop(net));
    }
    free(net->heap);
    net->heap = NULL;
    net->size = 0;
}
