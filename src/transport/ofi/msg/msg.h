/*
 * msg.h - what the files of the transport over connected endpoints share.
 *
 *   msg.c       opening, closing, the ops table
 *   address.c   where we listen, and where a peer does
 *   door.c      sockets that listen, before libfabric is there and after
 *   connect.c   connections on first contact, without threads
 *   stream.c    further connections to a peer, for long messages
 *   lost.c      connections that have ended: who waits is told
 *   silence.c   connections whose other end does not answer any more
 *   strangers.c who connects and is not of the job
 *   sockets.c   descriptors of libfabric's sockets
 *   send.c      packets out, against the space that the peer has granted
 *   lend.c      long ones, from and into memory of the user's
 *   poll.c      packets in; those that may not be taken yet are held
 *
 * One pool of receive buffers serves all peers: a shared receive queue. What has arrived
 * is taken out of its buffer, or copied aside if the layer above may not take it now, and
 * the buffer goes back at once; so no peer can hold another up, however small the pool.
 * What can be aside is bounded: a peer sends ordered packets only against a window, and
 * every packet tells how much of it was taken. Control packets have a window of their
 * own, counted in packets, and are always taken. See tests/models/pool.pml.
 *
 * A peer has up to WEFT_STREAMS_MAX streams, each a connection. The first carries small
 * messages and control packets; the others are made when a long message wants them. How
 * many is the sender's affair (WEFT_STREAMS): a receiver takes as many as it is asked
 * for, and who has them uses them in both directions. Windows, order and death are the
 * peer's: ordered packets are numbered through all its streams, what comes before its
 * turn waits with its stream, within the window, and the end of one is the end of all.
 *
 * A completion of a shared queue does not tell who sent. The frame does, and it can be
 * believed, because no connection exists before both ends have proved that they belong to
 * the job (connect.c).
 */
#ifndef WEFT_OFI_MSG_H
#define WEFT_OFI_MSG_H

#include "base/ranks.h"
#include "transport/ofi/common/fabric.h"
#include "transport/ofi/handshake.h"
#include "transport/ofi/sodium.h"
#include "transport/transport.h"
#include "wireup/net.h"

#include <dirent.h>

enum {
    WEFT_MSG_SHORT_MAX = 4096, /* what send() copies */
    WEFT_MSG_ZCOPY_MAX = 64 * 1024,
    WEFT_MSG_RECEIVES = 32, /* buffers in the pool, at most */
    WEFT_MSG_SENDS = 128,   /* packets on their way, at most */
    WEFT_MSG_WINDOW_MOST = 256 * 1024,
    WEFT_MSG_WINDOW_LEAST = 16 * 1024,
    WEFT_MSG_CONTROL_WINDOW = 64,
    WEFT_MSG_FRAME_VERSION = 2,
    WEFT_MSG_LISTENERS = 4, /* addresses of ours that are listened at */
    WEFT_MSG_HOST_BYTES = 64,
    WEFT_MSG_CAUSE_BYTES = 128,
    WEFT_MSG_TOKEN_BYTES = 8,
    WEFT_MSG_UNKNOWN_MOST = 64, /* accepted, and have not asked, after a sweep */
    WEFT_MSG_LOOKS_MOST = 16,   /* at waiting ones, before the next sweep */
    /* ... and so many at most at any time: each look accepts one of each listener. */
    WEFT_MSG_UNKNOWN_ROOM =
        WEFT_MSG_UNKNOWN_MOST + WEFT_MSG_LOOKS_MOST * WEFT_MSG_LISTENERS,
};

enum weft_msg_kind {
    WEFT_MSG_ORDERED = 1,
    WEFT_MSG_CONTROL,
    WEFT_MSG_CREDIT, /* nothing but what was taken */
    WEFT_MSG_LEAVE,  /* its sender has ended its last use of MPI */
};

/* In front of every packet, in the byte order of the machine (engine/wire.h). */
struct weft_msg_frame {
    uint8_t version;
    uint8_t kind; /* enum weft_msg_kind */
    uint8_t stream;
    uint8_t zero;
    uint32_t from;          /* rank in the job */
    uint32_t number;        /* of an ordered packet, among all of this peer's */
    uint32_t taken;         /* bytes of ordered packets of who receives this, so far */
    uint32_t taken_control; /* the same, in control packets */
    uint8_t header[WEFT_HEADER_BYTES];
};
_Static_assert(sizeof(struct weft_msg_frame) == 48, "frame version 2");
_Static_assert((int)WEFT_MSG_FRAME_VERSION == 2 && (int)WEFT_HANDSHAKE_VERSION == 3,
               "connecting compares the handshake's: where the frame's changes, it does");

/* One packet on its way out, or a buffer of the pool: found by its context. */
struct weft_msg_slot {
    struct fi_context2 context;     /* first; the provider's while it is under way */
    struct weft_msg_slot *next;     /* of those that are free, or to be posted again */
    struct weft_msg_stream *stream; /* of a packet */
    uint8_t *buffer;                /* a frame and what follows it */
    struct weft_op *op;             /* of what was lent, or NULL */
    struct fid_mr *mr;              /* of what was lent */
};

enum weft_msg_state {
    WEFT_MSG_NONE,
    WEFT_MSG_ASKING,     /* step 1 is on its way */
    WEFT_MSG_CONFIRMING, /* step 3 is */
    WEFT_MSG_ACCEPTING,  /* step 3 was right */
    WEFT_MSG_OPEN,
    WEFT_MSG_LOST,
};

/* A packet that came while it could not be taken, or before its turn. */
struct weft_msg_held {
    struct weft_msg_held *next;
    uint32_t number;
    uint32_t length;
    uint8_t header[WEFT_HEADER_BYTES];
    uint8_t data[];
};

/* Packets, oldest first. */
struct weft_msg_queue {
    struct weft_msg_held *first;
    struct weft_msg_held *last;
};

/* One connection to a peer. */
struct weft_msg_stream {
    struct weft_endpoint base;
    struct weft_msg_peer *peer;
    struct fid_ep *ep;
    int socket; /* the provider's descriptor for it, or 0 */
    enum weft_msg_state state;
    uint8_t tries;
    bool has_answered;            /* their ask; then `theirs` is valid */
    uint64_t ask_at_ns;           /* not before: theirs is expected; 0: at any time */
    struct weft_handshake ours;   /* of a connection that we ask for */
    struct weft_handshake theirs; /* and that they do */
    struct weft_msg_queue early;  /* what came by it before its turn */
};

struct weft_msg_peer {
    struct weft_ranked ranked;    /* first */
    struct weft_peer *above;      /* as the upcalls call it */
    struct weft_msg_stream first; /* small messages, and control packets */
    struct weft_msg_stream *streams[WEFT_STREAMS_MAX]; /* the first, and those made */
    uint32_t next_stream; /* whose turn it is; counts on and on */
    bool has_address;
    struct sockaddr_storage address;
    socklen_t address_bytes;
    uint8_t token[WEFT_MSG_TOKEN_BYTES]; /* what its kernel wants to see */
    char host[WEFT_MSG_HOST_BYTES];      /* its name; "" if it is not known */

    char cause[WEFT_MSG_CAUSE_BYTES]; /* why its streams are LOST */
    bool is_silent;                   /* because it does not answer */
    bool has_left;                    /* its last word was LEAVE */
    bool is_told_lost;                /* the layer above knows */
    uint64_t tell_at_ns;              /* when it is told */
    struct weft_msg_peer *next_losing;

    uint32_t number_out; /* of the next ordered packet to it; wraps, as do all below */
    uint32_t number_in;  /* and of the next one from it */
    uint32_t early;      /* packets that wait for that one */
    uint32_t sent;       /* bytes of ordered packets */
    uint32_t acknowledged;
    uint32_t sent_control; /* packets */
    uint32_t acknowledged_control;
    uint32_t taken; /* of theirs, bytes */
    uint32_t taken_control;
    uint32_t told; /* of the above, what they know */
    uint32_t told_control;
    uint32_t slots_used; /* packets on their way to it */
    uint64_t packets_sent;
    uint64_t bytes_sent;
    uint64_t bytes_put;
    uint64_t bytes_got;

    struct weft_msg_queue held; /* whose turn it is, but they may not be taken */
    bool is_holding;            /* in the list of those with held packets */
    struct weft_msg_peer *next_holding;
    bool is_owing; /* in the list of those to be told */
    struct weft_msg_peer *next_owing;
};

/* Where a socket is, or its peer. */
struct weft_msg_place {
    struct sockaddr_storage at;
};

/* A connection that was accepted, and has asked for nothing yet. */
struct weft_msg_unknown {
    uint64_t cookie; /* the kernel's name for the socket */
    uint64_t since_ns;
    int fd;
};

struct weft_msg_unknowns {
    struct weft_msg_unknown all[WEFT_MSG_UNKNOWN_ROOM];
    int count;
};

/* Sockets that were open at some moment, by their inodes: another thread may close one,
 * and the next has its number. */
struct weft_msg_noted {
    uint64_t *all;
    size_t count;
};

struct weft_transport {
    struct weft_upcalls *up;
    struct weft_job *job;
    uint32_t me;
    uint32_t window;    /* bytes of ordered packets that may be under way to a peer */
    uint32_t told_each; /* bytes taken; at most half of any peer's window */
    uint32_t streams;   /* that our long messages take */
    uint32_t opening;   /* of this transport in this process: which */
    struct weft_ofi ofi;
    bool is_up;      /* libfabric is there, and all below that needs it */
    bool has_failed; /* to come up */
    bool has_moved;  /* other descriptors than before are to be waited for */
    struct weft_net_address own[WEFT_MSG_LISTENERS]; /* that are for jobs */
    int own_count;
    int port;                            /* the same at all of them */
    int doors[WEFT_MSG_LISTENERS];       /* descriptors, or -1 */
    int knocks;                          /* epoll's, for all doors; or -1 */
    uint8_t token[WEFT_MSG_TOKEN_BYTES]; /* what requests to connect begin with */
    bool is_over_sockets;                /* the provider: libfabric's tcp */
    struct fid_pep *listeners[WEFT_MSG_LISTENERS];
    struct weft_msg_place places[WEFT_MSG_LISTENERS]; /* of the listeners */
    int listener_count;
    struct weft_handshake_self self;
    struct weft_ranks peers;
    uint32_t pending;     /* connections that are being made */
    uint32_t connections; /* that are open */
    uint32_t polls;
    uint64_t rejected; /* who was refused because it is not of the job */
    uint64_t swept_at_ns;
    uint32_t looks_since; /* at waiting connections, since then */
    int ended;            /* connections, by one pass */
    struct weft_msg_unknowns unknowns;
    struct weft_msg_unknowns unknowns_seen; /* by the sweep that is under way */
    int reserved;                           /* a descriptor for when there is no other */
    bool has_exhausted;                     /* them; it was said */
    int last_found;                         /* descriptor of a socket */
    int next_accepted;                      /* descriptor of the next one; -1: none */
    DIR *all_descriptors;                   /* of this process */
    bool is_closing;
    struct weft_msg_peer *losing; /* lost, but the layer above is not told yet */
    uint64_t check_at_ns;         /* when to look for silent connections again */
    uint64_t due_ns;              /* when to poll at the latest; 0: never */
    bool has_stumbled; /* a post was refused, and nothing will tell when to try again */

    struct weft_msg_slot *sends; /* WEFT_MSG_SENDS or fewer */
    struct weft_msg_slot *free_sends;
    uint32_t send_count;
    uint32_t registered; /* pieces of the user's memory, by us or for peers */
    uint8_t *send_memory;
    struct fid_mr *send_mr;

    struct weft_msg_slot *receives;
    uint32_t receive_count;
    struct weft_msg_slot *to_post; /* could not be posted yet */
    uint8_t *receive_memory;
    struct fid_mr *receive_mr;
    size_t receive_bytes; /* of each */

    struct weft_msg_peer *holding;
    struct weft_msg_peer *owing;
    bool is_telling_refused; /* one of those stumbled; nothing tells when to try again */
    uint64_t packets_received;
    uint64_t bytes_received;
};

/* What the tests make small, before a transport is opened; 0: as there is room. */
struct weft_msg_limits {
    uint32_t receives; /* at least 1 */
    uint32_t window;   /* at least two of the longest packets */
};
extern struct weft_msg_limits weft_msg_limits;

static inline struct weft_msg_stream *weft_msg_stream_of(const struct weft_endpoint *ep)
{
    return (struct weft_msg_stream *)((char *)(uintptr_t)ep -
                                      offsetof(struct weft_msg_stream, base));
}

/* What becomes of a send to a peer that is lost: an error, once the layer above knows. */
static inline enum weft_rc weft_msg_gone(const struct weft_msg_peer *peer)
{
    return peer->is_told_lost ? WEFT_ERR_DEAD : WEFT_AGAIN;
}

/* The peer, made if it is new; NULL: no memory. */
struct weft_msg_peer *weft_msg_peer_get(struct weft_transport *tp, uint32_t rank);

/* Brings libfabric up, if it is not; says why it cannot, the first time. */
enum weft_rc weft_msg_come_up(struct weft_transport *tp);

/* Finds our addresses that are for jobs; listens at the ports that the doors have taken;
 * publishes both; finds out where a peer listens, WEFT_AGAIN: it has not said so yet. */
bool weft_msg_find_own(struct weft_transport *tp);
enum weft_rc weft_msg_listen(struct weft_transport *tp);
enum weft_rc weft_msg_publish(struct weft_transport *tp);
enum weft_rc weft_msg_find(struct weft_transport *tp, struct weft_msg_peer *peer);

/* May libfabric wait until it is needed? */
bool weft_msg_may_defer(void);
/* Draws our token; opens a door at each of our addresses. */
enum weft_rc weft_msg_open_doors(struct weft_transport *tp);
bool weft_msg_is_knocked(const struct weft_transport *tp);
/* Puts a door in the place of the socket of libfabric's listener, which has not begun to
 * listen; false: that was not found. */
bool weft_msg_lay_under(struct weft_transport *tp, int which, struct fid_pep *listener);
/* Nobody sleeps on the doors any more: libfabric's listeners tell. */
void weft_msg_end_knocks(struct weft_transport *tp);
/* All of them, and the ports are given up. */
void weft_msg_close_doors(struct weft_transport *tp);

/* The peer's stream of a number below WEFT_STREAMS_MAX, made if it is new; NULL: no
 * memory. */
struct weft_msg_stream *weft_msg_stream_get(struct weft_msg_peer *peer, uint32_t number);
/* The stream of the next long message to the peer; the first, while another whose turn it
 * is is being connected. */
struct weft_endpoint *weft_msg_next_stream(struct weft_endpoint *ep);
struct weft_endpoint *weft_msg_find_stream(struct weft_endpoint *ep, uint32_t number);
void weft_msg_close_streams(struct weft_msg_peer *peer);

/* Begins to connect, if that has not begun. */
void weft_msg_connect(struct weft_transport *tp, struct weft_msg_stream *stream);
/* Handles what has happened to connections; returns how much. */
int weft_msg_handle_events(struct weft_transport *tp);
void weft_msg_set_state(struct weft_transport *tp, struct weft_msg_stream *stream,
                        enum weft_msg_state state);
/* A connection has failed, or cannot be made, and with it the peer is lost; a further
 * stream that never stood is given up alone. */
void weft_msg_lose(struct weft_transport *tp, struct weft_msg_stream *stream,
                   const char *cause);
/* Ends a connection for a cause that lies in this process: the layer above is told before
 * the peer, which sees only the end, says so. */
void weft_msg_give_up(struct weft_transport *tp, struct weft_msg_stream *stream,
                      const char *cause);
/* The same for one whose other end has not answered for weft_msg_silence_ms(). */
void weft_msg_lose_silent(struct weft_transport *tp, struct weft_msg_stream *stream);

/* "rank 3 on node7 (10.0.0.7 port 47003)", as far as it is known. */
enum { WEFT_MSG_PLACE_BYTES = 160 };
void weft_msg_name_peer(const struct weft_msg_peer *peer, char *text, size_t room);
/* Calls `lost` for the peers whose time has come; returns when the next one's comes, or
 * 0. */
uint64_t weft_msg_tell_losses(struct weft_transport *tp);

/* After how many milliseconds without an answer a peer is lost. */
uint64_t weft_msg_silence_ms(void);
/* Finds the socket of a stream that has begun to connect, or of one that stands, sets
 * close-on-exec, and asks the kernel for the time-outs that it needs. */
void weft_msg_watch_connecting(struct weft_msg_stream *stream);
void weft_msg_watch(struct weft_msg_stream *stream);
/* Loses who is silent, tells of those who are lost, and sets `due_ns`. */
void weft_msg_look_at_clock(struct weft_transport *tp);

/* One more who is not of the job; says so the first time. */
void weft_msg_count_rejected(struct weft_transport *tp, const char *why);
/*
 * Who connects where we listen and is not of the job can neither hold us up nor use us
 * up: the kernel drops what it sends and never accepts it. Where there is no such kernel,
 * at most WEFT_MSG_UNKNOWN_ROOM connections have a descriptor at any time that have asked
 * for nothing; each is ended after some seconds. See strangers.c.
 *
 * A socket that is about to listen is guarded; undone at the end, when no stream is left.
 */
void weft_msg_guard(const struct weft_transport *tp, int fd);
void weft_msg_unguard(struct weft_transport *tp);
/* Takes a descriptor for when there is no other. */
void weft_msg_keep_reserve(struct weft_transport *tp);
/* Sees to those who wait to be accepted, and those who were; cheap if called often. To be
 * called before the provider is, which accepts. */
void weft_msg_watch_listeners(struct weft_transport *tp);
/* To be called after the provider was. */
void weft_msg_has_accepted(struct weft_transport *tp);
/* A request has been read: from now on its connection may carry anything. False: it was
 * not found. */
bool weft_msg_unfilter(struct weft_transport *tp, const struct fid *listener,
                       const struct fi_info *info);

/* Where an endpoint of libfabric's is; where the other end of its connection is. */
bool weft_msg_place_of(struct fid *fid, struct weft_msg_place *out);
bool weft_msg_place_of_peer(struct fid_ep *ep, struct weft_msg_place *out);
/* The descriptor of the socket at a place, with a peer at another, or any if that is
 * NULL; -1: there is none. */
int weft_msg_find_socket(struct weft_transport *tp, const struct weft_msg_place *at,
                         const struct weft_msg_place *peer);
/* Calls for every socket at one of our addresses, the listeners' own included. */
void weft_msg_for_all_sockets(struct weft_transport *tp,
                              void (*call)(struct weft_transport *tp, int fd));
/* Programs that this process starts shall not inherit it. */
void weft_msg_close_on_exec(int fd);
/* The same for all sockets that are opened between these two calls, by libfabric, which
 * does not see to that itself. */
void weft_msg_note_sockets(struct weft_transport *tp, struct weft_msg_noted *noted);
void weft_msg_close_new_on_exec(struct weft_transport *tp, struct weft_msg_noted *noted);

enum weft_rc weft_msg_send(struct weft_endpoint *ep, const void *header, const void *data,
                           size_t len, unsigned flags);
/* May so many bytes of ordered packets go by it? Begins to connect if there is no way. */
enum weft_rc weft_msg_may_send(struct weft_transport *tp, struct weft_msg_stream *stream,
                               size_t bytes);
/* What a frame by this stream says; and once it was sent. */
struct weft_msg_frame weft_msg_frame(const struct weft_transport *tp,
                                     const struct weft_msg_stream *stream,
                                     enum weft_msg_kind kind);
void weft_msg_has_sent(struct weft_msg_peer *peer, const struct weft_msg_frame *frame,
                       size_t bytes);
/* What became of a post. */
enum weft_rc weft_msg_outcome(struct weft_transport *tp, struct weft_msg_stream *stream,
                              ssize_t code);

enum weft_rc weft_msg_send_zcopy(struct weft_endpoint *ep, const void *header,
                                 const void *head, size_t head_len, const void *data,
                                 size_t len, struct weft_op *op);
enum weft_rc weft_msg_put(struct weft_endpoint *ep, const struct weft_key *key,
                          uint64_t offset, const void *from, size_t len,
                          struct weft_op *op);
enum weft_rc weft_msg_get(struct weft_endpoint *ep, const struct weft_key *key,
                          uint64_t offset, void *to, size_t len, struct weft_op *op);
enum weft_rc weft_msg_mr_register(struct weft_transport *tp, void *memory, size_t bytes,
                                  unsigned how, struct weft_key *key, void **mr);
void weft_msg_mr_deregister(struct weft_transport *tp, void *mr);
/* A packet is out, or failed: its slot is free, and what was lent goes back. */
void weft_msg_return(struct weft_transport *tp, struct weft_msg_slot *slot,
                     enum weft_rc rc);

/* Sends LEAVE to all peers with a connection; see transport.h. */
void weft_msg_leave(struct weft_transport *tp);
/* Tells the peer what was taken, now or when there is room. */
void weft_msg_tell(struct weft_transport *tp, struct weft_msg_peer *peer);
void weft_msg_tell_all(struct weft_transport *tp);
struct weft_msg_slot *weft_msg_take_slot(struct weft_transport *tp,
                                         struct weft_msg_stream *stream);
void weft_msg_slot_is_free(struct weft_transport *tp, struct weft_msg_slot *slot);

void weft_msg_enqueue(struct weft_msg_queue *queue, struct weft_msg_held *held);
void weft_msg_empty(struct weft_msg_queue *queue);
/* Could a packet be taken that is held? */
bool weft_msg_may_take_held(const struct weft_transport *tp);
void weft_msg_post(struct weft_transport *tp, struct weft_msg_slot *slot);
int weft_msg_poll(struct weft_transport *tp, int budget);

#endif
