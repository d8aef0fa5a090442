/*
 * runtime.h - the library's life: opened and closed, initialised and finalized.
 *
 * The runtime is counted: the World Model and each session open it, the last one closes
 * it. Wire-up and what sends messages are opened by the first and stay so until exit,
 * because launchers and queues remember; so it can be opened again. The World Model
 * (MPI_Init to MPI_Finalize) happens once; its state may be asked for at any time, from
 * any thread, without the lock. MPI_T does not open it: what it shows is there before and
 * after.
 */
#ifndef WEFT_RUNTIME_RUNTIME_H
#define WEFT_RUNTIME_RUNTIME_H

#include "base/rc.h"
#include "core/errhandler.h"

#include <stdbool.h>
#include <stdint.h>

enum weft_world_state {
    WEFT_WORLD_BEFORE,
    WEFT_WORLD_OPENING,
    WEFT_WORLD_OPEN,
    WEFT_WORLD_CLOSED,
};

/*
 * Opens the World Model. WEFT_ERR_ARGUMENT if that was done before. `is_threaded`:
 * several threads may call MPI at once.
 */
WEFT_MUST_CHECK enum weft_rc weft_world_init(bool is_threaded);

/* Closes it. WEFT_ERR_ARGUMENT if it is not open. */
WEFT_MUST_CHECK enum weft_rc weft_world_finalize(void);

enum weft_world_state weft_world_state(void);

/* Did this thread call MPI_Init? */
bool weft_world_is_main_thread(void);

/* Counts one more, or one fewer, user of the library. */
WEFT_MUST_CHECK enum weft_rc weft_runtime_open(void);
void weft_runtime_close(void);

/* If the caller is the last user: waits for the sends whose requests the user has freed.
 */
void weft_runtime_wait_detached(void);

/* Does anybody use the library? */
bool weft_runtime_is_open(void);

/* Several threads will call from now on, whatever MPI_Init was or will be promised: the
 * lock is shared, for ever. From any thread, at any time, without the lock. */
void weft_runtime_share_lock(void);

/* Error handlers of a kind of object: those that end the job, and others. */
struct weft_handlers {
    unsigned ending;
    unsigned others;
};

void weft_runtime_count_handler(struct weft_handlers *handlers,
                                const struct weft_errhandler *handler);

/* `count` adds the handlers of all sessions; it is called with the lock. */
void weft_runtime_ask_sessions(void (*count)(struct weft_handlers *handlers));

/* This process's place in the job, and its host; valid while the runtime is open. */
int weft_runtime_rank(void);
int weft_runtime_size(void);
const char *weft_runtime_host(void);

/* How many ranks of the job share this node, and which. */
int weft_runtime_node_size(void);
uint32_t weft_runtime_node_rank(int n);

/* Returns when every rank of the job has called it as often as this one; `call` is the
 * name of the MPI function that waits; `is_last`: it is MPI_Finalize. */
WEFT_MUST_CHECK enum weft_rc weft_world_barrier(const char *call, bool is_last);

/* Ends a process that could not become a rank; the cause has been reported. */
_Noreturn void weft_runtime_give_up(void);

/*
 * Ends the job: `code` becomes the exit code, 1 where that would read as success; `cause`
 * is printed once for the whole job. May be called from any thread, with
 * or without the lock, in any state; does not return.
 */
_Noreturn void weft_runtime_abort(int code, const char *cause);

#endif
