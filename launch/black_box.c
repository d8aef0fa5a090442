/*
 * black_box.c - what the ranks have done last: mpiexec prints it when the job has failed,
 * and writes it into the file of --trace.
 *
 * Every rank records its calls in the job segment, which outlives it. When all ranks have
 * ended, the root asks the daemons for what their ranks have recorded: the last call of
 * each, and more of the rank that has fallen first; all of the last seconds if there is
 * to be a file. Call sites are looked up where the program is: on the host of the rank.
 *
 * Times are those of each host's clock. So the root first asks every daemon a few times
 * what time it is there, and takes the answer with the shortest round trip.
 */
#include "job_parts.h"

#include "box.h"
#include "where.h"

#include "base/clock.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <time.h>

enum {
    CLOCK_QUESTIONS = 4,
    SECONDS = 10,           /* that a file has at most */
    FILE_EVENTS = 500000,   /* of all ranks, at most: 80 MB */
    FILE_EVENTS_LEAST = 64, /* of a rank */
    FALLEN_EVENTS = 512,    /* of the rank that has fallen: equal ones are one line */
    ROWS = 8,
    ROWS_OF_ABORT = 3, /* whoever calls MPI_Abort knows why */
};

static const uint64_t SECOND = UINT64_C(1000000000);
static const uint64_t CLOCK_PATIENCE_NS = UINT64_C(500000000);
static const uint64_t PATIENCE_NS = UINT64_C(2000000000);

enum phase { IDLE, ASKING_TIME, ASKING_ROWS };

/* The root's. */
struct black_box {
    enum phase phase;
    bool is_end; /* the job is over: what is found is printed */
    struct box box;
    struct box_clock *clocks; /* by daemon */
    bool *is_awaited;         /* by daemon */
    int missing;
    uint64_t give_up_at;
};

static uint64_t real_ns(void)
{
    struct timespec now;

    clock_gettime(CLOCK_REALTIME, &now);
    return (uint64_t)now.tv_sec * SECOND + (uint64_t)now.tv_nsec;
}

/* ---- the ranks of this host ---- */

static bool is_fall(const struct job *job, int local, int status)
{
    const struct weft_slice *slice =
        weft_segment_slice(job_segment_of(job, local), (uint32_t)local);

    if (job->state == STARTING || job->state == RUNNING) {
        return status != 0 || /* acquire: pairs with the release in MPI_Finalize */
               atomic_load_explicit(&slice->state, memory_order_acquire) ==
                   WEFT_SLICE_OPEN;
    }
    return WIFSIGNALED(status) && WTERMSIG(status) != SIGTERM &&
           WTERMSIG(status) != job->asked && job->state == STOPPING;
}

void job_box_note_end(struct job *job, int local, int status)
{
    struct rank *rank = &job->ranks[local];

    rank->ended = real_ns();
    rank->status = status;
    rank->has_fallen = is_fall(job, local, status);
}

static enum box_life life_of(const struct weft_slice *slice)
{
    switch (atomic_load_explicit(&slice->state, memory_order_acquire)) {
    case WEFT_SLICE_EMPTY:
        return BOX_NOT_BEGUN;
    case WEFT_SLICE_CLOSED:
        return BOX_FINALIZED;
    case WEFT_SLICE_ABORTED:
        return BOX_ABORTED;
    default:
        return BOX_OPEN;
    }
}

static const char *name_site(void *owner, const struct weft_trace_module *modules,
                             int count, uint64_t address)
{
    return where_name(owner, modules, count, address);
}

/* One of our ranks, whose row is that of `at`. */
static void read_rank(const struct job *job, int local, struct box *box, int at,
                      const struct box_wish *wish, struct where *where)
{
    static struct weft_trace_copy copy;
    const struct weft_slice *slice =
        weft_segment_slice(job_segment_of(job, local), (uint32_t)local);
    const struct rank *rank = &job->ranks[local];
    struct box_rank *row = &box->ranks[at];

    row->life = life_of(slice);
    row->has_ended = rank->ended != 0;
    row->has_fallen = rank->has_fallen;
    row->status = rank->status;
    row->ended = rank->ended != 0 ? rank->ended : real_ns();
    if (row->life == BOX_NOT_BEGUN) {
        return;
    }
    (void)weft_doing_read(&slice->doing, &row->doing);
    (void)weft_trace_read(weft_slice_trace(slice), &copy);
    box_read(box, at, &copy, wish, name_site, where);
}

/* Our ranks, the fallen one first: looking up call sites may take too long for all. */
static void read_ranks(const struct job *job, struct box *box, int first, int fallen,
                       int most)
{
    const uint64_t from = most > 1 ? real_ns() - SECONDS * SECOND : 0;
    const struct box_wish wish = {.most = most, .from_ns = from};
    const struct box_wish more = {.most = most > FALLEN_EVENTS ? most : FALLEN_EVENTS};
    struct where *where = where_open();

    if (job_has_rank(job, fallen)) {
        const int local = job_local(job, fallen);

        read_rank(job, local, box, first + local, &more, where);
    }
    for (int r = 0; r < job->count; r++) {
        if (job_rank(job, r) != fallen) {
            read_rank(job, r, box, first + r, &wish, where);
        }
    }
    where_close(where);
}

static bool has_ranks(const struct job *job)
{
    return job->count > 0 && job->ranks != NULL && job->segment.header != NULL;
}

void job_on_box_ask(struct job *job, const struct frame *frame)
{
    struct bytes payload = {NULL, 0, 0};
    struct box box;

    tree_tell_rank(job, FRAME_BOX_ASK, frame->rank, frame->value);
    if (!has_ranks(job) || frame->value < 1 || frame->value > BOX_MOST) {
        return;
    }
    if (box_open(&box, job->count)) {
        read_ranks(job, &box, 0, frame->rank, frame->value);
        box_pack(&box, &payload);
        tree_report(job, FRAME_BOX, -1, 0, payload.at, payload.count);
        bytes_free(&payload);
    }
    box_close(&box);
}

/* ---- the root: asking ---- */

static bool takes_part(const struct job *job, int daemon)
{
    return job->setup.layout.stations[daemon].ranks > 0;
}

/* Is the way to a daemon there? */
static bool is_reached(const struct job *job, int daemon)
{
    for (int i = 0; i < job->tree.child_count; i++) {
        const struct child *child = &job->tree.children[i];

        if (daemon >= child->number && daemon < child->number + child->count) {
            return !child->is_gone && child->cut == 0 && child->link.is_greeted;
        }
    }
    return false;
}

static bool open_black_box(struct job *job)
{
    const size_t daemons = (size_t)job->setup.layout.count;
    struct black_box *black = job->black_box;

    if (black == NULL) {
        black = calloc(1, sizeof(*black));
        if (black == NULL) {
            return false;
        }
        black->clocks = calloc(daemons, sizeof(*black->clocks));
        black->is_awaited = calloc(daemons, sizeof(*black->is_awaited));
        job->black_box = black;
    }
    return black->clocks != NULL && black->is_awaited != NULL;
}

static void await_daemons(struct job *job, uint64_t patience)
{
    struct black_box *black = job->black_box;

    black->missing = 0;
    black->give_up_at = weft_clock_ns() + patience;
    for (int d = 1; d < job->setup.layout.count; d++) {
        black->is_awaited[d] = takes_part(job, d) && is_reached(job, d);
        black->missing += black->is_awaited[d];
    }
}

static void ask_time(struct job *job, int daemon)
{
    const uint64_t now = real_ns();
    const struct frame frame = {
        .kind = FRAME_CLOCK, .bytes = sizeof(now), .to = daemon, .from = 0, .rank = -1};

    tree_send(job, &frame, &now);
}

/* How many events of each rank. */
static int wish_of(const struct job *job)
{
    const int share = FILE_EVENTS / job->plan->ranks;

    if (job->plan->trace == NULL) {
        return 1;
    }
    return share > BOX_MOST            ? BOX_MOST
           : share < FILE_EVENTS_LEAST ? FILE_EVENTS_LEAST
                                       : share;
}

static void finish(struct job *job);

static void ask_rows(struct job *job)
{
    struct black_box *black = job->black_box;
    const int most = wish_of(job);

    black->phase = ASKING_ROWS;
    await_daemons(job, PATIENCE_NS);
    tree_tell_rank(job, FRAME_BOX_ASK, job->fallen, most);
    if (has_ranks(job)) {
        read_ranks(job, &black->box, job->first, job->fallen, most);
    }
    if (black->missing == 0) {
        finish(job);
    }
}

static void ask(struct job *job, bool is_end)
{
    struct black_box *black;

    if (!open_black_box(job)) {
        return;
    }
    black = job->black_box;
    if (black->phase != IDLE || !box_open(&black->box, job->plan->ranks)) {
        return;
    }
    black->is_end = is_end;
    black->phase = ASKING_TIME;
    await_daemons(job, CLOCK_PATIENCE_NS);
    for (int d = 1; d < job->setup.layout.count; d++) {
        if (black->is_awaited[d]) {
            black->clocks[d] = (struct box_clock){0, 0, 0};
            ask_time(job, d);
        }
    }
    if (black->missing == 0) {
        ask_rows(job);
    }
}

/* ---- the root: what is done with it ---- */

/* Programs that have nothing to do with MPI have no calls that could be told. */
static bool has_begun(const struct box *box)
{
    for (int r = 0; r < box->count; r++) {
        if (box->ranks[r].life != BOX_SILENT && box->ranks[r].life != BOX_NOT_BEGUN) {
            return true;
        }
    }
    return false;
}

static void print_lines(struct job *job)
{
    const struct box *box = &job->black_box->box;
    const struct box_rank *fallen = job->fallen >= 0 ? &box->ranks[job->fallen] : NULL;
    struct bytes text = {NULL, 0, 0};

    if ((fallen == NULL && !job->is_host_lost) || job->plan->keeps_going ||
        !has_begun(box)) {
        return;
    }
    box_report(box, job->fallen,
               fallen != NULL && fallen->life == BOX_ABORTED ? ROWS_OF_ABORT : ROWS,
               &text);
    job_print(job, text.at, text.count);
    bytes_free(&text);
}

static struct box_host *list_hosts(const struct job *job)
{
    const int count = job->setup.layout.count;
    struct box_host *hosts = calloc((size_t)count, sizeof(*hosts));

    for (int d = 0; hosts != NULL && d < count; d++) {
        hosts[d] = (struct box_host){.name = job->setup.layout.stations[d].name,
                                     .first = job->setup.layout.stations[d].first,
                                     .count = job->setup.layout.stations[d].ranks,
                                     .clock = job->black_box->clocks[d]};
    }
    return hosts;
}

static void write_file(struct job *job)
{
    struct box_host *hosts = list_hosts(job);
    const struct box_file file = {.box = &job->black_box->box,
                                  .hosts = hosts,
                                  .rank_at = job->setup.layout.rank_at,
                                  .host_count =
                                      hosts != NULL ? job->setup.layout.count : 0,
                                  .program = job->plan->apps[0].argv[0],
                                  .seconds = SECONDS,
                                  .fallen = job->fallen};
    struct box_counts counts;
    char left_out[64] = "";
    const int error = box_write(job->plan->trace, &file, &counts);

    free(hosts);
    if (error != 0) {
        job_say(job, "--trace %s: %s", job->plan->trace, strerror(error));
        return;
    }
    if (counts.left_out > 0) {
        snprintf(left_out, sizeof(left_out), ", %llu older ones are left out",
                 (unsigned long long)counts.left_out);
    }
    job_say(job, "--trace: the last calls of %d rank%s are in %s (%llu calls%s)",
            job->plan->ranks, job->plan->ranks == 1 ? "" : "s", job->plan->trace,
            (unsigned long long)counts.events, left_out);
}

/* Rows come host by host; what is done with them goes by rank. */
static void sort_rows(const struct job *job, struct box *box)
{
    const struct layout *layout = &job->setup.layout;
    struct box_rank *rows;

    if (layout->rank_at == NULL) {
        return;
    }
    rows = calloc((size_t)job->plan->ranks, sizeof(*rows));
    if (rows == NULL) {
        return;
    }
    for (int p = 0; p < job->plan->ranks; p++) {
        rows[layout_rank(layout, p)] = box->ranks[p];
    }
    memcpy(box->ranks, rows, (size_t)job->plan->ranks * sizeof(*rows));
    free(rows);
}

static void finish(struct job *job)
{
    struct black_box *black = job->black_box;

    black->phase = IDLE;
    sort_rows(job, &black->box);
    if (black->is_end) {
        print_lines(job);
    }
    if (job->plan->trace != NULL) {
        write_file(job);
    }
    box_close(&black->box);
}

/* ---- the loop ---- */

uint64_t job_box_due(const struct job *job)
{
    return job_box_is_asking(job) ? job->black_box->give_up_at : 0;
}

bool job_box_is_asking(const struct job *job)
{
    return job->black_box != NULL && job->black_box->phase != IDLE;
}

void job_box_tend(struct job *job, uint64_t now)
{
    if (job_box_due(job) == 0 || now < job_box_due(job)) {
        return;
    }
    if (job->black_box->phase == ASKING_TIME) {
        ask_rows(job); /* some clocks stay unknown */
    } else {
        finish(job); /* some rows as well */
    }
}

void job_box_look(struct job *job)
{
    if (job->plan->trace != NULL && job->state == RUNNING &&
        (job->count == 0 || has_ranks(job))) { /* the root may have none itself */
        ask(job, false);
    }
}

void job_box_end(struct job *job)
{
    const bool is_failure = job->fallen >= 0 || job->is_host_lost;

    if (!job->plan->is_report && (is_failure || job->plan->trace != NULL)) {
        ask(job, true);
    }
}

/* ---- frames ---- */

void job_on_clock(struct job *job, const struct frame *frame, const char *payload)
{
    struct black_box *black = job->black_box;
    uint64_t times[2]; /* when it was asked, and what was answered */

    if (job_is_daemon(job)) {
        if (frame->bytes == sizeof(times[0])) {
            memcpy(times, payload, sizeof(times[0]));
            times[1] = real_ns();
            tree_report(job, FRAME_CLOCK, -1, 0, times, sizeof(times));
        }
        return;
    }
    if (black == NULL || black->phase != ASKING_TIME || frame->bytes != sizeof(times) ||
        !black->is_awaited[frame->from]) {
        return;
    }
    memcpy(times, payload, sizeof(times));
    box_clock_note(&black->clocks[frame->from], times[0], times[1], real_ns());
    if (black->clocks[frame->from].answers < CLOCK_QUESTIONS) {
        ask_time(job, frame->from);
        return;
    }
    black->is_awaited[frame->from] = false;
    if (--black->missing == 0) {
        ask_rows(job);
    }
}

void job_on_box(struct job *job, const struct frame *frame, const char *payload)
{
    const struct station *station = &job->setup.layout.stations[frame->from];
    struct black_box *black = job->black_box;

    if (black == NULL || black->phase != ASKING_ROWS || !black->is_awaited[frame->from]) {
        return;
    }
    black->is_awaited[frame->from] = false;
    (void)box_unpack(&black->box, station->first, station->ranks,
                     black->clocks[frame->from].offset, payload, frame->bytes);
    if (--black->missing == 0) {
        finish(job);
    }
}
