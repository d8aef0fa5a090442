/*
 * far.c - stands for ssh (WEFT_RSH): every host is this machine, but far away.
 *
 *   far MILLISECONDS HOST COMMAND...
 *
 * Runs the command. What goes to it and comes from it takes so long each way, however
 * much it is.
 */
#include <errno.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

enum { CHUNK = 65536 };

struct parcel {
    struct parcel *next;
    long due;
    size_t bytes; /* 0: the end */
    char at[];
};

struct road {
    int from; /* -1: it has ended */
    int to;   /* -1: so has this side */
    struct parcel *first;
    struct parcel **last;
};

static long now_ms(void)
{
    struct timespec t;

    clock_gettime(CLOCK_MONOTONIC, &t);
    return t.tv_sec * 1000 + t.tv_nsec / 1000000;
}

static void take(struct road *road, long delay)
{
    struct parcel *parcel = malloc(sizeof(*parcel) + CHUNK);
    ssize_t n = parcel != NULL ? read(road->from, parcel->at, CHUNK) : 0;

    if (n < 0 && errno == EINTR) {
        free(parcel);
        return;
    }
    if (parcel == NULL) {
        exit(1);
    }
    parcel->next = NULL;
    parcel->due = now_ms() + delay;
    parcel->bytes = n > 0 ? (size_t)n : 0;
    if (n <= 0) {
        close(road->from);
        road->from = -1;
    }
    *road->last = parcel;
    road->last = &parcel->next;
}

static void write_all(int to, const char *at, size_t bytes)
{
    while (bytes > 0) {
        ssize_t n = write(to, at, bytes);

        if (n < 0) {
            return; /* nobody wants it any more */
        }
        at += n;
        bytes -= (size_t)n;
    }
}

static void hand_over(struct road *road)
{
    while (road->first != NULL && road->first->due <= now_ms()) {
        struct parcel *parcel = road->first;

        if (parcel->bytes == 0) {
            close(road->to);
            road->to = -1;
        } else {
            write_all(road->to, parcel->at, parcel->bytes);
        }
        road->first = parcel->next;
        if (road->first == NULL) {
            road->last = &road->first;
        }
        free(parcel);
    }
}

/* Milliseconds until something is due on one of two roads; -1: nothing is on its way. */
static int patience(const struct road *roads)
{
    long wait = -1;

    for (int i = 0; i < 2; i++) {
        if (roads[i].first != NULL) {
            const long left = roads[i].first->due - now_ms();

            wait = wait < 0 || left < wait ? left : wait;
            wait = wait < 0 ? 0 : wait;
        }
    }
    return (int)wait;
}

static void relay(struct road *roads, long delay)
{
    while (roads[1].to >= 0) {
        struct pollfd polls[2] = {{.fd = roads[0].from, .events = POLLIN},
                                  {.fd = roads[1].from, .events = POLLIN}};

        poll(polls, 2, patience(roads));
        for (int i = 0; i < 2; i++) {
            if (polls[i].revents != 0) {
                take(&roads[i], delay);
            }
            hand_over(&roads[i]);
        }
    }
}

int main(int argc, char **argv)
{
    int in[2];
    int out[2];
    struct road roads[2];
    int status = 0;
    pid_t pid;

    if (argc < 4 || pipe(in) != 0 || pipe(out) != 0) {
        return 2;
    }
    pid = fork();
    if (pid == 0) {
        dup2(in[0], 0);
        dup2(out[1], 1);
        close(in[0]);
        close(in[1]);
        close(out[0]);
        close(out[1]);
        execvp(argv[3], argv + 3);
        _exit(127);
    }
    close(in[0]);
    close(out[1]);
    signal(SIGPIPE, SIG_IGN);
    roads[0] = (struct road){.from = 0, .to = in[1], .last = &roads[0].first};
    roads[1] = (struct road){.from = out[0], .to = 1, .last = &roads[1].first};
    relay(roads, atol(argv[1]));
    return pid > 0 && waitpid(pid, &status, 0) == pid && WIFEXITED(status)
               ? WEXITSTATUS(status)
               : 1;
}
