/* floor_endpoints: bandwidth of datagrams from 1, 2, 4 and 8 sockets of one process,
 * without MPI: the UD paper's Figure 2, which has queue pairs instead.
 *
 *   floor_endpoints -s ADDR PORT   the receiving end, at its own ADDR (start it first)
 *   floor_endpoints -c ADDR PORT   the sending end, which reports
 *
 * The sender takes its sockets in turn, for each a train of 44 datagrams of 1,472 bytes
 * by one call (UDP_SEGMENT). The receiver has one socket, takes trains as they come
 * (UDP_GRO), and says after each ACK bytes how many have come; WINDOW of them are under
 * way. What is lost counts as under way until SILENCE has passed without a word.
 *
 * Then from one socket with parts of what Weft's datagrams do besides, at both ends: a
 * copy of the payload, CRC-32C of it, and a tag (SipHash-2-4) over the header of 48
 * bytes. For these, bytes of the program are streamed through; nothing is checked against
 * a secret.
 *
 *   cc -O2 -I ../src -o floor_endpoints floor_endpoints.c ../src/base/crc32c.c -lsodium
 */
#define _GNU_SOURCE
#include "base/crc32c.h"
#include <arpa/inet.h>
#include <netinet/udp.h>
#include <sched.h>
#include <sodium.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <time.h>
#include <unistd.h>

enum { BYTES = 1472, TRAIN = 44 * BYTES, WINDOW = 2 * TRAIN, ACK = 32 * 1024, MOST = 8 };
static const double SECONDS = 0.3, SILENCE = 0.002;
enum { HEADER = 48, COPY = 1, CRC = 2, TAG = 4 };
static char block[65536], copy[65536];
static uint8_t key[crypto_shorthash_KEYBYTES], tag[crypto_shorthash_BYTES];
static volatile uint32_t sink;

/* What each datagram of a train costs besides. */
static void work_on(const char *at, size_t n, unsigned parts)
{
    for (; n > HEADER; at += BYTES) {
        size_t one = n < BYTES ? n : BYTES;
        if (parts & COPY)
            memcpy(copy, at + HEADER, one - HEADER);
        if (parts & CRC)
            sink = weft_crc32c(at + HEADER, one - HEADER);
        if (parts & TAG)
            crypto_shorthash(tag, (const uint8_t *)at, HEADER, key);
        n -= one;
    }
}

static double now(void)
{
    struct timespec s;
    clock_gettime(CLOCK_MONOTONIC, &s);
    return (double)s.tv_sec + 1e-9 * (double)s.tv_nsec;
}

static int open_socket(const struct sockaddr_in *at)
{
    int fd = socket(AF_INET, SOCK_DGRAM, 0), one = 1, room = 1 << 22;
    setsockopt(fd, SOL_SOCKET, SO_RCVBUF, &room, sizeof room);
    setsockopt(fd, IPPROTO_UDP, UDP_GRO, &one, sizeof one);
    if (fd < 0 || (at && bind(fd, (const void *)at, sizeof *at))) {
        perror("socket");
        exit(1);
    }
    return fd;
}

/* A datagram of 8 bytes asks for the count to begin anew, with those parts; one of 1 byte
 * for the end. */
static void receive(const struct sockaddr_in *at)
{
    int fd = open_socket(at);
    uint64_t all = 0, told = 0, parts = 0;
    for (;;) {
        struct sockaddr_in from;
        socklen_t length = sizeof from;
        ssize_t n =
            recvfrom(fd, block, sizeof block, MSG_DONTWAIT, (void *)&from, &length);
        if (n == 1)
            return;
        if (n == 8) {
            memcpy(&parts, block, 8);
            all = told = 0;
        } else if (n > 0) {
            work_on(block, (size_t)n, (unsigned)parts);
            all += (uint64_t)n;
        }
        if (n == 8 || all - told >= ACK) {
            told = all;
            sendto(fd, &all, sizeof all, 0, (void *)&from, length);
        }
    }
}

static void train(int fd, const struct sockaddr_in *to)
{
    _Alignas(struct cmsghdr) char control[CMSG_SPACE(2)] = {0};
    struct iovec piece = {block, TRAIN};
    struct msghdr m = {.msg_name = (void *)to,
                       .msg_namelen = sizeof *to,
                       .msg_iov = &piece,
                       .msg_iovlen = 1,
                       .msg_control = control,
                       .msg_controllen = sizeof control};
    struct cmsghdr *c = (void *)control;
    uint16_t segment = BYTES;
    c->cmsg_level = IPPROTO_UDP, c->cmsg_type = UDP_SEGMENT, c->cmsg_len = CMSG_LEN(2);
    memcpy(CMSG_DATA(c), &segment, 2);
    sendmsg(fd, &m, 0);
}

static double measure(int *fds, int count, uint64_t parts, const struct sockaddr_in *to)
{
    uint64_t sent = 0, come = 0, got;
    double begin, heard;
    sendto(fds[0], &parts, 8, 0, (const void *)to, sizeof *to);
    usleep(2000);
    for (int i = 0; i < count; i++)
        while (recv(fds[i], &got, 8, MSG_DONTWAIT) == 8)
            ;
    begin = heard = now();
    for (int turn = 0; now() - begin < SECONDS; turn++) {
        work_on(block, TRAIN, (unsigned)parts);
        train(fds[turn % count], to);
        sent += TRAIN;
        while (sent - come >= WINDOW) {
            for (int i = 0; i < count; i++)
                while (recv(fds[i], &got, 8, MSG_DONTWAIT) == 8)
                    come = got > come ? got : come, heard = now();
            if (now() - heard > SILENCE) /* some were lost */
                sent = come, heard = now();
        }
    }
    return (double)come / (now() - begin) / 1e6;
}

int main(int argc, char **argv)
{
    struct sockaddr_in at = {.sin_family = AF_INET};
    int fds[MOST], is_sender = argc > 3 && argv[1][1] == 'c';
    cpu_set_t c;
    if (argc < 4 || inet_pton(AF_INET, argv[2], &at.sin_addr) != 1)
        return 2;
    at.sin_port = htons((uint16_t)atoi(argv[3]));
    CPU_ZERO(&c);
    CPU_SET(is_sender ? 0 : 1, &c);
    sched_setaffinity(0, sizeof c, &c);
    if (!is_sender) {
        receive(&at);
        return 0;
    }
    for (int i = 0; i < MOST; i++)
        fds[i] = open_socket(NULL);
    for (int count = 1; count <= MOST; count *= 2)
        printf("endpoints\t%d\t%.4g\tMB/s\n", count, measure(fds, count, 0, &at));
    for (int i = 0; i < 5; i++) {
        static const char *const names[] = {"bare", "copies", "copies and crc",
                                            "copies and tag", "copies, crc and tag"};
        static const unsigned parts[] = {0, COPY, COPY | CRC, COPY | TAG,
                                         COPY | CRC | TAG};
        printf("reliability\t%s\t%.4g\tMB/s\n", names[i], measure(fds, 1, parts[i], &at));
    }
    sendto(fds[0], "", 1, 0, (void *)&at, sizeof at);
    return 0;
}
