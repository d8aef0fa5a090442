/*
 * test_mr_cache.c - memory whose life is known, and registrations of it that are kept:
 * against a domain that counts.
 */
#include "unit.h"

#include "base/forks.h"
#include "transport/ofi/common/mr_cache.h"

#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

enum { KB = 1024, MB = 1024 * 1024 };

#define LOCAL (FI_SEND | FI_RECV | FI_READ | FI_WRITE)

/* No byte of it is touched: addresses are enough. */
#define MEMORY ((char *)((uintptr_t)1 << 32))

/* ---- a provider that counts ---- */

static struct fake {
    int made; /* registrations, ever */
    int live;
    int most; /* that may live at once; 0: any number */
    const void *last_base;
    size_t last_bytes;
    uint64_t last_access;
    uint64_t refused; /* access */
} fake;

static int close_mr(struct fid *fid)
{
    fake.live--;
    free(fid);
    return 0;
}

static struct fi_ops mr_fid_ops = {.size = sizeof(mr_fid_ops), .close = close_mr};

static int register_memory(struct fid *fid, const void *memory, size_t bytes,
                           uint64_t access, uint64_t offset, uint64_t key, uint64_t flags,
                           struct fid_mr **mr, void *context)
{
    (void)fid;
    (void)offset;
    (void)key;
    (void)flags;
    (void)context;
    if (fake.most > 0 && fake.live >= fake.most) {
        return -FI_ENOMEM;
    }
    if ((access & fake.refused) != 0) {
        return -FI_EACCES;
    }
    *mr = calloc(1, sizeof(**mr));
    assert_non_null(*mr);
    (*mr)->fid.ops = &mr_fid_ops;
    fake.made++;
    fake.live++;
    fake.last_base = memory;
    fake.last_bytes = bytes;
    fake.last_access = access;
    return 0;
}

static struct fi_ops_mr mr_ops = {.size = sizeof(mr_ops), .reg = register_memory};
static struct fid_domain domain = {.mr = &mr_ops};
static struct fi_domain_attr domain_attr;
static struct fi_fabric_attr fabric_attr;
static struct fi_info info = {.domain_attr = &domain_attr, .fabric_attr = &fabric_attr};
static struct weft_ofi ofi = {.info = &info, .domain = &domain};
static struct weft_mr_cache cache;

static void open_as(const char *name, int mr_mode, size_t mr_count)
{
    fake = (struct fake){0};
    domain_attr = (struct fi_domain_attr){.mr_mode = mr_mode, .mr_cnt = mr_count};
    fabric_attr.prov_name = (char *)(uintptr_t)name;
    assert_int_equal(weft_forks_open(), WEFT_OK);
    weft_mr_cache_open(&cache, &ofi);
}

static int open_cache(void **state)
{
    (void)state;
    open_as("other", FI_MR_LOCAL, 0);
    return 0;
}

static int close_cache(void **state)
{
    (void)state;
    weft_mr_cache_close(&cache);
    assert_int_equal(fake.live, 0);
    return 0;
}

static struct weft_mr *take(const char *at, size_t bytes, uint64_t access)
{
    struct weft_mr *mr = NULL;

    assert_int_equal(weft_mr_cache_take(&cache, at, bytes, access, &mr), WEFT_OK);
    assert_non_null(mr);
    assert_true(mr->base <= (uintptr_t)at);
    assert_true(mr->base + mr->bytes >= (uintptr_t)at + bytes);
    return mr;
}

static void use(const char *at, size_t bytes, uint64_t access)
{
    weft_mr_cache_give(&cache, take(at, bytes, access));
}

/* ---- what lasts ---- */

static bool lasts(const char *at, size_t bytes)
{
    struct weft_lasting_range range;

    return weft_lasting_find(at, bytes, &range);
}

static void ranges_are_found_by_any_part_of_them(void **state)
{
    (void)state;
    weft_lasting_add(MEMORY, 8 * KB, NULL);
    assert_true(lasts(MEMORY, 8 * KB) && lasts(MEMORY + 8 * KB - 1, 1));
    assert_false(lasts(MEMORY - 1, 2));
    assert_false(lasts(MEMORY + 8 * KB - 1, 2));
    assert_false(lasts(MEMORY + 1, SIZE_MAX));
    weft_lasting_remove(MEMORY + 1, NULL); /* no range begins there */
    weft_lasting_remove(MEMORY, &cache);   /* nor is it that owner's */
    assert_true(lasts(MEMORY, 8 * KB));
    weft_lasting_remove(MEMORY, NULL);
    assert_false(lasts(MEMORY, 1));
}

static void a_range_in_another_does_not_hide_it(void **state)
{
    int a;
    int b;

    (void)state;
    weft_lasting_add(MEMORY, 64 * KB, NULL);
    weft_lasting_add(MEMORY + 8 * KB, 8 * KB, &a);
    weft_lasting_add(MEMORY + 8 * KB, 8 * KB, &b);
    weft_lasting_add(MEMORY + 32 * KB, 8 * KB, &b);
    assert_true(lasts(MEMORY + 8 * KB, 32 * KB)); /* in none but the first */
    weft_lasting_remove(MEMORY, NULL);
    assert_false(lasts(MEMORY + 8 * KB, 32 * KB));
    weft_lasting_remove(MEMORY + 8 * KB, &a);
    assert_true(lasts(MEMORY + 8 * KB, 8 * KB));
    weft_lasting_remove(MEMORY + 8 * KB, &b);
    assert_false(lasts(MEMORY + 8 * KB, 8 * KB));
    weft_lasting_remove(MEMORY + 32 * KB, &b);
    assert_false(lasts(MEMORY + 32 * KB, 1));
}

static void short_ranges_and_too_many_are_not_noted(void **state)
{
    const size_t each = 8 * KB;

    (void)state;
    weft_lasting_add(MEMORY, WEFT_LASTING_LEAST - 1, NULL);
    assert_false(lasts(MEMORY, 1));
    for (size_t i = 0; i <= WEFT_LASTING_MOST; i++) {
        weft_lasting_add(MEMORY + i * each, each, NULL);
    }
    assert_true(lasts(MEMORY + (WEFT_LASTING_MOST - 1) * each, each));
    assert_false(lasts(MEMORY + WEFT_LASTING_MOST * each, each));
    for (size_t i = 0; i <= WEFT_LASTING_MOST; i++) {
        weft_lasting_remove(MEMORY + i * each, NULL);
    }
    assert_false(lasts(MEMORY, each));
}

/* ---- what is kept ---- */

static void memory_of_unknown_life_is_registered_each_time(void **state)
{
    (void)state;
    use(MEMORY, MB, FI_WRITE);
    use(MEMORY, MB, FI_WRITE);
    assert_int_equal(fake.made, 2);
    assert_int_equal(fake.live, 0);
    assert_true(fake.last_access == FI_WRITE);
}

static void one_registration_serves_all_parts_of_a_range(void **state)
{
    (void)state;
    weft_lasting_add(MEMORY, MB, NULL);
    use(MEMORY + 100, KB, FI_WRITE);
    assert_ptr_equal(fake.last_base, MEMORY);
    assert_int_equal(fake.last_bytes, MB);
    use(MEMORY + 512 * KB, 512 * KB, FI_READ);
    use(MEMORY, MB, FI_SEND);
    assert_int_equal(fake.made, 1);
    assert_int_equal(cache.found, 2);
    use(MEMORY, MB + 1, FI_SEND); /* more than the range */
    assert_int_equal(fake.made, 2);
    assert_int_equal(fake.live, 1);
    weft_lasting_remove(MEMORY, NULL);
    assert_int_equal(fake.live, 0);
}

static void peers_get_the_rights_that_were_asked_for(void **state)
{
    (void)state;
    weft_lasting_add(MEMORY, MB, NULL);
    use(MEMORY, KB, FI_WRITE);
    assert_true(fake.last_access == LOCAL);
    use(MEMORY, KB, FI_REMOTE_READ);
    assert_true(fake.last_access == FI_REMOTE_READ);
    use(MEMORY, KB, FI_REMOTE_WRITE);
    assert_true(fake.last_access == FI_REMOTE_WRITE);
    use(MEMORY, KB, FI_REMOTE_READ);
    assert_int_equal(fake.made, 3);
    weft_mr_cache_forget_peers(&cache); /* one of them was given up */
    assert_int_equal(fake.live, 1);
    use(MEMORY, KB, FI_WRITE);
    assert_int_equal(fake.made, 3);
    weft_lasting_remove(MEMORY, NULL);
}

static void long_ranges_are_registered_in_pieces(void **state)
{
    (void)state;
    weft_lasting_add(MEMORY, WEFT_MR_CACHE_WHOLE + 1, NULL);
    use(MEMORY + MB, MB, FI_WRITE);
    assert_int_equal(fake.last_bytes, MB);
    use(MEMORY + MB, MB, FI_WRITE);
    assert_int_equal(fake.made, 1);
    use(MEMORY + MB, 2 * MB, FI_WRITE);
    assert_int_equal(fake.made, 2);
    weft_lasting_remove(MEMORY, NULL);
    assert_int_equal(fake.live, 0);
}

static void a_range_that_ends_while_it_is_used_ends_with_its_last_user(void **state)
{
    struct weft_mr *one;
    struct weft_mr *two;

    (void)state;
    weft_lasting_add(MEMORY, MB, NULL);
    one = take(MEMORY, KB, FI_WRITE);
    two = take(MEMORY + KB, KB, FI_WRITE);
    assert_ptr_equal(one, two);
    weft_lasting_remove(MEMORY, NULL);
    assert_int_equal(fake.live, 1);
    weft_lasting_add(MEMORY, MB, NULL); /* other memory, at the same place */
    assert_ptr_not_equal(take(MEMORY, KB, FI_WRITE), one);
    assert_int_equal(fake.made, 2);
    weft_mr_cache_give(&cache, one);
    assert_int_equal(fake.live, 2);
    weft_mr_cache_give(&cache, two);
    assert_int_equal(fake.live, 1);
    weft_mr_cache_give(&cache, cache.kept);
    weft_lasting_remove(MEMORY, NULL);
}

/* ---- bounds ---- */

static void the_one_used_longest_ago_goes_first_and_never_one_in_use(void **state)
{
    const size_t each = MB;
    struct weft_mr *used;

    (void)state;
    cache.count_most = 3;
    for (size_t i = 0; i < 5; i++) {
        weft_lasting_add(MEMORY + i * each, each, NULL);
    }
    used = take(MEMORY, KB, FI_WRITE);
    use(MEMORY + each, KB, FI_WRITE);
    use(MEMORY + 2 * each, KB, FI_WRITE);
    use(MEMORY + each, KB, FI_WRITE);
    assert_int_equal(fake.made, 3);
    use(MEMORY + 3 * each, KB, FI_WRITE); /* instead of number 2 */
    assert_int_equal(fake.live, 3);
    use(MEMORY, KB, FI_WRITE);
    use(MEMORY + each, KB, FI_WRITE);
    assert_int_equal(fake.made, 4);
    use(MEMORY + 2 * each, KB, FI_WRITE);
    assert_int_equal(fake.made, 5);
    weft_mr_cache_give(&cache, used);
    for (size_t i = 0; i < 5; i++) {
        weft_lasting_remove(MEMORY + i * each, NULL);
    }
    assert_int_equal(fake.live, 0);
}

static void what_finds_no_place_is_not_kept(void **state)
{
    struct weft_mr *used;

    (void)state;
    cache.bytes_most = 2 * MB;
    weft_lasting_add(MEMORY, 2 * MB, NULL);
    weft_lasting_add(MEMORY + 2 * MB, MB, NULL);
    weft_lasting_add(MEMORY + 8 * MB, 3 * MB, NULL);
    used = take(MEMORY, KB, FI_WRITE);
    use(MEMORY + 2 * MB, KB, FI_WRITE);
    assert_int_equal(fake.last_bytes, KB);
    assert_int_equal(fake.live, 1);
    weft_mr_cache_give(&cache, used);
    use(MEMORY + 8 * MB, KB, FI_WRITE); /* longer than all places */
    assert_int_equal(fake.live, 1);
    use(MEMORY + 2 * MB, KB, FI_WRITE);
    assert_int_equal(fake.live, 1);
    assert_int_equal(cache.bytes, MB);
    weft_lasting_remove(MEMORY, NULL);
    weft_lasting_remove(MEMORY + 2 * MB, NULL);
    weft_lasting_remove(MEMORY + 8 * MB, NULL);
}

static void a_refused_registration_takes_the_place_of_a_kept_one(void **state)
{
    struct weft_mr *mr;
    struct weft_mr *more;

    (void)state;
    weft_lasting_add(MEMORY, MB, NULL);
    weft_lasting_add(MEMORY + MB, MB, NULL);
    use(MEMORY, KB, FI_WRITE);
    use(MEMORY + MB, KB, FI_WRITE);
    fake.most = 2;
    mr = take(MEMORY + 8 * MB, KB, FI_REMOTE_WRITE); /* does not last */
    assert_int_equal(fake.live, 2);
    more = take(MEMORY + MB, KB, FI_WRITE); /* is still kept */
    assert_int_equal(fake.made, 3);
    assert_int_equal(
        weft_mr_cache_take(&cache, MEMORY + 9 * MB, KB, FI_REMOTE_WRITE, &mr),
        WEFT_AGAIN);
    weft_mr_cache_give(&cache, mr);
    weft_mr_cache_give(&cache, more);
    weft_lasting_remove(MEMORY, NULL);
    weft_lasting_remove(MEMORY + MB, NULL);
}

static void memory_that_cannot_be_written_is_registered_as_asked(void **state)
{
    (void)state;
    fake.refused = FI_READ;
    weft_lasting_add(MEMORY, MB, NULL);
    use(MEMORY, KB, FI_WRITE);
    assert_true(fake.last_access == FI_WRITE);
    assert_int_equal(fake.live, 0);
    weft_lasting_remove(MEMORY, NULL);
}

/* ---- who keeps nothing ---- */

static int made_for_two_uses(const char *name, int mr_mode, size_t mr_count)
{
    int made;

    open_as(name, mr_mode, mr_count);
    weft_lasting_add(MEMORY, MB, NULL);
    use(MEMORY, KB, FI_REMOTE_WRITE);
    use(MEMORY, KB, FI_REMOTE_WRITE);
    made = fake.made;
    weft_lasting_remove(MEMORY, NULL);
    (void)close_cache(NULL);
    return made;
}

static void the_cache_is_off_where_it_is_of_no_use(void **state)
{
    struct weft_mr *mr;

    (void)state;
    assert_int_equal(made_for_two_uses("other", FI_MR_LOCAL, 0), 1);
    assert_int_equal(made_for_two_uses("other", FI_MR_ALLOCATED, 0), 1);
    assert_int_equal(made_for_two_uses("tcp", 0, 0), 2);
    assert_int_equal(made_for_two_uses("other", FI_MR_LOCAL, 3), 2); /* few places */
    assert_int_equal(made_for_two_uses("verbs", FI_MR_LOCAL, 0), 2);
    setenv("FI_MR_CACHE_MONITOR", "disabled", 1);
    assert_int_equal(made_for_two_uses("verbs;ofi_rxm", FI_MR_LOCAL, 0), 1);
    setenv("FI_MR_CACHE_MONITOR", "memhooks", 1);
    assert_int_equal(made_for_two_uses("verbs", FI_MR_LOCAL, 0), 2);
    setenv("FI_MR_CACHE_MAX_COUNT", "0", 1);
    assert_int_equal(made_for_two_uses("verbs", FI_MR_LOCAL, 0), 1);
    unsetenv("FI_MR_CACHE_MONITOR");
    unsetenv("FI_MR_CACHE_MAX_COUNT");
    open_as("tcp", 0, 0);
    assert_int_equal(weft_mr_cache_take_local(&cache, MEMORY, KB, FI_WRITE, &mr),
                     WEFT_OK);
    assert_null(mr);
    weft_mr_cache_give(&cache, mr);
    (void)close_cache(NULL);
}

/* ---- fork ---- */

/* In the child: nothing is closed, whatever it does. */
static void be_a_child(struct weft_mr *used)
{
    const int live = fake.live;

    weft_mr_cache_give(&cache, used);
    weft_lasting_remove(MEMORY, NULL);
    weft_lasting_remove(MEMORY + MB, NULL);
    weft_mr_cache_close(&cache);
    _exit(fake.live == live ? 0 : 1);
}

static void a_fork_ends_what_is_kept_and_a_child_releases_nothing(void **state)
{
    struct weft_mr *used;
    int status;
    pid_t child;

    (void)state;
    weft_lasting_add(MEMORY, MB, NULL);
    weft_lasting_add(MEMORY + MB, MB, NULL);
    used = take(MEMORY, KB, FI_WRITE);
    use(MEMORY + MB, KB, FI_WRITE);
    child = fork();
    assert_true(child >= 0);
    if (child == 0) {
        be_a_child(used);
    }
    assert_int_equal(waitpid(child, &status, 0), child);
    assert_true(WIFEXITED(status) && WEXITSTATUS(status) == 0);
    assert_int_equal(fake.live, 2);
    use(MEMORY + MB, KB, FI_WRITE); /* made anew */
    assert_int_equal(fake.made, 3);
    assert_int_equal(fake.live, 2); /* with the one in use */
    use(MEMORY, KB, FI_WRITE);
    assert_int_equal(fake.made, 4);
    weft_mr_cache_give(&cache, used);
    assert_int_equal(fake.live, 2);
    weft_lasting_remove(MEMORY, NULL);
    weft_lasting_remove(MEMORY + MB, NULL);
}

#define CASE(name) cmocka_unit_test_setup_teardown(name, open_cache, close_cache)

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(ranges_are_found_by_any_part_of_them),
        cmocka_unit_test(a_range_in_another_does_not_hide_it),
        cmocka_unit_test(short_ranges_and_too_many_are_not_noted),
        CASE(memory_of_unknown_life_is_registered_each_time),
        CASE(one_registration_serves_all_parts_of_a_range),
        CASE(peers_get_the_rights_that_were_asked_for),
        CASE(long_ranges_are_registered_in_pieces),
        CASE(a_range_that_ends_while_it_is_used_ends_with_its_last_user),
        CASE(the_one_used_longest_ago_goes_first_and_never_one_in_use),
        CASE(what_finds_no_place_is_not_kept),
        CASE(a_refused_registration_takes_the_place_of_a_kept_one),
        CASE(memory_that_cannot_be_written_is_registered_as_asked),
        cmocka_unit_test(the_cache_is_off_where_it_is_of_no_use),
        CASE(a_fork_ends_what_is_kept_and_a_child_releases_nothing),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
