/*
 * claim.pml - a receive that its receiver offers, and that a sender may claim.
 *
 * Models src/node/copy_share.c, weft_transfers_look() in src/transfer/transfer.c, and who
 * takes an offered receive: weft_offer_use() in src/transfer/offer.c, or an arrival or
 * MPI_Cancel by claim() in src/match/match.c. The receiver has one share and offers it
 * twice, each time to another sender; a message has two chunks. Where the receiver has
 * taken the offer back, the message of that generation has come another way.
 *
 * Holds: exactly one takes each generation; its chunks are copied once, to and from where they
 * belong; both sides see the end, and nobody takes one generation for another.
 */
#define THREADS 3
#define WORDS 8
#define STATE 0
#define RANGE 1
#define COPIED 2
#define LENGTH 3
#define SOURCE 4 /* of the sender; its number stands for the address */
#define TARGET 5 /* of the receiver */
#define OFFER(generation) (5 + (generation))
#define DEPTH 5 /* as many stores as opening makes */

/* Generation and state, and generation, back and front, in a word each. */
#define OFFERED(generation) (8 * (generation) + 1)
#define TAKEN(generation) (8 * (generation) + 2)
#define CLAIMED(generation) (8 * (generation) + 3)
#define OPEN(generation) (8 * (generation) + 4)
#define GENERATION_OF_STATE(state) ((state) / 8)
#define RANGE_OF(generation, front, back) (16 * (generation) + 4 * (back) + (front))
#define GENERATION_OF_RANGE(range) ((range) / 16)
#define FRONT_OF(range) ((range) % 4)
#define BACK_OF(range) ((range) / 4 % 4)
#define CHUNKS 2

#include "tso.pml"

byte takers[3]; /* by generation: how many took it */
byte copies[4]; /* by generation and chunk */

#define COPIES(generation, chunk) copies[2 * (generation) - 2 + (chunk)]
#define IS_COPIED(generation) (COPIES(generation, 0) == 1 && COPIES(generation, 1) == 1)

inline take(generation)
{
    takers[generation]++;
    assert(takers[generation] == 1)
}

/* weft_share_claim_chunk(): has_chunk, and which. */
inline claim_chunk(generation, is_receiver)
{
    has_chunk = false;
    load(STATE, seen);
    do
    :: seen == OPEN(generation) ->
        load(RANGE, range);
        if
        :: GENERATION_OF_RANGE(range) != generation -> break /* M:generation_of_range */
        :: GENERATION_OF_RANGE(range) == generation && FRONT_OF(range) >= BACK_OF(range) -> break
        :: else
        fi;
        if
        :: is_receiver ->
            chunk = FRONT_OF(range);
            compare_exchange(RANGE, range, range + 1, has_chunk)
        :: else ->
            chunk = BACK_OF(range) - 1;
            compare_exchange(RANGE, range, range - 4, has_chunk)
        fi;
        if
        :: has_chunk -> break
        :: else
        fi
    :: else -> break
    od
}

/* move_chunk() and weft_share_count(): to where the share says. */
inline copy_chunks(generation, is_receiver)
{
    claim_chunk(generation, is_receiver);
    do
    :: has_chunk ->
        load((is_receiver -> SOURCE : TARGET), seen);
        assert(seen == generation);
        COPIES(generation, chunk)++;
        assert(COPIES(generation, chunk) == 1);
        add(COPIED, 1); /* M:count */
        claim_chunk(generation, is_receiver)
    :: else -> break
    od
}

/*
 * weft_share_is_over(), until it says so; a generation of the loop is a wait for a reason to
 * look again. Its own stores have reached memory by then.
 */
inline await_end(generation)
{
    drain();
    do
    :: GENERATION_OF_STATE(memory[STATE]) != generation -> break /* M:generation_of_state */
    :: GENERATION_OF_STATE(memory[STATE]) == generation && memory[COPIED] == memory[LENGTH] ->
        is_open = true;
        is_open = memory[STATE] == OPEN(generation); /* M:state */
        load(COPIED, copied);
        load(LENGTH, length);
        if
        :: is_open && copied == length -> break
        :: else
        fi
    od;
    assert(IS_COPIED(generation))
}

active proctype receiver()
{
    byte generation, seen, range, chunk, copied, length;
    bool has_chunk, is_mine, is_open;

    do
    :: generation < 2 ->
        generation++;
        store(TARGET, generation);
        store(LENGTH, CHUNKS);
        store(STATE, OFFERED(generation));
        store(OFFER(generation), 1);
        is_mine = false;
        if
        :: /* an arrival or MPI_Cancel */
            is_mine = true;
            compare_exchange(STATE, OFFERED(generation), TAKEN(generation), is_mine) /* M:take_back */
        :: skip
        fi;
        if
        :: is_mine ->
            take(generation)
        :: else ->
            if
            :: memory[STATE] == OPEN(generation) -> copy_chunks(generation, true)
            :: skip /* or leaves it all to the sender */
            fi;
            await_end(generation)
        fi
    :: else -> break
    od
}

active [2] proctype sender()
{
    byte seen, range, chunk, copied, length;
    bool has_chunk, is_mine, is_open;

    memory[OFFER(ME)] == 1;
    is_mine = true;
    compare_exchange(STATE, OFFERED(ME), CLAIMED(ME), is_mine); /* M:claim */
    if
    :: is_mine ->
        take(ME);
        load(TARGET, seen);
        assert(seen == ME);
        store(SOURCE, ME);
        store(LENGTH, CHUNKS);
        store(COPIED, 0); /* M:copied */
        store(RANGE, RANGE_OF(ME, 0, CHUNKS)); /* M:range */
        store(STATE, OPEN(ME)); /* M:open */
        copy_chunks(ME, false);
        await_end(ME)
    :: else
    fi
}
