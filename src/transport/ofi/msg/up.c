#include "transport/ofi/msg/up.h"

#include "base/log.h"
#include "base/settings.h"
#include "base/texts.h"
#include "transport/ofi/msg/events.h"
#include "transport/ofi/msg/memory.h"
#include "transport/ofi/msg/slots.h"
#include "transport/ofi/sodium.h"

#include <errno.h>
#include <fcntl.h>
#include <unistd.h>

enum { LONG_AUTO, LONG_PUSH, LONG_FETCH }; /* words of WEFT_LONG */

enum { ENDINGS = 10 }; /* rounds in which connections without a request are ended */

/* ---- listening ---- */

/* libfabric's listener at one address, without listening yet; the code is libfabric's. */
static long open_listener(struct weft_transport *tp, const char *text, int port,
                          struct fid_pep **out)
{
    struct sockaddr_storage at;
    socklen_t bytes;
    struct fi_info *info = NULL;
    long code = -FI_EINVAL;

    if (weft_net_address_of(text, port, &at, &bytes)) {
        info = weft_ofi_info(&tp->ofi, &at, NULL, bytes);
    }
    if (info != NULL) {
        code = fi_passive_ep(tp->ofi.fabric, info, out, NULL);
        weft_libfabric.freeinfo(info);
    }
    return code;
}

/* libfabric says EIO where descriptors have run out: one more shows it. */
static long true_cause(long code)
{
    const int fd = open("/dev/null", O_RDONLY | O_CLOEXEC);

    if (fd < 0) {
        return -errno;
    }
    close(fd);
    return code;
}

/* A provider that finds our port taken, by an early listener, is over sockets, and the
 * early listener replaces its own; others have ports of their own. */
static long make_listener(struct weft_transport *tp, int which, struct fid_pep **out)
{
    struct weft_quirks *q = &tp->quirks;
    const char *text = tp->own[which].text;
    const long code = open_listener(tp, text, weft_quirks_port(q), out);

    return code == -FI_EADDRINUSE && weft_quirks_is_port_ours(q)
               ? open_listener(tp, text, weft_quirks_port(q), out)
               : code;
}

static long listen_at(struct weft_transport *tp, int which)
{
    struct fid_pep *listener = NULL;
    long code = make_listener(tp, which, &listener);

    if (code != 0) {
        return true_cause(code);
    }
    code = fi_pep_bind(listener, &tp->ofi.eq->fid, 0);
    if (code == 0 && !weft_quirks_before_listen(&tp->quirks, which, listener)) {
        code = -FI_ENOENT;
    }
    if (code == 0) {
        code = fi_listen(listener);
    }
    if (code != 0) {
        code = true_cause(code);
        fi_close(&listener->fid);
        return code;
    }
    weft_quirks_after_listen(&tp->quirks, listener);
    tp->listeners[which] = listener;
    tp->listener_count++;
    return 0;
}

static enum weft_rc listen_at_all(struct weft_transport *tp)
{
    for (int i = 0; i < tp->own_count; i++) {
        const long code = listen_at(tp, i);

        if (code != 0) {
            weft_log_error(WEFT_S_LISTEN, tp->own[i].text, tp->quirks.early.port,
                           weft_ofi_error(code));
            return WEFT_ERR_SYSTEM;
        }
    }
    return WEFT_OK;
}

/* ---- coming up ---- */

/* libfabric and its queues, whose descriptors our children do not inherit. */
static enum weft_rc open_fabric(struct weft_transport *tp)
{
    struct sockaddr_storage at;
    socklen_t at_bytes;
    enum weft_rc rc;

    if (!weft_net_address_of(tp->own[0].text, 0, &at, &at_bytes)) {
        return WEFT_ERR_ARGUMENT;
    }
    rc = weft_ofi_choose(&tp->ofi, &at, at_bytes);
    if (rc == WEFT_OK) {
        rc = weft_quirks_before_fabric(&tp->quirks, &tp->ofi);
    }
    if (rc == WEFT_OK) {
        rc = weft_ofi_open(&tp->ofi, WEFT_SLOTS_RECEIVES + WEFT_SLOTS_SENDS);
        weft_quirks_after_fabric(&tp->quirks, &tp->ofi);
    }
    return rc;
}

/* What goes at once fits into a buffer of the pool, and four times into the window. */
static uint32_t choose_zcopy_max(const struct weft_transport *tp)
{
    if (tp->ofi.info->tx_attr->iov_limit < 2) {
        return 0;
    }
    return tp->window / 4 < WEFT_MSG_ZCOPY_MAX ? tp->window / 4 : WEFT_MSG_ZCOPY_MAX;
}

/* Hardware reads a peer's memory by itself; over tcp the peer has to be asked, and could
 * have sent at once. */
static bool is_fetching(const struct weft_transport *tp)
{
    const int64_t protocol = weft_setting(WEFT_SET_LONG);

    return protocol == LONG_FETCH ||
           (protocol == LONG_AUTO && tp->quirks.provider->has_reads);
}

static enum weft_rc go_up(struct weft_transport *tp)
{
    enum weft_rc rc = weft_sodium_open();

    if (rc == WEFT_OK) {
        rc = open_fabric(tp);
    }
    if (rc != WEFT_OK) {
        return rc;
    }
    tp->memory = weft_msg_memory(tp->ofi.info);
    tp->zcopy_max = choose_zcopy_max(tp);
    tp->is_fetching = is_fetching(tp);
    rc = weft_msg_slots_open(tp);
    return rc == WEFT_OK ? listen_at_all(tp) : rc;
}

enum weft_rc weft_msg_come_up(struct weft_transport *tp)
{
    enum weft_rc rc;

    if (tp->is_up || tp->has_failed) {
        return tp->is_up ? WEFT_OK : WEFT_ERR_UNREACHABLE;
    }
    rc = go_up(tp);
    tp->is_up = rc == WEFT_OK;
    tp->has_failed = rc != WEFT_OK;
    tp->has_moved = true;
    weft_early_end_waiting(&tp->quirks.early);
    if (tp->has_failed) {
        weft_msg_go_down(tp);
        weft_early_close(&tp->quirks.early); /* callers do not wait for nothing */
    }
    return rc;
}

/* ---- going down ---- */

/* Each round the provider closes what was ended, and accepts further connections. */
static void end_unknown(struct weft_transport *tp)
{
    for (int i = 0; tp->is_up && tp->quirks.is_over_sockets && i < ENDINGS; i++) {
        const int count = weft_msg_handle_events(tp);

        if (weft_quirks_end_unknown(&tp->quirks) + count == 0) {
            return;
        }
    }
}

void weft_msg_go_down(struct weft_transport *tp)
{
    end_unknown(tp);
    weft_quirks_close(&tp->quirks);
    for (int i = 0; i < tp->listener_count; i++) {
        fi_close(&tp->listeners[i]->fid);
    }
    tp->listener_count = 0;
    if (tp->ofi.shared_receive != NULL) { /* before the buffers that are posted there */
        fi_close(&tp->ofi.shared_receive->fid);
        tp->ofi.shared_receive = NULL;
    }
    weft_ofi_slots_close(&tp->slots);
    weft_ofi_close(&tp->ofi);
}
