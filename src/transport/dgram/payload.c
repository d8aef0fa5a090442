#include "transport/dgram/port.h"

#include <net/if.h>
#include <stdio.h>
#include <string.h>
#include <sys/ioctl.h>
#include <unistd.h>

enum { ETHERNET = 1500, HEADERS_FOUR = 20 + 8, HEADERS_SIX = 40 + 8 };

/* Bytes of a packet; Ethernet's where the system does not say. */
static int packet_of(const char *interface)
{
    struct ifreq request;
    const int fd = socket(AF_INET, SOCK_DGRAM | SOCK_CLOEXEC, 0);
    int bytes = ETHERNET;

    memset(&request, 0, sizeof(request));
    snprintf(request.ifr_name, sizeof(request.ifr_name), "%s", interface);
    if (fd >= 0) {
        if (ioctl(fd, SIOCGIFMTU, &request) == 0) {
            bytes = request.ifr_mtu;
        }
        close(fd);
    }
    return bytes;
}

uint32_t weft_port_payload(const char *interface, bool is_sixth)
{
    const int headers = is_sixth ? HEADERS_SIX : HEADERS_FOUR;
    const int packet = packet_of(interface);
    const int most = packet < WEFT_PORT_MTU_MAX ? packet : WEFT_PORT_MTU_MAX;

    return most - headers < WEFT_PORT_LEAST ? WEFT_PORT_LEAST
                                            : (uint32_t)(most - headers);
}
