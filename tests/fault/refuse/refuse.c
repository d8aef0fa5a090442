/*
 * refuse.c - a library for LD_PRELOAD: pipes and stream sockets of mpiexec, of its
 * daemons and of the wire-up of ranks that refuse a call, or take only half of it.
 *
 * REFUSE says when, for each process by itself:
 *
 *   REFUSE="SEED RATE"   one call in RATE, at random from SEED
 *   REFUSE="@K"          the K-th call alone
 *
 * A refused call on a descriptor that does not block fails with EAGAIN or moves half of
 * its bytes; on one that blocks it moves half of its bytes, as after a signal. What a
 * caller may rely on stays so: the call behind an EAGAIN is not refused; a write of up to
 * PIPE_BUF bytes to a pipe is taken whole; and a descriptor that an epoll set watches
 * with EPOLLET, whose caller waits for an edge after EAGAIN, moves half of the bytes
 * instead. Sockets of messages, such as SOCK_SEQPACKET, are left alone.
 *
 * In a rank only what Weft does with UNIX sockets is refused: PMI, and how the ranks of a
 * node meet. In other programs that mpiexec has started, such as ssh or a shell, nothing
 * is refused.
 *
 * REFUSE_LOG names a file to which each process appends a line for each kind of refusal
 * that it has met: who (mpiexec, daemon or rank), "pipe" or "socket", the system call,
 * and "again" or "half".
 */
#include <dlfcn.h>
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/uio.h>
#include <unistd.h>

enum { DESCRIPTORS = 65536, PIECES = 64 };

enum who { NOBODY, MPIEXEC, DAEMON, RANK };
enum call {
    WRITE,
    WRITEV,
    SEND,
    SENDTO,
    SENDMSG,
    READ,
    READV,
    RECV,
    RECVFROM,
    RECVMSG,
    CALLS
};
enum answer { WHOLE, HALF, AGAIN, ANSWERS };

static const char *const who_names[] = {"nobody", "mpiexec", "daemon", "rank"};
static const char *const call_names[CALLS] = {"write",    "writev", "send",  "sendto",
                                              "sendmsg",  "read",   "readv", "recv",
                                              "recvfrom", "recvmsg"};
static const char *const answer_names[ANSWERS] = {"whole", "half", "again"};

static struct {
    enum who who;
    uint64_t seed;
    uint64_t rate; /* 0: the call number `only` alone */
    uint64_t only;
    const char *log;
} settings;

static _Atomic uint64_t calls;
static _Atomic bool has_refused[2][DESCRIPTORS]; /* the last call: to write, to read */
static _Atomic bool is_edge[DESCRIPTORS];
static _Atomic bool is_logged[2][CALLS][ANSWERS];

/* ---- what this process is ---- */

static bool is_name_of(const char *path, const char *name)
{
    const char *slash = strrchr(path, '/');

    return strcmp(slash != NULL ? slash + 1 : path, name) == 0;
}

static enum who who_we_are(void)
{
    char path[4096];
    char words[4096];
    const ssize_t n = readlink("/proc/self/exe", path, sizeof(path) - 1);
    const int fd = open("/proc/self/cmdline", O_RDONLY | O_CLOEXEC);
    const ssize_t bytes = fd >= 0 ? syscall(SYS_read, fd, words, sizeof(words)) : -1;

    if (fd >= 0) {
        close(fd);
    }
    path[n > 0 ? n : 0] = '\0';
    if (is_name_of(path, "mpiexec")) {
        const char option[] = "--weft-daemon";

        return bytes > 0 &&
                       memmem(words, (size_t)bytes, option, sizeof(option) - 1) != NULL
                   ? DAEMON
                   : MPIEXEC;
    }
    return getenv("PMI_FD") != NULL ? RANK : NOBODY;
}

/* Processes with the same seed refuse different calls. */
static uint64_t mix(uint64_t x)
{
    x += UINT64_C(0x9e3779b97f4a7c15);
    x = (x ^ (x >> 30)) * UINT64_C(0xbf58476d1ce4e5b9);
    x = (x ^ (x >> 27)) * UINT64_C(0x94d049bb133111eb);
    return x ^ (x >> 31);
}

__attribute__((constructor)) static void begin(void)
{
    const char *text = getenv("REFUSE");
    const char *rank = getenv("PMI_RANK");
    unsigned long long seed = 0;
    unsigned long long number = 0;

    if (text == NULL) {
        return;
    }
    if (sscanf(text, "@%llu", &number) == 1) {
        settings.only = number;
    } else if (sscanf(text, "%llu %llu", &seed, &number) == 2 && number > 0) {
        settings.rate = number;
    } else {
        return;
    }
    settings.log = getenv("REFUSE_LOG");
    settings.who = who_we_are();
    settings.seed = mix(seed) ^ mix((uint64_t)settings.who +
                                    4 * (rank != NULL ? strtoull(rank, NULL, 10) : 0));
}

/* ---- which calls are refused ---- */

static bool is_read(enum call call)
{
    return call >= READ;
}

/* `*is_again`: EAGAIN rather than half of the bytes, if the call may have either. */
static bool is_due(bool *is_again)
{
    const uint64_t number =
        atomic_fetch_add_explicit(&calls, 1, memory_order_relaxed) + 1;
    const uint64_t dice = mix(settings.seed + number);

    *is_again = settings.rate == 0 || (dice >> 32) % 2 == 0;
    return settings.rate == 0 ? number == settings.only : dice % settings.rate == 0;
}

/* "pipe", "socket", or NULL: a descriptor that is left alone. */
static const char *kind_of(int fd)
{
    struct stat st;
    int type = 0;
    int domain = 0;
    socklen_t length = sizeof(type);

    if (fstat(fd, &st) != 0) {
        return NULL;
    }
    if (S_ISFIFO(st.st_mode)) {
        return settings.who == RANK ? NULL : "pipe";
    }
    if (!S_ISSOCK(st.st_mode) ||
        getsockopt(fd, SOL_SOCKET, SO_TYPE, &type, &length) != 0 || type != SOCK_STREAM) {
        return NULL;
    }
    length = sizeof(domain);
    if (settings.who == RANK &&
        (getsockopt(fd, SOL_SOCKET, SO_DOMAIN, &domain, &length) != 0 ||
         domain != AF_UNIX)) {
        return NULL;
    }
    return "socket";
}

/* In a rank: Weft itself, in its library or in a program that has the wire-up in it. */
static bool is_weft(const void *caller)
{
    Dl_info info;

    return dladdr(caller, &info) != 0 && info.dli_fname != NULL &&
           (strstr(info.dli_fname, "/libmpi_abi.so") != NULL ||
            strstr(info.dli_fname, ".so") == NULL);
}

static void note(const char *kind, enum call call, enum answer answer)
{
    char line[128];
    int fd;
    int n;

    if (settings.log == NULL ||
        atomic_exchange_explicit(&is_logged[kind[0] == 'p'][call][answer], true,
                                 memory_order_relaxed)) {
        return;
    }
    fd = open(settings.log, O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC, 0666);
    n = snprintf(line, sizeof(line), "%s %s %s %s\n", who_names[settings.who], kind,
                 call_names[call], answer_names[answer]);
    if (fd >= 0) {
        (void)!syscall(SYS_write, fd, line, (size_t)n);
        close(fd);
    }
}

/* Decides whether a call passes, is cut short or is refused. It leaves errno alone. */
static enum answer answer_to(int fd, enum call call, size_t bytes, int flags,
                             const void *caller)
{
    const int error = errno;
    const char *kind;
    enum answer answer = WHOLE;
    bool is_again;
    bool is_short;

    if (settings.who == NOBODY || fd < 0 || fd >= DESCRIPTORS || bytes == 0 ||
        (flags & (MSG_PEEK | MSG_WAITALL | MSG_OOB | MSG_ERRQUEUE)) != 0) {
        return WHOLE;
    }
    if (atomic_exchange_explicit(&has_refused[is_read(call)][fd], false,
                                 memory_order_relaxed) ||
        (kind = kind_of(fd)) == NULL || (settings.who == RANK && !is_weft(caller)) ||
        !is_due(&is_again)) {
        errno = error;
        return WHOLE;
    }
    is_short = bytes > 1 && (is_read(call) || kind[0] != 'p' || bytes > PIPE_BUF);
    if (((flags & MSG_DONTWAIT) != 0 || (fcntl(fd, F_GETFL) & O_NONBLOCK) != 0) &&
        !atomic_load_explicit(&is_edge[fd], memory_order_relaxed) &&
        (is_again || !is_short)) {
        answer = AGAIN;
        atomic_store_explicit(&has_refused[is_read(call)][fd], true,
                              memory_order_relaxed);
    } else if (is_short) {
        answer = HALF;
    }
    if (answer != WHOLE) {
        note(kind, call, answer);
    }
    errno = answer == AGAIN ? EAGAIN : error;
    return answer;
}

/* ---- the calls ---- */

#define CALLER __builtin_return_address(0)

static ssize_t plain(long number, int fd, void *at, size_t bytes, enum call call,
                     const void *caller)
{
    const enum answer answer = answer_to(fd, call, bytes, 0, caller);

    return answer == AGAIN ? -1
                           : syscall(number, fd, at, answer == HALF ? bytes / 2 : bytes);
}

ssize_t write(int fd, const void *from, size_t bytes)
{
    return plain(SYS_write, fd, (void *)(uintptr_t)from, bytes, WRITE, CALLER);
}

ssize_t read(int fd, void *to, size_t bytes)
{
    return plain(SYS_read, fd, to, bytes, READ, CALLER);
}

static ssize_t sent(int fd, const void *from, size_t bytes, int flags,
                    const struct sockaddr *to, socklen_t length, enum call call,
                    const void *caller)
{
    const enum answer answer = answer_to(fd, call, bytes, flags, caller);

    return answer == AGAIN
               ? -1
               : syscall(SYS_sendto, fd, from, answer == HALF ? bytes / 2 : bytes, flags,
                         to, length);
}

ssize_t send(int fd, const void *from, size_t bytes, int flags)
{
    return sent(fd, from, bytes, flags, NULL, 0, SEND, CALLER);
}

ssize_t sendto(int fd, const void *from, size_t bytes, int flags,
               const struct sockaddr *to, socklen_t length)
{
    return sent(fd, from, bytes, flags, to, length, SENDTO, CALLER);
}

static ssize_t received(int fd, void *to, size_t bytes, int flags, struct sockaddr *from,
                        socklen_t *length, enum call call, const void *caller)
{
    const enum answer answer = answer_to(fd, call, bytes, flags, caller);

    return answer == AGAIN
               ? -1
               : syscall(SYS_recvfrom, fd, to, answer == HALF ? bytes / 2 : bytes, flags,
                         from, length);
}

ssize_t recv(int fd, void *to, size_t bytes, int flags)
{
    return received(fd, to, bytes, flags, NULL, NULL, RECV, CALLER);
}

ssize_t recvfrom(int fd, void *to, size_t bytes, int flags, struct sockaddr *from,
                 socklen_t *length)
{
    return received(fd, to, bytes, flags, from, length, RECVFROM, CALLER);
}

static size_t bytes_in(const struct iovec *at, size_t count)
{
    size_t bytes = 0;

    for (size_t i = 0; i < count; i++) {
        bytes += at[i].iov_len;
    }
    return bytes;
}

/* The pieces of `at` up to so many bytes; returns how many pieces these are. */
static size_t cut(const struct iovec *at, size_t bytes, struct iovec *into)
{
    size_t count = 0;

    while (bytes > 0 && count < PIECES) {
        into[count] = at[count];
        into[count].iov_len = at[count].iov_len < bytes ? at[count].iov_len : bytes;
        bytes -= into[count].iov_len;
        count++;
    }
    return count;
}

static ssize_t vector(long number, int fd, const struct iovec *at, int count,
                      enum call call, const void *caller)
{
    const size_t bytes = bytes_in(at, (size_t)count);
    const enum answer answer = answer_to(fd, call, bytes, 0, caller);
    struct iovec half[PIECES];

    if (answer == HALF) {
        count = (int)cut(at, bytes / 2, half);
        at = half;
    }
    return answer == AGAIN ? -1 : syscall(number, fd, at, count);
}

ssize_t writev(int fd, const struct iovec *at, int count)
{
    return vector(SYS_writev, fd, at, count, WRITEV, CALLER);
}

ssize_t readv(int fd, const struct iovec *at, int count)
{
    return vector(SYS_readv, fd, at, count, READV, CALLER);
}

/* What comes with a message, such as a descriptor, goes with its first half. */
static ssize_t message(long number, int fd, struct msghdr *message, int flags,
                       enum call call, const void *caller)
{
    const size_t bytes = bytes_in(message->msg_iov, message->msg_iovlen);
    const enum answer answer = answer_to(fd, call, bytes, flags, caller);
    struct iovec *const at = message->msg_iov;
    const size_t count = message->msg_iovlen;
    struct iovec half[PIECES];
    ssize_t n;

    if (answer == AGAIN) {
        return -1;
    }
    if (answer == HALF) {
        message->msg_iovlen = cut(at, bytes / 2, half);
        message->msg_iov = half;
    }
    n = syscall(number, fd, message, flags);
    message->msg_iov = at;
    message->msg_iovlen = count;
    return n;
}

ssize_t sendmsg(int fd, const struct msghdr *given, int flags)
{
    struct msghdr copy = *given;

    return message(SYS_sendmsg, fd, &copy, flags, SENDMSG, CALLER);
}

ssize_t recvmsg(int fd, struct msghdr *given, int flags)
{
    return message(SYS_recvmsg, fd, given, flags, RECVMSG, CALLER);
}

/* _FORTIFY_SOURCE calls these two in place of read() and recv(). */
ssize_t __read_chk(int fd, void *to, size_t bytes, size_t room);
ssize_t __recv_chk(int fd, void *to, size_t bytes, size_t room, int flags);

ssize_t __read_chk(int fd, void *to, size_t bytes, size_t room)
{
    if (bytes > room) {
        abort();
    }
    return plain(SYS_read, fd, to, bytes, READ, CALLER);
}

ssize_t __recv_chk(int fd, void *to, size_t bytes, size_t room, int flags)
{
    if (bytes > room) {
        abort();
    }
    return received(fd, to, bytes, flags, NULL, NULL, RECV, CALLER);
}

int epoll_ctl(int epoll, int operation, int fd, struct epoll_event *event)
{
    if (fd >= 0 && fd < DESCRIPTORS) {
        atomic_store_explicit(&is_edge[fd],
                              operation != EPOLL_CTL_DEL && event != NULL &&
                                  (event->events & EPOLLET) != 0,
                              memory_order_relaxed);
    }
    return (int)syscall(SYS_epoll_ctl, epoll, operation, fd, event);
}
