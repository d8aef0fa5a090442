/*
 * test_ship.c - --ship: hashes, contents that arrive damaged, lists that are not sound,
 * and what is said of hosts on which no daemon starts.
 */
#include "unit.h"

#include "ship.h"
#include "ship_boot.h"
#include "ship_home.h"
#include "ship_store.h"

#include <dlfcn.h>
#include <errno.h>
#include <fcntl.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

/* ---- hashes ---- */

static void hash_in_pieces(const uint8_t *from, size_t bytes, size_t piece,
                           uint8_t result[BLAKE2B_BYTES])
{
    struct blake2b hash;

    blake2b_open(&hash);
    for (size_t at = 0; at < bytes; at += piece) {
        blake2b_add(&hash, from + at, bytes - at < piece ? bytes - at : piece);
    }
    blake2b_close(&hash, result);
}

static void the_hash_of_nothing_is_known(void **state)
{
    static const uint8_t known[] = {0x0e, 0x57, 0x51, 0xc0, 0x26, 0xe5, 0x43, 0xb2,
                                    0xe8, 0xab, 0x2e, 0xb0, 0x60, 0x99, 0xda, 0xa1,
                                    0xd1, 0xe5, 0xdf, 0x47, 0x77, 0x8f, 0x77, 0x87,
                                    0xfa, 0xab, 0x45, 0xcd, 0xf1, 0x2f, 0xe3, 0xa8};
    uint8_t got[BLAKE2B_BYTES];

    (void)state;
    hash_in_pieces(NULL, 0, 1, got);
    assert_memory_equal(got, known, sizeof(known));
}

typedef int generichash_fn(unsigned char *out, size_t out_bytes, const unsigned char *in,
                           unsigned long long in_bytes, const unsigned char *key,
                           size_t key_bytes);

/* Every length up to four blocks and a few long ones, in pieces of several sizes. */
static void hashes_are_libsodium_s(void **state)
{
    enum { LONGEST = 100000 };
    static const size_t pieces[] = {1, 7, 127, 128, 129, 65536};
    void *library = dlopen("libsodium.so.23", RTLD_NOW | RTLD_LOCAL);
    uint8_t *from = malloc(LONGEST);
    generichash_fn *theirs = NULL;

    (void)state;
    if (library == NULL) {
        free(from);
        skip();
    }
    *(void **)&theirs = dlsym(library, "crypto_generichash");
    assert_non_null(theirs);
    for (size_t i = 0; i < LONGEST; i++) {
        from[i] = (uint8_t)(i * 31 + i / 256);
    }
    for (size_t bytes = 0; bytes <= LONGEST; bytes += bytes < 520 ? 1 : 33160) {
        uint8_t wanted[BLAKE2B_BYTES];
        uint8_t got[BLAKE2B_BYTES];

        assert_int_equal(theirs(wanted, sizeof(wanted), from, bytes, NULL, 0), 0);
        for (size_t p = 0; p < sizeof(pieces) / sizeof(pieces[0]); p++) {
            hash_in_pieces(from, bytes, pieces[p], got);
            assert_memory_equal(got, wanted, sizeof(got));
        }
    }
    free(from);
    dlclose(library);
}

/* ---- contents ---- */

static char home[64];
static int folder = -1;

static int make_folder(void **state)
{
    (void)state;
    snprintf(home, sizeof(home), "/tmp/test-ship.XXXXXX");
    if (mkdtemp(home) == NULL || !home_open(home)) {
        return -1;
    }
    folder = home_folder();
    return 0;
}

static int remove_folder(void **state)
{
    (void)state;
    return home_remove() && access(home, F_OK) != 0 ? 0 : -1;
}

static struct ship_content content_of(const char *text)
{
    struct ship_content content = {.size = strlen(text)};

    hash_in_pieces((const uint8_t *)text, strlen(text), 128, content.hash);
    return content;
}

static void a_content_gets_its_names(void **state)
{
    const struct ship_content content = content_of("twelve bytes");
    struct store store;
    struct stat first;
    struct stat second;

    (void)state;
    assert_true(store_open(&store, folder, 0));
    assert_int_equal(store_add(&store, &content, "twelve", 6), STORE_MORE);
    assert_int_equal(store_add(&store, &content, " bytes", 6), STORE_WHOLE);
    assert_true(store_put(&store, folder, "run/a/b", 0755));
    assert_true(store_put(&store, folder, "run/c", 0644));
    assert_false(store_put(&store, folder, "run/c", 0644));
    assert_int_equal(fstatat(folder, "run/a/b", &first, 0), 0);
    assert_int_equal(fstatat(folder, "run/c", &second, 0), 0);
    assert_int_equal(first.st_mode & 0777, 0700);
    assert_int_equal(second.st_mode & 0777, 0600);
    assert_int_equal(first.st_size, 12);
    assert_int_equal(second.st_size, 12);
    assert_int_not_equal(first.st_ino, second.st_ino);
    store_close(&store);
}

/* One bit of one piece, a piece too many, a piece too few. */
static void damage_is_noticed(void **state)
{
    const struct ship_content content = content_of("twelve bytes");
    struct store store;

    (void)state;
    assert_true(store_open(&store, folder, 1));
    assert_int_equal(store_add(&store, &content, "twelve", 6), STORE_MORE);
    assert_int_equal(store_add(&store, &content, " byteS", 6), STORE_DAMAGED);
    store_close(&store);
    assert_true(store_open(&store, folder, 2));
    assert_int_equal(store_add(&store, &content, "twelve bytes and more", 21),
                     STORE_DAMAGED);
    assert_int_equal(store_add(&store, &content, "twelve bytes", 12), STORE_WHOLE);
    assert_int_equal(store_add(&store, &content, "x", 1), STORE_DAMAGED);
    store_close(&store);
}

static int file_with(const char *text)
{
    char name[] = "/tmp/test-ship-file.XXXXXX";
    const int fd = mkstemp(name);

    assert_true(fd >= 0);
    unlink(name);
    assert_int_equal(pwrite(fd, text, strlen(text), 0), (ssize_t)strlen(text));
    return fd;
}

/* Its owner may be somebody else, and is not to choose what runs here. */
static void a_file_that_changes_after_its_check_does_no_harm(void **state)
{
    const struct ship_content content = content_of("twelve bytes");
    const int theirs = file_with("twelve bytes");
    struct store store;
    char got[16] = "";
    int fd;

    (void)state;
    assert_true(store_copy(&store, folder, 4, &content, theirs));
    assert_int_equal(pwrite(theirs, "evil", 4, 0), 4);
    for (int i = 0; i < 2; i++) {
        const char *name = i == 0 ? "run/d" : "run/e";

        assert_true(store_put(&store, folder, name, 0755));
        fd = openat(folder, name, O_RDONLY | O_CLOEXEC);
        assert_int_equal(read(fd, got, sizeof(got)), 12);
        assert_memory_equal(got, "twelve bytes", 12);
        close(fd);
    }
    store_close(&store);
    close(theirs);
}

static void a_file_with_another_content_leaves_nothing(void **state)
{
    static const char *const others[] = {"twelve byteS", "twelve",
                                         "twelve bytes and more", ""};
    const struct ship_content content = content_of("twelve bytes");
    const struct ship_content nothing = content_of("");
    struct store store;
    int fd;

    (void)state;
    for (size_t i = 0; i < sizeof(others) / sizeof(others[0]); i++) {
        fd = file_with(others[i]);
        assert_false(store_copy(&store, folder, 5, &content, fd));
        assert_int_equal(store.fd, -1);
        assert_int_not_equal(faccessat(folder, "part.5", F_OK, 0), 0);
        close(fd);
    }
    fd = file_with("");
    assert_true(store_copy(&store, folder, 5, &nothing, fd));
    store_close(&store);
    close(fd);
}

static void what_cannot_be_written_is_said(void **state)
{
    const struct ship_content content = content_of("x");
    struct store store;

    (void)state;
    assert_true(store_open(&store, folder, 3));
    close(store.fd);
    store.fd = open("/dev/full", O_WRONLY | O_CLOEXEC);
    assert_int_equal(store_add(&store, &content, "x", 1), STORE_FAILED);
    assert_int_equal(errno, ENOSPC);
    store_close(&store);
    assert_false(store_open(&store, folder, 3)); /* the name is taken */
}

/* ---- lists ---- */

static void pack_list(const char *name, int kind, int content, int group,
                      struct bytes *to)
{
    struct ship_content contents[] = {content_of("x")};
    char need[] = "libz.so.1 ZLIB_1.2";
    struct ship_file file = {.kind = (enum ship_kind)kind,
                             .name = name,
                             .path = "/home/x",
                             .mode = 0755,
                             .content = content,
                             .group = group};
    struct ship_app app = {.file = 0, .wdir = NULL};
    const struct ship ship = {.is_on = true,
                              .contents = contents,
                              .content_count = 1,
                              .files = &file,
                              .file_count = 1,
                              .apps = &app,
                              .app_count = 1};

    list_add(&file.needs, need);
    ship_pack(&ship, to);
    free(file.needs.at);
}

static bool is_sound(const char *name, int kind, int content, int group)
{
    struct bytes packed = {NULL, 0, 0};
    struct reader reader;
    struct ship ship;

    pack_list(name, kind, content, group, &packed);
    reader = (struct reader){.at = packed.at, .left = packed.count};
    ship_unpack(&ship, &reader);
    if (!reader.is_bad) {
        assert_string_equal(ship.files[0].name, name);
        assert_int_equal(ship.files[0].needs.count, 1);
        assert_int_equal(reader.left, 0);
        assert_int_equal(ship_bytes(&ship), 1);
    }
    for (int i = 0; i < ship.file_count; i++) {
        free(ship.files[i].needs.at);
    }
    free(ship.contents);
    free(ship.files);
    free(ship.apps);
    bytes_free(&packed);
    return !reader.is_bad;
}

static void names_do_not_lead_out_of_their_folder(void **state)
{
    static const char *const bad[] = {"",     "/x",   "..",   "../x", "a/../x",
                                      "a//x", "a/./", "a/..", "./x",  "a/",
                                      ".",    "/",    "..//", "a/.",  "a/./b"};

    (void)state;
    assert_true(is_sound("x", SHIP_RUN, 0, -1));
    assert_true(is_sound("a/..b/c...", SHIP_RUN, 0, 0));
    assert_true(is_sound("x", SHIP_SYSTEM, 0, -1));
    for (size_t i = 0; i < sizeof(bad) / sizeof(bad[0]); i++) {
        assert_false(is_sound(bad[i], SHIP_RUN, 0, -1));
    }
    assert_false(is_sound("a/x", SHIP_LIBRARY, 0, -1));
    assert_false(is_sound(NULL, SHIP_RUN, 0, -1));
    assert_false(is_sound("x", SHIP_KINDS, 0, -1));
    assert_false(is_sound("x", SHIP_RUN, 1, -1));
    assert_false(is_sound("x", SHIP_RUN, 0, 1));
    assert_false(is_sound("x", SHIP_RUN, 0, -2));
}

/* ---- removal ---- */

static void what_is_in_the_place_of_the_folder_is_left_alone(void **state)
{
    char moved[80];
    struct stat st;

    (void)state;
    snprintf(moved, sizeof(moved), "%s.moved", home);
    assert_int_equal(mkdirat(folder, "deep", 0700), 0);
    assert_int_equal(symlinkat("/", folder, "deep/root"), 0);
    assert_int_equal(fchmodat(folder, "deep", 0, 0), 0);
    assert_int_equal(rename(home, moved), 0);
    assert_int_equal(symlink("/etc", home), 0); /* another user's */
    assert_true(home_remove());
    assert_int_equal(lstat(home, &st), 0);
    assert_int_equal(unlink(home), 0);
    assert_int_equal(access("/etc/passwd", F_OK), 0);
    assert_int_equal(rename(moved, home), 0);
}

static void a_folder_for_others_is_refused(void **state)
{
    char other[] = "/tmp/test-ship.XXXXXX";

    (void)state;
    assert_non_null(mkdtemp(other));
    assert_int_equal(chmod(other, 0755), 0);
    assert_false(home_open(other));
    assert_false(home_open("relative"));
    assert_int_equal(rmdir(other), 0);
}

/* ---- words ---- */

static void hosts_without_a_daemon_are_explained(void **state)
{
    static const struct {
        const char *said;
        const char *line;
    } cases[] = {
        {"banner\nweft-machine aarch64\n",
         "host b is aarch64, and this mpiexec is built"},
        {"weft-loader /lib64/ld-linux-x86-64.so.2\n",
         "host b has no /lib64/ld-linux-x86-64.so.2: --ship needs"},
        {"weft-folder 52001, /tmp is full, /dev/shm starts no programs\n",
         "host b: no folder there takes programs of 52 MB: /tmp is full, /dev/shm starts "
         "no programs: set TMPDIR there"},
        {"weft-folder 1\n", "programs of 0 MB: none is there: set"},
        {"weft-start glibc 2.31: /tmp/weft.1/mpiexec: /lib/libc.so.6: version "
         "`GLIBC_2.34' not found (required by /tmp/weft.1/mpiexec)\n",
         "host b has glibc 2.31, and mpiexec needs 2.34: build Weft on a system as old "
         "as"},
        {"weft-start : /tmp/weft.1/mpiexec: version `GLIBC_2.34' not found",
         "host b has glibc of an older version, and mpiexec needs 2.34: "},
        {"weft-start glibc 2.36: Killed\n",
         "host b: its daemon cannot be started: glibc 2.36: Killed"},
    };
    char line[1024];

    (void)state;
    for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
        assert_true(ship_boot_explain(line, sizeof(line), "b", cases[i].said));
        if (strstr(line, cases[i].line) == NULL) {
            fail_msg("%s\nhas not: %s", line, cases[i].line);
        }
    }
    assert_false(ship_boot_explain(line, sizeof(line), "b", "Permission denied"));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(the_hash_of_nothing_is_known),
        cmocka_unit_test(hashes_are_libsodium_s),
        cmocka_unit_test_setup_teardown(a_content_gets_its_names, make_folder,
                                        remove_folder),
        cmocka_unit_test_setup_teardown(damage_is_noticed, make_folder, remove_folder),
        cmocka_unit_test_setup_teardown(a_file_that_changes_after_its_check_does_no_harm,
                                        make_folder, remove_folder),
        cmocka_unit_test_setup_teardown(a_file_with_another_content_leaves_nothing,
                                        make_folder, remove_folder),
        cmocka_unit_test_setup_teardown(what_cannot_be_written_is_said, make_folder,
                                        remove_folder),
        cmocka_unit_test(names_do_not_lead_out_of_their_folder),
        cmocka_unit_test_setup_teardown(what_is_in_the_place_of_the_folder_is_left_alone,
                                        make_folder, remove_folder),
        cmocka_unit_test(a_folder_for_others_is_refused),
        cmocka_unit_test(hosts_without_a_daemon_are_explained),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
