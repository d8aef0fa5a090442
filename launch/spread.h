/*
 * spread.h - which rank gets which cores of a host.
 *
 * The default (MAP_EVENLY) works from the widest level to the narrowest: the ranks are
 * dealt to the sockets in blocks, so that each socket gets as equal a share as its free
 * cores allow; the ranks of a socket are dealt to its NUMA nodes in the same way, and
 * those of a NUMA node to its caches. At the end each rank gets cores that follow each
 * other. Neighbours in rank order are therefore close, and all sockets work. Where ranks
 * are too wide for the groups of a level, the level is left out. A topology of hardware
 * threads (topology_split()) is spread in the same way, with the core as one level more.
 */
#ifndef WEFT_LAUNCH_SPREAD_H
#define WEFT_LAUNCH_SPREAD_H

#include "topology.h"

enum map_by {
    MAP_EVENLY,  /* in blocks, the same share for each socket */
    MAP_CORE,    /* one core after the other, whatever they share */
    MAP_IN_TURN, /* one rank to each group of `level` in turn */
    MAP_EACH,    /* in blocks of `each` ranks to each group of `level` */
};

struct spread {
    enum map_by by;
    enum level level; /* for MAP_IN_TURN and MAP_EACH */
    int each;         /* for MAP_EACH */
};

/*
 * Gives rank r `widths[r]` of the cores that are not taken: `owner[c]` becomes the rank
 * of core c, or -1. Returns false if there are too few of them, if what `spread` asks for
 * cannot be done with these widths, or if memory has run out.
 */
bool spread_ranks(const struct topology *topology, const struct spread *spread,
                  const int *widths, int ranks, int *owner);

#endif
