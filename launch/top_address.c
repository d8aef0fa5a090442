#include "top.h"

#include <stdio.h>
#include <string.h>
#include <sys/socket.h>

socklen_t top_address(struct sockaddr_un *address, int pid)
{
    memset(address, 0, sizeof(*address));
    address->sun_family = AF_UNIX;
    return (socklen_t)(offsetof(struct sockaddr_un, sun_path) + 1 +
                       (size_t)snprintf(address->sun_path + 1,
                                        sizeof(address->sun_path) - 1, TOP_NAME "%d",
                                        pid));
}
