#include "wireup/net.h"

#include <arpa/inet.h>
#include <errno.h>
#include <ifaddrs.h>
#include <net/if.h>
#include <netinet/in.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

static const void *bytes_of(const struct sockaddr *address, int *bits)
{
    if (address->sa_family == AF_INET) {
        *bits = 32;
        return &((const struct sockaddr_in *)(const void *)address)->sin_addr;
    }
    *bits = 128;
    return &((const struct sockaddr_in6 *)(const void *)address)->sin6_addr;
}

static int count_ones(const struct sockaddr *mask)
{
    const unsigned char *bytes;
    int bits = 0;
    int ones = 0;

    if (mask == NULL) {
        return 0;
    }
    bytes = bytes_of(mask, &bits);
    for (int i = 0; i < bits; i++) {
        ones += bytes[i / 8] >> (7 - i % 8) & 1;
    }
    return ones;
}

/* The number in /sys/class/net/NAME/ENTRY; -1: there is none. */
static int read_number(const char *name, const char *entry)
{
    char path[128];
    int value = -1;
    FILE *file;

    snprintf(path, sizeof(path), "/sys/class/net/%s/%s", name, entry);
    file = fopen(path, "re");
    if (file == NULL) {
        return -1;
    }
    if (fscanf(file, "%d", &value) != 1) {
        value = -1;
    }
    fclose(file);
    return value;
}

static bool is_bridge(const char *name)
{
    char path[128];

    snprintf(path, sizeof(path), "/sys/class/net/%s/bridge", name);
    return access(path, F_OK) == 0;
}

static bool has_virtual_name(const char *name)
{
    static const char *const starts[] = {"docker",  "virbr", "br-", "cni",
                                         "flannel", "veth",  "lxc", "vmnet"};

    for (size_t i = 0; i < sizeof(starts) / sizeof(starts[0]); i++) {
        if (strncmp(name, starts[i], strlen(starts[i])) == 0) {
            return true;
        }
    }
    return false;
}

bool weft_net_is_in(const char *address, const char *network, int prefix)
{
    unsigned char a[16];
    unsigned char b[16];
    const int family = strchr(address, ':') != NULL ? AF_INET6 : AF_INET;

    if (inet_pton(family, address, a) != 1 || inet_pton(family, network, b) != 1 ||
        prefix < 0 || prefix > (family == AF_INET ? 32 : 128)) {
        return false;
    }
    for (int i = 0; i < prefix; i++) {
        if (((a[i / 8] ^ b[i / 8]) >> (7 - i % 8) & 1) != 0) {
            return false;
        }
    }
    return true;
}

bool weft_net_is_wanted(const char *interface, const char *address, const char *wanted)
{
    char words[WEFT_NET_WORDS];

    snprintf(words, sizeof(words), "%s", wanted);
    for (char *rest, *word = strtok_r(words, ",", &rest); word != NULL;
         word = strtok_r(NULL, ",", &rest)) {
        char *slash = strchr(word, '/');

        if (strcmp(word, interface) == 0 || strcmp(word, address) == 0) {
            return true;
        }
        if (slash != NULL) {
            *slash = '\0';
            if (weft_net_is_in(address, word, atoi(slash + 1))) {
                return true;
            }
        }
    }
    return false;
}

void weft_net_network_of(const struct weft_net_address *address, char out[WEFT_NET_TEXT])
{
    const int family = strchr(address->text, ':') != NULL ? AF_INET6 : AF_INET;
    unsigned char bytes[16] = {0};
    char text[INET6_ADDRSTRLEN] = "";

    (void)inet_pton(family, address->text, bytes);
    for (int i = address->prefix; i < (int)sizeof(bytes) * 8; i++) {
        bytes[i / 8] &= (unsigned char)~(0x80 >> i % 8);
    }
    inet_ntop(family, bytes, text, sizeof(text));
    snprintf(out, WEFT_NET_TEXT, "%s/%d", text, address->prefix);
}

int weft_net_keep(struct weft_net_address *list, int count, const char *networks)
{
    int kept = 0;

    for (int i = 0; networks != NULL && i < count; i++) {
        if (weft_net_is_wanted("", list[i].text, networks)) {
            list[kept++] = list[i];
        }
    }
    return kept > 0 ? kept : count;
}

static bool is_link_local(const char *text)
{
    return weft_net_is_in(text, "169.254.0.0", 16) || weft_net_is_in(text, "fe80::", 10);
}

/* Why an address is not used, or NULL. */
static const char *judge(const struct weft_net_address *address, unsigned flags,
                         const char *wanted)
{
    if ((flags & IFF_UP) == 0 || (flags & IFF_RUNNING) == 0) {
        return "down";
    }
    if (wanted != NULL && wanted[0] != '\0') {
        return weft_net_is_wanted(address->interface, address->text, wanted)
                   ? NULL
                   : "not in WEFT_NET";
    }
    if ((flags & IFF_LOOPBACK) != 0) {
        return "loopback";
    }
    if (is_link_local(address->text)) {
        return "link-local";
    }
    if (is_bridge(address->interface)) {
        return "a bridge";
    }
    return has_virtual_name(address->interface) ? "virtual, by its name" : NULL;
}

static int by_use_and_speed(const void *a, const void *b)
{
    const struct weft_net_address *x = a;
    const struct weft_net_address *y = b;

    if ((x->left_out == NULL) != (y->left_out == NULL)) {
        return x->left_out == NULL ? -1 : 1;
    }
    if (x->megabits != y->megabits) {
        return x->megabits > y->megabits ? -1 : 1;
    }
    return strcmp(x->interface, y->interface);
}

int weft_net_list(struct weft_net_address *list, const char *wanted)
{
    struct ifaddrs *all = NULL;
    int count = 0;

    if (getifaddrs(&all) != 0) {
        return 0;
    }
    for (const struct ifaddrs *i = all; i != NULL && count < WEFT_NET_MOST;
         i = i->ifa_next) {
        struct weft_net_address *address = &list[count];
        int bits;

        if (i->ifa_addr == NULL ||
            (i->ifa_addr->sa_family != AF_INET && i->ifa_addr->sa_family != AF_INET6)) {
            continue;
        }
        memset(address, 0, sizeof(*address));
        snprintf(address->interface, sizeof(address->interface), "%s", i->ifa_name);
        inet_ntop(i->ifa_addr->sa_family, bytes_of(i->ifa_addr, &bits), address->text,
                  sizeof(address->text));
        address->prefix = count_ones(i->ifa_netmask);
        address->megabits = read_number(i->ifa_name, "speed");
        address->megabits = address->megabits > 0 ? address->megabits : 0;
        address->left_out = judge(address, i->ifa_flags, wanted);
        count++;
    }
    freeifaddrs(all);
    qsort(list, (size_t)count, sizeof(*list), by_use_and_speed);
    return count;
}

bool weft_net_address_of(const char *text, int port, struct sockaddr_storage *out,
                         socklen_t *length)
{
    struct sockaddr_in *four = (struct sockaddr_in *)(void *)out;
    struct sockaddr_in6 *six = (struct sockaddr_in6 *)(void *)out;

    memset(out, 0, sizeof(*out));
    if (inet_pton(AF_INET, text, &four->sin_addr) == 1) {
        four->sin_family = AF_INET;
        four->sin_port = htons((uint16_t)port);
        *length = sizeof(*four);
        return true;
    }
    if (inet_pton(AF_INET6, text, &six->sin6_addr) == 1) {
        six->sin6_family = AF_INET6;
        six->sin6_port = htons((uint16_t)port);
        *length = sizeof(*six);
        return true;
    }
    return false;
}

bool weft_net_read_ports(const char *text, int *first, int *last)
{
    int n = 0;

    return sscanf(text, "%d-%d%n", first, last, &n) == 2 && text[n] == '\0' &&
           *first >= 1 && *first <= *last && *last <= 65535;
}

int weft_net_count_used(const struct weft_net_address *list, int count)
{
    int used = 0;

    while (used < count && list[used].left_out == NULL) {
        used++;
    }
    return used;
}

/* Listens at an address; -1, and errno says why. */
static int listen_at(const char *text, int port, weft_net_prepare prepare,
                     const void *argument)
{
    const int is_reused = 1; /* what is left of another job's connections is no matter */
    struct sockaddr_storage at;
    socklen_t bytes;
    int fd;

    if (!weft_net_address_of(text, port, &at, &bytes)) {
        errno = EINVAL;
        return -1;
    }
    fd = socket(at.ss_family, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
    if (fd >= 0 && prepare != NULL) {
        prepare(fd, argument);
    }
    if (fd >= 0 &&
        (setsockopt(fd, SOL_SOCKET, SO_REUSEADDR, &is_reused, sizeof(is_reused)) != 0 ||
         bind(fd, (const struct sockaddr *)&at, bytes) != 0 ||
         listen(fd, SOMAXCONN) != 0)) {
        const int cause = errno;

        close(fd);
        errno = cause;
        return -1;
    }
    return fd;
}

/* At all addresses; false, and errno says why, if one of them has no such port. */
static bool listen_at_all(const struct weft_net_address *list, int count, int port,
                          weft_net_prepare prepare, const void *argument, int *fds)
{
    for (int i = 0; i < count; i++) {
        fds[i] = listen_at(list[i].text, port, prepare, argument);
        if (fds[i] < 0) {
            const int cause = errno;

            while (i > 0) {
                close(fds[--i]);
                fds[i] = -1;
            }
            errno = cause;
            return false;
        }
    }
    return true;
}

int weft_net_listen(const struct weft_net_address *list, int count,
                    const struct weft_net_ports *ports, weft_net_prepare prepare,
                    const void *argument, int *fds)
{
    const int all = ports->last - ports->first + 1;

    for (int i = 0; i < all; i++) {
        const int port = ports->first + (ports->begin + i) % all;

        if (listen_at_all(list, count, port, prepare, argument, fds)) {
            return port;
        }
        if (errno != EADDRINUSE) {
            return -1;
        }
    }
    errno = EADDRINUSE;
    return -1;
}
