#include "base/memory.h"
#include "base/texts.h"

#include <dlfcn.h>
#include <errno.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/uio.h>
#include <unistd.h>

enum { POINTER_MEMORY_TYPE = 2 }; /* CU_POINTER_ATTRIBUTE_MEMORY_TYPE, and HIP's */

/* The two bytes, as the kernel sees them in this process's memory. */
struct ends {
    unsigned char bytes[2];
    struct iovec ours;
    struct iovec theirs[2];
};

static void set_ends(struct ends *ends, const void *at, size_t bytes)
{
    char *first = (char *)(uintptr_t)at;

    ends->ours = (struct iovec){.iov_base = ends->bytes, .iov_len = sizeof(ends->bytes)};
    ends->theirs[0] = (struct iovec){.iov_base = first, .iov_len = 1};
    ends->theirs[1] = (struct iovec){.iov_base = first + bytes - 1, .iov_len = 1};
}

/* Part of it, or nothing, because there is no such memory; not because of another cause.
 */
static bool is_refused(ssize_t moved)
{
    return moved < 0 ? errno == EFAULT : moved < 2;
}

bool weft_memory_is_readable(const void *at, size_t bytes)
{
    struct ends ends;

    if (bytes == 0) {
        return true;
    }
    set_ends(&ends, at, bytes);
    return !is_refused(process_vm_readv(getpid(), &ends.ours, 1, ends.theirs, 2, 0));
}

bool weft_memory_is_writable(void *at, size_t bytes)
{
    struct ends ends;
    ssize_t moved;

    if (bytes == 0) {
        return true;
    }
    set_ends(&ends, at, bytes);
    moved = process_vm_readv(getpid(), &ends.ours, 1, ends.theirs, 2, 0);
    if (moved != 2) {
        return !is_refused(moved);
    }
    return !is_refused(process_vm_writev(getpid(), &ends.ours, 1, ends.theirs, 2, 0));
}

bool weft_memory_is_all_readable(const void *at, size_t bytes)
{
    const size_t page = (size_t)sysconf(_SC_PAGESIZE);

    for (size_t done = 0; done < bytes; done += page) {
        if (!weft_memory_is_readable((const char *)at + done, 1)) {
            return false;
        }
    }
    return weft_memory_is_readable(at, bytes);
}

bool weft_memory_is_all_writable(const void *at, size_t bytes)
{
    const uintptr_t begin = (uintptr_t)at;
    FILE *maps = fopen("/proc/self/maps", "re");
    char line[512];
    bool is_writable = true;

    while (maps != NULL && is_writable && fgets(line, sizeof(line), maps) != NULL) {
        unsigned long first;
        unsigned long end;
        char rights[8];

        is_writable = sscanf(line, "%lx-%lx %7s", &first, &end, rights) != 3 ||
                      end <= begin || first >= begin + bytes || rights[1] == 'w';
    }
    if (maps != NULL) {
        fclose(maps);
    }
    return is_writable;
}

/* ---- what it is ---- */

/* How CUDA and HIP are asked: attribute `what` of a pointer; 0: it is one of theirs. */
typedef int pointer_attribute_fn(void *out, int what, uintptr_t pointer);

static const char *device_of(const void *at)
{
    static const struct {
        const char *function;
        const char *name;
    } libraries[] = {
        {"cuPointerGetAttribute", "CUDA"},
        {"hipPointerGetAttribute", "HIP"},
    };

    for (size_t i = 0; i < sizeof(libraries) / sizeof(libraries[0]); i++) {
        union {
            void *symbol;
            pointer_attribute_fn *call;
        } found = {.symbol = dlsym(RTLD_DEFAULT, libraries[i].function)};
        uint64_t type = 0;

        if (found.symbol != NULL &&
            found.call(&type, POINTER_MEMORY_TYPE, (uintptr_t)at) == 0) {
            return libraries[i].name;
        }
    }
    return NULL;
}

bool weft_memory_is_of_device(const char *line, uintptr_t at, char path[WEFT_MEMORY_PATH])
{
    static const char *const devices[] = {"/dev/nvidia", "/dev/kfd", "/dev/dri/"};
    unsigned long first;
    unsigned long end;
    const char *file = strchr(line, '/');

    if (file == NULL || sscanf(line, "%lx-%lx ", &first, &end) != 2 || at < first ||
        at >= end) {
        return false;
    }
    for (size_t i = 0; i < sizeof(devices) / sizeof(devices[0]); i++) {
        if (strncmp(file, devices[i], strlen(devices[i])) == 0) {
            snprintf(path, WEFT_MEMORY_PATH, "%.*s", (int)strcspn(file, " \n"), file);
            return true;
        }
    }
    return false;
}

/* A device that has mapped the address into this process, or NULL. */
static const char *mapped_device(const void *at, char path[WEFT_MEMORY_PATH])
{
    FILE *maps = fopen("/proc/self/maps", "re");
    char line[512];
    bool is_found = false;

    while (maps != NULL && !is_found && fgets(line, sizeof(line), maps) != NULL) {
        is_found = weft_memory_is_of_device(line, (uintptr_t)at, path);
    }
    if (maps != NULL) {
        fclose(maps);
    }
    return is_found ? path : NULL;
}

static bool is_mapped(const void *at)
{
    const uintptr_t page = (uintptr_t)sysconf(_SC_PAGESIZE);
    unsigned char here;

    return mincore((void *)((uintptr_t)at / page * page), 1, &here) == 0;
}

const char *weft_memory_describe(const void *at, size_t bytes, char *text, size_t size)
{
    char path[WEFT_MEMORY_PATH];
    const char *device = device_of(at);
    char *last = (char *)(uintptr_t)at + (bytes > 0 ? bytes - 1 : 0);

    if (device == NULL) {
        device = mapped_device(at, path);
    }
    if (device != NULL) {
        snprintf(text, size, WEFT_S_MEMORY_DEVICE, bytes, at, device);
    } else if (!is_mapped(at)) {
        snprintf(text, size, WEFT_S_MEMORY_UNMAPPED, bytes, at);
    } else if (!is_mapped(last)) {
        snprintf(text, size, WEFT_S_MEMORY_END, bytes, at);
    } else {
        snprintf(text, size, WEFT_S_MEMORY_REFUSED, bytes, at);
    }
    return text;
}
