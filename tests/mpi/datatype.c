/* datatype.c - chapter 5: making datatypes, what they say of themselves, and errors. */
#include "check.h"

#define OK(call) CHECK((call) == MPI_SUCCESS)

static void check_type(MPI_Datatype type, int size, MPI_Aint lb, MPI_Aint extent,
                       MPI_Aint true_lb, MPI_Aint true_extent)
{
    MPI_Aint a = -1;
    MPI_Aint b = -1;
    MPI_Count c = -1;
    MPI_Count d = -1;
    int n = -1;

    OK(MPI_Type_size(type, &n));
    CHECK(n == size);
    OK(MPI_Type_size_c(type, &c));
    CHECK(c == size);
    OK(MPI_Type_size_x(type, &d));
    CHECK(d == size);
    OK(MPI_Type_get_extent(type, &a, &b));
    CHECK(a == lb && b == extent);
    OK(MPI_Type_get_extent_c(type, &c, &d));
    CHECK(c == lb && d == extent);
    OK(MPI_Type_get_extent_x(type, &c, &d));
    CHECK(c == lb && d == extent);
    OK(MPI_Type_get_true_extent(type, &a, &b));
    CHECK(a == true_lb && b == true_extent);
    OK(MPI_Type_get_true_extent_c(type, &c, &d));
    CHECK(c == true_lb && d == true_extent);
    OK(MPI_Type_get_true_extent_x(type, &c, &d));
    CHECK(c == true_lb && d == true_extent);
}

/* Says of itself what was said when it was made; then it is freed. */
static void check_contents(MPI_Datatype *type, int combiner, int integers,
                           const int *integer, int addresses, const MPI_Aint *address,
                           int types, const MPI_Datatype *old)
{
    int got_integers[32];
    MPI_Aint got_addresses[32];
    MPI_Datatype got_types[32];
    int n[4] = {-1, -1, -1, -1};

    OK(MPI_Type_get_envelope(*type, &n[0], &n[1], &n[2], &n[3]));
    CHECK(n[0] == integers && n[1] == addresses && n[2] == types && n[3] == combiner);
    OK(MPI_Type_get_contents(*type, 32, 32, 32, got_integers, got_addresses, got_types));
    for (int i = 0; i < integers; i++) {
        CHECK(got_integers[i] == integer[i]);
    }
    for (int i = 0; i < addresses; i++) {
        CHECK(got_addresses[i] == address[i]);
    }
    for (int i = 0; i < types; i++) {
        CHECK(got_types[i] == old[i]);
    }
    if (integers > 0) {
        IS_ERROR(MPI_Type_get_contents(*type, integers - 1, 32, 32, got_integers,
                                       got_addresses, got_types),
                 MPI_ERR_ARG);
    }
    OK(MPI_Type_commit(type));
    OK(MPI_Type_commit(type));
    OK(MPI_Type_free(type));
    CHECK(*type == MPI_DATATYPE_NULL);
}

/* The same of one made with large counts. */
static void check_large(MPI_Datatype *type, int combiner, int integers,
                        const int *integer, int counts, const MPI_Count *count, int types,
                        const MPI_Datatype *old)
{
    int got_integers[32];
    MPI_Aint got_addresses[1];
    MPI_Count got_counts[32];
    MPI_Datatype got_types[32];
    MPI_Count n[4] = {-1, -1, -1, -1};
    int got = -1;

    OK(MPI_Type_get_envelope_c(*type, &n[0], &n[1], &n[2], &n[3], &got));
    CHECK(n[0] == integers && n[1] == 0 && n[2] == counts && n[3] == types);
    CHECK(got == combiner);
    OK(MPI_Type_get_contents_c(*type, 32, 0, 32, 32, got_integers, got_addresses,
                               got_counts, got_types));
    for (int i = 0; i < integers; i++) {
        CHECK(got_integers[i] == integer[i]);
    }
    for (int i = 0; i < counts; i++) {
        CHECK(got_counts[i] == count[i]);
    }
    for (int i = 0; i < types; i++) {
        CHECK(got_types[i] == old[i]);
    }
    if (counts > 0) {
        IS_ERROR(MPI_Type_get_contents(*type, 32, 0, 32, got_integers, got_addresses,
                                       got_types),
                 MPI_ERR_TYPE);
    }
    OK(MPI_Type_commit(type));
    OK(MPI_Type_free(type));
}

static const MPI_Datatype dbl[] = {MPI_DOUBLE};

static void repetitions(void)
{
    MPI_Datatype type;

    OK(MPI_Type_contiguous(3, MPI_DOUBLE, &type));
    check_type(type, 24, 0, 24, 0, 24);
    check_contents(&type, MPI_COMBINER_CONTIGUOUS, 1, (int[]){3}, 0, NULL, 1, dbl);
    OK(MPI_Type_contiguous_c(3, MPI_DOUBLE, &type));
    check_type(type, 24, 0, 24, 0, 24);
    check_large(&type, MPI_COMBINER_CONTIGUOUS, 0, NULL, 1, (MPI_Count[]){3}, 1, dbl);
    OK(MPI_Type_vector(3, 2, -4, MPI_DOUBLE, &type));
    check_type(type, 48, -64, 80, -64, 80);
    check_contents(&type, MPI_COMBINER_VECTOR, 3, (int[]){3, 2, -4}, 0, NULL, 1, dbl);
    OK(MPI_Type_vector_c(3, 2, -4, MPI_DOUBLE, &type));
    check_large(&type, MPI_COMBINER_VECTOR, 0, NULL, 3, (MPI_Count[]){3, 2, -4}, 1, dbl);
    OK(MPI_Type_create_hvector(3, 2, 100, MPI_DOUBLE, &type));
    check_type(type, 48, 0, 216, 0, 216);
    check_contents(&type, MPI_COMBINER_HVECTOR, 2, (int[]){3, 2}, 1, (MPI_Aint[]){100}, 1,
                   dbl);
    OK(MPI_Type_create_hvector_c(3, 2, 100, MPI_DOUBLE, &type));
    check_large(&type, MPI_COMBINER_HVECTOR, 0, NULL, 3, (MPI_Count[]){3, 2, 100}, 1,
                dbl);
    OK(MPI_Type_dup(MPI_DOUBLE, &type));
    check_type(type, 8, 0, 8, 0, 8);
    check_contents(&type, MPI_COMBINER_DUP, 0, NULL, 0, NULL, 1, dbl);
    OK(MPI_Type_create_resized(MPI_DOUBLE, -8, 32, &type));
    check_type(type, 8, -8, 32, 0, 8);
    check_contents(&type, MPI_COMBINER_RESIZED, 0, NULL, 2, (MPI_Aint[]){-8, 32}, 1, dbl);
    OK(MPI_Type_create_resized_c(MPI_DOUBLE, -8, 32, &type));
    check_large(&type, MPI_COMBINER_RESIZED, 0, NULL, 2, (MPI_Count[]){-8, 32}, 1, dbl);
}

/* The type map of a type made of types consists of basic types only. So the extent is
 * rounded up once, from the end of the last basic type: 4 * 68 + 1 + 2 * 68 + 66 is 475
 * (MPI-5.0, 5.1.6). */
static void extents_round_once(void)
{
    MPI_Datatype inner;
    MPI_Datatype outer;

    OK(MPI_Type_create_hvector(3, 4, 25, MPI_INT, &inner));
    check_type(inner, 48, 0, 68, 0, 66);
    OK(MPI_Type_create_hvector(2, 3, 4 * 68 + 1, inner, &outer));
    check_type(outer, 288, 0, 476, 0, 475);
    OK(MPI_Type_free(&outer));
    OK(MPI_Type_free(&inner));
}

static void lists(void)
{
    const int lengths[] = {2, 0, 1};
    const int places[] = {1, -5, 8};
    const MPI_Aint addresses[] = {8, -40, 64};
    const MPI_Count wide_lengths[] = {2, 0, 1};
    const MPI_Count wide_places[] = {1, -5, 8};
    MPI_Datatype type;

    OK(MPI_Type_indexed(3, lengths, places, MPI_DOUBLE, &type));
    check_type(type, 24, 8, 64, 8, 64);
    check_contents(&type, MPI_COMBINER_INDEXED, 7, (int[]){3, 2, 0, 1, 1, -5, 8}, 0, NULL,
                   1, dbl);
    OK(MPI_Type_indexed_c(3, wide_lengths, wide_places, MPI_DOUBLE, &type));
    check_type(type, 24, 8, 64, 8, 64);
    check_large(&type, MPI_COMBINER_INDEXED, 0, NULL, 7,
                (MPI_Count[]){3, 2, 0, 1, 1, -5, 8}, 1, dbl);
    OK(MPI_Type_create_hindexed(3, lengths, addresses, MPI_DOUBLE, &type));
    check_type(type, 24, 8, 64, 8, 64);
    check_contents(&type, MPI_COMBINER_HINDEXED, 4, (int[]){3, 2, 0, 1}, 3, addresses, 1,
                   dbl);
    OK(MPI_Type_create_hindexed_c(3, wide_lengths, wide_places, MPI_CHAR, &type));
    check_type(type, 3, 1, 8, 1, 8);
    check_large(&type, MPI_COMBINER_HINDEXED, 0, NULL, 7,
                (MPI_Count[]){3, 2, 0, 1, 1, -5, 8}, 1, (MPI_Datatype[]){MPI_CHAR});
    OK(MPI_Type_create_indexed_block(3, 2, places, MPI_DOUBLE, &type));
    check_type(type, 48, -40, 120, -40, 120);
    check_contents(&type, MPI_COMBINER_INDEXED_BLOCK, 5, (int[]){3, 2, 1, -5, 8}, 0, NULL,
                   1, dbl);
    OK(MPI_Type_create_indexed_block_c(3, 2, wide_places, MPI_DOUBLE, &type));
    check_large(&type, MPI_COMBINER_INDEXED_BLOCK, 0, NULL, 5,
                (MPI_Count[]){3, 2, 1, -5, 8}, 1, dbl);
    OK(MPI_Type_create_hindexed_block(3, 2, addresses, MPI_DOUBLE, &type));
    check_type(type, 48, -40, 120, -40, 120);
    check_contents(&type, MPI_COMBINER_HINDEXED_BLOCK, 2, (int[]){3, 2}, 3, addresses, 1,
                   dbl);
    OK(MPI_Type_create_hindexed_block_c(3, 2, wide_places, MPI_CHAR, &type));
    check_large(&type, MPI_COMBINER_HINDEXED_BLOCK, 0, NULL, 5,
                (MPI_Count[]){3, 2, 1, -5, 8}, 1, (MPI_Datatype[]){MPI_CHAR});
}

/* The standard's example: char at 8, double at 0, rounded up to the double. */
static void structs(void)
{
    const int lengths[] = {1, 3};
    const MPI_Aint places[] = {8, 16};
    const MPI_Count wide_lengths[] = {1, 3};
    const MPI_Count wide_places[] = {8, 16};
    const MPI_Datatype types[] = {MPI_DOUBLE, MPI_CHAR};
    MPI_Datatype type;
    MPI_Datatype marked;
    MPI_Datatype both[2];

    OK(MPI_Type_create_struct(2, lengths, places, types, &type));
    check_type(type, 11, 8, 16, 8, 11);
    /* Bounds that were said are the only ones that count. */
    OK(MPI_Type_create_resized(MPI_INT, -3, 9, &marked));
    both[0] = marked;
    both[1] = MPI_DOUBLE;
    check_contents(&type, MPI_COMBINER_STRUCT, 3, (int[]){2, 1, 3}, 2, places, 2, types);
    OK(MPI_Type_create_struct(2, (int[]){1, 1}, (MPI_Aint[]){0, 64}, both, &type));
    check_type(type, 12, -3, 9, 0, 72);
    OK(MPI_Type_free(&type));
    OK(MPI_Type_contiguous(2, marked, &type));
    check_type(type, 8, -3, 18, 0, 13);
    OK(MPI_Type_free(&type));
    OK(MPI_Type_free(&marked));
    OK(MPI_Type_create_struct_c(2, wide_lengths, wide_places, types, &type));
    check_large(&type, MPI_COMBINER_STRUCT, 0, NULL, 5, (MPI_Count[]){2, 1, 3, 8, 16}, 2,
                types);
    OK(MPI_Type_create_struct(0, NULL, NULL, NULL, &type));
    check_type(type, 0, 0, 0, 0, 0);
    OK(MPI_Type_free(&type));
}

static void arrays(void)
{
    const int sizes[] = {4, 5};
    const int parts[] = {2, 3};
    const int starts[] = {1, 2};
    const MPI_Count wide_sizes[] = {4, 5};
    const MPI_Count wide_parts[] = {2, 3};
    const MPI_Count wide_starts[] = {1, 2};
    const int how[] = {MPI_DISTRIBUTE_BLOCK, MPI_DISTRIBUTE_CYCLIC};
    const int arguments[] = {MPI_DISTRIBUTE_DFLT_DARG, 2};
    const int grid[] = {2, 2};
    MPI_Datatype type;

    OK(MPI_Type_create_subarray(2, sizes, parts, starts, MPI_ORDER_C, MPI_DOUBLE, &type));
    check_type(type, 48, 0, 160, 56, 64);
    check_contents(&type, MPI_COMBINER_SUBARRAY, 8,
                   (int[]){2, 4, 5, 2, 3, 1, 2, MPI_ORDER_C}, 0, NULL, 1, dbl);
    OK(MPI_Type_create_subarray_c(2, wide_sizes, wide_parts, wide_starts,
                                  MPI_ORDER_FORTRAN, MPI_DOUBLE, &type));
    check_type(type, 48, 0, 160, 72, 80);
    check_large(&type, MPI_COMBINER_SUBARRAY, 2, (int[]){2, MPI_ORDER_FORTRAN}, 6,
                (MPI_Count[]){4, 5, 2, 3, 1, 2}, 1, dbl);
    /* Rank 3 of 2 x 2: the lower two rows, of whose five columns 2 and 3. */
    OK(MPI_Type_create_darray(4, 3, 2, sizes, how, arguments, grid, MPI_ORDER_C,
                              MPI_DOUBLE, &type));
    check_type(type, 32, 0, 160, 96, 56);
    check_contents(
        &type, MPI_COMBINER_DARRAY, 12,
        (int[]){4, 3, 2, 4, 5, how[0], how[1], arguments[0], 2, 2, 2, MPI_ORDER_C}, 0,
        NULL, 1, dbl);
    OK(MPI_Type_create_darray_c(4, 3, 2, wide_sizes, how, arguments, grid, MPI_ORDER_C,
                                MPI_DOUBLE, &type));
    check_type(type, 32, 0, 160, 96, 56);
    check_large(&type, MPI_COMBINER_DARRAY, 10,
                (int[]){4, 3, 2, how[0], how[1], arguments[0], 2, 2, 2, MPI_ORDER_C}, 2,
                wide_sizes, 1, dbl);
}

static void kinds(void)
{
    MPI_Datatype type;
    MPI_Datatype same;
    int n[4];
    int integers[2];
    int size = 0;

    OK(MPI_Type_create_f90_real(15, 300, &type));
    OK(MPI_Type_size(type, &size));
    CHECK(size == 8);
    OK(MPI_Type_create_f90_real(15, 300, &same));
    CHECK(type == same);
    OK(MPI_Type_get_envelope(type, &n[0], &n[1], &n[2], &n[3]));
    CHECK(n[0] == 2 && n[1] == 0 && n[2] == 0 && n[3] == MPI_COMBINER_F90_REAL);
    OK(MPI_Type_get_contents(type, 2, 0, 0, integers, NULL, NULL));
    CHECK(integers[0] == 15 && integers[1] == 300);
    IS_ERROR(MPI_Type_free(&same), MPI_ERR_TYPE);
    OK(MPI_Type_create_f90_complex(6, MPI_UNDEFINED, &type));
    OK(MPI_Type_size(type, &size));
    CHECK(size == 8);
    OK(MPI_Type_create_f90_integer(9, &type));
    OK(MPI_Type_size(type, &size));
    CHECK(size == 4);
    IS_ERROR(MPI_Type_create_f90_real(1000, 10, &type), MPI_ERR_ARG);
    IS_ERROR(MPI_Type_create_f90_real(MPI_UNDEFINED, MPI_UNDEFINED, &type), MPI_ERR_ARG);
    OK(MPI_Type_match_size(MPI_TYPECLASS_REAL, 8, &type));
    OK(MPI_Type_size(type, &size));
    CHECK(size == 8);
    OK(MPI_Type_match_size(MPI_TYPECLASS_INTEGER, 2, &type));
    CHECK(type == MPI_INTEGER2);
    IS_ERROR(MPI_Type_match_size(MPI_TYPECLASS_COMPLEX, 3, &type), MPI_ERR_ARG);
    OK(MPI_Type_get_value_index(MPI_DOUBLE, MPI_INT, &type));
    CHECK(type == MPI_DOUBLE_INT);
    OK(MPI_Type_get_value_index(MPI_CHAR, MPI_INT, &type));
    CHECK(type == MPI_DATATYPE_NULL);
}

static void names(void)
{
    char name[MPI_MAX_OBJECT_NAME];
    char longest[MPI_MAX_OBJECT_NAME + 10];
    MPI_Datatype type;
    MPI_Datatype copy;
    int length = -1;

    OK(MPI_Type_get_name(MPI_DOUBLE, name, &length));
    CHECK(strcmp(name, "MPI_DOUBLE") == 0 && length == 10);
    OK(MPI_Type_get_name(MPI_DATATYPE_NULL, name, &length));
    CHECK(strcmp(name, "MPI_DATATYPE_NULL") == 0);
    OK(MPI_Type_contiguous(2, MPI_INT, &type));
    OK(MPI_Type_get_name(type, name, &length));
    CHECK(name[0] == '\0' && length == 0);
    OK(MPI_Type_set_name(type, "two"));
    OK(MPI_Type_get_name(type, name, &length));
    CHECK(strcmp(name, "two") == 0 && length == 3);
    OK(MPI_Type_dup(type, &copy)); /* a name is not a property of the type */
    OK(MPI_Type_get_name(copy, name, &length));
    CHECK(name[0] == '\0' && length == 0);
    memset(longest, 'x', sizeof(longest) - 1);
    longest[sizeof(longest) - 1] = '\0';
    OK(MPI_Type_set_name(type, longest));
    OK(MPI_Type_get_name(type, name, &length));
    CHECK(length == MPI_MAX_OBJECT_NAME - 1 && strlen(name) == (size_t)length);
    OK(MPI_Type_free(&copy));
    OK(MPI_Type_free(&type));
    OK(MPI_Type_set_name(MPI_WCHAR, "wide"));
    OK(MPI_Type_get_name(MPI_WCHAR, name, &length));
    CHECK(strcmp(name, "wide") == 0);
    OK(MPI_Type_set_name(MPI_WCHAR, "MPI_WCHAR"));
}

/* A type outlives its handle in those made of it, and comes back as contents. */
static void lives(void)
{
    MPI_Datatype inner;
    MPI_Datatype outer;
    MPI_Datatype back;
    int integers[3];
    int size = -1;

    OK(MPI_Type_vector(2, 1, 3, MPI_INT, &inner));
    OK(MPI_Type_contiguous(2, inner, &outer));
    OK(MPI_Type_free(&inner));
    OK(MPI_Type_get_contents(outer, 1, 0, 1, integers, NULL, &back));
    OK(MPI_Type_free(&outer));
    OK(MPI_Type_size(back, &size));
    CHECK(size == 8);
    OK(MPI_Type_free(&back));
}

static void large(void)
{
    const MPI_Count far = (MPI_Count)1 << 40;
    MPI_Datatype row;
    MPI_Datatype all;
    MPI_Count size = -1;
    MPI_Count lb = -1;
    MPI_Count extent = -1;
    int small = 0;

    OK(MPI_Type_contiguous_c((MPI_Count)3 << 30, MPI_CHAR, &row));
    OK(MPI_Type_size(row, &small));
    CHECK(small == MPI_UNDEFINED);
    OK(MPI_Type_create_hvector_c(2, 1, far, row, &all));
    OK(MPI_Type_commit(&all));
    OK(MPI_Type_size_c(all, &size));
    CHECK(size == (MPI_Count)6 << 30);
    OK(MPI_Type_get_extent_c(all, &lb, &extent));
    CHECK(lb == 0 && extent == far + ((MPI_Count)3 << 30));
    OK(MPI_Type_free(&row));
    IS_ERROR(MPI_Type_create_hvector_c(far, 1, far, all, &row), MPI_ERR_ARG);
    OK(MPI_Type_free(&all));
}

static void errors(void)
{
    const int negative[] = {1, -1};
    const int places[] = {0, 1};
    const int sizes[] = {4, 4};
    const int parts[] = {2, 5};
    MPI_Datatype type = MPI_INT;
    MPI_Datatype stale;
    int n = 0;
    double value = 0;

    IS_ERROR(MPI_Type_contiguous(-1, MPI_INT, &type), MPI_ERR_COUNT);
    IS_ERROR(MPI_Type_contiguous(1, MPI_DATATYPE_NULL, &type), MPI_ERR_TYPE);
    IS_ERROR(MPI_Type_contiguous(1, MPI_INT, NULL), MPI_ERR_ARG);
    IS_ERROR(MPI_Type_vector(1, -1, 1, MPI_INT, &type), MPI_ERR_COUNT);
    IS_ERROR(MPI_Type_indexed(2, negative, places, MPI_INT, &type), MPI_ERR_ARG);
    IS_ERROR(MPI_Type_indexed(2, NULL, places, MPI_INT, &type), MPI_ERR_ARG);
    IS_ERROR(
        MPI_Type_create_subarray(2, sizes, parts, places, MPI_ORDER_C, MPI_INT, &type),
        MPI_ERR_ARG);
    IS_ERROR(MPI_Type_create_subarray(2, sizes, sizes, places, 7, MPI_INT, &type),
             MPI_ERR_ARG);
    IS_ERROR(
        MPI_Type_create_subarray(0, sizes, sizes, places, MPI_ORDER_C, MPI_INT, &type),
        MPI_ERR_DIMS);
    IS_ERROR(MPI_Type_get_contents(MPI_INT, 9, 9, 9, &n, NULL, NULL), MPI_ERR_TYPE);
    type = MPI_INT;
    IS_ERROR(MPI_Type_free(&type), MPI_ERR_TYPE);
    OK(MPI_Type_commit(&type));
    OK(MPI_Type_contiguous(2, MPI_DOUBLE, &type));
    IS_ERROR(MPI_Send(&value, 1, type, MPI_PROC_NULL, 0, MPI_COMM_SELF), MPI_ERR_TYPE);
    stale = type;
    OK(MPI_Type_free(&type));
    IS_ERROR(MPI_Type_commit(&stale), MPI_ERR_TYPE);
    IS_ERROR(MPI_Type_size(stale, &n), MPI_ERR_TYPE);
}

int main(int argc, char **argv)
{
    OK(MPI_Init(&argc, &argv));
    OK(MPI_Comm_set_errhandler(MPI_COMM_SELF, MPI_ERRORS_RETURN));
    repetitions();
    extents_round_once();
    lists();
    structs();
    arrays();
    kinds();
    names();
    lives();
    large();
    errors();
    OK(MPI_Finalize());
    return 0;
}
