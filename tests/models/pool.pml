/*
 * pool.pml - two peers and one pool of receive buffers.
 *
 * Models the rules for connected networks (docs/design.md, section 9). A process has one
 * pool of posted buffers for all its peers, here the smallest: one buffer. Its two peers
 * have a pool each. Between each two of them there is a stream each way, which is reliable
 * and ordered and holds STREAM packets; where no buffer is posted its first packet waits,
 * and all behind it. Both ways go eager messages and requests:
 *
 *   data      an eager message; sent against a lease of space in the receiver's store
 *   want      the sender has a message and no lease; the receiver notes it
 *   grant     a lease
 *   recall    the space is wanted for another peer
 *   giving    back a lease that the sender has no message for
 *   request   control that has to be answered; at most REQUESTS without an answer
 *   reply     the answer
 *
 * What arrives is taken out of its buffer, which is posted again at once: data go into the
 * store, or to a receive that waits for them; requests into the peer's reserve, until there
 * is room on the stream to answer; the rest is noted, and needs no memory. Programs receive
 * what is stored at any time, or late. All a process does is done under one lock, so each
 * step is atomic.
 *
 * Holds: every message is delivered and every request answered; neither the store nor a
 * reserve is ever overrun. No run is endless.
 */
#define BUFFERS 1  /* in each pool */
#define STREAM 1   /* packets on their way */
#define REQUESTS 1 /* of one peer, not yet answered */
#define SPACE 1    /* messages that each store holds, for all peers */

/* A way is a stream: 0 and 1 lead from the peers to the process, 2 and 3 lead back. */
#define WAYS 4
#define BACK(way) ((way + 2) % WAYS)
#define OTHER(way) (1 - way) /* the other peer's way to the process */
#define HAS_ROOM(way) (len(stream[way]) < STREAM)

mtype = { data, want, grant, recall, giving, request, reply };
chan stream[WAYS] = [STREAM] of { mtype };

byte posted[3] = BUFFERS;
byte space[3] = SPACE; /* neither leased nor used */
byte stored[3];        /* messages that no receive has taken */

/* At the end of a way from which it is sent. */
byte to_send[WAYS];
byte to_ask[WAYS];
byte leases[WAYS];
byte unanswered[WAYS];
bool has_asked[WAYS];  /* for a lease */
bool is_recalled[WAYS];

/* At the end of a way at which it arrives. */
byte reserve[WAYS]; /* requests that wait for their answer */
byte held[WAYS];    /* buffers that such requests still lie in: none */
byte lent[WAYS];    /* leases out, as far as is known here */
bool is_wanting[WAYS];
bool is_recalling[WAYS];

byte undelivered;

#define IS_DONE                                                                         \
    (undelivered == 0 && to_ask[0] + to_ask[1] + to_ask[2] + to_ask[3] == 0 &&          \
     unanswered[0] + unanswered[1] + unanswered[2] + unanswered[3] == 0)

/* A message goes to a receive that waits for it, or stays in the store. */
inline keep_or_deliver()
{
    if
    :: undelivered--;
       space[me]++ /* M:space_at_once */
    :: stored[me]++;
       assert(stored[me] <= SPACE)
    fi
}

inline take_out()
{
    posted[me]--;
    if
    :: packet == data ->
        lent[in] = (lent[in] > 0 -> lent[in] - 1 : 0);
        is_recalling[in] = is_recalling[in] && lent[in] > 0;
        keep_or_deliver()
    :: packet == want ->
        assert(!is_wanting[in]);
        is_wanting[in] = true /* M:note_the_want */
    :: packet == grant ->
        leases[out]++;
        has_asked[out] = false
    :: packet == recall ->
        is_recalled[out] = leases[out] > 0
    :: packet == giving ->
        lent[in]--;
        is_recalling[in] = is_recalling[in] && lent[in] > 0;
        space[me]++ /* M:take_back */
    :: packet == request ->
        reserve[in]++;
        assert(reserve[in] <= REQUESTS);
        is_held = true;
        is_held = false /* M:at_once */
    :: packet == reply ->
        unanswered[out]--
    fi;
    if
    :: is_held -> held[in]++
    :: else ->
        posted[me]++ /* M:repost */
    fi
}

/* What one process does for one peer: `out` leads there, `in` leads here. */
proctype link(byte me; byte out)
{
    byte in = BACK(out);
    mtype packet;
    bool is_held;

    do
    :: atomic { posted[me] > 0 && nempty(stream[in]) ->
           stream[in] ? packet;
           take_out();
           packet = 0; /* so that states are not told apart by it */
           is_held = false }
    :: atomic { to_send[out] > 0 && leases[out] > 0 && HAS_ROOM(out) ->
           stream[out] ! data;
           to_send[out]--;
           leases[out]--; /* M:spend_the_lease */
           is_recalled[out] = is_recalled[out] && leases[out] > 0 }
    :: atomic { to_send[out] > 0 && leases[out] == 0 && !has_asked[out] && HAS_ROOM(out) ->
           stream[out] ! want;
           has_asked[out] = true /* M:ask_once */
       }
    :: atomic { is_wanting[in] && space[me] > 0 && HAS_ROOM(out) ->
           stream[out] ! grant;
           is_wanting[in] = false;
           lent[in]++;
           space[me]-- /* M:lease_once */
       }
    :: atomic { me == 0 && is_wanting[OTHER(in)] && space[0] == 0 && lent[in] > 0 &&
                !is_recalling[in] && HAS_ROOM(out) ->
           is_recalling[in] = true; /* M:recall_once */
           stream[out] ! recall /* M:recall */
       }
    :: atomic { is_recalled[out] && to_send[out] == 0 && HAS_ROOM(out) ->
           stream[out] ! giving; /* M:give_back */
           leases[out]--;
           is_recalled[out] = leases[out] > 0 }
    :: atomic { stored[me] > 0 -> stored[me]--; undelivered--;
           space[me]++ /* M:free_space */
       }
    :: atomic { to_ask[out] > 0 && unanswered[out] < REQUESTS && HAS_ROOM(out) ->
           stream[out] ! request;
           to_ask[out]--;
           unanswered[out]++ /* M:count_requests */
       }
    :: atomic { reserve[in] > 0 && HAS_ROOM(out) ->
           stream[out] ! reply; /* M:reply */
           reserve[in]--;
           posted[me] = posted[me] + held[in];
           held[in] = 0 }
    :: IS_DONE -> break
    od
}

/*
 * All space of the process is leased to one peer, who may have no use for it while the
 * other waits.
 */
init {
    atomic {
        if
        :: to_send[0] = 0
        :: to_send[0] = 1
        fi;
        to_send[1] = 2; to_send[2] = 1; to_send[3] = 1;
        undelivered = to_send[0] + 4;
        to_ask[0] = 2; to_ask[1] = 1; to_ask[2] = 1;
        leases[0] = SPACE; lent[0] = SPACE; space[0] = 0;
        run link(0, 2);
        run link(0, 3);
        run link(1, 0);
        run link(2, 1)
    }
}
