/*
 * suite.h - the contract of transport.h as cases that every transport passes.
 *
 * The program runs under mpiexec and makes no MPI call: it opens wire-up and one
 * transport by its ops table. Every rank runs every case at the same time, and meets the
 * others in between. Ordered packets to a rank are numbered through the whole run, and
 * what one holds follows from its sender and number; so each packet is checked when it
 * arrives, whichever case is running, and a case only has to count.
 *
 * Cases about the node's own (doorbells, shares, stages) run over the transport inside
 * the node alone, those about descriptors over networks (contract.c). Cases about
 * optional slots do what they can where these are empty.
 *
 * A check that fails ends the job. So does a rank in which nothing has moved for a
 * minute: then each tells what it waits for, and what it has sent and got (still.c).
 */
#ifndef WEFT_TEST_SUITE_H
#define WEFT_TEST_SUITE_H

#include "node/doorbell.h"
#include "transport/transport.h"

enum { SUITE_BUDGET = 64, SUITE_WORDS = 64 };

/* What has come from a rank. */
struct suite_from {
    uint32_t ordered; /* packets, all in order */
    uint32_t control;
    uint32_t offers;             /* of ordered packets */
    uint32_t kept;               /* of them, those that were not taken */
    uint32_t keep_each;          /* set by a case: keeps one of so many; 0: none */
    uint32_t since_kept;         /* counts them */
    uint64_t words[SUITE_WORDS]; /* that came with control packets, not read yet */
    uint32_t words_in;
    uint32_t words_out;
};

/* The packets that a rank waits for: its report says so if the rank stands still. */
struct suite_wait {
    const char *what; /* and then comes the rank; NULL: nothing that is told */
    uint32_t rank;
    uint32_t expected; /* packets from it, of any kind; the rest is for sleepers */
    uint32_t looks;
    uint32_t refused; /* arm() has told so often to poll instead of sleeping */
    uint32_t slept;
};

struct suite {
    struct weft_job job;
    struct weft_node node;
    const struct weft_packet_ops *ops;
    struct weft_transport *tp;
    struct weft_upcalls up;
    struct weft_path **path; /* by rank; NULL: ourselves */
    uint32_t me;
    uint32_t size;
    bool is_reachable; /* should peers' memory be? */
    const char *running;
    struct suite_wait wait;

    struct suite_from *from; /* by rank */
    uint32_t *sent;          /* by rank: ordered packets */
    uint32_t *sent_control;  /* by rank: the others */
    uint32_t arrived;        /* packets of any kind, from anyone */
    bool is_full;            /* then only from these: */
    uint32_t granted;        /* this rank */
    bool is_granting_anyone; /* and whoever is in a queue that many share */
    uint32_t endings;        /* ordered packets that said they are the last */
    const struct weft_op *done;
    uint32_t done_count;
    uint64_t told; /* the last word of a put */
    uint32_t told_count;
    bool may_lose; /* a peer: the case breaks connections */
    uint32_t lost; /* how often we were told of a loss */
};

extern struct suite suite;

#define check(claim) ((claim) ? (void)0 : suite_fail(__FILE__, __LINE__, #claim))
_Noreturn void suite_fail(const char *file, int line, const char *claim);

/* A peer on this node. */
struct weft_node_area *suite_area(uint32_t rank);

/* The `done` of operations: counts it, and notes which it was. */
void suite_on_done(struct weft_op *op, enum weft_rc rc);

/* Wire-up, then the transport; at least two ranks. */
void suite_open_job(void);
void suite_open(const char *name);
void suite_close(void);

/* From now on, who stands still ends the job. */
void suite_watch(void);
/* Something has moved. */
void suite_moved(void);
/* It waits for all ranks, of which some may go on for a while; or they have met. */
void suite_set_meeting(bool is_meeting);

/* A network, whose peers need not be on this node? */
bool suite_is_network(void);

/* Every rank arrives before any goes on; polls meanwhile, or does not. */
void suite_meet(void);
void suite_meet_quietly(void);

/* Polls once, gives the processor away if nothing came. */
void suite_progress(void);
/* Packets of any kind that have come from it. */
uint32_t suite_packets_from(uint32_t rank);
/* Sleeps until so many have come from it; and polls once: have they? */
void suite_begin_sleep(uint32_t from, uint32_t expected);
bool suite_has_come(void);
/* Polls once for no more than `budget`, and checks that it was no more. */
void suite_poll_within(int budget);
/* Polls once: nothing comes. */
void suite_expect_nothing(void);

/* A packet with the next number for that rank. WEFT_AGAIN: it was not sent. */
enum weft_rc suite_try(uint32_t to, size_t len, unsigned flags);
/* The same, until it was taken. `is_last`: counted in `endings`. */
void suite_send(uint32_t to, size_t len, unsigned flags, bool is_last);
/* A control packet with a word, and the next such word of a rank. */
void suite_send_word(uint32_t to, uint64_t word);
uint64_t suite_await_word(uint32_t from);
/* The next packet, without a copy, and a word, both by a path to that rank. */
void suite_send_zcopy(uint32_t to, struct weft_path *way, size_t len, struct weft_op *op);
void suite_send_word_by(uint32_t to, struct weft_path *way, uint64_t word);

/* Registers `bytes` of ours, which the rank before us may reach then; *key is how we
 * reach those of the next. */
void *suite_exchange_keys(void *memory, size_t bytes, struct weft_key *key);

/* The next rank, and the one before. */
uint32_t suite_next(void);
uint32_t suite_previous(void);

uint64_t suite_random(uint64_t *state);

/* The cases. */
void case_table_is_complete(void);
void case_first_packets_are_seen(void);
void case_first_contact(void);
void case_every_size(void);
void case_full_queue(void);
void case_control_overtakes(void);
void case_kept_packets_are_offered_again(void);
void case_grants(void);
void case_budget(void);
void case_turns(void);
void case_memory(void);
void case_wrong_addresses(void);
void case_shares(void);
void case_share_claims(void);
void case_stages(void);
void case_vectors(void);
void case_inside(void);
void case_sleep_ends(void);
void case_no_wakeup_is_lost(void);
void case_network_sleep(void);
void case_held_packets_wait(void);
void case_idle_is_quiet(void);
void case_all_pairs_at_once(void);
void case_late_close(void);
void case_paths(void);
void case_flush(void);
void case_told(void);
void case_atomics(void);
void case_lost_with_pending_stream(void);
void case_lost_before_new_stream(void);
void case_impostor(void);
void case_ports(void);
void case_counts(void);

#endif
