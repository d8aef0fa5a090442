/* test_handshake.c - only ranks of one job, here and now, get through the handshake. */
#include "unit.h"

#include "transport/ofi/handshake.h"
#include "transport/ofi/sodium.h"

static const uint8_t secret[WEFT_HANDSHAKE_SECRET_BYTES] = {1, 2, 3};
static const uint8_t other_secret[WEFT_HANDSHAKE_SECRET_BYTES] = {1, 2, 3, [31] = 1};

enum { STREAM = 1, CALLER_INDEX = 0x01020304, LISTENER_INDEX = 77 };

#define JOB      (UINT64_C(0x11223344) << 32)
#define CALLER   (JOB | 3)
#define LISTENER (JOB | 258)

static const struct weft_handshake_self caller = {secret, CALLER, 300, 2, 4};
static const struct weft_handshake_self listener = {secret, LISTENER, 300, 2, 4};

/* One handshake, seen from both ends, and its packets. */
struct meeting {
    struct weft_handshake of_caller;
    struct weft_handshake of_listener;
    uint8_t ask[WEFT_ASK_BYTES];
    uint8_t answer[WEFT_ANSWER_BYTES];
    uint8_t confirm[WEFT_CONFIRM_BYTES];
};

static void meet(struct meeting *m)
{
    m->of_caller = (struct weft_handshake){
        .caller = CALLER,
        .listener = LISTENER,
        .stream = STREAM,
        .listener_index = LISTENER_INDEX,
    };
    assert_int_equal(weft_handshake_ask(&caller, &m->of_caller, m->ask), WEFT_OK);
    assert_int_equal(
        weft_handshake_check_ask(&listener, m->ask, sizeof(m->ask), &m->of_listener),
        WEFT_WELCOME);
    m->of_listener.caller_index = CALLER_INDEX;
    assert_int_equal(weft_handshake_answer(&listener, &m->of_listener, m->answer),
                     WEFT_OK);
    assert_int_equal(
        weft_handshake_check_answer(&caller, m->answer, sizeof(m->answer), &m->of_caller),
        WEFT_WELCOME);
    weft_handshake_confirm(&caller, &m->of_caller, m->confirm);
}

/* The three checks under one name; a refusal must leave what is known as it was. */
enum step { ASK, ANSWER, CONFIRM };

static enum weft_refusal check(enum step step, const struct weft_handshake_self *self,
                               const void *bytes, size_t length,
                               const struct weft_handshake *known)
{
    struct weft_handshake shake = *known;
    enum weft_refusal refusal;

    if (step == ASK) {
        refusal = weft_handshake_check_ask(self, bytes, length, &shake);
    } else if (step == ANSWER) {
        refusal = weft_handshake_check_answer(self, bytes, length, &shake);
    } else {
        refusal = weft_handshake_check_confirm(self, bytes, length, &shake);
    }
    if (refusal != WEFT_WELCOME) {
        assert_memory_equal(&shake, known, sizeof(shake));
    }
    return refusal;
}

/* A packet of a meeting, and who checks it with what. */
struct packet {
    const uint8_t *bytes;
    size_t length;
    const struct weft_handshake_self *self;
    const struct weft_handshake *known;
};

static struct packet packet_of(const struct meeting *m, enum step step)
{
    const struct packet packets[] = {
        {m->ask, sizeof(m->ask), &listener, &m->of_listener},
        {m->answer, sizeof(m->answer), &caller, &m->of_caller},
        {m->confirm, sizeof(m->confirm), &listener, &m->of_listener},
    };

    return packets[step];
}

static int load(void **state)
{
    (void)state;
    return weft_sodium_open() == WEFT_OK ? 0 : -1;
}

static void two_ranks_of_a_job_get_through(void **state)
{
    struct meeting m;

    (void)state;
    meet(&m);
    assert_int_equal(weft_handshake_check_confirm(&listener, m.confirm, sizeof(m.confirm),
                                                  &m.of_listener),
                     WEFT_WELCOME);
    assert_int_equal(m.of_listener.caller, CALLER);
    assert_int_equal(m.of_listener.listener, LISTENER);
    assert_int_equal(m.of_listener.stream, STREAM);
    assert_int_equal(m.of_listener.listener_index, LISTENER_INDEX);
    assert_int_equal(m.of_caller.caller_index, CALLER_INDEX);
    assert_memory_equal(m.of_listener.nonce_a, m.of_caller.nonce_a, 16);
    assert_memory_equal(m.of_listener.nonce_b, m.of_caller.nonce_b, 16);
}

static void an_ask_is_laid_out_as_the_header_says(void **state)
{
    static const uint8_t head[] = {4, STREAM, 3, 0, 0, 0, 0x44, 0x33, 0x22, 0x11};
    static const uint8_t index[] = {4, 3, 2, 1};
    struct meeting m;

    (void)state;
    meet(&m);
    assert_memory_equal(m.ask + 1, head + 1, sizeof(head) - 1);
    assert_int_equal(m.ask[0] & 0x7f, head[0]);
    assert_memory_equal(m.ask + 10, m.of_caller.nonce_a, 16);
    assert_memory_equal(m.answer + 2, index, 4);
    assert_memory_equal(m.answer + 6, m.of_caller.nonce_b, 16);
    assert_int_equal(m.confirm[2], LISTENER_INDEX);
    assert_int_equal(m.answer[1], caller.packets);
    assert_int_equal(m.confirm[1], caller.packets);
    assert_int_equal(m.answer[0], m.ask[0]);
    assert_int_equal(m.confirm[0], m.ask[0]);
}

/* Computed once with Python: hashlib.blake2b(57 bytes, key=secret, digest_size=16). */
static void a_tag_is_keyed_blake2b(void **state)
{
    static const uint8_t right[16] = {0x8e, 0x00, 0x23, 0xb6, 0x72, 0x60, 0x6a, 0x1d,
                                      0x1b, 0x70, 0x98, 0x5f, 0xb0, 0x25, 0x38, 0x0d};
    const uint8_t covered[57] = "weft handshake\x01\x01";
    uint8_t tag[16];

    (void)state;
    weft_sodium_hash(tag, sizeof(tag), covered, sizeof(covered), secret, sizeof(secret));
    assert_memory_equal(tag, right, sizeof(tag));
}

static void the_tag_of_an_ask_covers_name_step_listener_and_all_before_it(void **state)
{
    uint8_t covered[70] = "weft handshake\x01";
    uint8_t tag[16];
    struct meeting m;

    (void)state;
    meet(&m);
    memcpy(covered + 15, m.ask, 10); /* version, stream, caller */
    covered[25] = (uint8_t)LISTENER;
    covered[26] = (uint8_t)(LISTENER >> 8);
    memcpy(covered + 29, m.ask + 6, 4); /* the same job */
    memcpy(covered + 33, m.ask + 10, 16);
    weft_sodium_hash(tag, sizeof(tag), covered, sizeof(covered), secret, sizeof(secret));
    assert_memory_equal(m.ask + sizeof(m.ask) - sizeof(tag), tag, sizeof(tag));
}

static void one_wrong_bit_anywhere_is_refused(void **state)
{
    struct meeting m;

    (void)state;
    meet(&m);
    for (enum step step = ASK; step <= CONFIRM; step++) {
        struct packet p = packet_of(&m, step);

        assert_int_equal(check(step, p.self, p.bytes, p.length, p.known), WEFT_WELCOME);
        for (size_t bit = 0; bit < 8 * p.length; bit++) {
            uint8_t bent[WEFT_HANDSHAKE_MOST_BYTES];
            enum weft_refusal refusal;

            memcpy(bent, p.bytes, p.length);
            bent[bit / 8] = (uint8_t)(bent[bit / 8] ^ 1u << bit % 8);
            refusal = check(step, p.self, bent, p.length, p.known);
            assert_int_equal(refusal, bit > 7    ? WEFT_REFUSED_UNAUTHENTICATED
                                      : bit == 7 ? WEFT_REFUSED_BYTE_ORDER
                                                 : WEFT_REFUSED_VERSION);
        }
    }
}

static void a_packet_of_another_length_is_refused(void **state)
{
    struct meeting m;

    (void)state;
    meet(&m);
    for (enum step step = ASK; step <= CONFIRM; step++) {
        struct packet p = packet_of(&m, step);
        uint8_t longer[256] = {0};

        memcpy(longer, p.bytes, p.length);
        for (size_t length = 0; length < p.length; length++) {
            assert_int_equal(check(step, p.self, p.bytes, length, p.known),
                             WEFT_REFUSED_FORMAT);
        }
        for (size_t length = p.length + 1; length < sizeof(longer); length++) {
            longer[length - 1] = 1;
            assert_int_equal(check(step, p.self, longer, length, p.known),
                             WEFT_REFUSED_FORMAT);
            longer[length - 1] = 0;
        }
        assert_int_equal(check(step, p.self, NULL, 0, p.known), WEFT_REFUSED_FORMAT);
    }
}

static void zeros_may_fill_up_private_data(void **state)
{
    struct meeting m;

    (void)state;
    meet(&m);
    for (enum step step = ASK; step <= CONFIRM; step++) {
        struct packet p = packet_of(&m, step);
        uint8_t filled[256] = {0};

        memcpy(filled, p.bytes, p.length);
        assert_int_equal(check(step, p.self, filled, sizeof(filled), p.known),
                         WEFT_WELCOME);
        filled[sizeof(filled) - 1] = 1;
        assert_int_equal(check(step, p.self, filled, sizeof(filled), p.known),
                         WEFT_REFUSED_FORMAT);
    }
}

static void what_was_recorded_is_of_no_use(void **state)
{
    struct weft_handshake again;
    struct meeting old;
    struct meeting fresh;
    uint8_t answer[WEFT_ANSWER_BYTES];

    (void)state;
    meet(&old);
    meet(&fresh);
    assert_memory_not_equal(old.ask, fresh.ask, sizeof(old.ask));

    /* An old ask is answered, but its confirm does not fit the new answer. */
    assert_int_equal(
        weft_handshake_check_ask(&listener, old.ask, sizeof(old.ask), &again),
        WEFT_WELCOME);
    assert_int_equal(weft_handshake_answer(&listener, &again, answer), WEFT_OK);
    assert_memory_not_equal(again.nonce_b, old.of_listener.nonce_b, 16);
    assert_int_equal(check(CONFIRM, &listener, old.confirm, sizeof(old.confirm), &again),
                     WEFT_REFUSED_UNAUTHENTICATED);

    /* An old answer does not fit a new ask, nor an old confirm a new meeting. */
    assert_int_equal(
        check(ANSWER, &caller, old.answer, sizeof(old.answer), &fresh.of_caller),
        WEFT_REFUSED_UNAUTHENTICATED);
    assert_int_equal(
        check(CONFIRM, &listener, old.confirm, sizeof(old.confirm), &fresh.of_listener),
        WEFT_REFUSED_UNAUTHENTICATED);
}

static void no_step_passes_for_another(void **state)
{
    struct meeting m;

    (void)state;
    meet(&m);
    for (enum step made = ASK; made <= CONFIRM; made++) {
        for (enum step taken = ASK; taken <= CONFIRM; taken++) {
            struct packet from = packet_of(&m, made);
            struct packet to = packet_of(&m, taken);
            uint8_t bytes[WEFT_HANDSHAKE_MOST_BYTES] = {0};

            if (made == taken) {
                continue;
            }
            assert_int_not_equal(check(taken, to.self, from.bytes, from.length, to.known),
                                 WEFT_WELCOME);
            /* With the tag where it is looked for. */
            memcpy(bytes, to.bytes, to.length - 16);
            memcpy(bytes + to.length - 16, from.bytes + from.length - 16, 16);
            assert_int_equal(check(taken, to.self, bytes, to.length, to.known),
                             WEFT_REFUSED_UNAUTHENTICATED);
        }
    }
}

static void what_is_sent_back_to_its_maker_is_refused(void **state)
{
    struct meeting m;
    uint8_t turned[WEFT_ASK_BYTES];

    (void)state;
    meet(&m);
    assert_int_equal(check(ASK, &caller, m.ask, sizeof(m.ask), &m.of_caller),
                     WEFT_REFUSED_UNAUTHENTICATED);
    assert_int_equal(check(ANSWER, &caller, m.ask, sizeof(m.ask), &m.of_caller),
                     WEFT_REFUSED_FORMAT);
    assert_int_equal(
        check(CONFIRM, &listener, m.answer, sizeof(m.answer), &m.of_listener),
        WEFT_REFUSED_FORMAT);

    memcpy(turned, m.ask, sizeof(turned)); /* the two processes exchanged */
    turned[2] = (uint8_t)LISTENER;
    turned[3] = (uint8_t)(LISTENER >> 8);
    assert_int_equal(check(ASK, &caller, turned, sizeof(turned), &m.of_caller),
                     WEFT_REFUSED_UNAUTHENTICATED);
}

static void another_job_is_refused_at_every_step(void **state)
{
    struct meeting m;

    (void)state;
    meet(&m);
    for (enum step step = ASK; step <= CONFIRM; step++) {
        struct packet p = packet_of(&m, step);
        struct weft_handshake_self other = *p.self;

        other.secret = other_secret;
        assert_int_equal(check(step, &other, p.bytes, p.length, p.known),
                         WEFT_REFUSED_UNAUTHENTICATED);
    }
}

/* Of the same job, so with a right tag; and yet neither would understand the other. */
static void a_rank_with_other_packets_is_refused_at_both_ends(void **state)
{
    struct meeting m;
    struct weft_handshake_self newer = listener;

    (void)state;
    meet(&m);
    newer.packets++;
    assert_int_equal(weft_handshake_answer(&newer, &m.of_listener, m.answer), WEFT_OK);
    assert_int_equal(check(ANSWER, &caller, m.answer, sizeof(m.answer), &m.of_caller),
                     WEFT_REFUSED_PACKETS);
    assert_int_equal(weft_handshake_packets_of(m.answer), newer.packets);
    meet(&m);
    assert_int_equal(check(CONFIRM, &newer, m.confirm, sizeof(m.confirm), &m.of_listener),
                     WEFT_REFUSED_PACKETS);
    assert_int_equal(weft_handshake_packets_of(m.confirm), caller.packets);
}

static void only_the_rank_that_is_meant_answers(void **state)
{
    struct meeting m;
    struct weft_handshake_self self = listener;

    (void)state;
    meet(&m);
    self.process = LISTENER + 1;
    assert_int_equal(check(ASK, &self, m.ask, sizeof(m.ask), &m.of_listener),
                     WEFT_REFUSED_UNAUTHENTICATED);
}

/* With a right tag, and yet nothing to index a table with. */
static void ranks_and_streams_that_do_not_exist_are_refused(void **state)
{
    static const struct weft_handshake wrong[] = {
        {.caller = LISTENER, .listener = LISTENER, .stream = 0},
        {.caller = JOB | 300, .listener = LISTENER, .stream = 0},
        {.caller = JOB | UINT32_MAX, .listener = LISTENER, .stream = 0},
        {.caller = 3, .listener = LISTENER, .stream = 0}, /* another job's */
        {.caller = UINT64_MAX, .listener = LISTENER, .stream = 0},
        {.caller = CALLER, .listener = LISTENER, .stream = 2},
        {.caller = CALLER, .listener = LISTENER, .stream = 255},
    };

    (void)state;
    for (size_t i = 0; i < sizeof(wrong) / sizeof(wrong[0]); i++) {
        struct weft_handshake shake = wrong[i];
        uint8_t ask[WEFT_ASK_BYTES];

        assert_int_equal(weft_handshake_ask(&caller, &shake, ask), WEFT_OK);
        assert_int_equal(check(ASK, &listener, ask, sizeof(ask), &shake),
                         WEFT_REFUSED_NOT_FOR_ME);
    }
}

static void an_answer_counts_only_for_its_own_ask(void **state)
{
    struct meeting m;

    (void)state;
    meet(&m);
    for (int field = 0; field < 5; field++) {
        struct weft_handshake shake = m.of_caller;

        shake.caller += field == 0;
        shake.listener += field == 1;
        shake.stream = (uint8_t)(shake.stream + (field == 2));
        shake.caller += (uint64_t)(field == 3) << 32;
        shake.listener += (uint64_t)(field == 4) << 32;
        assert_int_equal(check(ANSWER, &caller, m.answer, sizeof(m.answer), &shake),
                         WEFT_REFUSED_UNAUTHENTICATED);
        assert_int_equal(check(CONFIRM, &listener, m.confirm, sizeof(m.confirm), &shake),
                         WEFT_REFUSED_UNAUTHENTICATED);
    }
}

static void of_two_asks_that_cross_the_lower_ranks_stands(void **state)
{
    const struct weft_handshake by_lower = {.caller = CALLER, .listener = LISTENER};
    const struct weft_handshake by_higher = {.caller = LISTENER, .listener = CALLER};

    (void)state;
    assert_int_equal(weft_handshake_arbitrate(&caller, &by_higher, false, true),
                     WEFT_REFUSED_CROSSED);
    assert_int_equal(weft_handshake_arbitrate(&listener, &by_lower, false, true),
                     WEFT_WELCOME);
    assert_int_equal(weft_handshake_arbitrate(&caller, &by_higher, false, false),
                     WEFT_WELCOME);
    assert_int_equal(weft_handshake_arbitrate(&listener, &by_lower, false, false),
                     WEFT_WELCOME);
    for (int is_asking = 0; is_asking < 2; is_asking++) {
        assert_int_equal(weft_handshake_arbitrate(&caller, &by_higher, true, is_asking),
                         WEFT_REFUSED_DUPLICATE);
        assert_int_equal(weft_handshake_arbitrate(&listener, &by_lower, true, is_asking),
                         WEFT_REFUSED_DUPLICATE);
    }
}

static void a_refusal_says_why_whatever_its_byte(void **state)
{
    (void)state;
    assert_int_equal(weft_refusal_from(NULL, 0), WEFT_REFUSED_UNSAID);
    for (int value = 0; value < 256; value++) {
        const uint8_t bytes[2] = {(uint8_t)value, 0xff};
        enum weft_refusal refusal = weft_refusal_from(bytes, 1);
        bool is_known = value != WEFT_WELCOME && value < WEFT_REFUSED_UNSAID;

        assert_int_equal(refusal, is_known ? value : (int)WEFT_REFUSED_UNSAID);
        assert_int_equal(weft_refusal_from(bytes, 2), refusal);
        assert_true(strlen(weft_refusal_text(refusal)) > 0);
    }
}

static void a_confirm_is_told_from_an_ask_by_what_precedes_it(void **state)
{
    uint8_t whole[WEFT_CONFIRM_PREFIX + WEFT_CONFIRM_BYTES];
    struct meeting m;
    uint64_t who = 0;
    uint8_t stream = 0;

    (void)state;
    meet(&m);
    weft_handshake_name(&m.of_caller, whole);
    memcpy(whole + WEFT_CONFIRM_PREFIX, m.confirm, sizeof(m.confirm));
    assert_true(weft_handshake_is_confirm(whole, sizeof(whole)));
    assert_false(weft_handshake_is_confirm(whole, WEFT_CONFIRM_PREFIX));
    assert_false(weft_handshake_is_confirm(m.ask, sizeof(m.ask)));
    weft_handshake_read_name(whole, &who, &stream);
    assert_true(who == CALLER);
    assert_int_equal(stream, STREAM);
}

/* Where there is no connection, what is sent shows that both ends have met. */
static void a_pass_is_the_same_at_both_ends_and_nowhere_else(void **state)
{
    struct weft_handshake_self stranger = listener;
    uint8_t of_caller[WEFT_PASS_BYTES];
    uint8_t pass[WEFT_PASS_BYTES];
    struct meeting first;
    struct meeting second;

    (void)state;
    meet(&first);
    meet(&second);
    weft_handshake_pass(&caller, &first.of_caller, of_caller);
    weft_handshake_pass(&listener, &first.of_listener, pass);
    assert_memory_equal(pass, of_caller, sizeof(pass));
    weft_handshake_pass(&listener, &second.of_listener, pass);
    assert_memory_not_equal(pass, of_caller, sizeof(pass));
    stranger.secret = other_secret;
    weft_handshake_pass(&stranger, &first.of_listener, pass);
    assert_memory_not_equal(pass, of_caller, sizeof(pass));
    assert_memory_not_equal(first.confirm + sizeof(first.confirm) -
                                WEFT_HANDSHAKE_TAG_BYTES,
                            of_caller, sizeof(of_caller));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(two_ranks_of_a_job_get_through),
        cmocka_unit_test(an_ask_is_laid_out_as_the_header_says),
        cmocka_unit_test(a_tag_is_keyed_blake2b),
        cmocka_unit_test(the_tag_of_an_ask_covers_name_step_listener_and_all_before_it),
        cmocka_unit_test(one_wrong_bit_anywhere_is_refused),
        cmocka_unit_test(a_packet_of_another_length_is_refused),
        cmocka_unit_test(zeros_may_fill_up_private_data),
        cmocka_unit_test(what_was_recorded_is_of_no_use),
        cmocka_unit_test(no_step_passes_for_another),
        cmocka_unit_test(what_is_sent_back_to_its_maker_is_refused),
        cmocka_unit_test(another_job_is_refused_at_every_step),
        cmocka_unit_test(a_rank_with_other_packets_is_refused_at_both_ends),
        cmocka_unit_test(only_the_rank_that_is_meant_answers),
        cmocka_unit_test(ranks_and_streams_that_do_not_exist_are_refused),
        cmocka_unit_test(an_answer_counts_only_for_its_own_ask),
        cmocka_unit_test(of_two_asks_that_cross_the_lower_ranks_stands),
        cmocka_unit_test(a_refusal_says_why_whatever_its_byte),
        cmocka_unit_test(a_confirm_is_told_from_an_ask_by_what_precedes_it),
        cmocka_unit_test(a_pass_is_the_same_at_both_ends_and_nowhere_else),
    };

    return cmocka_run_group_tests(tests, load, NULL);
}
