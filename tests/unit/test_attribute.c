/*
 * test_attribute.c - keys and attributes: what a duplicate gets, in which order callbacks
 * run, and what becomes of failures and freed keys.
 */
#include "unit.h"

#include "core/attribute.h"

static int objects[2]; /* their addresses stand for handles */

static struct {
    int copies[8];
    int copy_count;
    int deletes[8];
    int delete_count;
    int fail_on; /* the value whose callback fails, or 0 */
    struct weft_attributes *watched;
    int other_key;
} seen;

static void *value_of(int number)
{
    return (void *)(intptr_t)number;
}

static int copy_tenfold(MPI_Comm comm, int keyval, void *extra, void *in, void *out,
                        int *flag)
{
    int number = (int)(intptr_t)in;

    (void)keyval;
    assert_ptr_equal(comm, &objects[0]);
    assert_ptr_equal(extra, &seen);
    seen.copies[seen.copy_count++] = number;
    if (number == seen.fail_on) {
        return MPI_ERR_IO;
    }
    *flag = number % 2; /* odd ones go along */
    *(void **)out = value_of(10 * number);
    return MPI_SUCCESS;
}

static int note_delete(MPI_Comm comm, int keyval, void *value, void *extra)
{
    (void)comm;
    (void)keyval;
    assert_ptr_equal(extra, &seen);
    seen.deletes[seen.delete_count++] = (int)(intptr_t)value;
    return (int)(intptr_t)value == seen.fail_on ? MPI_ERR_IO : MPI_SUCCESS;
}

static int make_key(MPI_Comm_copy_attr_function *copy)
{
    int key = MPI_KEYVAL_INVALID;

    assert_int_equal(
        weft_keyval_create(WEFT_KIND_COMM, (union weft_copy_fn){.comm = copy},
                           (union weft_delete_fn){.comm = note_delete}, &seen, &key),
        WEFT_OK);
    return key;
}

static void set(struct weft_attributes *attributes, int key, int number)
{
    assert_int_equal(weft_attribute_set(WEFT_KIND_COMM, &objects[0], attributes, key,
                                        value_of(number)),
                     MPI_SUCCESS);
}

static void holds(const struct weft_attributes *attributes, int key, int number)
{
    void *value = NULL;
    bool is_there = false;

    assert_int_equal(
        weft_attribute_get(WEFT_KIND_COMM, attributes, key, &value, &is_there),
        MPI_SUCCESS);
    assert_int_equal(is_there, number != 0);
    assert_ptr_equal(value, value_of(number));
}

static int forget_what_was_seen(void **state)
{
    (void)state;
    memset(&seen, 0, sizeof(seen));
    return 0;
}

static void a_duplicate_gets_what_the_copy_callbacks_say(void **state)
{
    struct weft_attributes from = {0};
    struct weft_attributes to = {0};
    int keys[5];

    (void)state;
    for (int i = 0; i < 5; i++) {
        keys[i] = make_key(i == 3   ? MPI_COMM_NULL_COPY_FN
                           : i == 4 ? MPI_COMM_DUP_FN
                                    : copy_tenfold);
        set(&from, keys[i], i + 1);
    }
    assert_int_equal(weft_attributes_copy(WEFT_KIND_COMM, &objects[0], &from, &to),
                     MPI_SUCCESS);
    assert_int_equal(seen.copy_count, 3); /* in the order of setting */
    assert_int_equal(seen.copies[0], 1);
    assert_int_equal(seen.copies[2], 3);
    holds(&to, keys[0], 10);
    holds(&to, keys[1], 0);
    holds(&to, keys[2], 30);
    holds(&to, keys[3], 0);
    holds(&to, keys[4], 5);

    assert_int_equal(weft_attributes_clear(WEFT_KIND_COMM, &objects[1], &to),
                     MPI_SUCCESS);
    assert_int_equal(seen.delete_count, 3); /* newest first */
    assert_int_equal(seen.deletes[0], 5);
    assert_int_equal(seen.deletes[2], 10);
    assert_null(to.at);
    assert_int_equal(weft_attributes_clear(WEFT_KIND_COMM, &objects[0], &from),
                     MPI_SUCCESS);
    for (int i = 0; i < 5; i++) {
        assert_true(weft_keyval_free(WEFT_KIND_COMM, keys[i]));
    }
}

static void a_failing_copy_leaves_what_was_copied_to_be_cleared(void **state)
{
    struct weft_attributes from = {0};
    struct weft_attributes to = {0};
    int key = make_key(copy_tenfold);
    int other = make_key(copy_tenfold);

    (void)state;
    set(&from, key, 1);
    set(&from, other, 3);
    seen.fail_on = 3;
    assert_int_equal(weft_attributes_copy(WEFT_KIND_COMM, &objects[0], &from, &to),
                     MPI_ERR_IO);
    seen.fail_on = 0;
    assert_int_equal(to.count, 1);
    assert_int_equal(weft_attributes_clear(WEFT_KIND_COMM, &objects[1], &to),
                     MPI_SUCCESS);
    assert_int_equal(seen.deletes[0], 10);
    weft_attributes_forget(&from);
    assert_int_equal(seen.delete_count, 1);
    assert_true(weft_keyval_free(WEFT_KIND_COMM, key));
    assert_true(weft_keyval_free(WEFT_KIND_COMM, other));
}

static void clearing_stops_at_a_failure_and_can_be_repeated(void **state)
{
    struct weft_attributes attributes = {0};
    int keys[3];

    (void)state;
    for (int i = 0; i < 3; i++) {
        keys[i] = make_key(MPI_COMM_NULL_COPY_FN);
        set(&attributes, keys[i], i + 1);
    }
    seen.fail_on = 2;
    assert_int_equal(weft_attributes_clear(WEFT_KIND_COMM, &objects[0], &attributes),
                     MPI_ERR_IO);
    assert_int_equal(attributes.count, 2);
    holds(&attributes, keys[1], 2);
    seen.fail_on = 0;
    assert_int_equal(weft_attributes_clear(WEFT_KIND_COMM, &objects[0], &attributes),
                     MPI_SUCCESS);
    assert_int_equal(seen.delete_count, 4); /* 3, 2, 2, 1 */
    assert_int_equal(seen.deletes[3], 1);
    for (int i = 0; i < 3; i++) {
        assert_true(weft_keyval_free(WEFT_KIND_COMM, keys[i]));
    }
}

/* The copy callback takes away what is being copied, and frees the key. */
static int copy_and_delete(MPI_Comm comm, int keyval, void *extra, void *in, void *out,
                           int *flag)
{
    (void)extra;
    *(void **)out = in;
    *flag = 1;
    assert_int_equal(
        weft_attribute_delete(WEFT_KIND_COMM, comm, seen.watched, seen.other_key),
        MPI_SUCCESS);
    assert_int_equal(weft_attribute_delete(WEFT_KIND_COMM, comm, seen.watched, keyval),
                     MPI_SUCCESS);
    assert_true(weft_keyval_free(WEFT_KIND_COMM, keyval));
    return MPI_SUCCESS;
}

static void callbacks_may_change_what_is_being_copied(void **state)
{
    struct weft_attributes from = {0};
    struct weft_attributes to = {0};
    int key = make_key(copy_and_delete);
    int next;

    (void)state;
    seen.other_key = make_key(MPI_COMM_DUP_FN);
    seen.watched = &from;
    set(&from, key, 1);
    set(&from, seen.other_key, 2);
    assert_int_equal(weft_attributes_copy(WEFT_KIND_COMM, &objects[0], &from, &to),
                     MPI_SUCCESS);
    assert_int_equal(from.count, 0);
    assert_int_equal(to.count, 2);
    holds(&to, seen.other_key, 2);
    next = make_key(MPI_COMM_NULL_COPY_FN); /* the freed key is still in use by `to` */
    assert_int_not_equal(next, key);
    assert_int_equal(weft_attributes_clear(WEFT_KIND_COMM, &objects[1], &to),
                     MPI_SUCCESS);
    assert_true(weft_keyval_free(WEFT_KIND_COMM, seen.other_key));
    assert_true(weft_keyval_free(WEFT_KIND_COMM, next));
}

static void a_freed_number_is_not_a_later_key(void **state)
{
    struct weft_attributes attributes = {0};
    int first = make_key(MPI_COMM_NULL_COPY_FN);
    int later;

    (void)state;
    assert_true(weft_keyval_free(WEFT_KIND_COMM, first));
    later = make_key(MPI_COMM_NULL_COPY_FN);
    assert_int_not_equal(first, later);
    assert_int_equal(
        weft_attribute_set(WEFT_KIND_COMM, &objects[0], &attributes, first, NULL),
        MPI_ERR_KEYVAL);
    assert_false(weft_keyval_free(WEFT_KIND_COMM, first));
    assert_false(weft_keyval_free(WEFT_KIND_WIN, later));
    assert_true(weft_keyval_free(WEFT_KIND_COMM, later));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup(a_duplicate_gets_what_the_copy_callbacks_say,
                               forget_what_was_seen),
        cmocka_unit_test_setup(a_failing_copy_leaves_what_was_copied_to_be_cleared,
                               forget_what_was_seen),
        cmocka_unit_test_setup(clearing_stops_at_a_failure_and_can_be_repeated,
                               forget_what_was_seen),
        cmocka_unit_test_setup(callbacks_may_change_what_is_being_copied,
                               forget_what_was_seen),
        cmocka_unit_test_setup(a_freed_number_is_not_a_later_key, forget_what_was_seen),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
