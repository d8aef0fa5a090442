/*
 * offers.pml - receives that are offered over a network, where no word is seen by both
 * sides.
 *
 * Models src/transfer/offer_net.c, weft_rndv_net_store() in rndv_net.c, who takes a posted
 * receive in src/p2p/arrive.c and long.c, and weft_match_may_offer() in src/match/match.c.
 * One sender has messages of two tags, long or small; one receiver posts receives of the
 * first tag, from that sender or from any, offers those that it may, and cancels any of
 * them; another process sends to receives from any. A transport may have no room for a
 * packet, which then waits; a put may take its time; an offer may come twice.
 *
 * Holds: a put finds its receive posted, its STORED is matched to that receive and no older
 * one, and whoever cancels gets an answer. No run is endless.
 */
#define MESSAGES 3
#define RECEIVES 2
#define OPEN_MOST 2
#define NEVER 9 /* the offer has come again */

mtype = { ORDINARY, STORED, KEY_OFFER, GONE, RECALL };

/* The sender to the receiver, in the order of their numbers: kind, has it the tag of the
 * receives, request. */
chan ordered = [MESSAGES] of { mtype, bool, byte };
chan returned = [RECEIVES] of { byte }; /* request; in no order with those */
bool is_putting[RECEIVES];              /* on its way, by request */
bool is_posted[RECEIVES];

/* The receiver to the sender, in order: kind, request, seen, number of the offer. */
chan words = [RECEIVES * 3] of { mtype, byte, byte, byte };

/* A put arrives. */
active proctype network()
{
end_idle:
    do
    :: atomic { is_putting[0] -> assert(is_posted[0]); is_putting[0] = false }
    :: atomic { is_putting[1] -> assert(is_posted[1]); is_putting[1] = false }
    od
}

/* ---- the receiver ---- */

/* weft_engine_control(): now, or behind what has found no room. */
inline say(what, about)
{
    if
    :: empty(unsent) -> words!what, about, taken - stored, 0
    :: unsent!what, about, taken - stored
    fi
}

/* weft_match_arrive(): the oldest that fits, or `posted`. */
inline find_first(is_from_other)
{
    first = 0;
    do
    :: first < posted && (!is_posted[first] || (is_from_other && !is_from_any[first])) ->
        first++
    :: else -> break
    od
}

inline end_receive(request)
{
    is_posted[request] = false;
    open = open - is_offered[request];
    awaited = awaited - is_recalled[request];
    is_offered[request] = false;
    is_recalled[request] = false
}

/* A message has come in the ordinary way. */
inline take_first()
{
    is_told = is_offered[first];
    end_receive(first);
    if
    :: is_told ->
        say(GONE, first) /* M:gone */
    :: else
    fi;
    is_told = false;
    first = 0
}

/* May it be offered? Then it is, or is not worth it. */
inline offer(request)
{
    may = open < OPEN_MOST;
    may = may && !is_from_any[request]; /* M:named */
    may = may && empty(unsent); /* M:behind_words */
    first = 0;
    do
    :: first < request ->
        may = may && (!is_posted[first] || is_offered[first]); /* M:older */
        first++
    :: else -> break
    od;
    if
    :: may ->
        is_offered[request] = true;
        open++;
        made++;
        words!KEY_OFFER, request, taken - stored, made
    :: true
    fi;
    may = false;
    first = 0
}

inline post()
{
    if
    :: is_from_any[posted] = true
    :: true
    fi;
    if
    :: unexpected > 0 -> unexpected--
    :: else ->
        is_posted[posted] = true;
        offer(posted)
    fi;
    posted++
}

/* MPI_Cancel */
inline cancel(request)
{
    is_told = is_offered[request]; /* M:recall */
    if
    :: is_told ->
        is_recalled[request] = true;
        awaited++;
        say(RECALL, request)
    :: else -> end_receive(request)
    fi;
    is_told = false
}

inline on_ordinary()
{
    find_first(false);
    if
    :: !has_tag
    :: has_tag && first == posted -> unexpected++
    :: has_tag && first < posted -> take_first()
    fi;
    first = 0
}

/* Older ones: their RETURNED is on its way. */
inline end_recalled(before)
{
    first = 0;
    do
    :: first < before ->
        if
        :: is_recalled[first] -> end_receive(first)
        :: else
        fi;
        first++
    :: else -> break
    od
}

inline on_stored()
{
    stored++; /* M:stored */
    !is_putting[request]; /* M:behind_put */
    end_recalled(request); /* M:returned */
    find_first(false);
    assert(has_tag && first == request);
    end_receive(request);
    first = 0
}

active proctype receiver()
{
    chan unsent = [RECEIVES * 2] of { mtype, byte, byte }; /* words that found no room */
    bool is_from_any[RECEIVES], is_offered[RECEIVES], is_recalled[RECEIVES];
    byte posted, unexpected, taken, stored, made, open, awaited, first, request, seen;
    byte others = 1; /* messages of another process */
    bool has_tag, may, is_told;
    mtype kind;

    do
    :: atomic { posted < RECEIVES -> post() }
    :: atomic { is_posted[0] && !is_recalled[0] -> cancel(0) }
    :: atomic { is_posted[1] && !is_recalled[1] -> cancel(1) }
    :: atomic { others > 0 ->
        others--;
        find_first(true);
        if
        :: first < posted -> take_first()
        :: else -> first = 0
        fi
        }
    :: atomic { unsent?kind, request, seen -> words!kind, request, seen, 0; seen = 0 }
    :: atomic { returned?request ->
        if
        :: is_posted[request] -> end_receive(request)
        :: else
        fi
        }
    :: atomic { ordered?kind, has_tag, request ->
        taken++;
        if
        :: kind == STORED -> on_stored()
        :: else -> on_ordinary()
        fi;
        request = 0
        }
    :: taken == MESSAGES && posted == RECEIVES && awaited == 0 && empty(unsent) -> break
    od
}

/* ---- the sender ---- */

inline doubt_all()
{
    at = 0;
    do
    :: at < count ->
        doubtful_to[at] = sent;
        at++
    :: else -> break
    od;
    at = 0
}

/* An ordered packet goes out; an ordinary one is counted and noted. */
inline go_out(what, with_tag, about)
{
    ordered!what, with_tag, about;
    if
    :: what == ORDINARY ->
        sent++;
        if
        :: with_tag ->
            doubt_all() /* M:note */
        :: else
        fi
    :: else
    fi
}

inline remove_at()
{
    do
    :: at + 1 < count ->
        offered[at] = offered[at + 1];
        doubtful_to[at] = doubtful_to[at + 1];
        at++
    :: else -> break
    od;
    count--;
    offered[count] = 0;
    doubtful_to[count] = 0;
    at = 0
}

inline find_named()
{
    at = 0;
    do
    :: at < count && offered[at] != request -> at++
    :: else -> break
    od
}

inline use()
{
    request = offered[at];
    is_putting[request] = true;
    remove_at();
    if
    :: go_out(STORED, has_tag, request)
    :: waiting!STORED, has_tag, request
    fi;
    request = 0
}

inline announce()
{
    may = true;
    may = empty(waiting); /* M:behind_waiting */
    if
    :: may -> go_out(ORDINARY, has_tag, 0)
    :: waiting!ORDINARY, has_tag, 0
    fi
}

inline send_message()
{
    if
    :: has_tag = true
    :: has_tag = false
    fi;
    if
    :: may = count > 0
    :: may = false /* a small one */
    fi;
    may = may && has_tag; /* M:tag */
    may = may && empty(waiting); /* M:overtakes */
    at = (may -> count - 1 : 0);
    at = 0; /* M:oldest */
    may = may && seen >= doubtful_to[at]; /* M:doubt */
    if
    :: may -> use()
    :: else -> announce()
    fi;
    at = 0;
    may = false;
    has_tag = false
}

inline on_offer(came, came_seen, came_number)
{
    may = true;
    may = came_number > number; /* M:number */
    if
    :: may ->
        number = came_number;
        seen = came_seen;
        offered[count] = came;
        doubtful_to[count] = sent; /* M:crossing */
        count++
    :: else
    fi;
    may = false
}

inline on_gone()
{
    find_named();
    if
    :: at < count ->
        seen = word_seen;
        remove_at()
    :: else -> at = 0
    fi
}

inline on_recall()
{
    find_named();
    may = true;
    may = at < count; /* M:used */
    if
    :: may ->
        returned!request /* M:answer */
    :: else
    fi;
    if
    :: at < count -> remove_at()
    :: else -> at = 0
    fi;
    may = false
}

active proctype sender()
{
    chan waiting = [MESSAGES] of { mtype, bool, byte }; /* ordered ones without room */
    byte offered[RECEIVES + 1], doubtful_to[RECEIVES + 1];
    byte messages, count, sent, seen, number, at, request, word_seen, word_number;
    byte again, again_seen, again_number; /* an offer that comes twice */
    bool has_tag, may;
    mtype kind;

end_idle:
    do
    :: atomic { messages < MESSAGES -> messages++; send_message() }
    :: atomic { waiting?kind, has_tag, request ->
        go_out(kind, has_tag, request);
        has_tag = false;
        request = 0
        }
    :: atomic { words?kind, request, word_seen, word_number ->
        if
        :: kind == KEY_OFFER ->
            on_offer(request, word_seen, word_number);
            if
            :: again_number == 0 ->
                again = request;
                again_seen = word_seen;
                again_number = word_number
            :: true
            fi
        :: kind == GONE -> on_gone()
        :: kind == RECALL -> on_recall()
        fi;
        request = 0;
        word_seen = 0;
        word_number = 0
        }
    :: atomic { again_number != 0 && again_number != NEVER ->
        on_offer(again, again_seen, again_number);
        again = 0;
        again_seen = 0;
        again_number = NEVER
        }
    od
}
