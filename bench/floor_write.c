/* floor_write: an 8-byte write into another process's memory and its
 * confirmation, over libfabric's provider tcp (message endpoints), without MPI.
 *   floor.write.delivery: fi_writemsg with FI_DELIVERY_COMPLETE, until complete
 *   floor.write.read:     fi_write, and fi_read of the same bytes behind it
 * Both ends spin on their completion queue.
 * Usage: floor_write -s ADDR PORT    the end that is written to (start it first)
 *        floor_write -c ADDR PORT    the end that writes, which reports
 * Build: cc -O2 -o floor_write floor_write.c -lfabric */
#include <arpa/inet.h>
#include <rdma/fabric.h>
#include <rdma/fi_cm.h>
#include <rdma/fi_domain.h>
#include <rdma/fi_endpoint.h>
#include <rdma/fi_errno.h>
#include <rdma/fi_rma.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
enum { BATCHES = 41, ITERS = 200, WARM = 1000 };

static struct fi_info *info;
static struct fid_fabric *fabric;
static struct fid_domain *domain;
static struct fid_eq *eq;
static struct fid_cq *cq;
static struct fid_ep *ep;
static struct fid_mr *mr;
static uint64_t memory[2]; /* 0: what is written; 1: what is read back */
struct where {
    uint64_t address, key;
};
static struct where there;

static void must(long rc, const char *what)
{
    if (rc < 0) {
        fprintf(stderr, "floor_write: %s: %s\n", what, fi_strerror((int)-rc));
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

static void find(int is_server, const char *address, const char *port)
{
    struct fi_info *hints = fi_allocinfo();
    hints->caps = FI_MSG | FI_RMA;
    hints->mode = FI_CONTEXT | FI_CONTEXT2 | FI_RX_CQ_DATA;
    hints->ep_attr->type = FI_EP_MSG;
    hints->domain_attr->mr_mode =
        FI_MR_LOCAL | FI_MR_VIRT_ADDR | FI_MR_ALLOCATED | FI_MR_PROV_KEY;
    hints->domain_attr->threading = FI_THREAD_DOMAIN;
    hints->fabric_attr->prov_name = strdup("tcp");
    hints->addr_format = FI_SOCKADDR_IN;
    must(fi_getinfo(FI_VERSION(1, 11), address, port, is_server ? FI_SOURCE : 0, hints,
                    &info),
         "fi_getinfo");
    fi_freeinfo(hints);
}

static void open_endpoint(struct fi_info *of)
{
    struct fi_cq_attr attr = {.format = FI_CQ_FORMAT_CONTEXT, .wait_obj = FI_WAIT_NONE};
    must(fi_domain(fabric, of, &domain, NULL), "fi_domain");
    must(fi_cq_open(domain, &attr, &cq, NULL), "fi_cq_open");
    must(fi_endpoint(domain, of, &ep, NULL), "fi_endpoint");
    must(fi_ep_bind(ep, &eq->fid, 0), "fi_ep_bind");
    must(fi_ep_bind(ep, &cq->fid, FI_TRANSMIT | FI_RECV), "fi_ep_bind");
    must(fi_enable(ep), "fi_enable");
    must(fi_mr_reg(domain, memory, sizeof memory,
                   FI_READ | FI_WRITE | FI_REMOTE_READ | FI_REMOTE_WRITE, 0, 1, 0, &mr,
                   NULL),
         "fi_mr_reg");
}

/* Waits for one event of the connection, with what the other end has said. */
static struct fi_info *await(uint32_t wanted)
{
    struct {
        struct fi_eq_cm_entry entry;
        char data[256];
    } e;
    uint32_t event = 0;
    long n;
    do {
        n = fi_eq_sread(eq, &event, &e, sizeof e, 1000, 0);
    } while (n == -FI_EAGAIN);
    if (n < 0 || event != wanted) {
        fprintf(stderr, "floor_write: no connection (event %u)\n", event);
        exit(1);
    }
    if (wanted == FI_CONNECTED && (size_t)n >= sizeof e.entry + sizeof there)
        memcpy(&there, e.entry.data, sizeof there);
    return e.entry.info;
}

static void serve(void)
{
    struct fid_pep *pep;
    struct fi_cq_entry done;
    struct fi_eq_cm_entry entry;
    uint32_t event = 0;
    must(fi_passive_ep(fabric, info, &pep, NULL), "fi_passive_ep");
    must(fi_pep_bind(pep, &eq->fid, 0), "fi_pep_bind");
    must(fi_listen(pep), "fi_listen");
    struct fi_info *caller = await(FI_CONNREQ);
    open_endpoint(caller);
    struct where here = {(caller->domain_attr->mr_mode & FI_MR_VIRT_ADDR) != 0
                             ? (uint64_t)(uintptr_t)memory
                             : 0,
                         fi_mr_key(mr)};
    must(fi_accept(ep, &here, sizeof here), "fi_accept");
    await(FI_CONNECTED);
    while (event != FI_SHUTDOWN) {
        for (int i = 0; i < 10000; i++)
            fi_cq_read(cq, &done, 1);
        (void)!fi_eq_read(eq, &event, &entry, sizeof entry, 0);
    }
}

static void finish(int count)
{
    struct fi_cq_entry done;
    while (count > 0) {
        long n = fi_cq_read(cq, &done, 1);
        if (n == -FI_EAVAIL) {
            fprintf(stderr, "floor_write: an operation failed\n");
            exit(1);
        }
        if (n > 0)
            count--;
    }
}

static void once(int is_read)
{
    void *descriptor = fi_mr_desc(mr);
    struct iovec iov = {memory, 8};
    struct fi_rma_iov to = {there.address, 8, there.key};
    static struct fi_context2 context[2];
    struct fi_msg_rma msg = {&iov, &descriptor, 1, 0, &to, 1, &context[0], 0};
    long rc;
    do {
        rc = fi_writemsg(ep, &msg,
                         is_read ? FI_COMPLETION : FI_COMPLETION | FI_DELIVERY_COMPLETE);
    } while (rc == -FI_EAGAIN);
    must(rc, "fi_writemsg");
    if (is_read) {
        do {
            rc = fi_read(ep, &memory[1], 8, descriptor, 0, there.address, there.key,
                         &context[1]);
        } while (rc == -FI_EAGAIN);
        must(rc, "fi_read");
    }
    finish(is_read ? 2 : 1);
}

/* Every round writes another value; the read behind it must find it. */
static void measure(int is_read)
{
    double t[BATCHES];
    for (int i = 0; i < WARM; i++)
        once(is_read);
    for (int b = 0; b < BATCHES; b++) {
        memory[0] = 0x9e3779b97f4a7c15u * (uint64_t)(b + 1);
        double t0 = now();
        for (int i = 0; i < ITERS; i++)
            once(is_read);
        t[b] = (now() - t0) / ITERS;
        once(1);
        if (memory[1] != memory[0]) {
            printf("floor.write\t8B\t0\tWRONG\n");
            exit(9);
        }
    }
    qsort(t, BATCHES, sizeof *t, cmp);
    printf("floor.write.%s\t8B\t%.4g\tus\n", is_read ? "read" : "delivery",
           t[BATCHES / 2] * 1e6);
}

int main(int argc, char **argv)
{
    struct fi_eq_attr attr = {.wait_obj = FI_WAIT_UNSPEC};
    if (argc != 4 || argv[1][0] != '-') {
        fprintf(stderr, "usage: floor_write -s|-c ADDR PORT\n");
        return 2;
    }
    find(argv[1][1] == 's', argv[2], argv[3]);
    must(fi_fabric(info->fabric_attr, &fabric, NULL), "fi_fabric");
    must(fi_eq_open(fabric, &attr, &eq, NULL), "fi_eq_open");
    if (argv[1][1] == 's') {
        serve();
        return 0;
    }
    open_endpoint(info);
    must(fi_connect(ep, info->dest_addr, NULL, 0), "fi_connect");
    await(FI_CONNECTED);
    measure(0);
    measure(1);
    fflush(stdout);
    fi_shutdown(ep, 0);
    return 0;
}
