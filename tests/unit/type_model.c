#include "type_model.h"

#include <stdlib.h>
#include <string.h>

struct model model_basic(int64_t size, int64_t align)
{
    struct model m = {.entries = malloc(sizeof(*m.entries)), .n = 1};

    m.entries[0] = (struct model_entry){0, size, align};
    return m;
}

static void mark(struct model *model, int64_t lb, int64_t ub)
{
    if (!model->has_markers || lb < model->marker_lb) {
        model->marker_lb = lb;
    }
    if (!model->has_markers || ub > model->marker_ub) {
        model->marker_ub = ub;
    }
    model->has_markers = true;
}

void model_place(struct model *model, int64_t at, int64_t length,
                 const struct model *what)
{
    const int64_t extent = model_extent(what);

    for (int64_t k = 0; k < length; k++) {
        model->entries =
            realloc(model->entries, (model->n + what->n + 1) * sizeof(*model->entries));
        for (size_t i = 0; i < what->n; i++) {
            model->entries[model->n] = what->entries[i];
            model->entries[model->n].at += at + k * extent;
            model->n++;
        }
        if (what->has_markers) {
            mark(model, what->marker_lb + at + k * extent,
                 what->marker_ub + at + k * extent);
        }
    }
}

struct model model_resized(const struct model *what, int64_t lb, int64_t extent)
{
    struct model m = {0};

    model_place(&m, 0, 1, what);
    m.has_markers = true;
    m.marker_lb = lb;
    m.marker_ub = lb + extent;
    return m;
}

void model_free(struct model *model)
{
    free(model->entries);
    *model = (struct model){0};
}

int64_t model_size(const struct model *model)
{
    int64_t size = 0;

    for (size_t i = 0; i < model->n; i++) {
        size += model->entries[i].size;
    }
    return size;
}

int64_t model_true_lb(const struct model *model)
{
    int64_t lb = model->n > 0 ? model->entries[0].at : 0;

    for (size_t i = 1; i < model->n; i++) {
        lb = model->entries[i].at < lb ? model->entries[i].at : lb;
    }
    return lb;
}

int64_t model_true_extent(const struct model *model)
{
    int64_t ub = model_true_lb(model);

    for (size_t i = 0; i < model->n; i++) {
        int64_t end = model->entries[i].at + model->entries[i].size;

        ub = end > ub ? end : ub;
    }
    return ub - model_true_lb(model);
}

int64_t model_lb(const struct model *model)
{
    return model->has_markers ? model->marker_lb : model_true_lb(model);
}

int64_t model_extent(const struct model *model)
{
    int64_t extent = model_true_extent(model);
    int64_t align = 1;

    if (model->has_markers) {
        return model->marker_ub - model->marker_lb;
    }
    for (size_t i = 0; i < model->n; i++) {
        align = model->entries[i].align > align ? model->entries[i].align : align;
    }
    while (extent % align != 0) {
        extent++;
    }
    return extent;
}

size_t model_pack(const struct model *model, const char *buffer, int64_t count, char *to)
{
    const int64_t extent = model_extent(model);
    size_t packed = 0;

    for (int64_t k = 0; k < count; k++) {
        for (size_t i = 0; i < model->n; i++) {
            memcpy(to + packed, buffer + model->entries[i].at + k * extent,
                   (size_t)model->entries[i].size);
            packed += (size_t)model->entries[i].size;
        }
    }
    return packed;
}
