/*
 * top.c - what weft-top asks: the root listens at an abstract socket with the process id
 * of mpiexec in its name, and answers whoever connects with a report of what ranks do.
 * Only the user of the job, and root, get one.
 */
#include "job_parts.h"

#include "top.h"

#include <string.h>
#include <sys/epoll.h>
#include <sys/socket.h>
#include <unistd.h>

/* A job that cannot be asked runs all the same. */
void job_open_top(struct job *job)
{
    struct sockaddr_un address;
    const socklen_t length = top_address(&address, getppid());
    const int fd = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);

    if (fd < 0) {
        return;
    }
    if (bind(fd, (struct sockaddr *)&address, length) != 0 ||
        listen(fd, SOMAXCONN) != 0) {
        close(fd);
        return;
    }
    job->top = fd;
    job_watch(job, fd, FROM_TOP, 0);
}

static bool is_allowed(int fd)
{
    struct ucred who;
    socklen_t length = sizeof(who);

    return getsockopt(fd, SOL_SOCKET, SO_PEERCRED, &who, &length) == 0 &&
           (who.uid == geteuid() || who.uid == 0);
}

void job_on_top(struct job *job)
{
    struct sockaddr_un from = {.sun_family = AF_UNIX};
    socklen_t length = sizeof(from);
    bool has_stacks;
    int fd;

    if (!job_hang_has_place(job)) {
        job->is_top_left_out = epoll_ctl(job->epoll, EPOLL_CTL_DEL, job->top, NULL) == 0;
        return;
    }
    fd = accept4(job->top, (struct sockaddr *)&from, &length,
                 SOCK_CLOEXEC | SOCK_NONBLOCK);
    has_stacks = length > offsetof(struct sockaddr_un, sun_path) + strlen(TOP_STACKS) &&
                 memcmp(from.sun_path + 1, TOP_STACKS, strlen(TOP_STACKS)) == 0;
    if (fd >= 0 && (!is_allowed(fd) || !job_hang_ask_for(job, fd, has_stacks))) {
        close(fd);
    }
}
