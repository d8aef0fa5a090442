/*
 * sim.c - a network that is known: LogGP in virtual time.
 *
 * Every end is a process with a virtual clock of its own, and messages carry the time at
 * which they arrive. A receive waits in reality until the message is there and then moves
 * the clock to its arrival, so the outcome depends on the seed and on nothing else, not
 * even on how busy the machine is. Of one message of s bytes:
 *
 *     sender's processor   o_s, then it is free again
 *     sender's interface   starts when both processor and interface are ready, and is
 *                          busy for g + (s - 1) G
 *     network              the last byte arrives L + (s - 1) G after the start
 *     receiver's processor o_r, from the arrival or when it is ready
 *
 * From --break bytes on, each of o_s, o_r, L, g and G is multiplied by --break-factor, as
 * if another protocol began there. Noise is a spread, which multiplies every o_s, o_r, L
 * and work by 1 + spread times a normal number, and detours: with some probability per
 * use of a processor it is away for a while. Lost messages leave a mark, at which the
 * receiver loses its patience. An end that leaves a round leaves a mark too, so that
 * nobody waits for a message that was given up.
 *
 * --entry adds to a receive for each receive that is posted and each message that is
 * known besides. When a message becomes known is up to reality, so this one option gives
 * the same outcome every time only where they wait before the clock starts, as in
 * `queue`.
 *
 * Each end reads its clock with its own offset and drift: end i is i * offset ahead and
 * runs i * drift faster. With --late it also comes i * late later from each barrier.
 */
#include "gauge/module.h"
#include "gauge/modules/ring.h"

#include <malloc.h>
#include <math.h>
#include <sched.h>
#include <stdlib.h>
#include <string.h>

static struct gauge_option options[] = {
    {"L", GAUGE_NUMBER, "1000", "NS", "latency of the network"},
    {"os", GAUGE_NUMBER, "300", "NS", "overhead of sending"},
    {"or", GAUGE_NUMBER, "400", "NS", "overhead of receiving"},
    {"g", GAUGE_NUMBER, "500", "NS", "gap between messages of one byte"},
    {"G", GAUGE_NUMBER, "0.1", "NS", "gap per further byte"},
    {"break", GAUGE_BYTES, "0", "BYTES", "another protocol begins here; 0: none"},
    {"break-factor", GAUGE_NUMBER, "2", "FACTOR", "and multiplies all times by this"},
    {"spread", GAUGE_NUMBER, "0", "SHARE", "noise of o_s, o_r and L"},
    {"detours", GAUGE_NUMBER, "0", "SHARE", "of processor uses that are interrupted"},
    {"detour", GAUGE_NUMBER, "10000", "NS", "length of an interruption"},
    {"loss", GAUGE_NUMBER, "0", "SHARE", "of messages that get lost"},
    {"patience", GAUGE_NUMBER, "100000", "NS", "how long a receive waits for a lost one"},
    {"offset", GAUGE_NUMBER, "0", "NS", "end i's clock is i times this ahead"},
    {"drift", GAUGE_NUMBER, "0", "PPM", "end i's clock runs i times this faster"},
    {"late", GAUGE_NUMBER, "0", "NS", "end i comes i times this later from a barrier"},
    {"poll", GAUGE_NUMBER, "20", "NS", "cost of a test that finds nothing"},
    {"entry", GAUGE_NUMBER, "0", "NS",
     "cost of each other receive or message that waits while one is received"},
    {NULL, GAUGE_TEXT, NULL, NULL, NULL},
};

/* What a ring's cell is: part of a message, a lost one, or the end of a round. */
enum mark { MARK_DATA, MARK_LOST, MARK_LEFT };

/* In front of the bytes of a message. */
struct head {
    double arrival;
    uint64_t size;
};

/* A message that has come and was not asked for yet. */
struct letter {
    struct letter *next;
    enum mark mark;
    double arrival;
    size_t size;
    size_t have; /* bytes that have come so far */
    unsigned char bytes[];
};

struct mailbox {
    struct letter *first;
    struct letter **last;
    struct letter *open; /* the one whose bytes still come, the last in the list */
};

/* A receive under way: in a request's space. */
struct posted {
    int source;
    void *buffer;
    size_t size;
};

struct sim {
    struct ring_memory memory;
    struct mailbox *box; /* from each end */
    int end;
    int ends;
    double latency, send, receive, gap, byte; /* LogGP */
    size_t break_at;
    double break_factor;
    double spread, detours, detour, loss, patience, late, poll, entry;
    int posted;          /* receives that wait */
    int letters;         /* messages that have come and were not asked for */
    double now;          /* true virtual time of this end */
    double free_at;      /* when our interface takes the next message */
    double offset, rate; /* how we read our clock */
    uint64_t random;
    struct gauge_clock clock;
};

/* Chance */

static double uniform(struct sim *sim)
{
    uint64_t x = sim->random += 0x9e3779b97f4a7c15u;

    x = (x ^ x >> 30) * 0xbf58476d1ce4e5b9u;
    x = (x ^ x >> 27) * 0x94d049bb133111ebu;
    x ^= x >> 31;
    return ((double)(x >> 11) + 0.5) * 0x1p-53;
}

static double normal(struct sim *sim)
{
    double radius = sqrt(-2 * log(uniform(sim)));

    return radius * cos(6.283185307179586 * uniform(sim));
}

static double noisy(struct sim *sim, double time)
{
    if (!(sim->spread > 0)) {
        return time;
    }
    return time * fmax(1 + sim->spread * normal(sim), 0);
}

/* The processor is used for so long, unless something else wants it. */
static void use_processor(struct sim *sim, double time)
{
    sim->now += noisy(sim, time);
    if (sim->detours > 0 && uniform(sim) < sim->detours) {
        sim->now += sim->detour;
    }
}

static double factor(const struct sim *sim, size_t size)
{
    return sim->break_at > 0 && size >= sim->break_at ? sim->break_factor : 1;
}

static double bytes_time(const struct sim *sim, size_t size)
{
    return size > 0 ? (double)(size - 1) * sim->byte : 0;
}

/* The clock */

static double sim_now(void *state)
{
    const struct sim *sim = state;

    return sim->offset + sim->now * sim->rate;
}

static void sim_pass(void *state, double nanoseconds)
{
    struct sim *sim = state;

    sim->now += nanoseconds / sim->rate;
}

static void sim_work(void *state, unsigned long loops)
{
    struct sim *sim = state;

    use_processor(sim, (double)loops); /* a loop is a nanosecond */
}

static const struct gauge_clock *sim_clock(struct gauge_module *module)
{
    return &((struct sim *)module->state)->clock;
}

/* What comes in, as fast as reality brings it */

static bool begin_letter(struct mailbox *box, enum mark mark, const struct head *head)
{
    struct letter *letter = malloc(sizeof(*letter) + (size_t)head->size);

    if (letter == NULL) {
        return false;
    }
    *letter = (struct letter){
        .mark = mark, .arrival = head->arrival, .size = (size_t)head->size};
    *box->last = letter;
    box->last = &letter->next;
    box->open = letter->size > 0 ? letter : NULL;
    return true;
}

static bool take_cell(struct sim *sim, struct mailbox *box, const struct ring_cell *cell,
                      const unsigned char *bytes)
{
    struct letter *letter = box->open;
    struct head head;

    if (letter == NULL) {
        memcpy(&head, bytes, sizeof(head));
        sim->letters++;
        return begin_letter(box, (enum mark)cell->note, &head);
    }
    memcpy(letter->bytes + letter->have, bytes, cell->length);
    letter->have += cell->length;
    if (letter->have == letter->size) {
        box->open = NULL;
    }
    return true;
}

/* Empties all rings, so that nobody waits for room behind whom we wait ourselves. */
static enum gauge_rc collect(struct sim *sim)
{
    for (int i = 0; i < sim->ends; i++) {
        struct ring_end *in = &sim->memory.in[i];
        struct ring_cell *cell = NULL;

        while ((cell = ring_look(in)) != NULL) {
            if (!take_cell(sim, &sim->box[i], cell, ring_bytes(in, cell))) {
                return gauge_fail("sim: no memory for a message");
            }
            ring_take(in);
        }
    }
    return GAUGE_OK;
}

static enum gauge_rc put(struct sim *sim, int dest, const void *bytes, size_t size,
                         enum mark mark)
{
    while (!ring_put(&sim->memory.out[dest], bytes, size, mark)) {
        if (collect(sim) != GAUGE_OK) {
            return GAUGE_FAILED;
        }
        sched_yield(); /* the other ends are on this processor */
    }
    return GAUGE_OK;
}

/* Waits in reality for the next letter of an end, complete. */
static enum gauge_rc await(struct sim *sim, int source, struct letter **out)
{
    struct mailbox *box = &sim->box[source];

    while (box->first == NULL || box->open == box->first) {
        if (collect(sim) != GAUGE_OK) {
            return GAUGE_FAILED;
        }
        sched_yield(); /* the other ends are on this processor */
    }
    *out = box->first;
    return GAUGE_OK;
}

static void remove_first(struct sim *sim, int source)
{
    struct mailbox *box = &sim->box[source];
    struct letter *letter = box->first;

    sim->letters--;
    box->first = letter->next;
    if (box->first == NULL) {
        box->last = &box->first;
    }
    free(letter);
}

/* Sending and receiving */

static enum gauge_rc sim_sendto(struct gauge_module *module, int dest, const void *buffer,
                                size_t size)
{
    struct sim *sim = module->state;
    double times = factor(sim, size);
    double start = 0;
    struct head head = {.size = size};
    enum gauge_rc rc = GAUGE_OK;

    use_processor(sim, sim->send * times);
    start = fmax(sim->now, sim->free_at);
    sim->free_at = start + (sim->gap + bytes_time(sim, size)) * times;
    head.arrival =
        start + bytes_time(sim, size) * times + noisy(sim, sim->latency) * times;
    if (sim->loss > 0 && uniform(sim) < sim->loss) {
        head.size = 0;
        return put(sim, dest, &head, sizeof(head), MARK_LOST);
    }
    rc = put(sim, dest, &head, sizeof(head), MARK_DATA);
    for (size_t at = 0; rc == GAUGE_OK && at < size; at += RING_CHUNK) {
        size_t length = size - at < RING_CHUNK ? size - at : RING_CHUNK;

        rc = put(sim, dest, (const char *)buffer + at, length, MARK_DATA);
    }
    return rc;
}

/* A letter that is no message: patience ends. The mark of one who left stays, until the
 * round is over, for all receives that are still to come. */
static enum gauge_rc give_up(struct sim *sim, int source, const struct letter *letter)
{
    sim->now += sim->patience;
    if (letter->mark == MARK_LOST) {
        remove_first(sim, source);
    }
    return GAUGE_LOST;
}

static enum gauge_rc deliver(struct sim *sim, int source, struct letter *letter,
                             void *buffer, size_t size)
{
    if (letter->size != size) {
        return gauge_fail("sim: end %d sent %zu bytes where %zu were expected", source,
                          letter->size, size);
    }
    sim->now = fmax(sim->now, letter->arrival);
    use_processor(sim, sim->receive * factor(sim, size) +
                           sim->entry * (sim->posted + sim->letters - 1));
    if (size > 0) {
        memcpy(buffer, letter->bytes, size);
    }
    remove_first(sim, source);
    return GAUGE_OK;
}

static enum gauge_rc sim_recvfrom(struct gauge_module *module, int source, void *buffer,
                                  size_t size)
{
    struct sim *sim = module->state;
    struct letter *letter = NULL;

    if (await(sim, source, &letter) != GAUGE_OK) {
        return GAUGE_FAILED;
    }
    return letter->mark == MARK_DATA ? deliver(sim, source, letter, buffer, size)
                                     : give_up(sim, source, letter);
}

static enum gauge_rc sim_isendto(struct gauge_module *module, int dest,
                                 const void *buffer, size_t size,
                                 struct gauge_request *request)
{
    request->is_done = true; /* the interface has it, and the ring its bytes */
    return sim_sendto(module, dest, buffer, size);
}

static enum gauge_rc sim_irecvfrom(struct gauge_module *module, int source, void *buffer,
                                   size_t size, struct gauge_request *request)
{
    struct sim *sim = module->state;
    struct posted posted = {source, buffer, size};

    memcpy(request->space, &posted, sizeof(posted));
    sim->posted++;
    return GAUGE_OK;
}

/* In reality this waits until the message is known; virtually it only looks whether it
 * has arrived by now. */
static enum gauge_rc sim_test(struct gauge_module *module, struct gauge_request *request)
{
    struct sim *sim = module->state;
    struct letter *letter = NULL;
    struct posted posted;

    memcpy(&posted, request->space, sizeof(posted));
    if (await(sim, posted.source, &letter) != GAUGE_OK) {
        return GAUGE_FAILED;
    }
    if (letter->mark == MARK_DATA && letter->arrival > sim->now) {
        sim->now += sim->poll;
        return GAUGE_OK;
    }
    request->is_done = true;
    sim->posted--;
    return sim_recvfrom(module, posted.source, posted.buffer, posted.size);
}

static enum gauge_rc sim_wait(struct gauge_module *module, struct gauge_request *request)
{
    struct sim *sim = module->state;
    struct posted posted;

    memcpy(&posted, request->space, sizeof(posted));
    request->is_done = true;
    sim->posted--;
    return sim_recvfrom(module, posted.source, posted.buffer, posted.size);
}

/* Rounds */

static void sim_finish(struct gauge_module *module)
{
    struct sim *sim = module->state;
    struct head head = {0};

    for (int i = 0; sim->loss > 0 && i < sim->ends; i++) {
        put(sim, i, &head, sizeof(head), MARK_LEFT);
    }
    sim->posted = sim->loss > 0 ? 0 : sim->posted; /* given up with the round */
}

/* Takes all that is left in the mailboxes, up to the mark of each end. */
static void sim_drain(struct gauge_module *module)
{
    struct sim *sim = module->state;

    for (int i = 0; sim->loss > 0 && i < sim->ends; i++) {
        struct letter *letter = NULL;
        enum mark mark = MARK_DATA;

        while (mark != MARK_LEFT && await(sim, i, &letter) == GAUGE_OK) {
            mark = letter->mark;
            remove_first(sim, i);
        }
    }
    sim->now += sim->end * sim->late;
}

/* Opening and closing */

static const char *sim_configure(struct gauge_module *module)
{
    static const char *const positive[] = {"L",    "os",     "or",      "g",
                                           "G",    "spread", "detours", "detour",
                                           "loss", "late",   "entry"};

    for (size_t i = 0; i < sizeof(positive) / sizeof(*positive); i++) {
        if (gauge_option_number(options, positive[i]) < 0) {
            return "times and shares are not negative";
        }
    }
    module->flags |= GAUGE_RELIABLE;
    if (gauge_option_number(options, "loss") > 0) {
        module->flags &= ~(unsigned)GAUGE_RELIABLE;
    }
    return NULL;
}

static void read_options(struct sim *sim)
{
    sim->latency = gauge_option_number(options, "L");
    sim->send = gauge_option_number(options, "os");
    sim->receive = gauge_option_number(options, "or");
    sim->gap = gauge_option_number(options, "g");
    sim->byte = gauge_option_number(options, "G");
    sim->break_at = gauge_option_bytes(options, "break");
    sim->break_factor = gauge_option_number(options, "break-factor");
    sim->spread = gauge_option_number(options, "spread");
    sim->detours = gauge_option_number(options, "detours");
    sim->detour = gauge_option_number(options, "detour");
    sim->loss = gauge_option_number(options, "loss");
    sim->patience = gauge_option_number(options, "patience");
    sim->late = gauge_option_number(options, "late");
    sim->poll = gauge_option_number(options, "poll");
    sim->entry = gauge_option_number(options, "entry");
    sim->offset = sim->end * gauge_option_number(options, "offset");
    sim->rate = 1 + sim->end * gauge_option_number(options, "drift") * 1e-6;
}

static void sim_shutdown(struct gauge_module *module)
{
    struct sim *sim = module->state;

    for (int i = 0; sim->box != NULL && i < sim->ends; i++) {
        while (sim->box[i].first != NULL) {
            remove_first(sim, i);
        }
    }
    ring_close(&sim->memory);
    free(sim->box);
    free(sim);
    module->state = NULL;
}

static enum gauge_rc sim_init(struct gauge_module *module,
                              const struct gauge_world *world)
{
    struct sim *sim = calloc(1, sizeof(*sim));

    if (sim == NULL) {
        return gauge_fail("sim: no memory");
    }
    module->state = sim;
    sim->end = world->end;
    sim->ends = world->ends;
    sim->random = world->seed * 0x9e3779b97f4a7c15u + (uint64_t)world->end;
    read_options(sim);
    mallopt(M_MMAP_THRESHOLD, 1 << 26); /* letters come and go: keep their pages */
    mallopt(M_TRIM_THRESHOLD, 1 << 28);
    sim->clock = (struct gauge_clock){
        .name = "virtual",
        .state = sim,
        .now = sim_now,
        .pass = sim_pass,
        .work = sim_work,
        .is_virtual = true,
    };
    sim->box = calloc((size_t)world->ends, sizeof(*sim->box));
    if (sim->box == NULL || ring_open(&sim->memory, world, "sim") != GAUGE_OK) {
        sim_shutdown(module);
        return GAUGE_FAILED;
    }
    for (int i = 0; i < sim->ends; i++) {
        sim->box[i].last = &sim->box[i].first;
    }
    return GAUGE_OK;
}

struct gauge_module gauge_sim = {
    .name = "sim",
    .description = "a known LogGP network in virtual time, with noise, loss and drift",
    .flags = GAUGE_RELIABLE | GAUGE_CHANNEL | GAUGE_ONE_NODE | GAUGE_TOGETHER,
    .options = options,
    .configure = sim_configure,
    .init = sim_init,
    .shutdown = sim_shutdown,
    .clock = sim_clock,
    .sendto = sim_sendto,
    .recvfrom = sim_recvfrom,
    .isendto = sim_isendto,
    .irecvfrom = sim_irecvfrom,
    .test = sim_test,
    .wait = sim_wait,
    .finish = sim_finish,
    .drain = sim_drain,
};
