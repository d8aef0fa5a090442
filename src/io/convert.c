#include "io/convert.h"

#include "engine/lock.h"

uint64_t weft_convert_bytes(const struct weft_view *view,
                            const struct weft_datatype *type, MPI_Count count)
{
    (void)view;
    return (uint64_t)count * type->size;
}

int weft_convert_view(struct weft_view *view)
{
    view->etype_bytes = view->etype->size;
    weft_lock();
    view->in_file = view->filetype;
    weft_datatype_keep(view->in_file);
    weft_unlock();
    return 0;
}

int weft_convert_extent(const struct weft_representation *representation,
                        struct weft_datatype *type, MPI_Count *extent)
{
    (void)representation;
    *extent = type->extent;
    return 0;
}
