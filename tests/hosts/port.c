/*
 * port.c - a port for datagrams at an address of this host, which does what it is told.
 *
 *   port udp|fabric ADDRESS INTERFACE
 *
 * Prints "ADDRESS LONGEST ROOM", and an answer to each line that it reads:
 *
 *   peer ADDRESS       whom to send to
 *   send COUNT BYTES   numbered datagrams, in trains: "TAKEN UNSENT ERROR CALLS"
 *   take COUNT         until that many have come, or none for half a second: "COUNT
 *                      DIFFERENT WRONG CALLS"; WRONG: of others, or not as they were sent
 */
#include "transport/dgram/fabric_port.h"
#include "transport/dgram/udp.h"

#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { FIRST = 43000, LAST = 43999, MOST = 65536, BATCH = 64, PATIENCE_MS = 500 };

static struct weft_port *port;
static struct weft_port_peer peer;

/* Begins with a number; the rest follows from that. */
static void fill(uint8_t *bytes, uint32_t length, uint32_t number)
{
    memset(bytes, (int)(number % 251), length);
    memcpy(bytes, &number, sizeof(number));
}

static void accept_peer(const char *text)
{
    struct weft_port_address address = {.length = (uint8_t)(strlen(text) / 2)};

    for (int i = 0; i < address.length && i < WEFT_PORT_ADDRESS_MAX; i++) {
        sscanf(text + 2 * i, "%2hhx", &address.bytes[i]);
    }
    printf("%d\n", (int)port->ops->accept_peer(port, &address, &peer));
}

/* One train of the datagrams from `first` on; returns how many were taken. */
static uint32_t send_train(uint32_t first, uint32_t count, uint32_t bytes)
{
    static uint8_t memory[WEFT_PORT_TRAIN_MAX][WEFT_PORT_MTU_MAX];
    struct iovec pieces[2 * WEFT_PORT_TRAIN_MAX];
    const struct weft_train train = {pieces, 2 * count, count, bytes};
    uint32_t taken;

    for (uint32_t i = 0; i < count; i++) {
        fill(memory[i], bytes, first + i);
        pieces[2 * i] = (struct iovec){memory[i], 48};
        pieces[2 * i + 1] = (struct iovec){memory[i] + 48, bytes - 48};
    }
    if (port->ops->send(port, &peer, &train, &taken) == WEFT_AGAIN) {
        poll(NULL, 0, 1);
    }
    return taken;
}

static void send_all(uint32_t count, uint32_t bytes)
{
    const struct weft_port_counts before = port->counts;
    uint32_t sent = 0;

    while (sent < count) {
        const uint32_t left = count - sent;

        sent += send_train(sent, left < port->train_max ? left : port->train_max, bytes);
    }
    printf("%u %u %d %u\n", sent, (unsigned)(port->counts.unsent - before.unsent),
           port->counts.last_error, (unsigned)(port->counts.sends - before.sends));
}

static bool is_right(const struct weft_datagram *got, uint32_t number)
{
    uint8_t wanted[WEFT_PORT_MTU_MAX];

    fill(wanted, got->length, number);
    return number < MOST && memcmp(got->bytes, wanted, got->length) == 0 &&
           port->ops->may_be_from(port, got, &peer);
}

static void take(uint32_t wanted)
{
    static bool is_there[MOST];
    const uint64_t before = port->counts.receives;
    struct pollfd look = {.fd = port->fd, .events = POLLIN};
    struct weft_datagram got[BATCH];
    uint32_t count = 0;
    uint32_t different = 0;
    uint32_t wrong = 0;

    memset(is_there, 0, sizeof(is_there));
    while (count < wanted &&
           (port->ops->arm(port) == WEFT_AGAIN || poll(&look, 1, PATIENCE_MS) > 0)) {
        const int n = port->ops->receive(port, got, BATCH);

        for (int i = 0; i < n; i++, count++) {
            uint32_t number;

            memcpy(&number, got[i].bytes, sizeof(number));
            if (is_right(&got[i], number)) {
                different += !is_there[number];
                is_there[number] = true;
            } else {
                wrong++;
            }
        }
    }
    printf("%u %u %u %u\n", count, different, wrong,
           (unsigned)(port->counts.receives - before));
}

static void do_as_told(void)
{
    char line[512];
    char word[256];
    unsigned count;
    unsigned bytes;

    while (fgets(line, sizeof(line), stdin) != NULL) {
        if (sscanf(line, "peer %255s", word) == 1) {
            accept_peer(word);
        } else if (sscanf(line, "send %u %u", &count, &bytes) == 2) {
            send_all(count, bytes);
        } else if (sscanf(line, "take %u", &count) == 1) {
            take(count);
        } else {
            printf("unknown: %s", line);
        }
        fflush(stdout);
    }
}

int main(int argc, char **argv)
{
    struct weft_net_address own = {.prefix = 24};
    const struct weft_port_wishes wishes = {
        .own = &own,
        .ports = {.first = FIRST, .last = LAST},
        .provider = "udp",
    };
    const bool is_udp = argc == 4 && strcmp(argv[1], "udp") == 0;

    if (argc != 4) {
        return 2;
    }
    snprintf(own.text, sizeof(own.text), "%s", argv[2]);
    snprintf(own.interface, sizeof(own.interface), "%s", argv[3]);
    if ((is_udp ? weft_port_open_udp(&wishes, &port)
                : weft_port_open_fabric(&wishes, &port)) != WEFT_OK) {
        return 1;
    }
    for (int i = 0; i < port->address.length; i++) {
        printf("%02x", port->address.bytes[i]);
    }
    printf(" %u %u\n", port->datagram_max, port->room_datagrams);
    fflush(stdout);
    do_as_told();
    port->ops->close(port);
    return 0;
}
