/*
 * keys.c - ranks leave words for each other and look them up, wherever they run.
 *
 *   keys [LATE]   the last rank publishes LATE milliseconds after the others
 *   keys half     each asks only the one that is half of all ranks away
 *   keys never    the last rank ends without publishing; the others are told
 *
 * Each rank says who it is when it has got the right words of all that it asked.
 */
#include "wireup/wireup.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

static void sleep_ms(long ms)
{
    const struct timespec pause = {.tv_sec = ms / 1000, .tv_nsec = ms % 1000 * 1000000};

    nanosleep(&pause, NULL);
}

static void word_of(char *text, size_t size, int rank)
{
    snprintf(text, size, "word-of-%d-%0*d", rank, 400, rank);
}

static int look_up(struct weft_job *job, int distance)
{
    const int rank = (job->who.rank + distance) % job->who.size;
    char value[WEFT_KVS_VALUE_MAX + 1];
    char expected[WEFT_KVS_VALUE_MAX + 1];
    enum weft_rc rc = weft_wireup_lookup(job, rank, "test", value);

    word_of(expected, sizeof(expected), rank);
    if (rc != WEFT_OK || strcmp(value, expected) != 0) {
        printf("rank %d: nothing of rank %d\n", job->who.rank, rank);
        return 1;
    }
    return 0;
}

static int look_up_all(struct weft_job *job)
{
    int code = 0;

    for (int i = 1; i < job->who.size && code == 0; i++) {
        code = look_up(job, i);
    }
    return code;
}

int main(int argc, char **argv)
{
    static struct weft_job job;
    char word[WEFT_KVS_VALUE_MAX + 1];
    const char *how = argc > 1 ? argv[1] : "0";
    int code = 0;

    if (weft_wireup_open(&job) != WEFT_OK) {
        return 1;
    }
    if (job.who.rank == job.who.size - 1) {
        if (strcmp(how, "never") == 0) {
            sleep_ms(200);
            return 0;
        }
        sleep_ms(atol(how));
    }
    word_of(word, sizeof(word), job.who.rank);
    if (weft_wireup_publish(&job, "test", word) != WEFT_OK) {
        return 1;
    }
    code = strcmp(how, "half") == 0 ? look_up(&job, job.who.size / 2) : look_up_all(&job);
    if (strcmp(how, "never") == 0) {
        return code == 1 ? 0 : 1;
    }
    if (code == 0) {
        char host[256] = "";

        gethostname(host, sizeof(host) - 1);
        printf("rank %d of %d on %s\n", job.who.rank, job.who.size, host);
    }
    if (weft_wireup_fence(&job) != WEFT_OK) {
        return 1;
    }
    weft_wireup_close(&job);
    return code;
}
