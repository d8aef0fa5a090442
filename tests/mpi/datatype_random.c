/*
 * datatype_random.c - chapters 3 and 5: messages between types that match but lie
 * differently. Every rank sends to the next one and receives from the one before, itself
 * if alone. Both draw the same random numbers, so that each knows both types: blocks of
 * short, long or mixed lengths, with gaps, in order or backwards, or one block; or the
 * columns of a matrix, which are elements that are longer than the distance from one to
 * the next. A receive may be longer than its message.
 */
#include "bytes.h"
#include "check.h"
#include "draw.h"

#include <stdbool.h>

enum { ROUNDS = 150, BLOCKS_MAX = 3000, BYTES_MAX = 3 * 1024 * 1024, AT_ONCE = 3 };

struct shape {
    int bytes; /* of all elements */
    int elements;
    MPI_Aint extent;
    MPI_Aint origin; /* where the first element is, from the start of the memory */
    int count;       /* of blocks of an element; 0: contiguous */
    int lengths[BLOCKS_MAX];
    MPI_Aint places[BLOCKS_MAX];
    size_t span;
};

static int rank;
static int size;

/* Lengths around 16, 700 or 10,000 bytes, or any of them. */
static int draw_length(uint32_t *state, int kind)
{
    static const int most[] = {32, 1400, 20000};

    return 1 + draw(state, most[kind < 3 ? kind : draw(state, 3)]);
}

/* At least `bytes` bytes; with the columns or the rows in order or backwards. */
static void make_columns(struct shape *s, uint32_t *state, int bytes)
{
    const int length = 1 + draw(state, 40);
    const int rows = 2 + draw(state, 60);
    const int way = draw(state, 3);
    MPI_Aint row;

    s->elements = bytes / (length * rows) + 1;
    s->bytes = s->elements * length * rows;
    row = (MPI_Aint)length * (s->elements + draw(state, 2));
    s->span = (size_t)(row * rows);
    s->extent = way == 1 ? -length : length;
    s->origin = way == 1   ? (MPI_Aint)length * (s->elements - 1)
                : way == 2 ? row * (rows - 1)
                           : 0;
    s->count = rows;
    for (int i = 0; i < rows; i++) {
        s->lengths[i] = length;
        s->places[i] = way == 2 ? -i * row : i * row;
    }
}

static void make_shape(struct shape *s, uint32_t *state, int bytes)
{
    const int kind = draw(state, 6);
    const bool is_backwards = draw(state, 4) == 0;

    if (kind == 5) {
        make_columns(s, state, bytes);
        return;
    }
    s->bytes = bytes;
    s->elements = 1;
    s->origin = 0;
    s->count = 0;
    s->span = (size_t)bytes;
    if (kind == 4) {
        return;
    }
    s->span = 0;
    for (int left = bytes; left > 0; s->count++) {
        int length = draw_length(state, kind);

        length = length > left || s->count == BLOCKS_MAX - 1 ? left : length;
        s->lengths[s->count] = length;
        s->places[s->count] = (MPI_Aint)s->span;
        s->span += (size_t)(length + draw(state, 2) * (1 + draw(state, length)));
        left -= length;
    }
    for (int i = 0; is_backwards && i < s->count; i++) {
        s->places[i] = (MPI_Aint)s->span - s->places[i] - s->lengths[i];
    }
}

static MPI_Datatype make_type(const struct shape *s)
{
    MPI_Datatype type;
    MPI_Datatype plain;

    if (s->count == 0) {
        CHECK(MPI_Type_contiguous(s->bytes, MPI_BYTE, &type) == MPI_SUCCESS);
    } else {
        CHECK(MPI_Type_create_hindexed(s->count, s->lengths, s->places, MPI_BYTE,
                                       &type) == MPI_SUCCESS);
    }
    if (s->elements > 1) {
        plain = type;
        CHECK(MPI_Type_create_resized(plain, 0, s->extent, &type) == MPI_SUCCESS);
        CHECK(MPI_Type_free(&plain) == MPI_SUCCESS);
    }
    CHECK(MPI_Type_commit(&type) == MPI_SUCCESS);
    return type;
}

/* Between memory and packed bytes, one way or the other; as slow and plain as can be. */
static void move(const struct shape *s, char *memory, char *packed, bool is_out)
{
    if (s->count == 0) {
        memcpy(is_out ? packed : memory, is_out ? memory : packed, (size_t)s->bytes);
    }
    for (int e = 0; e < s->elements; e++) {
        char *element = memory + s->origin + (e > 0 ? e * s->extent : 0);

        for (int i = 0; i < s->count; i++) {
            char *at = element + s->places[i];

            memcpy(is_out ? packed : at, is_out ? at : packed, (size_t)s->lengths[i]);
            packed += s->lengths[i];
        }
    }
}

struct message {
    struct shape from;
    struct shape to; /* may be longer */
    int way;
    char *out;
    char *in;
    char *expected;
};

static void make_message(struct message *m, uint32_t *state)
{
    static const int most[] = {9000, 140000, 300000, BYTES_MAX};
    const int bytes = 1 + draw(state, most[draw(state, 4)]);

    make_shape(&m->from, state, bytes);
    make_shape(&m->to, state,
               m->from.bytes + (draw(state, 3) == 0 ? draw(state, bytes) : 0));
    m->way = draw(state, 3);
}

static MPI_Request start_recv(struct message *m, int tag)
{
    MPI_Datatype type = make_type(&m->to);
    MPI_Request request;

    m->in = malloc(m->to.span);
    m->expected = malloc(m->to.span);
    CHECK(m->in != NULL && m->expected != NULL);
    memset(m->in, 0x5a, m->to.span);
    CHECK(MPI_Irecv(m->in + m->to.origin, m->to.elements, type, (rank + size - 1) % size,
                    tag, MPI_COMM_WORLD, &request) == MPI_SUCCESS);
    CHECK(MPI_Type_free(&type) == MPI_SUCCESS); /* while it is in use */
    return request;
}

static MPI_Request start_send(struct message *m, int tag, uint32_t seed)
{
    MPI_Datatype type = make_type(&m->from);
    MPI_Request request = MPI_REQUEST_NULL;
    char *packed = malloc((size_t)m->from.bytes);

    m->out = malloc(m->from.span);
    CHECK(m->out != NULL && packed != NULL);
    fill_bytes(packed, (size_t)m->from.bytes, seed);
    memset(m->out, 0, m->from.span);
    move(&m->from, m->out, packed, false);
    free(packed);
    if (m->way == 0) {
        CHECK(MPI_Send(m->out + m->from.origin, m->from.elements, type, (rank + 1) % size,
                       tag, MPI_COMM_WORLD) == MPI_SUCCESS);
    } else if (m->way == 1) {
        CHECK(MPI_Issend(m->out + m->from.origin, m->from.elements, type,
                         (rank + 1) % size, tag, MPI_COMM_WORLD,
                         &request) == MPI_SUCCESS);
    } else {
        CHECK(MPI_Isend(m->out + m->from.origin, m->from.elements, type,
                        (rank + 1) % size, tag, MPI_COMM_WORLD, &request) == MPI_SUCCESS);
    }
    CHECK(MPI_Type_free(&type) == MPI_SUCCESS);
    return request;
}

/* Every byte of the receiver's memory: what came, and the gaps as they were. */
static void check_received(struct message *m, const MPI_Status *status, uint32_t seed)
{
    char *packed = malloc((size_t)m->to.bytes);
    int count;

    CHECK(packed != NULL);
    CHECK(MPI_Get_elements(status, MPI_BYTE, &count) == MPI_SUCCESS);
    CHECK(count == m->from.bytes);
    memset(packed, 0x5a, (size_t)m->to.bytes);
    fill_bytes(packed, (size_t)m->from.bytes, seed);
    memset(m->expected, 0x5a, m->to.span);
    move(&m->to, m->expected, packed, false);
    CHECK(memcmp(m->in, m->expected, m->to.span) == 0);
    free(packed);
    free(m->in);
    free(m->expected);
}

/* Several messages at once, so that what they share is used up. */
static void run_round(int number)
{
    static struct message theirs[AT_ONCE];
    static struct message ours[AT_ONCE];
    MPI_Request receives[AT_ONCE];
    MPI_Request sends[AT_ONCE];
    MPI_Status statuses[AT_ONCE];
    uint32_t their_state =
        (uint32_t)(number * 1000 + (rank + size - 1) % size + 1) * 48271u;
    uint32_t our_state = (uint32_t)(number * 1000 + rank + 1) * 48271u;

    for (int i = 0; i < AT_ONCE; i++) {
        make_message(&theirs[i], &their_state);
        make_message(&ours[i], &our_state);
        receives[i] = start_recv(&theirs[i], i);
    }
    for (int i = 0; i < AT_ONCE; i++) {
        sends[i] = start_send(&ours[i], i, (uint32_t)(number * 64 + rank * 8 + i));
    }
    CHECK(MPI_Waitall(AT_ONCE, receives, statuses) == MPI_SUCCESS);
    CHECK(MPI_Waitall(AT_ONCE, sends, MPI_STATUSES_IGNORE) == MPI_SUCCESS);
    for (int i = 0; i < AT_ONCE; i++) {
        check_received(&theirs[i], &statuses[i],
                       (uint32_t)(number * 64 + (rank + size - 1) % size * 8 + i));
        free(ours[i].out);
    }
}

int main(int argc, char **argv)
{
    CHECK(MPI_Init(&argc, &argv) == MPI_SUCCESS);
    CHECK(MPI_Comm_rank(MPI_COMM_WORLD, &rank) == MPI_SUCCESS);
    CHECK(MPI_Comm_size(MPI_COMM_WORLD, &size) == MPI_SUCCESS);
    for (int i = 0; i < ROUNDS / size + 1; i++) {
        run_round(i);
    }
    CHECK(MPI_Finalize() == MPI_SUCCESS);
    return 0;
}
