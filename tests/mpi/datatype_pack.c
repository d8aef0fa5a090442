/* datatype_pack.c - chapter 5: packing and unpacking, dense and in external32. */
#include "check.h"

#include <stdbool.h>
#include <stddef.h>

#define OK(call) CHECK((call) == MPI_SUCCESS)

struct record {
    char c;
    double d;
    short s[3];
    long l;
};

static MPI_Datatype record_type(void)
{
    const int lengths[] = {1, 1, 3, 1};
    const MPI_Aint places[] = {offsetof(struct record, c), offsetof(struct record, d),
                               offsetof(struct record, s), offsetof(struct record, l)};
    const MPI_Datatype types[] = {MPI_CHAR, MPI_DOUBLE, MPI_SHORT, MPI_LONG};
    MPI_Datatype type;
    MPI_Datatype resized;

    OK(MPI_Type_create_struct(4, lengths, places, types, &type));
    OK(MPI_Type_create_resized(type, 0, sizeof(struct record), &resized));
    OK(MPI_Type_commit(&resized));
    OK(MPI_Type_free(&type));
    return resized;
}

static void fill(struct record *r, int n)
{
    memset(r, 0, (size_t)n * sizeof(*r));
    for (int i = 0; i < n; i++) {
        r[i] = (struct record){
            (char)('a' + i), i * 1.5, {(short)i, -1, (short)(7 * i)}, -1000L * i};
    }
}

static bool is_equal(const struct record *a, const struct record *b, int n)
{
    for (int i = 0; i < n; i++) {
        if (a[i].c != b[i].c || a[i].d != b[i].d || a[i].l != b[i].l ||
            memcmp(a[i].s, b[i].s, sizeof(a[i].s)) != 0) {
            return false;
        }
    }
    return true;
}

static void pack_and_unpack(void)
{
    enum { N = 9 };
    MPI_Datatype type = record_type();
    struct record there[N];
    struct record here[N];
    char packed[N * sizeof(struct record) + 1];
    MPI_Count wide = 1;
    MPI_Count large = -1;
    int position = 1;
    int size = -1;

    fill(here, N);
    OK(MPI_Pack_size(N, type, MPI_COMM_WORLD, &size));
    OK(MPI_Pack_size_c(N, type, MPI_COMM_WORLD, &large));
    CHECK(size == large && size >= N * (1 + 8 + 6 + (int)sizeof(long)));
    OK(MPI_Pack(here, N, type, packed, sizeof(packed), &position, MPI_COMM_WORLD));
    CHECK(position == 1 + N * (1 + 8 + 6 + (int)sizeof(long)));
    memset(there, 0, sizeof(there));
    position = 1;
    OK(MPI_Unpack(packed, sizeof(packed), &position, there, N, type, MPI_COMM_WORLD));
    CHECK(is_equal(here, there, N));
    memset(packed, 0, sizeof(packed));
    OK(MPI_Pack_c(here, N, type, packed, sizeof(packed), &wide, MPI_COMM_WORLD));
    CHECK(wide == position);
    memset(there, 0, sizeof(there));
    wide = 1;
    OK(MPI_Unpack_c(packed, sizeof(packed), &wide, there, N, type, MPI_COMM_WORLD));
    CHECK(is_equal(here, there, N) && wide == position);
    position = 0;
    IS_ERROR(MPI_Pack(here, N, type, packed, 10, &position, MPI_COMM_WORLD),
             MPI_ERR_TRUNCATE);
    CHECK(position == 0);
    IS_ERROR(MPI_Unpack(packed, 10, &position, there, N, type, MPI_COMM_WORLD),
             MPI_ERR_TRUNCATE);
    IS_ERROR(MPI_Pack(here, -1, type, packed, 10, &position, MPI_COMM_WORLD),
             MPI_ERR_COUNT);
    OK(MPI_Type_free(&type));
}

/* With absolute addresses, from MPI_BOTTOM. */
static void bottom(void)
{
    int a = 17;
    double b = 2.5;
    const int lengths[] = {1, 1};
    MPI_Aint places[2];
    const MPI_Datatype types[] = {MPI_INT, MPI_DOUBLE};
    MPI_Datatype type;
    char packed[16];
    int position = 0;

    OK(MPI_Get_address(&a, &places[0]));
    OK(MPI_Get_address(&b, &places[1]));
    OK(MPI_Type_create_struct(2, lengths, places, types, &type));
    OK(MPI_Type_commit(&type));
    OK(MPI_Pack(MPI_BOTTOM, 1, type, packed, sizeof(packed), &position, MPI_COMM_SELF));
    CHECK(position == 12);
    a = 0;
    b = 0;
    position = 0;
    OK(MPI_Unpack(packed, sizeof(packed), &position, MPI_BOTTOM, 1, type, MPI_COMM_SELF));
    CHECK(a == 17 && b == 2.5);
    OK(MPI_Type_free(&type));
}

static void external(void)
{
    MPI_Datatype type = record_type();
    struct record here[2];
    struct record there[2];
    unsigned char packed[64];
    MPI_Aint size = -1;
    MPI_Count large = -1;
    MPI_Aint position = 0;
    MPI_Count wide = 0;
    long double quad[2] = {-1.0L / 3, 0};
    long double back[2] = {0, 1};

    fill(here, 2);
    OK(MPI_Pack_external_size("external32", 2, type, &size));
    OK(MPI_Pack_external_size_c("external32", 2, type, &large));
    CHECK(size == 2 * (1 + 8 + 6 + 4) && large == size);
    OK(MPI_Pack_external("external32", here, 2, type, packed, sizeof(packed), &position));
    CHECK(position == size);
    CHECK(packed[0] == 'a' && packed[19] == 'b');
    CHECK(packed[20] == 0x3f && packed[21] == 0xf8); /* 1.5 */
    CHECK(packed[28] == 0 && packed[29] == 1);       /* 1 as short */
    CHECK(packed[34] == 0xff && packed[37] == 0x18); /* -1000 in four bytes */
    memset(there, 0, sizeof(there));
    position = 0;
    OK(MPI_Unpack_external("external32", packed, sizeof(packed), &position, there, 2,
                           type));
    CHECK(is_equal(here, there, 2) && position == size);
    OK(MPI_Pack_external_c("external32", quad, 2, MPI_LONG_DOUBLE, packed, sizeof(packed),
                           &wide));
    CHECK(wide == 32 && packed[0] == 0xbf && packed[1] == 0xfd && packed[2] == 0x55);
    wide = 0;
    OK(MPI_Unpack_external_c("external32", packed, sizeof(packed), &wide, back, 2,
                             MPI_LONG_DOUBLE));
    CHECK(back[0] == quad[0] && back[1] == 0);
    IS_ERROR(MPI_Pack_external("native", here, 2, type, packed, 64, &position),
             MPI_ERR_ARG);
    OK(MPI_Type_free(&type));
}

int main(int argc, char **argv)
{
    OK(MPI_Init(&argc, &argv));
    OK(MPI_Comm_set_errhandler(MPI_COMM_WORLD, MPI_ERRORS_RETURN));
    OK(MPI_Comm_set_errhandler(MPI_COMM_SELF, MPI_ERRORS_RETURN));
    pack_and_unpack();
    bottom();
    external();
    OK(MPI_Finalize());
    return 0;
}
