#include "coll/surroundings.h"

static struct weft_surroundings job = {.ranks = 1, .processors = 1};

void weft_surroundings_set(const struct weft_surroundings *of_job)
{
    job = *of_job;
}

/* The other ranks of the node do the same, as far as anybody knows: a communicator has
 * its share of the processors. */
static int share_of(int n)
{
    const int64_t share = (int64_t)job.processors * n / job.ranks;

    return share > 0 ? (int)share : 1;
}

void weft_surroundings_fill(struct weft_shape *shape)
{
    shape->nodes = job.is_network ? shape->n : 1;
    shape->processors = job.ranks > job.processors ? share_of(shape->n) : shape->n;
}
