/*
 * networks.c - the networks that the hosts of a job share, where its ranks listen.
 *
 * Each daemon tells the root which networks its host is in, before it says that it is
 * ready. When all are, the root knows which networks at least two hosts are in, and tells
 * all daemons before the ranks start; ranks find it in their environment (WEFT_NETWORKS).
 * So a rank does not listen at an address that only leads elsewhere, to the internet for
 * one. If a host shares no network with another, they meet by a router: then nothing is
 * said, and ranks listen at all addresses for jobs. Nor is it where WEFT_NET is set,
 * which is the one rule then.
 */
#include "job_parts.h"

#include "wireup/net.h"

#include <assert.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { NETWORKS_MOST = 64 };

#define VARIABLE "WEFT_NETWORKS="

/* What the root knows. */
struct networks {
    char texts[NETWORKS_MOST][WEFT_NET_TEXT];
    int hosts[NETWORKS_MOST]; /* that are in it */
    int count;
    uint64_t *of; /* by daemon: a bit for each network */
};

static bool takes_part(const struct job *job, int daemon)
{
    return job->setup.layout.stations[daemon].ranks > 0;
}

static bool is_needed(const struct job *job)
{
    int hosts = 0;

    if (job->plan->is_report || job->setup.net[0] != '\0') {
        return false;
    }
    for (int d = 0; d < job->setup.layout.count && hosts < 2; d++) {
        hosts += takes_part(job, d);
    }
    return hosts > 1;
}

/* ---- the root ---- */

static struct networks *open_networks(struct job *job)
{
    if (job->networks == NULL) {
        job->networks = calloc(1, sizeof(*job->networks));
    }
    if (job->networks != NULL && job->networks->of == NULL) {
        job->networks->of =
            calloc((size_t)job->setup.layout.count, sizeof(*job->networks->of));
    }
    return job->networks != NULL && job->networks->of != NULL ? job->networks : NULL;
}

static void note(struct networks *networks, int daemon, const char *text)
{
    int i = 0;

    while (i < networks->count && strcmp(networks->texts[i], text) != 0) {
        i++;
    }
    if (i == NETWORKS_MOST || (networks->of[daemon] >> i & 1) != 0) {
        return; /* more than anybody has; or a second address there */
    }
    if (i == networks->count) {
        snprintf(networks->texts[i], sizeof(networks->texts[i]), "%s", text);
        networks->count++;
    }
    networks->of[daemon] |= UINT64_C(1) << i;
    networks->hosts[i]++;
}

void job_on_networks(struct job *job, const struct frame *frame, const char *payload)
{
    struct reader reader = {.at = payload, .left = frame->bytes};
    struct networks *networks = open_networks(job);
    const int64_t count = reader_number(&reader);

    if (networks == NULL) {
        return;
    }
    for (int64_t i = 0; i < count && i < WEFT_NET_MOST && !reader.is_bad; i++) {
        const char *text = reader_text(&reader);

        if (text != NULL) {
            note(networks, frame->from, text);
        }
    }
}

/* Those that several hosts are in; false: a host is in none of them, or there is no room.
 */
static bool find_shared(const struct job *job, char *text, size_t room)
{
    const struct networks *networks = job->networks;
    uint64_t shared = 0;
    size_t used = 0;

    for (int i = 0; i < networks->count && used < room; i++) {
        if (networks->hosts[i] > 1) {
            shared |= UINT64_C(1) << i;
            used += (size_t)snprintf(text + used, room - used, "%s%s",
                                     used > 0 ? "," : "", networks->texts[i]);
        }
    }
    for (int d = 0; d < job->setup.layout.count; d++) {
        if (takes_part(job, d) && (networks->of[d] & shared) == 0) {
            return false;
        }
    }
    return used < room;
}

void job_tell_shared(struct job *job)
{
    char text[WEFT_NET_WORDS] = "";

    assert(!job_is_daemon(job));
    if (!is_needed(job) || open_networks(job) == NULL ||
        !find_shared(job, text, sizeof(text))) {
        return;
    }
    for (int d = 1; d < job->setup.layout.count; d++) {
        const struct frame frame = {.kind = FRAME_SHARED,
                                    .bytes = (uint32_t)strlen(text) + 1,
                                    .to = d,
                                    .from = 0,
                                    .rank = -1};

        tree_send(job, &frame, text);
    }
    job_on_shared(job, text, strlen(text) + 1);
}

/* ---- every daemon ---- */

void job_tell_networks(struct job *job)
{
    struct weft_net_address list[WEFT_NET_MOST];
    struct bytes payload = {NULL, 0, 0};
    struct frame frame = {.kind = FRAME_NETWORKS, .to = 0, .from = job->tree.me};
    int count;

    if (!is_needed(job) || !takes_part(job, job->tree.me)) {
        return;
    }
    count = weft_net_count_used(list, weft_net_list(list, ""));
    bytes_add_number(&payload, count);
    for (int i = 0; i < count; i++) {
        char text[WEFT_NET_TEXT];

        weft_net_network_of(&list[i], text);
        bytes_add_text(&payload, text);
    }
    frame.bytes = (uint32_t)payload.count;
    if (job_is_daemon(job)) {
        tree_send(job, &frame, payload.at);
    } else {
        job_on_networks(job, &frame, payload.at);
    }
    bytes_free(&payload);
}

void job_on_shared(struct job *job, const char *text, size_t bytes)
{
    if (bytes == 0 || text[bytes - 1] != '\0' || job->shared != NULL) {
        return;
    }
    job->shared = malloc(sizeof(VARIABLE) + bytes);
    if (job->shared != NULL) {
        snprintf(job->shared, sizeof(VARIABLE) + bytes, VARIABLE "%s", text);
        list_add(&job->setup.environment.common, job->shared);
    }
}

void job_close_networks(struct job *job)
{
    if (job->networks != NULL) {
        free(job->networks->of);
        free(job->networks);
        job->networks = NULL;
    }
    free(job->shared);
    job->shared = NULL;
}
