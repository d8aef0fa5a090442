#include "transport/ofi/msg/address.h"

#include "base/log.h"
#include "base/settings.h"
#include "base/texts.h"
#include "wireup/near.h"

#include <assert.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

/* A key is written once, so each opening, which all ranks do together, has its own. */
static void name_key(const struct weft_transport *tp, char *key, size_t room)
{
    snprintf(key, room, "msg-%u", tp->opening);
}

/* Has this host the address? A container may have only one kind. */
static bool has_address(const char *text)
{
    struct sockaddr_storage address;
    socklen_t bytes;
    bool is_there = false;
    int fd;

    if (!weft_net_address_of(text, 0, &address, &bytes)) {
        return false;
    }
    fd = socket(address.ss_family, SOCK_STREAM | SOCK_CLOEXEC, 0);
    if (fd >= 0) {
        is_there = bind(fd, (const struct sockaddr *)&address, bytes) == 0;
        close(fd);
    }
    return is_there;
}

static int list_loopback(struct weft_net_address *list)
{
    const bool is_sixth = !has_address("127.0.0.1") && has_address("::1");

    memset(list, 0, sizeof(*list));
    snprintf(list->interface, sizeof(list->interface), "lo");
    snprintf(list->text, sizeof(list->text), "%s", is_sixth ? "::1" : "127.0.0.1");
    list->prefix = is_sixth ? 128 : 8;
    return 1;
}

/*
 * Our addresses that are for jobs, in the order in which peers are to try them: fast
 * interfaces first, then those near to our processors. Returns how many. A host that is
 * in no network has its loopback: nodes of a launcher may be one host.
 */
static int list_own(const struct weft_job *job, struct weft_net_address *list)
{
    const char *wanted = weft_setting_text(WEFT_SET_NET);
    cpu_set_t processors;
    int count = 0;

    if (job->is_one_node) {
        return list_loopback(list);
    }
    count = weft_net_count_used(list, weft_net_list(list, wanted));
    if (sched_getaffinity(0, sizeof(processors), &processors) == 0) {
        weft_net_put_near_first(list, count, "/sys", &processors);
    }
    if (wanted[0] == '\0') {
        count = weft_net_keep(list, count, getenv("WEFT_NETWORKS"));
    }
    count = count < WEFT_LISTENERS_MAX ? count : WEFT_LISTENERS_MAX;
    return count == 0 && wanted[0] == '\0' ? list_loopback(list) : count;
}

bool weft_msg_find_own(struct weft_transport *tp)
{
    struct weft_net_address list[WEFT_NET_MOST];

    tp->own_count = list_own(tp->job, list);
    memcpy(tp->own, list, (size_t)tp->own_count * sizeof(list[0]));
    if (tp->own_count == 0) {
        weft_log_error(WEFT_S_NO_ADDRESS, weft_setting_text(WEFT_SET_NET));
        return false;
    }
    return true;
}

/* May it be published, behind addresses? A slash would make it one. */
static bool is_word(const char *text)
{
    return text[0] != '\0' && strpbrk(text, " ,/=;") == NULL;
}

enum weft_rc weft_msg_publish(struct weft_transport *tp)
{
    char value[WEFT_KVS_VALUE_MAX + 1] = "";
    char host[WEFT_MSG_HOST_BYTES] = "";
    char key[32];
    size_t used = 0;

    for (int i = 0; i < tp->own_count; i++) {
        used +=
            (size_t)snprintf(value + used, sizeof(value) - used, "%s%s/%d",
                             i > 0 ? "," : "", tp->own[i].text, tp->quirks.early.port);
    }
    (void)gethostname(host, sizeof(host) - 1);
    if (is_word(host)) {
        used += (size_t)snprintf(value + used, sizeof(value) - used, ",%s", host);
    }
    used += (size_t)snprintf(value + used, sizeof(value) - used, ";");
    for (size_t i = 0; i < WEFT_TOKEN_BYTES; i++) {
        used += (size_t)snprintf(value + used, sizeof(value) - used, "%02x",
                                 tp->quirks.early.token[i]);
    }
    assert(used < sizeof(value));
    name_key(tp, key, sizeof(key));
    return weft_wireup_publish(tp->job, key, value);
}

/* Is it in a network of ours? */
static bool is_in_our_network(const struct weft_transport *tp, const char *text)
{
    for (int i = 0; i < tp->own_count; i++) {
        const struct weft_net_address *own = &tp->own[i];

        if ((strchr(own->text, ':') == NULL) == (strchr(text, ':') == NULL) &&
            weft_net_is_in(text, own->text, own->prefix)) {
            return true;
        }
    }
    return false;
}

/* Cuts the token off what a peer has published; false: there is none. */
static bool take_token(char *value, uint8_t token[WEFT_TOKEN_BYTES])
{
    char *text = strchr(value, ';');

    if (text == NULL || strlen(text) != 1 + 2 * WEFT_TOKEN_BYTES) {
        return false;
    }
    for (size_t i = 0; i < WEFT_TOKEN_BYTES; i++) {
        if (sscanf(text + 1 + 2 * i, "%2hhx", &token[i]) != 1) {
            return false;
        }
    }
    *text = '\0';
    return true;
}

/* Takes the address behind those that were tried in vain. Addresses in networks of ours
 * come first, and where there is one, the others do not count. */
static void choose(const struct weft_transport *tp, struct weft_msg_peer *peer,
                   char *const *list, int count)
{
    struct sockaddr_storage address;
    socklen_t bytes;

    for (int pass = 0; pass < 2 && peer->candidates == 0; pass++) {
        for (int i = 0; i < count; i++) {
            char *slash = strchr(list[i], '/');
            bool is_good;

            *slash = '\0';
            is_good = (pass == 1 || is_in_our_network(tp, list[i])) &&
                      weft_net_address_of(list[i], atoi(slash + 1), &address, &bytes);
            *slash = '/';
            if (is_good && peer->candidates++ == peer->unreached) {
                peer->address = address;
                peer->address_bytes = bytes;
                peer->has_address = true;
            }
        }
    }
}

enum weft_rc weft_msg_find(struct weft_transport *tp, struct weft_msg_peer *peer)
{
    char value[WEFT_KVS_VALUE_MAX + 1];
    char *list[WEFT_NET_MOST];
    char key[32];
    char *rest = NULL;
    int count = 0;
    enum weft_rc rc;

    name_key(tp, key, sizeof(key));
    rc = weft_wireup_try_lookup(tp->job, (int)weft_process_rank(peer->process), key,
                                value);
    if (rc != WEFT_OK) {
        return rc;
    }
    for (char *one = take_token(value, peer->token) ? strtok_r(value, ",", &rest) : NULL;
         one != NULL; one = strtok_r(NULL, ",", &rest)) {
        if (strchr(one, '/') == NULL) {
            snprintf(peer->host, sizeof(peer->host), "%s", one);
        } else if (count < WEFT_NET_MOST) {
            list[count++] = one;
        }
    }
    peer->candidates = 0;
    choose(tp, peer, list, count);
    if (!peer->has_address) {
        weft_log_error(WEFT_S_PEER_NO_ADDRESS, weft_process_rank(peer->process));
        return WEFT_ERR_UNREACHABLE;
    }
    return WEFT_OK;
}

bool weft_msg_leave_address(struct weft_msg_peer *peer)
{
    if (!peer->has_address || peer->unreached + 1 >= peer->candidates) {
        return false;
    }
    peer->unreached++;
    peer->has_address = false;
    return true;
}
