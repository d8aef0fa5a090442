/*
 * random_type.h - a random datatype beside its model: nested, with strides of either
 * sign, overlaps, zero counts and, now and then, huge displacements.
 */
#ifndef WEFT_TEST_RANDOM_TYPE_H
#define WEFT_TEST_RANDOM_TYPE_H

#include "type_model.h"

#include "datatype/datatype.h"

struct random_type {
    struct weft_datatype *type; /* freed by random_type_free */
    struct model model;
    bool is_huge; /* too far apart to have memory for it */
};

uint64_t random_below(uint64_t n);
void random_seed(uint64_t seed);

struct random_type random_type_make(int depth);
void random_type_free(struct random_type *random);

#endif
