#include "pmi_service.h"
#include "texts.h"

#include "wireup/passing.h"

#include <assert.h>
#include <ctype.h>
#include <errno.h>
#include <fcntl.h>
#include <search.h>
#include <stdarg.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

struct key {
    char *name;
    char *value;
};

static int compare(const void *a, const void *b)
{
    return strcmp(((const struct key *)a)->name, ((const struct key *)b)->name);
}

/* ---- answers ---- */

/* Is nothing read from the client until it has taken answers, or got some? */
static bool is_full(const struct pmi_service *service, const struct pmi_client *client)
{
    return client->waiting.count >= PMI_WAITING || client->is_passing ||
           service->is_held ||
           client->asked >= PMI_ASKED + PMI_ASKED_EACH * service->size;
}

/* Sends once; the descriptor goes with the byte that it belongs to. As send(). */
static ssize_t send_once(struct pmi_client *client)
{
    const int flags = MSG_DONTWAIT | MSG_NOSIGNAL;
    const struct bytes *waiting = &client->waiting;
    ssize_t n;

    if (!client->is_passing) {
        return send(client->fd, waiting->at, waiting->count, flags);
    }
    if (client->passed_at > 0) {
        n = send(client->fd, waiting->at, client->passed_at, flags);
        client->passed_at -= n > 0 ? (size_t)n : 0;
        return n;
    }
    n = weft_pass_descriptor(client->fd, waiting->at, waiting->count, client->passed,
                             flags);
    if (n > 0) {
        close(client->passed);
        client->is_passing = false;
    }
    return n;
}

static void drop_answers(struct pmi_client *client)
{
    bytes_free(&client->waiting);
    if (client->is_passing) {
        close(client->passed);
        client->is_passing = false;
    }
}

/*
 * Sends what the client's socket takes; the rest waits for room. Requests that have been
 * read already may wait for the end of a full queue. The socket says nothing of these, so
 * that a client that is read from again is tended as soon as its socket has room, which
 * it has now.
 */
static void flush(struct pmi_service *service, struct pmi_client *client)
{
    bool is_writable = true;
    bool is_let_in;

    while (client->waiting.count > 0 && is_writable) {
        const ssize_t n = send_once(client);

        if (n >= 0) {
            bytes_drop(&client->waiting, (size_t)n);
        } else if (errno == EAGAIN || errno == ENOBUFS) {
            is_writable = false;
        } else if (errno != EINTR) {
            drop_answers(client); /* the client is gone, which reading shows */
        }
    }
    is_let_in = client->is_left_out && !is_full(service, client);
    if (client->is_waiting != (client->waiting.count > 0) ||
        client->is_left_out != is_full(service, client)) {
        client->is_waiting = client->waiting.count > 0 || is_let_in;
        client->is_left_out = is_full(service, client);
        service->watch(service->owner, client);
    }
}

static void answer(struct pmi_service *service, struct pmi_client *client,
                   const char *format, ...) __attribute__((format(printf, 3, 4)));

static void answer(struct pmi_service *service, struct pmi_client *client,
                   const char *format, ...)
{
    char line[PMI_LINE];
    va_list args;
    int n;

    if (client->fd < 0) {
        return;
    }
    va_start(args, format);
    n = vsnprintf(line, sizeof(line), format, args);
    va_end(args);
    n = n < (int)sizeof(line) ? n : (int)sizeof(line) - 1;
    bytes_add(&client->waiting, line, (size_t)n);
    flush(service, client);
}

void pmi_client_close(struct pmi_client *client)
{
    drop_answers(client);
    free(client->line);
    client->line = NULL;
    close(client->fd);
    client->fd = -1;
    client->is_waiting = client->is_left_out = false;
}

/* ---- requests ---- */

/* A line for the user about a rank's request, of which only what can be printed is. */
static void complain(struct pmi_service *service, struct pmi_client *client,
                     const char *format, const char *request)
{
    char text[PMI_LINE];
    int n;

    if (client->complaints >= PMI_COMPLAINTS) {
        return;
    }
    client->complaints++;
    n = snprintf(text, sizeof(text), format, client->rank, request);
    n = n < (int)sizeof(text) ? n : (int)sizeof(text) - 1;
    for (int i = 0; i < n; i++) {
        text[i] = (char)(isprint((unsigned char)text[i]) ? text[i] : '?');
    }
    service->complain(service->owner, text);
}

/* The word behind "key=" in the request, or NULL; the next word is cut off. */
static char *word(char *line, const char *key)
{
    size_t length = strlen(key);

    for (char *w = line; w != NULL; w = strchr(w, ' ')) {
        w += *w == ' ' ? 1 : 0;
        if (strncmp(w, key, length) == 0 && w[length] == '=') {
            char *value = w + length + 1;

            value[strcspn(value, " ")] = '\0';
            return value;
        }
    }
    return NULL;
}

/* Keeps a key; false if there is one of that name, or no memory. */
static bool keep(struct pmi_service *service, const char *name, const char *value)
{
    struct key *made = calloc(1, sizeof(*made));
    struct key **found = NULL;

    if (made != NULL && (made->name = strdup(name)) != NULL &&
        (made->value = strdup(value)) != NULL) {
        found = tsearch(made, &service->keys, compare);
    }
    if (found != NULL && *found == made) {
        return true;
    }
    if (made != NULL) {
        free(made->name);
        free(made->value);
        free(made);
    }
    return false;
}

const char *pmi_service_find(const struct pmi_service *service, const char *name)
{
    const struct key wanted = {.name = (char *)(uintptr_t)name};
    struct key **found = tfind(&wanted, &service->keys, compare);

    return found != NULL ? (*found)->value : NULL;
}

void pmi_service_put(struct pmi_service *service, const char *name, const char *value)
{
    if (pmi_service_find(service, name) == NULL) {
        keep(service, name, value);
    }
}

/* The name under which a key of one rank is kept: no key of others has a blank. */
static void name_of(char *name, size_t size, int rank, const char *key)
{
    snprintf(name, size, "%d %s", rank, key);
}

/* The rank in a name that name_of() has made; -1: it is a name for all. */
static int rank_in(const char *name)
{
    return strchr(name, ' ') != NULL ? atoi(name) : -1;
}

static struct pmi_client *client_of(struct pmi_service *service, int rank)
{
    const bool is_moved = service->place_of != NULL && rank >= 0 && rank < service->size;
    const int at = (is_moved ? service->place_of[rank] : rank) - service->first;

    return at >= 0 && at < service->count ? &service->clients[at] : NULL;
}

void pmi_service_answer(struct pmi_service *service, int rank, const char *name,
                        const char *value)
{
    struct pmi_client *client = client_of(service, rank);
    const int of = name != NULL ? rank_in(name) : -1;
    char whose[PMI_KEY + 32] = "";

    if (client == NULL || client->fd < 0) {
        return;
    }
    client->asked -= client->asked > 0 ? 1 : 0;
    if (of >= 0) {
        snprintf(whose, sizeof(whose), " rank=%d key=%s", of, strchr(name, ' ') + 1);
    }
    if (value == NULL) {
        answer(service, client,
               "cmd=get_result rc=-1 msg=key_not_found value=unknown%s\n", whose);
    } else {
        answer(service, client, "cmd=get_result rc=0 msg=success value=%s%s\n", value,
               whose);
    }
}

/* Tells one who waits: a rank of ours, or one elsewhere. */
static void tell(struct pmi_service *service, int daemon, int rank, const char *name,
                 const char *value)
{
    if (client_of(service, rank) != NULL) {
        pmi_service_answer(service, rank, name, value);
    } else {
        service->found(service->owner, daemon, rank, name, value);
    }
}

void pmi_service_want(struct pmi_service *service, int daemon, int rank, int of,
                      const char *key)
{
    const struct pmi_client *client = client_of(service, of);
    char name[PMI_LINE];
    const char *value;
    struct pmi_waiter *waiter;

    name_of(name, sizeof(name), of, key);
    value = pmi_service_find(service, name);
    waiter = value == NULL && client != NULL && !client->has_ended
                 ? malloc(sizeof(*waiter) + strlen(name) + 1)
                 : NULL;
    if (waiter == NULL) {
        tell(service, daemon, rank, name, value);
        return;
    }
    waiter->rank = rank;
    waiter->daemon = daemon;
    memcpy(waiter->key, name, strlen(name) + 1);
    waiter->next = service->waiters;
    service->waiters = waiter;
}

/* Answers the ranks that wait for this key, or for any key of this rank, with `value`. */
static void end_waits(struct pmi_service *service, const char *name, const char *value)
{
    struct pmi_waiter **at = &service->waiters;
    const size_t length = strlen(name);

    while (*at != NULL) {
        struct pmi_waiter *waiter = *at;

        if (value != NULL ? strcmp(waiter->key, name) == 0
                          : strncmp(waiter->key, name, length) == 0) {
            *at = waiter->next;
            tell(service, waiter->daemon, waiter->rank, waiter->key, value);
            free(waiter);
        } else {
            at = &waiter->next;
        }
    }
}

void pmi_service_rank_ended(struct pmi_service *service, int rank)
{
    struct pmi_client *client = client_of(service, rank);
    char start[32];

    client->has_ended = true;
    name_of(start, sizeof(start), rank, "");
    end_waits(service, start, NULL);
}

static void on_put(struct pmi_service *service, struct pmi_client *client, char *line)
{
    const char *own = word(line, "rank"); /* the last word, so the others stay whole */
    char *value = word(line, "value");
    char *name = word(line, "key");
    char own_name[PMI_LINE];

    if (name == NULL || value == NULL) {
        answer(service, client, "cmd=put_result rc=-1 msg=no_key_or_value\n");
        return;
    }
    if (own != NULL) {
        name_of(own_name, sizeof(own_name), client->rank, name);
    }
    if (!keep(service, own != NULL ? own_name : name, value)) {
        answer(service, client, "cmd=put_result rc=-1 msg=key_exists\n");
        return;
    }
    answer(service, client, "cmd=put_result rc=0 msg=success\n");
    if (own != NULL) {
        end_waits(service, own_name, value);
    } else {
        service->put(service->owner, name, value);
    }
}

static void on_get(struct pmi_service *service, struct pmi_client *client, char *line)
{
    const char *own = word(line, "rank");
    const int of = own != NULL ? atoi(own) : -1;
    const char *name = word(line, "key");
    char own_name[PMI_LINE];
    const char *value = NULL;

    client->asked++; /* until pmi_service_answer() */
    if (name == NULL || of >= service->size) {
        pmi_service_answer(service, client->rank, NULL, NULL);
        return;
    }
    if (of >= 0) {
        name_of(own_name, sizeof(own_name), of, name);
    }
    if (client_of(service, of) != NULL) {
        pmi_service_want(service, -1, client->rank, of, name);
        return;
    }
    if (strcmp(name, "PMI_process_mapping") == 0) {
        value = service->mapping;
    } else if (of >= 0) {
        value = pmi_service_find(service, own_name);
    } else {
        value = pmi_service_find(service, name);
    }
    if (value != NULL || !service->ask(service->owner, client->rank, of, name)) {
        pmi_service_answer(service, client->rank, of >= 0 ? own_name : name, value);
    }
}

/* Are all here that can come? */
static void look_for_barrier(struct pmi_service *service)
{
    if (service->in_barrier + service->lost == service->count) {
        service->arrived(service->owner);
    }
}

static void on_barrier(struct pmi_service *service, struct pmi_client *client)
{
    if (!client->is_in_barrier) {
        client->is_in_barrier = true;
        service->in_barrier++;
    }
    look_for_barrier(service);
}

void pmi_service_rank_lost(struct pmi_service *service, int rank)
{
    struct pmi_client *client = client_of(service, rank);

    if (client->is_lost) {
        return;
    }
    client->is_lost = true;
    service->lost++;
    if (client->is_in_barrier) { /* all others may have come already, and be told so */
        client->is_in_barrier = false;
        service->in_barrier--;
    } else if (service->in_barrier > 0) {
        look_for_barrier(service);
    }
}

void pmi_service_release(struct pmi_service *service)
{
    service->in_barrier = 0;
    for (int i = 0; i < service->count; i++) {
        service->clients[i].is_in_barrier = false;
        answer(service, &service->clients[i], "cmd=barrier_out rc=0\n");
    }
}

static void on_abort(struct pmi_service *service, struct pmi_client *client, char *line)
{
    const char *code = word(line, "exitcode");

    service->aborted(service->owner, client->rank, code != NULL ? atoi(code) : 1);
}

/* Weft's own: a rank that has run an MPI program before runs another one. */
static void on_next_program(struct pmi_service *service, struct pmi_client *client)
{
    const char *why = "no_memory";
    int program;
    const int fd = service->next_program(service->owner, client->rank, &program, &why);
    const int passed = fd >= 0 ? fcntl(fd, F_DUPFD_CLOEXEC, 3) : -1;

    assert(!client->is_passing); /* else this request would not have been read */
    if (passed < 0) {
        answer(service, client, "cmd=next_program_result rc=-1 msg=%s\n", why);
        return;
    }
    client->is_passing = true;
    client->passed = passed;
    client->passed_at = client->waiting.count;
    answer(service, client, "cmd=next_program_result rc=0 program=%d\n", program);
}

static void on_line(struct pmi_service *service, struct pmi_client *client, char *line)
{
    char command[32] = "";

    if (sscanf(line, "cmd=%31s", command) != 1) {
        complain(service, client, TEXT_NO_PMI, line);
    } else if (strcmp(command, "init") == 0) {
        answer(service, client,
               "cmd=response_to_init pmi_version=1 pmi_subversion=1 rc=0\n");
    } else if (strcmp(command, "get_maxes") == 0) {
        answer(service, client,
               "cmd=maxes kvsname_max=256 keylen_max=64 vallen_max=1024\n");
    } else if (strcmp(command, "get_appnum") == 0) {
        answer(service, client, "cmd=appnum appnum=%d\n", client->app);
    } else if (strcmp(command, "get_my_kvsname") == 0) {
        answer(service, client, "cmd=my_kvsname kvsname=%s\n", service->name);
    } else if (strcmp(command, "get_universe_size") == 0) {
        answer(service, client, "cmd=universe_size size=%d\n", service->size);
    } else if (strcmp(command, "put") == 0) {
        on_put(service, client, line);
    } else if (strcmp(command, "get") == 0) {
        on_get(service, client, line);
    } else if (strcmp(command, "barrier_in") == 0) {
        on_barrier(service, client);
    } else if (strcmp(command, "next_program") == 0) {
        on_next_program(service, client);
    } else if (strcmp(command, "abort") == 0) {
        on_abort(service, client, line);
    } else if (strcmp(command, "finalize") == 0) {
        client->has_finalized = true;
        answer(service, client, "cmd=finalize_ack rc=0\n");
    } else {
        complain(service, client, TEXT_PMI_UNKNOWN, command);
        answer(service, client, "cmd=%s_result rc=-1 msg=not_offered\n", command);
    }
}

void pmi_service_hold(struct pmi_service *service, bool is_held)
{
    service->is_held = is_held;
    for (int i = 0; !is_held && i < service->count; i++) {
        struct pmi_client *client = &service->clients[i];

        if (client->fd >= 0 && client->is_left_out) {
            flush(service, client);
        }
    }
}

/* Carries out the requests that have come whole, as long as answers can be kept. */
static void take_lines(struct pmi_service *service, struct pmi_client *client)
{
    char *end;

    while (!is_full(service, client) &&
           (end = memchr(client->line, '\n', client->count)) != NULL) {
        const size_t length = (size_t)(end - client->line) + 1;

        *end = '\0';
        on_line(service, client, client->line);
        client->count -= length;
        memmove(client->line, client->line + length, client->count);
    }
    if (is_full(service, client)) {
        flush(service, client); /* lines that wait here are served when it is not */
    }
}

bool pmi_service_tend(struct pmi_service *service, struct pmi_client *client)
{
    ssize_t n;

    if (client->line == NULL) {
        client->line = malloc(PMI_LINE);
        if (client->line == NULL) {
            return false;
        }
    }
    flush(service, client);
    take_lines(service, client);
    if (is_full(service, client)) {
        return true;
    }
    n = recv(client->fd, client->line + client->count, PMI_LINE - 1 - client->count,
             MSG_DONTWAIT);
    if (n < 0) {
        return errno == EAGAIN || errno == EINTR;
    }
    if (n == 0) {
        return false; /* closed, or a line too long to be a request */
    }
    client->count += (size_t)n;
    take_lines(service, client);
    return true;
}

static void free_key(void *node)
{
    struct key *key = node;

    free(key->name);
    free(key->value);
    free(key);
}

void pmi_service_close(struct pmi_service *service)
{
    while (service->waiters != NULL) {
        struct pmi_waiter *waiter = service->waiters;

        service->waiters = waiter->next;
        free(waiter);
    }
    tdestroy(service->keys, free_key);
    service->keys = NULL;
    free(service->mapping);
    service->mapping = NULL;
}
