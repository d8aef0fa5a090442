#include "ship_loader.h"

#include "bytes.h"

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

/* The child's life until it is the loader, whose errors are not for the user. */
_Noreturn static void become(const char *loader, const char *path, const char *search,
                             const char *also, int out)
{
    const int nothing = open("/dev/null", O_RDWR | O_CLOEXEC);
    sigset_t none;

    sigemptyset(&none);
    sigprocmask(SIG_SETMASK, &none, NULL);
    if (dup2(nothing, STDIN_FILENO) < 0 || dup2(out, STDOUT_FILENO) < 0 ||
        dup2(nothing, STDERR_FILENO) < 0) {
        _exit(127);
    }
    unsetenv("LD_LIBRARY_PATH");
    if (search != NULL) {
        setenv("LD_LIBRARY_PATH", search, 1);
    }
    if (also != NULL) {
        setenv("LD_PRELOAD", also, 1);
    }
    execl(loader, loader, "--list", path, (char *)NULL);
    _exit(127);
}

/* "NAME => PATH (0x...)", "NAME => not found", or "PATH (0x...)", which has no name. */
static void read_line(char *line, library_fn *found, void *arg)
{
    static const char arrow[] = " => ";
    char *name = line + strspn(line, "\t ");
    char *path = strstr(name, arrow);
    char *end;

    if (path == NULL) {
        return;
    }
    *path = '\0';
    path += strlen(arrow);
    end = strstr(path, " (0x");
    for (char *next = end; next != NULL; next = strstr(next + 1, " (0x")) {
        end = next;
    }
    if (end != NULL) {
        *end = '\0';
    }
    found(name, path[0] == '/' ? path : NULL, arg);
}

static void read_all(int fd, struct bytes *said)
{
    char text[4096];
    ssize_t n;

    do {
        n = read(fd, text, sizeof(text));
        if (n > 0) {
            bytes_add(said, text, (size_t)n);
        }
    } while (n > 0 || (n < 0 && errno == EINTR));
    bytes_add(said, "", 1);
}

bool loader_list(const char *loader, const char *path, const char *search,
                 const char *also, library_fn *found, void *arg)
{
    struct bytes said = {NULL, 0, 0};
    int status = -1;
    int ends[2];
    pid_t pid;

    if (pipe2(ends, O_CLOEXEC) != 0) {
        return false;
    }
    pid = fork();
    if (pid == 0) {
        become(loader, path, search, also, ends[1]);
    }
    close(ends[1]);
    read_all(ends[0], &said);
    close(ends[0]);
    while (pid > 0 && waitpid(pid, &status, 0) < 0 && errno == EINTR) {
    }
    for (char *rest, *line = strtok_r(said.at, "\n", &rest); line != NULL;
         line = strtok_r(NULL, "\n", &rest)) {
        read_line(line, found, arg);
    }
    bytes_free(&said);
    return pid > 0 && WIFEXITED(status) && WEXITSTATUS(status) == 0;
}
