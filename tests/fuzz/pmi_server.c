/* pmi_server.c - mpiexec's side of PMI-1: the input is what two ranks write. */
#include "fuzz.h"

#include "pmi_service.h"

#include <sys/socket.h>
#include <unistd.h>

enum { RANKS = 2, MOST = 60000 };

static struct pmi_service service;

static void on_abort(void *owner, int rank, int code)
{
    (void)owner;
    (void)code;
    demand(rank >= 0 && rank < RANKS, "the abort of nobody");
}

static void on_arrived(void *owner)
{
    (void)owner;
    pmi_service_release(&service);
}

static void on_put(void *owner, const char *name, const char *value)
{
    (void)owner;
    demand(strlen(name) + strlen(value) <= MOST, "a key without end");
}

static bool on_ask(void *owner, int rank, int of, const char *name)
{
    (void)owner;
    demand(rank >= 0 && rank < RANKS && of < service.size,
           "nobody asks, or nobody is asked");
    return strlen(name) > MOST;
}

static void on_found(void *owner, int daemon, int rank, const char *name,
                     const char *value)
{
    (void)owner;
    (void)daemon;
    (void)rank;
    (void)name;
    (void)value;
}

/* Else the service would wait for room. */
static void take_answers(int fd)
{
    char text[4096];

    while (recv(fd, text, sizeof(text), MSG_DONTWAIT) > 0) {
    }
}

static int on_next_program(void *owner, int rank, int *program, const char **why)
{
    (void)owner;
    (void)rank;
    (void)program;
    *why = "fuzzed";
    return -1;
}

static void on_watch(void *owner, struct pmi_client *client)
{
    (void)owner;
    demand(client->fd >= 0, "a watch of nobody");
}

static void on_complaint(void *owner, const char *line)
{
    (void)owner;
    demand(strlen(line) < PMI_LINE, "a line without end");
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    struct pmi_client clients[RANKS] = {{.fd = -1}, {.fd = -1}};
    int pairs[RANKS][2];
    const size_t half = size > 0 ? data[0] * (size - 1) / 255 : 0;

    service = (struct pmi_service){
        .clients = clients,
        .count = RANKS,
        .size = 2 * RANKS,
        .name = "weft-1",
        .aborted = on_abort,
        .arrived = on_arrived,
        .put = on_put,
        .ask = on_ask,
        .found = on_found,
        .next_program = on_next_program,
        .watch = on_watch,
        .complain = on_complaint,
    };
    service.mapping = strdup("(vector,(0,1,4))");
    for (int i = 0; i < RANKS; i++) {
        demand(socketpair(AF_UNIX, SOCK_STREAM, 0, pairs[i]) == 0, "no socket");
        clients[i].fd = pairs[i][0];
        clients[i].rank = i;
    }
    if (size > 0 && size <= MOST) {
        (void)!send(pairs[0][1], data + 1, half, MSG_DONTWAIT);
        (void)!send(pairs[1][1], data + 1 + half, size - 1 - half, MSG_DONTWAIT);
    }
    for (int i = 0; i < RANKS; i++) {
        shutdown(pairs[i][1], SHUT_WR);
        while (pmi_service_tend(&service, &clients[i])) {
            take_answers(pairs[i][1]);
        }
        pmi_service_rank_ended(&service, i);
    }
    for (int i = 0; i < RANKS; i++) {
        pmi_client_close(&clients[i]);
        close(pairs[i][1]);
    }
    pmi_service_close(&service);
    return 0;
}
