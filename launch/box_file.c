/*
 * box_file.c - the last seconds of all ranks as a file that Perfetto opens
 * (https://ui.perfetto.dev): Chrome's format of trace events, which is JSON.
 *
 * A rank is a process of the trace. Of a call the beginning is recorded and not the end,
 * so a call is a point in time; only the call that a rank was in when it ended, or when
 * it was looked at, has a length. Times are microseconds since the first event, on the
 * clock of the host of mpiexec.
 */
#include "box.h"

#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

/* A text with its quotes. A byte that is no ASCII is written as if it were Latin-1: so
 * the file is valid whatever the text holds. */
static void put_text(FILE *to, const char *text)
{
    fputc('"', to);
    for (const unsigned char *at = (const unsigned char *)text; *at != '\0'; at++) {
        if (*at == '"' || *at == '\\') {
            fprintf(to, "\\%c", *at);
        } else if (*at < ' ' || *at > '~') {
            fprintf(to, "\\u%04x", *at);
        } else {
            fputc(*at, to);
        }
    }
    fputc('"', to);
}

static double us_between(uint64_t from, uint64_t to)
{
    return to > from ? (double)(to - from) / 1e3 : 0;
}

static uint64_t first_time(const struct box *box)
{
    uint64_t first = UINT64_MAX;

    for (int r = 0; r < box->count; r++) {
        if (box->ranks[r].count > 0 && box->ranks[r].events[0].when < first) {
            first = box->ranks[r].events[0].when;
        }
    }
    return first;
}

static void put_event(FILE *to, const struct box *box, int r, int i, uint64_t begin)
{
    const struct box_rank *rank = &box->ranks[r];
    const struct box_event *event = &rank->events[i];
    char text[400];

    fprintf(to, ",\n{\"name\":\"%s\",\"cat\":\"mpi\",\"pid\":%d,\"tid\":1,\"ts\":%.3f,",
            weft_trace_name(event->call), r + 1, us_between(begin, event->when));
    if (i == rank->count - 1 && rank->is_open) {
        fprintf(to, "\"ph\":\"X\",\"dur\":%.3f", us_between(event->when, rank->ended));
    } else {
        fprintf(to, "\"ph\":\"i\",\"s\":\"t\"");
    }
    box_describe(box, event, text, sizeof(text));
    fprintf(to, ",\"args\":{\"what\":");
    put_text(to, text);
    if (event->peer >= 0) {
        fprintf(to, ",\"peer\":%d", event->peer);
    }
    if (event->tag >= 0) {
        fprintf(to, ",\"tag\":%d", event->tag);
    }
    fprintf(to, ",\"bytes\":%u", event->bytes);
    if (event->site != 0) {
        fprintf(to, ",\"site\":");
        put_text(to, box->sites[event->site]);
    }
    fprintf(to, "}}");
}

static void put_end(FILE *to, const struct box_rank *rank, int r, uint64_t begin)
{
    char text[120];

    if (!rank->has_ended) {
        return;
    }
    if (WIFSIGNALED(rank->status)) {
        snprintf(text, sizeof(text), "killed by signal %d, %s", WTERMSIG(rank->status),
                 strsignal(WTERMSIG(rank->status)));
    } else {
        snprintf(text, sizeof(text), "ended with code %d", WEXITSTATUS(rank->status));
    }
    fprintf(to, ",\n{\"name\":");
    put_text(to, text);
    fprintf(to,
            ",\"cat\":\"end\",\"ph\":\"i\",\"s\":\"p\",\"pid\":%d,\"tid\":1,\"ts\":%.3f}",
            r + 1, us_between(begin, rank->ended));
}

static void put_rank(FILE *to, const struct box_file *file, const struct box_host *host,
                     int r, uint64_t begin)
{
    const struct box_rank *rank = &file->box->ranks[r];
    char name[300];

    snprintf(name, sizeof(name), "rank %d on %.200s%s", r, host->name,
             r == file->fallen ? ": the first to fall" : "");
    fprintf(to,
            ",\n{\"name\":\"process_name\",\"ph\":\"M\",\"pid\":%d,\"tid\":1,\"args\":{"
            "\"name\":",
            r + 1);
    put_text(to, name);
    fprintf(to,
            "}},\n{\"name\":\"process_sort_index\",\"ph\":\"M\",\"pid\":%d,\"tid\":1,"
            "\"args\":{\"sort_index\":%d}},\n{\"name\":\"thread_name\",\"ph\":\"M\","
            "\"pid\":%d,\"tid\":1,\"args\":{\"name\":\"MPI\"}}",
            r + 1, r, r + 1);
    for (int i = 0; i < rank->count; i++) {
        put_event(to, file->box, r, i, begin);
    }
    put_end(to, rank, r, begin);
}

/* What the file has, for those who read it by a program. */
static void put_head(FILE *to, const struct box_file *file, uint64_t begin,
                     const struct box_counts *counts)
{
    fprintf(to, "{\"displayTimeUnit\":\"ns\",\"otherData\":{\"program\":");
    put_text(to, file->program);
    fprintf(to,
            ",\"ranks\":%d,\"seconds\":%g,\"begin_ns\":%" PRIu64 ",\"events\":%" PRIu64
            ",\"left_out\":%" PRIu64 ",\"hosts\":[",
            file->box->count, file->seconds, begin == UINT64_MAX ? 0 : begin,
            counts->events, counts->left_out);
    for (int h = 0; h < file->host_count; h++) {
        const struct box_host *host = &file->hosts[h];

        fprintf(to, "%s{\"name\":", h > 0 ? "," : "");
        put_text(to, host->name);
        fprintf(to, ",\"clock_offset_ns\":%" PRId64 ",\"round_trip_ns\":%" PRIu64 "}",
                host->clock.offset, host->clock.round_trip);
    }
    fprintf(to, "]},\n\"traceEvents\":[\n{\"name\":\"weft\",\"ph\":\"M\",\"pid\":0,"
                "\"tid\":0,\"args\":{}}");
}

static void count_events(const struct box *box, struct box_counts *counts)
{
    *counts = (struct box_counts){0, 0};
    for (int r = 0; r < box->count; r++) {
        counts->events += (uint64_t)box->ranks[r].count;
        counts->left_out += box->ranks[r].left_out;
    }
}

/* Half a file is worth less than none; but what is no file of ours stays. */
static void remove_half(const char *path)
{
    struct stat what;

    if (stat(path, &what) == 0 && S_ISREG(what.st_mode)) {
        unlink(path);
    }
}

int box_write(const char *path, const struct box_file *file, struct box_counts *counts)
{
    const uint64_t begin = first_time(file->box);
    FILE *to = fopen(path, "we");
    int error = 0;

    if (to == NULL) {
        return errno;
    }
    count_events(file->box, counts);
    put_head(to, file, begin, counts);
    for (int h = 0; h < file->host_count; h++) {
        const struct box_host *host = &file->hosts[h];

        for (int r = host->first; r < host->first + host->count && error == 0; r++) {
            put_rank(to, file, host, file->rank_at != NULL ? file->rank_at[r] : r, begin);
            error = ferror(to) != 0 ? errno : 0; /* as good as any, once it is full */
        }
    }
    if (error == 0 && (fprintf(to, "\n]}\n") < 0 || fflush(to) != 0)) {
        error = errno;
    }
    if (fclose(to) != 0 && error == 0) {
        error = errno;
    }
    if (error != 0) {
        remove_half(path);
    }
    return error;
}
