/*
 * fold.h - a number of ranks that is a power of two, for algorithms that need one.
 *
 * There are as many positions as the largest power of two that is not above n. If ranks
 * are left over, the first ones form pairs of neighbours (0 and 1, 2 and 3, ...), and one
 * of each pair stands for both: the even one, or the root where it is in the pair. So
 * positions are in the order of the ranks, and each stands for ranks that follow each
 * other.
 */
#ifndef WEFT_COLL_FOLD_H
#define WEFT_COLL_FOLD_H

#include "coll/build.h"

struct weft_fold {
    int positions;
    int rounds; /* positions == 1 << rounds */
    int pairs;
    int root; /* has a position */
};

static inline struct weft_fold weft_fold_of(int n, int root)
{
    struct weft_fold fold = {.positions = 1, .root = root};

    while (fold.positions <= n / 2) {
        fold.positions *= 2;
        fold.rounds++;
    }
    fold.pairs = n - fold.positions;
    return fold;
}

/* The first rank for which a position stands; also of the position behind the last one.
 */
static inline int weft_fold_first(const struct weft_fold *fold, int position)
{
    return position < fold->pairs ? 2 * position : position + fold->pairs;
}

/* The rank that has a position. */
static inline int weft_fold_rank(const struct weft_fold *fold, int position)
{
    const int first = weft_fold_first(fold, position);

    return position < fold->pairs && fold->root == first + 1 ? fold->root : first;
}

/* The other rank of this one's pair, or -1. */
static inline int weft_fold_neighbour(const struct weft_fold *fold, int rank)
{
    return rank < 2 * fold->pairs ? rank ^ 1 : -1;
}

/* The position of a rank, or -1 where its neighbour stands for it. */
static inline int weft_fold_position(const struct weft_fold *fold, int rank)
{
    const int position = rank < 2 * fold->pairs ? rank / 2 : rank - fold->pairs;

    return weft_fold_rank(fold, position) == rank ? position : -1;
}

#endif
