/*
 * grants.pml - senders of datagrams, and one receiver who grants.
 *
 * Models the rules of reliable datagrams (src/transport/dgram, docs/dgram.md). Each sender
 * has ordered datagrams and one control datagram for the receiver, whose buffer all of them
 * share. A datagram or an acknowledgement may be lost, LOSSES in all.
 *
 *   sender     sends what is granted, and at most one that is not: a control datagram, or an
 *              ordered one whose number equals the limit; when nothing else happens (the
 *              timer) it repeats the oldest, or asks, if it has something and may not send
 *   receiver   takes only the next number (more would not change what is shown), keeps
 *              ordered ones until the program takes them, and grants up to SHARE, all
 *              together up to BUDGET; who holds more than HELD gets nothing, not even one
 *              that is ordered
 *
 * The program takes all of the first sender's, then the other's, and those of each only
 * after its control datagram: so kept datagrams must not hold that up.
 *
 * Holds: the buffer never has more than the budget and one for each sender; what is kept
 * is bounded; everything is taken. No run is endless.
 */
#define SENDERS 2
#define PACKETS 4
#define BUDGET 2
#define SHARE 2
#define HELD 0
#define LOSSES 1
#define MOST (HELD + SHARE + 1) /* kept of one sender */
#define NUMBERS (PACKETS + 1)

mtype = { ordered, control, probe };
chan data[SENDERS] = [BUDGET + 1] of { mtype, byte, bool }; /* number, is there a backlog */
chan back[SENDERS] = [1] of { byte, byte };                 /* ack, room */

byte losses = LOSSES;
byte turn; /* whose question is next: timers of both end again and again */

/* Senders. */
mtype kinds[10]; /* of SENDERS * NUMBERS datagrams */
byte left[SENDERS] = PACKETS;
bool has_order[SENDERS] = true;
byte next[SENDERS];
byte acked[SENDERS];
byte granted[SENDERS];
byte beyond[SENDERS]; /* number + 1 of the one that was not granted; 0: none */

/* The receiver. */
byte expected[SENDERS];
byte told[SENDERS];
byte held[SENDERS];
byte taken[SENDERS];
bool has_control[SENDERS];
bool wants[SENDERS];
bool must_ack[SENDERS];

#define OUTSTANDING(i) (told[i] > expected[i] -> told[i] - expected[i] : 0)
#define ALL_OUTSTANDING (OUTSTANDING(0) + OUTSTANDING(1))
#define CAN_REPEAT(i) (next[i] > acked[i])
#define CAN_ASK(i) (next[i] == acked[i] && left[i] > 0)
#define IN_BUFFER (len(data[0]) + len(data[1]))
#define IS_TURN(i) (has_control[i] && (i == 0 || taken[0] == PACKETS))
#define IS_DONE (taken[0] == PACKETS && taken[1] == PACKETS)

inline emit(kind, number)
{
    if
    :: losses > 0 -> losses--
    :: data[me] ! kind, number, left[me] > 0 || has_order[me]
    fi;
    assert(IN_BUFFER <= BUDGET + SENDERS)
}

inline send_new(kind)
{
    kinds[me * NUMBERS + next[me]] = kind;
    if
    :: next[me] >= granted[me] ->
        beyond[me] = next[me] + 1 /* M:count_beyond */
    :: else
    fi;
    emit(kind, next[me]);
    next[me]++
}

proctype sender(byte me)
{
    byte ack;
    byte room;

    do
    :: atomic { back[me] ? ack, room ->
           if
           :: ack > acked[me] ->
               acked[me] = ack; /* M:acknowledge */
               if
               :: beyond[me] > 0 && beyond[me] <= ack ->
                   beyond[me] = 0 /* M:end_beyond */
               :: else
               fi
           :: else
           fi;
           if
           :: ack + room > granted[me] + 1 ->
               granted[me] = ack + room - 1 /* M:take_grant */
           :: else
           fi;
           ack = 0;
           room = 0 }
    :: atomic { has_order[me] && (next[me] < granted[me] || beyond[me] == 0) ->
           has_order[me] = false;
           send_new(control) }
    :: atomic { left[me] > 0 && (next[me] < granted[me] ||
                                 (beyond[me] == 0 && next[me] == granted[me])) ->
           left[me]--;
           send_new(ordered) }
    :: atomic { timeout && CAN_REPEAT(me) ->
           emit(kinds[me * NUMBERS + acked[me]], acked[me]) /* M:repeat */
       }
    :: atomic { timeout && CAN_ASK(me) && !CAN_REPEAT(1 - me) &&
                (turn == me || !CAN_ASK(1 - me)) ->
           turn = 1 - me;
           emit(probe, next[me]) /* M:probe */
       }
    :: IS_DONE -> break
    od
}

/* Raises the limit of a sender as far as it should and can be. */
inline grant(i)
{
    wanted = (held[i] <= HELD -> SHARE : 0); /* M:held_bounds */
    more = (wanted > OUTSTANDING(i) -> wanted - OUTSTANDING(i) : 0);
    if
    :: more > BUDGET - ALL_OUTSTANDING ->
        more = BUDGET - ALL_OUTSTANDING /* M:budget */
    :: else
    fi;
    if
    :: more > 0 -> told[i] = expected[i] + OUTSTANDING(i) + more
    :: else
    fi;
    least = expected[i];
    if
    :: wanted == 0 ->
        least-- /* M:not_even_one */
    :: else
    fi;
    if
    :: told[i] < least ->
        told[i] = least /* M:least */
    :: else
    fi;
    wanted = 0;
    more = 0;
    least = 0
}

proctype receiver()
{
    mtype kind;
    byte number;
    byte wanted;
    byte more;
    byte least;
    byte i;

    do
    :: atomic { nempty(data[0]) || nempty(data[1]) ->
           if
           :: nempty(data[0]) -> i = 0
           :: nempty(data[1]) -> i = 1
           fi;
           data[i] ? kind, number, wants[i];
           if
           :: kind != probe && number == expected[i] ->
               expected[i]++;
               if
               :: kind == ordered ->
                   held[i]++; /* M:keep */
                   assert(held[i] <= MOST)
               :: kind == control ->
                   has_control[i] = true /* M:control */
               fi
           :: else
           fi;
           grant(i);
           must_ack[i] = true; /* M:ack */
           kind = 0;
           number = 0;
           i = 0 }
    :: atomic { (must_ack[0] && nfull(back[0])) || (must_ack[1] && nfull(back[1])) ->
           if
           :: must_ack[0] && nfull(back[0]) -> i = 0
           :: must_ack[1] && nfull(back[1]) -> i = 1
           fi;
           must_ack[i] = false;
           if
           :: losses > 0 -> losses--
           :: back[i] ! expected[i], told[i] + 1 - expected[i]
           fi;
           i = 0 }
    :: atomic { (held[0] > 0 && IS_TURN(0)) || (held[1] > 0 && IS_TURN(1)) ->
           if
           :: held[0] > 0 && IS_TURN(0) -> i = 0
           :: held[1] > 0 && IS_TURN(1) -> i = 1
           fi;
           held[i]--;
           taken[i]++;
           grant(i);
           must_ack[i] = wants[i];
           i = 0 }
    :: IS_DONE -> break
    od
}

init {
    atomic {
        run sender(0);
        run sender(1);
        run receiver()
    }
}
