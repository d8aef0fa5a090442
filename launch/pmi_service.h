/*
 * pmi_service.h - PMI-1, the launcher's side: one text line a request, one an answer.
 *
 * Each rank has a socket. Keys live in one space for the whole job. What a rank asks that
 * concerns the job (it aborts) is told to the owner through the upcall. A request that is
 * no request gets no answer and a line on standard error; the job goes on.
 */
#ifndef WEFT_LAUNCH_PMI_SERVICE_H
#define WEFT_LAUNCH_PMI_SERVICE_H

#include <stdbool.h>
#include <stddef.h>

enum { PMI_LINE = 4096 };

struct pmi_client {
    int fd; /* our end; -1: closed */
    int rank;
    int app; /* which program of an MPMD job */
    bool is_in_barrier;
    bool has_finalized;
    size_t count;
    char *line; /* what has come of the next request; made on first use */
};

struct pmi_service {
    struct pmi_client *clients;
    int size;
    int in_barrier;
    char name[64];    /* of the key-value space */
    char mapping[64]; /* PMI_process_mapping */
    void *keys;       /* a tsearch tree */
    void (*aborted)(void *owner, int rank, int code);
    void *owner;
};

/* Reads what a client has sent and answers. False when the client has closed its end. */
bool pmi_service_read(struct pmi_service *service, struct pmi_client *client);

/* Forgets all keys. */
void pmi_service_close(struct pmi_service *service);

#endif
