/*
 * pmix.c - what a PMIx server answers: values of any type, or none, in place of the
 * numbers and texts that a rank asks for.
 */
#include "fuzz.h"

#include "wireup/pmix.c" /* for the table of functions, which the test fills */

static struct input input;

static char *draw_text(void)
{
    const size_t length = (size_t)input_number(&input, 1) % 64;
    uint8_t *block = input_block(&input, length + 1);

    block[length] = '\0';
    return (char *)block;
}

static pmix_status_t fake_get(const pmix_proc_t *whom, const char *key,
                              const pmix_info_t *info, size_t count, pmix_value_t **out)
{
    static const pmix_data_type_t types[] = {PMIX_STRING, PMIX_UINT32,   PMIX_STRING,
                                             PMIX_INT,    PMIX_UINT64,   PMIX_BOOL,
                                             PMIX_UINT16, PMIX_PROC_RANK};
    const uint64_t how = input_number(&input, 1);
    pmix_value_t *value;

    (void)whom;
    (void)key;
    (void)info;
    (void)count;
    if (how % 16 == 15) {
        return PMIX_ERR_NOT_FOUND;
    }
    value = calloc(1, sizeof(*value));
    demand(value != NULL, "no memory");
    value->type = types[how % 8];
    if (value->type == PMIX_STRING) {
        value->data.string = how % 16 < 14 ? draw_text() : NULL;
    } else {
        value->data.uint64 = input_number(&input, how % 16 < 8 ? 1 : 8);
    }
    *out = value;
    return PMIX_SUCCESS;
}

static pmix_status_t fake_nodes(const pmix_nspace_t job, char **nodes)
{
    (void)job;
    *nodes = input_number(&input, 1) % 8 == 0 ? NULL : draw_text();
    return PMIX_SUCCESS;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    char text[WEFT_KVS_VALUE_MAX + 1];
    struct weft_who who;

    input = (struct input){data, size};
    memset(&who, 0, sizeof(who));
    pmix.get = fake_get;
    pmix.resolve_nodes = fake_nodes;
    pmix.me.rank = (pmix_rank_t)input_number(&input, 1);
    if (ask_who(&who) == WEFT_OK) {
        demand(who.rank < who.size && who.local_size <= who.size &&
                   who.local_rank < who.local_size && who.leader <= who.rank &&
                   who.leader >= 0 && who.node < who.node_count,
               "a place that is none");
    }
    if (get(0, "key", text) == WEFT_OK) {
        demand(strlen(text) <= WEFT_KVS_VALUE_MAX, "a value without end");
    }
    return 0;
}
