/*
 * segment.c - a job segment of any header: attached as a rank does, then read as rank and
 * launcher do after another process has overwritten it.
 */
#include "fuzz.h"

#include "wireup/segment.h"

#include <sys/mman.h>
#include <unistd.h>

enum {
    RANKS = 2,
    BYTES = 2 * 4096 + (RANKS + WEFT_SEGMENT_SPARE_SLOTS) * WEFT_SEGMENT_SLICE_BYTES,
};

/* Words of the header and the first slice, at places that the input says. */
static void scribble(struct input *in, uint8_t *from)
{
    while (in->left > 0) {
        const size_t at =
            (size_t)input_number(in, 2) % (8192 + sizeof(struct weft_slice));
        const uint64_t word = input_number(in, 4);

        memcpy(from + at, &word, 4);
    }
}

static void use(const struct weft_segment *segment)
{
    for (uint32_t i = 0; i < segment->local_size && i < RANKS; i++) {
        const char *why = weft_segment_why_lost(segment, i);

        demand(why == NULL || strnlen(why, WEFT_CAUSE_BYTES) <= WEFT_CAUSE_BYTES,
               "a cause without end");
        (void)weft_segment_rank(segment, i);
    }
    if (segment->local_size <= RANKS) {
        weft_segment_lose(segment, 0, "fuzzed");
        (void)weft_segment_release(segment, 0);
    }
}

static void attach(struct input *in)
{
    const int fd = memfd_create("segment", 0);
    struct weft_segment_header header = {.magic = WEFT_SEGMENT_MAGIC};
    struct weft_segment segment;

    demand(fd >= 0 && ftruncate(fd, BYTES) == 0, "no memory");
    header.layout = WEFT_SEGMENT_LAYOUT;
    header.header_bytes = sizeof(header);
    header.job_size = 1 + (uint32_t)input_number(in, 1) % 4;
    header.local_size = header.job_size;
    for (size_t at = 0; at < sizeof(header) && in->left > 0; at += 4) {
        if (input_number(in, 1) % 4 == 0) {
            const uint32_t word = (uint32_t)input_number(in, 4);

            memcpy((uint8_t *)&header + at, &word, sizeof(word));
        }
    }
    demand(pwrite(fd, &header, sizeof(header), 0) == (ssize_t)sizeof(header), "no file");
    if (weft_segment_attach(fd, &segment) == WEFT_OK) {
        demand(segment.mapped <= BYTES, "more than there is");
        use(&segment);
        weft_segment_close(&segment);
    } else {
        close(fd);
    }
}

static void overwrite(struct input *in)
{
    const struct weft_segment_plan plan = {
        .job_size = RANKS, .node_count = 1, .local_size = RANKS};
    struct weft_segment segment;

    demand(weft_segment_create(&plan, &segment) == WEFT_OK, "no segment");
    scribble(in, (uint8_t *)segment.header);
    use(&segment);
    weft_segment_close(&segment);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    struct input in = {data, size};

    if (input_number(&in, 1) % 2 == 0) {
        attach(&in);
    } else {
        overwrite(&in);
    }
    return 0;
}
