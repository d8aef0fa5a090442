/* test_regions.c - lists of regions, and how another process reads one. */
#include "unit.h"

#include "rma/regions.h"
#include "rma/shown.h"

#include <pthread.h>

enum { SPACE = 200, ROUNDS = 20000 };

static struct weft_rma_run block(uint64_t at, uint32_t length)
{
    return (struct weft_rma_run){.at = at, .length = length, .count = 1};
}

static uint32_t draw(uint32_t *seed, uint32_t below)
{
    *seed = *seed * 1664525u + 1013904223u;
    return (*seed >> 8) % below;
}

/* ---- the list ---- */

static void regions_are_kept_in_order(void **state)
{
    static const uint64_t bases[] = {300, 100, 200, 150, 250};
    struct weft_regions list = {0};
    size_t place = 9;

    (void)state;
    for (size_t i = 0; i < 5; i++) {
        assert_int_equal(weft_regions_add(&list, bases[i], 10, &place), WEFT_OK);
    }
    assert_int_equal(place, 3); /* 250 */
    for (size_t i = 0; i < 5; i++) {
        assert_int_equal(list.at[i].base, 100 + 50 * i);
    }
    assert_true(weft_regions_remove(&list, 200, &place));
    assert_int_equal(place, 2);
    assert_false(weft_regions_remove(&list, 200, &place));
    assert_false(weft_regions_remove(&list, 255, &place));
    assert_int_equal(list.count, 4);
    weft_regions_close(&list);
    assert_int_equal(list.count, 0);
}

static void empty_regions_are_nowhere_in_the_way(void **state)
{
    const struct weft_rma_run all = block(100, 100);
    struct weft_regions list = {0};
    size_t place;

    (void)state;
    assert_int_equal(weft_regions_add(&list, 150, 0, &place), WEFT_OK);
    assert_int_equal(weft_regions_add(&list, 100, 0, &place), WEFT_OK);
    assert_int_equal(weft_regions_add(&list, 100, 100, &place), WEFT_OK);
    assert_int_equal(weft_regions_add(&list, 160, 0, &place), WEFT_OK);
    assert_true(weft_regions_hold(&list, &all));
    assert_int_equal(weft_regions_add(&list, 160, 1, &place), WEFT_ERR_ARGUMENT);
    assert_int_equal(weft_regions_add(&list, 90, 11, &place), WEFT_ERR_ARGUMENT);
    assert_true(weft_regions_remove(&list, 100, &place)); /* the last at this address */
    assert_false(weft_regions_hold(&list, &all));
    assert_true(weft_regions_remove(&list, 100, &place));
    assert_int_equal(list.count, 2);
    weft_regions_close(&list);
}

static void the_ends_of_the_address_space_are_reached(void **state)
{
    const uint64_t end = UINT64_MAX - 99;
    struct weft_rma_run run = block(end, 99);
    struct weft_regions list = {0};
    size_t place;

    (void)state;
    assert_int_equal(weft_regions_add(&list, end, 99, &place), WEFT_OK);
    assert_int_equal(weft_regions_add(&list, 0, 10, &place), WEFT_OK);
    assert_true(weft_regions_hold(&list, &run));
    run = block(end + 50, 60); /* it would begin again at address 0 */
    assert_false(weft_regions_hold(&list, &run));
    run = (struct weft_rma_run){.at = 5, .stride = INT64_MIN, .length = 1, .count = 3};
    assert_false(weft_regions_hold(&list, &run));
    run = (struct weft_rma_run){.at = 9, .stride = -3, .length = 1, .count = 4};
    assert_true(weft_regions_hold(&list, &run));
    weft_regions_close(&list);
}

/* The model: which byte is in which region, counted from 1. */
struct model {
    uint8_t owner[SPACE];
    uint64_t base[SPACE + 1];
};

static bool model_holds(const struct model *model, const struct weft_rma_run *run)
{
    for (uint32_t k = 0; k < run->count; k++) {
        for (uint32_t i = 0; i < run->length; i++) {
            const int64_t at = (int64_t)run->at + run->stride * k + i;

            if (at < 0 || at >= SPACE || model->owner[at] == 0) {
                return false;
            }
        }
    }
    return true;
}

static void change(struct model *model, struct weft_regions *list, uint32_t *seed)
{
    const uint32_t base = draw(seed, SPACE);
    const uint32_t bytes = 1 + draw(seed, 12);
    const uint8_t name = (uint8_t)(base + 1);
    bool is_free = base + bytes <= SPACE;
    size_t place;

    if (model->base[name] != 0) { /* one begins here */
        assert_true(weft_regions_remove(list, base, &place));
        for (int i = 0; i < SPACE; i++) {
            model->owner[i] = model->owner[i] == name ? 0 : model->owner[i];
        }
        model->base[name] = 0;
        return;
    }
    assert_false(weft_regions_remove(list, base, &place));
    for (uint32_t i = base; is_free && i < base + bytes; i++) {
        is_free = model->owner[i] == 0;
    }
    if (base + bytes > SPACE) {
        return;
    }
    assert_int_equal(weft_regions_add(list, base, bytes, &place),
                     is_free ? WEFT_OK : WEFT_ERR_ARGUMENT);
    if (is_free) {
        memset(model->owner + base, name, bytes);
        model->base[name] = 1;
    }
}

static void random_lists_hold_what_a_model_does(void **state)
{
    static struct model model;
    struct weft_regions list = {0};
    uint32_t seed = 5;

    (void)state;
    for (int i = 0; i < ROUNDS; i++) {
        struct weft_rma_run run = {
            .at = draw(&seed, SPACE),
            .stride = (int64_t)draw(&seed, 40) - 20,
            .length = 1 + draw(&seed, 15),
            .count = 1 + draw(&seed, 4),
        };

        change(&model, &list, &seed);
        assert_int_equal(weft_regions_hold(&list, &run), model_holds(&model, &run));
    }
    weft_regions_close(&list);
}

/* ---- the table ---- */

enum { MOST = 64, CHANGES = 20000 };

struct stage {
    struct weft_shown shown;
    weft_shown_word small[2 * MOST / 2];
    weft_shown_word large[2 * MOST];
    _Atomic bool is_over;
};

/* Regions of a version are told by its number, so that a mixture is seen. */
static void fill(struct weft_regions *list, uint64_t version)
{
    list->count = version % MOST;
    for (size_t i = 0; i < list->count; i++) {
        list->at[i] = (struct weft_region){version * 1000 + i, version};
    }
}

static void *keep_changing(void *argument)
{
    struct stage *stage = argument;
    struct weft_regions list = {0};

    assert_true(weft_regions_reserve(&list, MOST));
    for (uint64_t version = 2; version <= 2 * CHANGES; version += 2) {
        fill(&list, version);
        if (list.count <= MOST / 2) {
            weft_shown_change(&stage->shown,
                              (struct weft_extent){1, sizeof(stage->small)}, stage->small,
                              &list, 0);
        } else {
            weft_shown_change(&stage->shown,
                              (struct weft_extent){2, sizeof(stage->large)}, stage->large,
                              &list, 0);
        }
    }
    weft_shown_hide(&stage->shown);
    weft_regions_close(&list);
    atomic_store_explicit(&stage->is_over, true, memory_order_release);
    return NULL;
}

/* True: a copy was whole. */
static bool look(struct stage *stage, struct weft_regions *copy)
{
    struct weft_shown_head head;

    if (!weft_shown_look(&stage->shown, &head) || head.count == WEFT_SHOWN_NOTHING ||
        head.version == 0) {
        return false;
    }
    assert_int_equal(head.count, head.version % MOST);
    assert_int_equal(head.extent.at, head.count <= MOST / 2 ? 1 : 2);
    if (!weft_shown_copy(&stage->shown, &head,
                         head.extent.at == 1 ? stage->small : stage->large, copy)) {
        return false;
    }
    for (size_t i = 0; i < copy->count; i++) {
        assert_int_equal(copy->at[i].base, head.version * 1000 + i);
        assert_int_equal(copy->at[i].bytes, head.version);
    }
    return true;
}

static void a_copy_is_of_one_version(void **state)
{
    static struct stage stage;
    struct weft_regions copy = {0};
    struct weft_shown_head head;
    pthread_t owner;

    (void)state;
    assert_true(weft_regions_reserve(&copy, MOST));
    assert_int_equal(pthread_create(&owner, NULL, keep_changing, &stage), 0);
    while (!atomic_load_explicit(&stage.is_over, memory_order_acquire)) {
        (void)look(&stage, &copy);
    }
    assert_int_equal(pthread_join(owner, NULL), 0);
    assert_true(weft_shown_look(&stage.shown, &head));
    assert_int_equal(head.count, WEFT_SHOWN_NOTHING);
    assert_int_equal(head.version, 2 * CHANGES + 2);
    weft_regions_close(&copy);
}

static void only_what_has_changed_is_written(void **state)
{
    static struct stage stage;
    struct weft_regions list = {0};
    struct weft_regions copy = {0};
    const struct weft_extent extent = {1, sizeof(stage.small)};
    struct weft_shown_head head;
    size_t place;

    (void)state;
    assert_true(weft_regions_reserve(&copy, MOST));
    for (uint64_t i = 0; i < 20; i++) {
        assert_int_equal(weft_regions_add(&list, i * 37 % 20 * 10, 5, &place), WEFT_OK);
        weft_shown_change(&stage.shown, extent, stage.small, &list, place);
    }
    assert_true(weft_regions_remove(&list, 50, &place));
    weft_shown_change(&stage.shown, extent, stage.small, &list, place);
    assert_true(weft_shown_look(&stage.shown, &head));
    assert_int_equal(head.version, 42);
    assert_true(weft_shown_copy(&stage.shown, &head, stage.small, &copy));
    assert_int_equal(copy.count, 19);
    assert_memory_equal(copy.at, list.at, 19 * sizeof(list.at[0]));
    /* while it changes, nothing can be known */
    atomic_store_explicit(&stage.shown.version, 43, memory_order_relaxed);
    assert_false(weft_shown_look(&stage.shown, &head));
    assert_false(weft_shown_copy(&stage.shown, &(struct weft_shown_head){42, 19, extent},
                                 stage.small, &copy));
    weft_regions_close(&list);
    weft_regions_close(&copy);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(regions_are_kept_in_order),
        cmocka_unit_test(empty_regions_are_nowhere_in_the_way),
        cmocka_unit_test(the_ends_of_the_address_space_are_reached),
        cmocka_unit_test(random_lists_hold_what_a_model_does),
        cmocka_unit_test(a_copy_is_of_one_version),
        cmocka_unit_test(only_what_has_changed_is_written),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
