/*
 * type_model.h - datatypes as the standard defines them, without any cleverness: a list
 * of basic elements, each with its displacement, and of markers (MPI-5.0, 5.1.7).
 *
 * Each function makes a model of models, element by element. A model is freed by
 * model_free. Anything larger than MODEL_MAX elements is cut off by the caller's choice
 * of counts, not here.
 */
#ifndef WEFT_TEST_TYPE_MODEL_H
#define WEFT_TEST_TYPE_MODEL_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct model_entry {
    int64_t at;
    int64_t size;
    int64_t align;
};

struct model {
    struct model_entry *entries;
    size_t n;
    bool has_markers;
    int64_t marker_lb;
    int64_t marker_ub;
};

struct model model_basic(int64_t size, int64_t align);

/* Puts `length` of `what` in a row at `at`, one by one. */
void model_place(struct model *model, int64_t at, int64_t length,
                 const struct model *what);
struct model model_resized(const struct model *what, int64_t lb, int64_t extent);
void model_free(struct model *model);

int64_t model_size(const struct model *model);
int64_t model_lb(const struct model *model);
int64_t model_extent(const struct model *model);
int64_t model_true_lb(const struct model *model);
int64_t model_true_extent(const struct model *model);

/* Packs `count` elements byte by byte; how many bytes. */
size_t model_pack(const struct model *model, const char *buffer, int64_t count, char *to);

#endif
