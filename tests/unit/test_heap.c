/*
 * test_heap.c - extents of the job segment: two nodes in one process, each of which has
 * mapped the segment of one memfd by itself.
 */
#include "unit.h"

#include "node/heap.h"

#include <stdio.h>
#include <sys/stat.h>
#include <unistd.h>

#define CASE(name) cmocka_unit_test_setup_teardown(name, open_pair, close_pair)

enum { SIDES = 2, PAGE = 4096, MANY = 64 };

static struct weft_job jobs[SIDES];
static struct weft_node nodes[SIDES];

static int open_pair(void **state)
{
    const struct weft_segment_plan plan = {
        .job = 7,
        .job_size = SIDES,
        .node_count = 1,
        .local_size = SIDES,
        .is_by_launcher = true,
    };

    (void)state;
    memset(jobs, 0, sizeof(jobs));
    assert_int_equal(weft_segment_create(&plan, &jobs[0].segment), WEFT_OK);
    assert_int_equal(weft_segment_attach(dup(jobs[0].segment.fd), &jobs[1].segment),
                     WEFT_OK);
    for (int i = 0; i < SIDES; i++) {
        weft_segment_map(&jobs[0].segment)[i].local_rank = (uint32_t)i;
        weft_segment_plan_slot(&jobs[0].segment, (uint32_t)i, (uint32_t)i);
        jobs[i].who.rank = jobs[i].who.local_rank = i;
        weft_node_open(&jobs[i], &nodes[i]);
    }
    return 0;
}

static int close_pair(void **state)
{
    (void)state;
    for (int i = 0; i < SIDES; i++) {
        weft_node_close(&nodes[i]);
        weft_segment_close(&jobs[i].segment);
    }
    return 0;
}

static struct weft_extent take(int side, uint64_t bytes)
{
    struct weft_extent extent = {0, 0};

    assert_int_equal(weft_heap_take(&nodes[side], bytes, &extent), WEFT_OK);
    assert_true(extent.bytes >= bytes && extent.bytes < bytes + PAGE);
    assert_int_equal(extent.at % PAGE, 0);
    return extent;
}

static uint8_t *map(int side, struct weft_extent extent)
{
    uint8_t *memory = weft_heap_map(&nodes[side], extent);

    assert_non_null(memory);
    return memory;
}

/* Memory that the file has. */
static int64_t held(void)
{
    struct stat st;

    assert_int_equal(fstat(jobs[0].segment.fd, &st), 0);
    return (int64_t)st.st_blocks * 512;
}

static void what_one_writes_the_other_reads_at_the_same_place(void **state)
{
    const struct weft_extent extent = take(0, 3 * PAGE - 1);
    uint8_t *mine = map(0, extent);
    uint8_t *theirs = map(1, extent);

    (void)state;
    assert_ptr_not_equal(mine, theirs);
    mine[0] = 1;
    mine[extent.bytes - 1] = 2;
    assert_int_equal(theirs[0], 1);
    assert_int_equal(theirs[extent.bytes - 1], 2);
    weft_heap_unmap(mine, extent);
    weft_heap_unmap(theirs, extent);
    weft_heap_give(&nodes[0], extent);
}

static void an_extent_is_mapped_where_it_is_aligned(void **state)
{
    const struct weft_extent extent = take(0, 3 * PAGE);
    const size_t alignments[] = {1, PAGE, 2 * PAGE, 1 << 21, (size_t)1 << 30};
    uint8_t *theirs = map(1, extent);

    (void)state;
    for (size_t i = 0; i < sizeof(alignments) / sizeof(*alignments); i++) {
        uint8_t *mine = weft_heap_map_aligned(&nodes[0], extent, alignments[i]);

        assert_non_null(mine);
        assert_int_equal((uintptr_t)mine % alignments[i], 0);
        mine[extent.bytes - 1] = (uint8_t)(i + 1);
        assert_int_equal(theirs[extent.bytes - 1], i + 1);
        weft_heap_unmap(mine, extent);
    }
    assert_null(weft_heap_map_aligned(&nodes[0], extent, (size_t)1 << 63));
    weft_heap_unmap(theirs, extent);
    weft_heap_give(&nodes[0], extent);
}

static void memory_that_is_given_back_is_gone_and_comes_back_as_zeros(void **state)
{
    const int64_t before = held();
    const struct weft_extent extent = take(0, MANY * PAGE);
    struct weft_extent again;
    uint8_t *theirs = map(1, extent);

    (void)state;
    assert_int_equal(held(), before); /* nothing was touched yet */
    memset(theirs, 0xff, extent.bytes);
    assert_true(held() >= before + MANY * PAGE);
    weft_heap_give(&nodes[0], extent);
    assert_int_equal(held(), before);
    assert_int_equal(theirs[5], 0); /* whoever has it mapped still may look */
    weft_heap_unmap(theirs, extent);

    again = take(0, MANY * PAGE);
    assert_int_equal(again.at, extent.at);
    theirs = map(0, again);
    for (uint64_t i = 0; i < again.bytes; i += 101) {
        assert_int_equal(theirs[i], 0);
    }
    weft_heap_unmap(theirs, again);
    weft_heap_give(&nodes[0], again);
}

static void owners_have_ranges_of_their_own(void **state)
{
    const struct weft_extent one = take(0, WEFT_SEGMENT_RANGE_BYTES);
    struct weft_extent two = take(1, PAGE);
    struct weft_extent none = {1, 1};

    (void)state;
    assert_true(one.at + one.bytes <= two.at);
    assert_int_equal(weft_heap_take(&nodes[0], 1, &none), WEFT_ERR_NOMEM);
    assert_int_equal(weft_heap_take(&nodes[1], WEFT_SEGMENT_RANGE_BYTES, &none),
                     WEFT_ERR_NOMEM);
    assert_int_equal(weft_heap_take(&nodes[1], UINT64_MAX, &none), WEFT_ERR_NOMEM);
    assert_int_equal(none.at, 1);
    weft_heap_give(&nodes[0], one);
    weft_heap_give(&nodes[1], two);
}

/* In whatever order they come back, all of the range can be taken at once again. */
static void pieces_that_are_free_become_one_again(void **state)
{
    struct weft_extent extents[MANY];

    (void)state;
    for (unsigned step = 1; step < MANY; step += 2) { /* odd: every place once */
        for (int i = 0; i < MANY; i++) {
            extents[i] = take(0, (uint64_t)(i % 3 + 1) * PAGE);
        }
        for (unsigned i = 0; i < MANY; i++) {
            weft_heap_give(&nodes[0], extents[i * step % MANY]);
        }
        extents[0] = take(0, WEFT_SEGMENT_RANGE_BYTES);
        weft_heap_give(&nodes[0], extents[0]);
    }
}

static void extents_never_overlap(void **state)
{
    struct weft_extent extents[MANY] = {{0, 0}};
    uint32_t random = 1;

    (void)state;
    for (int round = 0; round < 4000; round++) {
        const int i = (int)((random = random * 1103515245 + 12345) >> 16) % MANY;

        if (extents[i].bytes > 0) {
            weft_heap_give(&nodes[0], extents[i]);
            extents[i].bytes = 0;
            continue;
        }
        extents[i] = take(0, 1 + (random >> 8) % (8 * PAGE));
        for (int k = 0; k < MANY; k++) {
            assert_true(k == i || extents[k].bytes == 0 ||
                        extents[k].at + extents[k].bytes <= extents[i].at ||
                        extents[i].at + extents[i].bytes <= extents[k].at);
        }
    }
    for (int i = 0; i < MANY; i++) {
        if (extents[i].bytes > 0) {
            weft_heap_give(&nodes[0], extents[i]);
        }
    }
}

/* As where the limit of file sizes left no room for one. */
static void a_segment_without_a_heap_has_no_extents(void **state)
{
    struct weft_extent none = {1, 1};

    (void)state;
    jobs[0].segment.heap_bytes = 0;
    assert_int_equal(weft_heap_take(&nodes[0], 1, &none), WEFT_ERR_NOMEM);
    assert_null(
        weft_heap_map(&nodes[0], (struct weft_extent){jobs[0].segment.heap_at, PAGE}));
}

/* A file system may run full, and a page that is not there then is a deadly signal. */
static void a_file_with_a_name_has_its_pages_at_once(void **state)
{
    FILE *file = tmpfile();
    const struct weft_segment *segment = &jobs[0].segment;
    struct stat before;
    struct stat after;

    (void)state;
    assert_non_null(file);
    if (ftruncate(fileno(file), (off_t)(segment->heap_at + segment->heap_bytes)) != 0) {
        fclose(file);
        skip(); /* no file system here has such files */
    }
    assert_true(dup2(fileno(file), segment->fd) >= 0);
    assert_int_equal(fstat(fileno(file), &before), 0);
    take(0, MANY * PAGE);
    assert_int_equal(fstat(fileno(file), &after), 0);
    assert_true((after.st_blocks - before.st_blocks) * 512 >= MANY * PAGE);
    fclose(file);
}

/* A peer says where: what is not in the heap is not mapped. */
static void what_is_no_extent_is_not_mapped(void **state)
{
    const struct weft_segment *segment = &jobs[0].segment;
    const uint64_t end = segment->heap_at + segment->heap_bytes;
    const struct weft_extent lies[] = {
        {0, PAGE},
        {segment->heap_at - PAGE, PAGE},
        {segment->heap_at + 1, PAGE},
        {segment->heap_at, 0},
        {segment->heap_at, PAGE - 1},
        {end, PAGE},
        {end - PAGE, 2 * PAGE},
        {segment->heap_at, UINT64_MAX - PAGE + 1},
        {UINT64_MAX - PAGE + 1, PAGE},
    };

    (void)state;
    for (size_t i = 0; i < sizeof(lies) / sizeof(lies[0]); i++) {
        assert_null(weft_heap_map(&nodes[0], lies[i]));
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        CASE(what_one_writes_the_other_reads_at_the_same_place),
        CASE(an_extent_is_mapped_where_it_is_aligned),
        CASE(memory_that_is_given_back_is_gone_and_comes_back_as_zeros),
        CASE(owners_have_ranges_of_their_own),
        CASE(pieces_that_are_free_become_one_again),
        CASE(extents_never_overlap),
        CASE(a_segment_without_a_heap_has_no_extents),
        CASE(a_file_with_a_name_has_its_pages_at_once),
        CASE(what_is_no_extent_is_not_mapped),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
