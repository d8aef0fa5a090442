#include "random_type.h"

#include "unit.h"

#include "datatype/array.h"
#include "datatype/construct.h"

#include <stdlib.h>

enum { MOST = 6, MODEL_MAX = 400 };

static uint64_t state;

void random_seed(uint64_t seed)
{
    state = (seed + 1) * UINT64_C(0x9e3779b97f4a7c15);
}

uint64_t random_below(uint64_t n)
{
    state ^= state << 13;
    state ^= state >> 7;
    state ^= state << 17;
    return (state >> 11) % n;
}

/* From -n to n. */
static int64_t around(int64_t n)
{
    return (int64_t)random_below((uint64_t)(2 * n + 1)) - n;
}

static struct random_type basic(void)
{
    static const struct {
        MPI_Datatype type;
        int64_t size;
        int64_t align;
        int64_t second; /* offset of the int of a pair */
    } rows[] = {
        {MPI_CHAR, 1, 1, 0},
        {MPI_SHORT, 2, 2, 0},
        {MPI_INT, 4, 4, 0},
        {MPI_DOUBLE, 8, 8, 0},
        {MPI_DOUBLE, 8, 8, 0},
        {MPI_LONG_DOUBLE, 16, 16, 0},
        {MPI_C_DOUBLE_COMPLEX, 16, 8, 0},
        {MPI_DOUBLE_INT, 8, 8, 8},
        {MPI_SHORT_INT, 2, 2, 4},
        {MPI_LONG_DOUBLE_INT, 16, 16, 16},
    };
    const size_t i = random_below(sizeof(rows) / sizeof(rows[0]));
    struct random_type r = {weft_datatype_from_handle(rows[i].type),
                            model_basic(rows[i].size, rows[i].align), false};

    if (rows[i].second != 0) {
        struct model index = model_basic(4, 4);

        model_place(&r.model, rows[i].second, 1, &index);
        model_free(&index);
    }
    return r;
}

/* The counts of one constructor, in all widths. */
struct arguments {
    int64_t n;
    int lengths[MOST];
    int places[MOST];
    MPI_Count wide_lengths[MOST];
    MPI_Count wide_places[MOST];
    MPI_Aint addresses[MOST];
};

static struct arguments choose(const struct random_type *old, int64_t unit, bool is_huge)
{
    struct arguments a = {.n = (int64_t)random_below(MOST + 1)};
    const int64_t reach = is_huge ? INT64_C(1) << 40 : 60;
    bool is_regular = random_below(4) == 0;

    for (int64_t i = 0; i < a.n; i++) {
        int64_t length = (int64_t)random_below(4);
        int64_t place = is_regular ? 7 * i : around(reach / unit);

        if (old->model.n * (size_t)(length + 1) * MOST > MODEL_MAX) {
            length = length > 0;
        }
        a.lengths[i] = (int)(is_regular ? 1 : length);
        a.places[i] = (int)place;
        a.wide_lengths[i] = a.lengths[i];
        a.wide_places[i] = is_huge ? place : a.places[i];
        a.addresses[i] = (MPI_Aint)a.wide_places[i];
    }
    return a;
}

static struct weft_numbers ints(const int *values)
{
    return (struct weft_numbers){.integer = values};
}

static struct weft_numbers counts(const MPI_Count *values)
{
    return (struct weft_numbers){.count = values};
}

static struct random_type make_vector(const struct random_type *old)
{
    const int64_t extent = model_extent(&old->model);
    const bool is_bytes = random_below(2) == 0;
    int64_t n = (int64_t)random_below(MOST);
    int64_t length = (int64_t)random_below(4);
    const int64_t stride = random_below(3) == 0 ? (is_bytes ? extent : 1) * length
                                                : around(is_bytes ? 80 : 8);
    struct random_type r = {.is_huge = old->is_huge};

    if (old->model.n * (size_t)(n * length) > MODEL_MAX) {
        n = n > 2 ? 2 : n;
        length = 1;
    }
    for (int64_t i = 0; i < n; i++) {
        model_place(&r.model, i * stride * (is_bytes ? 1 : extent), length, &old->model);
    }
    assert_int_equal(
        weft_type_vector(is_bytes ? MPI_COMBINER_HVECTOR : MPI_COMBINER_VECTOR,
                         random_below(2) == 0, n, length, stride, old->type, &r.type),
        WEFT_OK);
    return r;
}

static struct random_type make_indexed(const struct random_type *old)
{
    const int64_t extent = model_extent(&old->model);
    const bool is_bytes = random_below(2) == 0;
    const bool is_huge = is_bytes && random_below(20) == 0;
    const bool is_large = is_huge || random_below(2) == 0;
    const bool is_block = random_below(2) == 0;
    struct arguments a = choose(old, is_bytes ? 1 : 8, is_huge);
    struct weft_numbers places = is_large ? counts(a.wide_places)
                                 : is_bytes
                                     ? (struct weft_numbers){.address = a.addresses}
                                     : ints(a.places);
    const int64_t length = a.n > 0 ? a.lengths[0] : 1;
    struct random_type r = {.is_huge = old->is_huge || is_huge};
    enum weft_rc rc;

    for (int64_t i = 0; i < a.n; i++) {
        model_place(&r.model, a.wide_places[i] * (is_bytes ? 1 : extent),
                    is_block ? length : a.lengths[i], &old->model);
    }
    rc = is_block
             ? weft_type_indexed_block(is_bytes ? MPI_COMBINER_HINDEXED_BLOCK
                                                : MPI_COMBINER_INDEXED_BLOCK,
                                       is_large, a.n, length, places, old->type, &r.type)
             : weft_type_indexed(is_bytes ? MPI_COMBINER_HINDEXED : MPI_COMBINER_INDEXED,
                                 is_large, a.n,
                                 is_large ? counts(a.wide_lengths) : ints(a.lengths),
                                 places, old->type, &r.type);
    assert_int_equal(rc, WEFT_OK);
    return r;
}

static struct random_type make_struct(const struct random_type *old, int depth)
{
    struct arguments a = choose(old, 1, false);
    struct random_type others[MOST];
    struct weft_datatype *types[MOST];
    struct random_type r = {.is_huge = old->is_huge};

    for (int64_t i = 0; i < a.n; i++) {
        bool is_old = random_below(2) == 0;

        others[i] = is_old ? (struct random_type){.type = NULL}
                           : random_type_make(depth > 1 ? depth - 2 : 0);
        if (!is_old && others[i].model.n * (size_t)a.lengths[i] > MODEL_MAX / 4) {
            a.lengths[i] = 0;
            a.wide_lengths[i] = 0;
        }
        types[i] = is_old ? old->type : others[i].type;
        r.is_huge |= others[i].is_huge;
        model_place(&r.model, a.wide_places[i], a.lengths[i],
                    is_old ? &old->model : &others[i].model);
    }
    assert_int_equal(weft_type_struct(true, a.n, counts(a.wide_lengths),
                                      counts(a.wide_places), types, &r.type),
                     WEFT_OK);
    for (int64_t i = 0; i < a.n; i++) {
        if (others[i].type != NULL) {
            random_type_free(&others[i]);
        }
    }
    return r;
}

/* A part of an array of up to three dimensions: a box, or one process's share. */
struct part {
    int n;
    int order;
    int sizes[3];
    int part_sizes[3];
    int starts[3];
    int processes[3];
    int distributions[3];
    int arguments[3];
    int coordinates[3];
};

static struct part choose_part(bool is_box)
{
    struct part p = {.n = 1 + (int)random_below(3)};

    p.order = random_below(2) == 0 ? MPI_ORDER_C : MPI_ORDER_FORTRAN;
    for (int d = 0; d < p.n; d++) {
        p.sizes[d] = 1 + (int)random_below(4);
        p.part_sizes[d] = 1 + (int)random_below((uint64_t)p.sizes[d]);
        p.starts[d] = (int)random_below((uint64_t)(p.sizes[d] - p.part_sizes[d] + 1));
        p.processes[d] = is_box ? 1 : 1 + (int)random_below(3);
        p.distributions[d] = MPI_DISTRIBUTE_BLOCK + (int)random_below(2);
        p.arguments[d] = MPI_DISTRIBUTE_DFLT_DARG;
        if (random_below(2) == 0) {
            p.arguments[d] = 1 + (int)random_below(3);
            if (p.distributions[d] == MPI_DISTRIBUTE_BLOCK) {
                p.arguments[d] += (p.sizes[d] - 1) / p.processes[d];
            }
        }
        if (random_below(4) == 0) {
            p.distributions[d] = MPI_DISTRIBUTE_NONE;
            p.arguments[d] = MPI_DISTRIBUTE_DFLT_DARG;
            p.processes[d] = 1;
        }
        p.coordinates[d] = (int)random_below((uint64_t)p.processes[d]);
    }
    return p;
}

static bool is_mine(const struct part *p, bool is_box, int d, int index)
{
    int block = p->arguments[d];

    if (is_box) {
        return index >= p->starts[d] && index < p->starts[d] + p->part_sizes[d];
    }
    if (p->distributions[d] == MPI_DISTRIBUTE_NONE) {
        return true;
    }
    if (block == MPI_DISTRIBUTE_DFLT_DARG) {
        block = p->distributions[d] == MPI_DISTRIBUTE_CYCLIC
                    ? 1
                    : (p->sizes[d] + p->processes[d] - 1) / p->processes[d];
    }
    return index / block % p->processes[d] == p->coordinates[d] &&
           (p->distributions[d] == MPI_DISTRIBUTE_CYCLIC ||
            index / block < p->processes[d]);
}

/* All elements of the array, in the order of memory, each with the question whose. */
static struct model model_part(const struct part *p, bool is_box, const struct model *old)
{
    const int64_t extent = model_extent(old);
    struct model inside = {0};
    struct model m;
    int total = 1;

    for (int d = 0; d < p->n; d++) {
        total *= p->sizes[d];
    }
    for (int i = 0; i < total; i++) {
        bool is_in = true;
        int rest = i;

        for (int k = 0; k < p->n; k++) {
            int d = p->order == MPI_ORDER_FORTRAN ? k : p->n - 1 - k;

            is_in = is_in && is_mine(p, is_box, d, rest % p->sizes[d]);
            rest /= p->sizes[d];
        }
        if (is_in) {
            model_place(&inside, i * extent, 1, old);
        }
    }
    m = model_resized(&inside, 0, total * extent);
    model_free(&inside);
    return m;
}

static struct random_type make_array(const struct random_type *old)
{
    const bool is_box = random_below(2) == 0;
    struct part p = choose_part(is_box);
    MPI_Count wide[3] = {p.sizes[0], p.sizes[1], p.sizes[2]};
    struct weft_grid grid = {
        1, 0, p.n, ints(p.sizes), p.distributions, p.arguments, p.processes, p.order};
    struct random_type r = {.model = model_part(&p, is_box, &old->model),
                            .is_huge = old->is_huge};
    enum weft_rc rc;

    for (int d = 0; d < p.n; d++) {
        grid.processes *= p.processes[d];
        grid.rank = grid.rank * p.processes[d] + p.coordinates[d];
    }
    if (is_box) {
        rc = weft_type_subarray(false, p.n, ints(p.sizes), ints(p.part_sizes),
                                ints(p.starts), p.order, old->type, &r.type);
    } else {
        bool is_large = random_below(2) == 0;

        grid.sizes = is_large ? counts(wide) : ints(p.sizes);
        rc = weft_type_darray(is_large, &grid, old->type, &r.type);
    }
    assert_int_equal(rc, WEFT_OK);
    return r;
}

static struct random_type make_other(const struct random_type *old)
{
    struct random_type r = {.is_huge = old->is_huge};
    const int64_t n = old->model.n > 100 ? 1 : (int64_t)random_below(4);
    const int64_t lb = around(20);
    const int64_t extent = around(100);
    enum weft_rc rc = WEFT_OK;

    switch (random_below(3)) {
    case 0:
        model_place(&r.model, 0, n, &old->model);
        rc = weft_type_contiguous(random_below(2) == 0, n, old->type, &r.type);
        break;
    case 1:
        r.model = model_resized(&old->model, lb, extent);
        rc = weft_type_resized(random_below(2) == 0, lb, extent, old->type, &r.type);
        break;
    default:
        model_place(&r.model, 0, 1, &old->model);
        rc = weft_type_dup(old->type, &r.type);
        break;
    }
    assert_int_equal(rc, WEFT_OK);
    return r;
}

struct random_type random_type_make(int depth)
{
    struct random_type old = basic();

    while (depth-- > 0) {
        struct random_type made;

        switch (random_below(6)) {
        case 0:
        case 1:
            made = make_vector(&old);
            break;
        case 2:
            made = make_indexed(&old);
            break;
        case 3:
            made = make_struct(&old, depth);
            break;
        case 4:
            made = old.model.n > 20 ? make_other(&old) : make_array(&old);
            break;
        default:
            made = make_other(&old);
            break;
        }
        random_type_free(&old);
        old = made;
    }
    return old;
}

void random_type_free(struct random_type *random)
{
    if (random->type->contents != NULL) {
        weft_datatype_free(random->type);
    }
    model_free(&random->model);
}
