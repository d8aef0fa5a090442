#include "rma/parts.h"

#include <stdlib.h>
#include <string.h>

static uint64_t number_of(const struct weft_win_offer *offer, int column)
{
    uint64_t number;

    memcpy(&number, (const char *)&offer->part + (size_t)column * sizeof(number),
           sizeof(number));
    return number;
}

/* The formula of a column, which the first two members tell; false: it has none. */
static bool find_formula(const struct weft_win_offer *offers, int n, int column,
                         struct weft_column *out)
{
    const uint64_t first = number_of(&offers[0], column);

    *out = (struct weft_column){
        .first = first,
        .step = n > 1 ? number_of(&offers[1], column) - first : 0,
    };
    for (int r = 2; r < n; r++) {
        if (weft_column_read(out, r) != number_of(&offers[r], column)) {
            return false;
        }
    }
    return true;
}

size_t weft_win_parts_write(uint64_t *tables, const struct weft_win_offer *offers, int n)
{
    struct weft_column formula;
    uint64_t *at = tables;

    for (int c = 0; c < WEFT_PART_COLUMNS; c++) {
        if (find_formula(offers, n, c, &formula)) {
            continue;
        }
        for (int r = 0; r < n; r++) {
            *at++ = number_of(&offers[r], c);
        }
    }
    return (size_t)(at - tables) * sizeof(*at);
}

/* Tables of this process alone. */
static enum weft_rc write_own(struct weft_win_parts *parts,
                              const struct weft_win_offer *offers, int n)
{
    uint64_t *less;
    size_t bytes;

    parts->own = malloc(weft_win_parts_most(n));
    if (parts->own == NULL) {
        return WEFT_ERR_NOMEM;
    }
    bytes = weft_win_parts_write(parts->own, offers, n);
    less = realloc(parts->own, bytes > 0 ? bytes : 1);
    parts->own = less != NULL ? less : parts->own;
    return WEFT_OK;
}

enum weft_rc weft_win_parts_make(struct weft_win_parts *parts,
                                 const struct weft_win_offer *offers, int n,
                                 const uint64_t *tables)
{
    *parts = (struct weft_win_parts){.own = NULL};
    if (tables == NULL) {
        const enum weft_rc rc = write_own(parts, offers, n);

        if (rc != WEFT_OK) {
            return rc;
        }
        tables = parts->own;
    }
    for (int c = 0; c < WEFT_PART_COLUMNS; c++) {
        if (!find_formula(offers, n, c, &parts->columns[c])) {
            parts->columns[c].values = tables;
            tables += n;
        }
    }
    return WEFT_OK;
}

void weft_win_parts_close(struct weft_win_parts *parts)
{
    free(parts->own);
    *parts = (struct weft_win_parts){.own = NULL};
}

struct weft_win_part weft_win_part_of(const struct weft_win_parts *parts, int rank)
{
    uint64_t row[WEFT_PART_COLUMNS];
    struct weft_win_part part;

    for (int c = 0; c < WEFT_PART_COLUMNS; c++) {
        row[c] = weft_column_read(&parts->columns[c], rank);
    }
    memcpy(&part, row, sizeof(part));
    return part;
}
