#include "transport/ofi/quirks/filter.h"

#include "base/log.h"

#include <errno.h>
#include <linux/filter.h>
#include <linux/tcp.h>
#include <netinet/in.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/time.h>

enum {
    READ_US = 1000, /* a read that waits all the same, where there is no filter */
    DEFER_SECONDS = 30,
    TCP_HEAD = 32, /* in front of a request's data, of libfabric's tcp */
    TCP_VERSION = 3,
    REQUEST_LEAST = TCP_HEAD + WEFT_TOKEN_BYTES,
};

static uint32_t word_of(const uint8_t *bytes)
{
    return (uint32_t)bytes[0] << 24 | (uint32_t)bytes[1] << 16 | (uint32_t)bytes[2] << 8 |
           (uint32_t)bytes[3];
}

/*
 * Lets the packets pass that begin a connection or reset it, and those that are one whole
 * request of libfabric's tcp: a head with its version, type 0 and the length of what
 * follows, then our token. A packet begins with the header of TCP. If something is read
 * beyond its end, it is dropped, too.
 */
static bool attach_filter(int fd, const uint8_t token[WEFT_TOKEN_BYTES])
{
    enum { HEADER, DATA, SYN = 2, RST = 4 }; /* where lengths are kept; flags */
    struct sock_filter code[] = {
        BPF_STMT(BPF_LD | BPF_B | BPF_ABS, 13),
        BPF_JUMP(BPF_JMP | BPF_JSET | BPF_K, SYN | RST, 19, 0),
        BPF_STMT(BPF_LD | BPF_B | BPF_ABS, 12), /* the length of TCP's header, in words */
        BPF_STMT(BPF_ALU | BPF_AND | BPF_K, 0xf0),
        BPF_STMT(BPF_ALU | BPF_RSH | BPF_K, 2),
        BPF_STMT(BPF_ST, HEADER),
        BPF_STMT(BPF_LDX | BPF_MEM, HEADER),
        BPF_STMT(BPF_LD | BPF_W | BPF_LEN, 0),
        BPF_STMT(BPF_ALU | BPF_SUB | BPF_X, 0),
        BPF_STMT(BPF_ST, DATA),
        BPF_STMT(BPF_LD | BPF_W | BPF_IND, 0), /* version, type, length of the data */
        BPF_STMT(BPF_ALU | BPF_SUB | BPF_K, (uint32_t)TCP_VERSION << 24),
        BPF_STMT(BPF_ALU | BPF_ADD | BPF_K, TCP_HEAD),
        BPF_STMT(BPF_LDX | BPF_MEM, DATA),
        BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_X, 0, 0, 5),
        BPF_STMT(BPF_LDX | BPF_MEM, HEADER),
        BPF_STMT(BPF_LD | BPF_W | BPF_IND, TCP_HEAD),
        BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, word_of(token), 0, 2),
        BPF_STMT(BPF_LD | BPF_W | BPF_IND, TCP_HEAD + 4),
        BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, word_of(token + 4), 1, 0),
        BPF_STMT(BPF_RET | BPF_K, 0),
        BPF_STMT(BPF_RET | BPF_K, UINT32_MAX),
    };
    const struct sock_fprog program = {.len = sizeof(code) / sizeof(code[0]),
                                       .filter = code};

    _Static_assert(WEFT_TOKEN_BYTES == 8, "the filter compares two words");
    return setsockopt(fd, SOL_SOCKET, SO_ATTACH_FILTER, &program, sizeof(program)) == 0;
}

void weft_filter_attach(int fd, const uint8_t token[WEFT_TOKEN_BYTES])
{
    const struct timeval patience = {.tv_usec = READ_US};
    const int least = REQUEST_LEAST;
    const int seconds = DEFER_SECONDS;

    if (!attach_filter(fd, token)) {
        weft_log_info("no packet filter for listening sockets: %s", strerror(errno));
    }
    (void)setsockopt(fd, IPPROTO_TCP, TCP_DEFER_ACCEPT, &seconds, sizeof(seconds));
    (void)setsockopt(fd, SOL_SOCKET, SO_RCVLOWAT, &least, sizeof(least));
    (void)setsockopt(fd, SOL_SOCKET, SO_RCVTIMEO, &patience, sizeof(patience));
}

bool weft_filter_detach(int fd)
{
    const int least = 1;
    const int none = 0;

    if (setsockopt(fd, SOL_SOCKET, SO_RCVLOWAT, &least, sizeof(least)) != 0) {
        return false;
    }
    return setsockopt(fd, SOL_SOCKET, SO_DETACH_FILTER, &none, sizeof(none)) == 0 ||
           errno == ENOENT; /* none was attached */
}

static int get_option(int fd, int option)
{
    int value = -1;
    socklen_t bytes = sizeof(value);

    return getsockopt(fd, SOL_SOCKET, option, &value, &bytes) == 0 ? value : -1;
}

bool weft_filter_is_unknown(int fd)
{
    return get_option(fd, SO_ACCEPTCONN) == 0 &&
           get_option(fd, SO_RCVLOWAT) == REQUEST_LEAST;
}
