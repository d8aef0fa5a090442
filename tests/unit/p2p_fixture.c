#include "p2p_fixture.h"

#include "engine/seal.h"
#include "engine/lock.h"

#include <stdio.h>
#include <sys/mman.h>
#include <unistd.h>

enum { FILLER = 7, FILLER_TAG = 777 };

struct weft_comm fixture_comm;
struct weft_job fixture_job;

static struct weft_slice slice;
static jmp_buf *rejecting; /* where to go on when the job is ended; NULL: nowhere */
static char last_words[WEFT_CAUSE_BYTES];

_Noreturn void __real_weft_wireup_abort(struct weft_job *job, int code, const char *why);
_Noreturn void __wrap_weft_wireup_abort(struct weft_job *job, int code, const char *why);

int fixture_open(void **state)
{
    return fixture_open_over(state, NULL);
}

int fixture_open_over(void **state, const struct weft_packet_ops *net)
{
    return fixture_open_over_two(state, net, NULL);
}

int fixture_open_over_two(void **state, const struct weft_packet_ops *net,
                          const struct weft_packet_ops *second)
{
    const struct weft_packet_ops *const transports[] = {net != NULL ? net : &fake_ops,
                                                        second != NULL ? second
                                                        : net != NULL  ? &fake_ops
                                                                       : NULL,
                                                        second != NULL ? &fake_ops : NULL,
                                                        NULL};
    const struct weft_segment_plan plan = {
        .job = FIXTURE_JOB,
        .job_size = FIXTURE_RANKS,
        .node_count = 1,
        .local_size = FIXTURE_RANKS,
    };
    enum weft_rc rc;

    (void)state;
    fake_reset();
    memset(&slice, 0, sizeof(slice));
    fixture_job = (struct weft_job){
        .who = {.rank = 0, .size = FIXTURE_RANKS},
        .slice = &slice,
    };
    if (weft_segment_create(&plan, &fixture_job.segment) != WEFT_OK) {
        return -1;
    }
    for (uint32_t i = 0; i < FIXTURE_RANKS; i++) {
        weft_segment_map(&fixture_job.segment)[i].local_rank = i;
        weft_segment_plan_slot(&fixture_job.segment, i, i);
        (void)weft_segment_join(&fixture_job.segment, i);
    }
    fixture_comm = (struct weft_comm){
        .rank = 0,
        .size = FIXTURE_RANKS,
        .context = FIXTURE_CONTEXT,
        .peers = FIXTURE_RANKS,
        .map = {.first = weft_process(FIXTURE_JOB, 0), .stride = 1},
        .references = 1,
        .name = "fixture",
    };
    set_peers_inside(true);
    weft_lock();
    rc = weft_p2p_open(transports, &fixture_job);
    weft_unlock();
    if (rc != WEFT_OK) {
        return -1;
    }
    limit_shares(FIXTURE_SHARES);
    limit_stages(0);
    weft_engine.has_progress = false; /* nothing happens but what a test does */
    return 0;
}

int fixture_close(void **state)
{
    bool is_clean;

    (void)state;
    weft_p2p_close();
    is_clean = shares_used() == 0 && stages_used() == 0 && !fake_is_armed();
    weft_segment_close(&fixture_job.segment);
    if (fake.fault != NULL) {
        fprintf(stderr, "fake transport: %s\n", fake.fault);
        return -1;
    }
    if (fake.is_open || !is_clean || fake.paths != 0) {
        fprintf(stderr, "fake transport: something is left open\n");
        return -1;
    }
    fake_reset();
    return 0;
}

/* ---- what the node shows ---- */

struct weft_node_area *area_of(uint32_t rank)
{
    return weft_node_area_of(&fixture_job.segment, rank);
}

struct weft_copy_share *share_of(uint32_t rank, uint32_t number)
{
    return &area_of(rank)->shares[number];
}

uint8_t *stage_of(uint32_t rank, uint32_t number)
{
    return area_of(rank)->stages[number];
}

static uint32_t shares_withheld;
static uint32_t stages_withheld;

/* Those beyond the first `count` are taken by nobody. */
static void limit(uint32_t *used, uint32_t *withheld, uint32_t count)
{
    *used &= ~*withheld;
    *withheld = UINT32_MAX << count;
    *used |= *withheld;
}

void limit_shares(uint32_t count)
{
    limit(&weft_engine.node.shares_used, &shares_withheld, count);
}

void limit_stages(uint32_t count)
{
    limit(&weft_engine.node.stages_used, &stages_withheld, count);
}

uint32_t shares_used(void)
{
    return weft_engine.node.shares_used & ~shares_withheld;
}

uint32_t stages_used(void)
{
    return weft_engine.node.stages_used & ~stages_withheld;
}

void set_peers_inside(bool is_inside)
{
    for (uint32_t i = 1; i < FIXTURE_RANKS; i++) {
        atomic_store_explicit(&area_of(i)->is_inside, is_inside, memory_order_relaxed);
    }
}

struct weft_header fixture_header(enum weft_packet kind, uint32_t source, int tag)
{
    return (struct weft_header){
        .kind = (uint8_t)kind,
        .context = FIXTURE_CONTEXT,
        .source = source,
        .tag = tag,
    };
}

/* ---- what is logged ---- */

static int listening = -1;
static int real_stderr;

void start_listening(void)
{
    listening = memfd_create("stderr", 0);
    real_stderr = dup(STDERR_FILENO);
    assert_true(listening >= 0 && real_stderr >= 0);
    assert_int_equal(dup2(listening, STDERR_FILENO), STDERR_FILENO);
}

const char *stop_listening(void)
{
    static char said[4096];
    ssize_t n = pread(listening, said, sizeof(said) - 1, 0);

    dup2(real_stderr, STDERR_FILENO);
    close(real_stderr);
    close(listening);
    assert_true(n >= 0);
    said[n] = '\0';
    return said;
}

/* ---- a job that is ended ---- */

_Noreturn void __wrap_weft_wireup_abort(struct weft_job *job, int code, const char *why)
{
    if (rejecting == NULL) {
        __real_weft_wireup_abort(job, code, why);
    }
    snprintf(last_words, sizeof(last_words), "%s", why);
    longjmp(*rejecting, 1);
}

const char *rejection_in(void (*act)(void *argument), void *argument)
{
    jmp_buf here;
    const char *volatile words = last_words;

    rejecting = &here;
    if (setjmp(here) == 0) {
        act(argument);
        words = NULL;
    } else if (atomic_load_explicit(&weft_the_lock.state, memory_order_relaxed) != 0) {
        weft_unlock();
    }
    rejecting = NULL;
    return words;
}

struct arrival {
    uint32_t from;
    const struct weft_header *header;
    const void *data;
    size_t len;
};

bool fixture_is_ordered(const struct weft_header *header)
{
    return header->kind < WEFT_KINDS && weft_engine.kinds[header->kind].is_ordered;
}

static void arrive_as_it_is(void *argument)
{
    const struct arrival *arrival = argument;
    struct weft_peer *from = weft_engine_meet(NULL, weft_engine_process(arrival->from));

    weft_lock();
    if (fixture_is_ordered(arrival->header)) {
        (void)weft_engine_arrived(NULL, from, arrival->header, arrival->data,
                                  arrival->len, 0);
    } else {
        weft_engine_control_arrived(NULL, from, arrival->header, arrival->data,
                                    arrival->len);
    }
    weft_unlock();
}

const char *rejection_of(uint32_t from, const struct weft_header *header,
                         const void *data, size_t len)
{
    struct arrival arrival = {from, header, data, len};
    struct weft_peer *peer = weft_engine_meet(NULL, weft_engine_process(from));
    const uint32_t in_sequence = peer->in_sequence;
    const char *words;

    peer->in_sequence = header->sequence; /* it is its turn */
    words = rejection_in(arrive_as_it_is, &arrival);
    peer->in_sequence = in_sequence; /* and later of those that the fake numbers */
    return words;
}

/* ---- peers ---- */

/* With the checksum of a control packet or of DATA, where they are on. */
static struct weft_header sealed(uint32_t from, struct weft_header header,
                                 const void *data, size_t len)
{
    header.length = (uint32_t)len;
    header.sequence = fixture_is_ordered(&header) ? fake_number(from) : 0;
    if (weft_p2p.has_checksum) {
        weft_seal_packet(&header, data,
                         header.kind == WEFT_PKT_DATA ? sizeof(struct weft_pkt_data)
                                                      : len);
    }
    return header;
}

void arrive_eager(uint32_t from, int tag, const void *data, size_t len)
{
    fake_arrive(from, fixture_header(WEFT_PKT_EAGER, from, tag), data, len, 0);
}

static void arrive_announce(uint32_t from, int tag, const void *data, uint64_t length,
                            uint64_t request, uint64_t share)
{
    const struct weft_pkt_announce announce = {
        .length = length,
        .address = (uint64_t)(uintptr_t)data,
        .request = request,
        .share = share,
    };

    fake_arrive(from, fixture_header(WEFT_PKT_ANNOUNCE, from, tag), &announce,
                sizeof(announce), WEFT_SEND_URGENT);
}

void arrive_announced(uint32_t from, int tag, const void *data, uint64_t length,
                      uint64_t request)
{
    arrive_announce(from, tag, data, length, request, WEFT_NO_SHARE);
}

uint32_t arrive_with_share(uint32_t from, int tag, const void *data, uint64_t length,
                           uint64_t request, uint32_t number)
{
    const uint32_t generation =
        weft_share_announce(share_of(from, number), (uint64_t)(uintptr_t)data);

    arrive_announce(from, tag, data, length, request,
                    (uint64_t)generation << 32 | number);
    return generation;
}

void arrive_answer(uint32_t from, enum weft_packet kind, union weft_pkt_control answer)
{
    const size_t len = weft_engine.kinds[kind].least;

    fake_arrive(from, sealed(from, fixture_header(kind, from, 0), &answer, len), &answer,
                len, WEFT_SEND_CONTROL);
}

void arrive_data(uint32_t from, uint64_t request, const uint8_t *message, uint64_t offset,
                 uint64_t length)
{
    const struct weft_pkt_data chunk = {.request = request, .offset = offset};
    uint8_t packet[FAKE_SHORT_MAX];

    assert_true(sizeof(chunk) + length <= sizeof(packet));
    memcpy(packet, &chunk, sizeof(chunk));
    memcpy(packet + sizeof(chunk), message + offset, length);
    fake_arrive(from,
                sealed(from, fixture_header(WEFT_PKT_DATA, from, 0), packet,
                       sizeof(chunk) + (size_t)length),
                packet, sizeof(chunk) + (size_t)length, 0);
}

/* ---- us ---- */

struct weft_request *start_send(int dest, int tag, const void *data, size_t bytes,
                                enum weft_send_mode mode)
{
    struct weft_request *request;

    assert_int_equal(weft_isend(&fixture_comm, dest, tag, data, bytes,
                                WEFT_PLANE_P2P | (unsigned)mode, &request),
                     WEFT_OK);
    return request;
}

struct weft_request *start_recv(int source, int tag, void *buffer, size_t bytes)
{
    struct weft_request *request;

    assert_int_equal(
        weft_irecv(&fixture_comm, WEFT_PLANE_P2P, source, tag, buffer, bytes, &request),
        WEFT_OK);
    return request;
}

struct weft_data elements_at(const void *buffer, uint64_t count,
                             struct weft_datatype *type)
{
    return weft_data_of(buffer, (MPI_Count)count, type, count * type->size);
}

struct weft_request *start_send_data(int dest, int tag, struct weft_data data)
{
    struct weft_request *request;

    assert_int_equal(weft_isend_data(&fixture_comm, dest, tag, &data,
                                     WEFT_PLANE_P2P | WEFT_SEND_STANDARD, &request),
                     WEFT_OK);
    return request;
}

struct weft_request *start_recv_data(int source, int tag, struct weft_data data)
{
    struct weft_request *request;

    assert_int_equal(
        weft_irecv_data(&fixture_comm, WEFT_PLANE_P2P, source, tag, &data, &request),
        WEFT_OK);
    return request;
}

uint64_t transfer_name(const struct weft_request *request)
{
    const struct weft_transfer *transfer =
        ((const struct weft_p2p_request *)request)->transfer;

    return transfer != NULL ? transfer->name : 0;
}

void end_request(struct weft_request *request, enum weft_rc rc)
{
    assert_true(weft_request_is_complete(request));
    assert_int_equal(request->rc, rc);
    weft_request_give(request);
}

void end_recv(struct weft_request *request, int source, int tag, uint64_t bytes)
{
    assert_true(weft_request_is_complete(request));
    assert_int_equal(request->source, source);
    assert_int_equal(request->tag, tag);
    assert_int_equal(request->bytes, bytes);
    end_request(request, WEFT_OK);
}

union weft_pkt_control answer_in(const struct fake_packet *packet)
{
    union weft_pkt_control answer;

    assert_non_null(packet);
    assert_int_equal(packet->len, weft_engine.kinds[packet->header.kind].least);
    memcpy(&answer, packet->data, packet->len);
    return answer;
}

struct weft_pkt_data data_in(const struct fake_packet *packet)
{
    struct weft_pkt_data chunk;

    assert_non_null(packet);
    assert_int_equal(packet->header.kind, WEFT_PKT_DATA);
    assert_true(packet->len >= sizeof(chunk));
    memcpy(&chunk, packet->data, sizeof(chunk));
    return chunk;
}

struct weft_pkt_announce announce_in(const struct fake_packet *packet)
{
    struct weft_pkt_announce announce;

    assert_non_null(packet);
    assert_int_equal(packet->header.kind, WEFT_PKT_ANNOUNCE);
    assert_int_equal(packet->len, sizeof(announce) +
                                      (weft_p2p.has_checksum ? 4 * WEFT_SUM_BLOCKS : 0));
    memcpy(&announce, packet->data, sizeof(announce));
    return announce;
}

/* ---- bytes ---- */

static uint8_t byte_at(size_t i, unsigned seed)
{
    return (uint8_t)((i * 31 + (i >> 8) * 7 + seed * 101) % 251);
}

void fill_pattern(uint8_t *bytes, size_t len, unsigned seed)
{
    for (size_t i = 0; i < len; i++) {
        bytes[i] = byte_at(i, seed);
    }
}

void assert_pattern(const uint8_t *bytes, size_t len, unsigned seed)
{
    for (size_t i = 0; i < len; i++) {
        if (bytes[i] != byte_at(i, seed)) {
            fail_msg("byte %zu of %zu is %u instead of %u", i, len, bytes[i],
                     byte_at(i, seed));
        }
    }
}

void fill_store(void)
{
    static const uint8_t large[WEFT_EAGER_MAX];

    for (int i = 0; i < 10000 && !weft_engine.order.is_full; i++) {
        arrive_eager(FILLER, FILLER_TAG, large, sizeof(large));
        weft_progress();
    }
    assert_true(weft_engine.order.is_full);
}
