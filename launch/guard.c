#include "guard.h"

#include "descriptors.h"
#include "proc.h"
#include "ship_home.h"

#include <ctype.h>
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/random.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#define NAME "WEFT_KEPT"

enum { ROUNDS_MOST = 1000, CLEAN_ROUNDS = 2, CHUNK = 64 * 1024 };

static struct {
    char own[17]; /* our mark, hexadecimal */
    char *entry;  /* NAME=outer,own */
    int end;      /* of the pipe, that of front and keeper */
    pid_t pid;
} guard = {.end = -1, .pid = -1};

char *guard_mark(void)
{
    return guard.entry != NULL ? guard.entry : (char *)(uintptr_t)NAME "=";
}

static bool make_mark(void)
{
    const char *outer = getenv(NAME);
    const bool has_outer = outer != NULL && outer[0] != '\0';
    uint64_t number;

    if (getrandom(&number, sizeof(number), 0) != sizeof(number)) {
        return false;
    }
    snprintf(guard.own, sizeof(guard.own), "%016llx", (unsigned long long)number);
    if (asprintf(&guard.entry, NAME "=%s%s%s", has_outer ? outer : "",
                 has_outer ? "," : "", guard.own) < 0) {
        guard.entry = NULL;
    }
    return guard.entry != NULL;
}

/* ---- the guard's own life ---- */

/* The environment that a process was started with, as a text with zeros; to be freed. */
static char *read_environment(pid_t pid, size_t *length)
{
    char path[64];
    char *text = NULL;
    ssize_t n = 0;
    int fd;

    snprintf(path, sizeof(path), "/proc/%d/environ", pid);
    *length = 0;
    fd = open(path, O_RDONLY | O_CLOEXEC);
    do {
        char *grown = fd >= 0 ? realloc(text, *length + CHUNK) : NULL;

        if (grown == NULL) {
            break;
        }
        text = grown;
        n = read(fd, text + *length, CHUNK - 1);
        *length += n > 0 ? (size_t)n : 0;
    } while (n > 0);
    if (fd >= 0) {
        close(fd);
    }
    if (text != NULL) {
        text[*length] = '\0';
    }
    return text;
}

static bool is_marked(pid_t pid)
{
    size_t length;
    char *text = read_environment(pid, &length);
    bool is_found = false;

    for (size_t at = 0; text != NULL && at < length && !is_found;
         at += strlen(text + at) + 1) {
        is_found = strncmp(text + at, NAME "=", sizeof(NAME)) == 0 &&
                   strstr(text + at + sizeof(NAME), guard.own) != NULL;
    }
    free(text);
    return is_found;
}

static int kill_marked(void)
{
    DIR *folder = opendir("/proc");
    struct dirent *entry;
    int count = 0;

    while (folder != NULL && (entry = readdir(folder)) != NULL) {
        const pid_t pid =
            isdigit((unsigned char)entry->d_name[0]) ? (pid_t)atoi(entry->d_name) : 0;

        if (pid > 0 && is_marked(pid)) {
            kill(pid, SIGKILL);
            count++;
        }
    }
    if (folder != NULL) {
        closedir(folder);
    }
    return count;
}

/* Until nothing is found twice: a process inside execve() has no mark for a moment. The
 * numbers in a /proc that is not ours would be those of other processes. */
static void sweep(void)
{
    const struct timespec pause = {.tv_sec = 0, .tv_nsec = 5000000};

    if (!proc_is_ours()) {
        return;
    }
    for (int round = 0, clean = 0; round < ROUNDS_MOST && clean < CLEAN_ROUNDS; round++) {
        clean = kill_marked() == 0 ? clean + 1 : 0;
        nanosleep(&pause, NULL);
    }
}

/* Whoever kills all of a name, or of a session, is not to find us. */
static void hide(int argc, char **argv)
{
    static const char name[] = "weft-guard";
    const char *last = argv[argc - 1];
    const size_t room = (size_t)(last + strlen(last) - argv[0]);

    for (int s = 1; s < 32; s++) {
        signal(s, SIG_IGN);
    }
    setsid();
    prctl(PR_SET_NAME, name);
    memset(argv[0], 0, room);
    memcpy(argv[0], name, room < sizeof(name) ? room : sizeof(name));
}

static void stand(int argc, char **argv, int in)
{
    char byte;
    ssize_t n;

    hide(argc, argv);
    if (dup2(in, 0) < 0 || (home_folder() >= 0 && dup2(home_folder(), 1) < 0) ||
        !descriptors_close_from(home_folder() >= 0 ? 2 : 1)) {
        return; /* holding what others wait for would be worse than no guard */
    }
    do {
        n = read(0, &byte, 1);
    } while (n < 0 && errno == EINTR);
    home_move(1);
    if (n == 0) {
        sweep();
        home_remove();
    }
}

/* ---- the front ---- */

pid_t guard_start(int argc, char **argv)
{
    int ends[2];

    if (!make_mark() || pipe2(ends, O_CLOEXEC) != 0) {
        return -1;
    }
    guard.pid = fork();
    if (guard.pid == 0) {
        stand(argc, argv, ends[0]);
        _exit(0);
    }
    close(ends[0]);
    guard.end = ends[1];
    return guard.pid;
}

void guard_dismiss(void)
{
    const struct timespec pause = {.tv_sec = 0, .tv_nsec = 1000000};

    if (guard.pid <= 0 || write(guard.end, "", 1) != 1) {
        return;
    }
    kill(guard.pid, SIGCONT); /* else one that somebody has stopped keeps us */
    for (int round = 0; round < ROUNDS_MOST; round++) {
        const pid_t ended = waitpid(guard.pid, NULL, WNOHANG);

        if (ended == guard.pid || (ended < 0 && errno != EINTR)) {
            return;
        }
        nanosleep(&pause, NULL);
    }
    kill(guard.pid, SIGKILL); /* it has nothing to do any more */
}
