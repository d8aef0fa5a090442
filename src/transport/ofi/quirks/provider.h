/*
 * provider.h - what Weft knows about providers of libfabric by their names: one row each.
 *
 * The row decides which provider is chosen, how long messages travel over it, and whether
 * the habits of sockets (the other files of this folder) apply to it.
 */
#ifndef WEFT_OFI_QUIRKS_PROVIDER_H
#define WEFT_OFI_QUIRKS_PROVIDER_H

#include <stdbool.h>

enum weft_provider_sockets {
    WEFT_SOCKETS_NEVER,
    WEFT_SOCKETS_ALWAYS,
    WEFT_SOCKETS_UNKNOWN, /* it has them if it finds a TCP port of ours taken */
};

struct weft_provider {
    const char *name;
    bool is_avoided; /* never chosen */
    bool hides_cuts; /* a matched message that is cut off is not told of */
    bool has_cache;  /* registrations are kept by the provider, while memory is mapped */
    bool has_reads;  /* hardware reads a peer's memory without the peer's processor */
    enum weft_provider_sockets sockets; /* do its endpoints listen and connect by TCP? */
};

/* The row of a provider as libfabric names it. Layers behind a ';' do not count. */
const struct weft_provider *weft_provider_find(const char *name);

/* Does it keep registrations of memory? The user may have told libfabric not to. */
bool weft_provider_keeps_registrations(const char *name);

/* Must receive buffers be for one packet each, whatever it offers? By its layers. */
bool weft_provider_has_single(const char *name);

#endif
