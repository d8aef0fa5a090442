/*
 * pair.c - opening, connecting and closing two endpoints, and waiting for completions.
 */
#include "pair.h"

#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

enum { PATIENCE = 60 }; /* seconds */

static const uint64_t every_right =
    FI_SEND | FI_RECV | FI_READ | FI_WRITE | FI_REMOTE_READ | FI_REMOTE_WRITE;

void pair_must(const char *what, ssize_t err)
{
    if (err != 0) {
        fprintf(stderr, "%s: %s\n", what, fi_strerror((int)-err));
        exit(1);
    }
}

static void must_be_in_time(const char *what, time_t start)
{
    if (time(NULL) - start > PATIENCE) {
        fprintf(stderr, "%s: nothing came in %d s\n", what, PATIENCE);
        exit(1);
    }
}

struct fi_info *pair_hints(void)
{
    struct fi_info *hints = fi_allocinfo();

    if (hints == NULL) {
        pair_must("fi_allocinfo", -FI_ENOMEM);
    }
    hints->caps = FI_MSG | FI_RMA;
    hints->mode = FI_CONTEXT2 | FI_RX_CQ_DATA;
    hints->ep_attr->type = FI_EP_MSG;
    hints->domain_attr->mr_mode =
        FI_MR_LOCAL | FI_MR_VIRT_ADDR | FI_MR_ALLOCATED | FI_MR_PROV_KEY;
    return hints;
}

static void open_queues(struct pair *pair)
{
    int i;

    for (i = 0; i < 2; i++) {
        struct side *side = &pair->side[i];
        struct fi_cq_attr attr = {
            .size = 1024,
            .format = FI_CQ_FORMAT_TAGGED,
            .wait_obj = FI_WAIT_FD,
        };

        pair_must("fi_cq_open", fi_cq_open(pair->domain, &attr, &side->cq, NULL));
        pair_must("fi_mr_reg", fi_mr_reg(pair->domain, side->memory, PAIR_MEMORY,
                                         every_right, 0, 0, 0, &side->mr, NULL));
        side->desc = fi_mr_desc(side->mr);
    }
}

static void open_endpoint(struct pair *pair, struct side *side, struct fi_info *info)
{
    info->ep_attr->rx_ctx_cnt = pair->srx != NULL ? FI_SHARED_CONTEXT : 1;
    pair_must("fi_endpoint", fi_endpoint(pair->domain, info, &side->ep, side));
    pair_must("fi_ep_bind", fi_ep_bind(side->ep, &pair->eq->fid, 0));
    pair_must("fi_ep_bind", fi_ep_bind(side->ep, &side->cq->fid, FI_TRANSMIT | FI_RECV));
    if (pair->srx != NULL) {
        pair_must("fi_ep_bind", fi_ep_bind(side->ep, &pair->srx->fid, 0));
    }
    pair_must("fi_enable", fi_enable(side->ep));
}

static struct pair *open_with(bool is_shared)
{
    struct pair *pair = calloc(1, sizeof(*pair));
    struct fi_info *hints = pair_hints();
    struct fi_eq_attr attr = {.wait_obj = FI_WAIT_FD};

    if (pair == NULL) {
        pair_must("calloc", -FI_ENOMEM);
    }
    pair_must("fi_getinfo", fi_getinfo(FI_VERSION(1, 17), "127.0.0.1", NULL, FI_SOURCE,
                                       hints, &pair->info));
    fi_freeinfo(hints);
    pair_must("fi_fabric", fi_fabric(pair->info->fabric_attr, &pair->fabric, NULL));
    pair_must("fi_eq_open", fi_eq_open(pair->fabric, &attr, &pair->eq, NULL));
    pair_must("fi_domain", fi_domain(pair->fabric, pair->info, &pair->domain, NULL));
    pair_must("fi_passive_ep", fi_passive_ep(pair->fabric, pair->info, &pair->pep, pair));
    pair_must("fi_pep_bind", fi_pep_bind(pair->pep, &pair->eq->fid, 0));
    pair_must("fi_listen", fi_listen(pair->pep));
    open_queues(pair);
    if (is_shared) {
        pair_must("fi_srx_context",
                  fi_srx_context(pair->domain, pair->info->rx_attr, &pair->srx, NULL));
    }
    open_endpoint(pair, &pair->side[0], pair->info);
    return pair;
}

struct pair *pair_open(void)
{
    return open_with(false);
}

struct pair *pair_open_shared(void)
{
    return open_with(true);
}

/* ---- without connections ---- */

static struct fi_info *face_hints(uint64_t caps)
{
    struct fi_info *hints = pair_hints();

    hints->caps |= caps;
    hints->mode |= FI_MSG_PREFIX;
    hints->ep_attr->type = FI_EP_RDM;
    hints->domain_attr->mr_mode |= FI_MR_ENDPOINT;
    return hints;
}

static void open_side(struct pair *pair, struct side *side)
{
    struct fi_cq_attr attr = {.format = FI_CQ_FORMAT_TAGGED, .wait_obj = FI_WAIT_NONE};

    pair_must("fi_cq_open", fi_cq_open(pair->domain, &attr, &side->cq, NULL));
    pair_must("fi_endpoint", fi_endpoint(pair->domain, pair->info, &side->ep, side));
    pair_must("fi_ep_bind", fi_ep_bind(side->ep, &pair->av->fid, 0));
    pair_must("fi_ep_bind", fi_ep_bind(side->ep, &side->cq->fid, FI_TRANSMIT | FI_RECV));
    pair_must("fi_enable", fi_enable(side->ep));
    pair_must("fi_mr_reg", fi_mr_reg(pair->domain, side->memory, PAIR_MEMORY, every_right,
                                     0, 1, 0, &side->mr, NULL));
    if ((pair->info->domain_attr->mr_mode & FI_MR_ENDPOINT) != 0) {
        pair_must("fi_mr_bind", fi_mr_bind(side->mr, &side->ep->fid, 0));
        pair_must("fi_mr_enable", fi_mr_enable(side->mr));
    }
    side->desc = fi_mr_desc(side->mr);
}

static void introduce(struct pair *pair, struct side *side, struct fid_ep *other)
{
    char address[128];
    size_t length = sizeof(address);

    pair_must("fi_getname", fi_getname(&other->fid, address, &length));
    if (fi_av_insert(pair->av, address, 1, &side->peer, 0, NULL) != 1) {
        pair_must("fi_av_insert", -FI_EINVAL);
    }
}

struct pair *pair_open_face(const char *face, uint64_t caps)
{
    struct pair *pair = calloc(1, sizeof(*pair));
    struct fi_info *hints = face_hints(caps);
    struct fi_av_attr attr = {.type = FI_AV_TABLE};

    if (pair == NULL) {
        pair_must("calloc", -FI_ENOMEM);
    }
    setenv("STRICT_FACE", face, 1);
    pair_must("fi_getinfo",
              fi_getinfo(FI_VERSION(1, 17), NULL, NULL, 0, hints, &pair->info));
    fi_freeinfo(hints);
    pair_must("fi_fabric", fi_fabric(pair->info->fabric_attr, &pair->fabric, NULL));
    pair_must("fi_domain", fi_domain(pair->fabric, pair->info, &pair->domain, NULL));
    pair_must("fi_av_open", fi_av_open(pair->domain, &attr, &pair->av, NULL));
    open_side(pair, &pair->side[0]);
    open_side(pair, &pair->side[1]);
    pair->side[0].other = &pair->side[1];
    pair->side[1].other = &pair->side[0];
    introduce(pair, &pair->side[0], pair->side[1].ep);
    introduce(pair, &pair->side[1], pair->side[0].ep);
    return pair;
}

/* ---- with them ---- */

void pair_event(struct pair *pair, uint32_t event, struct fi_eq_cm_entry *entry)
{
    const time_t start = time(NULL);
    uint32_t got = 0;
    ssize_t length;

    do {
        must_be_in_time("fi_eq_read", start);
        length = fi_eq_read(pair->eq, &got, entry, sizeof(*entry), 0);
    } while (length == -FI_EAGAIN);
    pair_must("fi_eq_read", length < 0 ? length : 0);
    if (got != event) {
        fprintf(stderr, "event %u instead of %u\n", got, event);
        exit(1);
    }
}

void pair_connect(struct pair *pair)
{
    char address[128];
    size_t length = sizeof(address);
    struct fi_eq_cm_entry entry;

    pair_must("fi_getname", fi_getname(&pair->pep->fid, address, &length));
    pair_must("fi_connect", fi_connect(pair->side[0].ep, address, NULL, 0));
    pair_event(pair, FI_CONNREQ, &entry);
    open_endpoint(pair, &pair->side[1], entry.info);
    fi_freeinfo(entry.info);
    pair_must("fi_accept", fi_accept(pair->side[1].ep, NULL, 0));
    pair_event(pair, FI_CONNECTED, &entry);
    pair_event(pair, FI_CONNECTED, &entry);
}

void pair_close(struct pair *pair)
{
    int i;

    for (i = 0; i < 2; i++) {
        struct side *side = &pair->side[i];

        if (side->ep != NULL) {
            pair_must("close endpoint", fi_close(&side->ep->fid));
        }
    }
    if (pair->srx != NULL) {
        pair_must("close shared receives", fi_close(&pair->srx->fid));
    }
    for (i = 0; i < 2; i++) {
        struct side *side = &pair->side[i];

        pair_must("close queue", fi_close(&side->cq->fid));
        pair_must("close registration", fi_close(&side->mr->fid));
    }
    if (pair->pep != NULL) {
        pair_must("close listener", fi_close(&pair->pep->fid));
    }
    if (pair->av != NULL) {
        pair_must("close addresses", fi_close(&pair->av->fid));
    }
    pair_must("close domain", fi_close(&pair->domain->fid));
    if (pair->eq != NULL) {
        pair_must("close events", fi_close(&pair->eq->fid));
    }
    pair_must("close fabric", fi_close(&pair->fabric->fid));
    fi_freeinfo(pair->info);
    free(pair);
}

void pair_move(struct side *side)
{
    if (side->other != NULL) {
        (void)fi_cq_read(side->cq, NULL, 0);
        (void)fi_cq_read(side->other->cq, NULL, 0);
    }
}

void pair_send(struct side *side, size_t offset, size_t length, void *context)
{
    ssize_t err;

    do {
        pair_move(side);
        err = fi_send(side->ep, side->memory + offset, length, side->desc, side->peer,
                      context);
    } while (err == -FI_EAGAIN);
    pair_must("fi_send", err);
}

void pair_recv(struct side *side, size_t offset, size_t length, void *context)
{
    ssize_t err;

    do {
        pair_move(side);
        err = fi_recv(side->ep, side->memory + offset, length, side->desc, FI_ADDR_UNSPEC,
                      context);
    } while (err == -FI_EAGAIN);
    pair_must("fi_recv", err);
}

void pair_recv_shared(struct pair *pair, struct side *side, size_t offset, size_t length,
                      void *context)
{
    ssize_t err;

    do {
        err = fi_recv(pair->srx, side->memory + offset, length, side->desc, 0, context);
    } while (err == -FI_EAGAIN);
    pair_must("fi_recv", err);
}

/* 1 or an error. */
static ssize_t wait_read(struct pair *pair, int side, struct fi_cq_tagged_entry *entry)
{
    const time_t start = time(NULL);
    ssize_t count;

    do {
        must_be_in_time("fi_cq_read", start);
        (void)fi_cq_read(pair->side[1 - side].cq, NULL, 0);
        count = fi_cq_read(pair->side[side].cq, entry, 1);
    } while (count == -FI_EAGAIN);
    return count;
}

struct fi_cq_tagged_entry pair_wait(struct pair *pair, int side)
{
    struct fi_cq_tagged_entry entry;
    const ssize_t count = wait_read(pair, side, &entry);

    pair_must("fi_cq_read", count < 0 ? count : 0);
    return entry;
}

struct fi_cq_err_entry pair_wait_error(struct pair *pair, int side)
{
    struct fi_cq_tagged_entry entry;
    struct fi_cq_err_entry error = {0};

    if (wait_read(pair, side, &entry) != -FI_EAVAIL ||
        fi_cq_readerr(pair->side[side].cq, &error, 0) != 1) {
        fprintf(stderr, "an operation succeeded that must fail\n");
        exit(1);
    }
    return error;
}

bool pair_child_aborts(void (*broken)(void), const char *cause)
{
    char said[4096] = "";
    size_t length = 0;
    ssize_t got;
    int status = 0;
    int ends[2];
    pid_t child;

    pair_must("pipe", pipe(ends));
    child = fork();
    if (child == 0) {
        dup2(ends[1], STDERR_FILENO);
        close(ends[0]);
        close(ends[1]);
        broken();
        _exit(0);
    }
    close(ends[1]);
    do {
        got = read(ends[0], said + length, sizeof(said) - 1 - length);
        length += got > 0 ? (size_t)got : 0;
    } while (got > 0);
    close(ends[0]);
    if (waitpid(child, &status, 0) == child && WIFSIGNALED(status) &&
        WTERMSIG(status) == SIGABRT && strstr(said, cause) != NULL &&
        strstr(said, "strict:") != NULL) {
        return true;
    }
    fprintf(stderr, "status %#x, said: %s\n", (unsigned)status, said);
    return false;
}

static struct {
    struct pair *(*open)(void);
    void (*broken)(struct pair *pair);
} breach; /* of the next child */

static void break_a_pair(void)
{
    struct pair *pair = breach.open();

    pair_connect(pair);
    breach.broken(pair);
}

bool pair_aborts(struct pair *(*open)(void), void (*broken)(struct pair *pair),
                 const char *cause)
{
    breach.open = open;
    breach.broken = broken;
    return pair_child_aborts(break_a_pair, cause);
}
