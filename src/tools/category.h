/*
 * category.h - the categories in which tools find the variables. They never change.
 *
 * A category has either control variables, all of them, or the performance variables
 * whose names begin in a certain way, and may have others below it. Needs no lock.
 */
#ifndef WEFT_TOOLS_CATEGORY_H
#define WEFT_TOOLS_CATEGORY_H

struct weft_category {
    const char *name;
    const char *meaning;
};

/* What a category can hold. */
enum weft_member { WEFT_MEMBER_CONTROL, WEFT_MEMBER_PERFORMANCE, WEFT_MEMBER_CATEGORY };

int weft_category_count(void);
const struct weft_category *weft_category(int index);

/* The category of this name, or -1. */
int weft_category_find(const char *name);

/*
 * How many members of a kind a category has; the indices of the first `limit` go to
 * `indices`, which may be NULL if `limit` is 0.
 */
int weft_category_members(int index, enum weft_member kind, int limit, int indices[]);

#endif
