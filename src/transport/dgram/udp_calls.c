#include "transport/dgram/udp.h"

#include <sys/syscall.h>
#include <unistd.h>

/* A datagram in one piece takes 0.1 us less by sendto() than by sendmsg(). */
long weft_udp_call_send(int fd, const struct msghdr *message)
{
    const struct iovec *pieces = message->msg_iov;
    const int flags = MSG_DONTWAIT | MSG_NOSIGNAL;
    size_t count = message->msg_iovlen;

    while (count > 1 && pieces[count - 1].iov_len == 0) {
        count--;
    }
    return count == 1 && message->msg_control == NULL
               ? syscall(SYS_sendto, fd, pieces[0].iov_base, pieces[0].iov_len, flags,
                         message->msg_name, message->msg_namelen)
               : syscall(SYS_sendmsg, fd, message, flags);
}

int weft_udp_call_receive(int fd, struct mmsghdr *list, unsigned most)
{
    long length;

    if (most > 1) {
        return (int)syscall(SYS_recvmmsg, fd, list, most, MSG_DONTWAIT, NULL);
    }
    length = syscall(SYS_recvmsg, fd, &list[0].msg_hdr, MSG_DONTWAIT);
    list[0].msg_len = length < 0 ? 0 : (unsigned)length;
    return length < 0 ? -1 : 1;
}
