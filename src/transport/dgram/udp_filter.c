/* udp_filter.c - the kernel drops datagrams from outside the job: see udp.h. */
#include "base/process.h"
#include "transport/dgram/udp.h"
#include "transport/dgram/wire.h"

#include <linux/filter.h>
#include <string.h>

enum {
    UDP_HEAD = 8, /* in front of what was sent: the kernel counts from there */
    /* The upper half of `process`, as this process and its peers store it. */
    JOB = UDP_HEAD + offsetof(struct weft_dgram_header, process) +
          (__BYTE_ORDER__ == __ORDER_BIG_ENDIAN__ ? 0 : 4),
    VERSION = UDP_HEAD + offsetof(struct weft_dgram_header, version),
    LEAST = UDP_HEAD + sizeof(struct weft_dgram_header),
};

/* The number that a filter's load of a word, which is big-endian, has for the bytes that
 * `number` has in memory. */
static uint32_t word_of(uint32_t number)
{
    uint8_t bytes[4];

    memcpy(bytes, &number, sizeof(bytes));
    return (uint32_t)bytes[0] << 24 | (uint32_t)bytes[1] << 16 | (uint32_t)bytes[2] << 8 |
           (uint32_t)bytes[3];
}

bool weft_udp_filter(int fd, uint32_t job)
{
    struct sock_filter code[] = {
        BPF_STMT(BPF_LD | BPF_W | BPF_LEN, 0),
        BPF_JUMP(BPF_JMP | BPF_JGE | BPF_K, LEAST, 0, 5),
        BPF_STMT(BPF_LD | BPF_W | BPF_ABS, JOB),
        BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, word_of(job), 0, 3),
        BPF_STMT(BPF_LD | BPF_B | BPF_ABS, VERSION),
        BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, weft_dgram_version(), 0, 1),
        BPF_STMT(BPF_RET | BPF_K, UINT32_MAX),
        BPF_STMT(BPF_RET | BPF_K, 0),
    };
    const struct sock_fprog program = {.len = sizeof(code) / sizeof(code[0]),
                                       .filter = code};

    return setsockopt(fd, SOL_SOCKET, SO_ATTACH_FILTER, &program, sizeof(program)) == 0;
}
