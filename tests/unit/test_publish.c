/*
 * test_publish.c - bytes as ranks tell them to each other
 * (transport/ofi/common/publish.h).
 */
#include "unit.h"

#include "transport/ofi/common/publish.h"

#include <string.h>

static void bytes_are_read_as_they_were_written(void **unused)
{
    const uint8_t bytes[4] = {0x00, 0x7f, 0x80, 0xff};
    char value[WEFT_OFI_VALUE_MAX + 1] = "1/";
    uint8_t read[4] = {1, 1, 1, 1};

    (void)unused;
    assert_int_equal(weft_ofi_write_bytes(value, 2, bytes, sizeof(bytes)), 10);
    assert_string_equal(value, "1/007f80ff");
    assert_int_equal(weft_ofi_read_bytes(value + 2, 8, read, sizeof(read)), 4);
    assert_memory_equal(read, bytes, sizeof(bytes));
    assert_int_equal(weft_ofi_read_bytes("ab,host", strcspn("ab,host", ","), read, 4), 1);
    assert_int_equal(read[0], 0xab);
}

static void what_is_no_bytes_is_refused(void **unused)
{
    uint8_t read[2];

    (void)unused;
    assert_int_equal(weft_ofi_read_bytes("", 0, read, 2), 0);
    assert_int_equal(weft_ofi_read_bytes("abc", 3, read, 2), 0);
    assert_int_equal(weft_ofi_read_bytes("abcdef", 6, read, 2), 0);
    assert_int_equal(weft_ofi_read_bytes("ag", 2, read, 2), 0);
    assert_int_equal(weft_ofi_read_bytes("+1", 2, read, 2), 0);
    assert_int_equal(weft_ofi_read_bytes("ab", 4, read, 2), 0);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(bytes_are_read_as_they_were_written),
        cmocka_unit_test(what_is_no_bytes_is_refused),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
