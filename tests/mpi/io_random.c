/*
 * io_random.c FILE [SEED [ROUNDS]] - random views and accesses, compared with a model.
 *
 * All ranks draw the same numbers, so that each of them knows what every rank does. In
 * every round a tile of the file is dealt out to the ranks and to nobody, unit by unit;
 * a rank's filetype has its units of the tile. The ranks write some data by one kind of
 * access, and read others by another one. Each rank keeps a model of the whole file; what
 * is read is compared with it, and now and then rank 0 compares the whole file.
 */
#include "check.h"
#include "draw.h"

#include <fcntl.h>
#include <stdbool.h>
#include <sys/stat.h>
#include <unistd.h>

#define DONE(call) CHECK((call) == MPI_SUCCESS)

enum {
    MOST_RANKS = 16,
    TILE = 48,     /* units at most */
    UNITS = 3000,  /* of data that a rank accesses at most */
    ROOM = 400000, /* bytes that the file has at most */
};

enum kind {
    AT,
    SEEK,
    AT_ALL,
    ALL,
    AT_ALL_SPLIT,
    ALL_SPLIT,
    I_AT,
    I_SEEK,
    I_AT_ALL,
    I_ALL,
    ORDERED,
    ORDERED_SPLIT,
    SHARED,
    I_SHARED,
    KINDS,
};

/* How the units of a tile are dealt out, and what each rank does with its own. */
struct deal {
    int unit; /* bytes of an etype */
    int tile; /* units */
    int displacement;
    int own[MOST_RANKS][TILE]; /* units of each rank, ascending */
    int owned[MOST_RANKS];
    int first[MOST_RANKS]; /* etype of the access */
    int count[MOST_RANKS];
    int style;  /* how filetypes are made */
    int spread; /* bytes between elements in memory */
    enum kind kind;
    int number; /* of the round */
};

static int rank;
static int size;
static uint32_t state;
static unsigned char model[ROOM];
static int model_end; /* bytes of the file */
static MPI_File file;

static unsigned char byte_of(const struct deal *d, int who, int i)
{
    return (unsigned char)(1 + (d->number * 37 + who * 101 + i * 13 + (i >> 8)) % 251);
}

/* ---- drawing ---- */

static bool is_pointed(enum kind kind)
{
    return kind >= ORDERED;
}

/* In a read, ranks may have the same units. */
static void deal_units(struct deal *d, bool is_read)
{
    memset(d->owned, 0, sizeof(d->owned));
    for (int u = 0; u < d->tile; u++) {
        const int who = draw(&state, size + 1);
        const bool is_shared = is_read && draw(&state, 3) == 0;

        for (int r = 0; r < size; r++) {
            if (r == who || (is_shared && draw(&state, 2) == 0)) {
                d->own[r][d->owned[r]++] = u;
            }
        }
    }
    if (draw(&state, 4) == 0) { /* blocks, one after the other */
        const int each = d->tile / size;

        for (int r = 0; r < size; r++) {
            d->owned[r] = each;
            for (int u = 0; u < each; u++) {
                d->own[r][u] = r * each + u;
            }
        }
    }
}

/* A pointer that ranks share needs the same view everywhere. */
static void share_view(struct deal *d)
{
    int from = 0;

    for (int r = 0; r < size; r++) {
        from = d->owned[r] > d->owned[from] ? r : from;
    }
    if (d->owned[from] == 0) {
        d->own[from][0] = 0;
        d->owned[from] = 1;
    }
    for (int r = 0; r < size; r++) {
        d->owned[r] = d->owned[from];
        memmove(d->own[r], d->own[from], sizeof(d->own[r]));
    }
}

/* The last unit of the file that rank `who` touches, plus one. */
static int end_of(const struct deal *d, int who)
{
    const int last = d->first[who] + d->count[who] - 1;

    if (d->count[who] == 0 || d->owned[who] == 0) {
        return 0;
    }
    return d->displacement + d->unit * (last / d->owned[who] * d->tile +
                                        d->own[who][last % d->owned[who]] + 1);
}

static void draw_deal(struct deal *d, int number, bool is_read)
{
    const int units = draw(&state, 3) == 0 ? 40 : UNITS;

    memset(d, 0, sizeof(*d));
    d->number = number;
    d->kind = (enum kind)draw(&state, KINDS);
    d->unit = 1 << draw(&state, 4);
    d->tile = size + draw(&state, TILE - size);
    d->displacement = draw(&state, 200);
    d->style = draw(&state, 3);
    d->spread = draw(&state, 2) * draw(&state, 20);
    deal_units(d, is_read);
    if (is_pointed(d->kind)) {
        share_view(d);
    }
    for (int r = 0; r < size; r++) {
        d->first[r] = draw(&state, 50);
        d->count[r] = d->owned[r] == 0 || draw(&state, 8) == 0 ? 0 : draw(&state, units);
    }
    if (is_pointed(d->kind)) {
        const bool is_even = d->kind == SHARED || d->kind == I_SHARED;
        const int even = 1 + d->count[0] / 8;
        int at = d->first[0];

        for (int r = 0; r < size; r++) {
            d->count[r] = is_even ? even : d->count[r] / 4;
            d->first[r] = at;
            at += d->count[r];
        }
    }
    for (int r = 0; r < size; r++) {
        while (end_of(d, r) > ROOM) {
            d->count[r] = is_pointed(d->kind) ? 0 : d->count[r] / 2;
            for (int s = r + 1; s < size && is_pointed(d->kind); s++) {
                d->count[s] = 0;
            }
        }
    }
}

/* ---- types ---- */

static MPI_Datatype etype_of(const struct deal *d)
{
    static const MPI_Datatype types[] = {MPI_BYTE, MPI_INT16_T, MPI_INT32_T, MPI_INT64_T};
    const int at = d->unit == 1 ? 0 : d->unit == 2 ? 1 : d->unit == 4 ? 2 : 3;

    return types[at];
}

static MPI_Datatype filetype_of(const struct deal *d)
{
    const MPI_Datatype etype = etype_of(d);
    const int n = d->owned[rank];
    MPI_Datatype units;
    MPI_Datatype made;

    if (n == 0) {
        DONE(MPI_Type_contiguous(1, etype, &made));
        DONE(MPI_Type_commit(&made));
        return made;
    }
    if (d->style == 0) {
        DONE(MPI_Type_create_indexed_block(n, 1, d->own[rank], etype, &units));
    } else if (d->style == 1) {
        MPI_Aint places[TILE];
        MPI_Datatype types[TILE];
        int lengths[TILE];

        for (int i = 0; i < n; i++) {
            places[i] = (MPI_Aint)d->own[rank][i] * d->unit;
            types[i] = etype;
            lengths[i] = 1;
        }
        DONE(MPI_Type_create_struct(n, lengths, places, types, &units));
    } else {
        int lengths[TILE];
        int starts[TILE];
        int blocks = 0;

        for (int i = 0; i < n; i++) { /* neighbours are one block */
            if (i > 0 && d->own[rank][i] == d->own[rank][i - 1] + 1) {
                lengths[blocks - 1]++;
            } else {
                starts[blocks] = d->own[rank][i];
                lengths[blocks++] = 1;
            }
        }
        DONE(MPI_Type_indexed(blocks, lengths, starts, etype, &units));
    }
    DONE(MPI_Type_create_resized(units, 0, (MPI_Aint)d->tile * d->unit, &made));
    DONE(MPI_Type_commit(&made));
    DONE(MPI_Type_free(&units));
    return made;
}

/* Elements in memory: etypes with bytes between them, or none. */
static MPI_Datatype memory_type(const struct deal *d)
{
    MPI_Datatype made;

    DONE(MPI_Type_create_resized(etype_of(d), 0, d->unit + d->spread, &made));
    DONE(MPI_Type_commit(&made));
    return made;
}

/* ---- the model ---- */

/* Where byte i of the data of rank `who` is in the file. */
static int place_of(const struct deal *d, int who, int i)
{
    const int at = d->first[who] + i / d->unit;

    return d->displacement + i % d->unit +
           d->unit * (at / d->owned[who] * d->tile + d->own[who][at % d->owned[who]]);
}

static void model_write(const struct deal *d, int who, int as)
{
    for (int i = 0; i < d->count[who] * d->unit; i++) {
        const int at = place_of(d, as, i);

        model[at] = byte_of(d, who, i);
        model_end = at + 1 > model_end ? at + 1 : model_end;
    }
}

static void compare_file(const char *name, int number)
{
    static unsigned char found[ROOM + 1];
    const int fd = open(name, O_RDONLY);
    const ssize_t n = read(fd, found, sizeof(found));

    CHECK(fd >= 0);
    close(fd);
    if (n != model_end) {
        fprintf(stderr, "round %d: %zd bytes, not %d\n", number, n, model_end);
        CHECK(n == model_end);
    }
    for (int i = 0; i < model_end; i++) {
        if (found[i] != model[i]) {
            fprintf(stderr, "round %d: byte %d is %d, not %d\n", number, i, found[i],
                    model[i]);
            CHECK(found[i] == model[i]);
        }
    }
}

/* ---- access ---- */

#define BOTH(is_write, name, ...)                                                        \
    DONE((is_write) ? MPI_File_write##name(__VA_ARGS__)                                  \
                    : MPI_File_read##name(__VA_ARGS__))

static void end_request(MPI_Request *request, MPI_Status *status)
{
    DONE(MPI_Wait(request, status));
}

static void access_split(bool is_write, const struct deal *d, void *buffer,
                         MPI_Datatype type, MPI_Status *status)
{
    const int n = d->count[rank];

    if (d->kind == AT_ALL_SPLIT) {
        BOTH(is_write, _at_all_begin, file, d->first[rank], buffer, n, type);
        BOTH(is_write, _at_all_end, file, buffer, status);
    } else if (d->kind == ALL_SPLIT) {
        BOTH(is_write, _all_begin, file, buffer, n, type);
        BOTH(is_write, _all_end, file, buffer, status);
    } else {
        BOTH(is_write, _ordered_begin, file, buffer, n, type);
        BOTH(is_write, _ordered_end, file, buffer, status);
    }
}

#define I_BOTH(is_write, name, ...)                                                      \
    DONE((is_write) ? MPI_File_iwrite##name(__VA_ARGS__)                                 \
                    : MPI_File_iread##name(__VA_ARGS__))

static void access_later(bool is_write, const struct deal *d, void *buffer,
                         MPI_Datatype type, MPI_Status *status)
{
    const int n = d->count[rank];
    MPI_Request request;

    if (d->kind == I_AT) {
        I_BOTH(is_write, _at, file, d->first[rank], buffer, n, type, &request);
    } else if (d->kind == I_SEEK) {
        I_BOTH(is_write, , file, buffer, n, type, &request);
    } else if (d->kind == I_AT_ALL) {
        I_BOTH(is_write, _at_all, file, d->first[rank], buffer, n, type, &request);
    } else if (d->kind == I_ALL) {
        I_BOTH(is_write, _all, file, buffer, n, type, &request);
    } else {
        I_BOTH(is_write, _shared, file, buffer, n, type, &request);
    }
    end_request(&request, status);
}

static void access_now(bool is_write, const struct deal *d, void *buffer,
                       MPI_Datatype type, MPI_Status *status)
{
    const int n = d->count[rank];

    switch (d->kind) {
    case AT:
        BOTH(is_write, _at, file, d->first[rank], buffer, n, type, status);
        break;
    case SEEK:
        BOTH(is_write, , file, buffer, n, type, status);
        break;
    case AT_ALL:
        BOTH(is_write, _at_all, file, d->first[rank], buffer, n, type, status);
        break;
    case ALL:
        BOTH(is_write, _all, file, buffer, n, type, status);
        break;
    case ORDERED:
        BOTH(is_write, _ordered, file, buffer, n, type, status);
        break;
    case SHARED:
        BOTH(is_write, _shared, file, buffer, n, type, status);
        break;
    case AT_ALL_SPLIT:
    case ALL_SPLIT:
    case ORDERED_SPLIT:
        access_split(is_write, d, buffer, type, status);
        break;
    default:
        access_later(is_write, d, buffer, type, status);
    }
}

static void access_file(bool is_write, const struct deal *d, unsigned char *buffer)
{
    MPI_Datatype filetype = filetype_of(d);
    MPI_Datatype type = memory_type(d);
    MPI_Status status;
    int count;

    DONE(MPI_File_set_view(file, d->displacement, etype_of(d), filetype, "native",
                           MPI_INFO_NULL));
    DONE(MPI_Type_free(&filetype));
    if (is_pointed(d->kind)) {
        DONE(MPI_File_seek_shared(file, d->first[0], MPI_SEEK_SET));
    } else {
        DONE(MPI_File_seek(file, d->first[rank], MPI_SEEK_SET));
    }
    access_now(is_write, d, buffer, type, &status);
    DONE(MPI_Get_count(&status, type, &count));
    CHECK(!is_write || count == d->count[rank]);
    DONE(MPI_Type_free(&type));
}

/* ---- rounds ---- */

/* Which rank has come which place in the file, where that is nobody's choice? */
static void find_order(const char *name, const struct deal *d, int *as)
{
    const int bytes = d->count[0] * d->unit;
    const int fd = open(name, O_RDONLY);

    CHECK(fd >= 0);
    for (int slot = 0; slot < size; slot++) {
        as[slot] = -1;
        for (int who = 0; who < size && as[slot] < 0; who++) {
            int i = 0;
            unsigned char found;

            while (i < bytes && pread(fd, &found, 1, place_of(d, slot, i)) == 1 &&
                   found == byte_of(d, who, i)) {
                i++;
            }
            as[slot] = i == bytes ? who : -1;
        }
        CHECK(as[slot] >= 0);
        for (int s = 0; s < slot; s++) {
            CHECK(as[s] != as[slot]);
        }
    }
    close(fd);
}

static void settle(void)
{
    DONE(MPI_File_sync(file));
    DONE(MPI_Barrier(MPI_COMM_WORLD));
}

static void write_round(const char *name, int number, unsigned char *buffer)
{
    struct deal d;
    int as[MOST_RANKS];

    draw_deal(&d, number, false);
    for (int i = 0; i < d.count[rank] * d.unit; i++) {
        buffer[(size_t)(i / d.unit) * (size_t)(d.unit + d.spread) +
               (size_t)(i % d.unit)] = byte_of(&d, rank, i);
    }
    access_file(true, &d, buffer);
    settle();
    if ((d.kind == SHARED || d.kind == I_SHARED) && d.count[size - 1] > 0) {
        find_order(name, &d, as);
        for (int slot = 0; slot < size; slot++) {
            model_write(&d, as[slot], slot);
        }
    } else {
        for (int r = 0; r < size; r++) {
            model_write(&d, r, r);
        }
    }
    DONE(MPI_Barrier(MPI_COMM_WORLD));
}

/* Ranks that share a pointer get what they get; all of it is in the file. */
static void read_round(int number, unsigned char *buffer)
{
    struct deal d;
    int step;

    draw_deal(&d, number, true);
    if (d.kind == SHARED || d.kind == I_SHARED) {
        d.kind = ORDERED;
    }
    step = d.unit + d.spread;
    memset(buffer, 0xee, (size_t)d.count[rank] * (size_t)step);
    access_file(false, &d, buffer);
    for (int i = 0; i < d.count[rank] * d.unit; i++) {
        const int at = place_of(&d, rank, i);
        const int found = buffer[i / d.unit * step + i % d.unit];

        if (at < model_end && found != model[at]) {
            fprintf(stderr, "round %d: kind %d: byte %d is read as %d, not %d\n", number,
                    (int)d.kind, at, found, model[at]);
            CHECK(found == model[at]);
        }
        CHECK(i % d.unit < d.unit && (at < model_end || found == 0xee));
    }
    DONE(MPI_Barrier(MPI_COMM_WORLD));
}

/* Exchanges are made now and then where they would not be worth it. */
static MPI_Info draw_hints(void)
{
    static const char *const choices[] = {"enable", "automatic", "disable"};
    char text[16];
    MPI_Info info;

    DONE(MPI_Info_create(&info));
    DONE(MPI_Info_set(info, "romio_cb_write", choices[draw(&state, 3)]));
    DONE(MPI_Info_set(info, "romio_cb_read", choices[draw(&state, 3)]));
    snprintf(text, sizeof(text), "%d", 4096 << draw(&state, 5));
    DONE(MPI_Info_set(info, "cb_buffer_size", text));
    snprintf(text, sizeof(text), "%d", 1 + draw(&state, size));
    DONE(MPI_Info_set(info, "cb_nodes", text));
    return info;
}

int main(int argc, char **argv)
{
    const int seed = argc > 2 ? atoi(argv[2]) : 1;
    const int rounds = argc > 3 ? atoi(argv[3]) : 300;
    unsigned char *buffer = malloc((size_t)UNITS * (8 + 20));

    DONE(MPI_Init(&argc, &argv));
    DONE(MPI_Comm_rank(MPI_COMM_WORLD, &rank));
    DONE(MPI_Comm_size(MPI_COMM_WORLD, &size));
    CHECK(argc > 1 && buffer != NULL && size <= MOST_RANKS);
    if (rank == 0) {
        printf("seed %d, %d rounds\n", seed, rounds);
        unlink(argv[1]);
    }
    DONE(MPI_Barrier(MPI_COMM_WORLD));
    state = (uint32_t)seed * 2654435761u + 1;
    for (int i = 0; i < rounds; i++) {
        if (i % 25 == 0) {
            MPI_Info info = draw_hints();

            DONE(MPI_File_open(MPI_COMM_WORLD, argv[1], MPI_MODE_CREATE | MPI_MODE_RDWR,
                               info, &file));
            DONE(MPI_Info_free(&info));
            DONE(MPI_File_set_atomicity(file, draw(&state, 4) == 0));
        }
        write_round(argv[1], i, buffer);
        if (rank == 0) {
            compare_file(argv[1], i);
        }
        read_round(i, buffer);
        if (i % 25 == 24 || i == rounds - 1) {
            DONE(MPI_File_close(&file));
        }
    }
    DONE(MPI_Barrier(MPI_COMM_WORLD));
    if (rank == 0) {
        unlink(argv[1]);
    }
    free(buffer);
    DONE(MPI_Finalize());
    return 0;
}
