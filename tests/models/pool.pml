/*
 * pool.pml - two peers and one pool of receive buffers.
 *
 * Models the rules of the transport over connections (src/transport/ofi/msg). A process
 * has one pool of posted buffers for all its peers, here the smallest: one buffer. Its two
 * peers have a pool each. Between each two of them there is a stream each way, which is
 * reliable and ordered and holds STREAM packets; where no buffer is posted its first packet
 * waits, and all behind it.
 *
 *   data      sent against a window: at most WINDOW that are not known to be taken
 *   control   has a window of its own, and is always taken
 *   credit    nothing but what was taken; every packet says that
 *
 * What arrives is taken out of its buffer, which is posted again at once. Data go into the
 * store, or to a receive that waits for them; where neither is possible they are copied
 * aside, behind others of the same peer, until it is. Who has taken half a window, and has
 * not said so, sends a credit when there is room. The process receives all of its first
 * peer's messages, then the other's, which may have filled the store. All a process does
 * is done under one lock, so each step is atomic.
 *
 * Holds: every message is delivered; what is aside, and what control was not told of, is
 * never more than a window. No run is endless.
 */
#define BUFFERS 1 /* in each pool */
#define STREAM 1  /* packets on their way */
#define WINDOW 2  /* as in the library, half of it is told of */
#define HALF 1
#define SPACE 1 /* messages that each store holds, for all peers */

/* A way is a stream: 0 and 1 lead from the peers to the process, 2 and 3 lead back. */
#define WAYS 4
#define BACK(way) ((way + 2) % WAYS)
#define HAS_ROOM(way) (len(stream[way]) < STREAM)

mtype = { data, control, credit };
chan stream[WAYS] = [STREAM] of { mtype, byte, byte };

byte posted[3] = BUFFERS;
byte used[3]; /* of the store */

/* At the end of a way from which it is sent. */
byte to_send[WAYS];
byte to_order[WAYS]; /* control */
byte sent[WAYS];
byte acknowledged[WAYS];
byte sent_control[WAYS];
byte acknowledged_control[WAYS];

/* At the end of a way at which it arrives. */
byte to_receive[WAYS];
byte stored[WAYS];
byte aside[WAYS];
byte kept[WAYS]; /* buffers that lie aside with what is in them: none */
byte taken[WAYS];
byte taken_control[WAYS];
byte told[WAYS];
byte told_control[WAYS];

#define LEFT(some) (some[0] + some[1] + some[2] + some[3])
#define IS_DONE (LEFT(to_receive) == 0 && LEFT(to_order) == 0)
#define IS_WANTED(way) (way != 1 || to_receive[0] == 0)
#define CAN_STORE (used[me] < SPACE)
#define CAN_DELIVER (stored[in] == 0 && IS_WANTED(in))
#define IS_OWING                                                                        \
    (taken[in] - told[in] >= HALF || taken_control[in] - told_control[in] >= HALF)

inline store()
{
    stored[in]++;
    used[me]++;
    taken[in]++ /* M:count_stored */
}

inline deliver()
{
    to_receive[in]--;
    taken[in]++ /* M:count_delivered */
}

inline take_out()
{
    posted[me]--;
    acknowledged[out] = known; /* M:acknowledge */
    acknowledged_control[out] = known_control; /* M:acknowledge_control */
    if
    :: packet == data && aside[in] == 0 && CAN_STORE -> store()
    :: packet == data && aside[in] == 0 && CAN_DELIVER -> deliver()
    :: packet == data && (aside[in] > 0 || !CAN_STORE) -> /* or the receive comes late */
        aside[in]++;
        assert(aside[in] <= WINDOW);
        is_kept = true;
        is_kept = false /* M:copy_aside */
    :: packet == control ->
        taken_control[in]++; /* M:count_control_taken */
        assert(taken_control[in] - told_control[in] <= WINDOW)
    :: packet == credit
    fi;
    if
    :: is_kept -> kept[in]++
    :: else ->
        posted[me]++ /* M:repost */
    fi
}

/* Every packet says what was taken. */
inline send(kind)
{
    stream[out] ! kind, taken[in], taken_control[in];
    told[in] = taken[in]; /* M:told */
    told_control[in] = taken_control[in] /* M:told_control */
}

/* What one process does for one peer: `out` leads there, `in` leads here. */
proctype link(byte me; byte out)
{
    byte in = BACK(out);
    mtype packet;
    byte known;
    byte known_control;
    bool is_kept;

    do
    :: atomic { posted[me] > 0 && nempty(stream[in]) ->
           stream[in] ? packet, known, known_control;
           take_out();
           packet = 0; /* so that states are not told apart by these */
           known = 0;
           known_control = 0;
           is_kept = false }
    :: atomic { to_send[out] > 0 && sent[out] - acknowledged[out] < WINDOW && HAS_ROOM(out) ->
           send(data);
           to_send[out]--;
           sent[out]++ /* M:count_sent */
       }
    :: atomic { to_order[out] > 0 && sent_control[out] - acknowledged_control[out] < WINDOW &&
                HAS_ROOM(out) ->
           send(control);
           to_order[out]--;
           sent_control[out]++ /* M:count_control_sent */
       }
    :: atomic { IS_OWING && HAS_ROOM(out) ->
           send(credit) /* M:credit */
       }
    :: atomic { aside[in] > 0 && (CAN_STORE || CAN_DELIVER) ->
           if
           :: CAN_STORE -> store()
           :: CAN_DELIVER -> deliver()
           fi;
           aside[in]--; /* M:take_from_aside */
           posted[me] = posted[me] + kept[in];
           kept[in] = 0 }
    :: atomic { stored[in] > 0 && IS_WANTED(in) ->
           stored[in]--;
           to_receive[in]--;
           used[me]-- }
    :: IS_DONE -> break
    od
}

init {
    atomic {
        to_send[0] = 1; to_send[1] = 4; to_send[3] = 1;
        to_receive[0] = 1; to_receive[1] = 4; to_receive[3] = 1;
        to_order[2] = 3;
        run link(0, 2);
        run link(0, 3);
        run link(1, 0);
        run link(2, 1)
    }
}
