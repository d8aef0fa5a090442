#include "wireup/pmi_fd.h"

#include "base/log.h"
#include "base/texts.h"

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <sys/socket.h>
#include <unistd.h>

enum weft_rc weft_pmi_lost(const char *protocol, const char *doing, const char *why,
                           bool is_new)
{
    weft_log_error(WEFT_S_PMI_GONE, doing, protocol, why,
                   is_new ? ", or it has served another MPI program of this rank before "
                            "(only Weft's mpiexec serves several)"
                          : "");
    return WEFT_ERR_LAUNCH;
}

static ssize_t write_once(int fd, const char *text, size_t size)
{
    const ssize_t n = send(fd, text, size, MSG_NOSIGNAL);

    return n < 0 && errno == ENOTSOCK ? write(fd, text, size) : n;
}

bool weft_pmi_write_all(int fd, const char *text, size_t size)
{
    while (size > 0) {
        const ssize_t n = write_once(fd, text, size);

        if (n < 0 && errno == EINTR) {
            continue;
        }
        if (n <= 0) {
            return false;
        }
        text += n;
        size -= (size_t)n;
    }
    return true;
}

/* A number from the environment; -1 if it is not there or not one. */
static int number_from(const char *name)
{
    const char *text = getenv(name);
    char *end;
    long value;

    if (text == NULL || text[0] == '\0') {
        return -1;
    }
    value = strtol(text, &end, 10);
    return *end == '\0' && value >= 0 && value < 0x7fffffff ? (int)value : -1;
}

enum weft_rc weft_pmi_inherit(const char *protocol, int *fd, struct weft_who *who)
{
    *fd = number_from("PMI_FD");
    who->rank = number_from("PMI_RANK");
    who->size = number_from("PMI_SIZE");
    if (*fd < 0 || who->rank < 0 || who->size < 1 || who->rank >= who->size) {
        weft_log_error(WEFT_S_PMI_ENVIRONMENT, protocol, *fd, who->rank, who->size);
        return WEFT_ERR_LAUNCH;
    }
    if (fcntl(*fd, F_SETFD, FD_CLOEXEC) != 0) {
        weft_log_error(WEFT_S_CLOSED_PMI, *fd);
        return WEFT_ERR_LAUNCH;
    }
    return WEFT_OK;
}
