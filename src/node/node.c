#include "node/node.h"

#include "base/process.h"
#include "node/doorbell.h"
#include "node/heap.h"

#include <sys/prctl.h>
#include <sys/random.h>
#include <unistd.h>

/*
 * process_vm_readv and writev can be forbidden (seccomp, Yama, namespaces), and a process
 * number can mean nothing to a peer (another PID namespace). So a process shows a word of
 * its memory and what the word holds; a peer that reads it knows that it can.
 */
static void introduce(struct weft_node *node)
{
    struct weft_node_area *area = node->area;

    if (getrandom(&node->probe, sizeof(node->probe), 0) != (ssize_t)sizeof(node->probe)) {
        node->probe = (uint64_t)getpid() * UINT64_C(0x9e3779b97f4a7c15);
    }
    if (node->job->segment.header->local_size > 1) { /* where Yama asks for it */
        prctl(PR_SET_PTRACER, PR_SET_PTRACER_ANY, 0, 0, 0);
    }
    weft_segment_slot(&node->job->segment, (uint32_t)node->job->who.local_rank)->pid =
        getpid();
    area->probe_address = (uint64_t)(uintptr_t)&node->probe;
    area->probe_value = node->probe;
    /* Pairs with the acquire of peers that are about to read the probe. */
    atomic_store_explicit(&area->is_known, 1, memory_order_release);
}

void weft_node_open(struct weft_job *job, struct weft_node *node)
{
    const uint32_t local = (uint32_t)job->who.local_rank;
    struct weft_slice *slice = weft_segment_slice(&job->segment, local);

    *node = (struct weft_node){
        .job = job,
        .area = weft_node_area_of(&job->segment, local),
    };
    node->first_bell = atomic_load_explicit(&node->area->doorbell, memory_order_relaxed);
    atomic_store_explicit(&slice->bell_at,
                          (uint32_t)((char *)&node->area->doorbell - (char *)slice),
                          memory_order_seq_cst);
    introduce(node);
    weft_node_register_barrier(node);
}

void weft_node_close(struct weft_node *node)
{
    weft_heap_close(node);
    atomic_store_explicit(&node->area->is_known, 0, memory_order_release);
}

bool weft_node_has(const struct weft_node *node, uint64_t process, uint32_t *local)
{
    const struct weft_segment *segment = &node->job->segment;
    const uint32_t rank = weft_process_rank(process);
    const struct weft_location *location;

    if (weft_process_job(process) != segment->job || rank >= segment->job_size) {
        return false;
    }
    location = &weft_segment_map(segment)[rank];
    if (location->node != segment->header->node ||
        location->local_rank >= segment->local_size ||
        weft_segment_rank(segment, location->local_rank) != rank) {
        return false;
    }
    *local = location->local_rank;
    return node->job->is_by_mpiexec || weft_segment_is_attached(segment, *local);
}

struct weft_node_area *weft_node_find(const struct weft_node *node, uint64_t process)
{
    uint32_t local;

    return weft_node_has(node, process, &local)
               ? weft_node_area_of(&node->job->segment, local)
               : NULL;
}
