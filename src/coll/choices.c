#include "coll/choices.h"

#include "base/log.h"
#include "coll/force.h"

#include <inttypes.h>
#include <stdatomic.h>
#include <stdlib.h>

enum { KEPT = 16, WORD_BITS = 64, TOLD_WORDS = (WEFT_ALGORITHMS_MOST + 63) / 64 };

/* What calls on one communicator may differ in, and what was chosen. No cost depends on
 * the root, so that programs whose root moves find what they chose before. */
struct kept {
    uint64_t bytes;
    uint64_t unit;
    const struct weft_algorithm *algorithm; /* NULL: nothing is kept here */
    uint8_t kind;                           /* enum weft_coll_kind */
    bool commutes;
    bool has_slots;
    bool is_reached;
    bool is_plain;
};

struct weft_choices {
    struct kept kept[KEPT];
    uint64_t told[TOLD_WORDS]; /* a bit for each algorithm */
};

static _Atomic uint64_t counts[WEFT_ALGORITHMS_MOST];

/* Sizes of two calls that follow each other differ most in their highest bits. */
static struct kept *place_of(struct weft_choices *choices, enum weft_coll_kind kind,
                             const struct weft_shape *shape)
{
    const unsigned size = (unsigned)__builtin_clzll(shape->bytes | 1);

    return &choices->kept[(size + 5 * (unsigned)kind) % KEPT];
}

static bool is_same(const struct kept *kept, enum weft_coll_kind kind,
                    const struct weft_shape *shape)
{
    return kept->algorithm != NULL && kept->kind == kind && kept->bytes == shape->bytes &&
           kept->unit == shape->unit && kept->commutes == shape->commutes &&
           kept->has_slots == shape->has_slots && kept->is_reached == shape->is_reached &&
           kept->is_plain == shape->is_plain;
}

static void tell(const struct weft_comm *comm, struct weft_choices *choices,
                 const struct weft_algorithm *at, uint64_t bytes)
{
    const int number = weft_algorithm_number(at);
    const uint64_t bit = UINT64_C(1) << number % WORD_BITS;

    if (comm->rank != 0 || comm->size == 1 ||
        (choices->told[number / WORD_BITS] & bit) != 0) {
        return;
    }
    choices->told[number / WORD_BITS] |= bit;
    weft_log_info("%s of %" PRIu64 " bytes on %s of %d: algorithm %s",
                  weft_coll_kind_name(at->kind), bytes,
                  comm->name[0] != '\0' ? comm->name : "a communicator", comm->size,
                  at->name);
}

static const struct weft_algorithm *
choose(struct weft_comm *comm, enum weft_coll_kind kind, const struct weft_shape *shape)
{
    const struct weft_algorithm *at = weft_force_choose(kind, shape);

    if (comm->choices != NULL) {
        tell(comm, comm->choices, at, shape->bytes);
    }
    return at;
}

const struct weft_algorithm *weft_choices_find(struct weft_comm *comm,
                                               enum weft_coll_kind kind,
                                               const struct weft_shape *shape)
{
    struct kept *kept;

    if (weft_unlikely(comm->choices == NULL)) {
        comm->choices = calloc(1, sizeof(*comm->choices)); /* NULL: nothing is kept */
    }
    if (comm->choices == NULL || shape->from != NULL || shape->to != NULL) {
        return choose(comm, kind, shape); /* sizes of blocks would have to be compared */
    }
    kept = place_of(comm->choices, kind, shape);
    if (weft_unlikely(!is_same(kept, kind, shape))) {
        *kept = (struct kept){
            .bytes = shape->bytes,
            .unit = shape->unit,
            .algorithm = choose(comm, kind, shape),
            .kind = (uint8_t)kind,
            .commutes = shape->commutes,
            .has_slots = shape->has_slots,
            .is_reached = shape->is_reached,
            .is_plain = shape->is_plain,
        };
    }
    return kept->algorithm;
}

void weft_choices_count(const struct weft_algorithm *at)
{
    atomic_fetch_add_explicit(&counts[weft_algorithm_number(at)], 1,
                              memory_order_relaxed);
}

uint64_t weft_choices_counted(int number)
{
    return atomic_load_explicit(&counts[number], memory_order_relaxed);
}
