#include "transport/dgram/fabric_port.h"

#include "base/log.h"
#include "base/texts.h"
#include "transport/dgram/buffer.h"
#include "transport/ofi/quirks/descriptors.h"
#include "transport/ofi/quirks/provider.h"

#include <stdlib.h>
#include <string.h>
#include <unistd.h>

/* What is published: kind, the form of the address, the longest datagram, the address as
 * the provider has it. Numbers are in the order of the network. */
enum {
    KIND = 'f',
    AT_KIND = 0,
    AT_FORMAT = 1, /* 4 bytes */
    AT_DATAGRAM = 5,
    AT_ADDRESS = 8,
    NAME_MAX_BYTES = WEFT_PORT_ADDRESS_MAX - AT_ADDRESS,
    COMPLETIONS = 1024,
};

/* ---- choosing ---- */

static struct fi_info *make_hints(const char *provider, uint64_t caps)
{
    struct fi_info *hints = weft_ofi_hints(FI_EP_DGRAM);

    if (hints == NULL) {
        return NULL;
    }
    hints->caps = caps;
    hints->mode |= FI_MSG_PREFIX;
    hints->fabric_attr->prov_name = provider != NULL ? strdup(provider) : NULL;
    return hints;
}

/* A provider with addresses of the internet is told which of ours to use. */
static bool set_source(struct fi_info *hints, const struct sockaddr_storage *at,
                       socklen_t bytes)
{
    hints->addr_format = at->ss_family == AF_INET6 ? FI_SOCKADDR_IN6 : FI_SOCKADDR_IN;
    hints->src_addr = malloc(bytes);
    if (hints->src_addr == NULL) {
        return false;
    }
    memcpy(hints->src_addr, at, bytes);
    hints->src_addrlen = bytes;
    return true;
}

/* The first provider that is not avoided, at the address `at` if that is not NULL. */
static struct fi_info *find(const char *provider, uint64_t caps,
                            const struct sockaddr_storage *at, socklen_t bytes)
{
    struct fi_info *hints = make_hints(provider, caps);
    struct fi_info *list = NULL;
    struct fi_info *chosen = NULL;

    if (hints == NULL) {
        return NULL;
    }
    if ((at == NULL || set_source(hints, at, bytes)) &&
        weft_libfabric.getinfo(WEFT_OFI_API, NULL, NULL, 0, hints, &list) == 0) {
        for (struct fi_info *i = list; chosen == NULL && i != NULL; i = i->next) {
            if (i->ep_attr->type == FI_EP_DGRAM &&
                !weft_provider_find(i->fabric_attr->prov_name)->is_avoided) {
                chosen = weft_libfabric.dupinfo(i);
            }
        }
        weft_libfabric.freeinfo(list);
    }
    weft_libfabric.freeinfo(hints);
    return chosen;
}

static bool has_sockaddr(const struct fi_info *info)
{
    return info->addr_format == FI_SOCKADDR || info->addr_format == FI_SOCKADDR_IN ||
           info->addr_format == FI_SOCKADDR_IN6;
}

/* Which provider libfabric has for this, and what it offers at our address. */
static struct fi_info *choose(const struct weft_port_wishes *wishes, uint64_t caps)
{
    struct fi_info *info = find(wishes->provider, caps, NULL, 0);
    struct fi_info *placed;
    struct sockaddr_storage at;
    socklen_t bytes;

    if (info == NULL || !has_sockaddr(info)) {
        return info;
    }
    placed = weft_net_address_of(wishes->own->text, wishes->ports.first, &at, &bytes)
                 ? find(info->fabric_attr->prov_name, caps, &at, bytes)
                 : NULL;
    weft_libfabric.freeinfo(info);
    return placed;
}

bool weft_fabric_port_is_better(const struct weft_port_wishes *wishes)
{
    struct fi_info *info;
    bool is_better;

    if (weft_libfabric_open() != WEFT_OK) {
        return false;
    }
    info = find(wishes->provider, FI_MSG, NULL, 0);
    is_better = info != NULL && strcmp(info->fabric_attr->prov_name, "udp") != 0;
    if (info != NULL) {
        weft_libfabric.freeinfo(info);
    }
    return is_better;
}

/* ---- addresses ---- */

static long write_address(struct weft_fabric_port *fabric)
{
    struct weft_port_address *address = &fabric->port.address;
    const uint32_t format = htonl(fabric->ofi.info->addr_format);
    const uint16_t datagram = htons(fabric->port.datagram_max);
    size_t bytes = NAME_MAX_BYTES;
    const int code =
        fi_getname(&fabric->ofi.endpoint->fid, &address->bytes[AT_ADDRESS], &bytes);

    if (code != 0) {
        return code;
    }
    address->length = (uint8_t)(AT_ADDRESS + bytes);
    address->bytes[AT_KIND] = KIND;
    memcpy(&address->bytes[AT_FORMAT], &format, sizeof(format));
    memcpy(&address->bytes[AT_DATAGRAM], &datagram, sizeof(datagram));
    return 0;
}

static enum weft_rc accept_peer(struct weft_port *port,
                                const struct weft_port_address *address,
                                struct weft_port_peer *peer)
{
    struct weft_fabric_port *fabric = weft_fabric_port_of(port);
    fi_addr_t name;
    uint16_t datagram;

    if (address->length <= AT_ADDRESS || address->length > WEFT_PORT_ADDRESS_MAX) {
        return WEFT_ERR_ARGUMENT;
    }
    if (address->bytes[AT_KIND] != KIND ||
        memcmp(&address->bytes[AT_FORMAT], &port->address.bytes[AT_FORMAT], 4) != 0) {
        return WEFT_ERR_UNREACHABLE;
    }
    memcpy(&datagram, &address->bytes[AT_DATAGRAM], sizeof(datagram));
    datagram = ntohs(datagram);
    if (datagram < WEFT_PORT_LEAST || address->length != port->address.length ||
        fi_av_insert(fabric->ofi.addresses, &address->bytes[AT_ADDRESS], 1, &name, 0,
                     NULL) != 1) {
        return WEFT_ERR_ARGUMENT;
    }
    peer->datagram_max = datagram < port->datagram_max ? datagram : port->datagram_max;
    memcpy(peer->to.fabric, &name, sizeof(name));
    return WEFT_OK;
}

static void drop_peer(struct weft_port *port, struct weft_port_peer *peer)
{
    struct weft_fabric_port *fabric = weft_fabric_port_of(port);

    fi_addr_t name = weft_fabric_port_name(peer);

    (void)fi_av_remove(fabric->ofi.addresses, &name, 1, 0);
    memset(peer, 0, port->peer_bytes);
}

/* ---- opening ---- */

static void set_port(struct fi_info *info, int port)
{
    struct sockaddr *at = info->src_addr;

    if (at->sa_family == AF_INET6) {
        ((struct sockaddr_in6 *)(void *)at)->sin6_port = htons((uint16_t)port);
    } else {
        ((struct sockaddr_in *)(void *)at)->sin_port = htons((uint16_t)port);
    }
}

/* With a descriptor to sleep on, or without. */
static long open_queues(struct weft_fabric_port *fabric)
{
    struct weft_ofi *ofi = &fabric->ofi;
    struct fi_cq_attr in = {
        .size = COMPLETIONS,
        .format = FI_CQ_FORMAT_MSG,
        .wait_obj = FI_WAIT_FD,
    };
    struct fi_cq_attr out = {
        .size = COMPLETIONS,
        .format = FI_CQ_FORMAT_MSG,
        .wait_obj = FI_WAIT_NONE,
    };
    long code = fi_cq_open(ofi->domain, &in, &ofi->cq, NULL);

    if (code == 0 && fi_control(&ofi->cq->fid, FI_GETWAIT, &fabric->port.fd) == 0) {
        weft_close_on_exec(fabric->port.fd);
    } else {
        fabric->port.fd = -1;
        if (code == 0) {
            fi_close(&ofi->cq->fid);
            ofi->cq = NULL;
        }
        in.size = COMPLETIONS;
        in.wait_obj = FI_WAIT_NONE;
        code = fi_cq_open(ofi->domain, &in, &ofi->cq, NULL);
    }
    if (code == 0) {
        code = fi_cq_open(ofi->domain, &out, &fabric->sent, NULL);
    }
    ofi->completions = in.size < out.size ? in.size : out.size; /* written back */
    return code;
}

/* Can a socket be bound there? libfabric 1.17 leaves a socket open for each port that its
 * udp finds taken, so that it is asked before. */
static bool is_free(const struct fi_info *info)
{
    const struct sockaddr *at = info->src_addr;
    const int fd = socket(at->sa_family, SOCK_DGRAM | SOCK_CLOEXEC, 0);
    bool is_bound;

    if (fd < 0) {
        return false;
    }
    is_bound = bind(fd, at, (socklen_t)info->src_addrlen) == 0;
    close(fd);
    return is_bound;
}

/* At a free port of the range, if the provider has such. */
static long open_endpoint(struct weft_fabric_port *fabric,
                          const struct weft_net_ports *ports)
{
    struct weft_ofi *ofi = &fabric->ofi;
    const bool has_ports = has_sockaddr(ofi->info);
    const int all = has_ports ? ports->last - ports->first + 1 : 1;
    long code = -FI_EADDRINUSE;

    for (int i = 0; i < all && code == -FI_EADDRINUSE; i++) {
        if (has_ports) {
            set_port(ofi->info, ports->first + (ports->begin + i) % all);
        }
        if (!has_ports || is_free(ofi->info)) {
            code = fi_endpoint(ofi->domain, ofi->info, &ofi->endpoint, NULL);
        }
    }
    return code;
}

static long open_all(struct weft_fabric_port *fabric, const struct weft_net_ports *ports)
{
    struct weft_ofi *ofi = &fabric->ofi;
    struct fi_av_attr av = {.type = ofi->info->domain_attr->av_type};
    long code = open_queues(fabric);

    if (code == 0) {
        code = fi_av_open(ofi->domain, &av, &ofi->addresses, NULL);
    }
    if (code == 0) {
        code = open_endpoint(fabric, ports);
    }
    if (code == 0) {
        code = fi_ep_bind(ofi->endpoint, &ofi->addresses->fid, 0);
    }
    if (code == 0) {
        code = fi_ep_bind(ofi->endpoint, &fabric->sent->fid, FI_TRANSMIT);
    }
    if (code == 0) {
        code = fi_ep_bind(ofi->endpoint, &ofi->cq->fid, FI_RECV);
    }
    if (code == 0) {
        code = fi_enable(ofi->endpoint);
    }
    return code == 0 ? write_address(fabric) : code;
}

static uint32_t least(size_t a, size_t b)
{
    return (uint32_t)(a < b ? a : b);
}

/* How long a datagram may be; false: too short for any use. */
static bool set_datagram(struct weft_fabric_port *fabric,
                         const struct weft_port_wishes *wishes)
{
    const struct fi_info *info = fabric->ofi.info;
    uint32_t most;

    fabric->prefix = info->ep_attr->msg_prefix_size;
    if (info->ep_attr->max_msg_size < fabric->prefix + WEFT_PORT_LEAST) {
        return false;
    }
    most = least(info->ep_attr->max_msg_size - fabric->prefix, WEFT_PORT_MTU_MAX);
    if (has_sockaddr(info)) {
        most = least(most, weft_port_payload(wishes->own->interface,
                                             info->addr_format == FI_SOCKADDR_IN6));
    }
    if (wishes->datagram_max != 0) {
        most = least(most, wishes->datagram_max);
    }
    fabric->port.datagram_max = (uint16_t)most;
    fabric->port.train_max =
        (uint16_t)least(WEFT_PORT_TRAIN_MAX, WEFT_PORT_BYTES_MAX / most);
    fabric->inject_max = info->tx_attr->inject_size;
    fabric->has_source = (info->caps & FI_SOURCE) != 0;
    return true;
}

/* The provider's socket; -1: it has none. */
static int find_socket(struct weft_fabric_port *fabric)
{
    struct weft_descriptors descriptors = {.all = NULL};
    struct weft_socket_address at;
    int fd = -1;

    if (!has_sockaddr(fabric->ofi.info) ||
        weft_descriptors_open(&descriptors) != WEFT_OK) {
        return -1;
    }
    if (weft_socket_address_of(&fabric->ofi.endpoint->fid, &at)) {
        fd = weft_descriptors_find(&descriptors, &at, NULL);
    }
    weft_descriptors_close(&descriptors);
    return fd;
}

static void set_room(struct weft_fabric_port *fabric,
                     const struct weft_port_wishes *wishes)
{
    struct weft_port *port = &fabric->port;
    const uint32_t wanted = wishes->buffer_bytes != 0 ? wishes->buffer_bytes
                                                      : (uint32_t)WEFT_PORT_BUFFER_BYTES;
    uint32_t cost = port->datagram_max;

    port->room_datagrams = fabric->slots.receive_count;
    fabric->socket = find_socket(fabric);
    if (fabric->socket >= 0) {
        weft_close_on_exec(fabric->socket);
        cost = weft_port_buffer_cost(fabric->ofi.info->src_addr,
                                     (socklen_t)fabric->ofi.info->src_addrlen,
                                     port->datagram_max);
        port->room_datagrams =
            weft_port_buffer_room(weft_port_buffer_raise(fabric->socket, wanted), cost);
    }
    port->room_bytes = port->room_datagrams * cost;
}

/* The pool, and what is known of its buffers. */
static enum weft_rc open_pool(struct weft_fabric_port *fabric,
                              const struct weft_port_wishes *wishes)
{
    const size_t out = fabric->prefix + fabric->port.datagram_max;
    const size_t in = out + 1;
    const uint32_t bytes =
        wishes->pool_bytes != 0 ? wishes->pool_bytes : (uint32_t)WEFT_PORT_POOL_BYTES;
    enum weft_rc rc;

    fabric->slots.receive_most = (uint32_t)(bytes / in > 0 ? bytes / in : 1);
    rc = weft_ofi_slots_open(&fabric->slots, &fabric->ofi, fabric->ofi.endpoint, out, in);
    if (rc != WEFT_OK) {
        return rc;
    }
    fabric->bounce = malloc(out);
    fabric->sources = calloc(fabric->slots.receive_count, sizeof(*fabric->sources));
    fabric->given = calloc(fabric->slots.receive_count, sizeof(*fabric->given));
    return fabric->bounce != NULL && fabric->sources != NULL && fabric->given != NULL
               ? WEFT_OK
               : WEFT_ERR_NOMEM;
}

static void close_port(struct weft_port *port)
{
    struct weft_fabric_port *fabric = weft_fabric_port_of(port);

    if (fabric->ofi.endpoint != NULL) { /* before the queues, and the buffers */
        fi_close(&fabric->ofi.endpoint->fid);
        fabric->ofi.endpoint = NULL;
    }
    if (fabric->sent != NULL) {
        fi_close(&fabric->sent->fid);
    }
    weft_ofi_slots_close(&fabric->slots);
    if (fabric->ofi.info != NULL) {
        weft_ofi_close(&fabric->ofi);
    }
    free(fabric->bounce);
    free(fabric->sources);
    free(fabric->given);
    free(fabric);
}

static const struct weft_port_ops ops = {
    .name = "fabric",
    .close = close_port,
    .accept_peer = accept_peer,
    .drop_peer = drop_peer,
    .send = weft_fabric_port_send,
    .receive = weft_fabric_port_receive,
    .may_be_from = weft_fabric_port_may_be_from,
    .arm = weft_fabric_port_arm,
};

static enum weft_rc open_port(struct weft_fabric_port *fabric,
                              const struct weft_port_wishes *wishes)
{
    enum weft_rc rc = weft_libfabric_open();
    long code;

    if (rc != WEFT_OK) {
        return rc;
    }
    fabric->ofi.next_key = 1;
    fabric->ofi.info = choose(wishes, FI_MSG | FI_SOURCE);
    if (fabric->ofi.info == NULL) {
        fabric->ofi.info = choose(wishes, FI_MSG);
    }
    if (fabric->ofi.info == NULL || !set_datagram(fabric, wishes)) {
        weft_log_error(WEFT_S_NO_DGRAM_PROVIDER);
        return WEFT_ERR_UNSUPPORTED;
    }
    rc = weft_ofi_open_domain(&fabric->ofi);
    if (rc != WEFT_OK) {
        return rc;
    }
    code = open_all(fabric, &wishes->ports);
    if (code != 0) {
        weft_log_error(WEFT_S_PROVIDER, fabric->ofi.info->fabric_attr->prov_name,
                       "no endpoint for datagrams", weft_ofi_error(code));
        return WEFT_ERR_SYSTEM;
    }
    rc = open_pool(fabric, wishes);
    if (rc == WEFT_OK) {
        set_room(fabric, wishes);
    }
    return rc;
}

enum weft_rc weft_port_open_fabric(const struct weft_port_wishes *wishes,
                                   struct weft_port **out)
{
    struct weft_fabric_port *fabric = calloc(1, sizeof(*fabric));
    enum weft_rc rc;

    if (fabric == NULL) {
        return WEFT_ERR_NOMEM;
    }
    fabric->port.ops = &ops;
    fabric->port.is_reader = true;
    fabric->port.peer_bytes = offsetof(struct weft_port_peer, to) + sizeof(fi_addr_t);
    fabric->port.fd = -1;
    fabric->socket = -1;
    rc = open_port(fabric, wishes);
    if (rc != WEFT_OK) {
        close_port(&fabric->port);
        return rc;
    }
    *out = &fabric->port;
    return WEFT_OK;
}
