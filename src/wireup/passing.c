#include "wireup/passing.h"

#include <string.h>
#include <sys/socket.h>

ssize_t weft_pass_descriptor(int to, const void *bytes, size_t size, int fd, int flags)
{
    struct iovec data = {.iov_base = (void *)(size_t)bytes, .iov_len = size};
    _Alignas(struct cmsghdr) char control[CMSG_SPACE(sizeof(int))] = {0};
    struct msghdr message = {
        .msg_iov = &data,
        .msg_iovlen = 1,
        .msg_control = control,
        .msg_controllen = sizeof(control),
    };
    struct cmsghdr *header = CMSG_FIRSTHDR(&message);

    header->cmsg_level = SOL_SOCKET;
    header->cmsg_type = SCM_RIGHTS;
    header->cmsg_len = CMSG_LEN(sizeof(int));
    memcpy(CMSG_DATA(header), &fd, sizeof(int));
    return sendmsg(to, &message, flags | MSG_NOSIGNAL);
}

ssize_t weft_take_descriptor(int from, void *bytes, size_t size, int *fd)
{
    struct iovec data = {.iov_base = bytes, .iov_len = size};
    _Alignas(struct cmsghdr) char control[CMSG_SPACE(sizeof(int))] = {0};
    struct msghdr message = {
        .msg_iov = &data,
        .msg_iovlen = 1,
        .msg_control = control,
        .msg_controllen = sizeof(control),
    };
    const struct cmsghdr *header;
    ssize_t n = recvmsg(from, &message, MSG_CMSG_CLOEXEC);

    *fd = -1;
    header = n >= 0 ? CMSG_FIRSTHDR(&message) : NULL;
    if (header != NULL && header->cmsg_level == SOL_SOCKET &&
        header->cmsg_type == SCM_RIGHTS && header->cmsg_len == CMSG_LEN(sizeof(int))) {
        memcpy(fd, CMSG_DATA(header), sizeof(int));
    }
    return n;
}
