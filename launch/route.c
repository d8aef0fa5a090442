#include "route.h"

#include <netdb.h>
#include <stdio.h>
#include <string.h>

/* Ours from which an address is reached: of the same network, or at least as wanted. */
static const char *start_for(const char *to, const struct weft_net_address *ours,
                             int count, const char *net)
{
    const bool is_six = strchr(to, ':') != NULL;

    for (int i = 0; i < count && ours[i].left_out == NULL; i++) {
        if (weft_net_is_in(to, ours[i].text, ours[i].prefix)) {
            return ours[i].text;
        }
    }
    for (int i = 0; i < count && ours[i].left_out == NULL; i++) {
        if (weft_net_is_wanted("", to, net) &&
            (strchr(ours[i].text, ':') != NULL) == is_six) {
            return ours[i].text;
        }
    }
    return NULL;
}

bool route_find(struct route *route, const char *host, const char *net)
{
    const struct addrinfo hints = {.ai_socktype = SOCK_STREAM};
    struct weft_net_address ours[WEFT_NET_MOST];
    struct addrinfo *found = NULL;
    const char *from = NULL;
    int count;

    if (net == NULL || net[0] == '\0' || getaddrinfo(host, NULL, &hints, &found) != 0) {
        return false;
    }
    count = weft_net_list(ours, net);
    for (const struct addrinfo *i = found; i != NULL && from == NULL; i = i->ai_next) {
        if (getnameinfo(i->ai_addr, i->ai_addrlen, route->to, sizeof(route->to), NULL, 0,
                        NI_NUMERICHOST) == 0) {
            from = start_for(route->to, ours, count, net);
        }
    }
    freeaddrinfo(found);
    snprintf(route->from, sizeof(route->from), "%s", from != NULL ? from : "");
    return from != NULL;
}
