#include "notice.h"

#include <signal.h>
#include <sys/mman.h>
#include <unistd.h>

struct head {
    uint32_t kind;
    uint32_t bytes;
};

static struct {
    int fd;
    pid_t front;
    off_t
        end; /* the keeper's: behind the last notice; the front's: behind what it took */
} notices = {.fd = -1};

void notice_open(void)
{
    notices.fd = memfd_create("weft-notices", MFD_CLOEXEC);
    notices.front = getpid();
}

int notice_signal(void)
{
    return SIGRTMIN;
}

void notice_send(enum notice_kind kind, const void *payload, size_t bytes)
{
    const struct head head = {.kind = kind, .bytes = (uint32_t)bytes};
    const off_t at = notices.end + (off_t)sizeof(head);

    if (notices.fd < 0 || bytes > UINT32_MAX || getppid() != notices.front ||
        pwrite(notices.fd, payload, bytes, at) != (ssize_t)bytes ||
        pwrite(notices.fd, &head, sizeof(head), notices.end) != sizeof(head)) {
        return;
    }
    notices.end = at + (off_t)bytes;
    kill(notices.front, notice_signal());
}

bool notice_take(enum notice_kind *kind, struct bytes *payload)
{
    struct head head;
    char part[4096];

    payload->count = 0;
    if (notices.fd < 0 ||
        pread(notices.fd, &head, sizeof(head), notices.end) != sizeof(head) ||
        head.kind == 0) {
        return false;
    }
    notices.end += (off_t)sizeof(head);
    while (payload->count < head.bytes) {
        const size_t left = head.bytes - payload->count;
        const ssize_t n = pread(notices.fd, part,
                                left < sizeof(part) ? left : sizeof(part), notices.end);

        if (n <= 0) {
            return false;
        }
        bytes_add(payload, part, (size_t)n);
        notices.end += n;
    }
    *kind = (enum notice_kind)head.kind;
    return true;
}
