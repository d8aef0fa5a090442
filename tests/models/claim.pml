/*
 * claim.pml - a receive that its receiver offers, and that a sender may claim.
 *
 * Models src/node/joint.c, weft_p2p_look_at_transfers() in rendezvous.c, and who takes an
 * offered receive: weft_p2p_send_by_offer() in offer.c, or an arrival or MPI_Cancel by
 * claim() in match.c. The receiver has one joint and offers it twice, each time to
 * another sender; a message has two pieces. Where the receiver has taken the offer back,
 * the message of that turn has come another way.
 *
 * Holds: exactly one takes each turn; its pieces are copied once, to and from where they
 * belong; both sides see the end, and nobody takes one turn for another.
 */
#define THREADS 3
#define WORDS 8
#define STATE 0
#define RANGE 1
#define COPIED 2
#define LENGTH 3
#define SOURCE 4 /* of the sender; its number stands for the address */
#define TARGET 5 /* of the receiver */
#define OFFER(turn) (5 + (turn))
#define DEPTH 5 /* as many stores as opening makes */

/* Turn and state, and turn, back and front, in a word each. */
#define OFFERED(turn) (8 * (turn) + 1)
#define TAKEN(turn) (8 * (turn) + 2)
#define CLAIMED(turn) (8 * (turn) + 3)
#define OPEN(turn) (8 * (turn) + 4)
#define TURN_OF_STATE(state) ((state) / 8)
#define RANGE_OF(turn, front, back) (16 * (turn) + 4 * (back) + (front))
#define TURN_OF_RANGE(range) ((range) / 16)
#define FRONT_OF(range) ((range) % 4)
#define BACK_OF(range) ((range) / 4 % 4)
#define PIECES 2

#include "tso.pml"

byte takers[3]; /* by turn: how many took it */
byte copies[4]; /* by turn and piece */

#define COPIES(turn, piece) copies[2 * (turn) - 2 + (piece)]
#define IS_COPIED(turn) (COPIES(turn, 0) == 1 && COPIES(turn, 1) == 1)

inline take(turn)
{
    takers[turn]++;
    assert(takers[turn] == 1)
}

/* weft_joint_claim_piece(): has_piece, and which. */
inline claim_piece(turn, is_receiver)
{
    has_piece = false;
    load(STATE, seen);
    do
    :: seen == OPEN(turn) ->
        load(RANGE, range);
        if
        :: TURN_OF_RANGE(range) != turn -> break /* M:turn_of_range */
        :: TURN_OF_RANGE(range) == turn && FRONT_OF(range) >= BACK_OF(range) -> break
        :: else
        fi;
        if
        :: is_receiver ->
            piece = FRONT_OF(range);
            compare_exchange(RANGE, range, range + 1, has_piece)
        :: else ->
            piece = BACK_OF(range) - 1;
            compare_exchange(RANGE, range, range - 4, has_piece)
        fi;
        if
        :: has_piece -> break
        :: else
        fi
    :: else -> break
    od
}

/* move_piece() and weft_joint_count(): to where the joint says. */
inline copy_pieces(turn, is_receiver)
{
    claim_piece(turn, is_receiver);
    do
    :: has_piece ->
        load((is_receiver -> SOURCE : TARGET), seen);
        assert(seen == turn);
        COPIES(turn, piece)++;
        assert(COPIES(turn, piece) == 1);
        add(COPIED, 1); /* M:count */
        claim_piece(turn, is_receiver)
    :: else -> break
    od
}

/*
 * weft_joint_is_over(), until it says so; a turn of the loop is a wait for a reason to
 * look again. Its own stores have reached memory by then.
 */
inline await_end(turn)
{
    drain();
    do
    :: TURN_OF_STATE(memory[STATE]) != turn -> break /* M:turn_of_state */
    :: TURN_OF_STATE(memory[STATE]) == turn && memory[COPIED] == memory[LENGTH] ->
        is_open = true;
        is_open = memory[STATE] == OPEN(turn); /* M:state */
        load(COPIED, copied);
        load(LENGTH, length);
        if
        :: is_open && copied == length -> break
        :: else
        fi
    od;
    assert(IS_COPIED(turn))
}

active proctype receiver()
{
    byte turn, seen, range, piece, copied, length;
    bool has_piece, is_mine, is_open;

    do
    :: turn < 2 ->
        turn++;
        store(TARGET, turn);
        store(LENGTH, PIECES);
        store(STATE, OFFERED(turn));
        store(OFFER(turn), 1);
        is_mine = false;
        if
        :: /* an arrival or MPI_Cancel */
            is_mine = true;
            compare_exchange(STATE, OFFERED(turn), TAKEN(turn), is_mine) /* M:take_back */
        :: skip
        fi;
        if
        :: is_mine ->
            take(turn)
        :: else ->
            if
            :: memory[STATE] == OPEN(turn) -> copy_pieces(turn, true)
            :: skip /* or leaves it all to the sender */
            fi;
            await_end(turn)
        fi
    :: else -> break
    od
}

active [2] proctype sender()
{
    byte seen, range, piece, copied, length;
    bool has_piece, is_mine, is_open;

    memory[OFFER(ME)] == 1;
    is_mine = true;
    compare_exchange(STATE, OFFERED(ME), CLAIMED(ME), is_mine); /* M:claim */
    if
    :: is_mine ->
        take(ME);
        load(TARGET, seen);
        assert(seen == ME);
        store(SOURCE, ME);
        store(LENGTH, PIECES);
        store(COPIED, 0); /* M:copied */
        store(RANGE, RANGE_OF(ME, 0, PIECES)); /* M:range */
        store(STATE, OPEN(ME)); /* M:open */
        copy_pieces(ME, false);
        await_end(ME)
    :: else
    fi
}
