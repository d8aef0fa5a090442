/*
 * log.h - one line to standard error, naming the rank and the host.
 *
 * The function that finds a failure logs it, once; its callers do not. Lines are
 * lower case and name object and cause. Nothing is logged in the data path.
 */
#ifndef WEFT_BASE_LOG_H
#define WEFT_BASE_LOG_H

#include "base/rc.h"

#include <stdint.h>

enum weft_log_level {
    WEFT_LOG_NONE,
    WEFT_LOG_ERROR,
    WEFT_LOG_WARN,
    WEFT_LOG_INFO,
    WEFT_LOG_DEBUG,
};

/* Names the rank that later lines begin with; earlier ones have the process id. */
void weft_log_identity(int64_t rank, const char *host);

/* Lines above `level` are not printed; the start value is the setting WEFT_LOG. */
void weft_log(enum weft_log_level level, const char *format, ...) WEFT_PRINTF(2, 3);

/* Another limit than the setting's, from now on. */
void weft_log_set_limit(enum weft_log_level level);

/* Prints whatever the level: for the last words before an abort. */
void weft_log_always(const char *format, ...) WEFT_PRINTF(1, 2);

#define weft_log_error(...) weft_log(WEFT_LOG_ERROR, __VA_ARGS__)
#define weft_log_warn(...)  weft_log(WEFT_LOG_WARN, __VA_ARGS__)
#define weft_log_info(...)  weft_log(WEFT_LOG_INFO, __VA_ARGS__)

#endif
