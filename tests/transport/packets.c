/* packets.c - cases about packets: order, contents, full queues, grants, budget. */
#include "suite.h"

#include <string.h>
#include <unistd.h>

enum {
    CONTACTS = 1500,   /* packets of each sender at first contact */
    RECEIVERS = 4,     /* ranks that take turns as the one that everyone sends to */
    MANY = 100 * 1000, /* packets that no queue holds */
    CONTROLS = 40,
    ALL_UP_TO = 8192,
    STEP = 37,
    STUMBLES = 100, /* refusals, one after the other: it is full */
    SLOW_US = 5000,
};

static uint32_t packet_max(uint32_t rank)
{
    return suite.path[rank]->packet_max;
}

/* Everything that rank `from` says it has sent has come. */
static void await_all_from(uint32_t from)
{
    const uint32_t sent = (uint32_t)suite_await_word(from);

    while (suite.from[from].ordered != sent) {
        suite_progress();
    }
}

static void tell_all_sent(uint32_t to)
{
    suite_send_word(to, suite.sent[to]);
}

static void check_memory(const struct weft_memory_ops *memory)
{
    check(memory->put != NULL && memory->get != NULL && memory->iov_max > 0);
    check(memory->is_unlocked ||
          (memory->mr_register != NULL && memory->mr_deregister != NULL));
}

/* Slots that are not optional, and those that go together. */
void case_table_is_complete(void)
{
    const struct weft_packet_ops *ops = suite.ops;
    struct weft_path *path = suite.path[suite_next()];
    const struct weft_memory_ops *memory = weft_path_memory(path);

    check(ops->open != NULL && ops->close != NULL && ops->connect != NULL);
    check(ops->send != NULL && ops->poll != NULL && ops->arm != NULL);
    check(ops->count != NULL);
    check((ops->next_path == NULL) == (ops->find_path == NULL));
    check(path->zcopy_max == 0 || ops->send_zcopy != NULL);
    if (memory != NULL) {
        check_memory(memory);
    }
}

/* The first datagram of a peer may come while the program computes, and nobody is known
 * yet: no thread sleeps for it, so somebody has to look now and then. */
static void check_somebody_looks(void)
{
    if (strcmp(suite.ops->name, "dgram") == 0) {
        check(suite.ops->deadline(suite.tp) != 0);
    }
}

/*
 * The first case in which most ranks send anything: everyone to one, from the first on.
 * The receiver looks late, so that the first packets wait wherever they go at first.
 */
void case_first_contact(void)
{
    uint64_t random = 77 + suite.me;

    check_somebody_looks();
    for (uint32_t to = 0; to < suite.size && to < RECEIVERS; to++) {
        if (suite.me == to) {
            usleep(SLOW_US);
            for (uint32_t r = 0; r < suite.size; r++) {
                if (r != to) {
                    await_all_from(r);
                }
            }
        } else {
            const uint32_t count = CONTACTS * 4 / suite.size;

            for (uint32_t i = 0; i < count; i++) {
                const uint64_t r = suite_random(&random) >> 16;

                suite_send(to, r % 8 == 0 ? r / 8 % (packet_max(to) + 1) : r / 8 % 100, 0,
                           false);
            }
            tell_all_sent(to);
        }
        suite_meet();
    }
}

/* What a transport counts is what was sent and what has arrived. */
void case_counts(void)
{
    struct weft_traffic traffic = {.packets_sent = 0};
    uint64_t sent = 0;
    uint64_t received = 0;

    for (uint32_t r = 0; r < suite.size; r++) {
        if (r != suite.me) {
            sent += suite.sent[r];
            received += suite.from[r].ordered;
        }
    }
    suite.ops->count(suite.tp, &traffic);
    check(traffic.packets_sent == sent);
    check(traffic.packets_received == received);
    check(traffic.bytes_sent >= sent * WEFT_HEADER_BYTES);
    check(traffic.bytes_received >= received * WEFT_HEADER_BYTES);
    check(traffic.bytes_fetched + traffic.bytes_stored > 0 || !suite.is_reachable);
    suite_meet();
}

/* Every size up to ALL_UP_TO bytes, which is several datagrams; of larger ones some, and
 * the largest. */
static size_t size_number(uint32_t to, size_t i)
{
    const size_t size = i <= ALL_UP_TO ? i : ALL_UP_TO + (i - ALL_UP_TO) * STEP;

    return size < packet_max(to) ? size : packet_max(to);
}

void case_every_size(void)
{
    const uint32_t to = suite_next();
    size_t count = 0;

    while (size_number(to, count) < packet_max(to)) {
        suite_send(to, size_number(to, count), count % 2 == 0 ? 0 : WEFT_SEND_URGENT,
                   false);
        count++;
    }
    for (size_t i = count + 1; i-- > 0;) {
        suite_send(to, size_number(to, i), 0, false);
        if (i % 64 == 0) {
            suite_send(to, i % 512, WEFT_SEND_CONTROL, false);
        }
    }
    tell_all_sent(to);
    await_all_from(suite_previous());
    suite_meet();
}

/* A network's provider may refuse now what it takes at once if asked again. */
static bool has_only_stumbled(void)
{
    return suite_is_network() && suite.ops->needs_retry != NULL &&
           suite.ops->needs_retry(suite.tp);
}

/* Sends until the queue is full; nobody takes anything meanwhile. */
static void fill_queue(uint32_t to, size_t len, uint64_t *random)
{
    int stumbles = 0;

    (void)has_only_stumbled(); /* of what was before */
    for (uint32_t i = 0; i < MANY; i++) {
        size_t n = random != NULL ? suite_random(random) % (len + 1) : len;

        if (suite_try(to, n, 0) == WEFT_OK) {
            stumbles = 0;
        } else if (!has_only_stumbled() || ++stumbles == STUMBLES) {
            check(suite_try(to, n, 0) == WEFT_AGAIN); /* and it stays full */
            return;
        }
    }
    check(false); /* a queue takes packets without end */
}

/* Everyone fills the next one's queue; then all is taken, and nothing is missing. */
void case_full_queue(void)
{
    const uint32_t to = suite_next();
    uint64_t random = 5 + suite.me;
    const size_t lengths[] = {0, 1, packet_max(to), packet_max(to)};

    for (int i = 0; i < 4; i++) {
        const uint32_t endings = suite.endings + 1;

        suite_meet_quietly(); /* whose polling could make room */
        fill_queue(to, lengths[i], i == 3 ? &random : NULL);
        suite_meet_quietly();
        suite_send(to, 10, 0, true); /* goes on trying, and polls */
        while (suite.endings != endings) {
            suite_progress();
        }
        suite_meet();
    }
}

void case_control_overtakes(void)
{
    const uint32_t to = suite_next();
    const uint32_t from = suite_previous();
    uint32_t before;
    uint32_t control;

    suite_send(to, 0, 0, false); /* a network is connected by it */
    tell_all_sent(to);
    await_all_from(from);
    suite_meet();
    before = suite.from[from].ordered;
    control = suite.from[from].control + CONTROLS;
    suite.is_full = true;
    suite_meet();
    fill_queue(to, 100, NULL);
    for (int i = 0; i < CONTROLS; i++) {
        suite_send(to, (size_t)i, WEFT_SEND_CONTROL, false);
    }
    while (suite.from[from].control != control) {
        suite_progress();
    }
    for (int i = 0; i < 100; i++) { /* however often it looks */
        suite_progress();
    }
    check(suite.from[from].ordered == before);
    suite_meet();
    suite.is_full = false;
    tell_all_sent(to);
    await_all_from(from);
    check(suite.from[from].ordered > before);
    suite_meet();
}

/*
 * Every third offer is answered with KEEP. Each packet comes once and in its order all
 * the same, because a kept one is offered again, and nothing that is behind it on its way
 * comes first; control packets pass it.
 */
void case_kept_packets_are_offered_again(void)
{
    enum { EACH = 200, KEEP_EACH = 3 };
    const uint32_t to = suite_next();
    const uint32_t from = suite_previous();
    struct suite_from *f = &suite.from[from];
    uint32_t kept;
    uint32_t before;
    uint32_t offers;
    uint32_t control;

    suite_send(to, 0, 0, false); /* a network is connected by it */
    tell_all_sent(to);
    await_all_from(from);
    suite_meet();
    /* Now nothing is on its way; at the beginning others may have been ahead. */
    kept = f->kept;
    before = f->ordered;
    offers = f->offers;
    f->keep_each = 1; /* all */
    control = f->control + CONTROLS;
    suite_meet();
    for (int i = 0; i < CONTROLS; i++) {
        suite_send(to, 50, 0, false);
        suite_send(to, (size_t)i, WEFT_SEND_CONTROL, false);
    }
    while (f->control != control || f->kept == kept) {
        suite_progress();
    }
    check(f->ordered == before);
    suite_meet();
    f->keep_each = KEEP_EACH;
    for (int i = 0; i < EACH; i++) {
        suite_send(to, (size_t)i % 500, 0, false);
    }
    tell_all_sent(to);
    await_all_from(from);
    check(f->ordered == before + CONTROLS + EACH);
    check(f->kept - kept >= EACH / KEEP_EACH);
    check(f->offers - offers == f->ordered - before + f->kept - kept);
    suite_meet();
    f->keep_each = 0;
}

/* Two send to rank 0, which takes from one of them; then from the other. */
void case_grants(void)
{
    const bool is_sender = suite.me == 1 || suite.me == 2;
    uint32_t before[3] = {0};

    if (suite.size < 3) {
        return;
    }
    suite.is_full = suite.me == 0;
    suite_meet();
    if (is_sender) {
        for (int i = 0; i < 100; i++) {
            suite_send(0, (size_t)i, 0, false);
        }
        tell_all_sent(0);
    }
    suite_meet();
    if (suite.me == 0) {
        for (uint32_t r = 1; r <= 2; r++) {
            before[r] = suite.from[r].ordered;
        }
        for (uint32_t r = 2; r >= 1; r--) {
            suite.granted = r;
            await_all_from(r);
            check(suite.from[r].ordered == before[r] + 100);
            check(suite.from[1].ordered == before[1] + (r == 1 ? 100 : 0));
        }
        suite.granted = UINT32_MAX;
        suite.is_full = false;
    }
    suite_meet();
}

/* The node has room for all that case_budget() sends; a network polls to make some. */
static void send_within(int budget, uint32_t to, unsigned flags)
{
    while (suite_try(to, 20, flags) == WEFT_AGAIN) {
        check(suite_is_network());
        suite_poll_within(budget);
    }
}

/* A network may need our polls to bring to others what we have sent. */
static void meet_after_all(void)
{
    if (suite_is_network()) {
        suite_meet();
    } else {
        suite_meet_quietly();
    }
}

/* Some of every kind are there; poll takes no more than it was told to. */
void case_budget(void)
{
    enum { ORDERED = 40, CONTROL = 20 };
    const int budgets[] = {1, 2, 3, 7, 1000};
    const uint32_t from = suite_previous();

    for (size_t b = 0; b < sizeof(budgets) / sizeof(budgets[0]); b++) {
        const uint32_t ordered = suite.from[from].ordered + ORDERED;
        const uint32_t control = suite.from[from].control + CONTROL;

        suite_meet_quietly();
        for (int i = 0; i < ORDERED; i++) {
            send_within(budgets[b], suite_next(), 0);
            if (i % 2 == 0) {
                send_within(budgets[b], suite_next(), WEFT_SEND_CONTROL);
            }
        }
        suite_meet_quietly();
        suite_poll_within(0);
        while (suite.from[from].ordered != ordered ||
               suite.from[from].control != control) {
            suite_poll_within(budgets[b]);
        }
        meet_after_all(); /* everyone has seen what is to be seen */
        suite_expect_nothing();
    }
    suite_meet();
}

/* Nobody's packets wait for what else may come: as many are taken as may be, each time.
 */
static void turns_of_network(uint32_t each, int budget)
{
    uint32_t polls = 0;
    uint32_t words = 0;

    suite.is_full = suite.me == 0;
    suite_meet();
    if (suite.me != 0) {
        for (uint32_t i = 0; i < each; i++) {
            suite_send(0, 10, 0, false);
        }
        tell_all_sent(0);
    } else {
        while (words != suite.size - 1) {
            words = 0;
            suite_progress();
            for (uint32_t r = 1; r < suite.size; r++) {
                words += suite.from[r].words_in != suite.from[r].words_out ? 1 : 0;
            }
        }
    }
    suite_meet();
    if (suite.me == 0) {
        const uint32_t before = suite.arrived;

        suite.is_full = false;
        while (suite.arrived != before + each * (suite.size - 1)) {
            suite_poll_within(budget);
            check(++polls <= 2 * each * suite.size / (uint32_t)budget);
        }
        for (uint32_t r = 1; r < suite.size; r++) {
            await_all_from(r);
        }
    }
    suite_meet();
}

/* Everyone has more for rank 0 than it takes at once: each gets its turn. */
void case_turns(void)
{
    enum { EACH = 50, BUDGET = 10 };
    uint32_t before[RECEIVERS] = {0};

    if (suite_is_network()) {
        turns_of_network(EACH, BUDGET);
        return;
    }
    if (suite.size > RECEIVERS) {
        return;
    }
    suite_meet_quietly();
    for (uint32_t r = 1; suite.me == 0 && r < suite.size; r++) {
        before[r] = suite.from[r].ordered;
    }
    for (int i = 0; suite.me != 0 && i < EACH; i++) {
        check(suite_try(0, 10, 0) == WEFT_OK);
    }
    if (suite.me != 0) {
        tell_all_sent(0);
    }
    suite_meet_quietly();
    if (suite.me == 0) {
        for (uint32_t i = 0; i < suite.size; i++) {
            suite.ops->poll(suite.tp, BUDGET);
        }
        for (uint32_t r = 1; r < suite.size; r++) {
            check(suite.from[r].ordered > before[r]);
            check(suite.from[r].words_in > suite.from[r].words_out);
        }
        for (uint32_t r = 1; r < suite.size; r++) {
            await_all_from(r);
        }
    }
    suite_meet();
}

void case_inside(void)
{
    for (int turn = 0; turn < 2; turn++) {
        weft_node_set_inside(&suite.node, suite.me % 2 == (uint32_t)turn);
        suite_meet();
        for (uint32_t r = 0; r < suite.size; r++) {
            if (r != suite.me) { /* a hint, but nothing changes it here */
                check(weft_node_is_inside(suite_area(r)) == (r % 2 == (uint32_t)turn));
            }
        }
        suite_meet();
    }
}
