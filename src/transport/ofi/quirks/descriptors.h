/*
 * descriptors.h - finds the descriptors of sockets that libfabric has made.
 *
 * libfabric gives no descriptor of an endpoint away, and makes all of them without
 * close-on-exec. It tells the address of an endpoint, which no other socket of the
 * process has together with its peer's; so the socket that has both is searched. Sockets
 * are made at the lowest free number, so a search begins near the last one that was
 * found, and goes through the list of all descriptors of this process otherwise. That
 * list stays open, so that it can be read when no descriptor is left.
 *
 * All calls are made with the library's lock held.
 */
#ifndef WEFT_OFI_QUIRKS_DESCRIPTORS_H
#define WEFT_OFI_QUIRKS_DESCRIPTORS_H

#include "base/rc.h"

#include <dirent.h>
#include <rdma/fabric.h>
#include <rdma/fi_endpoint.h>
#include <stdbool.h>
#include <stdint.h>
#include <sys/socket.h>

enum { WEFT_LISTENERS_MAX = 4 }; /* addresses of this host that are listened at */

/* Address and port of a socket, or of its peer. */
struct weft_socket_address {
    struct sockaddr_storage at;
};

struct weft_descriptors {
    DIR *all; /* of this process; NULL: not open */
    int last_found;
    struct weft_socket_address listeners[WEFT_LISTENERS_MAX];
    int listener_count;
};

/* Sockets that were open at some moment, by their inodes: another thread may close one,
 * and the next has its number. */
struct weft_noted_sockets {
    uint64_t *all;
    size_t count;
};

WEFT_MUST_CHECK enum weft_rc weft_descriptors_open(struct weft_descriptors *d);
void weft_descriptors_close(struct weft_descriptors *d);

/* The address of an endpoint of libfabric's; the address of its peer. False: unknown. */
bool weft_socket_address_of(struct fid *fid, struct weft_socket_address *out);
bool weft_socket_address_of_peer(struct fid_ep *ep, struct weft_socket_address *out);

/* The socket at address `at` whose peer is at `peer` (NULL: any peer); -1: none. */
int weft_descriptors_find(struct weft_descriptors *d,
                          const struct weft_socket_address *at,
                          const struct weft_socket_address *peer);

/* Calls for every socket at an address of `listeners`, the listeners included. */
void weft_descriptors_for_all(struct weft_descriptors *d,
                              void (*call)(void *argument, int fd), void *argument);

/* Programs that this process starts do not inherit `fd`. */
void weft_close_on_exec(int fd);
/* Sets close-on-exec for all sockets that are opened between these two calls. The second
 * one frees what was noted. */
void weft_descriptors_note(struct weft_descriptors *d, struct weft_noted_sockets *noted);
void weft_descriptors_close_new_on_exec(struct weft_descriptors *d,
                                        struct weft_noted_sockets *noted);

#endif
