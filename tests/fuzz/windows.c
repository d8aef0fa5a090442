/*
 * windows.c - packets of windows from a peer that has gone wrong: any header and any
 * bytes, against src/rma over the fake transport of the unit tests.
 *
 * An input is a row of steps: start an operation, let a packet arrive, attach memory or
 * detach it. A packet is made so that its lengths agree, and then some of its bytes are
 * changed or not; what a search does not find (numbers of operations, addresses that are
 * attached) is filled in on request. A packet either is taken or ends the job
 * (weft_engine_reject); both are right, and what a sanitizer sees is not.
 */
#include "fuzz.h"

#include "rma_fixture.h"

#include "rma/attach.h"

enum { BYTES = 6000, REGIONS = 3, OTHER_CONTEXT = 64, PEER = 1 };

static struct weft_comm other_comm; /* of the dynamic window */
static struct weft_win *created;
static struct weft_win *dynamic;
static uint8_t *memory;           /* of the created one: overruns are seen */
static uint8_t *regions[REGIONS]; /* attached, or NULL */
static uint8_t *buffers;          /* of our operations */
static uint64_t operations;       /* that were started, in this process */
static uint8_t *last_packet;      /* which may have ended the job */

/* ---- windows ---- */

static void open_all(void)
{
    memory = calloc(1, BYTES);
    buffers = calloc(1, 4 * BYTES);
    demand(memory != NULL && buffers != NULL, "no memory");
    other_comm = fixture_comm;
    other_comm.context = OTHER_CONTEXT;
    rma_fixture_open();
    weft_lock();
    created = rma_fixture_window(&fixture_comm, MPI_WIN_FLAVOR_CREATE, memory, BYTES);
    dynamic = rma_fixture_window(&other_comm, MPI_WIN_FLAVOR_DYNAMIC, NULL, 0);
    weft_unlock();
}

/* Operations that are under way end as if all peers had failed. */
static void close_all(void)
{
    weft_lock();
    rma_fixture_fail_peers();
    rma_fixture_close(created);
    rma_fixture_close(dynamic);
    weft_unlock();
    for (int i = 0; i < REGIONS; i++) {
        free(regions[i]);
        regions[i] = NULL;
    }
    free(memory);
    free(buffers);
    free(last_packet);
    last_packet = NULL;
}

static struct weft_win *draw_window(struct input *in)
{
    return input_number(in, 1) % 2 == 0 ? created : dynamic;
}

static void attach(struct input *in)
{
    const size_t i = (size_t)input_number(in, 1) % REGIONS;
    const size_t bytes = (size_t)input_number(in, 2) % BYTES + 1;

    weft_lock();
    if (regions[i] != NULL) {
        demand(weft_region_detach(dynamic, regions[i]), "a region is lost");
        free(regions[i]);
        regions[i] = NULL;
    } else {
        regions[i] = calloc(1, bytes);
        demand(regions[i] != NULL, "no memory");
        demand(weft_region_attach(dynamic, regions[i], bytes) == WEFT_OK,
               "a region is refused");
    }
    weft_unlock();
}

/* ---- our operations ---- */

static struct weft_data bytes_at(uint8_t *at, size_t bytes)
{
    return (struct weft_data){.buffer = at, .bytes = bytes};
}

static void start(struct input *in)
{
    static const size_t sizes[] = {4, 64, 2000, BYTES};
    struct weft_datatype *type = weft_datatype_from_handle(MPI_INT32_T);
    const unsigned kind = (unsigned)input_number(in, 1) % (WEFT_RMA_KINDS - 1) + 1;
    const size_t bytes = kind == WEFT_RMA_SWAP ? 4 : sizes[input_number(in, 1) % 4];
    const struct weft_rma_call call = {
        .name = "MPI_Put",
        .kind = (enum weft_rma_kind)kind,
        .origin = bytes_at(buffers, bytes),
        .compare = bytes_at(buffers + BYTES, bytes),
        .result = bytes_at(buffers + 2 * BYTES, bytes),
        .where = {.type = type, .count = bytes / 4, .at = 0},
        .basic = kind == WEFT_RMA_PUT || kind == WEFT_RMA_GET ? NULL : type,
        .op = kind == WEFT_RMA_ACCUMULATE || kind == WEFT_RMA_GET_ACCUMULATE ? MPI_SUM
                                                                             : MPI_NO_OP,
        .bytes = bytes,
        .target = PEER,
    };

    demand(weft_rma_start(draw_window(in), &call, NULL) == WEFT_OK, "no operation");
    operations++;
}

/* ---- packets ---- */

/* Runs whose sum is `bytes`; some are addresses of regions. */
static uint64_t draw_runs(struct input *in, struct weft_rma_run *runs, int n)
{
    uint64_t bytes = 0;

    for (int i = 0; i < n; i++) {
        const uint64_t how = input_number(in, 1);
        const uint8_t *region = regions[(how >> 2) % REGIONS];

        runs[i] = (struct weft_rma_run){
            .at = input_number(in, (how & 1) != 0 ? 8 : 2) +
                  ((how & 2) != 0 ? (uint64_t)(uintptr_t)region : 0),
            .stride = (int64_t)input_number(in, (how & 16) != 0 ? 8 : 1),
            .length = (uint32_t)input_number(in, (how & 32) != 0 ? 4 : 1),
            .count = (uint32_t)input_number(in, (how & 64) != 0 ? 4 : 1),
        };
        if ((how & 128) != 0) {
            runs[i].stride = (int64_t)(0 - (uint64_t)runs[i].stride);
        }
        bytes += (uint64_t)runs[i].length * runs[i].count;
    }
    return bytes;
}

static size_t make_operation(struct input *in, uint8_t *to)
{
    static const MPI_Datatype types[] = {MPI_INT32_T, MPI_BYTE, MPI_DOUBLE_INT,
                                         MPI_LONG_DOUBLE};
    struct weft_rma_run runs[4];
    const int n = (int)(input_number(in, 1) % 4);
    const uint64_t how = input_number(in, 1);
    struct weft_pkt_rma head = {
        .operation = input_number(in, 1),
        .kind = (uint8_t)(input_number(in, 1) % (WEFT_RMA_KINDS + 1)),
        .runs = (uint16_t)n,
        .type = (uint16_t)((how & 1) != 0 ? input_number(in, 2)
                                          : (uintptr_t)types[how / 4 % 4]),
        .op = (uint16_t)((how & 2) != 0 ? input_number(in, 2) : (uintptr_t)MPI_SUM),
    };
    size_t data = 0;

    head.bytes = (uint32_t)draw_runs(in, runs, n);
    if (head.kind == WEFT_RMA_SWAP) {
        data = 2 * (size_t)head.bytes;
    } else if (head.kind != WEFT_RMA_GET && head.op != (uintptr_t)MPI_NO_OP) {
        data = head.bytes;
    }
    data = data < WEFT_EAGER_MAX - 200 ? data : 0;
    head.data = (uint32_t)data;
    memcpy(to, &head, sizeof(head));
    memcpy(to + sizeof(head), runs, (size_t)n * sizeof(runs[0]));
    return sizeof(head) + (size_t)n * sizeof(runs[0]) + data;
}

static size_t make_data(struct input *in, uint8_t *to)
{
    const uint64_t how = input_number(in, 1);
    const struct weft_pkt_rma_data head = {
        .operation = operations - how % 8,
        .offset = input_number(in, (how & 8) != 0 ? 8 : 2),
        .is_refused = (how & 16) != 0,
        .bytes = (uint32_t)input_number(in, (how & 32) != 0 ? 4 : 2),
    };

    memcpy(to, &head, sizeof(head));
    return sizeof(head) + (head.is_refused ? 0 : (size_t)input_number(in, 2) % 4000);
}

static size_t make_sync(struct input *in, uint8_t *to)
{
    const struct weft_pkt_rma_sync step = {
        .what = (uint32_t)(input_number(in, 1) % (WEFT_RMA_SYNCS + 1)),
        .number = (uint32_t)input_number(in, 1),
    };

    memcpy(to, &step, sizeof(step));
    return sizeof(step);
}

/* Changes a few bytes, and the length. */
static size_t spoil(struct input *in, uint8_t *packet, size_t len)
{
    for (uint64_t n = input_number(in, 1) % 4; n > 0; n--) {
        packet[input_number(in, 2) % (len > 0 ? len : 1)] = (uint8_t)input_number(in, 1);
    }
    return input_number(in, 1) % 8 == 0 ? (size_t)input_number(in, 2) % WEFT_EAGER_MAX
                                        : len;
}

static void arrive(struct input *in)
{
    static uint8_t packet[2 * WEFT_EAGER_MAX];
    const uint64_t how = input_number(in, 1);
    const unsigned kind = (unsigned)(how % 3);
    const uint32_t rank = (how & 8) != 0 ? 2 : PEER;
    struct weft_header header =
        fixture_header((enum weft_packet)((unsigned)WEFT_PKT_RMA + kind), rank, 0);
    struct weft_peer *from;
    size_t len;

    memset(packet, 0, sizeof(packet));
    len = kind == 0   ? make_operation(in, packet)
          : kind == 1 ? make_data(in, packet)
                      : make_sync(in, packet);
    len = (how & 4) != 0 ? spoil(in, packet, len) : len;
    free(last_packet);
    last_packet = malloc(len + (len == 0)); /* of this size, so that overruns are seen */
    demand(last_packet != NULL, "no memory");
    memcpy(last_packet, packet, len);
    header.context = draw_window(in)->comm->context | WEFT_PLANE_RMA;
    header.length = (uint32_t)len;
    if ((how & 16) != 0) {
        header.source = (uint32_t)input_number(in, 4);
    }
    weft_lock();
    from = weft_engine_meet(NULL, weft_engine_process(rank));
    header.sequence = from->in_sequence;
    (void)weft_engine_arrived(NULL, from, &header, last_packet, len, 0);
    weft_unlock();
}

static void take_steps(void *argument)
{
    struct input *in = argument;

    while (in->left > 0) {
        const uint64_t step = input_number(in, 1) % 8;

        if (step == 0) {
            start(in);
        } else if (step == 1) {
            attach(in);
        } else if (step == 2) {
            fake.refuse_ordered = (int)(input_number(in, 1) % 3);
        } else {
            arrive(in);
        }
        weft_progress();
    }
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    struct input in = {data, size};
    void *state = NULL;

    demand(fixture_open(&state) == 0, "no fixture");
    open_all();
    fake_reach(false);
    fake.is_dry = true;
    (void)rejection_in(take_steps, &in);
    close_all();
    weft_engine.node.shares_used = weft_engine.node.stages_used = 0;
    fixture_close(&state);
    return 0;
}
