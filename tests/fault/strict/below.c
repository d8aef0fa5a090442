/*
 * below.c - the provider that moves the bytes.
 *
 * tcp is asked of the libfabric that has loaded us, also where FI_PROVIDER hides it. Its
 * layer ofi_rxm in turn asks that libfabric for tcp and does not find what is hidden: it
 * is taken from a libfabric of our own, a copy of the other, which has loaded neither us
 * nor what FI_PROVIDER names.
 */
#include "strict.h"

#include <dlfcn.h>
#include <pthread.h>
#include <stdlib.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/sendfile.h>
#include <sys/stat.h>
#include <fcntl.h>
#include <unistd.h>

/*
 * libfabric's own flag (OFI_GETINFO_HIDDEN): also ask providers that FI_PROVIDER hides,
 * so that FI_PROVIDER=strict leaves us tcp to stand on.
 */
#define HIDDEN_TOO (1ULL << 60)

static __typeof__(fi_getinfo) *copied_getinfo;
static __typeof__(fi_fabric) *copied_fabric;

/* A file that is no longer the same cannot be the library that is loaded already. */
static void *load_copy(const char *path)
{
    const int from = open(path, O_RDONLY | O_CLOEXEC);
    const int to = memfd_create("libfabric", MFD_CLOEXEC);
    struct stat file = {.st_size = 0};
    char name[64];
    off_t at = 0;
    void *copy = NULL;

    snprintf(name, sizeof(name), "/proc/self/fd/%d", to);
    if (from >= 0 && to >= 0 && fstat(from, &file) == 0) {
        while (at < file.st_size &&
               sendfile(to, from, &at, (size_t)(file.st_size - at)) > 0) {
        }
        copy = at == file.st_size ? dlopen(name, RTLD_NOW | RTLD_LOCAL) : NULL;
    }
    close(from);
    close(to);
    return copy;
}

/* The copy reads its environment when it is used for the first time. */
static void open_with_environment(const char *providers, void *copy)
{
    struct fi_info *list = NULL;
    __typeof__(fi_getinfo) *getinfo = (__typeof__(fi_getinfo) *)dlsym(copy, "fi_getinfo");
    char *own = strdup(getenv("FI_PROVIDER") != NULL ? getenv("FI_PROVIDER") : "");
    char *path =
        strdup(getenv("FI_PROVIDER_PATH") != NULL ? getenv("FI_PROVIDER_PATH") : "");

    setenv("FI_PROVIDER", providers, 1);
    unsetenv("FI_PROVIDER_PATH");
    if (getinfo(FI_VERSION(FI_MAJOR_VERSION, FI_MINOR_VERSION), NULL, NULL, 0, NULL,
                &list) == 0) {
        fi_freeinfo(list);
    }
    setenv("FI_PROVIDER", own, 1);
    setenv("FI_PROVIDER_PATH", path, 1);
    free(own);
    free(path);
}

static void open_copy(void)
{
    Dl_info place;
    void *copy = dladdr((void *)(uintptr_t)fi_freeinfo, &place) != 0
                     ? load_copy(place.dli_fname)
                     : NULL;

    if (copy == NULL) {
        strict_violation("dlopen", "no second libfabric: %s", dlerror());
    }
    open_with_environment(strict_face()->below, copy);
    copied_getinfo = (__typeof__(fi_getinfo) *)dlsym(copy, "fi_getinfo");
    copied_fabric = (__typeof__(fi_fabric) *)dlsym(copy, "fi_fabric");
}

static bool is_copied(void)
{
    static pthread_once_t once = PTHREAD_ONCE_INIT;

    if (strict_face()->type == FI_EP_MSG) {
        return false;
    }
    pthread_once(&once, open_copy);
    return true;
}

int strict_below_getinfo(uint32_t version, const char *node, const char *service,
                         uint64_t flags, const struct fi_info *hints,
                         struct fi_info **info)
{
    return is_copied()
               ? copied_getinfo(version, node, service, flags, hints, info)
               : fi_getinfo(version, node, service, flags | HIDDEN_TOO, hints, info);
}

int strict_below_fabric(struct fi_fabric_attr *attr, struct fid_fabric **fabric,
                        void *context)
{
    return is_copied() ? copied_fabric(attr, fabric, context)
                       : fi_fabric(attr, fabric, context);
}
