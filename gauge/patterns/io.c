/*
 * io.c - all ends write and read one file together: blocks, and pieces in turn.
 *
 * Every end has as many bytes as the message size says: one block of the file, or pieces
 * of the file in turn with those of the other ends, which the library has to gather. The
 * clock is read by end 0, around a call that all ends make. What was written is read back
 * and checked.
 */
#include "gauge/patterns/buffers.h"

#include <stdio.h>
#include <unistd.h>

static struct gauge_option options[] = {
    {"folder", GAUGE_TEXT, "/dev/shm", "PATH", "where the file is; it is removed"},
    {"piece", GAUGE_BYTES, "1K", "SIZE", "bytes of a piece, where ends take turns"},
    {NULL, GAUGE_TEXT, NULL, NULL, NULL},
};

struct access {
    struct gauge_bench *bench;
    struct buffers buffers;
    size_t size;
    size_t piece; /* 0: one block */
    bool is_write;
};

static const struct gauge_files *files(const struct access *access)
{
    return access->bench->module->files;
}

static enum gauge_rc once(struct access *access)
{
    struct gauge_module *module = access->bench->module;

    return access->is_write
               ? files(access)->write(module, access->buffers.out, access->size)
               : files(access)->read(module, access->buffers.in, access->size);
}

static enum gauge_rc take_sample(struct access *access, const struct gauge_round *round,
                                 uint64_t sample)
{
    struct gauge_bench *bench = access->bench;
    enum gauge_rc rc = GAUGE_OK;
    double start;

    gauge_payload_stamp(access->buffers.out, access->size, sample);
    if (!access->is_write) { /* what is read is this sample's */
        rc = files(access)->write(bench->module, access->buffers.out, access->size);
    }
    rc = rc == GAUGE_OK ? once(access) : rc; /* all ends are here */
    start = gauge_now(bench);
    for (int i = 0; rc == GAUGE_OK && i < round->batch; i++) {
        rc = once(access);
    }
    if (rc == GAUGE_OK && bench->end == 0) {
        gauge_sample(bench, gauge_now(bench) - start);
    }
    if (rc == GAUGE_OK && access->is_write) {
        rc = files(access)->read(bench->module, access->buffers.in, access->size);
    }
    return rc == GAUGE_OK ? gauge_payload_check(bench, access->buffers.in, access->size,
                                                round->number, bench->end, sample)
                          : rc;
}

static enum gauge_rc measure(struct access *access)
{
    struct gauge_bench *bench = access->bench;
    struct gauge_point point = {
        .name = access->is_write ? "write" : "read",
        .size = access->size,
        .bytes = (double)access->size * bench->ends,
        .key = {{"piece_bytes", (double)access->piece}},
    };
    struct gauge_round round;
    enum gauge_rc rc = files(access)->arrange(bench->module, access->size, access->piece);

    if (rc == GAUGE_OK) {
        rc = gauge_point_open(bench, &point);
    }
    while (rc == GAUGE_OK && gauge_round(bench, &round)) {
        gauge_payload_make(access->buffers.out, access->size, round.number, bench->end);
        for (int i = 0; rc == GAUGE_OK && i < round.samples; i++) {
            rc = take_sample(access, &round, (uint64_t)i);
        }
    }
    return rc == GAUGE_OK ? gauge_point_close(bench, NULL) : rc;
}

static enum gauge_rc measure_size(struct access *access, size_t size, size_t piece)
{
    enum gauge_rc rc = GAUGE_OK;

    access->size = size;
    for (int which = 0; rc == GAUGE_OK && which < 4; which++) {
        access->is_write = which % 2 == 0;
        access->piece = which < 2 ? 0 : piece;
        rc = measure(access);
    }
    return rc;
}

static enum gauge_rc benchmark(struct gauge_bench *bench)
{
    struct access access = {.bench = bench};
    const size_t piece = gauge_option_bytes(bench->options, "piece");
    const char *folder = gauge_option_text(bench->options, "folder");
    size_t count = 0;
    const size_t *sizes = gauge_sizes(bench, &count);
    const size_t largest = buffers_largest(sizes, count);
    char name[512];
    enum gauge_rc rc = GAUGE_OK;

    if (piece == 0) {
        return gauge_fail("io: --piece is 1 or more bytes");
    }
    snprintf(name, sizeof(name), "%s/weft-gauge-%016llx", folder,
             (unsigned long long)bench->seed);
    rc = buffers_open(bench, &access.buffers, largest, largest, "io");
    if (rc == GAUGE_OK) {
        rc = bench->module->files->open(bench->module, name);
    }
    if (rc == GAUGE_OK) {
        for (size_t i = 0; rc == GAUGE_OK && i < count; i++) {
            if (sizes[i] > 0) {
                rc = measure_size(&access, sizes[i], piece);
            }
        }
        bench->module->files->close(bench->module);
        if (bench->end == 0) {
            unlink(name);
        }
    }
    if (access.buffers.out != NULL) {
        buffers_close(bench, &access.buffers);
    }
    return rc;
}

const struct gauge_pattern gauge_io = {
    .name = "io",
    .description = "all ends write and read one file: blocks, and pieces in turn",
    .method =
        "Every end has s bytes of one file: a block (piece_bytes 0), or pieces of\n"
        "--piece bytes in turn with those of the other ends. End 0 reads the clock, all\n"
        "ends make one collective call, and end 0 reads the clock again.\n"
        "    time = T    bandwidth = n * s / T for n ends\n"
        "The file is there when writing is timed, and in the page cache when reading "
        "is.\n"
        "What was written is read back, and checked, outside of the clock. A call that\n"
        "is not timed comes before each sample.\n",
    .needs = GAUGE_RELIABLE | GAUGE_FILES,
    .least_ends = 2,
    .options = options,
    .benchmark = benchmark,
};
