#include "transport/ofi/quirks/provider.h"

#include <string.h>

/* docs/engine.md, 1 and 2: `net` never becomes quiet again after its first message, and
 * `sockets` is not maintained. */
static const struct weft_provider providers[] = {
    {.name = "tcp", .sockets = WEFT_SOCKETS_ALWAYS},
    {.name = "verbs", .has_reads = true, .sockets = WEFT_SOCKETS_NEVER},
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
