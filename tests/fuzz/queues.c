/*
 * queues.c - queues in shared memory that another rank has overwritten: a ring and a lane
 * of any content, read as poll() reads them.
 */
#include "fuzz.h"

#include "transport/shm/lane.h"
#include "transport/shm/ring.h"

enum { CELLS = 16, AT_MOST = 64 };

static struct weft_ring ring;
static struct weft_ring_cell cells[CELLS];
static struct weft_lane lane;

static void read_ring(struct input *in)
{
    struct weft_ring_head head;
    struct weft_ring_packet packet;

    memset(&ring, 0, sizeof(ring));
    memset(cells, 0, sizeof(cells));
    for (uint32_t i = 0; i < CELLS && in->left > 0; i++) {
        cells[i].generation = (uint32_t)input_number(in, 1) % 3;
        cells[i].cells = (uint32_t)input_number(in, 2);
        for (size_t k = 0; k < sizeof(head); k += 4) {
            const uint32_t word = (uint32_t)input_number(in, 2);

            memcpy(cells[i].data + k, &word, sizeof(word));
        }
    }
    for (int n = 0; n < AT_MOST && weft_ring_peek(&ring, cells, CELLS, &head) &&
                    head.len != UINT32_MAX;
         n++) {
        weft_ring_read(&ring, cells, CELLS, &head, &packet);
        weft_ring_drop(&ring, &head);
        demand(packet.head.len <= WEFT_SHORT_MAX, "longer than a packet");
    }
}

static void read_lane(struct input *in)
{
    struct weft_lane_in reader = {.lane = &lane};
    size_t len;

    memset(&lane, 0, sizeof(lane));
    reader.position = input_number(in, 2);
    while (in->left > 0) {
        lane.cells[input_number(in, 2) % WEFT_LANE_CELLS].flag =
            (uint32_t)input_number(in, 4);
    }
    for (int n = 0; n < AT_MOST; n++) {
        const struct weft_cell *cell = weft_lane_next(&reader, &len);

        if (cell == NULL || len == SIZE_MAX) {
            return;
        }
        demand((const uint8_t *)cell + WEFT_CELL_HEAD + len <=
                   (const uint8_t *)(&lane + 1),
               "beyond the end of the lane");
        weft_lane_drop(&reader, len);
    }
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    struct input in = {data, size};

    if (input_number(&in, 1) % 2 == 0) {
        read_ring(&in);
    } else {
        read_lane(&in);
    }
    return 0;
}
