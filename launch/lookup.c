/*
 * lookup.c - keys and barriers that span hosts: see pmi_service.h.
 */
#include "job_parts.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* ---- the barrier ---- */

/* Are ranks of ours to come? Not if they all have ended, and others go on. */
static bool is_awaited(const struct job *job)
{
    const bool have_all_ended = job->state != STARTING && job->running == 0;

    return job->count > 0 && !job->has_arrived && !have_all_ended;
}

void job_look_for_barrier(struct job *job)
{
    if (is_awaited(job) || !tree_has_arrived(job)) {
        return;
    }
    if (job_is_daemon(job)) {
        tree_answer(job, FRAME_ARRIVE);
    } else {
        job_release(job);
    }
}

void job_release(struct job *job)
{
    job->has_arrived = false;
    for (int i = 0; i < job->tree.child_count; i++) {
        job->tree.children[i].has_arrived = false;
    }
    tree_tell(job, FRAME_RELEASE, 0);
    pmi_service_release(&job->pmi);
}

static void on_arrived(void *owner)
{
    struct job *job = owner;

    job->has_arrived = true;
    job_look_for_barrier(job);
}

/* ---- keys ---- */

/* A name and a value, as they travel. */
static void send_pair(struct job *job, struct frame *frame, const char *name,
                      const char *value)
{
    struct bytes pair = {NULL, 0, 0};

    bytes_add(&pair, name, strlen(name) + 1);
    bytes_add(&pair, value, strlen(value) + 1);
    frame->bytes = (uint32_t)pair.count;
    tree_send(job, frame, pair.at);
    bytes_free(&pair);
}

/* The value behind a name, or NULL if the two are not whole. */
static const char *value_in(const char *pair, size_t bytes)
{
    const char *end = memchr(pair, '\0', bytes);

    return end != NULL && end + 1 < pair + bytes && pair[bytes - 1] == '\0' ? end + 1
                                                                            : NULL;
}

/* The name of a pair, or NULL. */
static const char *name_in(const char *pair, size_t bytes)
{
    return memchr(pair, '\0', bytes) != NULL ? pair : NULL;
}

/* Puts and gets of our ranks go up; while the link is full nothing more is read of them.
 * Our parent reads whatever happens, so that this ends. */
static void hold_if_full(struct job *job)
{
    if (job_is_daemon(job) && job->tree.up.waiting.count >= WORDS_WINDOW) {
        pmi_service_hold(&job->pmi, true);
    }
}

void job_tend_words(struct job *job)
{
    if (job->pmi.is_held && job->tree.up.waiting.count < WORDS_WINDOW) {
        pmi_service_hold(&job->pmi, false);
    }
}

static void on_put(void *owner, const char *name, const char *value)
{
    struct job *job = owner;
    struct frame frame = {.kind = FRAME_PUT, .to = 0, .from = job->tree.me, .rank = -1};

    if (job_is_daemon(job)) {
        send_pair(job, &frame, name, value);
        hold_if_full(job);
    }
}

void job_on_put(struct job *job, const char *payload, size_t bytes)
{
    const char *value = value_in(payload, bytes);

    if (value != NULL) {
        pmi_service_put(&job->pmi, payload, value);
    }
}

static bool on_ask(void *owner, int rank, int of, const char *name)
{
    struct job *job = owner;
    const struct frame frame = {
        .kind = FRAME_GET,
        .bytes = (uint32_t)strlen(name) + 1,
        .to = of >= 0 ? layout_daemon_of(&job->setup.layout, of) : 0,
        .from = job->tree.me,
        .rank = rank,
        .value = of,
    };

    if (frame.to == job->tree.me) {
        return false;
    }
    tree_send(job, &frame, name);
    hold_if_full(job);
    return true;
}

static void on_found(void *owner, int daemon, int rank, const char *name,
                     const char *value)
{
    struct job *job = owner;
    struct frame frame = {.kind = FRAME_VALUE,
                          .to = daemon,
                          .from = job->tree.me,
                          .rank = rank,
                          .value = value != NULL ? 0 : -1};

    send_pair(job, &frame, name, value != NULL ? value : "");
}

void job_on_get(struct job *job, const struct frame *frame, const char *key)
{
    if (frame->bytes == 0 || key[frame->bytes - 1] != '\0') {
        return;
    }
    if (frame->value >= 0) {
        pmi_service_want(&job->pmi, frame->from, frame->rank, frame->value, key);
    } else {
        on_found(job, frame->from, frame->rank, key, pmi_service_find(&job->pmi, key));
    }
}

/* The copy that is kept serves the other ranks of this host. */
void job_on_value(struct job *job, const struct frame *frame, const char *payload)
{
    const char *value = frame->value == 0 ? value_in(payload, frame->bytes) : NULL;

    if (value != NULL) {
        pmi_service_put(&job->pmi, payload, value);
    }
    pmi_service_answer(&job->pmi, frame->rank, name_in(payload, frame->bytes), value);
}

static void on_watch(void *owner, struct pmi_client *client)
{
    struct job *job = owner;

    job_watch_client(job, (int)(client - job->pmi.clients));
}

static void on_complaint(void *owner, const char *line)
{
    job_say(owner, "%s", line);
}

void job_open_lookup(struct job *job)
{
    struct pmi_service *pmi = &job->pmi;

    pmi->count = job->count;
    pmi->first = job->first;
    pmi->place_of = job->setup.layout.place_of;
    pmi->size = job->plan->ranks;
    pmi->aborted = job_on_abort;
    pmi->arrived = on_arrived;
    pmi->put = on_put;
    pmi->ask = on_ask;
    pmi->found = on_found;
    pmi->next_program = job_on_next_program;
    pmi->watch = on_watch;
    pmi->complain = on_complaint;
    pmi->owner = job;
    snprintf(pmi->name, sizeof(pmi->name), "weft-%x", job->setup.job);
    pmi->mapping = layout_mapping(&job->setup.layout);
}
