#include "claims.h"

#include <errno.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

/* The address of a processor's claim; returns its length. */
static socklen_t name_of(int processor, struct sockaddr_un *address)
{
    const char *scope = getenv(CLAIMS_SCOPE);
    int length = snprintf(address->sun_path + 1, sizeof(address->sun_path) - 1,
                          "weft-cpu-%d%s%.40s", processor, scope != NULL ? "-in-" : "",
                          scope != NULL ? scope : "");

    address->sun_family = AF_UNIX;
    address->sun_path[0] = '\0'; /* abstract: it has no place in a file system */
    return (socklen_t)(offsetof(struct sockaddr_un, sun_path) + 1 + (size_t)length);
}

/* Connecting leaves no trace, so that two mpiexec can look at the same time. */
static bool is_claimed(int probe, int processor)
{
    struct sockaddr_un address;
    const socklen_t length = name_of(processor, &address);

    return connect(probe, (const struct sockaddr *)&address, length) == 0 ||
           errno != ECONNREFUSED;
}

void claims_look(struct topology *topology)
{
    int probe = socket(AF_UNIX, SOCK_DGRAM | SOCK_CLOEXEC, 0);

    for (int i = 0; i < topology->count; i++) {
        struct core *core = &topology->cores[i];

        core->is_taken = false;
        for (int c = 0; c < CPU_SETSIZE && probe >= 0; c++) {
            core->is_taken |= CPU_ISSET((size_t)c, &core->whole) && is_claimed(probe, c);
        }
    }
    if (probe >= 0) {
        close(probe);
    }
}

static bool claim(struct claims *claims, int processor)
{
    struct sockaddr_un address;
    const socklen_t length = name_of(processor, &address);
    int *grown =
        realloc(claims->sockets, ((size_t)claims->count + 1) * sizeof(*claims->sockets));
    int fd;

    if (grown == NULL) {
        return false;
    }
    claims->sockets = grown;
    fd = socket(AF_UNIX, SOCK_DGRAM | SOCK_CLOEXEC, 0);
    if (fd < 0) {
        return false;
    }
    claims->sockets[claims->count++] = fd;
    shutdown(fd, SHUT_RD); /* nobody can leave datagrams in it */
    return bind(fd, (const struct sockaddr *)&address, length) == 0;
}

bool claims_take(struct claims *claims, const cpu_set_t *set)
{
    for (int c = 0; c < CPU_SETSIZE; c++) {
        if (CPU_ISSET((size_t)c, set) && !claim(claims, c)) {
            return false;
        }
    }
    return true;
}

void claims_drop(struct claims *claims)
{
    for (int i = 0; i < claims->count; i++) {
        close(claims->sockets[i]);
    }
    free(claims->sockets);
    *claims = (struct claims){.sockets = NULL};
}
