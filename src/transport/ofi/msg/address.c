#include "transport/ofi/msg/address.h"

#include "base/log.h"
#include "base/texts.h"
#include "transport/ofi/common/own.h"
#include "transport/ofi/common/publish.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

bool weft_msg_find_own(struct weft_transport *tp)
{
    struct weft_net_address list[WEFT_NET_MOST];
    const int count = weft_ofi_list_own(tp->job, list);

    tp->own_count = count < WEFT_LISTENERS_MAX ? count : WEFT_LISTENERS_MAX;
    memcpy(tp->own, list, (size_t)tp->own_count * sizeof(list[0]));
    return tp->own_count > 0;
}

enum weft_rc weft_msg_publish(struct weft_transport *tp)
{
    char value[WEFT_OFI_VALUE_MAX + 1] = "";
    char host[WEFT_MSG_HOST_BYTES] = "";
    size_t used = 0;

    for (int i = 0; i < tp->own_count; i++) {
        used +=
            (size_t)snprintf(value + used, sizeof(value) - used, "%s%s/%d",
                             i > 0 ? "," : "", tp->own[i].text, tp->quirks.early.port);
    }
    if (weft_ofi_own_host(host, sizeof(host))) {
        used += (size_t)snprintf(value + used, sizeof(value) - used, ",%s", host);
    }
    used += (size_t)snprintf(value + used, sizeof(value) - used, ";");
    (void)weft_ofi_write_bytes(value, used, tp->quirks.early.token, WEFT_TOKEN_BYTES);
    return weft_ofi_publish(tp->job, tp->opening, tp->packets, value);
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

    if (text == NULL || strlen(text) != 1 + 2 * WEFT_TOKEN_BYTES ||
        weft_ofi_read_bytes(text + 1, 2 * WEFT_TOKEN_BYTES, token, WEFT_TOKEN_BYTES) ==
            0) {
        return false;
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
    char *rest = NULL;
    int count = 0;
    enum weft_rc rc;

    rc = weft_ofi_look_up(tp->job, weft_process_rank(peer->process), tp->opening,
                          tp->packets, value);
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
