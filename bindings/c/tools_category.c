/*
 * tools_category.c - MPI-5.0 chapter 15.3.9: categories of variables.
 */
#include "tools.h"

#include "tools/category.h"

static bool is_category(int index)
{
    return index >= 0 && index < weft_category_count();
}

int PMPI_T_category_get_num(int *num_cat)
{
    int err = weft_tools_enter();

    if (err != MPI_SUCCESS) {
        return err;
    }
    if (num_cat == NULL) {
        return weft_tools_leave(MPI_T_ERR_INVALID);
    }
    *num_cat = weft_category_count();
    return weft_tools_leave(MPI_SUCCESS);
}
WEFT_WEAK_ALIAS(MPI_T_category_get_num, PMPI_T_category_get_num);

int PMPI_T_category_get_info(int cat_index, char *name, int *name_len, char *desc,
                             int *desc_len, int *num_cvars, int *num_pvars,
                             int *num_categories)
{
    int err = weft_tools_enter();

    if (err != MPI_SUCCESS) {
        return err;
    }
    if (!is_category(cat_index)) {
        return weft_tools_leave(MPI_T_ERR_INVALID_INDEX);
    }
    weft_tools_give_text(name, name_len, weft_category(cat_index)->name);
    weft_tools_give_text(desc, desc_len, weft_category(cat_index)->meaning);
    weft_tools_give_int(num_cvars,
                        weft_category_members(cat_index, WEFT_MEMBER_CONTROL, 0, NULL));
    weft_tools_give_int(
        num_pvars, weft_category_members(cat_index, WEFT_MEMBER_PERFORMANCE, 0, NULL));
    weft_tools_give_int(num_categories,
                        weft_category_members(cat_index, WEFT_MEMBER_CATEGORY, 0, NULL));
    return weft_tools_leave(MPI_SUCCESS);
}
WEFT_WEAK_ALIAS(MPI_T_category_get_info, PMPI_T_category_get_info);

int PMPI_T_category_get_index(const char *name, int *cat_index)
{
    int found;
    int err = weft_tools_enter();

    if (err != MPI_SUCCESS) {
        return err;
    }
    if (name == NULL || cat_index == NULL) {
        return weft_tools_leave(MPI_T_ERR_INVALID);
    }
    found = weft_category_find(name);
    if (found < 0) {
        return weft_tools_leave(MPI_T_ERR_INVALID_NAME);
    }
    *cat_index = found;
    return weft_tools_leave(MPI_SUCCESS);
}
WEFT_WEAK_ALIAS(MPI_T_category_get_index, PMPI_T_category_get_index);

static int get_members(int cat_index, enum weft_member kind, int len, int indices[])
{
    int err = weft_tools_enter();

    if (err != MPI_SUCCESS) {
        return err;
    }
    if (!is_category(cat_index)) {
        return weft_tools_leave(MPI_T_ERR_INVALID_INDEX);
    }
    if (len < 0 || (len > 0 && indices == NULL)) {
        return weft_tools_leave(MPI_T_ERR_INVALID);
    }
    weft_category_members(cat_index, kind, len, indices);
    return weft_tools_leave(MPI_SUCCESS);
}

int PMPI_T_category_get_cvars(int cat_index, int len, int indices[])
{
    return get_members(cat_index, WEFT_MEMBER_CONTROL, len, indices);
}
WEFT_WEAK_ALIAS(MPI_T_category_get_cvars, PMPI_T_category_get_cvars);

int PMPI_T_category_get_pvars(int cat_index, int len, int indices[])
{
    return get_members(cat_index, WEFT_MEMBER_PERFORMANCE, len, indices);
}
WEFT_WEAK_ALIAS(MPI_T_category_get_pvars, PMPI_T_category_get_pvars);

int PMPI_T_category_get_categories(int cat_index, int len, int indices[])
{
    return get_members(cat_index, WEFT_MEMBER_CATEGORY, len, indices);
}
WEFT_WEAK_ALIAS(MPI_T_category_get_categories, PMPI_T_category_get_categories);

/* There are no events. */
int PMPI_T_category_get_num_events(int cat_index, int *num_events)
{
    int err = weft_tools_enter();

    if (err != MPI_SUCCESS) {
        return err;
    }
    if (!is_category(cat_index)) {
        return weft_tools_leave(MPI_T_ERR_INVALID_INDEX);
    }
    weft_tools_give_int(num_events, 0);
    return weft_tools_leave(MPI_SUCCESS);
}
WEFT_WEAK_ALIAS(MPI_T_category_get_num_events, PMPI_T_category_get_num_events);

int PMPI_T_category_get_events(int cat_index, int len, int indices[])
{
    int err = weft_tools_enter();

    (void)len;
    (void)indices;
    if (err != MPI_SUCCESS) {
        return err;
    }
    return weft_tools_leave(is_category(cat_index) ? MPI_SUCCESS
                                                   : MPI_T_ERR_INVALID_INDEX);
}
WEFT_WEAK_ALIAS(MPI_T_category_get_events, PMPI_T_category_get_events);

/* They are the same from the beginning to the end. */
int PMPI_T_category_changed(int *update_number)
{
    int err = weft_tools_enter();

    if (err != MPI_SUCCESS) {
        return err;
    }
    if (update_number == NULL) {
        return weft_tools_leave(MPI_T_ERR_INVALID);
    }
    *update_number = 0;
    return weft_tools_leave(MPI_SUCCESS);
}
WEFT_WEAK_ALIAS(MPI_T_category_changed, PMPI_T_category_changed);
