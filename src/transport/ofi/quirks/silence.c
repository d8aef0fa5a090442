#include "transport/ofi/quirks/silence.h"

#include "base/settings.h"

#include <linux/tcp.h>
#include <netinet/in.h>
#include <sys/socket.h>

enum { LIMIT_BEATS = 2, CHECKS_PER_BEAT = 4, UNANSWERED = 2 };

static uint64_t beat_ms(void)
{
    const int64_t seconds = weft_setting(WEFT_SET_HEARTBEAT);

    return seconds > 0 ? (uint64_t)seconds * 1000 : 1000;
}

uint64_t weft_silence_ms(void)
{
    return LIMIT_BEATS * beat_ms();
}

uint64_t weft_silence_check_ns(void)
{
    return beat_ms() * 1000000 / CHECKS_PER_BEAT;
}

static void set_option(int fd, int level, int name, uint64_t value)
{
    const int number = (int)value;

    (void)setsockopt(fd, level, name, &number, sizeof(number));
}

void weft_silence_watch_connecting(int fd)
{
    set_option(fd, IPPROTO_TCP, TCP_USER_TIMEOUT, weft_silence_ms());
}

void weft_silence_watch_open(int fd)
{
    const uint64_t seconds = beat_ms() / 1000;

    set_option(fd, IPPROTO_TCP, TCP_USER_TIMEOUT, 0);
    set_option(fd, IPPROTO_TCP, TCP_KEEPIDLE, seconds);
    set_option(fd, IPPROTO_TCP, TCP_KEEPINTVL,
               seconds < CHECKS_PER_BEAT ? 1 : seconds / CHECKS_PER_BEAT);
    set_option(fd, SOL_SOCKET, SO_KEEPALIVE, 1);
}

/* Data that a peer has no room for are not on their way; their probes are answered, if
 * seldom. */
bool weft_silence_is(int fd)
{
    struct tcp_info info = {0};
    socklen_t bytes = sizeof(info);

    return getsockopt(fd, IPPROTO_TCP, TCP_INFO, &info, &bytes) == 0 &&
           info.tcpi_last_ack_recv >= weft_silence_ms() &&
           ((info.tcpi_unacked > 0 && info.tcpi_retransmits >= UNANSWERED) ||
            info.tcpi_probes >= UNANSWERED);
}
