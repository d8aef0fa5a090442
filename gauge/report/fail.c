/*
 * fail.c - one line for the user when something goes wrong.
 */
#include "gauge/report/report.h"

#include <stdarg.h>

static int own_end = -1; /* until it is known */

void gauge_fail_name(int end)
{
    own_end = end;
}

enum gauge_rc gauge_fail(const char *format, ...)
{
    va_list arguments;
    char text[500];

    va_start(arguments, format);
    vsnprintf(text, sizeof(text), format, arguments);
    va_end(arguments);
    gauge_screen_clear();
    if (own_end > 0) {
        fprintf(stderr, "weft-gauge: end %d: %s\n", own_end, text);
    } else {
        fprintf(stderr, "weft-gauge: %s\n", text);
    }
    return GAUGE_FAILED;
}
