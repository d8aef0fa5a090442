/*
 * provenance.c - see provenance.h.
 */
#include "gauge/report/provenance.h"

#include "gauge/commit.h" /* made by meson.build */
#include "version.h"

#include <dirent.h>
#include <math.h>
#include <sched.h>
#include <stdlib.h>
#include <string.h>
#include <sys/utsname.h>
#include <time.h>
#include <unistd.h>

extern char **environ;

static void put(FILE *out, const char *key, const char *value)
{
    fprintf(out, ",\"%s\":", key);
    gauge_json_text(out, value);
}

static void put_number(FILE *out, const char *key, double value)
{
    fprintf(out, ",\"%s\":", key);
    gauge_json_number(out, value);
}

/* "model name" of /proc/cpuinfo. */
static const char *processor_name(void)
{
    static char line[256];
    FILE *file = fopen("/proc/cpuinfo", "r");
    const char *name = "unknown";

    while (file != NULL && fgets(line, sizeof(line), file) != NULL) {
        if (strncmp(line, "model name", 10) == 0 && strchr(line, ':') != NULL) {
            line[strcspn(line, "\n")] = '\0';
            name = strchr(line, ':') + 2;
            break;
        }
    }
    if (file != NULL) {
        fclose(file);
    }
    return name;
}

static void put_processors(FILE *out)
{
    cpu_set_t allowed;
    const char *between = "";

    fprintf(out, ",\"bound_to\":[");
    if (sched_getaffinity(0, sizeof(allowed), &allowed) == 0) {
        for (size_t cpu = 0; cpu < CPU_SETSIZE; cpu++) {
            if (CPU_ISSET(cpu, &allowed)) {
                fprintf(out, "%s%zu", between, cpu);
                between = ",";
            }
        }
    }
    fprintf(out, "]");
}

/* Name, driver and speed of every network interface. */
static void put_networks(FILE *out)
{
    DIR *folder = opendir("/sys/class/net");
    const struct dirent *entry = NULL;
    const char *between = "";

    fprintf(out, ",\"networks\":[");
    while (folder != NULL && (entry = readdir(folder)) != NULL) {
        char path[400];
        char driver[256] = "";
        ssize_t length = 0;

        if (entry->d_name[0] == '.') {
            continue;
        }
        snprintf(path, sizeof(path), "/sys/class/net/%s/device/driver", entry->d_name);
        length = readlink(path, driver, sizeof(driver) - 1);
        driver[length > 0 ? length : 0] = '\0';
        fprintf(out, "%s{\"name\":", between);
        gauge_json_text(out, entry->d_name);
        put(out, "driver",
            strrchr(driver, '/') != NULL ? strrchr(driver, '/') + 1 : "none");
        snprintf(path, sizeof(path), "/sys/class/net/%s/speed", entry->d_name);
        put(out, "speed_megabits_per_second", gauge_system_text(path));
        fprintf(out, "}");
        between = ",";
    }
    if (folder != NULL) {
        closedir(folder);
    }
    fprintf(out, "]");
}

/* What one end says of itself. */
static char *describe_end(const struct gauge_provenance *about, size_t *size)
{
    char *text = NULL;
    FILE *out = open_memstream(&text, size);
    struct utsname system;

    if (out == NULL) {
        return NULL;
    }
    uname(&system);
    fprintf(out, "{\"end\":%d", about->control->end);
    put(out, "host", system.nodename);
    put(out, "kernel", system.release);
    put(out, "architecture", system.machine);
    put(out, "cpu", processor_name());
    put(out, "governor",
        gauge_system_text("/sys/devices/system/cpu/cpu0/cpufreq/scaling_governor"));
    put(out, "clock_source",
        gauge_system_text(
            "/sys/devices/system/clocksource/clocksource0/current_clocksource"));
    put(out, "timer", about->timer->clock.name);
    put(out, "timer_refused", about->timer->why != NULL ? about->timer->why : "");
    put_number(out, "timer_cost_ns", about->timer->cost);
    put_number(out, "timer_resolution_ns", about->timer->resolution);
    put_processors(out);
    put_networks(out);
    fprintf(out, "}");
    fclose(out);
    return text;
}

/* Settings of libraries and launchers; tokens and whatever else is the user's own stay
 * out of a file that is meant to be shown. */
static void put_environment(FILE *out)
{
    static const char *const kept[] = {"WEFT_", "OMPI_", "MPICH_", "FI_",  "UCX_",
                                       "PMI_",  "PMIX_", "SLURM_", "OMP_", "LD_"};
    const char *between = "";

    fprintf(out, ",\"environment\":{");
    for (char **entry = environ; *entry != NULL; entry++) {
        const char *equals = strchr(*entry, '=');
        char name[128];

        for (size_t i = 0; equals != NULL && i < sizeof(kept) / sizeof(*kept); i++) {
            if (strncmp(*entry, kept[i], strlen(kept[i])) == 0 &&
                strstr(*entry, "TOKEN") == NULL && strstr(*entry, "SECRET") == NULL) {
                snprintf(name, sizeof(name), "%.*s", (int)(equals - *entry), *entry);
                fprintf(out, "%s", between);
                gauge_json_text(out, name);
                fprintf(out, ":");
                gauge_json_text(out, equals + 1);
                between = ",";
                break;
            }
        }
    }
    fprintf(out, "}");
}

static void put_options(FILE *out, const char *key, const struct gauge_option *table)
{
    const char *between = "";

    fprintf(out, ",\"%s\":{", key);
    for (; table != NULL && table->name != NULL; table++) {
        if (strcmp(table->name, "token") != 0) {
            fprintf(out, "%s\"%s\":", between, table->name);
            gauge_json_text(out, table->value);
            between = ",";
        }
    }
    fprintf(out, "}");
}

/* The words of the command, without the token. */
static void put_command(FILE *out, int argc, char **argv)
{
    fprintf(out, ",\"command\":[");
    for (int i = 0; i < argc; i++) {
        bool is_token = strncmp(argv[i], "--token=", 8) == 0 ||
                        (i > 0 && strcmp(argv[i - 1], "--token") == 0);

        fprintf(out, "%s", i > 0 ? "," : "");
        gauge_json_text(out, is_token ? "(token)" : argv[i]);
    }
    fprintf(out, "]");
}

static void put_fact(void *arg, const char *key, const char *value)
{
    put(arg, key, value);
}

static void put_alarms(FILE *out, const struct gauge_alarms *alarms)
{
    fprintf(out, ",\"alarms\":[");
    for (int i = 0; i < alarms->count; i++) {
        fprintf(out, "%s", i > 0 ? "," : "");
        gauge_json_text(out, alarms->text[i]);
    }
    fprintf(out, "]");
}

static void put_module(FILE *out, struct gauge_module *module)
{
    fprintf(out, ",\"module\":{\"name\":\"%s\"", module->name);
    fprintf(out, ",\"largest_bytes\":%zu,\"header_bytes\":%zu", module->largest,
            module->header);
    put_options(out, "options", module->options);
    if (module->facts != NULL) {
        module->facts(module, put_fact, out);
    }
    fprintf(out, "}");
}

static void write_header(const struct gauge_provenance *about, const char *ends,
                         const size_t *sizes)
{
    const struct gauge_command *command = about->command;
    FILE *out = about->report->json;
    char date[32];
    time_t now = time(NULL);
    struct tm calendar;

    strftime(date, sizeof(date), "%Y-%m-%dT%H:%M:%SZ", gmtime_r(&now, &calendar));
    fprintf(out, "{\"type\":\"header\",\"format\":1");
    put(out, "version", WEFT_VERSION);
    put(out, "commit", GAUGE_COMMIT);
    put(out, "compiler", __VERSION__);
    put(out, "date", date);
    put_command(out, about->argc, about->argv);
    put(out, "start", command->start.how);
    put_environment(out);
    put_options(out, "settings", gauge_core_options);
    fprintf(out, ",\"verified\":%s", command->settings.is_verified ? "true" : "false");
    fprintf(out, ",\"seed\":%llu", (unsigned long long)command->settings.seed);
    fprintf(out, ",\"pattern\":{\"name\":\"%s\"", command->pattern->name);
    put_options(out, "options", command->pattern->options);
    fprintf(out, "}");
    put_module(out, command->module);
    put_alarms(out, &about->report->alarms);
    fprintf(out, ",\"ends\":[");
    for (int i = 0; i < about->control->ends; i++) {
        fprintf(out, "%s%.*s", i > 0 ? "," : "", (int)sizes[i], ends);
        ends += sizes[i];
    }
    fprintf(out, "]}\n");
    fflush(out);
}

enum gauge_rc gauge_provenance_write(const struct gauge_provenance *about)
{
    size_t *sizes = calloc((size_t)about->control->ends, sizeof(*sizes));
    size_t size = 0;
    char *mine = describe_end(about, &size);
    void *all = NULL;
    enum gauge_rc rc = GAUGE_FAILED;

    if (sizes == NULL || mine == NULL) {
        gauge_fail("no memory to describe this end");
    } else {
        rc = gauge_control_gather(about->control, mine, size, &all, sizes);
    }
    if (rc == GAUGE_OK && about->report != NULL && about->report->json != NULL) {
        write_header(about, all, sizes);
    }
    free(all);
    free(mine);
    free(sizes);
    return rc;
}

void gauge_provenance_end(const struct gauge_provenance *about, double drift,
                          bool is_complete)
{
    FILE *out = about->report->json;

    if (out == NULL) {
        return;
    }
    fprintf(out, "{\"type\":\"end\",\"complete\":%s", is_complete ? "true" : "false");
    put_number(out, "seconds",
               (double)(gauge_monotonic() - about->timer->first_time) * 1e-9);
    put_number(out, "clock_drift_ppm", drift * 1e6);
    put_alarms(out, &about->report->alarms);
    fprintf(out, "}\n");
}
