/* test_secret.c - the job's secret through a launcher's key-value space. */
#include "unit.h"

#include "wireup/secret.h"

#include <stdio.h>
#include <string.h>

/* A space with room for one key. */
static struct {
    char key[64];
    char value[WEFT_KVS_VALUE_MAX + 1];
    enum weft_rc rc; /* of everything */
    int asked;       /* whose key was asked for */
} space;

static enum weft_rc put(const char *key, const char *value)
{
    snprintf(space.key, sizeof(space.key), "%s", key);
    snprintf(space.value, sizeof(space.value), "%s", value);
    return space.rc;
}

static enum weft_rc get(int rank, const char *key, char *value)
{
    space.asked = rank;
    if (space.rc != WEFT_OK || strcmp(key, space.key) != 0) {
        return WEFT_ERR_ARGUMENT;
    }
    memcpy(value, space.value, sizeof(space.value));
    return WEFT_OK;
}

static const struct weft_kvs_ops kvs = {.name = "fake", .put = put, .get = get};

static struct weft_segment create(uint32_t node)
{
    const struct weft_segment_plan plan = {
        .job = 4711,
        .job_size = 2,
        .node_count = 2,
        .node = node,
        .local_size = 1,
    };
    struct weft_segment segment = {.fd = -1};

    assert_int_equal(weft_segment_create(&plan, &segment), WEFT_OK);
    return segment;
}

static void another_node_has_the_secret_of_rank_0(void **state)
{
    struct weft_segment first = create(0);
    struct weft_segment second = create(1);

    (void)state;
    memset(&space, 0, sizeof(space));
    space.asked = -1;
    first.header->secret[0] = 0;
    first.header->secret[1] = 0xff;
    first.header->secret[2] = 0x1a;
    assert_int_equal(weft_secret_leave(&kvs, &first), WEFT_OK);
    assert_int_equal(strlen(space.value), 2 * WEFT_SEGMENT_SECRET_BYTES);
    assert_memory_equal(space.value, "00ff1a", 6);
    assert_memory_not_equal(first.header->secret, second.header->secret,
                            WEFT_SEGMENT_SECRET_BYTES);
    assert_int_equal(weft_secret_take(&kvs, &second), WEFT_OK);
    assert_int_equal(space.asked, 0);
    assert_memory_equal(first.header->secret, second.header->secret,
                        WEFT_SEGMENT_SECRET_BYTES);
    weft_segment_close(&first);
    weft_segment_close(&second);
}

static void what_is_no_secret_is_refused(void **state)
{
    struct weft_segment segment = create(1);
    uint8_t before[WEFT_SEGMENT_SECRET_BYTES];

    (void)state;
    memcpy(before, segment.header->secret, sizeof(before));
    memset(&space, 0, sizeof(space));
    assert_int_equal(weft_secret_take(&kvs, &segment), WEFT_ERR_LAUNCH); /* no key */
    assert_int_equal(weft_secret_leave(&kvs, &segment), WEFT_OK);
    space.value[5] = 'g';
    assert_int_equal(weft_secret_take(&kvs, &segment), WEFT_ERR_LAUNCH);
    space.value[5] = '\0';
    assert_int_equal(weft_secret_take(&kvs, &segment), WEFT_ERR_LAUNCH);
    memset(space.value, '0', 2 * WEFT_SEGMENT_SECRET_BYTES + 1);
    assert_int_equal(weft_secret_take(&kvs, &segment), WEFT_ERR_LAUNCH);
    space.rc = WEFT_ERR_LAUNCH;
    assert_int_equal(weft_secret_leave(&kvs, &segment), WEFT_ERR_LAUNCH);
    assert_memory_equal(before, segment.header->secret, sizeof(before));
    weft_segment_close(&segment);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(another_node_has_the_secret_of_rank_0),
        cmocka_unit_test(what_is_no_secret_is_refused),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
