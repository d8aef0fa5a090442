/*
 * tree.h - builders: one pass over all ranks, up a wide tree and down again.
 *
 * Rank 0 is the root. The tree is wide, because most of a rank's cost is to be woken: a
 * parent has up to WEFT_TREE_FAN children, and the ranks below one are consecutive, so
 * that what comes from there is one block. A rank sends one message up and gets one down.
 *
 *   weft_tree_fold   the receive buffer has `bytes` bytes of each rank; they are combined
 *                    in the order of the ranks, and every rank gets the result there
 *   weft_tree_table  the receive buffer has an entry of `bytes` bytes for each rank, and
 *                    a rank has filled in its own; every rank gets the whole table
 *   weft_tree_up     no data: the root learns that all ranks have started. A rank
 *                    receives from one child at a time, to have few receives posted
 */
#ifndef WEFT_SCHED_TREE_H
#define WEFT_SCHED_TREE_H

#include "sched/graph.h"

enum { WEFT_TREE_FAN = 16 };

weft_builder weft_tree_fold;
weft_builder weft_tree_table;
weft_builder weft_tree_up;

/* The neighbours of `rank` in the tree of `n` ranks: its children, whose number is
 * returned, and its parent, which is -1 for the root. */
int weft_tree_neighbours(int n, int rank, int *parent, int children[WEFT_TREE_FAN]);

#endif
