/* floor_udp: what datagrams cost without MPI, on a UDP socket, and on libfabric's udp
 * (FI_EP_DGRAM).
 *
 *   latency    half round trip; both ends spin, or both block; recvmsg, or recvmmsg of 16
 *   bandwidth  bytes that arrive, WINDOW of them under way: one call for each datagram;
 *              trains (gso: UDP_SEGMENT); blocks (gro: UDP_GRO); libfabric's one call
 *   cost       processor time of a datagram, without waiting; limit: the slower end's
 *   room       datagrams that the receive buffer holds while nobody reads
 *
 *   floor_udp                 both ends here, over 127.0.0.1
 *   floor_udp -s ADDR PORT    the answering end, at its own ADDR (start it first)
 *   floor_udp -c ADDR PORT    the asking end, which reports
 *
 * Names of ways behind PORT, the same for both ends, leave out the others.
 *
 * A TCP connection to PORT tells both ends where they are and when to begin.
 *
 *   cc -O2 -o floor_udp floor_udp.c -lfabric */
#define _GNU_SOURCE
#include <arpa/inet.h>
#include <errno.h>
#include <netinet/tcp.h>
#include <netinet/udp.h>
#include <poll.h>
#include <rdma/fabric.h>
#include <rdma/fi_cm.h>
#include <rdma/fi_domain.h>
#include <rdma/fi_endpoint.h>
#include <rdma/fi_errno.h>
#include <sched.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

enum {
    BATCHES = 41,
    ITERS = 200,
    BLOCK = 65536,
    BLOCKS = 16,
    WINDOW = 126 * 1024,
    ACK = 32 * 1024,
    RUNS = 15,
    POSTED = 256,
    FLOOD = 3000,
};
static const double SECONDS = 0.05, PATIENCE = 0.02;

static int ask, self, control, sock;
static struct sockaddr_in there;
static char *memory; /* BLOCKS blocks to receive into */
static char out[BLOCK];
static const char *latest; /* the message that came last */

static void die(const char *what)
{
    perror(what);
    exit(1);
}
static double now(void)
{
    struct timespec s;
    clock_gettime(CLOCK_MONOTONIC, &s);
    return s.tv_sec + 1e-9 * s.tv_nsec;
}
static int cmp(const void *a, const void *b)
{
    double x = *(double *)a, y = *(double *)b;
    return (x > y) - (x < y);
}
static void row(const char *what, const char *how, size_t n, double value,
                const char *unit)
{
    if (ask)
        printf("floor.udp.%s.%s\t%zuB\t%.4g\t%s\n", what, how, n, value, unit),
            fflush(stdout);
}
static void tell(const void *bytes, size_t n)
{
    if (send(control, bytes, n, MSG_NOSIGNAL) != (ssize_t)n)
        die("control");
}
static void hear(void *bytes, size_t n)
{
    if (recv(control, bytes, n, MSG_WAITALL) != (ssize_t)n)
        die("control");
}
static void meet(void)
{
    char c = 0;
    tell(&c, 1);
    hear(&c, 1);
}

/* ---- a socket ---- */

static void set(int level, int name, int value)
{
    if (setsockopt(sock, level, name, &value, sizeof value))
        die("setsockopt");
}
static void open_socket(struct in_addr own, int gro)
{
    struct sockaddr_in a = {.sin_family = AF_INET, .sin_addr = own};
    socklen_t len = sizeof a;
    sock = socket(AF_INET, SOCK_DGRAM, 0);
    if (sock < 0 || bind(sock, (void *)&a, len) || getsockname(sock, (void *)&a, &len))
        die("bind");
    if (gro)
        set(IPPROTO_UDP, UDP_GRO, 1);
    tell(&a, sizeof a);
    hear(&there, sizeof there);
}
static int put(size_t n, int segment, int flags)
{
    char c[CMSG_SPACE(sizeof(uint16_t))] = {0};
    struct iovec v = {out, n};
    struct msghdr m = {
        .msg_name = &there, .msg_namelen = sizeof there, .msg_iov = &v, .msg_iovlen = 1};
    if (segment) {
        struct cmsghdr *h = (void *)c;
        m.msg_control = c, m.msg_controllen = sizeof c;
        h->cmsg_level = IPPROTO_UDP, h->cmsg_type = UDP_SEGMENT,
        h->cmsg_len = CMSG_LEN(sizeof(uint16_t));
        *(uint16_t *)CMSG_DATA(h) = (uint16_t)segment;
    }
    if (sendmsg(sock, &m, flags) >= 0)
        return 1;
    if (errno != EAGAIN && errno != ENOBUFS)
        die("sendmsg");
    return 0;
}
/* Bytes that one call brings, of up to `most` messages; 0: none. `last` has the last
 * one's. */
static size_t get(int most, int flags, size_t *last)
{
    static struct mmsghdr m[BLOCKS];
    static struct iovec v[BLOCKS];
    static char c[BLOCKS][64];
    static struct sockaddr_in from[BLOCKS];
    size_t all = 0;
    int n;
    for (int i = 0; i < most; i++) {
        v[i] = (struct iovec){memory + (size_t)i * BLOCK, BLOCK};
        m[i].msg_hdr = (struct msghdr){.msg_name = &from[i],
                                       .msg_namelen = sizeof from[i],
                                       .msg_iov = &v[i],
                                       .msg_iovlen = 1,
                                       .msg_control = c[i],
                                       .msg_controllen = sizeof c[i]};
    }
    if (most == 1) {
        ssize_t r = recvmsg(sock, &m[0].msg_hdr, flags);
        n = r < 0 ? -1 : 1, m[0].msg_len = r < 0 ? 0 : (unsigned)r;
    } else
        n = recvmmsg(sock, m, (unsigned)most, flags, 0);
    if (n < 0 && errno != EAGAIN && errno != EINTR)
        die("receive");
    for (int i = 0; i < n; i++)
        all += m[i].msg_len, *last = m[i].msg_len, latest = v[i].iov_base;
    return all;
}

/* ---- libfabric's udp ---- */

static struct fid_fabric *fabric;
static struct fid_domain *domain;
static struct fid_ep *ep;
static struct fid_cq *sent, *came;
static struct fid_av *av;
static fi_addr_t peer;

static void ok(long code, const char *what)
{
    if (code)
        fprintf(stderr, "%s: %s\n", what, fi_strerror((int)-code)), exit(1);
}
static void open_fabric(struct in_addr own)
{
    struct fi_info *hints = fi_allocinfo(), *info;
    struct fi_cq_attr cq = {
        .format = FI_CQ_FORMAT_MSG, .wait_obj = FI_WAIT_FD, .size = 1024};
    struct fi_av_attr at = {.type = FI_AV_TABLE};
    struct sockaddr_in a = {.sin_family = AF_INET, .sin_addr = own};
    size_t len = sizeof a;
    hints->ep_attr->type = FI_EP_DGRAM;
    hints->caps = FI_MSG | FI_SOURCE;
    hints->fabric_attr->prov_name = strdup("udp");
    hints->addr_format = FI_SOCKADDR_IN;
    hints->src_addr = malloc(len);
    memcpy(hints->src_addr, &a, len);
    hints->src_addrlen = len;
    ok(fi_getinfo(FI_VERSION(1, 17), 0, 0, 0, hints, &info), "getinfo");
    ok(fi_fabric(info->fabric_attr, &fabric, 0), "fabric");
    ok(fi_domain(fabric, info, &domain, 0), "domain");
    ok(fi_cq_open(domain, &cq, &sent, 0), "cq");
    ok(fi_cq_open(domain, &cq, &came, 0), "cq");
    ok(fi_av_open(domain, &at, &av, 0), "av");
    ok(fi_endpoint(domain, info, &ep, 0), "endpoint");
    ok(fi_ep_bind(ep, &av->fid, 0), "bind");
    ok(fi_ep_bind(ep, &sent->fid, FI_TRANSMIT), "bind");
    ok(fi_ep_bind(ep, &came->fid, FI_RECV), "bind");
    ok(fi_enable(ep), "enable");
    ok(fi_getname(&ep->fid, &a, &len), "getname");
    tell(&a, sizeof a);
    hear(&there, sizeof there);
    if (fi_av_insert(av, &there, 1, &peer, 0, 0) != 1)
        die("av_insert");
    for (long i = 0; i < POSTED; i++)
        ok(fi_recv(ep, memory + i * 2048, 2048, 0, FI_ADDR_UNSPEC, (void *)i), "recv");
}
static int put_fabric(size_t n)
{
    ssize_t code = fi_inject(ep, out, n, peer);
    if (code && code != -FI_EAGAIN)
        ok(code, "inject");
    return code == 0;
}
static size_t get_fabric(int block, size_t *last)
{
    struct fi_cq_msg_entry e;
    fi_addr_t from;
    ssize_t n = fi_cq_readfrom(came, &e, 1, &from);
    if (n == -FI_EAGAIN && block) {
        struct fid *f = &came->fid;
        int fd;
        ok(fi_control(f, FI_GETWAIT, &fd), "getwait");
        if (fi_trywait(fabric, &f, 1) == 0)
            poll(&(struct pollfd){.fd = fd, .events = POLLIN}, 1, 20);
        return 0;
    }
    if (n != 1)
        return 0;
    *last = e.len;
    latest = memory + (long)e.op_context * 2048;
    ok(fi_recv(ep, memory + (long)e.op_context * 2048, 2048, 0, FI_ADDR_UNSPEC,
               e.op_context),
       "recv");
    return e.len;
}

/* ---- what is measured ---- */

struct way {
    const char *name;
    int is_fabric, most, gso, gro;
};

static size_t take(const struct way *w, int block, size_t *last)
{
    return w->is_fabric ? get_fabric(block, last)
                        : get(w->most, block ? 0 : MSG_DONTWAIT, last);
}
static void one(const struct way *w, size_t n, int block, int is_out)
{
    size_t last;
    if (is_out)
        while (!(w->is_fabric ? put_fabric(n) : put(n, 0, MSG_DONTWAIT)))
            ;
    else
        while (!take(w, block, &last))
            ;
}
static void latency(const struct way *w, size_t n, int block)
{
    double t[BATCHES];
    char how[64];
    if (w->most > 1 && block)
        return;
    meet();
    for (int b = -1; b < BATCHES; b++) {
        double t0 = now();
        for (int i = 0; i < ITERS; i++)
            one(w, n, block, ask), one(w, n, block, !ask);
        if (b >= 0)
            t[b] = (now() - t0) / 2 / ITERS;
    }
    qsort(t, BATCHES, sizeof *t, cmp);
    snprintf(how, sizeof how, "%s.%s", w->name, block ? "block" : "poll");
    row("latency", how, n, t[BATCHES / 2] * 1e6, "us");
    snprintf(how, sizeof how, "%s.%s.min", w->name, block ? "block" : "poll");
    row("latency", how, n, t[0] * 1e6, "us");
}

/* Says how many bytes have come, each ACK of them; a datagram of 1 byte ends it. */
static void sink(const struct way *w)
{
    uint64_t all = 0, told = 0;
    size_t last = 0;
    for (;;) {
        size_t n = take(w, 0, &last);
        if (n && last == 1)
            break;
        all += n;
        if (all - told >= ACK) {
            told = all;
            memcpy(out, &all, sizeof all);
            while (!(w->is_fabric ? put_fabric(8) : put(8, 0, MSG_DONTWAIT)))
                ;
        }
    }
    tell(&all, sizeof all);
}
static double source(const struct way *w, size_t n, double *lost)
{
    uint64_t under = 0, known = 0, sum = 0, acked, all;
    const size_t step = w->gso ? n * (size_t)(65507 / n < 64 ? 65507 / n : 64) : n;
    double t0 = now(), moved = t0, t;
    size_t last;
    unsigned calls = 0;
    while ((t = now()) - t0 < SECONDS) {
        if (under + step <= WINDOW + (step > WINDOW ? step : 0) &&
            (w->is_fabric ? put_fabric(n)
                          : put(step, w->gso && step > n ? (int)n : 0, MSG_DONTWAIT)))
            under += step, sum += step;
        if (under + step <= WINDOW && ++calls % 8 != 0)
            continue; /* acknowledgements are looked for now and then, or if nothing may
                         be sent */
        if (take(w, 0, &last)) {
            memcpy(&acked, latest, sizeof acked);
            under -= under < acked - known ? under : acked - known;
            known = acked, moved = t;
        } else if (t - moved > PATIENCE)
            under = 0, moved = t; /* what is missing is lost */
    }
    do {
        w->is_fabric ? put_fabric(1) : put(1, 0, MSG_DONTWAIT);
    } while (poll(&(struct pollfd){.fd = control, .events = POLLIN}, 1, 1) == 0);
    hear(&all, sizeof all);
    while (take(w, 0, &last)) /* acknowledgements that came late */
        ;
    *lost = 100.0 * (double)(sum - (all < sum ? all : sum)) / (double)sum;
    return (double)all / SECONDS / 1e9;
}
static void empty(const struct way *w)
{
    size_t last;
    meet();
    usleep(2000);
    while (take(w, 0, &last))
        ;
    meet();
}
static void bandwidth(const struct way *w, size_t n)
{
    double v[RUNS], lost[RUNS];
    for (int i = 0; i < RUNS; i++) {
        empty(w);
        if (ask)
            v[i] = source(w, n, &lost[i]);
        else
            sink(w);
    }
    if (ask) {
        qsort(v, RUNS, sizeof *v, cmp);
        qsort(lost, RUNS, sizeof *lost, cmp);
        row("bandwidth", w->name, n, v[RUNS / 2], "GB/s");
        row("bandwidth.best", w->name, n, v[RUNS - 1], "GB/s");
        row("bandwidth.lost", w->name, n, lost[RUNS / 2], "%");
    }
    empty(w);
}
static void room(const struct way *w, size_t n)
{
    size_t last, count = 0, all;
    meet();
    if (ask)
        for (int i = 0; i < FLOOD; i++)
            while (!(w->is_fabric ? put_fabric(n) : put(n, 0, MSG_DONTWAIT)))
                ;
    meet();
    if (!ask) {
        usleep(10000);
        while ((all = take(w, 0, &last)) > 0)
            count += w->is_fabric ? 1 : all / n;
        tell(&count, sizeof count);
    } else {
        hear(&count, sizeof count);
        row("room", w->name, n, (double)count, "datagrams");
    }
}

/* Processor time, so that other programs on the machine disturb little: one end sends
 * about 64 KiB while the other one sleeps, which takes it afterwards. */
static double cpu(void)
{
    struct timespec s;
    clock_gettime(CLOCK_THREAD_CPUTIME_ID, &s);
    return s.tv_sec + 1e-9 * s.tv_nsec;
}
static void send_all(const struct way *w, size_t n, size_t count)
{
    const size_t step = w->gso ? n * count : n;
    for (size_t sum = 0; sum < n * count; sum += step)
        while (!(w->is_fabric ? put_fabric(n)
                              : put(step, step > n ? (int)n : 0, MSG_DONTWAIT)))
            ;
}
static void take_all(const struct way *w, size_t wanted)
{
    size_t last, got, all = 0;
    while ((got = take(w, 0, &last)) > 0)
        all += got;
    if (all != wanted)
        fprintf(stderr, "%zu bytes of %zu came\n", all, wanted);
}
static void cost(const struct way *w, size_t n)
{
    const size_t count = 65507 / n < 64 ? 65507 / n : 64;
    double t[ITERS], theirs[ITERS], slower;
    empty(w);
    for (int i = 0; i < ITERS; i++) {
        double begin = cpu();
        if (ask)
            send_all(w, n, count);
        t[i] = cpu() - begin;
        meet();
        begin = cpu();
        if (!ask) {
            take_all(w, n * count);
            t[i] = cpu() - begin;
        }
        meet();
    }
    if (!ask) {
        tell(t, sizeof t);
        return;
    }
    hear(theirs, sizeof theirs);
    qsort(t, ITERS, sizeof *t, cmp);
    qsort(theirs, ITERS, sizeof *t, cmp);
    slower = t[ITERS / 2] > theirs[ITERS / 2] ? t[ITERS / 2] : theirs[ITERS / 2];
    row("cost.send", w->name, n, t[ITERS / 2] * 1e6 / (double)count, "us");
    row("cost.receive", w->name, n, theirs[ITERS / 2] * 1e6 / (double)count, "us");
    row("cost.limit", w->name, n, (double)(n * count) / slower / 1e9, "GB/s");
}

static void connect_control(int argc, char **argv, struct in_addr *own)
{
    struct sockaddr_in a = {.sin_family = AF_INET};
    socklen_t len = sizeof a;
    int one = 1;
    ask = argc < 4 || argv[1][1] == 'c', self = argc < 4;
    inet_pton(AF_INET, self ? "127.0.0.1" : argv[2], &a.sin_addr);
    a.sin_port = htons(self ? 0 : (unsigned short)atoi(argv[3]));
    if (self || !ask) {
        int l = socket(AF_INET, SOCK_STREAM, 0);
        setsockopt(l, SOL_SOCKET, SO_REUSEADDR, &one, sizeof one);
        if (bind(l, (void *)&a, len) || listen(l, 1) || getsockname(l, (void *)&a, &len))
            die("listen");
        if (!self || fork() == 0) {
            ask = 0;
            control = accept(l, 0, 0);
        }
    }
    if (ask) {
        control = socket(AF_INET, SOCK_STREAM, 0);
        if (connect(control, (void *)&a, len))
            die("connect");
    }
    setsockopt(control, IPPROTO_TCP, TCP_NODELAY, &one, sizeof one);
    getsockname(control, (void *)&a, &len);
    *own = a.sin_addr;
}

static int is_chosen(const struct way *w, int argc, char **argv)
{
    int found = argc <= 4;
    for (int i = 4; i < argc; i++)
        found |= strcmp(argv[i], w->name) == 0;
    return found;
}

int main(int argc, char **argv)
{
    static const struct way ways[] = {
        {"recvmsg", 0, 1, 0, 0},   {"recvmmsg", 0, BLOCKS, 0, 0},
        {"gso", 0, 1, 1, 0},       {"gso+recvmmsg", 0, BLOCKS, 1, 0},
        {"gso+gro", 0, 1, 1, 1},   {"gso+gro+recvmmsg", 0, BLOCKS, 1, 1},
        {"libfabric", 1, 1, 0, 0},
    };
    struct in_addr own;
    cpu_set_t c;
    connect_control(argc, argv, &own);
    CPU_ZERO(&c);
    CPU_SET(ask ? 0 : 1, &c);
    sched_setaffinity(0, sizeof c, &c);
    memory = calloc(BLOCKS, BLOCK);
    memset(memory, 1, (size_t)BLOCKS * BLOCK);
    for (size_t i = 0; i < sizeof ways / sizeof *ways; i++) {
        const struct way *w = &ways[i];
        if (!is_chosen(w, argc, argv))
            continue;
        if (w->is_fabric)
            open_fabric(own);
        else
            open_socket(own, w->gro);
        for (int block = 0; block < 2; block++)
            if (!w->gso)
                latency(w, 8, block), latency(w, 1024, block);
        bandwidth(w, 1472), cost(w, 1472);
        if (!w->is_fabric && self)
            bandwidth(w, 8972), cost(w, 8972);
        if (!w->is_fabric && !w->gso && self)
            bandwidth(w, 65507);
        if (!w->gso && w->most == 1)
            room(w, 8), room(w, 1472);
        if (!w->is_fabric)
            close(sock);
    }
    if (self && ask)
        wait(0);
    return 0;
}
