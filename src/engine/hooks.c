/*
 * hooks.c - what rooms above are called for, in the order in which they have registered.
 */
#include "engine/engine.h"

#include "engine/held.h"
#include "engine/hot.h"

/* Where the next one goes: behind the last. */
static int end_of(void (*const list[WEFT_HOOKS_MAX])(void))
{
    int at = 0;

    while (at < WEFT_HOOKS_MAX && list[at] != NULL) {
        at++;
    }
    assert(at < WEFT_HOOKS_MAX);
    return at;
}

void weft_engine_on_look(void (*look)(void), bool (*has_news)(void))
{
    struct weft_hooks *hooks = &weft_engine.hooks;
    const int at = end_of(hooks->look);

    hooks->look[at] = look;
    hooks->has_news[at] = has_news;
}

void weft_engine_on_ready(void (*run_ready)(void))
{
    weft_engine.hooks.run_ready[end_of(weft_engine.hooks.run_ready)] = run_ready;
}

void weft_engine_on_failed(void (*failed)(void))
{
    weft_engine.hooks.failed[end_of(weft_engine.hooks.failed)] = failed;
}

void weft_engine_on_await(void (*await)(void))
{
    assert(weft_engine.await == NULL);
    weft_engine.await = await;
}

/* Not inlined: whoever polls finds nothing to call most times. */
static __attribute__((noinline)) void call_all(void (*const list[WEFT_HOOKS_MAX])(void))
{
    weft_assert_locked();
    for (int i = 0; i < WEFT_HOOKS_MAX && list[i] != NULL; i++) {
        list[i]();
    }
}

void weft_engine_look(void)
{
    call_all(weft_engine.hooks.look);
}

void weft_engine_run_ready(void)
{
    call_all(weft_engine.hooks.run_ready);
}

bool weft_engine_has_news(void)
{
    const struct weft_hooks *hooks = &weft_engine.hooks;

    weft_assert_locked();
    for (int i = 0; i < WEFT_HOOKS_MAX && hooks->look[i] != NULL; i++) {
        if (hooks->has_news[i] != NULL && hooks->has_news[i]()) {
            return true;
        }
    }
    return false;
}
