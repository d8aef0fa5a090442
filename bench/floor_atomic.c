/* floor_atomic: a network's atomic operations without MPI, between two processes over a
 * provider without connections (FI_PROVIDER; tcp;ofi_rxm by default).
 *   floor.atomic.fetch: fi_fetch_atomic, sum of 8 bytes, until the result is here
 *   floor.atomic.lock:  fi_compare_atomic, fi_read of N bytes, addition, fi_write of N
 *                       bytes, fi_compare_atomic, each until it is complete
 * The target spins on its completion queue ("spins"), or sleeps on its descriptor as a
 * progress thread does ("sleeps"); the origin spins.
 * Build: cc -O2 -o floor_atomic floor_atomic.c -lfabric
 * Usage: floor_atomic [spins|sleeps] */
#include <poll.h>
#include <rdma/fabric.h>
#include <rdma/fi_atomic.h>
#include <rdma/fi_cm.h>
#include <rdma/fi_domain.h>
#include <rdma/fi_endpoint.h>
#include <rdma/fi_errno.h>
#include <rdma/fi_rma.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>
enum { BATCHES = 31, ITERS = 20, MOST = 1048576, WORDS = MOST / 8 + 8 };

static struct fi_info *info;
static struct fid_fabric *fabric;
static struct fid_domain *domain;
static struct fid_av *av;
static struct fid_cq *cq;
static struct fid_ep *ep;
static struct fid_mr *mr;
static int64_t memory[WORDS], add[WORDS], copy[WORDS];
static struct fid_mr *copy_mr;
struct where {
    char name[64];
    size_t name_bytes;
    uint64_t address, key;
};
static struct where there;
static fi_addr_t peer;

static void must(long rc, const char *what)
{
    if (rc < 0) {
        fprintf(stderr, "floor_atomic: %s: %s\n", what, fi_strerror((int)-rc));
        exit(1);
    }
}

static double now(void)
{
    struct timespec s;
    clock_gettime(CLOCK_MONOTONIC, &s);
    return (double)s.tv_sec + 1e-9 * (double)s.tv_nsec;
}

static int cmp(const void *a, const void *b)
{
    double x = *(const double *)a, y = *(const double *)b;
    return (x > y) - (x < y);
}

static void find(void)
{
    const char *provider = getenv("FI_PROVIDER");
    struct fi_info *hints = fi_allocinfo();
    hints->caps = FI_MSG | FI_RMA | FI_ATOMIC;
    hints->mode = FI_CONTEXT | FI_CONTEXT2;
    hints->ep_attr->type = FI_EP_RDM;
    hints->domain_attr->mr_mode =
        FI_MR_LOCAL | FI_MR_VIRT_ADDR | FI_MR_ALLOCATED | FI_MR_PROV_KEY;
    if (provider == NULL)
        hints->fabric_attr->prov_name = strdup("tcp;ofi_rxm");
    must(fi_getinfo(FI_VERSION(1, 14), "127.0.0.1", NULL, FI_SOURCE, hints, &info),
         "fi_getinfo");
    fi_freeinfo(hints);
}

static void open_end(void)
{
    struct fi_av_attr av_attr = {.type = FI_AV_TABLE};
    struct fi_cq_attr cq_attr = {.size = 64, .format = FI_CQ_FORMAT_CONTEXT};
    uint64_t all = FI_READ | FI_WRITE | FI_REMOTE_READ | FI_REMOTE_WRITE;
    find();
    must(fi_fabric(info->fabric_attr, &fabric, NULL), "fi_fabric");
    must(fi_domain(fabric, info, &domain, NULL), "fi_domain");
    must(fi_av_open(domain, &av_attr, &av, NULL), "fi_av_open");
    cq_attr.wait_obj = FI_WAIT_FD;
    must(fi_cq_open(domain, &cq_attr, &cq, NULL), "fi_cq_open");
    must(fi_endpoint(domain, info, &ep, NULL), "fi_endpoint");
    must(fi_ep_bind(ep, &av->fid, 0), "fi_ep_bind");
    must(fi_ep_bind(ep, &cq->fid, FI_TRANSMIT | FI_RECV), "fi_ep_bind");
    must(fi_enable(ep), "fi_enable");
    must(fi_mr_reg(domain, memory, sizeof memory, all, 0, 1, 0, &mr, NULL), "fi_mr_reg");
    must(fi_mr_reg(domain, copy, sizeof copy, all, 0, 2, 0, &copy_mr, NULL), "fi_mr_reg");
}

static void meet(int with)
{
    int is_virtual = (info->domain_attr->mr_mode & FI_MR_VIRT_ADDR) != 0;
    struct where here = {.name_bytes = sizeof here.name,
                         .address = is_virtual ? (uint64_t)(uintptr_t)memory : 0,
                         .key = fi_mr_key(mr)};
    must(fi_getname(&ep->fid, here.name, &here.name_bytes), "fi_getname");
    if (write(with, &here, sizeof here) != (ssize_t)sizeof here ||
        read(with, &there, sizeof there) != (ssize_t)sizeof there)
        exit(1);
    if (fi_av_insert(av, there.name, 1, &peer, 0, NULL) != 1)
        exit(1);
}

/* Until the origin closes its end of the socket. */
static void serve(int with, int sleeps)
{
    struct fid *queue = &cq->fid;
    struct fi_cq_entry entry;
    int fd = -1;
    must(fi_control(&cq->fid, FI_GETWAIT, &fd), "FI_GETWAIT");
    for (unsigned i = 0;; i++) {
        struct pollfd on[2] = {{.fd = with, .events = POLLIN},
                               {.fd = fd, .events = POLLIN}};
        (void)fi_cq_read(cq, &entry, 1);
        if (sleeps && fi_trywait(fabric, &queue, 1) == 0)
            poll(on, 2, -1);
        else if (i % 4096 == 0)
            poll(on, 1, 0);
        if (on[0].revents != 0)
            exit(0);
    }
}

static void complete(long rc)
{
    struct fi_cq_entry entry;
    must(rc, "a post");
    while ((rc = fi_cq_read(cq, &entry, 1)) == -FI_EAGAIN)
        ;
    must(rc, "fi_cq_read");
}

#define POST(call)                                                                       \
    do {                                                                                 \
        long rc;                                                                         \
        while ((rc = (call)) == -FI_EAGAIN)                                              \
            (void)fi_cq_read(cq, NULL, 0);                                               \
        complete(rc);                                                                    \
    } while (0)

static struct fi_context2 context;

static void fetch(size_t n)
{
    void *d = fi_mr_desc(copy_mr);
    (void)n;
    copy[0] = 1;
    POST(fi_fetch_atomic(ep, &copy[0], 1, d, &copy[1], d, peer, there.address, there.key,
                         FI_INT64, FI_SUM, &context));
}

static void swap_word(int64_t from, int64_t to)
{
    void *d = fi_mr_desc(copy_mr);
    uint64_t word = there.address + MOST;
    do {
        copy[WORDS - 1] = to;
        copy[WORDS - 2] = from;
        POST(fi_compare_atomic(ep, &copy[WORDS - 1], 1, d, &copy[WORDS - 2], d,
                               &copy[WORDS - 3], d, peer, word, there.key, FI_INT64,
                               FI_CSWAP, &context));
    } while (copy[WORDS - 3] != from);
}

static void lock(size_t n)
{
    void *d = fi_mr_desc(copy_mr);
    swap_word(0, 1);
    POST(fi_read(ep, copy, n, d, peer, there.address, there.key, &context));
    for (size_t i = 0; i < n / 8; i++)
        copy[i] += add[i];
    POST(fi_write(ep, copy, n, d, peer, there.address, there.key, &context));
    swap_word(1, 0);
}

static void measure(const char *name, const char *how, void (*once)(size_t), size_t n)
{
    double t[BATCHES];
    for (int b = -1; b < BATCHES; b++) {
        double start = now();
        for (int i = 0; i < ITERS; i++)
            once(n);
        t[b < 0 ? 0 : b] = (now() - start) / ITERS;
    }
    qsort(t, BATCHES, sizeof *t, cmp);
    printf("floor.atomic.%s\t%zuB,%s\t%.4g\tus\n", name, n, how, t[BATCHES / 2] * 1e6);
    fflush(stdout);
}

int main(int argc, char **argv)
{
    static const size_t sizes[] = {8, 1024, 65536, MOST};
    const char *how = argc > 1 ? argv[1] : "spins";
    int pair[2];
    if (socketpair(AF_UNIX, SOCK_STREAM, 0, pair) != 0)
        return 1;
    if (fork() == 0) {
        close(pair[0]);
        open_end();
        meet(pair[1]);
        serve(pair[1], strcmp(how, "sleeps") == 0);
    }
    close(pair[1]);
    open_end();
    meet(pair[0]);
    measure("fetch", how, fetch, 8);
    for (int i = 0; i < 4; i++)
        measure("lock", how, lock, sizes[i]);
    close(pair[0]);
    wait(NULL);
    return 0;
}
