/*
 * promote.pml - a peer that changes from datagrams to a connection.
 *
 * Models src/engine/promote.c. Packets are numbered through. The first ones go by datagrams,
 * which are acknowledged and repeated, until a connection stands; the others go by that. One
 * datagram or acknowledgement may be lost, and the path of datagrams may die at any moment.
 *
 *   sender      when the connection stands, waits until all that went by datagrams is
 *               acknowledged or was handed back, and goes on by the connection
 *   hand_back   packets without an acknowledgement take the connection, if the path has died
 *   receiver    takes packets in the order of their numbers, whichever path each came by. A
 *               connection is a queue: its first packet is taken, or all wait behind it, and
 *               each has a credit until it is taken. One whose number is past is dropped.
 *
 * Holds: every packet is taken once, in order. No run is endless.
 */
#define PACKETS 5
#define WINDOW 2  /* datagrams that are not acknowledged */
#define CREDITS 2
#define LOSSES 1
#define NONE 255

chan datagrams = [WINDOW] of { byte };
chan acks = [1] of { byte };
chan connection = [CREDITS] of { byte };

byte losses = LOSSES;
byte credits = CREDITS;
bool is_dead;   /* the path of datagrams */
bool is_open;   /* the connection */
bool is_handed; /* packets were handed back */

byte next;  /* number of the next packet */
byte by;    /* those below went by datagrams */
byte acked; /* of them, those that have arrived as far as the sender knows */

byte arrived; /* by datagrams, in order */
byte offered; /* of them, those that the engine has taken or dropped */
byte turn;    /* the number that is taken next */

#define NOTHING_MOVES (len(datagrams) == 0 && len(acks) == 0)

inline emit(number)
{
    if
    :: losses > 0 -> losses--
    :: is_dead
    :: !is_dead -> datagrams ! number
    fi
}

proctype sender()
{
    do
    :: atomic { !is_open && next < PACKETS && next - acked < WINDOW ->
           emit(next);
           next++;
           by = next }
    :: is_open -> break
    od;
    (acked == by || is_handed); /* M:wait */
    do
    :: next < PACKETS ->
        atomic { credits > 0 -> credits--; connection ! next; next++ }
    :: next == PACKETS -> break
    od
}

proctype timer()
{
end:
    do
    :: atomic { acked < by && NOTHING_MOVES && !is_dead && !is_handed -> emit(acked) }
    :: false
    od
}

proctype hand_back()
{
    byte at;

end:
    (is_open && is_dead && acked < by);
    at = acked;
    do
    :: at < by ->
        credits > 0;
        atomic { credits--; connection ! at; at++ }
    :: at >= by -> break
    od;
    is_handed = true /* M:hand_back */
}

proctype network()
{
    byte number;

end:
    do
    :: atomic { !is_open -> is_open = true }
    :: atomic { !is_dead -> is_dead = true }
    :: atomic { is_dead && len(datagrams) > 0 -> datagrams ? number; number = 0 }
    :: atomic { is_dead && len(acks) > 0 -> acks ? number; number = 0 }
    :: atomic { !is_dead && len(acks) > 0 -> acks ? number;
           acked = (number > acked -> number : acked);
           number = 0 }
    od
}

inline acknowledge()
{
    if
    :: losses > 0 -> losses--
    :: len(acks) == 0 && !is_dead -> acks ! arrived
    :: len(acks) == 1 || is_dead
    fi
}

proctype receiver()
{
    byte number;
    byte head = NONE; /* of the connection */

end:
    do
    :: atomic { !is_dead && len(datagrams) > 0 -> datagrams ? number;
           arrived = (number == arrived -> arrived + 1 : arrived);
           acknowledge();
           number = 0 }
    :: atomic { offered < arrived ->
           assert(offered <= turn);
           turn = (offered == turn -> turn + 1 : turn); /* M:datagram */
           offered++ }
    :: atomic { head == NONE && len(connection) > 0 -> connection ? head }
    :: atomic { head == turn -> turn++; head = NONE; credits++ } /* M:take */
    :: atomic { head != NONE && head < turn -> head = NONE; credits++ } /* M:drop */
    od
}

proctype program()
{
    turn == PACKETS
}

init {
    atomic {
        run sender();
        run timer();
        run hand_back();
        run network();
        run receiver();
        run program()
    }
}
