#include "datatype/fortran.h"

#include "datatype/real16.h"

#include <float.h>
#include <stdlib.h>

/* Those made so far; they stay for good. */
struct made {
    struct made *next;
    int combiner;
    int precision;
    int range;
    struct weft_datatype *type;
};

static struct made *all_made;

/* Decimal digits and exponents, least first. */
struct kind {
    int precision;
    int range;
    MPI_Datatype real;
    MPI_Datatype complex;
};

static const struct kind floats[] = {
    {FLT_DIG, FLT_MAX_10_EXP, MPI_REAL, MPI_COMPLEX},
    {DBL_DIG, DBL_MAX_10_EXP, MPI_DOUBLE_PRECISION, MPI_DOUBLE_COMPLEX},
    {LDBL_DIG, LDBL_MAX_10_EXP, MPI_LONG_DOUBLE, MPI_C_LONG_DOUBLE_COMPLEX},
#if defined(WEFT_HAS_REAL16)
    {WEFT_REAL16_DIG, WEFT_REAL16_MAX_10_EXP, MPI_REAL16, MPI_COMPLEX32},
#endif
};

static const struct {
    int range;
    MPI_Datatype type;
} integers[] = {
    {2, MPI_INTEGER1}, {4, MPI_INTEGER2}, {9, MPI_INTEGER4}, {18, MPI_INTEGER8}};

static MPI_Datatype choose(int combiner, int precision, int range)
{
    if (combiner == MPI_COMBINER_F90_INTEGER) {
        for (size_t i = 0; i < sizeof(integers) / sizeof(integers[0]); i++) {
            if (range <= integers[i].range) {
                return integers[i].type;
            }
        }
        return MPI_DATATYPE_NULL;
    }
    for (size_t i = 0; i < sizeof(floats) / sizeof(floats[0]); i++) {
        if ((precision == MPI_UNDEFINED || precision <= floats[i].precision) &&
            (range == MPI_UNDEFINED || range <= floats[i].range)) {
            return combiner == MPI_COMBINER_F90_REAL ? floats[i].real : floats[i].complex;
        }
    }
    return MPI_DATATYPE_NULL;
}

static enum weft_rc make(int combiner, int precision, int range,
                         const struct weft_datatype *base, struct weft_datatype **out)
{
    const bool is_integer = combiner == MPI_COMBINER_F90_INTEGER;
    struct weft_contents *c = weft_contents_new(combiner, is_integer ? 1 : 2, 0, 0, 0);
    enum weft_rc rc;

    if (c == NULL) {
        return WEFT_ERR_NOMEM;
    }
    c->integer[0] = is_integer ? range : precision;
    if (!is_integer) {
        c->integer[1] = range;
    }
    rc = weft_type_describe(c, base, out);
    if (rc == WEFT_OK) {
        rc = weft_datatype_commit(*out);
        (*out)->is_predefined = true;
        (*out)->number = base->number;
    }
    return rc;
}

enum weft_rc weft_type_f90(int combiner, int precision, int range,
                           struct weft_datatype **out)
{
    MPI_Datatype base = choose(combiner, precision, range);
    struct made *made;
    enum weft_rc rc;

    for (made = all_made; made != NULL; made = made->next) {
        if (made->combiner == combiner && made->precision == precision &&
            made->range == range) {
            *out = made->type;
            return WEFT_OK;
        }
    }
    if (base == MPI_DATATYPE_NULL) {
        return WEFT_ERR_ARGUMENT;
    }
    made = malloc(sizeof(*made));
    if (made == NULL) {
        return WEFT_ERR_NOMEM;
    }
    *made = (struct made){all_made, combiner, precision, range, NULL};
    rc = make(combiner, precision, range, weft_datatype_from_handle(base), &made->type);
    if (rc != WEFT_OK) {
        free(made);
        return rc;
    }
    all_made = made;
    *out = made->type;
    return WEFT_OK;
}

MPI_Datatype weft_type_match_size(int class, size_t size)
{
    static const struct {
        int class;
        size_t size;
        MPI_Datatype type;
    } rows[] = {
        {MPI_TYPECLASS_INTEGER, 1, MPI_INTEGER1},
        {MPI_TYPECLASS_INTEGER, 2, MPI_INTEGER2},
        {MPI_TYPECLASS_INTEGER, 4, MPI_INTEGER4},
        {MPI_TYPECLASS_INTEGER, 8, MPI_INTEGER8},
        {MPI_TYPECLASS_REAL, 4, MPI_REAL4},
        {MPI_TYPECLASS_REAL, 8, MPI_REAL8},
#if defined(WEFT_HAS_REAL16)
        {MPI_TYPECLASS_REAL, 16, MPI_REAL16},
        {MPI_TYPECLASS_COMPLEX, 32, MPI_COMPLEX32},
#endif
        {MPI_TYPECLASS_REAL, sizeof(long double), MPI_LONG_DOUBLE},
        {MPI_TYPECLASS_COMPLEX, 8, MPI_COMPLEX8},
        {MPI_TYPECLASS_COMPLEX, 16, MPI_COMPLEX16},
        {MPI_TYPECLASS_COMPLEX, 2 * sizeof(long double), MPI_C_LONG_DOUBLE_COMPLEX},
        {MPIX_TYPECLASS_LOGICAL, 1, MPI_LOGICAL1},
        {MPIX_TYPECLASS_LOGICAL, 2, MPI_LOGICAL2},
        {MPIX_TYPECLASS_LOGICAL, 4, MPI_LOGICAL4},
        {MPIX_TYPECLASS_LOGICAL, 8, MPI_LOGICAL8},
    };

    for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
        if (rows[i].class == class && rows[i].size == size) {
            return rows[i].type;
        }
    }
    return MPI_DATATYPE_NULL;
}

MPI_Datatype weft_type_value_index(MPI_Datatype value, MPI_Datatype index)
{
    static const struct {
        MPI_Datatype value;
        MPI_Datatype index;
        MPI_Datatype pair;
    } rows[] = {
        {MPI_FLOAT, MPI_INT, MPI_FLOAT_INT},
        {MPI_DOUBLE, MPI_INT, MPI_DOUBLE_INT},
        {MPI_LONG, MPI_INT, MPI_LONG_INT},
        {MPI_INT, MPI_INT, MPI_2INT},
        {MPI_SHORT, MPI_INT, MPI_SHORT_INT},
        {MPI_LONG_DOUBLE, MPI_INT, MPI_LONG_DOUBLE_INT},
        {MPI_REAL, MPI_REAL, MPI_2REAL},
        {MPI_DOUBLE_PRECISION, MPI_DOUBLE_PRECISION, MPI_2DOUBLE_PRECISION},
        {MPI_INTEGER, MPI_INTEGER, MPI_2INTEGER},
    };

    for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
        if (rows[i].value == value && rows[i].index == index) {
            return rows[i].pair;
        }
    }
    return MPI_DATATYPE_NULL;
}
