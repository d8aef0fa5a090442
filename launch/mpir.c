#include "mpir.h"

#include "notice.h"

#include <stdlib.h>
#include <string.h>

/* No optimisation may leave these out, though nothing here reads them. */
#define SEEN __attribute__((visibility("default"), used))

SEEN volatile int MPIR_being_debugged;
SEEN MPIR_PROCDESC *MPIR_proctable;
SEEN int MPIR_proctable_size;
SEEN volatile int MPIR_debug_state = MPIR_NULL;
SEEN char *volatile MPIR_debug_abort_string;
SEEN int MPIR_i_am_starter;
SEEN int MPIR_acquired_pre_main;
SEEN int MPIR_partial_attach_ok;
SEEN int MPIR_force_to_main;

/* Does nothing; but no compiler may know that, or it would leave out the call. */
SEEN __attribute__((noinline)) void MPIR_Breakpoint(void)
{
    __asm__ volatile("" ::: "memory");
}

/* Texts that the table points to; NULL at a fault. */
static char **read_texts(struct reader *from, int64_t count)
{
    char **texts = calloc((size_t)count + 1, sizeof(*texts));

    for (int64_t i = 0; texts != NULL && i < count; i++) {
        const char *text = reader_text(from);

        texts[i] = strdup(text != NULL ? text : "");
    }
    return texts;
}

struct place {
    int64_t host;
    int64_t program;
};

/* The texts come last, so that places are looked up when all is there. */
static void fill(struct reader *from)
{
    const int64_t ranks = reader_number(from);
    const int64_t hosts = reader_number(from);
    const int64_t programs = reader_number(from);
    MPIR_PROCDESC *table = calloc((size_t)ranks + 1, sizeof(*table));
    struct place *places = calloc((size_t)ranks + 1, sizeof(*places));
    char **names;
    char **paths;

    for (int64_t r = 0; table != NULL && places != NULL && r < ranks; r++) {
        table[r].pid = (int)reader_number(from);
        places[r].host = reader_number(from);
        places[r].program = reader_number(from);
    }
    names = read_texts(from, hosts);
    paths = read_texts(from, programs);
    for (int64_t r = 0; names != NULL && paths != NULL && !from->is_bad && r < ranks;
         r++) {
        table[r].host_name = names[places[r].host];
        table[r].executable_name = paths[places[r].program];
    }
    if (table != NULL && places != NULL && names != NULL && paths != NULL) {
        MPIR_proctable = table; /* stays, as its texts do, until the process ends */
        MPIR_proctable_size = (int)ranks;
    } else {
        free(table);
    }
    free(places);
    free(names);
    free(paths);
}

static void stop_at(int state)
{
    MPIR_debug_state = state;
    __asm__ volatile("" ::: "memory"); /* the table is written */
    MPIR_Breakpoint();
}

bool mpir_take_notices(void)
{
    struct bytes payload = {NULL, 0, 0};
    enum notice_kind kind;
    bool is_filled = false;

    while (notice_take(&kind, &payload)) {
        struct reader reader = {.at = payload.at, .left = payload.count};

        switch (kind) {
        case NOTICE_RANKS:
            fill(&reader);
            stop_at(MPIR_DEBUG_SPAWNED);
            is_filled = true;
            break;
        case NOTICE_ABORT:
            MPIR_debug_abort_string = strndup(payload.at, payload.count);
            stop_at(MPIR_DEBUG_ABORTING);
            break;
        }
    }
    bytes_free(&payload);
    return is_filled;
}
