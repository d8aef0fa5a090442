/*
 * fabric.h - what the module `fabric` opens: a provider of libfabric, its queues, and one
 * connected endpoint to each other end.
 */
#ifndef GAUGE_FABRIC_H
#define GAUGE_FABRIC_H

#include "gauge/module.h"

#include "transport/ofi/common/fabric.h"

/* What the provider has not taken yet, oldest first. */
struct line {
    struct gauge_request *first;
    struct gauge_request **last;
};

struct peer {
    struct fid_ep *ep;
    struct line line[2]; /* of receives and of sends */
};

/* Memory that was handed out, registered. */
struct region {
    struct region *next;
    unsigned char *base;
    size_t size;
    struct fid_mr *mr;
};

struct fabric {
    const char *provider; /* its name */
    struct fi_info *info; /* of the provider, at our own address */
    struct fid_fabric *fabric;
    struct fid_domain *domain;
    struct fid_eq *eq;
    struct fid_cq *cq;
    struct fid_pep *listener;
    int end;
    int ends;
    struct peer *peer;
    struct region *regions;
    size_t most;      /* posted at once in each direction, so that the queue has room */
    size_t posted[2]; /* receives and sends of which no completion was read */
    int unposted;     /* in all lines */
    int wait_fd;
    bool is_blocking;
};

/* Opens the provider, and connects every end with every other; the fields up to `peer`
 * that name provider and ends, and is_blocking, are filled in. What was opened is closed
 * by the two below, also after a failure. */
enum gauge_rc fabric_meet(struct fabric *fabric, const struct gauge_world *world);
void fabric_disconnect(struct fabric *fabric);
/* When nothing is registered any more. */
void fabric_close(struct fabric *fabric);

/* Says what failed, and what libfabric says of it. */
enum gauge_rc fabric_fail(const char *what, long code);

#endif
