/*
 * hang.c - what ranks do, and whether they move (--hang-timeout, SIGUSR1, weft-top).
 *
 * Every daemon watches the ranks of its host: it looks at their counters in the segment,
 * several times in the time-out, and tells the root when none has moved for that long,
 * and when one moves again. When all hosts are quiet the root asks all for what their
 * ranks do. Each answers after a short while, in which it sees whose polls move; the root
 * prints the report (stuck.h) when all have answered, or one has not for too long.
 *
 * A rank that computes for long cannot be told from one that loops for ever; so the job
 * goes on after a report, and a second one comes only after some rank has moved.
 */
#include "job_parts.h"

#include "moves.h"
#include "proc.h"
#include "stuck.h"

#include "base/clock.h"

#include <assert.h>
#include <errno.h>
#include <signal.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/socket.h>
#include <unistd.h>

static const uint64_t POLLING_NS = UINT64_C(100000000);   /* to see polls move */
static const uint64_t POLLED_NS = UINT64_C(1000000000);   /* they would have, by then */
static const uint64_t PATIENCE_NS = UINT64_C(4000000000); /* with an answer */
static const uint64_t MS = UINT64_C(1000000);

enum { CLIENTS = 8 };

/* One who has asked by weft-top. */
struct client {
    int fd;
    struct bytes answer; /* what the socket has not taken */
    uint64_t give_up_at; /* 0: the answer is not known yet */
};

struct seen {
    uint64_t moves;  /* the sum of what counts */
    uint64_t newest; /* the time of its newest call that may be a move */
    uint64_t polls;
};

struct hang {
    struct seen *seen;  /* by rank of this host */
    uint64_t looked;    /* when counters were looked at; 0: never */
    uint64_t since;     /* when one of them has moved last */
    int running;        /* ranks, then */
    bool is_quiet;      /* nothing has moved for the time-out */
    uint64_t answer_at; /* 0: nobody has asked */
    uint64_t asked_at;
    bool has_stacks; /* those of ranks outside MPI are asked for */

    /* The root's. */
    bool *is_daemon_quiet;
    bool is_told;         /* this hang has been */
    bool is_asking;       /* a report is to come */
    const char *asked_by; /* who wants it printed; NULL: nobody */
    struct client clients[CLIENTS];
    int client_count;
    struct stuck_rank *ranks;
    bool *has_answered; /* by daemon */
    int missing;
    uint64_t give_up_at;
};

/* ---- one rank ---- */

static const struct weft_doing_record *record_of(const struct job *job, int local)
{
    return &weft_segment_slice(job_segment_of(job, local), (uint32_t)local)->doing;
}

/* Single words, each of which one process writes: relaxed, no other memory is meant. */
static uint64_t moves_of(const struct weft_doing_record *record)
{
    enum { DONE_AT = offsetof(struct weft_doing, done) / sizeof(uint64_t) };

    return atomic_load_explicit(&record->waits, memory_order_relaxed) +
           atomic_load_explicit(&record->words[DONE_AT], memory_order_relaxed);
}

static uint64_t polls_of(const struct weft_doing_record *record)
{
    return atomic_load_explicit(&record->polls, memory_order_relaxed);
}

static char state_of(const struct job *job, int local)
{
    return proc_stat(job_pid_of(job, local)).state;
}

static enum stuck_life life_of(const struct job *job, int local)
{
    const struct weft_segment *segment = job_segment_of(job, local);
    const struct weft_slice *slice = weft_segment_slice(segment, (uint32_t)local);

    switch (atomic_load_explicit(&slice->state, memory_order_acquire)) {
    case WEFT_SLICE_LOST:
    case WEFT_SLICE_ABORTED:
        return STUCK_DEAD;
    case WEFT_SLICE_EMPTY:
        return job_rank_has_ended(job, local) ? STUCK_ENDED : STUCK_NOT_BEGUN;
    case WEFT_SLICE_CLOSED:
        return job_rank_has_ended(job, local) ? STUCK_ENDED : STUCK_FINALIZED;
    default:
        return job_rank_has_ended(job, local) ? STUCK_ENDED : STUCK_LIVING;
    }
}

/* Ends a text that another process has written, and makes it printable. */
static void make_text(char *text, size_t size)
{
    text[size - 1] = '\0';
    for (; *text != '\0'; text++) {
        *text = (unsigned char)*text < ' ' || *text == 0x7f ? '?' : *text;
    }
}

static void describe_death(const struct job *job, int local, char *why, size_t size)
{
    const struct weft_segment *segment = job_segment_of(job, local);
    const char *lost = weft_segment_why_lost(segment, (uint32_t)local);
    struct weft_slice_end end;

    if (lost != NULL) { /* a rank may have overwritten its end */
        snprintf(why, size, "%.*s", (int)size - 1, lost);
    } else if (weft_slice_read_end(weft_segment_slice(segment, (uint32_t)local), &end)) {
        snprintf(why, size, "%.*s", (int)size - 1, end.cause);
    }
    make_text(why, size);
}

void job_look_at(const struct job *job, int local, struct stuck_rank *rank)
{
    const struct weft_doing_record *record = record_of(job, local);

    memset(rank, 0, sizeof(*rank));
    rank->life = life_of(job, local);
    if (rank->life == STUCK_DEAD) {
        describe_death(job, local, rank->why, sizeof(rank->why));
    } else if (rank->life != STUCK_ENDED) {
        rank->state = state_of(job, local);
        rank->is_polling =
            job->hang != NULL && polls_of(record) != job->hang->seen[local].polls;
        (void)weft_doing_read(record, &rank->doing);
        if (rank->doing.what == WEFT_DOING_NOTHING) {
            /* The rest is that of a wait before. */
            memset(&rank->doing, 0, sizeof(rank->doing));
        }
    }
}

/* ---- the ranks of this host ---- */

static bool open_hang(struct job *job)
{
    const size_t daemons = (size_t)job->setup.layout.count;
    struct hang *hang = job->hang;

    if (hang != NULL) {
        return true;
    }
    hang = calloc(1, sizeof(*hang));
    if (hang == NULL) {
        return false;
    }
    hang->seen = calloc((size_t)job->count + 1, sizeof(*hang->seen));
    hang->is_daemon_quiet = calloc(daemons, sizeof(bool));
    hang->has_answered = calloc(daemons, sizeof(bool));
    if (!job_is_daemon(job)) {
        hang->ranks = calloc((size_t)job->plan->ranks, sizeof(*hang->ranks));
    }
    if (hang->seen == NULL || hang->is_daemon_quiet == NULL ||
        hang->has_answered == NULL || (hang->ranks == NULL && !job_is_daemon(job))) {
        free(hang->seen);
        free(hang->is_daemon_quiet);
        free(hang->has_answered);
        free(hang->ranks);
        free(hang);
        return false;
    }
    job->hang = hang;
    return true;
}

/* What the engine does not count: one-sided operations and accesses to files. A rank that
 * does nothing else has its calls in its black box. */
static bool has_called(struct job *job)
{
    bool is_moved = false;

    for (int r = 0; r < job->count; r++) {
        if (job->ranks[r].is_running) {
            const struct weft_slice *slice =
                weft_segment_slice(job_segment_of(job, r), (uint32_t)r);
            const uint64_t newest = moves_newest(weft_slice_trace(slice));

            is_moved |= newest != job->hang->seen[r].newest;
            job->hang->seen[r].newest = newest;
        }
    }
    return is_moved;
}

/* True if a rank has moved since the last look. Black boxes are long: they are read only
 * where no counter has moved. */
static bool has_moved(struct job *job)
{
    struct hang *hang = job->hang;
    bool is_moved = job->running != hang->running;

    hang->running = job->running;
    for (int r = 0; r < job->count; r++) {
        if (job->ranks[r].is_running) {
            const struct weft_slice *slice =
                weft_segment_slice(job_segment_of(job, r), (uint32_t)r);
            const uint64_t moves =
                moves_of(&slice->doing) +
                atomic_load_explicit(&weft_slice_trace(slice)->now.unnoted,
                                     memory_order_relaxed) +
                atomic_load_explicit(&slice->state, memory_order_relaxed) +
                (uint64_t)job->ranks[r].program;

            is_moved |= moves != hang->seen[r].moves;
            hang->seen[r].moves = moves;
        }
    }
    return is_moved || has_called(job);
}

/* ---- the root ---- */

static bool takes_part(const struct job *job, int daemon)
{
    return job->setup.layout.stations[daemon].ranks > 0;
}

static bool are_all_quiet(const struct job *job)
{
    for (int d = 0; d < job->setup.layout.count; d++) {
        if (takes_part(job, d) && !job->hang->is_daemon_quiet[d]) {
            return false;
        }
    }
    return true;
}

static void prepare_answer(struct job *job, bool has_stacks)
{
    struct hang *hang = job->hang;

    hang->has_stacks = has_stacks;

    for (int r = 0; r < job->count; r++) {
        hang->seen[r].polls = polls_of(record_of(job, r));
    }
    hang->asked_at = weft_clock_ns();
    hang->answer_at = hang->asked_at + POLLING_NS;
}

/* A rank that has spun may have had no processor since it was asked. */
static bool is_undecided(const struct job *job)
{
    struct weft_doing doing;

    for (int r = 0; r < job->count; r++) {
        const struct weft_doing_record *record = record_of(job, r);

        if (job->ranks[r].is_running && polls_of(record) == job->hang->seen[r].polls &&
            weft_doing_read(record, &doing) && doing.what != WEFT_DOING_NOTHING &&
            doing.is_spinning && state_of(job, r) == 'R') {
            return true;
        }
    }
    return false;
}

static void ask(struct job *job, bool has_stacks)
{
    struct hang *hang = job->hang;

    if (hang->is_asking) {
        return; /* it is on its way */
    }
    hang->is_asking = true;
    hang->missing = 0;
    for (int d = 0; d < job->setup.layout.count; d++) {
        hang->has_answered[d] = !takes_part(job, d);
        hang->missing += takes_part(job, d);
    }
    for (int r = 0; r < job->plan->ranks; r++) {
        hang->ranks[r] = (struct stuck_rank){.life = STUCK_SILENT};
    }
    hang->give_up_at = weft_clock_ns() + PATIENCE_NS;
    tree_tell(job, FRAME_ASK, has_stacks);
    if (takes_part(job, 0)) {
        prepare_answer(job, has_stacks);
    }
}

static void note_quiet(struct job *job, int daemon, bool is_quiet)
{
    struct hang *hang = job->hang;

    hang->is_daemon_quiet[daemon] = is_quiet;
    if (!is_quiet) {
        hang->is_told = false;
    } else if (!hang->is_told && are_all_quiet(job) && job->state == RUNNING) {
        hang->is_told = true;
        hang->asked_by = "--hang-timeout";
        ask(job, job->plan->has_hang_stacks);
    }
}

static void watch_client_for_room(struct job *job, int fd)
{
    struct epoll_event event = {.events = EPOLLOUT | EPOLLONESHOT,
                                .data.u64 = (uint64_t)FROM_TOP_ROOM << 32};

    if (epoll_ctl(job->epoll, EPOLL_CTL_MOD, fd, &event) != 0) {
        epoll_ctl(job->epoll, EPOLL_CTL_ADD, fd, &event);
    }
}

/* Sends what the client's socket takes. True: the rest waits for room. */
static bool send_answer(struct job *job, struct client *client)
{
    while (client->answer.count > 0) {
        const ssize_t n = send(client->fd, client->answer.at, client->answer.count,
                               MSG_DONTWAIT | MSG_NOSIGNAL);

        if (n >= 0) {
            bytes_drop(&client->answer, (size_t)n);
        } else if (errno == EAGAIN) {
            watch_client_for_room(job, client->fd);
            return true;
        } else if (errno != EINTR) {
            return false; /* the client is gone */
        }
    }
    return false;
}

/* Goes on with the answers, and ends with the clients that have theirs or do not read. */
static void send_answers(struct job *job, uint64_t now)
{
    struct hang *hang = job->hang;
    int kept = 0;

    for (int i = 0; i < hang->client_count; i++) {
        struct client *client = &hang->clients[i];

        if (client->give_up_at == 0 ||
            (send_answer(job, client) && now < client->give_up_at)) {
            hang->clients[kept++] = *client;
        } else {
            bytes_free(&client->answer);
            close(client->fd); /* which takes it out of the epoll set */
        }
    }
    hang->client_count = kept;
    if (kept < CLIENTS) {
        job_let_in_top(job);
    }
}

static void answer_clients(struct job *job, const struct bytes *text)
{
    struct hang *hang = job->hang;
    const uint64_t now = weft_clock_ns();
    char head[256];
    const int ranks = job->plan->ranks;
    const int nodes = job->setup.layout.nodes;
    const int n = snprintf(head, sizeof(head), "%d rank%s of %.120s on %d host%s:\n",
                           ranks, ranks == 1 ? "" : "s", job->plan->apps[0].argv[0],
                           nodes, nodes == 1 ? "" : "s");

    for (int i = 0; i < hang->client_count; i++) {
        struct client *client = &hang->clients[i];

        if (client->give_up_at == 0) {
            bytes_add(&client->answer, head, (size_t)n);
            bytes_add(&client->answer, text->at, text->count);
            client->give_up_at = now + PATIENCE_NS;
        }
    }
    send_answers(job, now);
}

void job_on_top_room(struct job *job)
{
    send_answers(job, weft_clock_ns());
}

static void say_head(struct job *job)
{
    char what[40] = "what the rank does";

    if (job->plan->ranks > 1) {
        snprintf(what, sizeof(what), "what the %d ranks do", job->plan->ranks);
    }
    if (strcmp(job->hang->asked_by, "--hang-timeout") == 0) {
        job_say(job, "no rank has made progress for %g s (--hang-timeout); %s:",
                job->plan->hang_timeout, what);
    } else {
        job_say(job, "%s: %s:", job->hang->asked_by, what);
    }
}

static void report(struct job *job)
{
    struct hang *hang = job->hang;
    const struct stuck stuck = {hang->ranks, job->plan->ranks};
    struct bytes text = {NULL, 0, 0};

    hang->is_asking = false;
    stuck_report(&stuck, &text);
    answer_clients(job, &text);
    if (hang->asked_by != NULL) {
        say_head(job);
        hang->asked_by = NULL;
        stuck_say(&text, "  the job goes on");
        job_print(job, text.at, text.count);
    }
    bytes_free(&text);
}

static void take_answer(struct job *job, int daemon, const struct stuck_rank *ranks)
{
    const struct station *station = &job->setup.layout.stations[daemon];
    struct hang *hang = job->hang;

    if (!hang->is_asking || hang->has_answered[daemon]) {
        return;
    }
    hang->has_answered[daemon] = true;
    for (int r = 0; r < station->ranks; r++) {
        hang->ranks[layout_rank(&job->setup.layout, station->first + r)] = ranks[r];
    }
    if (--hang->missing == 0) {
        report(job);
    }
}

static void answer(struct job *job)
{
    struct stuck_rank *ranks = calloc((size_t)job->count + 1, sizeof(*ranks));

    for (int r = 0; ranks != NULL && r < job->count; r++) {
        job_look_at(job, r, &ranks[r]);
    }
    if (ranks != NULL) {
        job_name_sites(job, ranks, job->hang->has_stacks);
    }
    if (ranks != NULL && job_is_daemon(job)) {
        tree_report(job, FRAME_DOING, -1, 0, ranks, (size_t)job->count * sizeof(*ranks));
    } else if (ranks != NULL) {
        take_answer(job, 0, ranks);
    }
    free(ranks);
}

/* ---- the loop ---- */

static uint64_t timeout_ns(const struct job *job)
{
    return (uint64_t)(job->plan->hang_timeout * 1e9);
}

/* Looks about eight times in the time-out. */
static uint64_t interval_ns(const struct job *job)
{
    const uint64_t ns = timeout_ns(job) / 8;

    return ns < 20 * MS ? 20 * MS : ns > 1000 * MS ? 1000 * MS : ns;
}

static bool is_watching(const struct job *job)
{
    return job->plan != NULL && job->plan->hang_timeout > 0 && job->state == RUNNING &&
           job->count > 0 && job->segment.header != NULL;
}

uint64_t job_hang_due(const struct job *job)
{
    const struct hang *hang = job->hang;
    uint64_t due = 0;

    if (is_watching(job)) {
        due = hang == NULL || hang->looked == 0 ? 1 : hang->looked + interval_ns(job);
    }
    if (hang != NULL && hang->answer_at != 0 && (due == 0 || hang->answer_at < due)) {
        due = hang->answer_at;
    }
    if (hang != NULL && hang->is_asking && (due == 0 || hang->give_up_at < due)) {
        due = hang->give_up_at;
    }
    for (int i = 0; hang != NULL && i < hang->client_count; i++) {
        const uint64_t end = hang->clients[i].give_up_at;

        due = end != 0 && (due == 0 || end < due) ? end : due;
    }
    return due;
}

static void look(struct job *job, uint64_t now)
{
    struct hang *hang = job->hang;
    const bool is_first = hang->looked == 0;
    bool is_quiet;

    hang->looked = now;
    if (has_moved(job) || is_first) {
        hang->since = now;
    }
    is_quiet = now - hang->since >= timeout_ns(job);
    if (is_quiet == hang->is_quiet) {
        return;
    }
    hang->is_quiet = is_quiet;
    if (job_is_daemon(job)) {
        tree_report(job, FRAME_QUIET, -1, is_quiet, NULL, 0);
    } else {
        note_quiet(job, 0, is_quiet);
    }
}

void job_hang_tend(struct job *job, uint64_t now)
{
    struct hang *hang;

    if (job_hang_due(job) == 0 || job_hang_due(job) > now || !open_hang(job)) {
        return;
    }
    hang = job->hang;
    if (is_watching(job) &&
        (hang->looked == 0 || now - hang->looked >= interval_ns(job))) {
        look(job, now);
    }
    if (hang->answer_at != 0 && now >= hang->answer_at) {
        if (now - hang->asked_at < POLLED_NS && is_undecided(job)) {
            hang->answer_at = now + POLLING_NS;
        } else {
            hang->answer_at = 0;
            answer(job);
        }
    }
    if (hang->is_asking && now >= hang->give_up_at) {
        report(job); /* of those that have answered */
    }
    send_answers(job, now);
}

/* The root need not have ranks itself: it may run on a login node. */
static bool are_ranks_running(const struct job *job)
{
    return job->state == RUNNING && (job->count == 0 || job->segment.header != NULL);
}

void job_hang_ask(struct job *job, const char *head)
{
    if (!are_ranks_running(job)) {
        job_say(job, "%s: no ranks are running", head);
    } else if (open_hang(job)) {
        job->hang->asked_by = head;
        ask(job, job->plan->has_hang_stacks);
    }
}

bool job_hang_has_place(const struct job *job)
{
    return job->hang == NULL || job->hang->client_count < CLIENTS;
}

bool job_hang_ask_for(struct job *job, int fd, bool has_stacks)
{
    assert(job_hang_has_place(job));
    if (!are_ranks_running(job) || !open_hang(job)) {
        return false;
    }
    job->hang->clients[job->hang->client_count++] = (struct client){.fd = fd};
    ask(job, has_stacks);
    return true;
}

/* ---- frames ---- */

void job_on_ask(struct job *job, bool has_stacks)
{
    tree_tell(job, FRAME_ASK, has_stacks);
    if (job->count > 0 && job->segment.header != NULL && open_hang(job)) {
        prepare_answer(job, has_stacks);
    }
}

void job_on_quiet(struct job *job, const struct frame *frame)
{
    if (open_hang(job)) {
        note_quiet(job, frame->from, frame->value != 0);
    }
}

/* What a daemon says of its ranks is looked at as what they say themselves. */
struct stuck_rank *job_read_doing(const struct job *job, const struct frame *frame,
                                  const char *payload)
{
    const size_t count = (size_t)job->setup.layout.stations[frame->from].ranks;
    struct stuck_rank *ranks =
        frame->bytes == count * sizeof(*ranks) ? calloc(count + 1, sizeof(*ranks)) : NULL;

    if (ranks != NULL) {
        memcpy(ranks, payload, frame->bytes);
        for (size_t r = 0; r < count; r++) {
            ranks[r].life =
                (unsigned)ranks[r].life > STUCK_SILENT ? STUCK_SILENT : ranks[r].life;
            make_text(ranks[r].why, sizeof(ranks[r].why));
            make_text(ranks[r].site, sizeof(ranks[r].site));
            make_text(ranks[r].stack, sizeof(ranks[r].stack));
            weft_doing_check(&ranks[r].doing);
        }
    }
    return ranks;
}

void job_on_doing(struct job *job, const struct frame *frame, const char *payload)
{
    struct stuck_rank *ranks = job_read_doing(job, frame, payload);

    if (ranks != NULL && job->hang != NULL) {
        take_answer(job, frame->from, ranks);
    }
    free(ranks);
}
