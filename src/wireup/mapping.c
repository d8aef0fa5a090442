/*
 * mapping.c - which rank runs where: PMI-1's text, and what follows from node numbers.
 */
#include "wireup/kvs.h"

#include <limits.h>
#include <stdlib.h>
#include <string.h>

enum { MAX_NODES = 1 << 24 }; /* a launcher that counts higher is mistaken */

struct block {
    int first_node;
    int nodes;
    int per_node;
};

/* Moves *at over spaces and this sign; false if another stands there. */
static bool read_sign(const char **at, char sign)
{
    *at += strspn(*at, " ");
    if (**at != sign) {
        return false;
    }
    (*at)++;
    return true;
}

/* A number between `least` and `most`; false if there is none. */
static bool read_number(const char **at, int least, int most, int *out)
{
    char *end;
    long value = strtol(*at, &end, 10); /* too long a number ends at its largest */

    if (end == *at || value < least || value > most) {
        return false;
    }
    *at = end;
    *out = (int)value;
    return true;
}

/* Reads ",(a,b,c)" at *at and moves on; false if that is not what stands there. */
static bool read_block(const char **at, struct block *out)
{
    const char *p = *at;

    if (!read_sign(&p, ',') || !read_sign(&p, '(') ||
        !read_number(&p, 0, MAX_NODES, &out->first_node) || !read_sign(&p, ',') ||
        !read_number(&p, 1, MAX_NODES, &out->nodes) || !read_sign(&p, ',') ||
        !read_number(&p, 1, INT_MAX, &out->per_node) || !read_sign(&p, ')')) {
        return false;
    }
    *at = p;
    return true;
}

/* Walks the map once around; false at a fault. Ranks from *rank on are placed. */
static bool place_once(const char *text, const struct weft_who *who, uint32_t *node_of,
                       int *rank)
{
    struct block b;
    int before = *rank;

    while (read_block(&text, &b)) {
        for (int n = 0; n < b.nodes && *rank < who->size; n++) {
            for (int k = 0; k < b.per_node && *rank < who->size; k++) {
                node_of[(*rank)++] = (uint32_t)(b.first_node + n);
            }
        }
    }
    text += strspn(text, " ");
    return text[0] == ')' && text[1] == '\0' && (*rank > before);
}

/* Gives nodes numbers 0, 1, ... in the order of their first ranks. */
static enum weft_rc renumber(struct weft_location *map, const uint32_t *node_of, int size)
{
    uint32_t most = 0;
    uint32_t *number; /* by the launcher's number, ours + 1 */
    uint32_t count = 0;

    for (int r = 0; r < size; r++) {
        most = node_of[r] > most ? node_of[r] : most;
    }
    number = calloc((size_t)most + 1, sizeof(*number));
    if (number == NULL) {
        return WEFT_ERR_NOMEM;
    }
    for (int r = 0; r < size; r++) {
        if (number[node_of[r]] == 0) {
            number[node_of[r]] = ++count;
        }
        map[r].node = number[node_of[r]] - 1;
    }
    free(number);
    return WEFT_OK;
}

enum weft_rc weft_who_from_nodes(struct weft_who *who, struct weft_location *map)
{
    uint32_t nodes = 0;
    uint32_t *filled;

    for (int r = 0; r < who->size; r++) {
        nodes = map[r].node >= nodes ? map[r].node + 1 : nodes;
    }
    filled = calloc(nodes, sizeof(*filled));
    if (filled == NULL) {
        return WEFT_ERR_NOMEM;
    }
    who->node = (int)map[who->rank].node;
    who->node_count = (int)nodes;
    who->leader = who->size;
    for (int r = 0; r < who->size; r++) {
        map[r].local_rank = filled[map[r].node]++;
        if ((int)map[r].node == who->node && r < who->leader) {
            who->leader = r;
        }
    }
    who->local_rank = (int)map[who->rank].local_rank;
    who->local_size = (int)filled[who->node];
    free(filled);
    return WEFT_OK;
}

enum weft_rc weft_pmi1_read_mapping(const char *text, struct weft_who *who,
                                    struct weft_location *map)
{
    static const char start[] = "(vector";
    struct weft_location *locations;
    uint32_t *node_of;
    enum weft_rc rc = WEFT_ERR_ARGUMENT;
    int rank = 0;

    if (strncmp(text, start, sizeof(start) - 1) != 0) {
        return WEFT_ERR_ARGUMENT;
    }
    text += sizeof(start) - 1;
    node_of = calloc((size_t)who->size, sizeof(*node_of));
    locations = map != NULL ? map : calloc((size_t)who->size, sizeof(*locations));
    if (node_of == NULL || locations == NULL) {
        rc = WEFT_ERR_NOMEM;
        goto free_both;
    }
    while (rank < who->size) {
        if (!place_once(text, who, node_of, &rank)) {
            goto free_both;
        }
    }
    rc = renumber(locations, node_of, who->size);
    if (rc == WEFT_OK) {
        rc = weft_who_from_nodes(who, locations);
    }

free_both:
    free(node_of);
    if (locations != map) {
        free(locations);
    }
    return rc;
}
