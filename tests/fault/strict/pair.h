/*
 * pair.h - two endpoints in one process over the strict provider, for its tests:
 * connected, or with a face that has no connections.
 *
 * Each side has a completion queue, a registered block of memory with every right, and
 * contexts. Anything that fails here ends the program with a line: what a test looks at
 * is asked of libfabric directly.
 */
#ifndef WEFT_TEST_STRICT_PAIR_H
#define WEFT_TEST_STRICT_PAIR_H

#include <rdma/fabric.h>
#include <rdma/fi_cm.h>
#include <rdma/fi_domain.h>
#include <rdma/fi_endpoint.h>
#include <rdma/fi_eq.h>
#include <rdma/fi_errno.h>
#include <rdma/fi_rma.h>
#include <stdbool.h>
#include <stdint.h>

enum { PAIR_MEMORY = 65536, PAIR_CONTEXTS = 128 };

struct side {
    struct fid_ep *ep;
    struct fid_cq *cq;
    struct fid_mr *mr;
    void *desc;
    struct side *other; /* without connections, */
    fi_addr_t peer;     /* and its address */
    struct fi_context2 context[PAIR_CONTEXTS];
    char memory[PAIR_MEMORY];
};

struct pair {
    struct fi_info *info;
    struct fid_fabric *fabric;
    struct fid_domain *domain;
    struct fid_eq *eq;
    struct fid_pep *pep;
    struct fid_av *av;   /* of both sides, without connections */
    struct fid_ep *srx;  /* of both sides, or NULL */
    struct side side[2]; /* 0 connected to 1 */
};

/* Hints that grant all that strict demands; the caller frees them with fi_freeinfo(). */
struct fi_info *pair_hints(void);

/* Opened, not connected: side 0 has an endpoint, side 1 listens. */
struct pair *pair_open(void);
/* The same, with one shared receive context for both sides. */
struct pair *pair_open_shared(void);
/* Both sides of the face (face.c), ready to send, with capabilities `caps` besides
 * FI_MSG and FI_RMA. The one of the last call is in use. */
struct pair *pair_open_face(const char *face, uint64_t caps);
void pair_connect(struct pair *pair);
void pair_close(struct pair *pair);

/* Ends the program if `err` is not 0. */
void pair_must(const char *what, ssize_t err);

/* Runs `broken` on a connected pair in a child, whose stderr is read: does it abort with
 * a line of strict's that contains `cause`? */
bool pair_aborts(struct pair *(*open)(void), void (*broken)(struct pair *pair),
                 const char *cause);

/* The same of `broken` alone, which opens what it needs. */
bool pair_child_aborts(void (*broken)(void), const char *cause);

/* Without connections, a post may be refused until both sides have moved. */
void pair_move(struct side *side);

/* Posts until it is taken. */
void pair_send(struct side *side, size_t offset, size_t length, void *context);
void pair_recv(struct side *side, size_t offset, size_t length, void *context);

/* The same for the shared receive context, in the memory of `side`. */
void pair_recv_shared(struct pair *pair, struct side *side, size_t offset, size_t length,
                      void *context);

/* The next completion of one side; reading the other too, for tcp moves only then. */
struct fi_cq_tagged_entry pair_wait(struct pair *pair, int side);
/* The same, which must be one that failed. */
struct fi_cq_err_entry pair_wait_error(struct pair *pair, int side);
/* The next event, which must be `event`; the caller owns `entry->info` of a request. */
void pair_event(struct pair *pair, uint32_t event, struct fi_eq_cm_entry *entry);

#endif
