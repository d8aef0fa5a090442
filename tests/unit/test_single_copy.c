/* test_single_copy.c - copies of lists of blocks by calls that move less than was asked
 * for, or nothing. The process is its own peer, and the kernel's two calls are replaced.
 */
#include "unit.h"

#include "transport/shm/shm.h"

#include <errno.h>
#include <string.h>
#include <sys/uio.h>

enum { BYTES = 600 };

static struct {
    size_t most; /* bytes that a call moves */
    size_t hole; /* bytes from which on nothing can be moved; 0: there is no hole */
    int error;   /* that says so */
    size_t moved;
    unsigned calls;
} kernel;

/* Copies byte by byte: the lists of both sides are cut at different places. */
static ssize_t move(const struct iovec *to, const struct iovec *from, size_t from_count)
{
    size_t into = 0;
    size_t done = 0;

    kernel.calls++;
    for (size_t i = 0; i < from_count; i++) {
        for (size_t k = 0; k < from[i].iov_len; k++) {
            if (done == kernel.most ||
                (kernel.hole != 0 && kernel.moved == kernel.hole)) {
                goto out;
            }
            while (into == to->iov_len) {
                to++;
                into = 0;
            }
            ((char *)to->iov_base)[into++] = ((const char *)from[i].iov_base)[k];
            kernel.moved++;
            done++;
        }
    }
out:
    if (done == 0) {
        errno = kernel.error;
        return -1;
    }
    return (ssize_t)done;
}

ssize_t __wrap_process_vm_readv(pid_t pid, const struct iovec *ours,
                                unsigned long our_count, const struct iovec *theirs,
                                unsigned long their_count, unsigned long flags);
ssize_t __wrap_process_vm_writev(pid_t pid, const struct iovec *ours,
                                 unsigned long our_count, const struct iovec *theirs,
                                 unsigned long their_count, unsigned long flags);

ssize_t __wrap_process_vm_readv(pid_t pid, const struct iovec *ours,
                                unsigned long our_count, const struct iovec *theirs,
                                unsigned long their_count, unsigned long flags)
{
    (void)pid;
    (void)our_count;
    (void)flags;
    return move(ours, theirs, their_count);
}

ssize_t __wrap_process_vm_writev(pid_t pid, const struct iovec *ours,
                                 unsigned long our_count, const struct iovec *theirs,
                                 unsigned long their_count, unsigned long flags)
{
    (void)pid;
    (void)their_count;
    (void)flags;
    return move(theirs, ours, our_count);
}

/* ---- a path to ourselves ---- */

static struct weft_transport transport;
static struct weft_node_area area = {.probe_value = 77};
static const struct weft_slot_entry slot = {.pid = 1};
static struct weft_shm_path path;

static int open_path(void **state)
{
    (void)state;
    memset(&kernel, 0, sizeof(kernel));
    kernel.most = SIZE_MAX;
    area.probe_address = (uintptr_t)&area.probe_value;
    atomic_store_explicit(&area.is_known, 1, memory_order_relaxed);
    path = (struct weft_shm_path){
        .base = {.transport = &transport}, .node = &area, .slot = &slot};
    weft_shm_try_memory(&path.base);
    assert_non_null(path.base.memory);
    kernel.calls = 0;
    kernel.moved = 0;
    return 0;
}

static char left[BYTES];
static char right[BYTES];

/* Blocks of both sides, which end at different bytes; one is empty. */
static enum weft_rc copy(bool is_put)
{
    const struct iovec ours[] = {
        {left, 100}, {left + 100, 0}, {left + 100, 1}, {left + 101, BYTES - 101}};
    const struct iovec theirs[] = {
        {right, 3}, {right + 3, 250}, {right + 253, BYTES - 253}};
    const struct weft_move all = {0, theirs, 3, ours, 4};

    for (int i = 0; i < BYTES; i++) {
        left[i] = (char)i;
        right[i] = (char)(i / 2 + 1);
    }
    return is_put ? path.base.memory->put(&path.base, &all, NULL)
                  : path.base.memory->get(&path.base, &all, NULL);
}

/* ---- the tests ---- */

static void a_short_count_is_continued(void **state)
{
    static const size_t most[] = {1, 3, 99, 100, 101, 253, BYTES - 1, BYTES};

    (void)state;
    for (size_t i = 0; i < sizeof(most) / sizeof(most[0]); i++) {
        kernel.most = most[i];
        for (int is_put = 0; is_put < 2; is_put++) {
            kernel.calls = 0;
            assert_int_equal(copy(is_put), WEFT_OK);
            assert_memory_equal(left, right, BYTES);
            assert_int_equal(kernel.calls, (BYTES + most[i] - 1) / most[i]);
        }
    }
}

static void one_block_is_continued_too(void **state)
{
    const struct iovec ours = {left, BYTES};
    const struct iovec theirs = {right, BYTES};
    const struct weft_move all = {0, &theirs, 1, &ours, 1};

    (void)state;
    memset(left, 5, BYTES);
    kernel.most = 250;
    assert_int_equal(path.base.memory->put(&path.base, &all, NULL), WEFT_OK);
    assert_memory_equal(left, right, BYTES);
    assert_int_equal(kernel.calls, 3);
}

static void a_failure_says_why(void **state)
{
    static const struct {
        int error;
        enum weft_rc rc;
    } rows[] = {
        {ESRCH, WEFT_ERR_PROC_FAILED}, {EFAULT, WEFT_ERR_ADDRESS},
        {EPERM, WEFT_ERR_UNSUPPORTED}, {ENOSYS, WEFT_ERR_UNSUPPORTED},
        {ENOMEM, WEFT_ERR_NOMEM},      {EINVAL, WEFT_ERR_SYSTEM},
    };

    (void)state;
    for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
        kernel.error = rows[i].error;
        kernel.most = 0;
        assert_int_equal(copy(true), rows[i].rc);
        assert_int_equal(copy(false), rows[i].rc);
    }
}

/* What the program has left in errno is no reason. */
static void a_short_count_asks_for_the_reason(void **state)
{
    (void)state;
    kernel.hole = 120;
    kernel.error = EFAULT;
    errno = ESRCH;
    assert_int_equal(copy(true), WEFT_ERR_ADDRESS);
    assert_int_equal(kernel.calls, 2);
    assert_int_equal(kernel.moved, 120);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup(a_short_count_is_continued, open_path),
        cmocka_unit_test_setup(one_block_is_continued_too, open_path),
        cmocka_unit_test_setup(a_failure_says_why, open_path),
        cmocka_unit_test_setup(a_short_count_asks_for_the_reason, open_path),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
