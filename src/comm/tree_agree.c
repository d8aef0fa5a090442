#include "comm/tree_agree.h"

#include "base/texts.h"
#include "engine/engine.h"
#include "engine/hot.h"
#include "p2p/p2p.h"
#include "sched/tree.h"

#include <stddef.h>
#include <string.h>

static struct weft_tree_agree *under_way;

int weft_tree_agree_members(const struct weft_tree_agree *agree)
{
    return agree->first->size + (agree->second != NULL ? agree->second->size : 0);
}

int weft_tree_agree_position(const struct weft_tree_agree *agree)
{
    const int count = agree->first->size;

    if (agree->first->rank == MPI_UNDEFINED) {
        return count + agree->second->rank;
    }
    return (agree->first->rank - agree->root + count) % count;
}

static struct weft_tree_agree *agree_of(const struct weft_sched *sched)
{
    return (struct weft_tree_agree *)((uintptr_t)sched -
                                      offsetof(struct weft_tree_agree, sched));
}

/* The process at a position: `first` begins with its root and goes round. */
static uint64_t process_at(const struct weft_tree_agree *agree, int position)
{
    const int count = agree->first->size;
    int rank = position + agree->root;

    if (position >= count) {
        return weft_group_process(agree->second, position - count);
    }
    return weft_group_process(agree->first, rank >= count ? rank - count : rank);
}

static int rank_at(const struct weft_tree_agree *agree, int position)
{
    return (int)weft_engine_rank(process_at(agree, position));
}

static struct weft_route route(const struct weft_sched *sched, int position)
{
    return (struct weft_route){sched->comm, rank_at(agree_of(sched), position),
                               sched->tag};
}

/* What is added to the tag of the channel. */
static int tag_of(const struct weft_channel *channel, bool is_answer)
{
    return is_answer && channel->plane == WEFT_PLANE_COLL ? 1 : 0;
}

/* ---- what the members say ---- */

/* Answers carry the refusal alone from now on: nobody need fetch a long one. */
static void shorten_answers(struct weft_tree_agree *agree, int position)
{
    for (uint32_t i = 0; i < agree->graph.step_count; i++) {
        struct weft_step *step = &agree->graph.steps[i];

        if (step->kind == WEFT_STEP_SEND && step->peer > position) {
            step->from =
                weft_span(WEFT_SPACE_RECV, agree->entry_bytes * (uint64_t)position,
                          sizeof(struct weft_agree_word));
        }
    }
}

/* What this member passes on says from now on that there is nothing to agree on. */
static void note_failure(struct weft_tree_agree *agree, enum weft_rc rc)
{
    const struct weft_agree_word refusal = {.rc = (uint32_t)rc};
    const int position = weft_tree_agree_position(agree);

    if (agree->kind == WEFT_AGREE_NUMBER && agree->word.rc == WEFT_OK) {
        agree->word.rc = (uint32_t)rc;
    } else if (agree->kind == WEFT_AGREE_TABLE) {
        memcpy(agree->table + agree->entry_bytes * (size_t)position, &refusal,
               sizeof(refusal));
        shorten_answers(agree, position);
    }
}

/* The first number that is not 0 counts, and the first failure; `to` has those of the
 * lower positions. */
static void fold(const struct weft_sched *sched, const struct weft_data *from,
                 const struct weft_data *to)
{
    struct weft_tree_agree *agree = agree_of(sched);
    struct weft_agree_word theirs;

    (void)to; /* is agree->word */
    if (agree->word.rc != WEFT_OK) {
        return; /* what has failed may have brought nothing */
    }
    memcpy(&theirs, from->buffer, sizeof(theirs));
    if (agree->word.number == 0) {
        agree->word.number = theirs.number;
    }
    if (theirs.rc != WEFT_OK) {
        note_failure(agree, (enum weft_rc)theirs.rc);
    }
}

static enum weft_rc outcome_of_table(const struct weft_tree_agree *agree)
{
    const int count = weft_tree_agree_members(agree);
    struct weft_agree_word word;

    enum weft_rc rc = WEFT_OK;

    for (int i = 0; i < count; i++) {
        memcpy(&word, agree->table + agree->entry_bytes * (size_t)i, sizeof(word));
        if (word.number == 0 && word.rc != WEFT_OK) {
            return (enum weft_rc)word.rc;
        }
        if (word.number == 0) {
            rc = WEFT_ERR_PROC_FAILED; /* unless another line says why */
        }
    }
    return rc;
}

static enum weft_rc outcome(const struct weft_tree_agree *agree, enum weft_rc rc)
{
    switch (agree->kind) {
    case WEFT_AGREE_NUMBER:
        return (enum weft_rc)agree->word.rc;
    case WEFT_AGREE_TABLE:
        return outcome_of_table(agree);
    default:
        return rc;
    }
}

/* ---- members that have failed ---- */

static bool is_member(const struct weft_tree_agree *agree, uint64_t process)
{
    return weft_group_rank_of(agree->first, process) != MPI_UNDEFINED ||
           (agree->second != NULL &&
            weft_group_rank_of(agree->second, process) != MPI_UNDEFINED);
}

static bool has_failed(uint64_t process)
{
    const struct weft_peer *peer = weft_peer_find(process);

    return peer != NULL && peer->is_failed;
}

/* Has a member failed, as far as this process knows or its launcher has listed? */
static bool has_failed_member(const struct weft_tree_agree *agree)
{
    const struct weft_segment *segment = &weft_engine.job->segment;
    const uint32_t listed =
        atomic_load_explicit(weft_engine.failures, memory_order_acquire);
    const int count = weft_engine.failed_count > 0 ? weft_tree_agree_members(agree) : 0;

    for (int i = 0; i < count; i++) {
        if (has_failed(process_at(agree, i))) {
            return true;
        }
    }
    for (uint32_t i = weft_engine.failures_seen; i < listed && i < segment->job_size;
         i++) {
        if (is_member(agree, weft_engine_process(weft_segment_failed(segment, i)))) {
            return true;
        }
    }
    return false;
}

static bool may_have_failures(void)
{
    return weft_unlikely(weft_engine.failed_count > 0 || weft_engine_has_failures());
}

/* The message of this neighbour may still come. */
static void drop_next(const struct weft_tree_agree *agree, int position)
{
    const struct weft_channel *channel = &agree->channel;
    const bool is_answer = position < weft_tree_agree_position(agree);

    if (!has_failed(process_at(agree, position))) {
        weft_p2p_drop_next(channel->context | channel->plane, rank_at(agree, position),
                           channel->tag + tag_of(channel, is_answer));
    }
}

/*
 * A message is over, and what waits for it has not begun. The root looks once more for
 * members that have failed, so that it decides by what any other member of this node may
 * have seen.
 */
static void heard(struct weft_sched *sched, uint32_t step,
                  const struct weft_request *request)
{
    struct weft_tree_agree *agree = agree_of(sched);
    const bool is_recv = sched->graph->steps[step].kind == WEFT_STEP_RECV;

    if (weft_unlikely(is_recv && (request->rc != WEFT_OK || request->is_cancelled))) {
        note_failure(agree, request->rc != WEFT_OK ? request->rc : WEFT_ERR_PROC_FAILED);
        drop_next(agree, sched->graph->steps[step].peer);
    } else if (is_recv && weft_tree_agree_position(agree) == 0 && may_have_failures() &&
               has_failed_member(agree)) {
        note_failure(agree, WEFT_ERR_PROC_FAILED);
    }
}

/* ---- refusing ---- */

static void set_via(struct weft_comm *via, uint32_t context)
{
    *via = (struct weft_comm){
        .rank = (int)weft_engine_rank(weft_engine.me),
        .context = context,
        .map = {.first = weft_engine_process(0), .stride = 1},
        .references = 1,
        .name = "",
    };
}

/* Sends a refusal to a rank of the job. If it could not be told, it would wait for ever.
 * Sends that find no room go on when this has returned. */
static void tell(const struct weft_channel *channel, int rank, bool is_answer,
                 enum weft_rc why)
{
    static struct weft_agree_word words[WEFT_ERR_DISAGREE + 1];
    static struct weft_comm via;
    const struct weft_data data = {.buffer = &words[why], .bytes = sizeof(words[why])};
    const int references = via.references;
    struct weft_request *request;
    enum weft_rc rc;

    set_via(&via, channel->context);
    via.references = references > 0 ? references : 1;
    words[why].rc = (uint32_t)why;
    rc = weft_isend_data_locked(&via, rank, channel->tag + tag_of(channel, is_answer),
                                &data, (unsigned)channel->plane | WEFT_SEND_STANDARD,
                                &request);
    if (rc == WEFT_ERR_NOMEM) {
        weft_wireup_abort(weft_engine.job, 1, WEFT_S_OOM_REPLY);
    }
    if (rc == WEFT_OK) {
        weft_request_detach(request);
    }
}

static void tell_neighbour(const struct weft_tree_agree *agree, int position,
                           enum weft_rc why)
{
    tell(&agree->channel, rank_at(agree, position),
         position > weft_tree_agree_position(agree), why);
    drop_next(agree, position);
}

void weft_tree_agree_refuse(const struct weft_tree_agree *agree, enum weft_rc rc)
{
    int children[WEFT_TREE_FAN];
    int parent;
    const int count =
        weft_tree_neighbours(weft_tree_agree_members(agree),
                             weft_tree_agree_position(agree), &parent, children);

    weft_assert_locked();
    if (parent >= 0) {
        tell_neighbour(agree, parent, rc);
    }
    for (int i = 0; i < count; i++) {
        tell_neighbour(agree, children[i], rc);
    }
}

static bool has_failed_rank(const struct weft_group *group)
{
    for (int rank = 0; group != NULL && rank < group->size; rank++) {
        if (has_failed(weft_group_process(group, rank))) {
            return true;
        }
    }
    return false;
}

/* Answers a member below this process, in an agreement that this process has not begun:
 * if it ever does, that will fail, because a member has failed before. */
static bool refuse_for_all(const struct weft_header *header)
{
    const struct weft_channel channel = {
        .context = header->context & ~(uint32_t)(WEFT_PLANES - 1),
        .plane = WEFT_PLANE_COLL,
        .tag = header->tag,
    };
    const struct weft_comm *comm;

    if ((header->context & (WEFT_PLANES - 1)) != WEFT_PLANE_COLL ||
        header->tag < WEFT_COLL_NUMBERS || header->tag % 2 != 0) {
        return false;
    }
    comm = weft_comm_of_context(header->context);
    if (comm == NULL ||
        !(has_failed_rank(comm->group) || has_failed_rank(comm->remote))) {
        return false;
    }
    tell(&channel, (int)header->source, true, WEFT_ERR_PROC_FAILED);
    return true;
}

/* ---- giving up ---- */

static bool is_of_all(const struct weft_tree_agree *agree)
{
    return agree->kind != WEFT_AGREE_UP && agree->channel.plane == WEFT_PLANE_COLL;
}

static void give_up(struct weft_tree_agree *agree)
{
    if (is_of_all(agree) && agree->sched.receives_end == WEFT_OK &&
        has_failed_member(agree)) {
        weft_sched_give_up_receives(&agree->sched, weft_tree_agree_position(agree),
                                    WEFT_ERR_PROC_FAILED);
    }
}

static void give_up_at_start(struct weft_tree_agree *agree)
{
    if (is_of_all(agree) && has_failed_member(agree)) {
        note_failure(agree, WEFT_ERR_PROC_FAILED);
        agree->sched.receives_end = WEFT_ERR_PROC_FAILED;
        agree->sched.given_up_from = weft_tree_agree_position(agree);
    }
}

static void notice_failed(void)
{
    for (struct weft_tree_agree *at = under_way; at != NULL; at = at->next) {
        give_up(at);
    }
}

void weft_tree_agree_open(void)
{
    under_way = NULL;
    weft_engine_on_failed(notice_failed);
    weft_p2p_on_refuse(refuse_for_all);
}

/* ---- its life ---- */

/* For want of memory. The neighbour gets a refusal in place of what was to be sent. */
static void unbegun(struct weft_sched *sched, uint32_t step, enum weft_rc rc)
{
    struct weft_tree_agree *agree = agree_of(sched);
    const struct weft_step *what = &agree->graph.steps[step];

    if (what->kind == WEFT_STEP_RECV && what->peer < weft_tree_agree_position(agree)) {
        /* What the others make of it is not known here. */
        weft_wireup_abort(weft_engine.job, 1, WEFT_S_OOM_REPLY);
    }
    note_failure(agree, rc);
    if (what->kind == WEFT_STEP_RECV) {
        drop_next(agree, what->peer);
    } else {
        tell(&agree->channel, rank_at(agree, what->peer),
             what->peer > weft_tree_agree_position(agree), rc);
    }
}

static void leave(const struct weft_tree_agree *agree)
{
    struct weft_tree_agree **at = &under_way;

    while (*at != agree) {
        at = &(*at)->next;
    }
    *at = agree->next;
}

static void done(struct weft_sched *sched, enum weft_rc rc)
{
    struct weft_tree_agree *agree = agree_of(sched);

    leave(agree);
    weft_tree_agree_unmake(agree);
    agree->done(agree, outcome(agree, rc));
}

static const struct weft_sched_ops ops = {
    .route = route,
    .heard = heard,
    .unbegun = unbegun,
    .done = done,
    .reduce = fold,
};

/* Messages to higher positions, and from lower ones, are answers. */
static void mark_answer(struct weft_step *step, const struct weft_channel *channel,
                        int position)
{
    if (step->kind == WEFT_STEP_SEND || step->kind == WEFT_STEP_RECV) {
        step->tag =
            tag_of(channel, (step->kind == WEFT_STEP_SEND) == (step->peer > position));
    }
}

/* What travels, as the receive buffer of the graph; and the graph. */
static enum weft_rc build(struct weft_tree_agree *agree)
{
    struct weft_shape shape = {
        .n = weft_tree_agree_members(agree),
        .rank = weft_tree_agree_position(agree),
    };
    struct weft_data *buffer = &agree->buffer;

    enum weft_rc rc;

    switch (agree->kind) {
    case WEFT_AGREE_NUMBER:
        shape.bytes = sizeof(agree->word);
        *buffer = (struct weft_data){.buffer = &agree->word, .bytes = shape.bytes};
        rc = weft_tree_fold(&shape, &agree->graph);
        break;
    case WEFT_AGREE_TABLE:
        shape.bytes = agree->entry_bytes;
        *buffer = (struct weft_data){.buffer = agree->table,
                                     .bytes = shape.bytes * (size_t)shape.n};
        rc = weft_tree_table(&shape, &agree->graph);
        break;
    default:
        return weft_tree_up(&shape, &agree->graph);
    }
    for (uint32_t i = 0; rc == WEFT_OK && i < agree->graph.step_count; i++) {
        mark_answer(&agree->graph.steps[i], &agree->channel, shape.rank);
    }
    return rc;
}

enum weft_rc weft_tree_agree_make(struct weft_tree_agree *agree)
{
    enum weft_rc rc;

    set_via(&agree->via, agree->channel.context);
    agree->sched = (struct weft_sched){
        .graph = &agree->graph,
        .ops = &ops,
        .comm = &agree->via,
        .plane = agree->channel.plane,
        .tag = agree->channel.tag,
        .spaces = {[WEFT_SPACE_RECV] = &agree->buffer},
        .goes_on = true,
    };
    weft_graph_init(&agree->graph);
    rc = weft_tree_agree_members(agree) > 1 ? build(agree) : WEFT_OK;
    if (rc == WEFT_OK) {
        rc = weft_request_reserve(agree->graph.step_count);
    }
    if (rc == WEFT_OK) {
        rc = weft_sched_make(&agree->sched);
    }
    if (rc != WEFT_OK) {
        weft_graph_free(&agree->graph);
    }
    return rc;
}

void weft_tree_agree_unmake(struct weft_tree_agree *agree)
{
    weft_sched_free(&agree->sched);
    weft_graph_free(&agree->graph);
}

void weft_tree_agree_start(struct weft_tree_agree *agree)
{
    if (weft_tree_agree_members(agree) == 1) { /* what it has is the result */
        weft_tree_agree_unmake(agree);
        agree->done(agree, outcome(agree, WEFT_OK));
        return;
    }
    agree->next = under_way;
    under_way = agree;
    if (may_have_failures()) {
        give_up_at_start(agree);
    }
    weft_sched_start(&agree->sched);
}
