/*
 * slow.c - every start of a program takes longer, as from a cold or distant file system.
 *
 *   slow FILE MILLISECONDS
 *
 * Says "ready" once it is so, until it is killed. The kernel asks it before it opens FILE
 * to execute it (fanotify); needs root. Ends with 77 where that cannot be had.
 */
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/fanotify.h>
#include <unistd.h>

enum { SKIPPED = 77 };

static void answer(int notifier, const struct fanotify_event_metadata *event, int ms)
{
    const struct fanotify_response response = {.fd = event->fd, .response = FAN_ALLOW};

    usleep((useconds_t)ms * 1000);
    if (write(notifier, &response, sizeof(response)) < 0) {
        perror("answer");
    }
    close(event->fd);
}

int main(int argc, char **argv)
{
    _Alignas(struct fanotify_event_metadata) char events[4096];
    int notifier = fanotify_init(FAN_CLASS_CONTENT, O_RDONLY);

    if (argc != 3 || notifier < 0 ||
        fanotify_mark(notifier, FAN_MARK_ADD, FAN_OPEN_EXEC_PERM, AT_FDCWD, argv[1]) !=
            0) {
        perror("fanotify");
        return SKIPPED;
    }
    puts("ready");
    fflush(stdout);
    for (;;) {
        ssize_t n = read(notifier, events, sizeof(events));

        for (const struct fanotify_event_metadata *event = (void *)events;
             FAN_EVENT_OK(event, n); event = FAN_EVENT_NEXT(event, n)) {
            answer(notifier, event, atoi(argv[2]));
        }
    }
}
