#include "transport/ofi/quirks/provider.h"

#include <stdlib.h>
#include <string.h>

/* docs/engine.md, 1 and 2: `net` never becomes quiet again after its first message, and
 * `sockets` is not maintained. */
static const struct weft_provider providers[] = {
    {.name = "tcp", .sockets = WEFT_SOCKETS_ALWAYS},
    {.name = "udp", .hides_cuts = true, .sockets = WEFT_SOCKETS_UNKNOWN},
    {.name = "verbs",
     .has_cache = true,
     .has_reads = true,
     .sockets = WEFT_SOCKETS_NEVER},
    {.name = "net", .is_avoided = true, .sockets = WEFT_SOCKETS_ALWAYS},
    {.name = "sockets", .is_avoided = true, .sockets = WEFT_SOCKETS_ALWAYS},
};

static const struct weft_provider other = {
    .name = "other",
    .sockets = WEFT_SOCKETS_UNKNOWN,
};

const struct weft_provider *weft_provider_find(const char *name)
{
    const size_t length = strcspn(name, ";");

    for (size_t i = 0; i < sizeof(providers) / sizeof(providers[0]); i++) {
        if (strlen(providers[i].name) == length &&
            strncmp(providers[i].name, name, length) == 0) {
            return &providers[i];
        }
    }
    return &other;
}

/* As fi_mr(3) says: a count of zero or the monitor "disabled" turns caches off. */
bool weft_provider_keeps_registrations(const char *name)
{
    const char *count = getenv("FI_MR_CACHE_MAX_COUNT");
    const char *monitor = getenv("FI_MR_CACHE_MONITOR");

    return weft_provider_find(name)->has_cache &&
           (count == NULL || strcmp(count, "0") != 0) &&
           (monitor == NULL || strcmp(monitor, "disabled") != 0);
}

/* ofi_rxm gives a buffer back while a long packet is still being written to it. Over
 * udp;ofi_rxd packets of several senders were damaged in such buffers. */
bool weft_provider_has_single(const char *name)
{
    return strstr(name, ";ofi_rxm") != NULL || strstr(name, ";ofi_rxd") != NULL;
}
