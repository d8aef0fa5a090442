/*
 * alarms.c - what of the machine makes the figures doubtful. Said first, and written
 * down.
 */
#include "gauge/report/report.h"

#include <sched.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

static unsigned long long steal_before;
static bool has_started;

void gauge_alarm(struct gauge_alarms *alarms, const char *format, ...)
{
    va_list arguments;

    if (alarms->count == (int)(sizeof(alarms->text) / sizeof(alarms->text[0]))) {
        return;
    }
    va_start(arguments, format);
    vsnprintf(alarms->text[alarms->count++], sizeof(alarms->text[0]), format, arguments);
    va_end(arguments);
}

const char *gauge_system_text(const char *path)
{
    static char line[256];
    FILE *file = fopen(path, "r");

    line[0] = '\0';
    if (file != NULL) {
        if (fgets(line, sizeof(line), file) != NULL) {
            line[strcspn(line, "\n")] = '\0';
        }
        fclose(file);
    }
    return line[0] != '\0' ? line : "unknown";
}

/* Hundredths of a second that the machine below took from us. */
static unsigned long long steal_time(void)
{
    unsigned long long field[8] = {0};

    if (sscanf(gauge_system_text("/proc/stat"),
               "cpu %llu %llu %llu %llu %llu %llu %llu %llu", &field[0], &field[1],
               &field[2], &field[3], &field[4], &field[5], &field[6], &field[7]) != 8) {
        return 0;
    }
    return field[7];
}

static void look_at_processors(struct gauge_alarms *alarms, int ends)
{
    cpu_set_t allowed;
    long online = sysconf(_SC_NPROCESSORS_ONLN);
    const char *governor =
        gauge_system_text("/sys/devices/system/cpu/cpu0/cpufreq/scaling_governor");

    if (strcmp(governor, "unknown") != 0 && strcmp(governor, "performance") != 0) {
        gauge_alarm(alarms, "frequency scaling: the governor is %s", governor);
    }
    if (sched_getaffinity(0, sizeof(allowed), &allowed) == 0 && CPU_COUNT(&allowed) > 1) {
        gauge_alarm(alarms, "not pinned: end 0 may run on %d processors",
                    CPU_COUNT(&allowed));
    }
    if (ends > online) {
        gauge_alarm(alarms, "%d ends, if all are here, share %ld processors", ends,
                    online);
    }
}

void gauge_alarms_start(struct gauge_alarms *alarms, int ends)
{
    const char *source = gauge_system_text(
        "/sys/devices/system/clocksource/clocksource0/current_clocksource");
    double load = 0;

    if (strcmp(source, "tsc") != 0 && strcmp(source, "arch_sys_counter") != 0 &&
        strcmp(source, "kvm-clock") != 0 && strcmp(source, "unknown") != 0) {
        gauge_alarm(alarms, "slow clock source: %s", source);
    }
    look_at_processors(alarms, ends);
    load = strtod(gauge_system_text("/proc/loadavg"), NULL);
    if (load > 0.5) {
        gauge_alarm(alarms, "other load: load average %.2f", load);
    }
    steal_before = steal_time();
    has_started = true;
}

void gauge_alarms_end(struct gauge_alarms *alarms)
{
    unsigned long long stolen = steal_time() - steal_before;

    if (has_started && stolen > 0) {
        gauge_alarm(alarms, "the hypervisor took %.2f s of processor time",
                    (double)stolen / 100);
    }
}
