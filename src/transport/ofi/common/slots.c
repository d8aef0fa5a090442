#include "transport/ofi/common/slots.h"

#include "base/log.h"
#include "base/texts.h"

#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>

enum {
    MULTIPLE = 4, /* buffers for many packets */
    MULTIPLE_BYTES = 256 * 1024,
    COPIED_MOST = 4096, /* bytes of a put or get that are copied */
    WINDOW_MOST = 256 * 1024,
    WINDOW_LEAST = 16 * 1024,
};

static struct weft_ofi_slots_limits limits;

void weft_ofi_slots_limit(struct weft_ofi_slots_limits wanted)
{
    limits = wanted;
}

uint32_t weft_ofi_slots_window(uint32_t ranks, uint32_t streams)
{
    const uint32_t others = ranks > 1 ? ranks - 1 : 1;
    const uint32_t share = 8 * 1024 * 1024 / others;
    const uint32_t most = WINDOW_MOST * streams;

    if (limits.window != 0) {
        return limits.window;
    }
    return share > most ? most : share < WINDOW_LEAST ? WINDOW_LEAST : share;
}

/* ---- opening and closing ---- */

/* Pages are touched when they are used: a buffer costs what has come in it. */
static uint8_t *map(size_t bytes)
{
    void *memory =
        mmap(NULL, bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);

    return memory == MAP_FAILED ? NULL : memory;
}

static void unmap(uint8_t **memory, size_t bytes)
{
    if (*memory != NULL) {
        munmap(*memory, bytes);
    }
    *memory = NULL;
}

static size_t round_up(size_t bytes)
{
    return (bytes + 63) / 64 * 64;
}

static size_t least(size_t a, size_t b)
{
    return a < b ? a : b;
}

/* All that can be posted at once has room in the completion queue. */
static void choose_counts(struct weft_ofi_slots *slots)
{
    const struct fi_info *info = slots->ofi->info;
    const size_t room = slots->ofi->completions;
    const size_t most = slots->receive_most != 0 ? slots->receive_most
                        : slots->is_multiple     ? MULTIPLE
                                                 : WEFT_SLOTS_RECEIVES;
    const size_t receives = least(most, least(info->rx_attr->size, room / 2));

    slots->receive_count = limits.receives != 0
                               ? (uint32_t)least(limits.receives, receives)
                               : (uint32_t)receives;
    slots->send_count = (uint32_t)least(WEFT_SLOTS_SENDS,
                                        least(info->tx_attr->size / 2, room - receives));
}

static enum weft_rc make_sends(struct weft_ofi_slots *slots)
{
    const size_t each = slots->send_bytes;
    const bool has_memory = slots->has_results || (slots->ofi->info->caps & FI_RMA) != 0;
    const uint64_t access = FI_SEND | (has_memory ? FI_READ | FI_WRITE : 0);

    slots->sends = calloc(slots->send_count, sizeof(*slots->sends));
    slots->send_memory = map(slots->send_count * each);
    if (slots->sends == NULL || slots->send_memory == NULL) {
        return WEFT_ERR_NOMEM;
    }
    for (uint32_t i = 0; i < slots->send_count; i++) {
        slots->sends[i].buffer = slots->send_memory + i * each;
        slots->sends[i].next = slots->free_sends;
        slots->free_sends = &slots->sends[i];
    }
    return weft_ofi_register_local(slots->ofi, slots->send_memory,
                                   slots->send_count * each, access, &slots->send_mr);
}

static enum weft_rc make_receives(struct weft_ofi_slots *slots)
{
    const size_t each = slots->receive_bytes;
    enum weft_rc rc;

    slots->receives = calloc(slots->receive_count, sizeof(*slots->receives));
    slots->receive_memory = map(slots->receive_count * each);
    if (slots->receives == NULL || slots->receive_memory == NULL) {
        return WEFT_ERR_NOMEM;
    }
    rc =
        weft_ofi_register_local(slots->ofi, slots->receive_memory,
                                slots->receive_count * each, FI_RECV, &slots->receive_mr);
    for (uint32_t i = 0; rc == WEFT_OK && i < slots->receive_count; i++) {
        slots->receives[i].buffer = slots->receive_memory + i * each;
        weft_ofi_slots_post(slots, &slots->receives[i]);
    }
    return rc;
}

enum weft_rc weft_ofi_slots_open(struct weft_ofi_slots *slots, struct weft_ofi *ofi,
                                 struct fid_ep *receiver, size_t send_bytes,
                                 size_t receive_bytes)
{
    enum weft_rc rc;

    slots->ofi = ofi;
    slots->receiver = receiver;
    weft_mr_cache_open(&slots->cache, ofi);
    slots->send_bytes = round_up(send_bytes);
    slots->receive_bytes = slots->is_multiple && receive_bytes < MULTIPLE_BYTES
                               ? MULTIPLE_BYTES
                               : round_up(receive_bytes);
    choose_counts(slots);
    rc = make_sends(slots);
    return rc == WEFT_OK ? make_receives(slots) : rc;
}

void weft_ofi_slots_close(struct weft_ofi_slots *slots)
{
    weft_mr_cache_close(&slots->cache);
    weft_ofi_unregister(slots->send_mr);
    weft_ofi_unregister(slots->receive_mr);
    unmap(&slots->send_memory, slots->send_count * slots->send_bytes);
    unmap(&slots->receive_memory, slots->receive_count * slots->receive_bytes);
    free(slots->sends);
    free(slots->receives);
    *slots = (struct weft_ofi_slots){.ofi = NULL};
}

/* ---- packets out ---- */

struct weft_ofi_slot *weft_ofi_slots_take(struct weft_ofi_slots *slots, void *owner,
                                          uint32_t *share)
{
    struct weft_ofi_slot *slot = slots->free_sends;

    if (slot == NULL || *share >= slots->send_count / 4) {
        return NULL;
    }
    slots->free_sends = slot->next;
    slot->owner = owner;
    slot->share = share;
    slot->op = NULL;
    slot->access = 0;
    slot->copied = NULL;
    (*share)++;
    return slot;
}

static void make_free(struct weft_ofi_slots *slots, struct weft_ofi_slot *slot)
{
    (*slot->share)--;
    slot->next = slots->free_sends;
    slots->free_sends = slot;
}

/* To register memory takes longer than to copy a few pages. */
static bool is_copied(const struct weft_ofi_slots *slots, size_t len, uint64_t access)
{
    return access != FI_SEND && len > 0 && len <= least(COPIED_MOST, slots->send_bytes) &&
           weft_ofi_is_local_checked(slots->ofi);
}

static void copy(struct weft_ofi_slot *slot, const void *data, size_t len,
                 uint64_t access, struct weft_op *op)
{
    slot->copied = (void *)(uintptr_t)data;
    slot->copied_bytes = len;
    slot->op = op;
    slot->access = access;
    if (access == FI_WRITE) {
        memcpy(slot->buffer, data, len);
    }
}

void *weft_ofi_slot_descriptor(const struct weft_ofi_slots *slots,
                               const struct weft_ofi_slot *slot)
{
    return slot->copied != NULL ? weft_ofi_descriptor(slots->send_mr)
                                : weft_mr_descriptor(slot->mr);
}

enum weft_rc weft_ofi_slots_attach(struct weft_ofi_slots *slots,
                                   struct weft_ofi_slot *slot, const void *data,
                                   size_t len, uint64_t access, struct weft_op *op)
{
    enum weft_rc rc;

    if (is_copied(slots, len, access)) {
        copy(slot, data, len, access, op);
        return WEFT_OK;
    }
    rc = weft_mr_cache_take_local(&slots->cache, data, len, access, &slot->mr);
    if (rc != WEFT_OK) {
        make_free(slots, slot);
        return slots->registered > 0 ? rc : WEFT_ERR_SYSTEM; /* nothing will come back */
    }
    slot->op = op;
    slot->access = access;
    slots->registered++;
    return WEFT_OK;
}

void weft_ofi_slots_give(struct weft_ofi_slots *slots, struct weft_ofi_slot *slot)
{
    if (slot->op != NULL && slot->copied == NULL) {
        weft_mr_cache_give(&slots->cache, slot->mr);
        slots->registered--;
    }
    slot->op = NULL;
    make_free(slots, slot);
}

void weft_ofi_slots_done(struct weft_ofi_slots *slots, struct weft_ofi_slot *slot,
                         enum weft_rc rc)
{
    struct weft_op *op = slot->op;

    if (slot->copied != NULL && slot->access == FI_READ && rc == WEFT_OK) {
        memcpy(slot->copied, slot->buffer, slot->copied_bytes);
    }
    weft_ofi_slots_give(slots, slot);
    if (op != NULL) {
        op->done(op, rc);
    }
}

/* ---- memory that peers write to, or read ---- */

enum weft_rc weft_ofi_slots_register(struct weft_ofi_slots *slots, void *memory,
                                     size_t bytes, unsigned rights, struct weft_key *key,
                                     void **mr)
{
    struct weft_ofi *ofi = slots->ofi;
    const bool is_virtual = (ofi->info->domain_attr->mr_mode & FI_MR_VIRT_ADDR) != 0;
    const uint64_t access = ((rights & WEFT_MR_PUT) != 0 ? FI_REMOTE_WRITE : 0) |
                            ((rights & WEFT_MR_GET) != 0 ? FI_REMOTE_READ : 0);
    struct weft_mr *registered;
    const enum weft_rc rc =
        weft_mr_cache_take(&slots->cache, memory, bytes, access, &registered);

    if (rc != WEFT_OK) {
        return rc;
    }
    *key = (struct weft_key){
        .address = (uint64_t)(uintptr_t)memory - (is_virtual ? 0 : registered->base),
        .key = fi_mr_key(registered->mr),
    };
    *mr = registered;
    slots->registered++;
    return WEFT_OK;
}

void weft_ofi_slots_deregister(struct weft_ofi_slots *slots, void *mr)
{
    slots->registered--;
    weft_mr_cache_give(&slots->cache, mr);
}

/* ---- packets in ---- */

static ssize_t post_multiple(struct weft_ofi_slots *slots, struct weft_ofi_slot *slot)
{
    const struct iovec memory = {slot->buffer, slots->receive_bytes};
    void *descriptor = weft_ofi_descriptor(slots->receive_mr);
    const struct fi_msg message = {
        .msg_iov = &memory,
        .desc = &descriptor,
        .iov_count = 1,
        .addr = FI_ADDR_UNSPEC,
        .context = &slot->context,
    };

    return fi_recvmsg(slots->receiver, &message, FI_MULTI_RECV | FI_COMPLETION);
}

static ssize_t post(struct weft_ofi_slots *slots, struct weft_ofi_slot *slot)
{
    return slots->is_multiple
               ? post_multiple(slots, slot)
               : fi_recv(slots->receiver, slot->buffer, slots->receive_bytes,
                         weft_ofi_descriptor(slots->receive_mr), FI_ADDR_UNSPEC,
                         &slot->context);
}

void weft_ofi_slots_post(struct weft_ofi_slots *slots, struct weft_ofi_slot *slot)
{
    const ssize_t code = post(slots, slot);

    if (weft_unlikely(code != 0)) {
        slot->next = slots->to_post; /* tried again by the next poll */
        slots->to_post = slot;
        if (code != -FI_EAGAIN) {
            weft_log_error(WEFT_S_NO_RECEIVE, weft_ofi_error(code));
        }
    }
}

void weft_ofi_slots_post_again(struct weft_ofi_slots *slots)
{
    struct weft_ofi_slot *list = slots->to_post;

    slots->to_post = NULL;
    while (list != NULL) {
        struct weft_ofi_slot *next = list->next;

        weft_ofi_slots_post(slots, list);
        list = next;
    }
}
