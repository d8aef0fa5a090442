/*
 * run.c - one pattern over one module on this end: opens the module, runs, closes; and
 * what pattern.h offers besides points.
 */
#include "gauge/bench.h"
#include "gauge/core.h"

#include <stdlib.h>
#include <string.h>

enum { PAGE = 4096, CACHE_LINE = 64 };

/* Buffers */

void *gauge_alloc(struct gauge_bench *bench, size_t size)
{
    struct gauge_module *module = bench->module;
    size_t whole = (size + PAGE) / PAGE * PAGE;
    void *buffer =
        module->alloc != NULL ? module->alloc(module, whole) : aligned_alloc(PAGE, whole);

    if (buffer != NULL) {
        memset(buffer, 0, whole);
    }
    return buffer;
}

void gauge_free(struct gauge_bench *bench, void *buffer)
{
    if (bench->module->free != NULL) {
        bench->module->free(bench->module, buffer);
    } else {
        free(buffer);
    }
}

void gauge_cool(struct gauge_bench *bench, void *buffer, size_t size)
{
    (void)bench;
#if defined(__x86_64__)
    for (size_t at = 0; at < size; at += CACHE_LINE) {
        __builtin_ia32_clflush((char *)buffer + at);
    }
    __builtin_ia32_mfence();
#else
    static volatile char flood[32 << 20]; /* larger than most last caches */

    (void)buffer;
    (void)size;
    for (size_t at = 0; at < sizeof(flood); at += CACHE_LINE) {
        flood[at]++;
    }
#endif
}

enum gauge_rc gauge_wait(const struct gauge_bench *bench, struct gauge_request *request)
{
    struct gauge_module *module = bench->module;
    enum gauge_rc rc = GAUGE_OK;

    if (!request->is_done && module->wait != NULL) {
        return module->wait(module, request);
    }
    while (rc == GAUGE_OK && !request->is_done) {
        rc = module->test(module, request);
    }
    return rc;
}

/* The world, as a module sees it */

static struct gauge_control *control_of(const struct gauge_world *world)
{
    return ((const struct gauge_ends *)(const void *)world)->control;
}

static const char *host_of(const struct gauge_world *world, int end)
{
    return control_of(world)->host[end];
}

static enum gauge_rc exchange(const struct gauge_world *world, const void *mine,
                              size_t size, void *all)
{
    return gauge_control_exchange(control_of(world), mine, size, all);
}

static enum gauge_rc barrier(const struct gauge_world *world)
{
    return gauge_control_barrier(control_of(world));
}

struct gauge_ends gauge_ends_make(struct gauge_control *control, uint64_t seed)
{
    return (struct gauge_ends){
        .world = {.end = control->end,
                  .ends = control->ends,
                  .seed = seed,
                  .host = host_of,
                  .exchange = exchange,
                  .barrier = barrier},
        .control = control,
    };
}

enum gauge_rc gauge_module_open(struct gauge_module *module,
                                const struct gauge_ends *ends)
{
    return module->init != NULL ? module->init(module, &ends->world) : GAUGE_OK;
}

void gauge_module_close(struct gauge_module *module, enum gauge_rc rc)
{
    bool is_left = rc != GAUGE_OK && (module->flags & GAUGE_LAUNCHED);

    if (module->shutdown != NULL && !is_left) {
        module->shutdown(module);
    }
}

/* The sizes that the module is able to send. */
static enum gauge_rc choose_sizes(struct gauge_core *core,
                                  const struct gauge_module *module)
{
    const struct gauge_settings *settings = core->settings;

    core->sizes = calloc(settings->size_count + 1, sizeof(*core->sizes));
    if (core->sizes == NULL) {
        return gauge_fail("no memory for the list of sizes");
    }
    for (size_t i = 0; i < settings->size_count; i++) {
        if (module->largest == 0 || settings->sizes[i] <= module->largest) {
            core->sizes[core->size_count++] = settings->sizes[i];
        }
    }
    return core->size_count > 0
               ? GAUGE_OK
               : gauge_fail("%s sends at most %zu bytes", module->name, module->largest);
}

static enum gauge_rc run_open(struct gauge_core *core, struct gauge_module *module,
                              struct gauge_timer *timer)
{
    struct gauge_bench bench = {
        .module = module,
        .clock = module->clock != NULL ? module->clock(module) : &timer->clock,
        .end = core->control->end,
        .ends = core->control->ends,
        .seed = core->settings->seed,
        .options = core->pattern->options,
        .core = core,
    };
    enum gauge_rc rc = choose_sizes(core, module);

    core->summaries = calloc((size_t)bench.ends, sizeof(*core->summaries));
    if (rc == GAUGE_OK && core->summaries == NULL) {
        rc = gauge_fail("no memory for %d ends", bench.ends);
    }
    if (rc == GAUGE_OK) {
        rc = core->pattern->benchmark(&bench);
    }
    /* Nobody leaves while others still send to it. */
    if (rc == GAUGE_OK && !core->has_failed) {
        rc = gauge_barrier(&bench);
    }
    free(core->sizes);
    free(core->samples);
    free(core->summaries);
    return core->has_failed ? GAUGE_FAILED : rc;
}

enum gauge_rc gauge_pattern_run(const struct gauge_pattern *pattern,
                                struct gauge_module *module,
                                const struct gauge_settings *settings,
                                struct gauge_control *control, struct gauge_timer *timer,
                                struct gauge_report *report)
{
    struct gauge_core core = {
        .pattern = pattern,
        .settings = settings,
        .control = control,
        .report = report,
        .timer_cost = timer->cost,
        .random = settings->seed,
    };

    return run_open(&core, module, timer);
}

enum gauge_rc gauge_bench_run(const struct gauge_pattern *pattern,
                              struct gauge_module *module,
                              const struct gauge_settings *settings,
                              struct gauge_control *control, struct gauge_timer *timer,
                              struct gauge_report *report,
                              const struct gauge_started *started)
{
    struct gauge_ends ends = gauge_ends_make(control, settings->seed);
    enum gauge_rc rc = gauge_module_open(module, &ends);

    if (rc != GAUGE_OK) {
        return rc;
    }
    rc = started->call(started->arg);
    if (rc == GAUGE_OK) {
        rc = gauge_pattern_run(pattern, module, settings, control, timer, report);
    }
    gauge_module_close(module, rc);
    return rc;
}
