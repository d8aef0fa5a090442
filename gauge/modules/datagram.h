/*
 * datagram.h - modules whose carrier takes a message whole or loses it: udp, ip, eth.
 *
 * A module of this kind opens one socket and knows the address of every end; all else is
 * here. Each datagram begins with a header that says from whom it is, to whom, which of
 * their messages it is, and of which stretch of the run. Messages that come before their
 * receive are kept; a gap in the numbers is a loss, and so is silence for longer than the
 * module's patience. After a drain a new stretch begins, and all that is late is known by
 * its stretch and thrown away.
 */
#ifndef GAUGE_DATAGRAM_H
#define GAUGE_DATAGRAM_H

#include "gauge/module.h"

#include <sys/socket.h>

struct datagram_header {
    uint32_t secret; /* of this run: others may use the same kind of datagram */
    uint16_t from;
    uint16_t to;
    uint32_t stretch;
    uint32_t number;
    uint32_t size; /* of the message: short frames are padded on some networks */
    uint32_t unused;
};
_Static_assert(sizeof(struct datagram_header) == 24, "as it travels");

/* Where an end is reached. */
struct datagram_address {
    struct sockaddr_storage address;
    socklen_t length;
};

/* What the module says of its carrier. */
struct datagram_carrier {
    const char *name;
    size_t skip; /* bytes that the system puts before our header on arrival */
    struct gauge_option *options; /* with --wait, --patience and --loss among them */
    /* Opens the socket and says what others need to know of it; -1, reported. */
    int (*open)(struct datagram_address *mine);
    /* How an end is reached from here, by its host and what it has told. */
    enum gauge_rc (*complete)(const char *host, struct datagram_address *theirs);
};

enum gauge_rc datagram_init(struct gauge_module *module, const struct gauge_world *world,
                            const struct datagram_carrier *carrier);

/* Closes a raw socket that was opened to try it; NULL, or why it could not be. */
const char *datagram_tried(int fd, const char *no_right);

/* NULL, or what is wrong with those options. */
const char *datagram_configure(struct gauge_option *options);

/* The functions of the module. */
void datagram_shutdown(struct gauge_module *module);
enum gauge_rc datagram_sendto(struct gauge_module *module, int dest, const void *buffer,
                              size_t size);
enum gauge_rc datagram_recvfrom(struct gauge_module *module, int source, void *buffer,
                                size_t size);
enum gauge_rc datagram_isendto(struct gauge_module *module, int dest, const void *buffer,
                               size_t size, struct gauge_request *request);
enum gauge_rc datagram_irecvfrom(struct gauge_module *module, int source, void *buffer,
                                 size_t size, struct gauge_request *request);
enum gauge_rc datagram_test(struct gauge_module *module, struct gauge_request *request);
enum gauge_rc datagram_wait(struct gauge_module *module, struct gauge_request *request);
void datagram_drain(struct gauge_module *module);

#endif
