#include "engine/thread.h"

#include <errno.h>
#include <link.h>
#include <pthread.h>
#include <sched.h>
#include <signal.h>
#include <string.h>
#include <unistd.h>

enum { STACK_BYTES = 256 * 1024 }; /* what our own code and libfabric need of it */

static pthread_t threads[WEFT_THREADS];

static const char *name_of(enum weft_thread which)
{
    if (which >= WEFT_THREAD_BLOCKING) {
        return "weft blocking";
    }
    return which == WEFT_THREAD_PROGRESS  ? "weft progress"
           : which == WEFT_THREAD_NETWORK ? "weft network"
                                          : "weft warm";
}

static void *begin(void *argument)
{
    void (*run)(void);

    memcpy(&run, &argument, sizeof(run));
    run();
    return NULL;
}

static int add_tls(struct dl_phdr_info *module, size_t size, void *sum)
{
    (void)size;
    for (int i = 0; i < module->dlpi_phnum; i++) {
        if (module->dlpi_phdr[i].p_type == PT_TLS) {
            *(size_t *)sum += module->dlpi_phdr[i].p_memsz + module->dlpi_phdr[i].p_align;
        }
    }
    return 0;
}

/*
 * The C library takes the program's thread-local variables out of each thread's stack: it
 * has to be larger by that, which may be megabytes. What is not touched costs address
 * space only.
 */
static size_t stack_bytes(void)
{
    const size_t page = (size_t)sysconf(_SC_PAGESIZE);
    const long least = sysconf(_SC_THREAD_STACK_MIN);
    size_t bytes = STACK_BYTES + (least > 0 ? (size_t)least : 0);

    dl_iterate_phdr(add_tls, &bytes);
    return (bytes + page - 1) / page * page;
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
    pthread_attr_setstacksize(&attributes, stack_bytes());
    sigfillset(&all);
    pthread_sigmask(SIG_SETMASK, &all, &before); /* a thread inherits the mask */
    err = pthread_create(&threads[which], &attributes, begin, argument);
    pthread_sigmask(SIG_SETMASK, &before, NULL);
    pthread_attr_destroy(&attributes);
    if (err != 0) {
        errno = err;
        return WEFT_ERR_SYSTEM;
    }
    pthread_setname_np(threads[which], name_of(which));
    widen(threads[which], cpus, bytes);
    return WEFT_OK;
}

void weft_thread_avoid(int processor, int *avoided)
{
    cpu_set_t set;

    if (processor == *avoided || processor < 0 || processor >= CPU_SETSIZE ||
        sched_getcpu() != processor || sched_getaffinity(0, sizeof(set), &set) != 0) {
        return;
    }
    if (*avoided >= 0) {
        CPU_SET((size_t)*avoided, &set);
    }
    CPU_CLR((size_t)processor, &set);
    *avoided = processor;
    (void)sched_setaffinity(0, sizeof(set), &set); /* refused if that is the only one */
}

void weft_thread_join(enum weft_thread which)
{
    pthread_join(threads[which], NULL);
}
