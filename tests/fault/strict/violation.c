/*
 * violation.c - how a broken rule is told, and the one lock.
 */
#include "strict.h"

#include <pthread.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;

void strict_lock(void)
{
    pthread_mutex_lock(&lock);
}

void strict_unlock(void)
{
    pthread_mutex_unlock(&lock);
}

void strict_violation(const char *call, const char *format, ...)
{
    char cause[256];
    va_list args;

    va_start(args, format);
    vsnprintf(cause, sizeof(cause), format, args);
    va_end(args);
    fprintf(stderr, "strict: process %d: %s: %s\n", (int)getpid(), call, cause);
    abort();
}
