/*
 * test_quirks.c - habits of a provider over sockets, on plain sockets of the loopback:
 * early listeners and their filter, connections without a request, descriptors, silence.
 */
#include "unit.h"

#include "transport/ofi/quirks/reap.h"
#include "transport/ofi/quirks/silence.h"

#include <arpa/inet.h>
#include <fcntl.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <poll.h>
#include <stdlib.h>
#include <sys/socket.h>
#include <unistd.h>

enum { HEAD = 32, PATIENCE_MS = 5000, PROMPT_MS = 200 };

/* As libfabric's tcp asks for a connection, with the token in front. */
struct request {
    uint8_t head[HEAD];
    uint8_t token[WEFT_TOKEN_BYTES];
};

static struct request request_with(const uint8_t token[WEFT_TOKEN_BYTES])
{
    struct request request = {.head = {3, 0, 0, WEFT_TOKEN_BYTES}};

    memcpy(request.token, token, WEFT_TOKEN_BYTES);
    return request;
}

static int open_early(void **state)
{
    static struct weft_early early;
    const struct weft_net_address own = {.text = "127.0.0.1", .prefix = 8};

    weft_early_init(&early);
    assert_int_equal(weft_early_open(&early, &own, 1, 0), WEFT_OK);
    *state = &early;
    return 0;
}

static int close_early(void **state)
{
    struct weft_early *early = *state;

    weft_early_close(early);
    assert_int_equal(early->listeners[0], -1);
    assert_int_equal(early->pending, -1);
    return 0;
}

static int call(const struct weft_early *early)
{
    const struct sockaddr_in to = {
        .sin_family = AF_INET,
        .sin_port = htons((uint16_t)early->port),
        .sin_addr.s_addr = htonl(INADDR_LOOPBACK),
    };
    const int fd = socket(AF_INET, SOCK_STREAM, 0);

    assert_true(fd >= 0);
    assert_int_equal(connect(fd, (const struct sockaddr *)&to, sizeof(to)), 0);
    return fd;
}

/* Does a connection become pending within so many milliseconds? */
static bool becomes_pending(const struct weft_early *early, int ms)
{
    struct pollfd fd = {.fd = early->pending, .events = POLLIN};
    const bool is_awake = poll(&fd, 1, ms) > 0;

    assert_int_equal(weft_early_is_pending(early), is_awake);
    return is_awake;
}

/* A connection with a right request: both ends. */
static void make_pair(const struct weft_early *early, int *caller, int *accepted)
{
    const struct request request = request_with(early->token);

    *caller = call(early);
    assert_int_equal(write(*caller, &request, sizeof(request)), sizeof(request));
    assert_true(becomes_pending(early, PATIENCE_MS));
    *accepted = accept4(early->listeners[0], NULL, NULL, SOCK_CLOEXEC);
    assert_true(*accepted >= 0);
}

static void a_connection_with_the_token_is_pending(void **state)
{
    const struct weft_early *early = *state;
    int caller;
    int accepted;

    assert_false(becomes_pending(early, 0));
    make_pair(early, &caller, &accepted);
    assert_false(becomes_pending(early, 0));
    close(caller);
    close(accepted);
}

static void the_kernel_rejects_other_requests(void **state)
{
    const struct weft_early *early = *state;
    struct request wrong = request_with(early->token);
    const int silent = call(early);
    const int stranger = call(early);
    const int half = call(early);

    assert_int_equal(write(half, &wrong, sizeof(wrong) - 1), sizeof(wrong) - 1);
    wrong.token[7] ^= 1;
    assert_int_equal(write(stranger, &wrong, sizeof(wrong)), sizeof(wrong));
    assert_false(becomes_pending(early, PROMPT_MS));
    close(silent);
    close(stranger);
    close(half);
}

static void a_connection_is_unknown_until_its_request_was_read(void **state)
{
    const struct weft_early *early = *state;
    const char word[] = "anything";
    char bytes[sizeof(struct request) + sizeof(word)];
    int caller;
    int accepted;

    make_pair(early, &caller, &accepted);
    assert_false(weft_filter_is_unknown(early->listeners[0]));
    assert_true(weft_filter_is_unknown(accepted));
    assert_true(weft_filter_detach(accepted));
    assert_false(weft_filter_is_unknown(accepted));
    assert_int_equal(write(caller, word, sizeof(word)), sizeof(word));
    assert_int_equal(recv(accepted, bytes, sizeof(bytes), MSG_WAITALL), sizeof(bytes));
    close(caller);
    close(accepted);
}

/* ---- descriptors ---- */

static struct weft_socket_address name_of(int fd)
{
    struct weft_socket_address address = {.at.ss_family = AF_UNSPEC};
    socklen_t bytes = sizeof(address.at);

    assert_int_equal(getsockname(fd, (struct sockaddr *)&address.at, &bytes), 0);
    return address;
}

static void a_socket_is_found_by_its_addresses(void **state)
{
    const struct weft_early *early = *state;
    struct weft_descriptors d = {.all = NULL};
    struct weft_socket_address at;
    struct weft_socket_address peer;
    int caller;
    int accepted;

    assert_int_equal(weft_descriptors_open(&d), WEFT_OK);
    make_pair(early, &caller, &accepted);
    at = name_of(accepted);
    peer = name_of(caller);
    assert_int_equal(weft_descriptors_find(&d, &at, &peer), accepted);
    assert_int_equal(weft_descriptors_find(&d, &peer, &at), caller);
    assert_int_equal(weft_descriptors_find(&d, &peer, NULL), caller);
    close(caller);
    assert_int_equal(weft_descriptors_find(&d, &peer, NULL), -1);
    close(accepted);
    weft_descriptors_close(&d);
}

static void sockets_of_the_provider_are_closed_on_exec(void **state)
{
    const struct weft_early *early = *state;
    struct weft_descriptors d = {.all = NULL};
    struct weft_noted_sockets noted;
    const int ours = call(early);
    int new;

    assert_int_equal(weft_descriptors_open(&d), WEFT_OK);
    weft_descriptors_note(&d, &noted);
    new = call(early);
    weft_descriptors_close_new_on_exec(&d, &noted);
    assert_int_equal(fcntl(ours, F_GETFD) & FD_CLOEXEC, 0);
    assert_int_equal(fcntl(new, F_GETFD) & FD_CLOEXEC, FD_CLOEXEC);
    close(ours);
    close(new);
    weft_descriptors_close(&d);
}

/* ---- connections without a request ---- */

static bool has_ended(int fd)
{
    char byte;

    return recv(fd, &byte, 1, 0) <= 0;
}

static void only_connections_without_a_request_are_reaped(void **state)
{
    const struct weft_early *early = *state;
    struct weft_descriptors d = {.all = NULL, .listener_count = 1};
    struct weft_reap reap;
    int caller[2];
    int accepted[2];
    char byte;

    d.listeners[0] = name_of(early->listeners[0]);
    assert_int_equal(weft_descriptors_open(&d), WEFT_OK);
    weft_reap_init(&reap);
    weft_reap_open(&reap, early);
    make_pair(early, &caller[0], &accepted[0]);
    make_pair(early, &caller[1], &accepted[1]);
    assert_true(weft_filter_detach(accepted[1]));
    weft_reap_before(&reap, early, &d); /* both are young */
    assert_int_equal(reap.rejected, 0);
    assert_int_equal(reap.unknowns.count, 1);
    assert_int_equal(weft_reap_all(&reap, &d), 1);
    assert_true(has_ended(caller[0]));
    assert_int_equal(recv(caller[1], &byte, 1, MSG_DONTWAIT), -1); /* it is open */
    for (int i = 0; i < 2; i++) {
        close(caller[i]);
        close(accepted[i]);
    }
    weft_reap_close(&reap);
    weft_descriptors_close(&d);
}

static void an_old_connection_without_a_request_is_rejected(void **state)
{
    const struct weft_early *early = *state;
    struct weft_descriptors d = {.all = NULL, .listener_count = 1};
    struct weft_reap reap;
    int caller;
    int accepted;

    d.listeners[0] = name_of(early->listeners[0]);
    assert_int_equal(weft_descriptors_open(&d), WEFT_OK);
    weft_reap_init(&reap);
    make_pair(early, &caller, &accepted);
    weft_reap_before(&reap, early, &d);
    assert_int_equal(reap.unknowns.count, 1);
    reap.unknowns.all[0].since_ns -= UINT64_C(6000000000); /* as if seconds had passed */
    reap.reaped_at_ns = 0;
    weft_reap_before(&reap, early, &d);
    assert_int_equal(reap.rejected, 1);
    assert_int_equal(reap.unknowns.count, 0);
    assert_true(has_ended(caller));
    close(caller);
    close(accepted);
    weft_descriptors_close(&d);
}

/* ---- silence ---- */

static int option_of(int fd, int level, int name)
{
    int value = -1;
    socklen_t bytes = sizeof(value);

    assert_int_equal(getsockopt(fd, level, name, &value, &bytes), 0);
    return value;
}

static void time_outs_follow_the_heartbeat(void **state)
{
    const struct weft_early *early = *state;
    int caller;
    int accepted;

    make_pair(early, &caller, &accepted);
    weft_silence_watch_connecting(caller);
    assert_int_equal(option_of(caller, IPPROTO_TCP, TCP_USER_TIMEOUT), weft_silence_ms());
    weft_silence_watch_open(caller);
    assert_int_equal(option_of(caller, IPPROTO_TCP, TCP_USER_TIMEOUT), 0);
    assert_int_equal(option_of(caller, SOL_SOCKET, SO_KEEPALIVE), 1);
    assert_int_equal(option_of(caller, IPPROTO_TCP, TCP_KEEPIDLE),
                     weft_silence_ms() / 2000);
    assert_false(weft_silence_is(caller));
    close(caller);
    close(accepted);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(a_connection_with_the_token_is_pending,
                                        open_early, close_early),
        cmocka_unit_test_setup_teardown(the_kernel_rejects_other_requests, open_early,
                                        close_early),
        cmocka_unit_test_setup_teardown(
            a_connection_is_unknown_until_its_request_was_read, open_early, close_early),
        cmocka_unit_test_setup_teardown(a_socket_is_found_by_its_addresses, open_early,
                                        close_early),
        cmocka_unit_test_setup_teardown(sockets_of_the_provider_are_closed_on_exec,
                                        open_early, close_early),
        cmocka_unit_test_setup_teardown(only_connections_without_a_request_are_reaped,
                                        open_early, close_early),
        cmocka_unit_test_setup_teardown(an_old_connection_without_a_request_is_rejected,
                                        open_early, close_early),
        cmocka_unit_test_setup_teardown(time_outs_follow_the_heartbeat, open_early,
                                        close_early),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
