#include "engine/quiet.h"

static uint32_t needed(const struct weft_quiet *quiet)
{
    return (uint32_t)WEFT_QUIET_LEAST << quiet->doubled;
}

bool weft_quiet_judge(struct weft_quiet *quiet, uint64_t looks, uint64_t away_ns)
{
    const uint64_t looked = looks - quiet->looks;
    const uint64_t away = away_ns - quiet->since_ns;

    quiet->since_ns = away_ns;
    if (quiet->is_quiet) {
        return false; /* `looks` is of the last tick */
    }
    quiet->looks = looks;
    quiet->useless = away / WEFT_QUIET_NS < looked ? quiet->useless + 1 : 0;
    if (quiet->useless < needed(quiet)) {
        return false;
    }
    quiet->is_quiet = true;
    quiet->useless = 0;
    return true;
}

bool weft_quiet_tick(struct weft_quiet *quiet, uint64_t looks, bool is_outside)
{
    if (!quiet->is_quiet) {
        return false;
    }
    if (looks != quiet->looks) {
        quiet->looks = looks;
        return false;
    }
    quiet->is_quiet = false;
    if (!is_outside) {
        quiet->doubled -= quiet->doubled > 0;
    } else if (needed(quiet) < WEFT_QUIET_MOST) {
        quiet->doubled++;
    }
    return true;
}
