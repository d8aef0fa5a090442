#include "pmi_service.h"

#include <errno.h>
#include <search.h>
#include <stdarg.h>
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

/* A rank that does not read its answers only harms itself. */
static void answer(struct pmi_client *client, const char *format, ...)
    __attribute__((format(printf, 2, 3)));

static void answer(struct pmi_client *client, const char *format, ...)
{
    char line[PMI_LINE];
    va_list args;
    int n;

    va_start(args, format);
    n = vsnprintf(line, sizeof(line), format, args);
    va_end(args);
    n = n < (int)sizeof(line) ? n : (int)sizeof(line) - 1;
    if (send(client->fd, line, (size_t)n, MSG_DONTWAIT | MSG_NOSIGNAL) < 0) {
        return;
    }
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

static void on_put(struct pmi_service *service, struct pmi_client *client, char *line)
{
    char *value = word(line, "value"); /* the last word, so the key stays whole */
    char *name = word(line, "key");
    struct key *made;
    struct key **found;

    if (name == NULL || value == NULL) {
        answer(client, "cmd=put_result rc=-1 msg=no_key_or_value\n");
        return;
    }
    made = calloc(1, sizeof(*made));
    if (made == NULL || (made->name = strdup(name)) == NULL ||
        (made->value = strdup(value)) == NULL) {
        answer(client, "cmd=put_result rc=-1 msg=no_memory\n");
        return;
    }
    found = tsearch(made, &service->keys, compare);
    if (found == NULL || *found != made) {
        answer(client, "cmd=put_result rc=-1 msg=key_exists\n");
        free(made->name);
        free(made->value);
        free(made);
        return;
    }
    answer(client, "cmd=put_result rc=0 msg=success\n");
}

static void on_get(struct pmi_service *service, struct pmi_client *client, char *line)
{
    struct key wanted = {.name = word(line, "key")};
    struct key **found = NULL;

    if (wanted.name != NULL && strcmp(wanted.name, "PMI_process_mapping") == 0) {
        answer(client, "cmd=get_result rc=0 msg=success value=%s\n", service->mapping);
        return;
    }
    if (wanted.name != NULL) {
        found = tfind(&wanted, &service->keys, compare);
    }
    if (found == NULL) {
        answer(client, "cmd=get_result rc=-1 msg=key_not_found value=unknown\n");
    } else {
        answer(client, "cmd=get_result rc=0 msg=success value=%s\n", (*found)->value);
    }
}

static void on_barrier(struct pmi_service *service, struct pmi_client *client)
{
    if (!client->is_in_barrier) {
        client->is_in_barrier = true;
        service->in_barrier++;
    }
    if (service->in_barrier < service->size) {
        return;
    }
    service->in_barrier = 0;
    for (int i = 0; i < service->size; i++) {
        service->clients[i].is_in_barrier = false;
        answer(&service->clients[i], "cmd=barrier_out rc=0\n");
    }
}

static void on_abort(struct pmi_service *service, struct pmi_client *client, char *line)
{
    const char *code = word(line, "exitcode");

    service->aborted(service->owner, client->rank, code != NULL ? atoi(code) : 1);
}

static void on_line(struct pmi_service *service, struct pmi_client *client, char *line)
{
    char command[32] = "";

    if (sscanf(line, "cmd=%31s", command) != 1) {
        fprintf(stderr, "mpiexec: rank %d speaks no PMI-1: %.80s\n", client->rank, line);
    } else if (strcmp(command, "init") == 0) {
        answer(client, "cmd=response_to_init pmi_version=1 pmi_subversion=1 rc=0\n");
    } else if (strcmp(command, "get_maxes") == 0) {
        answer(client, "cmd=maxes kvsname_max=256 keylen_max=64 vallen_max=1024\n");
    } else if (strcmp(command, "get_appnum") == 0) {
        answer(client, "cmd=appnum appnum=%d\n", client->app);
    } else if (strcmp(command, "get_my_kvsname") == 0) {
        answer(client, "cmd=my_kvsname kvsname=%s\n", service->name);
    } else if (strcmp(command, "get_universe_size") == 0) {
        answer(client, "cmd=universe_size size=%d\n", service->size);
    } else if (strcmp(command, "put") == 0) {
        on_put(service, client, line);
    } else if (strcmp(command, "get") == 0) {
        on_get(service, client, line);
    } else if (strcmp(command, "barrier_in") == 0) {
        on_barrier(service, client);
    } else if (strcmp(command, "abort") == 0) {
        on_abort(service, client, line);
    } else if (strcmp(command, "finalize") == 0) {
        client->has_finalized = true;
        answer(client, "cmd=finalize_ack rc=0\n");
    } else {
        fprintf(stderr,
                "mpiexec: rank %d asks over PMI-1 for %s, which this version does "
                "not offer\n",
                client->rank, command);
        answer(client, "cmd=%s_result rc=-1 msg=not_offered\n", command);
    }
}

bool pmi_service_read(struct pmi_service *service, struct pmi_client *client)
{
    ssize_t n;

    if (client->line == NULL) {
        client->line = malloc(PMI_LINE);
        if (client->line == NULL) {
            return false;
        }
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
    for (;;) {
        char *end = memchr(client->line, '\n', client->count);
        size_t length;

        if (end == NULL) {
            return true;
        }
        *end = '\0';
        length = (size_t)(end - client->line) + 1;
        on_line(service, client, client->line);
        client->count -= length;
        memmove(client->line, client->line + length, client->count);
    }
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
    tdestroy(service->keys, free_key);
    service->keys = NULL;
}
