/*
 * still.c - a rank in which nothing moves any more tells what it waits for, and ends.
 *
 * An alarm is put off whenever a packet has left or has come, an operation is done, or
 * all have met. What all ranks have sent and got tells more than what one has: when a
 * rank ends, mpiexec sends SIGTERM to the others, and they tell theirs.
 */
#include "suite.h"

#include "base/clock.h"

#include <signal.h>
#include <stdio.h>
#include <unistd.h>

enum {
    LIMIT_SECONDS = 580, /* of the whole program */
    STILL_SECONDS = 60,
    MEETING_SECONDS = 180, /* others may go on meanwhile */
    LINE_BYTES = 512,
};

#define SECOND_NS UINT64_C(1000000000)

static uint64_t limit_ns;
static uint64_t moved_ns; /* when the alarm was put off */
static bool is_meeting;

/* The signal may come in the middle of anything: nothing is called that takes a lock or
 * memory, and snprintf() takes neither for numbers and short texts. */
static void tell(const char *line, int length)
{
    if (length > 0) {
        (void)!write(2, line, length < LINE_BYTES ? (size_t)length : LINE_BYTES - 1);
    }
}

static void tell_wait(const char *why)
{
    const struct suite_wait *w = &suite.wait;
    char line[LINE_BYTES];

    tell(line,
         snprintf(line, sizeof(line), "%s: %s: rank %u %s", suite.running, why, suite.me,
                  is_meeting        ? "waits for all to meet"
                  : w->what == NULL ? "waits for something of its own"
                                    : w->what));
    if (!is_meeting && w->what != NULL) {
        tell(line, snprintf(line, sizeof(line), " rank %u", w->rank));
    }
    if (!is_meeting && w->what != NULL && w->expected != 0) {
        tell(line, snprintf(line, sizeof(line),
                            ", which is to make %u; it has looked %u times, may not "
                            "sleep %u times, and has slept %u times",
                            w->expected, w->looks, w->refused, w->slept));
    }
    tell(line, snprintf(line, sizeof(line), "\n"));
}

static void tell_traffic(uint32_t rank)
{
    const struct suite_from *f = &suite.from[rank];
    char line[LINE_BYTES];

    tell(line,
         snprintf(line, sizeof(line),
                  "    rank %u and rank %u: %u ordered packets and %u others have left; "
                  "%u and %u have come, %u offers were refused, %u words are unread\n",
                  suite.me, rank, suite.sent[rank], suite.sent_control[rank], f->ordered,
                  f->control, f->kept, f->words_in - f->words_out));
}

static void on_signal(int signal_number)
{
    tell_wait(signal_number == SIGALRM ? "this case takes too long"
                                       : "another has ended");
    for (uint32_t r = 0; suite.tp != NULL && r < suite.size; r++) {
        if (suite.sent[r] + suite.sent_control[r] + suite.from[r].offers +
                suite.from[r].control >
            0) {
            tell_traffic(r);
        }
    }
    _exit(1);
}

static void put_off(void)
{
    const unsigned seconds = is_meeting ? MEETING_SECONDS : STILL_SECONDS;
    const uint64_t now = weft_clock_ns();
    const uint64_t left = limit_ns > now ? (limit_ns - now) / SECOND_NS : 0;

    moved_ns = now;
    alarm(left < seconds ? (unsigned)left + 1 : seconds);
}

void suite_watch(void)
{
    signal(SIGALRM, on_signal);
    signal(SIGTERM, on_signal);
    limit_ns = weft_clock_ns() + LIMIT_SECONDS * SECOND_NS;
    put_off();
}

/* Once in a second is enough: it is a system call. */
void suite_moved(void)
{
    if (weft_clock_ns() - moved_ns >= SECOND_NS) {
        put_off();
    }
}

void suite_set_meeting(bool is_one)
{
    is_meeting = is_one;
    put_off();
}
