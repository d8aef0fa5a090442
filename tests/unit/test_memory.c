/* test_memory.c - what is said of memory that cannot be accessed. */
#include "unit.h"

#include "base/memory.h"

#include <sys/mman.h>

static const char nvidia[] =
    "7f2c00000000-7f2c00200000 rw-s 00000000 00:05 512                        "
    "/dev/nvidia-uvm\n";

static void a_mapping_of_a_device_is_known_by_its_file(void **state)
{
    char path[WEFT_MEMORY_PATH];

    (void)state;
    assert_true(weft_memory_is_of_device(nvidia, 0x7f2c00000000, path));
    assert_string_equal(path, "/dev/nvidia-uvm");
    assert_true(
        weft_memory_is_of_device("1000-2000 rw-s 0 00:05 9 /dev/kfd\n", 0x1fff, path));
    assert_string_equal(path, "/dev/kfd");
    assert_true(weft_memory_is_of_device("1000-2000 rw-s 0 00:05 9 /dev/dri/renderD128",
                                         0x1000, path));
    assert_string_equal(path, "/dev/dri/renderD128");
}

static void other_mappings_and_addresses_are_no_device(void **state)
{
    char path[WEFT_MEMORY_PATH];

    (void)state;
    assert_false(weft_memory_is_of_device(nvidia, 0x7f2bffffffff, path));
    assert_false(weft_memory_is_of_device(nvidia, 0x7f2c00200000, path));
    assert_false(
        weft_memory_is_of_device("1000-2000 rw-p 0 00:00 0 [heap]\n", 0x1000, path));
    assert_false(
        weft_memory_is_of_device("1000-2000 rw-s 0 0:1 9 /dev/shm/x", 0x1000, path));
    assert_false(
        weft_memory_is_of_device("1000-2000 r-xp 0 8:1 9 /usr/dev/nvidia", 0x1000, path));
    assert_false(weft_memory_is_of_device("no mapping of /dev/nvidia0", 0x1000, path));
    assert_false(weft_memory_is_of_device("", 0, path));
}

static void every_page_has_to_be_writable(void **state)
{
    const size_t page = 4096;
    char *at =
        mmap(NULL, 3 * page, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);

    (void)state;
    assert_true(at != MAP_FAILED);
    assert_true(weft_memory_is_all_writable(at, 3 * page));
    assert_int_equal(mprotect(at + page, page, PROT_READ), 0);
    assert_true(weft_memory_is_all_writable(at, page));
    assert_true(weft_memory_is_all_writable(at + 2 * page, page));
    assert_false(weft_memory_is_all_writable(at, page + 1));
    assert_false(weft_memory_is_all_writable(at, 3 * page));
    assert_int_equal(munmap(at, 3 * page), 0);
}

static void what_is_wrong_is_said(void **state)
{
    const size_t page = 4096;
    char text[WEFT_MEMORY_TEXT];
    char *at =
        mmap(NULL, 2 * page, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);

    (void)state;
    assert_true(at != MAP_FAILED);
    assert_int_equal(munmap(at + page, page), 0);
    assert_true(weft_memory_is_readable(at, page));
    assert_false(weft_memory_is_readable(at, 2 * page));
    assert_non_null(strstr(weft_memory_describe(at, 2 * page, text, sizeof(text)),
                           "end in memory that is not mapped: is the count larger"));
    assert_int_equal(munmap(at, page), 0);
    assert_non_null(strstr(weft_memory_describe(at, page, text, sizeof(text)),
                           "are not mapped: was the memory freed"));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_mapping_of_a_device_is_known_by_its_file),
        cmocka_unit_test(other_mappings_and_addresses_are_no_device),
        cmocka_unit_test(every_page_has_to_be_writable),
        cmocka_unit_test(what_is_wrong_is_said),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
