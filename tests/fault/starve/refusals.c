#include "refusals.h"

#include <errno.h>
#include <limits.h>
#include <link.h>
#include <stdarg.h>
#include <stdatomic.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <unistd.h>

void *__libc_malloc(size_t bytes);
void *__libc_calloc(size_t count, size_t bytes);
void *__libc_realloc(void *old, size_t bytes);
void *__libc_memalign(size_t alignment, size_t bytes);

static struct {
    uintptr_t base;
    uintptr_t begin;
    uintptr_t end;
} library;

static atomic_int countdown; /* to the allocation that is refused; 0: none is */
static atomic_bool is_going_on;
static atomic_bool has_refused;
static atomic_ulong place;

static int look_at(struct dl_phdr_info *info, size_t bytes, void *unused)
{
    (void)bytes;
    (void)unused;
    if (strstr(info->dlpi_name, "/libmpi_abi.so") == NULL) {
        return 0;
    }
    for (int i = 0; i < info->dlpi_phnum; i++) {
        const ElfW(Phdr) *part = &info->dlpi_phdr[i];

        if (part->p_type == PT_LOAD && (part->p_flags & PF_X) != 0) {
            library.base = info->dlpi_addr;
            library.begin = info->dlpi_addr + part->p_vaddr;
            library.end = library.begin + part->p_memsz;
        }
    }
    return 1;
}

void refusals_open(void)
{
    if (dl_iterate_phdr(look_at, NULL) != 1 || library.begin == 0) {
        fprintf(stderr, "no libmpi_abi.so in this process\n");
        exit(99);
    }
}

void refusals_begin(int number, bool is_lasting)
{
    atomic_store(&has_refused, false);
    atomic_store(&is_going_on, is_lasting);
    atomic_store(&countdown, number);
}

bool refusals_end(void)
{
    atomic_store(&countdown, 0);
    return atomic_load(&has_refused);
}

unsigned long refusals_place(void)
{
    return atomic_load(&place);
}

/* Is this call refused? With `countdown` at 1 it is; a lasting refusal leaves it there.
 */
static bool is_due(const void *caller)
{
    const uintptr_t at = (uintptr_t)caller;
    int left = atomic_load_explicit(&countdown, memory_order_relaxed);

    if (left == 0 || at < library.begin || at >= library.end) {
        return false;
    }
    do {
        if (left == 0) {
            return false;
        }
    } while (!atomic_compare_exchange_weak(
        &countdown, &left, left == 1 && atomic_load(&is_going_on) ? 1 : left - 1));
    if (left > 1) {
        return false;
    }
    if (!atomic_exchange(&has_refused, true)) {
        atomic_store(&place, at - library.base);
    }
    errno = ENOMEM;
    return true;
}

#define IS_DUE is_due(__builtin_return_address(0))

void *malloc(size_t bytes)
{
    return IS_DUE ? NULL : __libc_malloc(bytes);
}

void *calloc(size_t count, size_t bytes)
{
    return IS_DUE ? NULL : __libc_calloc(count, bytes);
}

void *realloc(void *old, size_t bytes)
{
    return IS_DUE ? NULL : __libc_realloc(old, bytes);
}

void *reallocarray(void *old, size_t count, size_t bytes)
{
    size_t all;

    if (IS_DUE) {
        return NULL;
    }
    if (__builtin_mul_overflow(count, bytes, &all)) {
        errno = ENOMEM;
        return NULL;
    }
    return __libc_realloc(old, all);
}

void *aligned_alloc(size_t alignment, size_t bytes)
{
    return IS_DUE ? NULL : __libc_memalign(alignment, bytes);
}

int posix_memalign(void **out, size_t alignment, size_t bytes)
{
    void *memory = IS_DUE ? NULL : __libc_memalign(alignment, bytes);

    if (memory == NULL) {
        return ENOMEM;
    }
    *out = memory;
    return 0;
}

static char *copy_of(const char *text, size_t length)
{
    char *copy = __libc_malloc(length + 1);

    if (copy != NULL) {
        memcpy(copy, text, length);
        copy[length] = '\0';
    }
    return copy;
}

char *strdup(const char *text)
{
    return IS_DUE ? NULL : copy_of(text, strlen(text));
}

char *strndup(const char *text, size_t most)
{
    return IS_DUE ? NULL : copy_of(text, strnlen(text, most));
}

/* asprintf() and what _FORTIFY_SOURCE calls in its place. */
static int print(char **out, const char *format, va_list list)
{
    char text[PATH_MAX];
    const int n = vsnprintf(text, sizeof(text), format, list);

    *out = n >= 0 && (size_t)n < sizeof(text) ? copy_of(text, (size_t)n) : NULL;
    return *out != NULL ? n : -1;
}

int asprintf(char **out, const char *format, ...)
{
    va_list list;
    int n;

    if (IS_DUE) {
        return -1;
    }
    va_start(list, format);
    n = print(out, format, list);
    va_end(list);
    return n;
}

int __asprintf_chk(char **out, int flag, const char *format, ...);
int __asprintf_chk(char **out, int flag, const char *format, ...)
{
    va_list list;
    int n;

    (void)flag;
    if (IS_DUE) {
        return -1;
    }
    va_start(list, format);
    n = print(out, format, list);
    va_end(list);
    return n;
}

void *mmap(void *at, size_t bytes, int access, int how, int fd, off_t offset)
{
    return IS_DUE ? MAP_FAILED
                  : (void *)syscall(SYS_mmap, at, bytes, access, how, fd, offset);
}
