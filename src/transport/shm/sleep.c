/*
 * sleep.c - attention and the doorbell.
 *
 * A sender publishes a packet and then reads our attention, both without a full barrier
 * in between, because it does so for every packet. So we, who sleep rarely, pay for both:
 * we store our attention, call membarrier(), which passes a full barrier on every
 * processor that runs a rank, and look once more. Either the sender's read comes after
 * our store and it rings, or its packet was published before the barrier and we see it.
 * The barrier reaches only ranks that have registered for it. Where the kernel refuses
 * that to a rank of the node, as filters of containers do, no rank relies on it: a sleep
 * ends by itself after a millisecond, and helpers look as often (weft_shm_may_miss).
 *
 * Two bells, so that waking a thread that sleeps in MPI does not wake the helper too.
 */
#include "transport/shm/shm.h"

#include "base/futex.h"

#include <linux/membarrier.h>
#include <sys/syscall.h>
#include <unistd.h>

enum { WITHOUT_BARRIER_NS = 1000000 };

static int membarrier(int command)
{
    return (int)syscall(SYS_membarrier, command, 0, 0);
}

/* Before this rank sends anything: who does not see it has armed before that. */
static void tell_of_refusal(struct weft_transport *tp)
{
    tp->has_membarrier = false;
    atomic_store_explicit(&tp->job->segment.header->is_barrier_refused, 1,
                          memory_order_seq_cst);
}

void weft_shm_register_barrier(struct weft_transport *tp)
{
    tp->has_membarrier =
        membarrier(MEMBARRIER_CMD_REGISTER_GLOBAL_EXPEDITED) == 0 &&
        (membarrier(MEMBARRIER_CMD_QUERY) & MEMBARRIER_CMD_GLOBAL_EXPEDITED) != 0;
    if (!tp->has_membarrier) {
        tell_of_refusal(tp);
    }
}

/* Asked after arming: a rank that is refused the barrier later sees that we are armed. */
bool weft_shm_may_miss(struct weft_transport *tp)
{
    return atomic_load_explicit(&tp->job->segment.header->is_barrier_refused,
                                memory_order_seq_cst) != 0;
}

enum weft_rc weft_shm_arm(struct weft_transport *tp, enum weft_attention level,
                          uint32_t *bell)
{
    *bell = atomic_load_explicit(&tp->area->doorbell, memory_order_acquire);
    atomic_store_explicit(&tp->area->attention, (uint32_t)level, memory_order_seq_cst);
    tp->has_asked = false;
    if (tp->has_membarrier && membarrier(MEMBARRIER_CMD_GLOBAL_EXPEDITED) != 0) {
        tell_of_refusal(tp); /* by a filter that came later */
    }
    if (weft_shm_has_work(tp)) {
        weft_shm_disarm(tp);
        return WEFT_AGAIN;
    }
    return WEFT_OK;
}

/* A ring since arming has moved the doorbell on: then the kernel does not let us sleep.
 */
void weft_shm_sleep(struct weft_transport *tp, uint32_t bell, _Atomic uint32_t *word,
                    uint32_t old, uint64_t ns)
{
    if (weft_shm_may_miss(tp) && (ns == 0 || ns > WITHOUT_BARRIER_NS)) {
        ns = WITHOUT_BARRIER_NS;
    }
    weft_futex_wait_two(&tp->area->doorbell, bell, word, old, ns);
}

void weft_shm_disarm(struct weft_transport *tp)
{
    atomic_store_explicit(&tp->area->attention, WEFT_ATTENTION_NONE,
                          memory_order_relaxed);
}

/*
 * A process that only leaves MPI, with a request outstanding, cannot pay for
 * membarrier(), so who sends a packet worth a wake-up pays (weft_shm_notice_urgent): both
 * exchange the same word. If the sender's exchange comes first, ours reads from it and
 * what was published before is seen here; else it finds our level and rings.
 */
enum weft_rc weft_shm_attend(struct weft_transport *tp, enum weft_attention level)
{
    if (level == WEFT_ATTENTION_ANYTHING) { /* ordinary senders make no exchange */
        uint32_t bell;

        return weft_shm_arm(tp, level, &bell);
    }
    atomic_exchange_explicit(&tp->area->attention, (uint32_t)level, memory_order_acq_rel);
    if (weft_shm_has_work(tp)) {
        weft_shm_disarm(tp);
        return WEFT_AGAIN;
    }
    return WEFT_OK;
}

/* Only the first of many senders pays for the wake-up. */
void weft_shm_ring_doorbell(struct weft_shm_area *area)
{
    uint32_t level = atomic_exchange_explicit(&area->attention, WEFT_ATTENTION_NONE,
                                              memory_order_acq_rel);
    _Atomic uint32_t *bell =
        level == WEFT_ATTENTION_ALL ? &area->doorbell : &area->helper_bell;

    if (level != WEFT_ATTENTION_NONE) {
        atomic_fetch_add_explicit(&area->rings, 1, memory_order_relaxed);
        atomic_fetch_add_explicit(bell, 1, memory_order_release);
        weft_futex_wake(bell, 1 << 20);
    }
}

void weft_shm_wake(struct weft_endpoint *ep, enum weft_attention level)
{
    weft_shm_notice(((struct weft_shm_endpoint *)ep)->area, level);
}
