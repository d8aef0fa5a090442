/*
 * forger.c - datagrams for two ports of a job, by somebody who has no secret but can
 * record what the job sends, and can claim any port as the source (forged.py).
 *
 *   forger ADDRESS PORT PORT COUNT SECONDS FILE
 *
 * Records up to RECORDS datagrams between the two ports, then sends COUNT to them, one
 * kind after the other, but for no longer than SECONDS, of which each kind has its share:
 *
 *   random     random bytes of a random length, from any port
 *   version    the same with the right version and a process of the job in them
 *   altered    a recorded one with one byte of its header changed, from the right port
 *   truncated  the beginning of a recorded one, from the right port
 *   elsewhere  a recorded one, to the port that has sent it
 *   replayed   a recorded one, whole, from another port
 *
 * All these have to be dropped and counted. At the end it sends a hundredth as many
 * recorded ones whole and from the right port, which are repeats and not counted. It
 * prints how many datagrams each port got of the former, and how many were recorded. What
 * it has recorded it leaves in FILE. If that is there already, it was recorded from
 * another job: COUNT of these are sent, whole and from the right port, and all have to be
 * dropped. Raw sockets need root. All is on the loopback.
 */
#include <arpa/inet.h>
#include <netinet/in.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <time.h>

enum {
    RECORDS = 256,
    LONGEST = 9000,
    UDP_HEADER = 8,
    PROCESS_AT = 8, /* offsets in a datagram of dgram (docs/dgram.md) */
    VERSION_AT = 40,
    HEADER = 48,
    KINDS = 6,
    BATCH = 64,
};

struct record {
    int from; /* which of the two ports */
    int length;
    uint8_t bytes[LONGEST];
};

static struct record records[RECORDS];
static int record_count;
static uint16_t ports[2]; /* as on the wire */
static int raw;
static struct sockaddr_in to;
static uint64_t state = 88172645463325252u;

static uint32_t draw(uint32_t below)
{
    state ^= state << 13;
    state ^= state >> 7;
    state ^= state << 17;
    return (uint32_t)(state >> 32) % below;
}

static double now(void)
{
    struct timespec time;

    clock_gettime(CLOCK_MONOTONIC, &time);
    return (double)time.tv_sec + (double)time.tv_nsec / 1e9;
}

/* What came on a raw socket has the headers of IP and UDP before it. */
static void record_one(const uint8_t *packet, long length)
{
    const int before = (packet[0] & 15) * 4 + UDP_HEADER;
    struct record *record = &records[record_count];
    uint16_t source;
    uint16_t target;

    memcpy(&source, packet + before - UDP_HEADER, 2);
    memcpy(&target, packet + before - UDP_HEADER + 2, 2);
    record->from = source == ports[0] ? 0 : 1;
    if (source != ports[record->from] || target != ports[1 - record->from] ||
        length < before + HEADER || length > before + LONGEST) {
        return;
    }
    record->length = (int)length - before;
    memcpy(record->bytes, packet + before, (size_t)record->length);
    record_count++;
}

static void record_all(double seconds)
{
    static uint8_t packet[70000];
    const struct timeval patience = {.tv_usec = 100000};
    const double end = now() + seconds;

    setsockopt(raw, SOL_SOCKET, SO_RCVTIMEO, &patience, sizeof(patience));
    while (record_count < RECORDS && now() < end) {
        const long length = recv(raw, packet, sizeof(packet), 0);

        if (length > 20) {
            record_one(packet, length);
        }
    }
}

/* A datagram that is to be sent: header of UDP and bytes. */
struct shot {
    uint16_t header[UDP_HEADER / 2];
    uint8_t bytes[LONGEST];
    size_t length;
};

static void fill_random(uint8_t *bytes, size_t length)
{
    for (size_t i = 0; i < length; i++) {
        bytes[i] = (uint8_t)draw(256);
    }
}

/* Returns which of the ports it goes to. */
static int make(struct shot *shot, int kind)
{
    const struct record *record = &records[draw((uint32_t)record_count)];
    int target = 1 - record->from;
    uint16_t source = ports[record->from];

    shot->length = (size_t)record->length;
    memcpy(shot->bytes, record->bytes, shot->length);
    switch (kind) {
    case 0:
        shot->length = 1 + draw(200);
        fill_random(shot->bytes, shot->length);
        source = htons((uint16_t)(1024 + draw(60000)));
        break;
    case 1:
        shot->length = HEADER + draw(200);
        fill_random(shot->bytes, shot->length);
        memcpy(shot->bytes + PROCESS_AT, record->bytes + PROCESS_AT, 8);
        shot->bytes[VERSION_AT] = record->bytes[VERSION_AT];
        break;
    case 2:
        shot->bytes[draw(HEADER)] ^= (uint8_t)(1 + draw(255));
        break;
    case 3:
        shot->length = 1 + draw((uint32_t)record->length - 1);
        break;
    case 4:
        target = record->from;
        break;
    case 5:
        source = htons((uint16_t)(1024 + draw(60000)));
        source = source == ports[1 - target] ? htons(9) : source;
        break;
    default: /* a repeat */
        break;
    }
    shot->header[0] = source;
    shot->header[1] = ports[target];
    shot->header[2] = htons((uint16_t)(UDP_HEADER + shot->length));
    shot->header[3] = 0; /* no checksum */
    return target;
}

/* Sends so many of that kind, and adds up where they went. */
static void send_kind(int kind, long count, double end, long sent[2])
{
    static struct shot shots[BATCH];
    static struct iovec pieces[BATCH][2];
    static struct mmsghdr messages[BATCH];
    int targets[BATCH];

    for (long all = 0; all < count && now() < end; all += BATCH) {
        int taken;

        for (int i = 0; i < BATCH; i++) {
            targets[i] = make(&shots[i], kind);
            pieces[i][0] = (struct iovec){shots[i].header, UDP_HEADER};
            pieces[i][1] = (struct iovec){shots[i].bytes, shots[i].length};
            messages[i].msg_hdr = (struct msghdr){.msg_name = &to,
                                                  .msg_namelen = sizeof(to),
                                                  .msg_iov = pieces[i],
                                                  .msg_iovlen = 2};
        }
        taken = sendmmsg(raw, messages, BATCH, 0);
        for (int i = 0; i < taken; i++) {
            sent[targets[i]]++;
        }
    }
}

static void forge(long count, double seconds, long sent[2])
{
    const double begin = now();
    long again[2] = {0, 0};

    for (int kind = 0; kind < KINDS; kind++) {
        send_kind(kind, count / KINDS, begin + seconds * (kind + 1) / KINDS, sent);
    }
    send_kind(KINDS, count / 100, begin + seconds + 1, again);
}

/* Reads the records of another job; false: there are none. */
static bool load(const char *name)
{
    FILE *file = fopen(name, "rb");

    if (file == NULL) {
        return false;
    }
    record_count = (int)fread(records, sizeof(records[0]), RECORDS, file);
    fclose(file);
    return true;
}

static void save(const char *name)
{
    FILE *file = fopen(name, "wb");

    if (file == NULL ||
        fwrite(records, sizeof(records[0]), (size_t)record_count, file) == 0 ||
        fclose(file) != 0) {
        perror("forger: FILE");
        exit(1);
    }
}

int main(int argc, char **argv)
{
    long sent[2] = {0, 0};
    bool is_next;
    long count;

    if (argc < 7 || inet_pton(AF_INET, argv[1], &to.sin_addr) != 1) {
        return 2;
    }
    raw = socket(AF_INET, SOCK_RAW, IPPROTO_UDP);
    if (raw < 0) {
        perror("forger: raw socket");
        return 77;
    }
    to.sin_family = AF_INET;
    ports[0] = htons((uint16_t)atoi(argv[2]));
    ports[1] = htons((uint16_t)atoi(argv[3]));
    count = atol(argv[4]);
    is_next = load(argv[6]);
    if (!is_next) {
        record_all(10);
    }
    if (record_count == 0) {
        fprintf(stderr, "forger: nothing was recorded\n");
        return 1;
    }
    shutdown(raw, SHUT_RD);
    if (is_next) {
        send_kind(KINDS, count, now() + atof(argv[5]), sent);
    } else {
        save(argv[6]);
        forge(count, atof(argv[5]), sent);
    }
    printf("%ld %ld %d\n", sent[0], sent[1], record_count);
    return 0;
}
