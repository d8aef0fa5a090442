#include "progress/thread.h"

#include <pthread.h>
#include <sched.h>
#include <signal.h>
#include <string.h>

enum { STACK_BYTES = 128 * 1024 };

static pthread_t threads[WEFT_THREADS];

static void *begin(void *argument)
{
    void (*run)(void);

    memcpy(&run, &argument, sizeof(run));
    run();
    return NULL;
}

/* If none of these processors may be used, the thread stays where its rank is. */
static void widen(pthread_t thread, const uint8_t *cpus, uint32_t bytes)
{
    cpu_set_t set;

    CPU_ZERO(&set);
    for (uint32_t c = 0; c < 8 * bytes && c < CPU_SETSIZE; c++) {
        if ((cpus[c / 8] >> c % 8 & 1) != 0) {
            CPU_SET(c, &set);
        }
    }
    pthread_setaffinity_np(thread, sizeof(set), &set);
}

enum weft_rc weft_thread_start(enum weft_thread which, void (*run)(void),
                               const uint8_t *cpus, uint32_t bytes)
{
    pthread_attr_t attributes;
    sigset_t all;
    sigset_t before;
    void *argument;
    int err;

    memcpy(&argument, &run, sizeof(run));
    if (pthread_attr_init(&attributes) != 0) {
        return WEFT_ERR_NOMEM;
    }
    pthread_attr_setstacksize(&attributes, STACK_BYTES);
    sigfillset(&all);
    pthread_sigmask(SIG_SETMASK, &all, &before); /* a thread inherits the mask */
    err = pthread_create(&threads[which], &attributes, begin, argument);
    pthread_sigmask(SIG_SETMASK, &before, NULL);
    pthread_attr_destroy(&attributes);
    if (err != 0) {
        return WEFT_ERR_SYSTEM;
    }
    pthread_setname_np(threads[which],
                       which == WEFT_THREAD_HELPER ? "weft progress" : "weft network");
    widen(threads[which], cpus, bytes);
    return WEFT_OK;
}

void weft_thread_join(enum weft_thread which)
{
    pthread_join(threads[which], NULL);
}
