/*
 * fold.h - a number of ranks that is a power of two, for algorithms that need one.
 *
 * There are as many places as the largest power of two that is not above n. If ranks are
 * left over, the first ones form pairs of neighbours (0 and 1, 2 and 3, ...), and one of
 * each pair stands for both: the even one, or the root where it is in the pair. So places
 * are in the order of the ranks, and each stands for ranks that follow each other.
 */
#ifndef WEFT_COLL_FOLD_H
#define WEFT_COLL_FOLD_H

#include "coll/build.h"

struct weft_fold {
    int places;
    int rounds; /* places == 1 << rounds */
    int pairs;
    int root; /* has a place */
};

static inline struct weft_fold weft_fold_of(int n, int root)
{
    struct weft_fold fold = {.places = 1, .root = root};

    while (fold.places <= n / 2) {
        fold.places *= 2;
        fold.rounds++;
    }
    fold.pairs = n - fold.places;
    return fold;
}

/* The first rank for which a place stands; also of the place behind the last one. */
static inline int weft_fold_first(const struct weft_fold *fold, int place)
{
    return place < fold->pairs ? 2 * place : place + fold->pairs;
}

/* The rank that has a place. */
static inline int weft_fold_rank(const struct weft_fold *fold, int place)
{
    const int first = weft_fold_first(fold, place);

    return place < fold->pairs && fold->root == first + 1 ? fold->root : first;
}

/* The other rank of this one's pair, or -1. */
static inline int weft_fold_neighbour(const struct weft_fold *fold, int rank)
{
    return rank < 2 * fold->pairs ? rank ^ 1 : -1;
}

/* The place of a rank, or -1 where its neighbour stands for it. */
static inline int weft_fold_place(const struct weft_fold *fold, int rank)
{
    const int place = rank < 2 * fold->pairs ? rank / 2 : rank - fold->pairs;

    return weft_fold_rank(fold, place) == rank ? place : -1;
}

#endif
