#include "sched/sched.h"

#include "engine/engine.h"
#include "engine/held.h"
#include "p2p/truncated.h"
#include "sched/span.h"

#include <assert.h>
#include <stdlib.h>

enum { ALL_PIECES = UINT16_MAX };

static struct weft_runs words; /* steps that wait for a word */

/* ---- queues ---- */

static void append(struct weft_runs *runs, struct weft_run *run)
{
    run->next = NULL;
    if (runs->first == NULL) {
        runs->first = run;
    } else {
        runs->last->next = run;
    }
    runs->last = run;
}

static struct weft_run *take_first(struct weft_runs *runs)
{
    struct weft_run *run = runs->first;

    if (run != NULL) {
        runs->first = run->next;
    }
    return run;
}

/* ---- memory ---- */

static enum weft_rc make_scratch(struct weft_sched *sched)
{
    sched->scratch.buffer = NULL;
    if (sched->spaces[WEFT_SPACE_SCRATCH] != NULL || sched->graph->scratch == 0 ||
        sched->graph->unit != 0) {
        return WEFT_OK;
    }
    sched->scratch = (struct weft_data){.bytes = (size_t)sched->graph->scratch};
    sched->scratch.buffer = malloc(sched->scratch.bytes);
    sched->spaces[WEFT_SPACE_SCRATCH] = &sched->scratch;
    return sched->scratch.buffer != NULL ? WEFT_OK : WEFT_ERR_NOMEM;
}

enum weft_rc weft_sched_make(struct weft_sched *sched)
{
    const uint32_t count = sched->graph->step_count;

    assert(sched->graph->rc == WEFT_OK);
    sched->has_own_runs = sched->runs == NULL && count > 0;
    if (sched->has_own_runs) {
        sched->runs = reallocarray(NULL, count, sizeof(*sched->runs));
        if (sched->runs == NULL) {
            return WEFT_ERR_NOMEM;
        }
    }
    if (make_scratch(sched) != WEFT_OK) {
        weft_sched_free(sched);
        return WEFT_ERR_NOMEM;
    }
    return WEFT_OK;
}

void weft_sched_free(struct weft_sched *sched)
{
    if (sched->spaces[WEFT_SPACE_SCRATCH] == &sched->scratch) {
        free((void *)(uintptr_t)sched->scratch.buffer);
        sched->spaces[WEFT_SPACE_SCRATCH] = NULL;
    }
    if (sched->has_own_runs) {
        free(sched->runs);
        sched->runs = NULL;
    }
}

/* ---- one step ---- */

static bool is_stopped(const struct weft_sched *sched)
{
    return sched->rc != WEFT_OK && !sched->goes_on &&
           !(sched->goes_on_truncated && sched->rc == WEFT_ERR_TRUNCATE);
}

static void make_ready(struct weft_run *run)
{
    run->state = WEFT_RUN_READY;
    append(&run->sched->ready, run);
}

static void release(struct weft_run *run)
{
    assert(run->state == WEFT_RUN_WAITS && run->left > 0);
    if (--run->left == 0) {
        make_ready(run);
    }
}

/* The step was not begun, and is not going to be. */
static void withdraw(struct weft_run *run)
{
    run->state = WEFT_RUN_WAITS;
    run->sched->running--;
}

static void cancel_receive(struct weft_run *run, enum weft_rc rc)
{
    if (run->request != NULL && !weft_request_is_complete(run->request) &&
        weft_p2p_cancel(run->request)) {
        weft_request_complete(run->request, rc);
    }
}

/* Their followers end them, later. */
static void cancel_receives(struct weft_sched *sched)
{
    for (uint32_t i = 0; i < sched->graph->step_count; i++) {
        cancel_receive(&sched->runs[i], WEFT_OK);
    }
}

static bool is_given_up(const struct weft_run *run)
{
    return run->sched->receives_end != WEFT_OK && run->step->kind == WEFT_STEP_RECV &&
           run->step->peer >= run->sched->given_up_from;
}

/* Is it a call of the user's function? */
static bool is_call(const struct weft_run *run)
{
    return run->step->kind == WEFT_STEP_CALL ||
           (run->step->kind == WEFT_STEP_REDUCE && run->sched->reduces_by_call);
}

/* Copies and reductions of this size are work for a thread without the lock. */
static bool is_large(const struct weft_run *run)
{
    return (run->step->kind == WEFT_STEP_COPY || run->step->kind == WEFT_STEP_REDUCE) &&
           run->step->to.bytes > WEFT_SCHED_LOCKED_BYTES && !is_call(run);
}

static void drop_call(struct weft_sched *sched)
{
    sched->calls--;
    sched->needs_caller = sched->calls > 0;
}

static void remove_work(struct weft_sched *sched)
{
    for (uint32_t i = 0; i < sched->graph->step_count; i++) {
        struct weft_run *run = &sched->runs[i];
        const uint8_t kind = run->step->kind;

        if (run->state == WEFT_RUN_RUNS &&
            (is_call(run) || kind == WEFT_STEP_WORK || is_large(run)) &&
            run->work.state == WEFT_WORK_WAITING) {
            weft_work_remove(&run->work);
            withdraw(run);
            if (is_call(run)) {
                drop_call(sched);
            }
        }
    }
}

/* A step begins to wait for a word, and ends. */
static void add_word(struct weft_run *run)
{
    append(&words, run);
    weft_engine.watched++;
    if (!run->sched->is_patient) {
        weft_reason_add(WEFT_REASON_PACKETS);
    }
}

static void drop_word(const struct weft_run *run)
{
    weft_engine.watched--;
    if (!run->sched->is_patient) {
        weft_reason_drop(WEFT_REASON_PACKETS);
    }
}

static void remove_words(const struct weft_sched *sched)
{
    struct weft_runs old = words;
    struct weft_run *run;

    words.first = NULL;
    while ((run = take_first(&old)) != NULL) {
        if (run->sched == sched) {
            drop_word(run);
            withdraw(run);
        } else {
            append(&words, run);
        }
    }
}

static void stop(struct weft_sched *sched)
{
    cancel_receives(sched);
    remove_work(sched);
    remove_words(sched);
}

/* The first failure counts, unless the schedule went on after it and one comes that stops
 * it. */
static void note_failure(struct weft_sched *sched, enum weft_rc rc)
{
    const enum weft_rc before = sched->rc;

    sched->rc = rc;
    if (is_stopped(sched)) {
        stop(sched);
    } else if (before != WEFT_OK) {
        sched->rc = before;
    }
}

/* A step that was under way is over. */
static void end_step(struct weft_run *run, enum weft_rc rc)
{
    struct weft_sched *sched = run->sched;
    const struct weft_graph *graph = sched->graph;

    assert(run->state == WEFT_RUN_RUNS && run->request == NULL);
    run->state = WEFT_RUN_OVER;
    sched->running--;
    sched->left--;
    for (uint32_t e = run->step->first_edge; e != WEFT_NO_EDGE;
         e = graph->edges[e].next) {
        release(&sched->runs[graph->edges[e].to]);
    }
    if (weft_unlikely(rc != WEFT_OK && !is_stopped(sched))) {
        note_failure(sched, rc);
    }
}

static struct weft_data data_of(const struct weft_sched *sched,
                                const struct weft_span *span)
{
    const struct weft_data *space = sched->spaces[span->space];

    if (weft_unlikely(space == NULL && span->bytes > 0)) {
        return sched->ops->block(sched, span);
    }
    return weft_span_data(space, span);
}

/* ---- messages ---- */

static struct weft_route route(const struct weft_sched *sched, int peer)
{
    return sched->ops->route != NULL ? sched->ops->route(sched, peer)
                                     : (struct weft_route){sched->comm, peer, sched->tag};
}

/* A message that came, shorter than the receive: the peer makes another call. */
static enum weft_rc check_length(const struct weft_run *run)
{
    const struct weft_request *request = run->request;
    const struct weft_sched *sched = run->sched;
    struct weft_header header;

    if (!sched->is_exact || run->step->kind != WEFT_STEP_RECV || request->is_cancelled ||
        request->bytes >= run->step->to.bytes) {
        return WEFT_OK;
    }
    header = (struct weft_header){
        .context = route(sched, run->step->peer).comm->context | (uint32_t)sched->plane,
        .source = (uint32_t)request->source,
    };
    weft_truncated_note(&header, request->bytes, run->step->to.bytes);
    return WEFT_ERR_TRUNCATE;
}

static void end_message(struct weft_run *run)
{
    struct weft_sched *sched = run->sched;
    struct weft_request *request = run->request;
    const enum weft_rc rc = request->rc == WEFT_OK ? check_length(run) : request->rc;

    if (sched->ops->heard != NULL) {
        sched->ops->heard(sched, (uint32_t)(run - sched->runs), request);
    }
    run->request = NULL;
    weft_request_give(request);
    end_step(run, rc);
}

static enum weft_rc post(const struct weft_sched *sched, const struct weft_step *step,
                         struct weft_request **out)
{
    const struct weft_route way = route(sched, step->peer);
    const int tag = way.tag + step->tag;
    struct weft_data data;

    if (step->kind == WEFT_STEP_SEND) {
        data = data_of(sched, &step->from);
        return weft_isend_data_locked(way.comm, way.rank, tag, &data,
                                      (unsigned)sched->plane | WEFT_SEND_STANDARD, out);
    }
    data = data_of(sched, &step->to);
    return weft_irecv_data_locked(way.comm, sched->plane, way.rank, tag, &data, out);
}

static void follow(struct weft_schedule *follower);

static void start_message(struct weft_run *run)
{
    enum weft_rc rc = post(run->sched, run->step, &run->request);

    if (weft_unlikely(rc == WEFT_ERR_NOMEM && run->sched->goes_on)) {
        rc = post(run->sched, run->step, &run->request); /* others depend on it */
    }
    if (weft_unlikely(rc != WEFT_OK)) {
        run->request = NULL;
        if (run->sched->ops->unbegun != NULL) {
            run->sched->ops->unbegun(run->sched, (uint32_t)(run - run->sched->runs), rc);
        }
        end_step(run, rc);
        return;
    }
    if (weft_unlikely(is_given_up(run))) {
        cancel_receive(run, run->sched->receives_end);
    }
    if (weft_request_is_complete(run->request)) {
        end_message(run);
    } else {
        run->follower = (struct weft_schedule){.advance = follow,
                                               .is_patient = run->sched->is_patient};
        weft_request_set_schedule(run->request, &run->follower);
    }
}

/* ---- steps without messages ---- */

/* Where the next piece of a large copy begins. */
static size_t piece_at(const struct weft_run *run)
{
    return (size_t)run->pieces * WEFT_SCHED_PIECE_BYTES;
}

static bool has_more_pieces(const struct weft_run *run)
{
    return run->pieces != 0 && run->pieces != ALL_PIECES;
}

/* Copies of gigabytes take seconds, and all threads that poll may be in one: peers would
 * get no answer meanwhile. So a thread polls after each piece. */
static void copy_piece(struct weft_run *run, const struct weft_data *from,
                       const struct weft_data *to)
{
    const size_t at = piece_at(run);
    const size_t left = to->bytes - at;
    const size_t bytes = left > WEFT_SCHED_PIECE_BYTES && run->pieces < ALL_PIECES - 1
                             ? WEFT_SCHED_PIECE_BYTES
                             : left;
    const struct weft_data piece_from = weft_span_piece(from, at, bytes);
    const struct weft_data piece_to = weft_span_piece(to, at, bytes);

    weft_span_copy(&piece_from, &piece_to);
    run->pieces = bytes == left ? ALL_PIECES : (uint16_t)(run->pieces + 1);
}

/* With or without the lock. */
static void move(struct weft_run *run)
{
    const struct weft_sched *sched = run->sched;
    const struct weft_step *step = run->step;
    const struct weft_data from = data_of(sched, &step->from);
    const struct weft_data to = data_of(sched, &step->to);

    if (step->kind == WEFT_STEP_COPY && to.bytes > WEFT_SCHED_PIECE_BYTES) {
        copy_piece(run, &from, &to);
    } else if (step->kind == WEFT_STEP_COPY) {
        weft_span_copy(&from, &to);
    } else {
        sched->ops->reduce(sched, &from, &to);
    }
}

static void advance(struct weft_sched *sched);

/* Without the lock. */
static void run_work(struct weft_work *work)
{
    struct weft_run *run = (struct weft_run *)work;
    struct weft_sched *sched = run->sched;

    if (run->step->kind == WEFT_STEP_CALL) {
        run->rc = (uint8_t)sched->ops->call(sched, run->step);
    } else if (run->step->kind == WEFT_STEP_WORK) {
        run->rc = (uint8_t)sched->ops->work(sched, run->step);
    } else {
        move(run);
    }
}

static void end_work(struct weft_work *work)
{
    struct weft_run *run = (struct weft_run *)work;
    struct weft_sched *sched = run->sched;

    if (has_more_pieces(run) && !is_stopped(sched)) {
        weft_work_add(work, WEFT_WORK_SHORT, run_work, end_work);
        return;
    }
    if (is_call(run)) {
        drop_call(sched);
    }
    end_step(run, (enum weft_rc)run->rc);
    advance(sched);
}

static void add_work(struct weft_run *run, enum weft_work_class kind)
{
    run->rc = WEFT_OK;
    run->pieces = 0;
    run->work.state = WEFT_WORK_NONE;
    weft_work_add(&run->work, kind, run_work, end_work);
}

static void start_call(struct weft_run *run)
{
    run->sched->calls++;
    run->sched->needs_caller = true;
    add_work(run, WEFT_WORK_CALL);
}

static void start_move(struct weft_run *run)
{
    if (weft_unlikely(is_call(run))) {
        start_call(run);
        return;
    }
    if (is_large(run)) {
        add_work(run, WEFT_WORK_SHORT);
        return;
    }
    move(run);
    end_step(run, WEFT_OK);
}

static void start_word(struct weft_run *run)
{
    const enum weft_rc rc = run->sched->ops->word(run->sched, run->step);

    if (rc == WEFT_AGAIN) {
        add_word(run);
    } else {
        end_step(run, rc);
    }
}

/* ---- the whole ---- */

static void start_step(struct weft_run *run)
{
    run->state = WEFT_RUN_RUNS;
    run->sched->running++;
    switch ((enum weft_step_kind)run->step->kind) {
    case WEFT_STEP_SEND:
    case WEFT_STEP_RECV:
        start_message(run);
        break;
    case WEFT_STEP_COPY:
    case WEFT_STEP_REDUCE:
        start_move(run);
        break;
    case WEFT_STEP_CALL:
        start_call(run);
        break;
    case WEFT_STEP_WORD:
        start_word(run);
        break;
    default:
        add_work(run, WEFT_WORK_BLOCKING);
    }
}

static bool is_over(const struct weft_sched *sched)
{
    return sched->running == 0 && (sched->left == 0 || is_stopped(sched));
}

/* The schedule may be gone when this returns. */
static void end(struct weft_sched *sched)
{
    struct weft_request *request = sched->request;
    const enum weft_rc rc = sched->rc;

    if (sched->ops->done != NULL) {
        sched->ops->done(sched, rc);
    }
    if (request != NULL) {
        weft_request_complete(request, rc);
    }
}

/*
 * Starts what is ready, until nothing is. A send may drop the lock for a while to pack
 * its data; a thread that comes here meanwhile leaves the rest to the first one, because
 * messages to one peer match in the order in which they are started.
 */
static void advance(struct weft_sched *sched)
{
    if (sched->is_advancing) {
        return;
    }
    sched->is_advancing = true;
    while (sched->ready.first != NULL && !is_stopped(sched)) {
        start_step(take_first(&sched->ready));
    }
    sched->is_advancing = false;
    if (is_over(sched)) {
        end(sched);
    }
}

/* The request of a message is complete. */
static void follow(struct weft_schedule *follower)
{
    struct weft_run *run = (struct weft_run *)follower;
    struct weft_sched *sched = run->sched;

    end_message(run);
    advance(sched);
}

void weft_sched_start(struct weft_sched *sched)
{
    const struct weft_graph *graph = sched->graph;

    weft_assert_locked();
    assert(sched->running == 0 && !sched->is_advancing);
    sched->ready.first = NULL;
    sched->left = graph->step_count;
    sched->running = 0;
    sched->calls = 0;
    sched->needs_caller = false;
    sched->rc = graph->is_truncated ? WEFT_ERR_TRUNCATE : WEFT_OK;
    for (uint32_t i = 0; i < graph->step_count; i++) {
        struct weft_run *run = &sched->runs[i];

        *run = (struct weft_run){
            .sched = sched,
            .step = &graph->steps[i],
            .left = graph->steps[i].needs,
        };
        if (run->left == 0) {
            make_ready(run);
        }
    }
    advance(sched);
}

void weft_sched_give_up_receives(struct weft_sched *sched, int from, enum weft_rc rc)
{
    weft_assert_locked();
    assert(sched->goes_on && rc != WEFT_OK);
    sched->receives_end = rc;
    sched->given_up_from = from;
    for (uint32_t i = 0; i < sched->graph->step_count; i++) {
        if (is_given_up(&sched->runs[i])) {
            cancel_receive(&sched->runs[i], rc);
        }
    }
}

void weft_sched_fail(struct weft_sched *sched, enum weft_rc rc)
{
    weft_assert_locked();
    if (!is_stopped(sched)) {
        note_failure(sched, rc);
    }
    if (!sched->is_advancing && is_over(sched)) {
        end(sched);
    }
}

int weft_sched_each_peer(const struct weft_sched *sched, int first,
                         bool (*visit)(void *argument, int peer), void *argument)
{
    weft_assert_locked();
    for (uint32_t i = (uint32_t)first; i < sched->graph->step_count; i++) {
        const struct weft_run *run = &sched->runs[i];

        if (run->state == WEFT_RUN_RUNS &&
            (run->step->kind == WEFT_STEP_SEND || run->step->kind == WEFT_STEP_RECV) &&
            run->request != NULL && !weft_request_is_complete(run->request) &&
            !visit(argument, run->step->peer)) {
            return (int)i;
        }
    }
    return 0;
}

void weft_sched_release(struct weft_sched *sched, uint32_t step)
{
    weft_assert_locked();
    release(&sched->runs[step]);
    if (sched->ready.first != NULL) {
        advance(sched);
    }
}

/* ---- words ---- */

/* Ends those whose word has its value; then they go on, and may wait for the next word.
 */
static void look(void)
{
    struct weft_runs seen = words;
    struct weft_run *run;

    weft_assert_locked();
    words.first = NULL;
    while ((run = take_first(&seen)) != NULL) {
        struct weft_sched *sched = run->sched;
        const enum weft_rc rc =
            is_stopped(sched) ? WEFT_OK : sched->ops->word(sched, run->step);

        if (rc == WEFT_AGAIN) {
            append(&words, run);
        } else {
            drop_word(run);
            end_step(run, rc);
            advance(sched);
        }
    }
}

static bool has_news(void)
{
    for (const struct weft_run *run = words.first; run != NULL; run = run->next) {
        if (run->sched->ops->word(run->sched, run->step) != WEFT_AGAIN) {
            return true;
        }
    }
    return false;
}

/* ---- those who are waited for ---- */

static void await_peer(struct weft_request *request)
{
    const struct weft_run *run = (const struct weft_run *)request->schedule;
    struct weft_route to;

    if (request->schedule != NULL && request->schedule->advance == follow &&
        !request->schedule->is_patient) {
        to = route(run->sched, run->step->peer);
        weft_engine_await(weft_comm_process(to.comm, to.rank));
    }
}

static void await(void)
{
    weft_request_each(await_peer);
}

void weft_sched_open(void)
{
    words.first = NULL;
    weft_engine_on_look(look, has_news);
    weft_engine_on_await(await);
}
