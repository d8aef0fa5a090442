#include "transport/ofi/common/library.h"

#include "base/environment.h"
#include "base/library.h"
#include "base/log.h"
#include "base/texts.h"
#include "transport/ofi/quirks/layers.h"

#include <dlfcn.h>
#include <pthread.h>
#include <stdlib.h>
#include <sys/prctl.h>

struct weft_libfabric weft_libfabric;

static void *library;
static pthread_mutex_t loading = PTHREAD_MUTEX_INITIALIZER;

/* All of it, or nothing. */
static bool find_functions(struct weft_libfabric *f)
{
    f->getinfo = (__typeof__(fi_getinfo) *)dlsym(library, "fi_getinfo");
    f->freeinfo = (__typeof__(fi_freeinfo) *)dlsym(library, "fi_freeinfo");
    f->dupinfo = (__typeof__(fi_dupinfo) *)dlsym(library, "fi_dupinfo");
    f->fabric = (__typeof__(fi_fabric) *)dlsym(library, "fi_fabric");
    f->strerror = (__typeof__(fi_strerror) *)dlsym(library, "fi_strerror");
    f->version = (__typeof__(fi_version) *)dlsym(library, "fi_version");
    return f->getinfo != NULL && f->freeinfo != NULL && f->dupinfo != NULL &&
           f->fabric != NULL && f->strerror != NULL && f->version != NULL;
}

void weft_libfabric_prepare(void)
{
    static bool is_prepared; /* in MPI_Init, before a thread of ours loads it */

    if (is_prepared) {
        return;
    }
    is_prepared = true;
    /* Else the old InfiniPath library behind it catches signals, and exits by itself. */
    weft_environment_offer("IPATH_NO_BACKTRACE", "1");
    weft_layers_prepare();
}

/*
 * The InfiniPath library calibrates a clock by a thousand naps, to each of which the
 * kernel adds a slack of 50 us by default: the loading takes 0.13 s without it, 0.2 s
 * with it.
 */
static void *dlopen_without_slack(const char *name)
{
    const int slack = prctl(PR_GET_TIMERSLACK);
    void *found;

    prctl(PR_SET_TIMERSLACK, 1);
    found = dlopen(name, RTLD_NOW | RTLD_LOCAL);
    if (slack > 0) {
        prctl(PR_SET_TIMERSLACK, slack);
    }
    return found;
}

static enum weft_rc load(void)
{
    if (library != NULL) {
        return WEFT_OK;
    }
    weft_libfabric_prepare();
    library = dlopen_without_slack("libfabric.so.1");
    if (library == NULL) {
        const char *why = dlerror();

        weft_log_error(WEFT_S_NO_LIBFABRIC, why,
                       weft_library_advice(why, "install it (Debian: libfabric1)"));
        return WEFT_ERR_UNSUPPORTED;
    }
    if (!find_functions(&weft_libfabric) ||
        FI_VERSION_LT(weft_libfabric.version(), WEFT_OFI_API)) {
        weft_log_error(WEFT_S_OLD_LIBFABRIC, (int)FI_MAJOR(WEFT_OFI_API),
                       (int)FI_MINOR(WEFT_OFI_API));
        dlclose(library);
        library = NULL;
        return WEFT_ERR_UNSUPPORTED;
    }
    return WEFT_OK;
}

enum weft_rc weft_libfabric_open(void)
{
    enum weft_rc rc;

    pthread_mutex_lock(&loading);
    rc = load();
    pthread_mutex_unlock(&loading);
    return rc;
}

const char *weft_ofi_error(long code)
{
    return weft_libfabric.strerror((int)(code < 0 ? -code : code));
}
