/*
 * io_datarep.c - chapter 14.5: data in files as "external32", and as the program wants
 * them (MPI_Register_datarep).
 */
#include "io.h"

#include <stddef.h>

enum { N = 20 };

static MPI_Aint extent_of(MPI_File fh, MPI_Datatype type)
{
    MPI_Aint extent = -1;
    MPI_Count wide = -1;

    DONE(MPI_File_get_type_extent(fh, type, &extent));
    DONE(MPI_File_get_type_extent_c(fh, type, &wide));
    CHECK(wide == extent);
    return extent;
}

static void set_view(MPI_File fh, MPI_Offset disp, MPI_Datatype etype,
                     MPI_Datatype filetype, const char *datarep)
{
    DONE(MPI_File_set_view(fh, disp, etype, filetype, datarep, MPI_INFO_NULL));
}

/* ---- external32 ---- */

static void extents(MPI_File fh)
{
    MPI_Datatype type;

    set_view(fh, 0, MPI_BYTE, MPI_BYTE, "external32");
    CHECK(extent_of(fh, MPI_INT) == 4);
    CHECK(extent_of(fh, MPI_LONG) == 4);
    CHECK(extent_of(fh, MPI_DOUBLE) == 8);
    CHECK(extent_of(fh, MPI_LONG_DOUBLE) == 16);
    DONE(MPI_Type_vector(3, 1, 4, MPI_LONG, &type));
    DONE(MPI_Type_commit(&type));
    CHECK(extent_of(fh, type) == 9 * 4);
    set_view(fh, 0, MPI_BYTE, MPI_BYTE, "native");
    CHECK(extent_of(fh, type) == 9 * 8);
    CHECK(extent_of(fh, MPI_LONG) == 8);
    DONE(MPI_Type_free(&type));
}

/* The bytes in the file are those of MPI_Pack_external. */
static void is_packed(MPI_File fh, const void *data, int count, MPI_Datatype type)
{
    char expected[64 * N];
    char got[64 * N];
    MPI_Aint at = 0;
    MPI_Status status;

    DONE(MPI_Pack_external("external32", data, count, type, expected, sizeof(expected),
                           &at));
    set_view(fh, 0, MPI_BYTE, MPI_BYTE, "native");
    DONE(MPI_File_read_at(fh, 0, got, (int)at, MPI_BYTE, &status));
    CHECK(count_of(&status, MPI_BYTE) == at);
    CHECK(memcmp(expected, got, (size_t)at) == 0);
    DONE(MPI_Barrier(MPI_COMM_WORLD));
}

static void plain_numbers(MPI_File fh)
{
    MPI_Request request;
    MPI_Offset at = -1;
    MPI_Status status;
    long out[N];
    long in[N];

    for (int i = 0; i < N; i++) {
        out[i] = i % 2 == 0 ? i * 1000 : -i;
        in[i] = 0;
    }
    DONE(MPI_File_set_size(fh, 0));
    set_view(fh, 0, MPI_LONG, MPI_LONG, "external32");
    DONE(MPI_File_get_byte_offset(fh, 5, &at));
    CHECK(at == 20);
    if (rank == 0) {
        DONE(MPI_File_write(fh, out, N - 5, MPI_LONG, &status));
        CHECK(count_of(&status, MPI_LONG) == N - 5);
        DONE(MPI_File_get_position(fh, &at));
        CHECK(at == N - 5);
        DONE(MPI_File_iwrite(fh, out + N - 5, 5, MPI_LONG, &request));
        DONE(MPI_Wait(&request, &status));
        CHECK(count_of(&status, MPI_LONG) == 5);
    }
    sync_all(fh);
    CHECK(size_of(fh) == 4 * N);
    DONE(MPI_File_read_at_all(fh, 2, in, N, MPI_LONG, &status)); /* to the end */
    CHECK(count_of(&status, MPI_LONG) == N - 2);
    CHECK(memcmp(in, out + 2, (N - 2) * sizeof(long)) == 0);
    DONE(MPI_File_iread_at(fh, 0, in, N, MPI_LONG, &request));
    DONE(MPI_Wait(&request, &status));
    CHECK(memcmp(in, out, sizeof(in)) == 0);
    is_packed(fh, out, N, MPI_LONG);
}

struct record {
    double value;
    long number;
    char letter;
};

static MPI_Datatype record_type(void)
{
    const int lengths[3] = {1, 1, 1};
    const MPI_Aint places[3] = {offsetof(struct record, value),
                                offsetof(struct record, number),
                                offsetof(struct record, letter)};
    const MPI_Datatype types[3] = {MPI_DOUBLE, MPI_LONG, MPI_CHAR};
    MPI_Datatype made;
    MPI_Datatype type;

    DONE(MPI_Type_create_struct(3, lengths, places, types, &made));
    DONE(MPI_Type_create_resized(made, 0, sizeof(struct record), &type));
    DONE(MPI_Type_commit(&type));
    DONE(MPI_Type_free(&made));
    return type;
}

static void records(MPI_File fh)
{
    MPI_Datatype type = record_type();
    struct record out[N];
    struct record in[N];
    MPI_Status status;

    memset(out, 0, sizeof(out));
    memset(in, 0, sizeof(in));
    for (int i = 0; i < N; i++) {
        out[i] = (struct record){.value = i / 7.0, .number = -i, .letter = (char)i};
    }
    DONE(MPI_File_set_size(fh, 0));
    set_view(fh, 0, MPI_BYTE, MPI_BYTE, "external32");
    if (rank == size - 1) {
        DONE(MPI_File_write_at(fh, 0, out, N, type, &status));
        CHECK(count_of(&status, type) == N);
    }
    sync_all(fh);
    CHECK(size_of(fh) == 13 * N);
    DONE(MPI_File_read_at(fh, 13, in, N, type, &status));
    CHECK(count_of(&status, type) == N - 1);
    for (int i = 0; i < N - 1; i++) {
        CHECK(in[i].value == out[i + 1].value && in[i].number == out[i + 1].number &&
              in[i].letter == out[i + 1].letter);
    }
    is_packed(fh, out, N, type);
    DONE(MPI_Type_free(&type));
}

/* The file ends inside a record: what is whole of it arrives, and is counted. */
static void part_of_a_record(MPI_File fh)
{
    MPI_Datatype type = record_type();
    const struct record none = {.value = 7, .number = 8, .letter = 9};
    struct record out[3];
    struct record in[3];
    MPI_Status status;
    MPI_Count elements = 0;

    memset(out, 0, sizeof(out));
    for (int i = 0; i < 3; i++) {
        out[i] = (struct record){.value = i / 7.0, .number = -i, .letter = (char)i};
    }
    DONE(MPI_File_set_size(fh, 0));
    set_view(fh, 0, MPI_BYTE, MPI_BYTE, "external32");
    if (rank == 0) {
        DONE(MPI_File_write_at(fh, 0, out, 3, type, MPI_STATUS_IGNORE));
    }
    sync_all(fh);
    for (int cut = 1; cut < 13; cut++) {
        const int whole = cut == 1 ? 2 : cut < 6 ? 1 : 0; /* without its last bytes */

        DONE(MPI_File_set_size(fh, 39 - cut));
        in[2] = none;
        DONE(MPI_File_read_at_all(fh, 0, in, 3, type, &status));
        CHECK(count_of(&status, type) == (whole > 0 ? MPI_UNDEFINED : 2));
        DONE(MPI_Get_elements_c(&status, type, &elements));
        CHECK(elements == 6 + whole);
        CHECK(in[1].value == out[1].value && in[1].letter == out[1].letter);
        CHECK(in[2].value == (whole > 0 ? out[2].value : none.value));
        CHECK(in[2].number == (whole > 1 ? out[2].number : none.number));
        CHECK(in[2].letter == none.letter);
    }
    DONE(MPI_Type_free(&type));
}

/* Every rank has a part of an array of longs, by a view whose strides count elements. */
static void filetypes(MPI_File fh)
{
    const int sizes[2] = {4, 3 * size};
    const int parts[2] = {4, 3};
    const int starts[2] = {0, 3 * rank};
    MPI_Datatype type;
    MPI_Offset at = -1;
    MPI_Status status;
    long out[12];
    long in[64];

    for (int i = 0; i < 12; i++) {
        out[i] = rank * 100 + i;
    }
    DONE(MPI_Type_create_subarray(2, sizes, parts, starts, MPI_ORDER_C, MPI_LONG, &type));
    DONE(MPI_Type_commit(&type));
    DONE(MPI_File_set_size(fh, 0));
    set_view(fh, 0, MPI_LONG, type, "external32");
    DONE(MPI_File_get_byte_offset(fh, 4, &at));
    CHECK(at == 4 * (3 * size + 3 * rank + 1));
    DONE(MPI_File_write_all(fh, out, 12, MPI_LONG, &status));
    sync_all(fh);
    DONE(MPI_Type_free(&type));
    CHECK(size_of(fh) == 4 * 12 * size);
    set_view(fh, 0, MPI_LONG, MPI_LONG, "external32");
    DONE(MPI_File_read_all(fh, in, 12 * size, MPI_LONG, &status));
    for (int i = 0; i < 12 * size; i++) {
        const int column = i % (3 * size);

        CHECK(in[i] == column / 3 * 100 + i / (3 * size) * 3 + column % 3);
    }
}

/* ---- representations of the program ---- */

/* An int has eight bytes in the file, all of them its complement. */
static int reads;
static int writes;
static int is_broken;

static int file_extent(MPI_Datatype type, MPI_Aint *extent, void *extra_state)
{
    int bytes = 0;

    CHECK(extra_state == &reads);
    DONE(MPI_Type_size(type, &bytes)); /* MPI may be called */
    *extent = 2 * bytes;
    return MPI_SUCCESS;
}

static int write_numbers(void *userbuf, MPI_Datatype type, MPI_Count count, void *filebuf,
                         MPI_Offset position)
{
    const int *from = (const int *)userbuf + position;
    int64_t *to = filebuf;

    CHECK(type == MPI_INT);
    writes++;
    for (MPI_Count i = 0; i < count; i++) {
        const int64_t number = ~(int64_t)from[i];

        memcpy(to + i, &number, sizeof(number));
    }
    return is_broken ? MPI_ERR_OTHER : MPI_SUCCESS;
}

static int read_numbers(void *userbuf, MPI_Datatype type, MPI_Count count, void *filebuf,
                        MPI_Offset position)
{
    int *to = (int *)userbuf + position;
    const int64_t *from = filebuf;

    CHECK(type == MPI_INT);
    reads++;
    for (MPI_Count i = 0; i < count; i++) {
        int64_t number;

        memcpy(&number, from + i, sizeof(number));
        to[i] = (int)~number;
    }
    return is_broken ? MPI_ERR_OTHER : MPI_SUCCESS;
}

static int write_narrow(void *userbuf, MPI_Datatype type, int count, void *filebuf,
                        MPI_Offset position, void *extra_state)
{
    (void)extra_state;
    return write_numbers(userbuf, type, count, filebuf, position);
}

static int read_narrow(void *userbuf, MPI_Datatype type, int count, void *filebuf,
                       MPI_Offset position, void *extra_state)
{
    (void)extra_state;
    return read_numbers(userbuf, type, count, filebuf, position);
}

static int write_wide(void *userbuf, MPI_Datatype type, MPI_Count count, void *filebuf,
                      MPI_Offset position, void *extra_state)
{
    (void)extra_state;
    return write_numbers(userbuf, type, count, filebuf, position);
}

static int read_wide(void *userbuf, MPI_Datatype type, MPI_Count count, void *filebuf,
                     MPI_Offset position, void *extra_state)
{
    (void)extra_state;
    return read_numbers(userbuf, type, count, filebuf, position);
}

static void own_numbers(MPI_File fh, const char *datarep)
{
    MPI_Request request;
    MPI_Status status;
    int out[N];
    int in[N];

    for (int i = 0; i < N; i++) {
        out[i] = rank * 100 + i;
        in[i] = -1;
    }
    reads = writes = 0;
    DONE(MPI_File_set_size(fh, 0));
    set_view(fh, 0, MPI_INT, MPI_INT, datarep);
    CHECK(extent_of(fh, MPI_INT) == 8);
    DONE(MPI_File_write_at_all(fh, rank * N, out, N, MPI_INT, &status));
    CHECK(writes == 1);
    CHECK(count_of(&status, MPI_INT) == N);
    sync_all(fh);
    CHECK(size_of(fh) == 8 * N * size);
    DONE(MPI_File_read_at(fh, rank * N, in, N, MPI_INT, &status));
    CHECK(reads == 1);
    CHECK(memcmp(in, out, sizeof(in)) == 0);
    memset(in, 0, sizeof(in));
    DONE(MPI_File_iread_at(fh, (size - 1) * N + 5, in, N, MPI_INT, &request));
    DONE(MPI_Wait(&request, &status));
    CHECK(reads == 2);
    CHECK(count_of(&status, MPI_INT) == N - 5);
    CHECK(in[0] == (size - 1) * 100 + 5);
    is_broken = 1;
    IS_ERROR(MPI_File_write_at(fh, 0, out, N, MPI_INT, &status), MPI_ERR_CONVERSION);
    IS_ERROR(MPI_File_iwrite_at(fh, 0, out, N, MPI_INT, &request), MPI_ERR_CONVERSION);
    IS_ERROR(MPI_File_read_at(fh, 0, in, N, MPI_INT, &status), MPI_ERR_CONVERSION);
    DONE(MPI_File_iread_at(fh, 0, in, N, MPI_INT, &request));
    IS_ERROR(MPI_Wait(&request, &status), MPI_ERR_CONVERSION);
    is_broken = 0;
    DONE(MPI_Barrier(MPI_COMM_WORLD));
}

static int same_extent(MPI_Datatype type, MPI_Aint *extent, void *extra_state)
{
    MPI_Aint lb;

    (void)extra_state;
    return MPI_Type_get_extent(type, &lb, extent);
}

static void no_conversion(MPI_File fh)
{
    int number = rank;

    DONE(MPI_Register_datarep("plain", MPI_CONVERSION_FN_NULL, MPI_CONVERSION_FN_NULL,
                              same_extent, NULL));
    DONE(MPI_File_set_size(fh, 0));
    set_view(fh, 0, MPI_INT, MPI_INT, "plain");
    DONE(MPI_File_write_at(fh, rank, &number, 1, MPI_INT, MPI_STATUS_IGNORE));
    sync_all(fh);
    set_view(fh, 0, MPI_INT, MPI_INT, "native");
    DONE(MPI_File_read_at(fh, size - 1, &number, 1, MPI_INT, MPI_STATUS_IGNORE));
    CHECK(number == size - 1);
}

static void registering(void)
{
    char name[MPI_MAX_DATAREP_STRING + 8];

    memset(name, 'n', sizeof(name));
    name[sizeof(name) - 1] = '\0';
    DONE(MPI_Register_datarep("wider", read_narrow, write_narrow, file_extent, &reads));
    DONE(MPI_Register_datarep_c("wider too", read_wide, write_wide, file_extent, &reads));
    IS_ERROR(MPI_Register_datarep("wider", read_narrow, write_narrow, file_extent, NULL),
             MPI_ERR_DUP_DATAREP);
    IS_ERROR(MPI_Register_datarep_c("native", read_wide, write_wide, file_extent, NULL),
             MPI_ERR_DUP_DATAREP);
    IS_ERROR(MPI_Register_datarep(name, read_narrow, write_narrow, file_extent, NULL),
             MPI_ERR_ARG);
    IS_ERROR(MPI_Register_datarep("other", read_narrow, write_narrow, NULL, NULL),
             MPI_ERR_ARG);
}

int main(int argc, char **argv)
{
    MPI_File fh;

    begin(argc, argv);
    registering();
    fh = new_file(MPI_MODE_RDWR);
    extents(fh);
    plain_numbers(fh);
    records(fh);
    part_of_a_record(fh);
    filetypes(fh);
    own_numbers(fh, "wider");
    own_numbers(fh, "wider too");
    no_conversion(fh);
    DONE(MPI_File_close(&fh));
    DONE(MPI_Finalize());
    return 0;
}
