/*
 * doorbell.c - wake levels and the two bells.
 *
 * A sender publishes a packet and then reads our wake level, both without a full barrier
 * in between, because it does so for every packet. So we, who sleep rarely, pay for both:
 * we store our level, call membarrier(), which passes a full barrier on every processor
 * that runs a rank, and look once more. Either the sender's read comes after our store
 * and it rings, or its packet was published before the barrier and we see it. The barrier
 * reaches only ranks that have registered for it. Where the kernel refuses that to a rank
 * of the node, as filters of containers do, no rank relies on it: a sleep ends by itself
 * after a millisecond, and progress threads look as often (weft_node_may_miss). A rank
 * that is alone on its node needs no barrier: its own threads ring with an exchange.
 */
#include "node/doorbell.h"

#include "base/futex.h"

#include <linux/membarrier.h>
#include <sys/syscall.h>
#include <unistd.h>

enum { WITHOUT_BARRIER_NS = 1000000 };

static int membarrier(int command)
{
    return (int)syscall(SYS_membarrier, command, 0, 0);
}

/* Called before this rank sends anything: a rank that does not see it has published
 * before that. */
static void publish_refusal(struct weft_node *node)
{
    node->has_membarrier = false;
    atomic_store_explicit(&node->job->segment.header->is_barrier_refused, 1,
                          memory_order_seq_cst);
}

void weft_node_register_barrier(struct weft_node *node)
{
    if (node->job->segment.local_size == 1) {
        node->has_membarrier = false;
        return;
    }
    node->has_membarrier =
        membarrier(MEMBARRIER_CMD_REGISTER_GLOBAL_EXPEDITED) == 0 &&
        (membarrier(MEMBARRIER_CMD_QUERY) & MEMBARRIER_CMD_GLOBAL_EXPEDITED) != 0;
    if (!node->has_membarrier) {
        publish_refusal(node);
    }
}

/* Asked after publishing: a rank that is refused the barrier later sees our level. */
bool weft_node_may_miss(const struct weft_node *node)
{
    return atomic_load_explicit(&node->job->segment.header->is_barrier_refused,
                                memory_order_seq_cst) != 0;
}

uint32_t weft_node_publish(struct weft_node *node, enum weft_wake_level level)
{
    const uint32_t bell =
        atomic_load_explicit(&node->area->doorbell, memory_order_acquire);

    atomic_store_explicit(&node->area->wake_level, (uint32_t)level, memory_order_seq_cst);
    node->has_asked_for_room = false;
    if (node->has_membarrier && membarrier(MEMBARRIER_CMD_GLOBAL_EXPEDITED) != 0) {
        publish_refusal(node); /* by a filter that came later */
    }
    return bell;
}

/*
 * A process that only leaves MPI, with a request outstanding, cannot pay for
 * membarrier(), so who sends a packet worth a wake-up pays (weft_node_notice_urgent):
 * both exchange the same word. If the sender's exchange comes first, ours reads from it
 * and what was published before is seen by our last look; else it finds our level and
 * rings. Ordinary senders make no exchange: for them we pay after all.
 *
 * weft_node_await() pairs with it in the same way: it counts itself in `awaited`, then
 * exchanges the level; we exchange the level, then read `awaited`. All four are seq_cst,
 * because weft_node_disarm() may store between the two exchanges. So either the peer
 * finds WEFT_WAKE_STEPS and rings, or we find that we are awaited.
 */
void weft_node_publish_leaving(struct weft_node *node, enum weft_wake_level level)
{
    if (level <= WEFT_WAKE_STEPS) {
        atomic_exchange_explicit(&node->area->wake_level, (uint32_t)level,
                                 memory_order_seq_cst);
    } else {
        (void)weft_node_publish(node, level);
    }
}

void weft_node_disarm(struct weft_node *node)
{
    atomic_store_explicit(&node->area->wake_level, WEFT_WAKE_NONE, memory_order_relaxed);
}

/* A ring since publishing has moved the doorbell on: then the kernel lets nobody sleep.
 */
void weft_node_sleep(struct weft_node *node, uint32_t bell, _Atomic uint32_t *word,
                     uint32_t old, uint64_t ns)
{
    if (weft_node_may_miss(node) && (ns == 0 || ns > WITHOUT_BARRIER_NS)) {
        ns = WITHOUT_BARRIER_NS;
    }
    weft_futex_wait_two(&node->area->doorbell, bell, word, old, ns);
}

void weft_node_ring_area(struct weft_node_area *area)
{
    const uint32_t level =
        atomic_exchange_explicit(&area->wake_level, WEFT_WAKE_NONE, memory_order_acq_rel);
    _Atomic uint32_t *bell =
        level == WEFT_WAKE_ALL ? &area->doorbell : &area->progress_bell;

    if (level != WEFT_WAKE_NONE) {
        atomic_fetch_add_explicit(&area->rings, 1, memory_order_relaxed);
        atomic_fetch_add_explicit(bell, 1, memory_order_release);
        weft_futex_wake(bell, 1 << 20);
    }
}

void weft_node_ring(struct weft_node *node)
{
    weft_node_ring_area(node->area);
}

void weft_node_wake(struct weft_node_area *area, enum weft_wake_level needed)
{
    if (atomic_fetch_or_explicit(&area->wake_level, 0, memory_order_acq_rel) >=
        (uint32_t)needed) {
        weft_node_ring_area(area);
    }
}

/* Who has published less has no schedule under way; who has published more is woken by
 * any packet. */
void weft_node_await(struct weft_node_area *area)
{
    atomic_fetch_add_explicit(&area->awaited, 1, memory_order_seq_cst);
    if (atomic_fetch_or_explicit(&area->wake_level, 0, memory_order_seq_cst) ==
        WEFT_WAKE_STEPS) {
        weft_node_ring_area(area);
    }
}

void weft_node_await_end(struct weft_node_area *area)
{
    atomic_fetch_sub_explicit(&area->awaited, 1, memory_order_relaxed);
}

uint64_t weft_node_rings(const struct weft_node *node)
{
    return atomic_load_explicit(&node->area->rings, memory_order_relaxed);
}

uint64_t weft_node_wakeups(const struct weft_node *node)
{
    return atomic_load_explicit(&node->area->doorbell, memory_order_relaxed) -
           node->first_bell;
}
