#include "transport/dgram/fabric_port.h"

#include "transport/dgram/buffer.h"

#include <assert.h>
#include <string.h>

enum { BATCH = 16 }; /* completions of sends that are read at once */

/* ---- out ---- */

/* Sends whose buffers come back. One that has failed is a datagram that is lost. */
static void take_back(struct weft_fabric_port *fabric)
{
    struct fi_cq_msg_entry entries[BATCH];
    struct fi_cq_err_entry failed;
    ssize_t count;

    do {
        count = fi_cq_read(fabric->sent, entries, BATCH);
        for (ssize_t i = 0; i < count; i++) {
            weft_ofi_slots_give(&fabric->slots, entries[i].op_context);
        }
        if (count == -FI_EAVAIL) {
            memset(&failed, 0, sizeof(failed));
            if (fi_cq_readerr(fabric->sent, &failed, 0) == 1) {
                weft_ofi_slots_give(&fabric->slots, failed.op_context);
                fabric->port.counts.unsent++;
                fabric->port.counts.last_error =
                    failed.err < 0 ? -failed.err : failed.err;
                count = BATCH;
            }
        }
    } while (count == BATCH);
}

/* Copies the pieces of one datagram; returns how many they are, with the empty ones
 * behind it. */
static uint32_t gather(const struct iovec *pieces, uint32_t count, uint32_t bytes,
                       uint8_t *to, size_t *length)
{
    uint32_t used = 0;

    *length = 0;
    for (; used < count && (*length < bytes || pieces[used].iov_len == 0); used++) {
        if (pieces[used].iov_len > 0) { /* else there may be nothing to point at */
            memcpy(to + *length, pieces[used].iov_base, pieces[used].iov_len);
            *length += pieces[used].iov_len;
        }
    }
    assert(*length > 0 && *length <= bytes);
    return used;
}

/* One datagram; `*used` of the pieces are its. Returns as libfabric does. */
static ssize_t send_one(struct weft_fabric_port *fabric, struct weft_port_peer *peer,
                        const struct iovec *pieces, uint32_t count, uint32_t bytes,
                        uint32_t *used)
{
    struct weft_ofi_slot *slot;
    size_t length;
    ssize_t code;

    if (fabric->prefix + bytes <= fabric->inject_max) {
        *used = gather(pieces, count, bytes, fabric->bounce + fabric->prefix, &length);
        return fi_inject(fabric->ofi.endpoint, fabric->bounce, fabric->prefix + length,
                         weft_fabric_port_name(peer));
    }
    slot = weft_ofi_slots_take(&fabric->slots, fabric, &fabric->under_way);
    if (slot == NULL) {
        take_back(fabric);
        slot = weft_ofi_slots_take(&fabric->slots, fabric, &fabric->under_way);
    }
    if (slot == NULL) {
        return -FI_EAGAIN;
    }
    *used = gather(pieces, count, bytes, slot->buffer + fabric->prefix, &length);
    code = fi_send(fabric->ofi.endpoint, slot->buffer, fabric->prefix + length,
                   weft_ofi_descriptor(fabric->slots.send_mr),
                   weft_fabric_port_name(peer), &slot->context);
    if (code != 0) {
        weft_ofi_slots_give(&fabric->slots, slot);
    }
    return code;
}

enum weft_rc weft_fabric_port_send(struct weft_port *port, struct weft_port_peer *peer,
                                   const struct weft_train *train, uint32_t *taken)
{
    struct weft_fabric_port *fabric = weft_fabric_port_of(port);
    uint32_t at = 0;

    assert(train->datagrams > 0 && train->datagrams <= WEFT_PORT_TRAIN_MAX);
    assert(train->bytes <= peer->datagram_max);
    for (*taken = 0; *taken < train->datagrams; (*taken)++) {
        uint32_t used = 0;
        const ssize_t code = send_one(fabric, peer, train->pieces + at,
                                      train->piece_count - at, train->bytes, &used);

        port->counts.sends++;
        if (code == -FI_EAGAIN || code == -FI_ENOMEM || code == -FI_ENOBUFS) {
            port->counts.refused++;
            return WEFT_AGAIN;
        }
        if (code != 0) {
            port->counts.unsent++;
            port->counts.last_error = (int)-code;
        }
        port->counts.sent++;
        at += used;
    }
    return WEFT_OK;
}

/* ---- in ---- */

/* Gives the receives of the last call back to the provider. */
static void post_given(struct weft_fabric_port *fabric)
{
    for (uint32_t i = 0; i < fabric->given_count; i++) {
        weft_ofi_slots_post(&fabric->slots, &fabric->slots.receives[fabric->given[i]]);
    }
    fabric->given_count = 0;
    if (weft_unlikely(fabric->slots.to_post != NULL)) {
        weft_ofi_slots_post_again(&fabric->slots);
    }
}

/* Takes the error out of the queue, which else brings nothing any more. */
static bool take_error(struct weft_fabric_port *fabric)
{
    struct fi_cq_err_entry failed;

    memset(&failed, 0, sizeof(failed));
    if (fi_cq_readerr(fabric->ofi.cq, &failed, 0) != 1) {
        return false;
    }
    fabric->port.counts.rejected++;
    if (failed.op_context != NULL) {
        weft_ofi_slots_post(&fabric->slots, failed.op_context);
    }
    return true;
}

/* Keeps what has come until the next call; false: it is none of a port of ours. */
static bool take_one(struct weft_fabric_port *fabric, const struct fi_cq_msg_entry *entry,
                     fi_addr_t source, struct weft_datagram *out)
{
    struct weft_ofi_slot *slot = entry->op_context;
    const uint32_t which = (uint32_t)(slot - fabric->slots.receives);

    assert(weft_ofi_slots_is_receive(&fabric->slots, slot));
    fabric->given[fabric->given_count++] = which;
    if (entry->len <= fabric->prefix ||
        entry->len - fabric->prefix > fabric->port.datagram_max) {
        fabric->port.counts.rejected++;
        return false;
    }
    fabric->sources[which] = source;
    *out = (struct weft_datagram){
        .bytes = slot->buffer + fabric->prefix,
        .length = (uint32_t)(entry->len - fabric->prefix),
        .slot = which,
    };
    return true;
}

int weft_fabric_port_receive(struct weft_port *port, struct weft_datagram *out, int most)
{
    struct weft_fabric_port *fabric = weft_fabric_port_of(port);
    int count = 0;

    assert(most > 0);
    post_given(fabric);
    port->is_drained = false;
    while (count < most && fabric->given_count < fabric->slots.receive_count) {
        struct fi_cq_msg_entry entry;
        fi_addr_t source = FI_ADDR_NOTAVAIL;
        const ssize_t code = fi_cq_readfrom(fabric->ofi.cq, &entry, 1, &source);

        if (code == 1) {
            port->counts.receives++;
            count += take_one(fabric, &entry, source, &out[count]);
        } else if (code != -FI_EAVAIL || !take_error(fabric)) {
            port->is_drained = true;
            break;
        }
    }
    if (fabric->slots.free_sends == NULL) {
        take_back(fabric);
    }
    port->counts.received += (uint64_t)count;
    return count;
}

bool weft_fabric_port_may_be_from(const struct weft_port *port,
                                  const struct weft_datagram *datagram,
                                  const struct weft_port_peer *peer)
{
    const struct weft_fabric_port *fabric =
        (const struct weft_fabric_port *)(const void *)port;

    return !fabric->has_source ||
           fabric->sources[datagram->slot] == weft_fabric_port_name(peer);
}

enum weft_rc weft_fabric_port_arm(struct weft_port *port)
{
    struct weft_fabric_port *fabric = weft_fabric_port_of(port);
    struct fid *queue = &fabric->ofi.cq->fid;

    if (fabric->socket >= 0) {
        port->counts.dropped = weft_port_buffer_dropped(fabric->socket);
    }
    return port->fd < 0 || fi_trywait(fabric->ofi.fabric, &queue, 1) == 0 ? WEFT_OK
                                                                          : WEFT_AGAIN;
}
