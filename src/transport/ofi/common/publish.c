#include "transport/ofi/common/publish.h"

#include "base/texts.h"

#include <assert.h>
#include <stdio.h>
#include <string.h>

uint32_t weft_ofi_number_opening(void)
{
    static uint32_t openings;

    return openings++;
}

/* A key is written once, so each opening has its own. */
static void name_key(uint32_t opening, char *key, size_t room)
{
    snprintf(key, room, "network-%u", opening);
}

enum weft_rc weft_ofi_publish(struct weft_job *job, uint32_t opening,
                              const struct weft_packet_ops *network, const char *value)
{
    char text[WEFT_KVS_VALUE_MAX + 1];
    char key[32];
    const int used = snprintf(text, sizeof(text), "%s:%s", network->name, value);

    assert((size_t)used < sizeof(text));
    (void)used;
    name_key(opening, key, sizeof(key));
    return weft_wireup_publish(job, key, text);
}

size_t weft_ofi_write_bytes(char value[WEFT_OFI_VALUE_MAX + 1], size_t used,
                            const uint8_t *bytes, size_t count)
{
    assert(used + 2 * count <= WEFT_OFI_VALUE_MAX);
    for (size_t i = 0; i < count; i++) {
        used += (size_t)snprintf(value + used, WEFT_OFI_VALUE_MAX + 1 - used, "%02x",
                                 bytes[i]);
    }
    return used;
}

size_t weft_ofi_read_bytes(const char *text, size_t digits, uint8_t *bytes, size_t most)
{
    if (digits % 2 != 0 || digits / 2 > most ||
        strspn(text, "0123456789abcdef") < digits) {
        return 0;
    }
    for (size_t i = 0; i < digits / 2; i++) {
        (void)sscanf(text + 2 * i, "%2hhx", &bytes[i]);
    }
    return digits / 2;
}

static _Noreturn void end_by_network(struct weft_job *job, uint32_t rank,
                                     const char *theirs, const char *ours)
{
    char cause[WEFT_CAUSE_BYTES];

    snprintf(cause, sizeof(cause), WEFT_S_OTHER_NETWORK, rank, theirs, job->who.rank,
             ours);
    weft_wireup_abort(job, 1, cause);
}

enum weft_rc weft_ofi_look_up(struct weft_job *job, uint32_t rank, uint32_t opening,
                              const struct weft_packet_ops *network,
                              char value[WEFT_KVS_VALUE_MAX + 1])
{
    char key[32];
    char *colon;
    enum weft_rc rc;

    name_key(opening, key, sizeof(key));
    rc = weft_wireup_try_lookup(job, (int)rank, key, value);
    if (rc != WEFT_OK) {
        return rc;
    }
    colon = strchr(value, ':');
    if (colon == NULL) {
        value[0] = '\0'; /* it is of no use to anybody */
        return WEFT_OK;
    }
    *colon = '\0';
    if (strcmp(value, network->name) != 0) {
        end_by_network(job, rank, value, network->name);
    }
    memmove(value, colon + 1, strlen(colon + 1) + 1);
    return WEFT_OK;
}
