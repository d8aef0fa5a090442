/*
 * hosts.h - the hosts that a job may use, as the user names them, and which ranks run
 * where.
 *
 * Hosts come from --hosts, from a file (hostfile.c), or from a batch system
 * (allocation.h). Each may have a number of slots. Ranks are placed in blocks, host by
 * host: up to its slots where slots are named, -ppn to each where that is given, and
 * evenly where nothing is said. Or each host gets one in turn, up to the same bounds; or
 * a rankfile names the host of each.
 */
#ifndef WEFT_LAUNCH_HOSTS_H
#define WEFT_LAUNCH_HOSTS_H

#include <stdbool.h>

struct host {
    char *name;
    int slots; /* 0: not said */
    int most;  /* slots that --oversubscribe may not exceed; 0: not said */
};

struct hosts {
    struct host *at;
    int count;
    int *index; /* a hash of names: number in `at` + 1, or 0; hosts.c alone uses it */
    int index_room;
    int here; /* the number + 1 of this machine, under whatever name; 0: not among them */
    bool is_from_slurm; /* then srun leads there */
    const char *system; /* whose allocation they are (allocation.h); NULL: nobody's */
};

/* Each says in one line what is wrong, and is then false. */
bool hosts_add_list(struct hosts *hosts, const char *list); /* a,b:4,n[1-3]:2 */
/* Lines "b slots=4 max_slots=8", "b:4", "n[1-3]", "b" once for each slot, "b 4". */
bool hosts_add_file(struct hosts *hosts, const char *path);
/* Slurm's and Flux's form, "n[1-3,07],m" and "4(x2),3"; `tasks` NULL: not said. */
bool hosts_add_nodes(struct hosts *hosts, const char *nodes, const char *tasks);
/* One host, or several, "n[1-3]"; 0 is for what is not said. A name that was there before
 * has the slots of both. */
bool hosts_add(struct hosts *hosts, const char *name, int slots, int most);
/* The name may have a number of slots behind it, "b:4", which counts if `slots` is 0. */
bool hosts_add_word(struct hosts *hosts, const char *word, int slots, int most);
/* A number of slots; `about` is the host's name. */
bool hosts_read_slots(const char *text, const char *about, int *slots);

/* Is there a host of this name? */
bool hosts_has(const struct hosts *hosts, const char *name);

/* Frees what the hosts have; there are none then. */
void hosts_close(struct hosts *hosts);

/* The number in `at` of the host with this name; -1: it is not there. */
int hosts_find(const struct hosts *hosts, const char *name);

/* The machine we run on, under whatever name. */
bool hosts_is_here(const char *name);

/* How many ranks the hosts are for, if nobody says how many there are to be. */
int hosts_ranks(const struct hosts *hosts, int per_host);

/* May they take only so many ranks, without --oversubscribe? */
bool hosts_are_limited(const struct hosts *hosts, int per_host);

/*
 * A daemon and its ranks. Number 0 is mpiexec itself, perhaps without ranks. All ranks of
 * the job stand in a row, host by host and on each host in ascending order; a daemon has
 * those from place `first` on. In blocks, places and ranks are the same.
 */
struct station {
    char *name; /* of its host */
    int node;   /* -1: it has no ranks */
    int first;  /* place */
    int ranks;
};

struct layout {
    struct station *stations;
    int count;
    int *by_node; /* node to daemon */
    int nodes;
    int *rank_at;  /* the rank at each place; NULL: they are the same */
    int *place_of; /* the place of each rank; NULL: they are the same */
    int ranks;     /* how many these two have */
};

/* How hosts share the ranks. */
struct sharing {
    int per_host; /* ranks of each host; 0: not said */
    bool may_exceed;
    bool is_cyclic;     /* one rank to each host in turn */
    const int *host_of; /* the host of each rank, as its number; NULL: not said */
};

/* Places `ranks` ranks; no hosts: all of them here. False after a line. */
bool layout_make(struct layout *layout, const struct hosts *hosts, int ranks,
                 const struct sharing *sharing);

/* Takes over which rank is at each place; false if these are not all ranks, or if memory
 * has run out. */
bool layout_set_ranks(struct layout *layout, int *rank_at, int ranks);

/* The rank at a place, and the place of a rank. */
int layout_rank(const struct layout *layout, int place);
int layout_place(const struct layout *layout, int rank);

/* The daemon on whose host a rank runs. */
int layout_daemon_of(const struct layout *layout, int rank);
const char *layout_host_of(const struct layout *layout, int rank);

/* Says in a few lines where the hosts come from, and which ranks run where. */
void layout_say(const struct layout *layout, const struct hosts *hosts);

/* PMI-1's map of ranks; to be freed. */
char *layout_mapping(const struct layout *layout);

#endif
