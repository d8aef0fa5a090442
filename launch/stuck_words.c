/*
 * stuck_words.c - what one rank does, in words.
 */
#include "stuck.h"

#include <stdarg.h>
#include <stdio.h>
#include <string.h>

unsigned long stuck_steps;

void stuck_say(struct bytes *to, const char *format, ...)
{
    char line[1024];
    va_list args;
    int n;

    va_start(args, format);
    n = vsnprintf(line, sizeof(line) - 1, format, args);
    va_end(args);
    n = n < (int)sizeof(line) - 1 ? n : (int)sizeof(line) - 2;
    line[n++] = '\n';
    bytes_add(to, line, (size_t)n);
}

void stuck_list(const struct stuck *stuck, const bool *is_in, char *text, size_t size)
{
    size_t used = 0;

    text[0] = '\0';
    for (int r = 0; r < stuck->count; r++) {
        int last = r;

        stuck_steps++;
        if (!is_in[r]) {
            continue;
        }
        while (last + 1 < stuck->count && is_in[last + 1]) {
            last++;
        }
        if (used + 40 > size) {
            snprintf(text + used, size - used, ", ...");
            return;
        }
        used += (size_t)(last == r ? snprintf(text + used, size - used, "%s%d",
                                              used > 0 ? ", " : "", r)
                                   : snprintf(text + used, size - used, "%s%d-%d",
                                              used > 0 ? ", " : "", r, last));
        r = last;
    }
}

bool stuck_is_waiting(const struct stuck_rank *rank)
{
    return rank->life == STUCK_LIVING && rank->doing.what != WEFT_DOING_NOTHING &&
           (!rank->doing.is_spinning || rank->is_polling);
}

static bool is_stopped(const struct stuck_rank *rank)
{
    return rank->state == 'T' || rank->state == 't';
}

bool stuck_is_collective(const struct stuck_rank *rank)
{
    return stuck_is_waiting(rank) && rank->doing.what == WEFT_DOING_COLLECTIVE;
}

int stuck_ahead(const struct stuck_rank *a, const struct stuck_rank *b)
{
    const uint32_t ahead = (uint32_t)a->doing.awaits.tag - (uint32_t)b->doing.awaits.tag;

    return a->doing.awaits.tag != 0 && b->doing.awaits.tag != 0 ? (int32_t)ahead : 0;
}

const char *stuck_collective(const struct stuck_rank *rank)
{
    return rank->doing.begun_by[0] != '\0' ? rank->doing.begun_by : rank->doing.call;
}

/* ---- texts ---- */

void stuck_describe_message(const struct weft_doing_message *message, const char *towards,
                            char *text, size_t size)
{
    char peer[64];
    char tag[32];

    if (message->rank == -1) {
        snprintf(peer, sizeof(peer), "any rank");
    } else if (message->peer >= 0 && message->rank >= 0 &&
               message->peer != message->rank) {
        snprintf(peer, sizeof(peer), "%d (rank %d of the job)", message->peer,
                 message->rank);
    } else {
        snprintf(peer, sizeof(peer), "%d",
                 message->rank >= 0 ? message->rank : message->peer);
    }
    if (message->tag == -2) {
        snprintf(tag, sizeof(tag), "any tag");
    } else {
        snprintf(tag, sizeof(tag), "tag %d", message->tag);
    }
    snprintf(text, size, "%s %s, %s", towards, peer, tag);
}

/* Is it in a call of MPI that waits for no rank, as MPI_File_open? */
static bool is_in_call(const struct stuck_rank *rank)
{
    return rank->life == STUCK_LIVING && rank->doing.what == WEFT_DOING_NOTHING &&
           rank->doing.call[0] != '\0';
}

/* How a process passes its time that is not in a call of MPI which waits. */
static void describe_outside(const struct stuck_rank *rank, struct stuck_words *words)
{
    char place[64];

    snprintf(place, sizeof(place), "%s%s",
             rank->life == STUCK_FINALIZED   ? "after MPI_Finalize"
             : rank->life == STUCK_NOT_BEGUN ? "before MPI_Init"
             : is_in_call(rank)              ? "in "
                                             : "outside MPI",
             is_in_call(rank) ? rank->doing.call : "");

    if (is_stopped(rank)) {
        snprintf(words->doing, sizeof(words->doing), "stopped by a signal, %s", place);
    } else if (rank->life == STUCK_LIVING && rank->is_polling) {
        snprintf(words->doing, sizeof(words->doing),
                 "calling MPI_Test, MPI_Iprobe or the like again and again");
    } else if (rank->state == 'R') {
        snprintf(words->doing, sizeof(words->doing), "running %s%s", place,
                 is_in_call(rank) ? "" : ": computes or loops");
    } else if (rank->state == 'S' || rank->state == 'D') {
        snprintf(words->doing, sizeof(words->doing), "asleep %s", place);
    } else {
        snprintf(words->doing, sizeof(words->doing), "%s", place);
    }
}

/* "for a receive", unless the call says it. */
static const char *object_of(const struct weft_doing *doing)
{
    switch ((enum weft_doing_what)doing->what) {
    case WEFT_DOING_RECV:
        return strstr(doing->call, "ecv") != NULL ? "" : " for a receive";
    case WEFT_DOING_SEND:
        return strstr(doing->call, "end") != NULL ? "" : " for a send";
    case WEFT_DOING_PARTS_IN:
        return " for a partitioned receive";
    case WEFT_DOING_PARTS_OUT:
        return " for a partitioned send";
    default:
        return "";
    }
}

/* Root and bytes of a collective, as far as they are known. */
static void describe_block(const struct weft_doing_message *call, char *text, size_t size)
{
    int used = 0;

    if (call->tag == 0) {
        return;
    }
    if (call->peer >= 0) {
        used = snprintf(text, size, " with root %d", call->peer);
    }
    if (call->bytes > 0 && used >= 0 && (size_t)used < size) {
        snprintf(text + used, size - (size_t)used, " of %llu bytes",
                 (unsigned long long)call->bytes);
    }
}

static void describe_detail(const struct weft_doing *doing, char *text, size_t size)
{
    const bool is_out =
        doing->what == WEFT_DOING_SEND || doing->what == WEFT_DOING_PARTS_OUT;
    char message[STUCK_TEXT - 80];

    text[0] = '\0';
    if (doing->what == WEFT_DOING_COLLECTIVE) {
        describe_block(&doing->awaits, text, size);
        return;
    }
    if (doing->what == WEFT_DOING_OTHER) {
        return;
    }
    stuck_describe_message(&doing->awaits, is_out ? "to" : "from", message,
                           sizeof(message));
    if (doing->awaited > 1) {
        snprintf(text, size, " %s, and %u more requests", message, doing->awaited - 1);
    } else {
        snprintf(text, size, " %s", message);
    }
}

static void describe_call(const struct stuck_rank *rank, struct stuck_words *words)
{
    const struct weft_doing *doing = &rank->doing;
    const char *how = is_stopped(rank)     ? "stopped by a signal, in"
                      : doing->is_spinning ? "spinning in"
                                           : "in";

    if (doing->what == WEFT_DOING_COLLECTIVE && doing->begun_by[0] != '\0') {
        snprintf(words->doing, sizeof(words->doing), "%s %s for %s", how, doing->call,
                 doing->begun_by);
    } else {
        snprintf(words->doing, sizeof(words->doing), "%s %s%s", how, doing->call,
                 object_of(doing));
    }
    describe_detail(doing, words->detail, sizeof(words->detail));
    if (doing->comm[0] != '\0') {
        snprintf(words->where, sizeof(words->where), " on '%s'", doing->comm);
    }
    if (doing->what == WEFT_DOING_PARTS_OUT) {
        const size_t used = strlen(words->where);

        snprintf(words->where + used, sizeof(words->where) - used,
                 ", %u of %u partitions ready", doing->parts_ready, doing->parts);
    }
}

void stuck_describe(const struct stuck_rank *rank, struct stuck_words *words)
{
    words->doing[0] = words->detail[0] = words->where[0] = words->site[0] = '\0';
    if (rank->life == STUCK_ENDED) {
        snprintf(words->doing, sizeof(words->doing), "ended");
    } else if (rank->life == STUCK_SILENT) {
        snprintf(words->doing, sizeof(words->doing), "on a host that does not answer");
    } else if (rank->life == STUCK_DEAD) {
        snprintf(words->doing, sizeof(words->doing), "dead");
        snprintf(words->detail, sizeof(words->detail), "%s%s",
                 rank->why[0] != '\0' ? ": " : "", rank->why);
    } else if (stuck_is_waiting(rank)) {
        describe_call(rank, words);
        memcpy(words->site, rank->site, sizeof(words->site));
    } else {
        describe_outside(rank, words);
        if (is_in_call(rank)) {
            memcpy(words->site, rank->site, sizeof(words->site));
        }
    }
}

void stuck_describe_whole(const struct stuck_rank *rank, char *text, size_t size)
{
    struct stuck_words words;

    stuck_describe(rank, &words);
    snprintf(text, size, "%.160s%.100s%.60s", words.doing, words.detail, words.where);
}
