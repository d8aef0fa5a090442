/*
 * test_match.c - which receive takes which message.
 *
 * First what a matcher promises, in tables; then the matcher beside a list that is walked
 * from its first entry, through random steps after each of which they must agree; at last
 * that memory follows use and that cost does not grow with depth.
 *
 * WEFT_TEST_STEPS sets the steps of each random run, WEFT_TEST_SHOW prints costs.
 */
#include "no_reserve.h"
#include "unit.h"

#include "match/match.h"
#include "sanitized.h"

#include <stdio.h>
#include <stdlib.h>
#include <time.h>

enum { CLASSES = WEFT_MATCH_CLASSES };

/* ---- memory that fails: linked with --wrap=malloc and --wrap=calloc ---- */

void *__real_malloc(size_t size);
void *__real_calloc(size_t count, size_t size);
void *__wrap_malloc(size_t size);
void *__wrap_calloc(size_t count, size_t size);

/* Negative: no end. Volatile, as the compiler believes that malloc() cannot look at it.
 */
static volatile long allocations_left = -1;

static bool may_allocate(void)
{
    if (allocations_left == 0) {
        return false;
    }
    if (allocations_left > 0) {
        allocations_left--;
    }
    return true;
}

void *__wrap_malloc(size_t size)
{
    return may_allocate() ? __real_malloc(size) : NULL;
}

void *__wrap_calloc(size_t count, size_t size)
{
    return may_allocate() ? __real_calloc(count, size) : NULL;
}

static void *make(size_t count, size_t size)
{
    void *p;

    allocations_left = -1; /* a test that failed may have left it otherwise */
    p = calloc(count, size);
    assert_non_null(p);
    return p;
}

/* ---- random numbers ---- */

static uint32_t random_below(uint64_t *random, uint32_t limit)
{
    *random ^= *random >> 12;
    *random ^= *random << 25;
    *random ^= *random >> 27;
    return (uint32_t)(((*random * UINT64_C(0x2545f4914f6cdd1d) >> 32) * limit) >> 32);
}

/* ---- keys: what a message carries, and a receive with something left open ---- */

struct key {
    uint32_t context;
    int32_t source;
    int32_t tag;
};

static const struct key ONE = {1, 2, 3};

static struct key numbered(uint32_t number)
{
    return (struct key){number, (int32_t)number, (int32_t)number};
}

static struct key open_in(int class, struct key key)
{
    key.source = (class & WEFT_MATCH_ANY_SOURCE) != 0 ? WEFT_ANY_SOURCE : key.source;
    key.tag = (class & WEFT_MATCH_ANY_TAG) != 0 ? WEFT_ANY_TAG : key.tag;
    return key;
}

static bool fits(struct key wanted, struct key message)
{
    return wanted.context == message.context &&
           (wanted.source == WEFT_ANY_SOURCE || wanted.source == message.source) &&
           (wanted.tag == WEFT_ANY_TAG || wanted.tag == message.tag);
}

static enum weft_rc try_post(struct weft_match *m, struct weft_posted *entry,
                             struct key key)
{
    entry->context = key.context;
    entry->source = key.source;
    entry->tag = key.tag;
    return weft_match_post(m, entry);
}

static void post(struct weft_match *m, struct weft_posted *entry, struct key key)
{
    assert_int_equal(try_post(m, entry, key), WEFT_OK);
}

static struct weft_posted *arrive(struct weft_match *m, struct key key)
{
    return weft_match_arrive(m, key.context, key.source, key.tag);
}

static enum weft_rc try_keep(struct weft_match *m, struct weft_waiting *entry,
                             struct key key)
{
    entry->context = key.context;
    entry->source = key.source;
    entry->tag = key.tag;
    return weft_match_keep(m, entry);
}

static void keep(struct weft_match *m, struct weft_waiting *entry, struct key key)
{
    assert_int_equal(try_keep(m, entry, key), WEFT_OK);
}

static struct weft_waiting *find(struct weft_match *m, struct key key)
{
    return weft_match_find(m, key.context, key.source, key.tag);
}

/* Its sender is told of a posted receive; and takes it. */
static void offer(struct weft_posted *entry, struct weft_copy_share *share)
{
    entry->offer = share;
    entry->offer_generation = weft_share_offer(share, 0, 0);
}

static void offer_and_claim(struct weft_posted *entry, struct weft_copy_share *share)
{
    offer(entry, share);
    assert_true(weft_share_claim(share, entry->offer_generation));
}

/* ==== what is promised ==== */

/* In every class: a key that differs in nothing, or in one part. */
static void a_receive_and_a_message_meet_if_they_agree_in_all_that_is_named(void **state)
{
    static const struct key messages[] = {
        {1, 2, 3}, {2, 2, 3}, {1, 3, 3}, {1, 0, 3}, {1, 2, 2}, {1, 2, 0}, {1, 9, 9},
    };
    struct weft_match m;
    struct weft_posted receive;
    struct weft_waiting message;

    (void)state;
    weft_match_init(&m);
    for (int c = 0; c < CLASSES; c++) {
        for (size_t i = 0; i < sizeof(messages) / sizeof(messages[0]); i++) {
            const struct key wanted = open_in(c, ONE);
            const bool meets = fits(wanted, messages[i]);

            post(&m, &receive, wanted);
            assert_ptr_equal(arrive(&m, messages[i]), meets ? &receive : NULL);
            assert_int_equal(weft_match_cancel(&m, &receive), !meets);
            assert_int_equal(receive.state,
                             meets ? WEFT_POSTED_MATCHED : WEFT_POSTED_CANCELLED);
            assert_null(arrive(&m, messages[i]));

            keep(&m, &message, messages[i]);
            for (int probe = 0; probe < 2; probe++) { /* a probe takes nothing */
                assert_ptr_equal(find(&m, wanted), meets ? &message : NULL);
            }
            weft_match_take(&m, &message);
            assert_null(find(&m, wanted));
        }
    }
    weft_match_fini(&m);
}

static void receives_of_all_classes_win_in_the_order_of_posting(void **state)
{
    enum { ORDERS = 256, EACH = 12 }; /* all words of four classes */
    struct weft_match m;
    struct weft_posted entry[EACH];

    (void)state;
    weft_match_init(&m);
    for (int order = 0; order < ORDERS; order++) {
        for (int gone = 0; gone <= EACH; gone += 5) { /* one is posted anew, or none */
            for (int i = 0; i < EACH; i++) {
                post(&m, &entry[i], open_in((order >> (2 * (i % 4))) & 3, ONE));
            }
            if (gone < EACH) {
                assert_true(weft_match_cancel(&m, &entry[gone]));
                assert_int_equal(weft_match_post(&m, &entry[gone]), WEFT_OK);
            }
            for (int i = 0; i < EACH; i++) {
                if (i != gone) {
                    assert_ptr_equal(arrive(&m, ONE), &entry[i]);
                }
            }
            assert_ptr_equal(arrive(&m, ONE), gone < EACH ? &entry[gone] : NULL);
        }
    }
    weft_match_fini(&m);
}

/* Unexpected buffers are emptied by copying what is left in them elsewhere. */
static void a_waiting_message_keeps_its_place_when_it_is_moved(void **state)
{
    enum { LENGTH = 3 };
    struct weft_match m;
    struct weft_waiting message[LENGTH];
    struct weft_waiting copy;

    (void)state;
    for (int asked = 0; asked < 1 << CLASSES; asked++) { /* which classes are in use */
        for (int moved = 0; moved < LENGTH; moved++) {
            weft_match_init(&m);
            for (int i = 0; i < LENGTH; i++) {
                keep(&m, &message[i], ONE);
            }
            for (int c = 0; c < CLASSES; c++) {
                if ((asked & (1 << c)) != 0) {
                    assert_ptr_equal(find(&m, open_in(c, ONE)), &message[0]);
                }
            }
            copy = message[moved];
            weft_match_move(&m, &message[moved], &copy);
            memset(&message[moved], 0xff, sizeof(message[moved]));
            for (int i = 0; i < LENGTH; i++) {
                struct weft_waiting *expected = i == moved ? &copy : &message[i];

                for (int c = 0; c < CLASSES; c++) {
                    assert_ptr_equal(find(&m, open_in(c, ONE)), expected);
                }
                weft_match_take(&m, expected);
            }
            assert_int_equal(m.waiting_count, 0);
            weft_match_fini(&m);
        }
    }
}

/*
 * The ends of a posted receive: by an arrival, by MPI_Cancel, or by the news that its
 * sender has claimed it. A claim that nobody knows of yet beats the first two.
 */
enum ending { BY_ARRIVAL, BY_CANCEL, BY_NEWS };

static void end_receive(struct weft_match *m, struct weft_posted *entry, enum ending how,
                        bool is_ours)
{
    if (how == BY_ARRIVAL) {
        assert_ptr_equal(arrive(m, ONE), is_ours ? entry : NULL);
    } else if (how == BY_CANCEL) {
        assert_int_equal(weft_match_cancel(m, entry), is_ours);
    } else {
        weft_match_claimed(m, entry);
    }
}

static void a_receive_ends_once_and_takes_its_offer_back(void **state)
{
    static const struct {
        enum ending how;
        bool is_offered;
        bool is_claimed;
        enum weft_posted_state is_then;
    } lives[] = {
        {BY_ARRIVAL, false, false, WEFT_POSTED_MATCHED},
        {BY_ARRIVAL, true, false, WEFT_POSTED_MATCHED},
        {BY_ARRIVAL, true, true, WEFT_POSTED_CLAIMED},
        {BY_CANCEL, false, false, WEFT_POSTED_CANCELLED},
        {BY_CANCEL, true, false, WEFT_POSTED_CANCELLED},
        {BY_CANCEL, true, true, WEFT_POSTED_CLAIMED},
        {BY_NEWS, true, true, WEFT_POSTED_CLAIMED},
    };
    struct weft_match m;
    struct weft_posted entry = {.state = WEFT_POSTED_FREE};
    struct weft_copy_share share = {.state = 0};

    (void)state;
    weft_match_init(&m);
    assert_false(weft_match_cancel(&m, &entry)); /* never posted */
    for (size_t i = 0; i < sizeof(lives) / sizeof(lives[0]); i++) {
        post(&m, &entry, ONE);
        assert_null(entry.offer); /* whatever it was before */
        if (lives[i].is_offered) {
            offer(&entry, &share);
        }
        if (lives[i].is_claimed) {
            assert_true(weft_share_claim(&share, entry.offer_generation));
        }
        end_receive(&m, &entry, lives[i].how, !lives[i].is_claimed);
        assert_int_equal(entry.state, lives[i].is_then);
        assert_false(weft_match_has_posted(&m));
        if (lives[i].is_offered) { /* nobody can claim it any more */
            assert_false(weft_share_claim(&share, entry.offer_generation));
        }
        assert_false(weft_match_cancel(&m, &entry)); /* whoever comes second */
        weft_match_claimed(&m, &entry);
        assert_int_equal(entry.state, lives[i].is_then);
        assert_false(weft_match_has_posted(&m));
    }
    weft_match_fini(&m);
}

/* A receive that its sender has claimed is what a refusing descriptor is in Portals. */
static void an_arrival_passes_over_receives_that_a_sender_has_claimed(void **state)
{
    enum { COUNT = 6 };
    struct weft_match m;
    struct weft_posted entry[COUNT];
    struct weft_copy_share share[COUNT] = {{.state = 0}};

    (void)state;
    weft_match_init(&m);
    for (int pair = 0; pair < CLASSES * CLASSES; pair++) {
        for (int claimed = 0; claimed < 1 << COUNT; claimed++) {
            for (int i = 0; i < COUNT; i++) {
                int class = i % 2 == 0 ? pair % CLASSES : pair / CLASSES;

                post(&m, &entry[i], open_in(class, ONE));
                if ((claimed & (1 << i)) != 0) {
                    offer_and_claim(&entry[i], &share[i]);
                }
            }
            for (int i = 0; i < COUNT; i++) {
                if ((claimed & (1 << i)) == 0) {
                    assert_ptr_equal(arrive(&m, ONE), &entry[i]);
                }
            }
            assert_null(arrive(&m, ONE));
            assert_false(weft_match_has_posted(&m));
        }
    }
    weft_match_fini(&m);
}

static void a_receive_is_offered_unless_another_may_take_its_message(void **state)
{
    static const struct key others[] = {{1, 2, 3}, {9, 2, 3}, {1, 9, 3}, {1, 2, 9}};
    struct weft_match m;
    struct weft_posted other;
    struct weft_posted entry;
    struct weft_copy_share share = {.state = 0};

    (void)state;
    weft_match_init(&m);
    for (int c = 0; c < CLASSES; c++) {
        for (size_t i = 0; i < sizeof(others) / sizeof(others[0]); i++) {
            const struct key wanted = open_in(c, others[i]);

            post(&m, &other, wanted);
            post(&m, &entry, ONE);
            assert_int_equal(weft_match_may_offer(&m, &entry), !fits(wanted, ONE));
            if (c == WEFT_MATCH_EXACT) { /* the same sender keeps the order of offers */
                offer(&other, &share);
                assert_true(weft_match_may_offer(&m, &entry));
            }
            assert_true(weft_match_cancel(&m, &other));
            assert_true(weft_match_may_offer(&m, &entry)); /* nothing is left of it */
            assert_true(weft_match_cancel(&m, &entry));
        }
    }
    weft_match_fini(&m);
}

/* ---- out of memory ---- */

/* New keys, each tried with ever more memory until it is taken. */
static void what_cannot_be_posted_or_kept_changes_nothing(void **state)
{
    enum { KEYS = 100 };
    struct weft_match m;
    struct weft_posted entry[KEYS];
    struct weft_waiting message[KEYS];

    (void)state;
    for (int asked = 0; asked < 1 << CLASSES; asked++) { /* classes of receives */
        long failed = 0;

        weft_match_init(&m);
        for (uint32_t i = 0; i < KEYS; i++) {
            enum weft_rc rc = WEFT_ERR_NOMEM;

            for (long allowed = 0; rc != WEFT_OK; allowed++, failed++) {
                allocations_left = allowed;
                rc = try_post(&m, &entry[i], open_in(asked % CLASSES, numbered(i)));
                allocations_left = -1;
                assert_int_equal(m.posted_count[asked % CLASSES], rc == WEFT_OK ? 1 : 0);
                assert_ptr_equal(arrive(&m, numbered(i)),
                                 rc == WEFT_OK ? &entry[i] : NULL);
            }
            rc = WEFT_ERR_NOMEM;
            for (long allowed = 0; rc != WEFT_OK; allowed++, failed++) {
                allocations_left = allowed;
                rc = try_keep(&m, &message[i], numbered(i));
                allocations_left = -1;
                assert_int_equal(m.waiting_count, rc == WEFT_OK ? i + 1 : i);
                for (int c = 0; c < CLASSES && i > 0; c++) {
                    if ((asked & (1 << c)) != 0) {
                        assert_ptr_equal(find(&m, open_in(c, numbered(i))),
                                         rc == WEFT_OK ? &message[i] : NULL);
                        assert_ptr_equal(find(&m, open_in(c, numbered(0))), &message[0]);
                    }
                }
            }
        }
        assert_true(failed >= 4L * KEYS); /* a new key needs memory */
        weft_match_fini(&m);
    }
}

static void a_known_key_needs_no_memory(void **state)
{
    struct weft_match m;
    struct weft_posted entry;
    struct weft_waiting message[2];

    (void)state;
    weft_match_init(&m);
    for (int c = 0; c < CLASSES; c++) {
        post(&m, &entry, open_in(c, ONE));
        assert_ptr_equal(arrive(&m, ONE), &entry);
        keep(&m, &message[0], ONE);
        assert_ptr_equal(find(&m, open_in(c, ONE)), &message[0]);
        allocations_left = 0;
        for (int i = 0; i < 100; i++) {
            post(&m, &entry, open_in(c, ONE));
            assert_ptr_equal(arrive(&m, ONE), &entry);
            keep(&m, &message[1], ONE);
            weft_match_take(&m, &message[1]);
        }
        allocations_left = -1;
        weft_match_take(&m, &message[0]);
    }
    weft_match_fini(&m);
}

/* A receive that overlooked its message would be posted, and a later message overtake. */
static void a_waiting_message_is_found_also_without_memory(void **state)
{
    enum { COUNT = 40 };
    struct weft_match m;
    struct weft_waiting message[COUNT];

    (void)state;
    for (int c = 0; c < CLASSES; c++) {
        for (long allocations = 0; allocations < 2 * COUNT; allocations++) {
            weft_match_init(&m);
            for (uint32_t i = 0; i < COUNT; i++) { /* keys for an index, twice */
                keep(&m, &message[i], numbered(i % (COUNT / 2)));
            }
            for (uint32_t i = 0; i < COUNT; i++) {
                allocations_left = allocations;
                assert_null(find(&m, open_in(c, numbered(COUNT))));
                assert_ptr_equal(find(&m, open_in(c, numbered(i % (COUNT / 2)))),
                                 &message[i]);
                allocations_left = -1;
                weft_match_take(&m, &message[i]);
            }
            weft_match_fini(&m);
        }
    }
}

/* ==== beside a list ==== */

enum { SLOTS = 512, FULL = 384, MAX_CLAIMS = 100 };

struct receive {
    struct weft_posted weft;
    struct weft_copy_share share; /* in which it is offered */
    bool is_posted;
    bool is_claimed; /* by a sender, and nobody knows it yet */
};

struct message {
    struct weft_waiting weft;
    bool is_waiting;
};

_Static_assert(offsetof(struct message, weft) == 0 && offsetof(struct receive, weft) == 0,
               "the matcher's entries come first");

/* The matcher, and all that was given to it, in order. */
struct world {
    uint64_t seed;
    uint64_t random;
    uint32_t step;
    bool memory_fails;
    bool borrows_keys; /* takes most keys from what is there: else too few would meet */
    uint32_t contexts;
    uint32_t sources;
    uint32_t tags;

    struct weft_match match;
    struct receive receives[SLOTS];
    struct message messages[SLOTS];
    struct receive *posted[SLOTS];  /* the oldest first; those claimed are among them */
    struct message *waiting[SLOTS]; /* the oldest first */
    uint32_t posted_count;
    uint32_t claimed_count;
    uint32_t waiting_count;
    uint64_t seen_posted; /* what a run has met */
    uint64_t seen_waiting;
    uint64_t seen_cancelled;
    uint64_t seen_claims;
};

static void agree(const struct world *w, bool is_so, const char *what)
{
    if (!is_so) {
        fail_msg("seed %llu, step %u: %s", (unsigned long long)w->seed, w->step, what);
    }
}

static uint32_t draw(struct world *w, uint32_t limit)
{
    return random_below(&w->random, limit);
}

static struct key key_of_receive(const struct receive *r)
{
    return (struct key){r->weft.context, r->weft.source, r->weft.tag};
}

static struct key key_of_message(const struct message *m)
{
    return (struct key){m->weft.context, m->weft.source, m->weft.tag};
}

/* The list's answers: the first that fits, walking from the oldest. */
static struct receive *listed_receive(const struct world *w, struct key message)
{
    for (uint32_t i = 0; i < w->posted_count; i++) {
        if (!w->posted[i]->is_claimed && fits(key_of_receive(w->posted[i]), message)) {
            return w->posted[i];
        }
    }
    return NULL;
}

static struct message *listed_message(const struct world *w, struct key wanted)
{
    for (uint32_t i = 0; i < w->waiting_count; i++) {
        if (fits(wanted, key_of_message(w->waiting[i]))) {
            return w->waiting[i];
        }
    }
    return NULL;
}

/* May the receive that was posted last be offered, as those before it are? */
static bool listed_may_offer(const struct world *w, struct key wanted)
{
    for (uint32_t i = 0; i + 1 < w->posted_count; i++) {
        const struct receive *r = w->posted[i];

        if (r->weft.state == WEFT_POSTED && fits(key_of_receive(r), wanted) &&
            r->weft.offer == NULL) {
            return false;
        }
    }
    return true;
}

static void unlist(void **list, uint32_t *count, const void *entry)
{
    uint32_t at = 0;

    while (list[at] != entry) {
        at++;
    }
    *count -= 1;
    memmove(&list[at], &list[at + 1], (*count - at) * sizeof(list[0]));
}

static void receive_is_over(struct world *w, struct receive *r)
{
    unlist((void **)w->posted, &w->posted_count, r);
    w->claimed_count -= r->is_claimed ? 1 : 0;
    r->is_posted = r->is_claimed = false;
}

/* ---- random keys ---- */

static struct key some_key(struct world *w)
{
    return (struct key){
        .context = draw(w, w->contexts),
        .source = (int32_t)draw(w, w->sources),
        .tag = (int32_t)draw(w, w->tags),
    };
}

/* What a message carries; often such that some receive wants it. */
static struct key arriving_key(struct world *w)
{
    struct key key = some_key(w);

    if (w->borrows_keys && w->posted_count > 0 && draw(w, 4) != 0) {
        struct key wanted = key_of_receive(w->posted[draw(w, w->posted_count)]);

        key.context = wanted.context;
        key.source = wanted.source == WEFT_ANY_SOURCE ? key.source : wanted.source;
        key.tag = wanted.tag == WEFT_ANY_TAG ? key.tag : wanted.tag;
    }
    return key;
}

/* What a receive asks for; often such that it fits a message or resembles a receive. */
static struct key wanted_key(struct world *w)
{
    struct key key = some_key(w);

    if (w->borrows_keys && draw(w, 4) != 0) {
        if (w->waiting_count > 0) {
            key = key_of_message(w->waiting[draw(w, w->waiting_count)]);
        } else if (w->posted_count > 0) {
            key = key_of_receive(w->posted[draw(w, w->posted_count)]);
        }
    }
    if (draw(w, 4) == 0) {
        key.source = WEFT_ANY_SOURCE;
    }
    if (draw(w, 4) == 0) {
        key.tag = WEFT_ANY_TAG;
    }
    return key;
}

/* ---- steps ---- */

static void maybe_lose_memory(struct world *w)
{
    if (w->memory_fails && draw(w, 4) == 0) {
        allocations_left = (long)draw(w, 6);
    }
}

/* A slot that is free; there are more than entries. */
static struct receive *free_receive(struct world *w)
{
    uint32_t at = draw(w, SLOTS);

    while (w->receives[at].is_posted) {
        at = (at + 1) % SLOTS;
    }
    return &w->receives[at];
}

static struct message *free_message(struct world *w)
{
    uint32_t at = draw(w, SLOTS);

    while (w->messages[at].is_waiting) {
        at = (at + 1) % SLOTS;
    }
    return &w->messages[at];
}

/* What a receive or a probe finds; true if it was there, and was taken if asked for. */
static bool step_find(struct world *w, struct key key, bool takes)
{
    struct message *listed = listed_message(w, key);
    struct message *found;

    maybe_lose_memory(w);
    found = (struct message *)find(&w->match, key);
    allocations_left = -1;
    agree(w, found == listed, "another message was found");
    if (takes && found != NULL) {
        weft_match_take(&w->match, &found->weft);
        unlist((void **)w->waiting, &w->waiting_count, found);
        found->is_waiting = false;
        w->seen_waiting++;
    }
    return found != NULL;
}

static void step_take_oldest(struct world *w)
{
    step_find(w, open_in(WEFT_MATCH_ANY_BOTH, key_of_message(w->waiting[0])), true);
}

static void claim_offered(struct world *w, struct receive *r)
{
    if (r->weft.offer != NULL && !r->is_claimed && w->claimed_count < MAX_CLAIMS) {
        agree(w, weft_share_claim(&r->share, r->weft.offer_generation),
              "an offered receive could not be claimed");
        r->is_claimed = true;
        w->claimed_count++;
        w->seen_claims++;
    }
}

static void step_post(struct world *w)
{
    const struct key key = wanted_key(w);
    struct receive *r = free_receive(w);
    enum weft_rc rc;

    if (step_find(w, key, true)) {
        return;
    }
    maybe_lose_memory(w);
    rc = try_post(&w->match, &r->weft, key);
    allocations_left = -1;
    if (rc != WEFT_OK) {
        agree(w, w->memory_fails, "no memory, which was there");
        rc = weft_match_post(&w->match, &r->weft);
    }
    agree(w, rc == WEFT_OK, "a receive could not be posted");
    r->is_posted = true;
    w->posted[w->posted_count++] = r;
    if (key.source != WEFT_ANY_SOURCE && key.tag != WEFT_ANY_TAG) {
        bool may_offer = weft_match_may_offer(&w->match, &r->weft);

        agree(w, may_offer == listed_may_offer(w, key),
              "a receive may be offered, or may not");
        if (may_offer && draw(w, 4) != 0) {
            offer(&r->weft, &r->share);
            if (draw(w, 4) == 0) { /* the sender is quick */
                claim_offered(w, r);
            }
        }
    }
}

static void step_arrive(struct world *w)
{
    const struct key key = arriving_key(w);
    struct receive *listed = listed_receive(w, key);
    struct receive *taken = (struct receive *)arrive(&w->match, key);
    struct message *message;
    enum weft_rc rc;

    agree(w, taken == listed, "a message went to another receive");
    if (taken != NULL) {
        receive_is_over(w, taken);
        w->seen_posted++;
        return;
    }
    message = free_message(w);
    maybe_lose_memory(w);
    rc = try_keep(&w->match, &message->weft, key);
    allocations_left = -1;
    if (rc != WEFT_OK) {
        agree(w, w->memory_fails, "no memory, which was there");
        rc = weft_match_keep(&w->match, &message->weft);
    }
    agree(w, rc == WEFT_OK, "a message could not be kept");
    message->is_waiting = true;
    w->waiting[w->waiting_count++] = message;
}

/* Any slot: posted, claimed, matched, cancelled, never used. */
static void step_cancel(struct world *w, struct receive *r)
{
    bool is_cancelled = weft_match_cancel(&w->match, &r->weft);

    agree(w, is_cancelled == (r->is_posted && !r->is_claimed),
          "cancelling went otherwise than was known");
    if (is_cancelled) {
        receive_is_over(w, r);
        w->seen_cancelled++;
    }
}

/* A claim becomes known, before an arrival or a cancellation finds out or after it. */
static void step_claim_is_known(struct world *w)
{
    uint32_t at = draw(w, SLOTS);

    while (!w->receives[at].is_claimed) {
        at = (at + 1) % SLOTS;
    }
    weft_match_claimed(&w->match, &w->receives[at].weft);
    agree(w, w->receives[at].weft.state == WEFT_POSTED_CLAIMED,
          "a claimed receive is in another state");
    receive_is_over(w, &w->receives[at]);
}

static void step_move(struct world *w)
{
    uint32_t at = draw(w, w->waiting_count);
    struct message *from = w->waiting[at];
    struct message *to = free_message(w);

    *to = *from;
    weft_match_move(&w->match, &from->weft, &to->weft);
    memset(from, 0xff, sizeof(*from));
    from->is_waiting = false;
    w->waiting[at] = to;
}

static void take_rare_step(struct world *w)
{
    uint32_t dice = draw(w, 1000);

    if (dice < 100) {
        step_cancel(w, &w->receives[draw(w, SLOTS)]);
    } else if (dice < 250 && w->posted_count > 0) {
        step_cancel(w, w->posted[draw(w, w->posted_count)]);
    } else if (dice < 270 && w->posted_count > 0) {
        claim_offered(w, w->posted[draw(w, w->posted_count)]);
    } else if (dice < 280 && w->claimed_count > 0) {
        step_claim_is_known(w);
    } else if (dice < 320 && w->waiting_count > 0) {
        step_move(w);
    } else {
        step_find(w, wanted_key(w), draw(w, 2) != 0);
    }
}

static void take_step(struct world *w)
{
    /* Now receives wait for messages, now messages for receives, now both or neither. */
    static const uint32_t posts[4] = {40, 60, 15, 33};
    static const uint32_t arrivals[4] = {40, 15, 60, 33};
    const uint32_t mood = w->step / 1500 % 4;
    uint32_t dice = draw(w, 100);

    if (dice < posts[mood]) {
        if (w->posted_count < FULL) {
            step_post(w);
        } else {
            step_cancel(w, w->posted[draw(w, w->posted_count)]);
        }
    } else if (dice < posts[mood] + arrivals[mood]) {
        if (w->waiting_count < FULL) {
            step_arrive(w);
        } else {
            step_take_oldest(w);
        }
    } else {
        take_rare_step(w);
    }
}

static void compare_counts(struct world *w)
{
    uint32_t posted = 0;

    for (int c = 0; c < CLASSES; c++) {
        posted += w->match.posted_count[c];
    }
    agree(w, posted <= w->posted_count && posted >= w->posted_count - w->claimed_count,
          "the number of receives differs");
    agree(w, w->match.waiting_count == w->waiting_count,
          "the number of waiting messages differs");
}

static uint32_t steps_of_a_run(uint32_t wanted)
{
    const char *text = getenv("WEFT_TEST_STEPS");

    if (text != NULL) {
        return (uint32_t)strtoul(text, NULL, 10);
    }
    return IS_SANITIZED != 0 ? wanted / 5 : wanted;
}

static void run(uint64_t seed, uint32_t steps, const struct world *like)
{
    struct world *w = make(1, sizeof(*w));

    *w = *like;
    w->seed = seed;
    w->random = seed * UINT64_C(0x9e3779b97f4a7c15) + 1;
    weft_match_init(&w->match);
    for (w->step = 0; w->step < steps; w->step++) {
        take_step(w);
        compare_counts(w);
    }
    while (w->waiting_count > 0) { /* what is left is the same, in the same order */
        step_take_oldest(w);
    }
    for (uint32_t i = 0; i < SLOTS; i++) {
        step_cancel(w, &w->receives[i]);
    }
    compare_counts(w);
    if (steps >= 10000) { /* a run that never met a case proves nothing about it */
        agree(w, w->seen_posted > steps / 20, "few receives were matched");
        agree(w, w->seen_waiting > steps / 20, "few waiting messages were taken");
        agree(w, w->seen_cancelled > steps / 100, "few receives were cancelled");
        agree(w, w->seen_claims > 0, "no receive was claimed");
    }
    weft_match_fini(&w->match);
    free(w);
}

static void matcher_and_list_agree_through_random_steps(void **state)
{
    static const struct world worlds[] = {
        /* keys that collide */
        {.contexts = 1, .sources = 1, .tags = 1},
        {.contexts = 1, .sources = 3, .tags = 3},
        {.contexts = 2, .sources = 4, .tags = 4},
        {.contexts = 3, .sources = 8, .tags = 2},
        {.contexts = 2, .sources = 2, .tags = 20},
        /* many keys */
        {.borrows_keys = true, .contexts = 10, .sources = 1000, .tags = 1000},
        {.borrows_keys = true,
         .contexts = UINT32_MAX,
         .sources = INT32_MAX,
         .tags = INT32_MAX},
        /* memory that fails */
        {.memory_fails = true, .contexts = 2, .sources = 5, .tags = 5},
        {.memory_fails = true,
         .borrows_keys = true,
         .contexts = 1000,
         .sources = 1000,
         .tags = INT32_MAX},
    };
    const size_t count = sizeof(worlds) / sizeof(worlds[0]);

    (void)state;
    for (size_t seed = 0; seed < count; seed++) {
        run(seed + 1, steps_of_a_run(100000), &worlds[seed]);
    }
}

/* ==== memory and cost ==== */

enum { SHALLOW = 10, DEEP = 20000, HOT = 10, SAMPLES = 5, OPERATIONS = 20000 };

/* How much slower is the same, and what a coarse clock may miss. */
enum { LIMIT = 8, TICK_NS = 10000000 };

/*
 * Receives, or messages with every class asked for. The pattern is how keys differ: as
 * programs make them, in which only one part changes, in small or large steps.
 */
struct crowd {
    struct weft_match match;
    struct weft_posted *posted;
    struct weft_waiting *waiting;
    int depth;
    int class;
    int pattern;
    int wrong; /* results that were not as expected */
};

enum { ALL_PARTS, ONE_KEY, PATTERNS = 8 };

static struct key patterned(const struct crowd *crowd, int place)
{
    const struct key keys[PATTERNS] = {
        {(uint32_t)place, place, place},
        ONE,
        {(uint32_t)place, 2, 3},
        {1, place, 3},
        {1, 2, place},
        {(uint32_t)place << 15, 2, 3},
        {1, place << 12, 3},
        {1, 2, place << 12},
    };

    return keys[crowd->pattern];
}

static struct crowd *crowd_open(int depth, int class, int pattern, bool is_posted)
{
    struct crowd *crowd = make(1, sizeof(*crowd));

    crowd->depth = depth;
    crowd->class = class;
    crowd->pattern = pattern;
    crowd->posted = make((size_t)depth, sizeof(struct weft_posted));
    crowd->waiting = make((size_t)depth, sizeof(struct weft_waiting));
    weft_match_init(&crowd->match);
    for (int i = 0; i < depth; i++) {
        if (is_posted) {
            post(&crowd->match, &crowd->posted[i], open_in(class, patterned(crowd, i)));
        } else {
            keep(&crowd->match, &crowd->waiting[i], patterned(crowd, i));
        }
    }
    for (int c = 0; c < CLASSES && !is_posted; c++) {
        assert_non_null(find(&crowd->match, open_in(c, patterned(crowd, 1))));
    }
    return crowd;
}

static void crowd_close(struct crowd *crowd)
{
    weft_match_fini(&crowd->match);
    free(crowd->posted);
    free(crowd->waiting);
    free(crowd);
}

/* Performs one operation, at one of HOT places that lie evenly in the crowd. */
typedef void operation_fn(struct crowd *crowd, int place);

static void arrive_and_repost(struct crowd *crowd, int place)
{
    struct weft_posted *entry = arrive(&crowd->match, patterned(crowd, place));

    if (entry == NULL || (crowd->pattern != ONE_KEY && entry != &crowd->posted[place]) ||
        weft_match_post(&crowd->match, entry) != WEFT_OK) {
        crowd->wrong++;
    }
}

static void arrive_in_vain(struct crowd *crowd, int place)
{
    crowd->wrong += arrive(&crowd->match, (struct key){UINT32_MAX, place, place}) != NULL;
}

static void cancel_and_repost(struct crowd *crowd, int place)
{
    if (!weft_match_cancel(&crowd->match, &crowd->posted[place]) ||
        weft_match_post(&crowd->match, &crowd->posted[place]) != WEFT_OK) {
        crowd->wrong++;
    }
}

static void find_take_and_keep(struct crowd *crowd, int place)
{
    struct weft_waiting *found =
        find(&crowd->match, open_in(crowd->class, patterned(crowd, place)));

    if (found == NULL || (crowd->pattern != ONE_KEY && found != &crowd->waiting[place])) {
        crowd->wrong++;
        return;
    }
    weft_match_take(&crowd->match, found);
    crowd->wrong += weft_match_keep(&crowd->match, found) != WEFT_OK;
}

static void find_in_vain(struct crowd *crowd, int place)
{
    struct key key = {UINT32_MAX, place, place};

    crowd->wrong += find(&crowd->match, open_in(crowd->class, key)) != NULL;
}

static int64_t cpu_ns(void)
{
    struct timespec now;

    clock_gettime(CLOCK_THREAD_CPUTIME_ID, &now);
    return (int64_t)now.tv_sec * 1000000000 + now.tv_nsec;
}

/* The quickest of several: whatever else the machine does can only add. */
static int64_t least_ns(struct crowd *crowd, operation_fn *operation)
{
    int64_t least = INT64_MAX;

    for (int s = 0; s < SAMPLES; s++) {
        int64_t start = cpu_ns();
        int64_t taken;

        for (int n = 0; n < OPERATIONS; n++) {
            operation(crowd, (n % HOT) * (crowd->depth / HOT));
        }
        taken = cpu_ns() - start;
        least = taken < least ? taken : least;
    }
    assert_int_equal(crowd->wrong, 0);
    return least;
}

static void assert_flat(operation_fn *operation, bool is_posted, int class, int pattern,
                        const char *name)
{
    struct crowd *shallow = crowd_open(SHALLOW, class, pattern, is_posted);
    struct crowd *deep = crowd_open(DEEP, class, pattern, is_posted);
    int64_t few = least_ns(shallow, operation);
    int64_t many = least_ns(deep, operation);

    if (getenv("WEFT_TEST_SHOW") != NULL) {
        printf("%-20s class %d, pattern %d: %5.0f ns at depth %d, %5.0f ns at depth %d\n",
               name, class, pattern, (double)few / OPERATIONS, SHALLOW,
               (double)many / OPERATIONS, DEEP);
    }
    if (many > LIMIT * few + TICK_NS) { /* a list walked to its end takes seconds */
        fail_msg("%s, class %d, pattern %d: %.0f ns at depth %d and %.0f ns at depth %d",
                 name, class, pattern, (double)few / OPERATIONS, SHALLOW,
                 (double)many / OPERATIONS, DEEP);
    }
    crowd_close(shallow);
    crowd_close(deep);
}

static void cost_does_not_grow_with_depth(void **state)
{
    (void)state;
    for (int c = 0; c < CLASSES; c++) {
        for (int pattern = ALL_PARTS; pattern <= ONE_KEY; pattern++) {
            assert_flat(arrive_and_repost, true, c, pattern, "arrive, post");
            assert_flat(cancel_and_repost, true, c, pattern, "cancel, post");
            assert_flat(find_take_and_keep, false, c, pattern, "find, take, keep");
        }
        assert_flat(find_in_vain, false, c, ALL_PARTS, "find in vain");
        assert_flat(arrive_in_vain, true, c, ALL_PARTS, "arrive in vain");
    }
    for (int pattern = ONE_KEY + 1; pattern < PATTERNS; pattern++) {
        assert_flat(arrive_and_repost, true, WEFT_MATCH_EXACT, pattern, "arrive, post");
    }
}

/* Ever new keys, one at a time, after very many at once: tables shrink again. */
static void tables_grow_and_shrink_again(void **state)
{
    struct crowd *crowd;
    struct weft_waiting anchor = {.number = 0}; /* keeps all classes in use */

    (void)state;
    for (int c = 0; c < CLASSES; c++) {
        struct weft_match_index *index;

        crowd = crowd_open(DEEP, c, ALL_PARTS, true);
        index = &crowd->match.posted[c];
        assert_true(index->node_count == DEEP && index->bucket_count >= DEEP / 2);
        for (uint32_t i = 0; i < DEEP; i++) { /* not as they were posted */
            uint32_t k = i * 7919 % DEEP;

            assert_ptr_equal(arrive(&crowd->match, numbered(k)), &crowd->posted[k]);
        }
        for (uint32_t i = 0; i < 4 * DEEP; i++) {
            post(&crowd->match, crowd->posted, open_in(c, numbered(DEEP + i)));
            assert_ptr_equal(arrive(&crowd->match, numbered(DEEP + i)), crowd->posted);
        }
        assert_true(index->bucket_count <= 64 && index->node_count <= 64);
        crowd_close(crowd);
    }
    crowd = crowd_open(DEEP, 0, ALL_PARTS, false);
    keep(&crowd->match, &anchor, (struct key){UINT32_MAX, 0, 0});
    for (uint32_t i = 0; i < DEEP; i++) {
        uint32_t k = i * 7919 % DEEP;

        assert_ptr_equal(find(&crowd->match, open_in((int)i % CLASSES, numbered(k))),
                         &crowd->waiting[k]);
        weft_match_take(&crowd->match, &crowd->waiting[k]);
    }
    for (uint32_t i = 0; i < 4 * DEEP; i++) {
        keep(&crowd->match, crowd->waiting, numbered(DEEP + i));
        weft_match_take(&crowd->match, crowd->waiting);
    }
    for (int c = 0; c < CLASSES; c++) {
        assert_true(crowd->match.waiting[c].bucket_count <= 64);
        assert_ptr_equal(find(&crowd->match, open_in(c, (struct key){UINT32_MAX, 0, 0})),
                         &anchor);
    }
    crowd_close(crowd);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_receive_and_a_message_meet_if_they_agree_in_all_that_is_named),
        cmocka_unit_test(receives_of_all_classes_win_in_the_order_of_posting),
        cmocka_unit_test(a_waiting_message_keeps_its_place_when_it_is_moved),
        cmocka_unit_test(a_receive_ends_once_and_takes_its_offer_back),
        cmocka_unit_test(an_arrival_passes_over_receives_that_a_sender_has_claimed),
        cmocka_unit_test(a_receive_is_offered_unless_another_may_take_its_message),
        cmocka_unit_test(what_cannot_be_posted_or_kept_changes_nothing),
        cmocka_unit_test(a_known_key_needs_no_memory),
        cmocka_unit_test(a_waiting_message_is_found_also_without_memory),
        cmocka_unit_test(matcher_and_list_agree_through_random_steps),
        cmocka_unit_test(cost_does_not_grow_with_depth),
        cmocka_unit_test(tables_grow_and_shrink_again),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
