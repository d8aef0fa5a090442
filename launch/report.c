/*
 * report.c - mpiexec --report: what each host denies to a job and what that costs
 * (wireup/machine.h), how windows are reached (windows.h), what two hosts would use
 * between them, and why.
 *
 * In four steps through the tree: every daemon says which addresses it has and at which
 * ports it listens; the root sends that table to all; each sends datagrams
 * (report_datagrams.h), tries to connect to every address of every other host, all at
 * once and with a deadline, and says what it has reached; then each says which datagrams
 * have come. For two hosts the first address that can be reached both ways is used.
 * Nobody has to accept anything: the kernel completes what a firewall lets through.
 *
 * With --json the same is one object: "hosts" with addresses and "machine", those
 * "of_several_hosts", "pairs" and "ports".
 */
#include "job_parts.h"
#include "report_datagrams.h"
#include "texts.h"
#include "windows.h"

#include "info/json.h"

#include "base/clock.h"
#include "base/settings.h"
#include "wireup/machine.h"
#include "wireup/net.h"

#include <errno.h>
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

static const uint64_t PATIENCE_NS = UINT64_C(2000000000);

/* What is known of one daemon. */
struct reached {
    int port;
    int datagram_port;
    int count; /* addresses that are used */
    struct weft_net_address addresses[WEFT_NET_MOST];
    bool has_answered;
};

struct report {
    struct json
        json; /* with --json, which is printed whole at the end; else `to` is NULL */
    char *text;
    size_t bytes;
    struct reached *all; /* by daemon */
    uint32_t *can;       /* [from * daemons + to]: a bit for each address of `to` */
    uint8_t *heard;      /* [to * daemons + from]: datagrams that have come */
    int missing;         /* answers of the step */
};

/* ---- every daemon's part ---- */

static bool takes_part(const struct job *job, int daemon)
{
    return job->setup.layout.stations[daemon].ranks > 0;
}

static void deliver(struct job *job, enum frame_kind kind, struct bytes *payload)
{
    const struct frame frame = {
        .kind = kind, .bytes = (uint32_t)payload->count, .to = 0, .from = job->tree.me};

    if (job_is_daemon(job)) {
        tree_send(job, &frame, payload->at);
    } else {
        job_on_report(job, &frame, payload->at);
    }
    bytes_free(payload);
}

static struct weft_net_ports ports_of(const struct job *job)
{
    return (struct weft_net_ports){.first = job->setup.first_port,
                                   .last = job->setup.last_port,
                                   .begin = (int)getpid()};
}

/* Listens where jobs would; the sockets stay open until the process ends. */
static int listen_for_probes(struct job *job, const struct weft_net_address *list,
                             int count)
{
    const struct weft_net_ports ports = ports_of(job);
    int fds[WEFT_NET_MOST];
    const int port =
        weft_net_listen(list, weft_net_count_used(list, count), &ports, NULL, NULL, fds);

    if (port < 0) {
        job_say(job, TEXT_HOST_PORT, job->setup.layout.stations[job->tree.me].name,
                job->setup.first_port, job->setup.last_port, strerror(errno));
    }
    return port;
}

struct findings {
    struct bytes lines;
    int count;
};

static void add_finding(void *context, const char *line)
{
    struct findings *findings = context;

    bytes_add_text(&findings->lines, line);
    findings->count++;
}

static void add_machine(struct bytes *payload)
{
    struct findings findings = {.lines = {NULL, 0, 0}, .count = 0};

    bytes_add_number(payload, weft_machine_look(add_finding, &findings));
    bytes_add_number(payload, findings.count);
    bytes_add(payload, findings.lines.at, findings.lines.count);
    bytes_free(&findings.lines);
}

void job_report_addresses(struct job *job)
{
    struct weft_net_address list[WEFT_NET_MOST];
    const int count = weft_net_list(list, job->setup.net);
    const struct weft_net_ports ports = ports_of(job);
    struct bytes payload = {NULL, 0, 0};
    int port;

    if (!takes_part(job, job->tree.me)) {
        return;
    }
    port = listen_for_probes(job, list, count);
    bytes_add_number(&payload, port < 0 ? 0 : port);
    bytes_add_number(&payload,
                     datagrams_open(list, weft_net_count_used(list, count), &ports));
    bytes_add_number(&payload, count);
    for (int i = 0; i < count; i++) {
        bytes_add_text(&payload, list[i].interface);
        bytes_add_text(&payload, list[i].text);
        bytes_add_number(&payload, list[i].prefix);
        bytes_add_number(&payload, list[i].megabits);
        bytes_add_text(&payload, list[i].left_out);
    }
    add_machine(&payload);
    deliver(job, FRAME_ADDRESSES, &payload);
}

/* Tries one address; returns a socket that is connecting, or -1. */
static int begin_connect(const char *text, int port)
{
    struct sockaddr_storage address;
    socklen_t length;
    int fd;

    if (!weft_net_address_of(text, port, &address, &length)) {
        return -1;
    }
    fd = socket(address.ss_family, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
    if (fd >= 0 && connect(fd, (struct sockaddr *)&address, length) != 0 &&
        errno != EINPROGRESS) {
        close(fd);
        fd = -1;
    }
    return fd;
}

struct attempts {
    struct pollfd *at;
    int *daemon;
    int *address;
    int count;
};

/* Notes which attempts have succeeded or failed; returns how many did. */
static int note_attempts(struct attempts *tries, uint32_t *can)
{
    int ended = 0;

    for (int i = 0; i < tries->count; i++) {
        int error = 0;
        socklen_t length = sizeof(error);

        if (tries->at[i].fd < 0 || tries->at[i].revents == 0) {
            continue;
        }
        getsockopt(tries->at[i].fd, SOL_SOCKET, SO_ERROR, &error, &length);
        if (error == 0) {
            can[tries->daemon[i]] |= 1u << tries->address[i];
        }
        close(tries->at[i].fd);
        tries->at[i].fd = -1;
        ended++;
    }
    return ended;
}

/* Waits until all have succeeded or failed, or the time is over. This process may not
 * have run for all of that time, so it looks once more at its end. */
static void finish_attempts(struct attempts *tries, uint32_t *can, uint64_t end)
{
    int open = tries->count;
    bool is_over = false;

    while (open > 0 && !is_over) {
        is_over = weft_clock_ns() >= end;
        if (poll(tries->at, (nfds_t)tries->count, is_over ? 0 : 50) > 0) {
            open -= note_attempts(tries, can);
        }
    }
    for (int i = 0; i < tries->count; i++) {
        if (tries->at[i].fd >= 0) {
            close(tries->at[i].fd);
        }
    }
}

/* The root's table has come. */
static void free_attempts(struct attempts *tries, uint32_t *can)
{
    free(tries->at);
    free(tries->daemon);
    free(tries->address);
    free(can);
}

static void tell_heard(struct job *job)
{
    const int daemons = job->setup.layout.count;
    uint8_t *heard = calloc((size_t)daemons, 1);
    struct bytes payload = {NULL, 0, 0};

    if (heard == NULL) {
        job_lose_daemon(job, TEXT_REPORT_MEMORY);
        return;
    }
    datagrams_read(heard, daemons);
    bytes_add(&payload, heard, (size_t)daemons);
    free(heard);
    deliver(job, FRAME_HEARD, &payload);
}

static void try_addresses(struct job *job, const char *table, size_t bytes)
{
    struct reader reader = {.at = table, .left = bytes};
    const int daemons = job->setup.layout.count;
    const size_t most = (size_t)daemons * WEFT_NET_MOST;
    struct attempts tries = {.at = calloc(most, sizeof(*tries.at)),
                             .daemon = calloc(most, sizeof(int)),
                             .address = calloc(most, sizeof(int))};
    uint32_t *can = calloc((size_t)daemons, sizeof(*can));
    uint64_t patience = job->setup.beat_ns / 2;
    struct bytes payload = {NULL, 0, 0};

    if (tries.at == NULL || tries.daemon == NULL || tries.address == NULL ||
        can == NULL) {
        free_attempts(&tries, can);
        job_lose_daemon(job, TEXT_REPORT_MEMORY);
        return;
    }
    for (int d = 0; d < daemons && !reader.is_bad; d++) {
        const int port = (int)reader_number(&reader);
        const int datagram_port = (int)reader_number(&reader);
        const int64_t count = reader_number(&reader);

        for (int a = 0; a < count && a < WEFT_NET_MOST && !reader.is_bad; a++) {
            const char *text = reader_text(&reader);
            int fd = d == job->tree.me || text == NULL || port == 0
                         ? -1
                         : begin_connect(text, port);

            if (d != job->tree.me && text != NULL && datagram_port != 0) {
                datagrams_send(job->tree.me, text, datagram_port);
            }
            if (fd >= 0) {
                tries.at[tries.count] = (struct pollfd){.fd = fd, .events = POLLOUT};
                tries.daemon[tries.count] = d;
                tries.address[tries.count++] = a;
            }
        }
    }
    patience = patience < PATIENCE_NS ? patience : PATIENCE_NS;
    finish_attempts(&tries, can, weft_clock_ns() + patience);
    bytes_add(&payload, can, (size_t)daemons * sizeof(*can));
    free_attempts(&tries, can);
    deliver(job, FRAME_REACHED, &payload);
}

void job_on_probe(struct job *job, const char *table, size_t bytes)
{
    if (bytes == 0) {
        tell_heard(job);
    } else {
        try_addresses(job, table, bytes);
    }
}

/* ---- the root's ---- */

static int participants(const struct job *job)
{
    int count = 0;

    for (int d = 0; d < job->setup.layout.count; d++) {
        count += takes_part(job, d);
    }
    return count;
}

/* An address; `why` it is not used, or NULL. */
static void write_address(struct json *json, const struct weft_net_address *address,
                          const char *why)
{
    json_begin(json, NULL, '{');
    json_text(json, "interface", address->interface);
    json_text(json, "address", address->text);
    json_number(json, "prefix", address->prefix);
    json_text(json, "not_used", why);
    json_end(json, '}');
}

/* The host's line, without JSON. */
static void print_host(const char *name, const struct reached *host, const char *left_out)
{
    printf("%s:", name);
    for (int a = 0; a < host->count; a++) {
        printf("%s %s %s/%d", a > 0 ? "," : "", host->addresses[a].interface,
               host->addresses[a].text, host->addresses[a].prefix);
    }
    printf("%s; not used: %s\n", host->count == 0 ? " no address" : "",
           left_out[0] != '\0' ? left_out : "none");
}

static void begin_host(struct json *json, const char *name)
{
    if (json->to != NULL) {
        json_begin(json, NULL, '{');
        json_text(json, "host", name);
        json_begin(json, "addresses", '[');
    }
}

static void describe_host(struct job *job, int d, struct reader *reader,
                          struct reached *host)
{
    const char *name = job->setup.layout.stations[d].name;
    struct json *json = &job->report->json;
    char left_out[1024] = "";
    size_t n = 0;
    int64_t count;

    host->port = (int)reader_number(reader);
    host->datagram_port = (int)reader_number(reader);
    count = reader_number(reader);
    begin_host(json, name);
    for (int64_t i = 0; i < count && !reader->is_bad; i++) {
        const char *interface = reader_text(reader);
        const char *text = reader_text(reader);
        const int prefix = (int)reader_number(reader);
        const int megabits = (int)reader_number(reader);
        struct weft_net_address address = {.prefix = prefix, .megabits = megabits};
        const char *why = reader_text(reader);

        if (interface == NULL || text == NULL) {
            break;
        }
        snprintf(address.interface, sizeof(address.interface), "%s", interface);
        snprintf(address.text, sizeof(address.text), "%s", text);
        if (why != NULL && n < sizeof(left_out)) {
            n += (size_t)snprintf(left_out + n, sizeof(left_out) - n, "%s%s %s (%s)",
                                  n > 0 ? ", " : "", interface, text, why);
        } else if (why == NULL && host->count < WEFT_NET_MOST) {
            host->addresses[host->count++] = address;
        }
        if (json->to != NULL) {
            write_address(json, &address, why);
        }
    }
    if (json->to != NULL) {
        json_end(json, ']');
    } else {
        print_host(name, host, left_out);
    }
}

static void tell_line(const char *host, const char *line, struct json *json)
{
    if (json->to != NULL) {
        json_text(json, NULL, line);
    } else {
        printf("%s: %s\n", host, line);
    }
}

/* Prints what a host denies to a job, a line each, and how windows are reached. It ends
 * the object that JSON has for the host. */
static void describe_machine(const char *host, struct reader *reader, struct json *json,
                             bool has_others)
{
    const bool can_copy = reader_number(reader) != 0;
    const int64_t count = reader_number(reader);

    if (json->to != NULL) {
        json_begin(json, "machine", '[');
    }
    for (int64_t i = 0; i < count && !reader->is_bad; i++) {
        const char *line = reader_text(reader);

        if (line != NULL) {
            tell_line(host, line, json);
        }
    }
    tell_line(host, windows_inside(can_copy), json);
    if (has_others) {
        tell_line(host, windows_between(), json);
    }
    if (json->to != NULL) {
        json_end(json, ']');
        json_end(json, '}');
    }
}

/* An address that two hosts have leads to one of them at most: it is nobody's. */
static void drop_duplicates(struct job *job, struct report *report)
{
    if (report->json.to != NULL) {
        json_end(&report->json, ']');
        json_begin(&report->json, "of_several_hosts", '[');
    }
    for (int d = 0; d < job->setup.layout.count; d++) {
        struct reached *host = &report->all[d];

        for (int a = 0; a < host->count; a++) {
            bool is_double = false;

            for (int e = 0; e < job->setup.layout.count; e++) {
                for (int b = 0; e != d && b < report->all[e].count; b++) {
                    is_double |= strcmp(host->addresses[a].text,
                                        report->all[e].addresses[b].text) == 0;
                }
            }
            host->addresses[a].left_out = is_double ? "of several hosts" : NULL;
            if (is_double && report->json.to != NULL) {
                write_address(&report->json, &host->addresses[a], "of several hosts");
            } else if (is_double) {
                printf("%s: %s %s is left out: another host has it, too\n",
                       job->setup.layout.stations[d].name, host->addresses[a].interface,
                       host->addresses[a].text);
            }
        }
    }
    for (int d = 0; d < job->setup.layout.count; d++) {
        struct reached *host = &report->all[d];
        int kept = 0;

        for (int a = 0; a < host->count; a++) {
            if (host->addresses[a].left_out == NULL) {
                host->addresses[kept++] = host->addresses[a];
            }
        }
        host->count = kept;
    }
}

/* To all, and to itself last: the answers may all be there then. */
static void probe_all(struct job *job, struct report *report, const struct bytes *table)
{
    report->missing = participants(job);
    for (int d = 1; d < job->setup.layout.count; d++) {
        const struct frame frame = {.kind = FRAME_PROBE,
                                    .bytes = (uint32_t)table->count,
                                    .to = d,
                                    .from = 0,
                                    .rank = -1};

        if (takes_part(job, d)) {
            tree_send(job, &frame, table->at);
        }
    }
    if (takes_part(job, 0)) {
        job_on_probe(job, table->at, table->count);
    }
}

static void send_table(struct job *job, struct report *report)
{
    struct bytes table = {NULL, 0, 0};

    for (int d = 0; d < job->setup.layout.count; d++) {
        bytes_add_number(&table, report->all[d].port);
        bytes_add_number(&table, report->all[d].datagram_port);
        bytes_add_number(&table, report->all[d].count);
        for (int a = 0; a < report->all[d].count; a++) {
            bytes_add_text(&table, report->all[d].addresses[a].text);
        }
    }
    probe_all(job, report, &table);
    bytes_free(&table);
}

/* The first address of `b` that `a` reaches, on a network where `b` reaches `a`. */
static bool choose(const struct report *report, int daemons, int a, int b, int *of_a,
                   int *of_b, bool *is_same_network)
{
    const uint32_t there = report->can[a * daemons + b];
    const uint32_t back = report->can[b * daemons + a];

    for (int pass = 0; pass < 2; pass++) {
        for (int j = 0; j < report->all[b].count; j++) {
            for (int i = 0; i < report->all[a].count; i++) {
                const struct weft_net_address *y = &report->all[b].addresses[j];
                const struct weft_net_address *x = &report->all[a].addresses[i];

                *is_same_network = weft_net_is_in(x->text, y->text, y->prefix);
                if ((there >> j & 1) != 0 && (back >> i & 1) != 0 &&
                    (*is_same_network || pass == 1)) {
                    *of_a = i;
                    *of_b = j;
                    return true;
                }
            }
        }
    }
    return false;
}

/* The way between two hosts; `x` is NULL: there is none. */
static void write_pair(struct json *json, const char *a, const char *b,
                       const struct weft_net_address *x, const struct weft_net_address *y,
                       bool is_same_network, const char *datagrams)
{
    json_begin(json, NULL, '{');
    json_text(json, "a", a);
    json_text(json, "b", b);
    json_flag(json, "reached", x != NULL);
    if (x != NULL) {
        json_text(json, "interface_a", x->interface);
        json_text(json, "address_a", x->text);
        json_text(json, "interface_b", y->interface);
        json_text(json, "address_b", y->text);
        json_flag(json, "one_network", is_same_network);
        json_text(json, "datagrams", datagrams);
    }
    json_end(json, '}');
}

static void write_ports(struct json *json, const struct job *job)
{
    json_begin(json, "ports", '[');
    json_number(json, NULL, job->setup.first_port);
    json_number(json, NULL, job->setup.last_port);
    json_end(json, ']');
}

static void print_matrix(const struct job *job, const struct report *report)
{
    const int daemons = job->setup.layout.count;

    printf("hosts that cannot reach each other at any address:\n");
    for (int a = 0; a < daemons; a++) {
        bool is_first = true;

        for (int b = 0; b < daemons; b++) {
            if (a == b || !takes_part(job, a) || !takes_part(job, b) ||
                report->can[a * daemons + b] != 0) {
                continue;
            }
            printf("%s %s", is_first ? job->setup.layout.stations[a].name : ",",
                   is_first ? "-x->" : "");
            printf(" %s", job->setup.layout.stations[b].name);
            is_first = false;
        }
        if (!is_first) {
            printf("\n");
        }
    }
    printf("open TCP and UDP ports %d-%d (WEFT_PORTS) between these hosts, or choose "
           "another "
           "network with WEFT_NET\n",
           job->setup.first_port, job->setup.last_port);
}

/* The line, or the object, of two hosts; false: they do not reach each other. */
static bool tell_pair(struct job *job, struct report *report, int a, int b)
{
    const struct station *stations = job->setup.layout.stations;
    const int daemons = job->setup.layout.count;
    const char *datagrams =
        datagrams_say(report->heard[b * daemons + a], report->heard[a * daemons + b]);
    int i = 0;
    int j = 0;
    bool is_same = false;
    const bool is_reached = choose(report, daemons, a, b, &i, &j, &is_same);
    const struct weft_net_address *x = &report->all[a].addresses[i];
    const struct weft_net_address *y = &report->all[b].addresses[j];

    if (report->json.to != NULL) {
        write_pair(&report->json, stations[a].name, stations[b].name,
                   is_reached ? x : NULL, y, is_same, datagrams);
    } else if (is_reached) {
        printf("%s - %s: %s %s - %s %s: reached both ways, %s; %s\n", stations[a].name,
               stations[b].name, x->interface, x->text, y->interface, y->text,
               is_same ? "one network" : "over a router", datagrams);
    } else {
        printf("%s - %s: no address can be reached both ways\n", stations[a].name,
               stations[b].name);
    }
    return is_reached;
}

/* Ends the object of JSON, and prints it. */
static void end_json(const struct job *job, struct report *report)
{
    json_end(&report->json, ']');
    write_ports(&report->json, job);
    json_end(&report->json, '}');
    fclose(report->json.to);
    fputs(report->text, stdout);
    free(report->text);
}

static void tell_pairs(struct job *job, struct report *report)
{
    const int daemons = job->setup.layout.count;
    bool is_complete = true;

    if (report->json.to != NULL) {
        json_end(&report->json, ']');
        json_begin(&report->json, "pairs", '[');
    }
    for (int a = 0; a < daemons; a++) {
        for (int b = a + 1; b < daemons; b++) {
            if (takes_part(job, a) && takes_part(job, b)) {
                is_complete &= tell_pair(job, report, a, b);
            }
        }
    }
    if (report->json.to != NULL) {
        end_json(job, report);
    } else if (!is_complete) {
        print_matrix(job, report);
    }
    if (!is_complete) {
        job_fail_silently(job, 1);
    }
}

static void begin_json(struct report *report)
{
    report->json.to = open_memstream(&report->text, &report->bytes);
    if (report->json.to != NULL) {
        json_begin(&report->json, NULL, '{');
        json_begin(&report->json, "hosts", '[');
    }
}

static bool open_report(struct job *job)
{
    const size_t daemons = (size_t)job->setup.layout.count;

    if (job->report == NULL) {
        job->report = calloc(1, sizeof(*job->report));
        if (job->report != NULL) {
            job->report->all = calloc(daemons, sizeof(*job->report->all));
            job->report->can = calloc(daemons * daemons, sizeof(*job->report->can));
            job->report->heard = calloc(daemons, daemons);
            job->report->missing = participants(job);
            if (job->plan->is_json) {
                begin_json(job->report);
            }
        }
    }
    return job->report != NULL && job->report->all != NULL && job->report->can != NULL &&
           job->report->heard != NULL;
}

void job_on_report(struct job *job, const struct frame *frame, const char *payload)
{
    const size_t daemons = (size_t)job->setup.layout.count;
    const size_t row = daemons * sizeof(uint32_t);
    struct reader reader = {.at = payload, .left = frame->bytes};
    struct report *report;

    if (!open_report(job)) {
        return;
    }
    report = job->report;
    if (frame->kind == FRAME_ADDRESSES) {
        describe_host(job, frame->from, &reader, &report->all[frame->from]);
        describe_machine(job->setup.layout.stations[frame->from].name, &reader,
                         &report->json, participants(job) > 1);
        if (--report->missing == 0) {
            drop_duplicates(job, report);
            send_table(job, report);
        }
        return;
    }
    if (frame->kind == FRAME_REACHED) {
        if (frame->bytes == row) {
            memcpy(report->can + (size_t)frame->from * daemons, payload, row);
        }
        if (--report->missing == 0) {
            probe_all(job, report, &(struct bytes){NULL, 0, 0});
        }
        return;
    }
    if (frame->bytes == daemons) {
        memcpy(report->heard + (size_t)frame->from * daemons, payload, daemons);
    }
    if (--report->missing == 0) {
        tell_pairs(job, report);
        fflush(stdout);
        job->state = DONE;
    }
}
