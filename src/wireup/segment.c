#include "wireup/segment.h"

#include "base/futex.h"
#include "base/log.h"
#include "base/process.h"
#include "base/texts.h"
#include "base/wait.h"
#include "wireup/backing.h"

#include <assert.h>
#include <errno.h>
#include <fcntl.h>
#include <sched.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/random.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <unistd.h>

static uint64_t round_up(uint64_t bytes, uint64_t to)
{
    return (bytes + to - 1) / to * to;
}

/* Where everything lies; the header's numbers follow from the plan alone. */
static void lay_out(struct weft_segment_header *h, const struct weft_segment_plan *plan)
{
    const uint64_t page = 4096;

    h->magic = WEFT_SEGMENT_MAGIC;
    h->layout = WEFT_SEGMENT_LAYOUT;
    h->header_bytes = sizeof(*h);
    h->job = plan->job;
    h->job_size = plan->job_size;
    h->node_count = plan->node_count;
    h->node = plan->node;
    h->local_size = plan->local_size;
    h->map_at = page;
    h->slot_count = plan->local_size + WEFT_SEGMENT_SPARE_SLOTS;
    h->slots_at =
        round_up(h->map_at + sizeof(struct weft_location) * (uint64_t)plan->job_size,
                 sizeof(struct weft_slot_entry));
    h->failed_at = h->slots_at + sizeof(struct weft_slot_entry) * (uint64_t)h->slot_count;
    h->slices_at = round_up(h->failed_at + sizeof(struct weft_failed_log) +
                                sizeof(uint32_t) * (uint64_t)plan->job_size,
                            page);
    h->slice_bytes = WEFT_SEGMENT_SLICE_BYTES;
    h->heap_at = h->slices_at + h->slice_bytes * h->slot_count;
    h->heap_bytes = WEFT_SEGMENT_RANGE_BYTES * h->slot_count;
    h->bytes = h->heap_at + h->heap_bytes;
}

/* All that the ranks of the node use; the spare slots and the heap are behind it. */
static uint64_t used_bytes(const struct weft_segment_header *h)
{
    return h->slices_at + h->slice_bytes * h->local_size;
}

static void note_processors(struct weft_segment_header *h, bool is_by_launcher)
{
    cpu_set_t set;

    CPU_ZERO(&set);
    if (!is_by_launcher || sched_getaffinity(0, sizeof(set), &set) != 0) {
        h->cpu_count = (uint32_t)sysconf(_SC_NPROCESSORS_ONLN);
        memset(h->cpu_set, 0xff, sizeof(h->cpu_set)); /* the kernel keeps to its own */
        return;
    }
    h->cpu_count = (uint32_t)CPU_COUNT(&set);
    memcpy(h->cpu_set, &set, sizeof(h->cpu_set));
}

/* Maps all but the heap; `h` is the header, as it was before anyone else could write. */
static enum weft_rc map_it(int fd, const struct weft_segment_header *h,
                           struct weft_segment *out)
{
    const size_t bytes = h->heap_at;
    void *base = mmap(NULL, bytes, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);

    if (base == MAP_FAILED) {
        weft_log_error(WEFT_S_SEGMENT_MAP, bytes, strerror(errno),
                       errno == ENOMEM ? ": raise the limit of address space (ulimit -v)"
                                       : "");
        return WEFT_ERR_SYSTEM;
    }
    madvise(base, bytes, MADV_DONTDUMP); /* a core file of one rank is about that rank */
    *out = (struct weft_segment){
        .header = base,
        .mapped = bytes,
        .fd = fd,
        .map_at = h->map_at,
        .slots_at = h->slots_at,
        .failed_at = h->failed_at,
        .slices_at = h->slices_at,
        .slice_bytes = h->slice_bytes,
        .heap_at = h->heap_at,
        .heap_bytes = h->heap_bytes,
        .job = h->job,
        .job_size = h->job_size,
        .local_size = h->local_size,
        .slot_count = h->slot_count,
    };
    return WEFT_OK;
}

/*
 * Gives the file its size. The limit of file sizes (ulimit -f) holds for memory files,
 * too, and to exceed it is a deadly signal: so it is raised for this moment, as far as it
 * may be, and where that is not enough the size is not asked for.
 */
static bool set_size(int fd, uint64_t bytes)
{
    struct rlimit before;
    struct rlimit raised;
    bool is_done;
    int error;

    if (getrlimit(RLIMIT_FSIZE, &before) != 0 || before.rlim_cur >= bytes) {
        return ftruncate(fd, (off_t)bytes) == 0;
    }
    raised = before;
    raised.rlim_cur = before.rlim_max;
    if (raised.rlim_cur < bytes || setrlimit(RLIMIT_FSIZE, &raised) != 0) {
        errno = EFBIG;
        return false;
    }
    is_done = ftruncate(fd, (off_t)bytes) == 0;
    error = errno;
    setrlimit(RLIMIT_FSIZE, &before);
    errno = error;
    return is_done;
}

/* With a heap, or without one where the limit of file sizes leaves no room for it. */
static bool set_size_of(int fd, struct weft_segment_header *h)
{
    if (set_size(fd, h->bytes)) {
        return true;
    }
    h->heap_bytes = 0;
    h->bytes = h->heap_at;
    return errno == EFBIG && set_size(fd, h->bytes);
}

static enum weft_rc fail_to_make(int fd, uint64_t bytes)
{
    weft_log_error(WEFT_S_SEGMENT_MAKE, (unsigned long long)bytes, strerror(errno),
                   errno == EFBIG ? ": raise the limit of file sizes (ulimit -f)" : "");
    close(fd);
    return WEFT_ERR_SYSTEM;
}

/* Keeps others from changing the size; where that cannot be, reserves the pages. */
static bool secure(int fd, const char *place, const struct weft_segment_header *h)
{
    if (weft_backing_is_named(place)) {
        weft_log_info("the memory that ranks share is a file in %s: memfd_create is "
                      "refused",
                      place);
        return weft_backing_reserve(fd, used_bytes(h));
    }
    return fcntl(fd, F_ADD_SEALS, F_SEAL_SHRINK | F_SEAL_GROW | F_SEAL_SEAL) == 0;
}

enum weft_rc weft_segment_create(const struct weft_segment_plan *plan,
                                 struct weft_segment *out)
{
    struct weft_segment_header h = {.magic = 0};
    const char *place;
    int fd;

    lay_out(&h, plan);
    fd = weft_backing_open(used_bytes(&h), &place);
    if (fd < 0 && weft_backing_is_named(place)) {
        weft_log_error(WEFT_S_SEGMENT_NO_FILE, place, strerror(errno));
        return WEFT_ERR_SYSTEM;
    }
    if (fd < 0) {
        weft_log_error(WEFT_S_SEGMENT_OPEN, strerror(errno));
        return WEFT_ERR_SYSTEM;
    }
    note_processors(&h, plan->is_by_launcher);
    if (plan->secret != NULL) {
        memcpy(h.secret, plan->secret, sizeof(h.secret));
    }
    if ((plan->secret == NULL &&
         getrandom(h.secret, sizeof(h.secret), 0) != (ssize_t)sizeof(h.secret)) ||
        !set_size_of(fd, &h) || pwrite(fd, &h, sizeof(h), 0) != (ssize_t)sizeof(h) ||
        !secure(fd, place, &h)) {
        return fail_to_make(fd, h.bytes);
    }
    if (map_it(fd, &h, out) != WEFT_OK) {
        close(fd);
        return WEFT_ERR_SYSTEM;
    }
    return WEFT_OK;
}

/* A header of our layout describes a segment that fits into the file. */
static bool is_sound(const struct weft_segment_header *h, uint64_t file_bytes)
{
    struct weft_segment_header expected = {.magic = 0};
    const struct weft_segment_plan plan = {
        .job = h->job,
        .job_size = h->job_size,
        .node_count = h->node_count,
        .node = h->node,
        .local_size = h->local_size,
    };

    lay_out(&expected, &plan);
    return h->header_bytes == sizeof(*h) && h->local_size >= 1 &&
           h->local_size <= h->job_size && h->heap_at == expected.heap_at &&
           h->slices_at == expected.slices_at && h->map_at == expected.map_at &&
           h->slots_at == expected.slots_at && h->slot_count == expected.slot_count &&
           h->failed_at == expected.failed_at && h->slice_bytes == expected.slice_bytes &&
           h->bytes >= h->heap_at && h->bytes - h->heap_at == h->heap_bytes &&
           (h->heap_bytes == 0 || h->heap_bytes == expected.heap_bytes) &&
           h->bytes <= file_bytes;
}

enum weft_rc weft_segment_attach(int fd, struct weft_segment *out)
{
    struct weft_segment_header h;
    struct stat st;

    if (fstat(fd, &st) != 0 || !S_ISREG(st.st_mode) ||
        pread(fd, &h, sizeof(h), 0) != (ssize_t)sizeof(h) ||
        h.magic != WEFT_SEGMENT_MAGIC) {
        return WEFT_ERR_ARGUMENT;
    }
    if (h.layout != WEFT_SEGMENT_LAYOUT) {
        return WEFT_ERR_UNSUPPORTED;
    }
    if (!is_sound(&h, (uint64_t)st.st_size)) {
        return WEFT_ERR_ARGUMENT;
    }
    fcntl(fd, F_SETFD, FD_CLOEXEC);
    return map_it(fd, &h, out);
}

bool weft_segment_is_private(int fd)
{
    struct stat st;

    return fstat(fd, &st) == 0 && S_ISREG(st.st_mode) && st.st_uid == geteuid() &&
           (st.st_mode & (S_IRWXG | S_IRWXO)) == 0 && st.st_nlink <= 1;
}

void weft_segment_close(struct weft_segment *segment)
{
    if (segment->header != NULL) {
        munmap(segment->header, segment->mapped);
        close(segment->fd);
        segment->header = NULL;
        segment->fd = -1;
    }
}

static void *at(const struct weft_segment *segment, uint64_t offset)
{
    assert(segment->header != NULL);
    return (char *)segment->header + offset;
}

struct weft_location *weft_segment_map(const struct weft_segment *segment)
{
    return at(segment, segment->map_at);
}

struct weft_slot_entry *weft_segment_slot(const struct weft_segment *segment,
                                          uint32_t local_rank)
{
    return (struct weft_slot_entry *)at(segment, segment->slots_at) + local_rank;
}

void weft_segment_plan_slot(const struct weft_segment *segment, uint32_t local_rank,
                            uint32_t rank)
{
    struct weft_slot_entry *slot = weft_segment_slot(segment, local_rank);

    assert(local_rank < segment->local_size);
    atomic_store_explicit(&slot->process, weft_process(segment->job, rank),
                          memory_order_relaxed);
    atomic_store_explicit(&slot->state, WEFT_SLOT_PLANNED, memory_order_release);
}

uint32_t weft_segment_rank(const struct weft_segment *segment, uint32_t local_rank)
{
    return (uint32_t)atomic_load_explicit(
        &weft_segment_slot(segment, local_rank)->process, memory_order_relaxed);
}

bool weft_segment_is_attached(const struct weft_segment *segment, uint32_t local_rank)
{
    return atomic_load_explicit(&weft_segment_slot(segment, local_rank)->state,
                                memory_order_acquire) == WEFT_SLOT_ATTACHED;
}

struct weft_slice *weft_segment_slice(const struct weft_segment *segment,
                                      uint32_t local_rank)
{
    return at(segment, segment->slices_at + segment->slice_bytes * local_rank);
}

bool weft_segment_claim(const struct weft_segment *segment, uint32_t local_rank)
{
    struct weft_slot_entry *slot = weft_segment_slot(segment, local_rank);

    return atomic_exchange_explicit(&slot->state, WEFT_SLOT_ATTACHED,
                                    memory_order_acq_rel) != WEFT_SLOT_ATTACHED;
}

uint32_t weft_segment_join(const struct weft_segment *segment, uint32_t local_rank)
{
    struct weft_slot_entry *slot = weft_segment_slot(segment, local_rank);

    atomic_store_explicit(&slot->state, WEFT_SLOT_ATTACHED, memory_order_relaxed);
    /* Release: a process that sees the count sees the mark. */
    return atomic_fetch_add_explicit(&segment->header->attached, 1,
                                     memory_order_acq_rel) +
           1;
}

/*
 * The last to arrive resets the count and advances the generation; the others wait for
 * the generation. The reset is ordered before the generation (release in the seq_cst
 * store), so nobody of the next round can meet the old count.
 */
bool weft_segment_arrive(const struct weft_segment *segment, uint32_t local_rank,
                         uint32_t *generation)
{
    struct weft_segment_header *h = segment->header;

    *generation = atomic_load_explicit(&h->generation, memory_order_acquire);
    atomic_store_explicit(&weft_segment_slice(segment, local_rank)->arrived,
                          *generation + 1, memory_order_seq_cst);
    if (weft_unlikely(atomic_load_explicit(weft_segment_failed_count(segment),
                                           memory_order_seq_cst) != 0)) {
        return weft_segment_release(segment, *generation);
    }
    if (atomic_fetch_add_explicit(&h->arrived, 1, memory_order_acq_rel) + 1 <
        segment->local_size) {
        return false;
    }
    atomic_store_explicit(&h->arrived, 0, memory_order_relaxed);
    atomic_store_explicit(&h->generation, *generation + 1, memory_order_seq_cst);
    weft_wait_wake(&h->generation, &h->sleepers);
    return true;
}

bool weft_segment_has_come(const struct weft_segment *segment, uint32_t local_rank,
                           uint32_t generation)
{
    const uint32_t arrived = atomic_load_explicit(
        &weft_segment_slice(segment, local_rank)->arrived, memory_order_seq_cst);

    return (int32_t)(arrived - (generation + 1)) >= 0;
}

/*
 * Once a rank was lost the count means nothing: it may have come before it ended, or not.
 * So each rank has written down to which generation it has come, in sequential order with
 * its look at the others: of two that come last at least one sees both. Several may find
 * that all are there; one of them advances the generation.
 */
bool weft_segment_release(const struct weft_segment *segment, uint32_t generation)
{
    struct weft_segment_header *h = segment->header;

    for (uint32_t i = 0; i < segment->local_size; i++) {
        if (!weft_segment_has_come(segment, i, generation) &&
            weft_segment_why_lost(segment, i) == NULL) {
            return false;
        }
    }
    if (atomic_compare_exchange_strong_explicit(&h->generation, &generation,
                                                generation + 1, memory_order_seq_cst,
                                                memory_order_seq_cst)) {
        weft_wait_wake(&h->generation, &h->sleepers);
    }
    return true;
}

bool weft_segment_all_came(const struct weft_segment *segment, uint32_t generation)
{
    for (uint32_t i = 0; i < segment->local_size; i++) {
        if (!weft_segment_has_come(segment, i, generation)) {
            return false;
        }
    }
    return true;
}

static void ring(const struct weft_segment *segment, uint32_t local_rank)
{
    struct weft_slice *slice = weft_segment_slice(segment, local_rank);
    const uint32_t at = atomic_load_explicit(&slice->bell_at, memory_order_seq_cst);

    if (at >= sizeof(*slice) && at % sizeof(uint32_t) == 0 &&
        at <= segment->slice_bytes - sizeof(uint32_t)) {
        _Atomic uint32_t *bell = (_Atomic uint32_t *)(void *)((char *)slice + at);

        atomic_fetch_add_explicit(bell, 1, memory_order_release);
        weft_futex_wake(bell, 1 << 20);
    }
}

/*
 * A rank that goes to sleep reads its bell, then the count: either it sees this one, or
 * its bell has moved on and it does not sleep. A count that no launcher has written is a
 * stray write's: then nothing is appended. A rank is listed once.
 */
void weft_segment_fail(const struct weft_segment *segment, uint32_t rank)
{
    struct weft_failed_log *failed = at(segment, segment->failed_at);
    const uint32_t n = atomic_load_explicit(&failed->count, memory_order_relaxed);

    if (weft_segment_has_failed(segment, rank)) {
        return;
    }
    if (n < segment->job_size) {
        failed->rank[n] = rank;
        atomic_store_explicit(&failed->count, n + 1, memory_order_seq_cst);
    }
    for (uint32_t i = 0; i < segment->local_size; i++) {
        ring(segment, i);
    }
}

const _Atomic uint32_t *weft_segment_failed_count(const struct weft_segment *segment)
{
    return &((const struct weft_failed_log *)at(segment, segment->failed_at))->count;
}

uint32_t weft_segment_failed(const struct weft_segment *segment, uint32_t n)
{
    return ((const struct weft_failed_log *)at(segment, segment->failed_at))->rank[n];
}

bool weft_segment_has_failed(const struct weft_segment *segment, uint32_t rank)
{
    const uint32_t n =
        atomic_load_explicit(weft_segment_failed_count(segment), memory_order_acquire);

    for (uint32_t i = 0; i < n && i < segment->job_size; i++) {
        if (weft_segment_failed(segment, i) == rank) {
            return true;
        }
    }
    return false;
}

void weft_segment_lose(const struct weft_segment *segment, uint32_t local_rank,
                       const char *cause)
{
    struct weft_slice *slice = weft_segment_slice(segment, local_rank);

    snprintf(slice->cause, sizeof(slice->cause), "%s", cause);
    atomic_store_explicit(&slice->state, WEFT_SLICE_LOST, memory_order_release);
    weft_segment_fail(segment, weft_segment_rank(segment, local_rank));
}

const char *weft_segment_why_lost(const struct weft_segment *segment, uint32_t local_rank)
{
    const struct weft_slice *slice = weft_segment_slice(segment, local_rank);

    /* Acquire: pairs with the release after the cause was written. */
    return atomic_load_explicit(&slice->state, memory_order_acquire) == WEFT_SLICE_LOST
               ? slice->cause
               : NULL;
}

void weft_slice_abort(struct weft_slice *slice, int code, const char *cause)
{
    static atomic_flag is_taken = ATOMIC_FLAG_INIT;

    if (atomic_flag_test_and_set(&is_taken)) {
        return;
    }
    slice->code = code;
    snprintf(slice->cause, sizeof(slice->cause), "%s", cause);
    /* Pairs with the launcher's acquire load before it reads code and cause. */
    atomic_store_explicit(&slice->state, WEFT_SLICE_ABORTED, memory_order_release);
}

/* Copies a text that ends within its room, as one line; false if it does not end. */
static bool copy_line(char *to, const char *from, size_t size)
{
    for (size_t i = 0; i < size; i++) {
        const unsigned char c = (unsigned char)from[i];

        to[i] = c != '\0' && (c < ' ' || c == 0x7f) ? ' ' : (char)c;
        if (c == '\0') {
            return true;
        }
    }
    return false;
}

bool weft_slice_read_end(const struct weft_slice *slice, struct weft_slice_end *end)
{
    /* Acquire: pairs with the rank's release, after it wrote code and cause. */
    const uint32_t state = atomic_load_explicit(&slice->state, memory_order_acquire);

    *end = (struct weft_slice_end){.state = (enum weft_slice_state)state};
    if (state != WEFT_SLICE_ABORTED) {
        return state < WEFT_SLICE_ABORTED;
    }
    end->code = slice->code;
    return end->code >= 1 && end->code <= 255 &&
           copy_line(end->cause, slice->cause, sizeof(end->cause));
}
