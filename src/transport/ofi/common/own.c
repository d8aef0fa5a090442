#include "transport/ofi/common/own.h"

#include "base/log.h"
#include "base/settings.h"
#include "base/texts.h"
#include "wireup/near.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

/* Has this host the address? A container may have only one kind. */
static bool has_address(const char *text)
{
    struct sockaddr_storage address;
    socklen_t bytes;
    bool is_there = false;
    int fd;

    if (!weft_net_address_of(text, 0, &address, &bytes)) {
        return false;
    }
    fd = socket(address.ss_family, SOCK_STREAM | SOCK_CLOEXEC, 0);
    if (fd >= 0) {
        is_there = bind(fd, (const struct sockaddr *)&address, bytes) == 0;
        close(fd);
    }
    return is_there;
}

static int list_loopback(struct weft_net_address *list)
{
    const bool is_sixth = !has_address("127.0.0.1") && has_address("::1");

    memset(list, 0, sizeof(*list));
    snprintf(list->interface, sizeof(list->interface), "lo");
    snprintf(list->text, sizeof(list->text), "%s", is_sixth ? "::1" : "127.0.0.1");
    list->prefix = is_sixth ? 128 : 8;
    return 1;
}

int weft_ofi_list_own(const struct weft_job *job, struct weft_net_address *list)
{
    const char *wanted = weft_setting_text(WEFT_SET_NET);
    cpu_set_t processors;
    int count = 0;

    if (job->is_one_node) {
        return list_loopback(list);
    }
    count = weft_net_count_used(list, weft_net_list(list, wanted));
    if (sched_getaffinity(0, sizeof(processors), &processors) == 0) {
        weft_net_put_near_first(list, count, "/sys", &processors);
    }
    if (wanted[0] == '\0') {
        count = weft_net_keep(list, count, getenv("WEFT_NETWORKS"));
    }
    if (count == 0 && wanted[0] == '\0') {
        return list_loopback(list);
    }
    if (count == 0) {
        weft_log_error(WEFT_S_NO_ADDRESS, wanted);
    }
    return count;
}

/* May it be published, behind addresses? A slash would make it one. */
static bool is_word(const char *text)
{
    return text[0] != '\0' && strpbrk(text, " ,/=;") == NULL;
}

bool weft_ofi_own_host(char *host, size_t room)
{
    return gethostname(host, room - 1) == 0 && is_word(host);
}
