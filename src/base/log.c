#include "base/log.h"
#include "base/settings.h"

#include <stdarg.h>
#include <stdatomic.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

static int64_t my_rank = -1;
static char my_host[256];
static atomic_int limit = -1; /* -1: the setting was not read yet */

void weft_log_identity(int64_t rank, const char *host)
{
    my_rank = rank;
    snprintf(my_host, sizeof(my_host), "%s", host);
}

/* One write() a line, so that lines of several processes do not tear each other. */
static void print_line(const char *format, va_list args)
{
    char line[2048];
    size_t room = sizeof(line) - 1;
    int n;

    if (my_rank >= 0) {
        n = snprintf(line, room, "weft: rank %lld on %s: ", (long long)my_rank, my_host);
    } else {
        n = snprintf(line, room, "weft: process %ld: ", (long)getpid());
    }
    n += vsnprintf(line + n, room - (size_t)n, format, args);
    if ((size_t)n >= room) {
        n = (int)room - 1;
    }
    line[n++] = '\n';
    if (write(STDERR_FILENO, line, (size_t)n) < 0) {
        return; /* nobody listens */
    }
}

void weft_log_set_limit(enum weft_log_level level)
{
    atomic_store_explicit(&limit, (int)level, memory_order_relaxed);
}

void weft_log(enum weft_log_level level, const char *format, ...)
{
    int most = atomic_load_explicit(&limit, memory_order_relaxed);
    va_list args;

    if (most < 0) {
        most = (int)weft_setting(WEFT_SET_LOG);
        atomic_store_explicit(&limit, most, memory_order_relaxed);
    }
    if ((int)level > most) {
        return;
    }
    va_start(args, format);
    print_line(format, args);
    va_end(args);
}

void weft_log_always(const char *format, ...)
{
    va_list args;

    va_start(args, format);
    print_line(format, args);
    va_end(args);
}
