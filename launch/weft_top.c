/*
 * weft_top.c - weft-top: what the ranks of a job do, live in the terminal.
 *
 * It asks mpiexec once a second (top.h) and shows the answer: ranks grouped by what they
 * do, so that a thousand of them fit on a screen, and who waits for whom.
 */
#include "bytes.h"
#include "top.h"

#include "version.h"

#include <errno.h>
#include <poll.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/socket.h>
#include <termios.h>
#include <time.h>
#include <unistd.h>

enum { JOBS_MOST = 64, FEWEST_ROWS = 5, FEWEST_COLUMNS = 20 };

static const char help[] =
    "usage: weft-top [options] [PID]\n"
    "\n"
    "Shows what the ranks of a job do, once a second: ranks grouped by call, and who "
    "waits\n"
    "for whom. PID is the process id of mpiexec, on the host where it was started; "
    "without\n"
    "it, that of the only job of this user. q ends it.\n"
    "\n"
    "  --once                   print it once, and end; as without a terminal\n"
    "  --delay SECONDS          between two looks; default: 1\n"
    "  --stacks                 with the stacks of ranks outside MPI, which are held "
    "for a\n"
    "                           moment\n"
    "  --version, --help        print the version, or this text\n";

struct choice {
    int pid; /* 0: not said */
    bool is_once;
    bool has_stacks;
    double delay;
};

/* ---- jobs ---- */

static int find_jobs(int *pids)
{
    FILE *file = fopen("/proc/net/unix", "re");
    char line[512];
    int count = 0;

    while (file != NULL && count < JOBS_MOST && fgets(line, sizeof(line), file) != NULL) {
        const char *name = strstr(line, "@" TOP_NAME);
        const int pid = name != NULL ? atoi(name + strlen("@" TOP_NAME)) : 0;
        bool is_new = pid > 0;

        for (int i = 0; i < count; i++) { /* a connection has the name of its socket */
            is_new &= pids[i] != pid;
        }
        if (is_new) {
            pids[count++] = pid;
        }
    }
    if (file != NULL) {
        fclose(file);
    }
    return count;
}

static bool choose_job(struct choice *choice)
{
    int pids[JOBS_MOST];
    const int count = find_jobs(pids);

    if (count == 1) {
        choice->pid = pids[0];
        return true;
    }
    fprintf(stderr, "weft-top: %s",
            count == 0 ? "no job runs on this host\n"
                       : "several jobs run; choose one by PID:");
    for (int i = 0; i < count; i++) {
        fprintf(stderr, " %d%s", pids[i], i + 1 == count ? "\n" : "");
    }
    return false;
}

/* Says by the name of our socket that we want stacks, too. */
static bool want_stacks(int fd)
{
    struct sockaddr_un name = {.sun_family = AF_UNIX};
    static unsigned count;
    const int n = snprintf(name.sun_path + 1, sizeof(name.sun_path) - 1,
                           TOP_STACKS "%d-%u", (int)getpid(), count++);

    return bind(fd, (struct sockaddr *)&name,
                (socklen_t)(offsetof(struct sockaddr_un, sun_path) + 1 + (size_t)n)) == 0;
}

/* One report; false: there is no such job, or none any more. */
static bool ask(const struct choice *choice, struct bytes *text)
{
    struct sockaddr_un address;
    const socklen_t length = top_address(&address, choice->pid);
    const int fd = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);
    char part[4096];
    ssize_t n = -1;

    text->count = 0;
    if (fd >= 0 && (!choice->has_stacks || want_stacks(fd)) &&
        connect(fd, (struct sockaddr *)&address, length) == 0) {
        while ((n = read(fd, part, sizeof(part))) > 0) {
            bytes_add(text, part, (size_t)n);
        }
    }
    if (fd >= 0) {
        close(fd);
    }
    return n == 0 && text->count > 0;
}

/* ---- the screen ---- */

static struct termios before;
static bool has_terminal;

static void leave_screen(void)
{
    if (has_terminal) {
        tcsetattr(STDIN_FILENO, TCSANOW, &before);
        if (write(STDOUT_FILENO, "\033[?1049l\033[?25h", 14) < 0) {
            return;
        }
    }
}

/* Keys come one by one; Ctrl-C is one of them, so that the screen is always left. */
static void enter_screen(void)
{
    struct termios raw;

    has_terminal = tcgetattr(STDIN_FILENO, &before) == 0;
    if (has_terminal) {
        raw = before;
        raw.c_lflag &= ~(tcflag_t)(ICANON | ECHO | ISIG);
        tcsetattr(STDIN_FILENO, TCSANOW, &raw);
        printf("\033[?1049h\033[?25l");
    }
}

/* One line of the answer; what is longer than the screen goes on below, further right. */
static int show_line(const char *line, int length, int columns, int rows)
{
    const int indent = 6;
    int used = 0;

    for (int at = 0; used < rows && (at < length || used == 0); used++) {
        const int room = used == 0 ? columns : columns - indent;
        const int part = length - at < room ? length - at : room;

        printf("%*s%.*s\n", used == 0 ? 0 : indent, "", part, line + at);
        at += part;
    }
    return used;
}

static void show(const struct bytes *text, int pid, time_t since)
{
    struct winsize size = {.ws_row = 24, .ws_col = 80};
    struct winsize now;
    const char *at = text->at;
    const char *end = text->at + text->count;
    int rows;

    if (ioctl(STDOUT_FILENO, TIOCGWINSZ, &now) == 0 && now.ws_row > FEWEST_ROWS &&
        now.ws_col > FEWEST_COLUMNS) {
        size = now; /* some terminals have no size */
    }
    rows = size.ws_row - 2;
    printf("\033[H\033[2Jweft-top: job %d, the same for %ld s; q ends\n", pid,
           (long)(time(NULL) - since));
    while (at < end && rows > 0) {
        const char *stop = memchr(at, '\n', (size_t)(end - at));

        rows -=
            show_line(at, (int)((stop != NULL ? stop : end) - at), size.ws_col - 1, rows);
        at = stop != NULL ? stop + 1 : end;
    }
    fflush(stdout);
}

/* False: the user wants to end. */
static bool wait_for_key(double seconds)
{
    struct pollfd p = {.fd = STDIN_FILENO, .events = POLLIN};
    char key = 0;

    return poll(&p, 1, (int)(seconds * 1000)) <= 0 ||
           (read(STDIN_FILENO, &key, 1) == 1 && key != 'q' && key != 3);
}

static int watch(const struct choice *choice)
{
    struct bytes text = {NULL, 0, 0};
    struct bytes last = {NULL, 0, 0};
    time_t since = time(NULL);
    bool is_there;

    enter_screen();
    while ((is_there = ask(choice, &text))) {
        if (text.count != last.count || memcmp(text.at, last.at, text.count) != 0) {
            since = time(NULL);
            last.count = 0;
            bytes_add(&last, text.at, text.count);
        }
        show(&text, choice->pid, since);
        if (!wait_for_key(choice->delay)) {
            break;
        }
    }
    leave_screen();
    if (!is_there) {
        fprintf(stderr, "weft-top: job %d has ended\n", choice->pid);
    }
    bytes_free(&text);
    bytes_free(&last);
    return 0;
}

static int print_once(const struct choice *choice)
{
    struct bytes text = {NULL, 0, 0};

    if (!ask(choice, &text)) {
        fprintf(stderr, "weft-top: there is no job %d of this user on this host\n",
                choice->pid);
        return 1;
    }
    printf("%.*s", (int)text.count, text.at);
    bytes_free(&text);
    return 0;
}

/* ---- the command line ---- */

static bool read_number(const char *text, double *number)
{
    char *end;

    *number = strtod(text, &end);
    return end != text && *end == '\0' && *number > 0 && *number < 1e9;
}

/* -1: go on; else the exit code. */
static int parse(int argc, char **argv, struct choice *choice)
{
    for (int i = 1; i < argc; i++) {
        double number = 0;

        if (strcmp(argv[i], "--help") == 0) {
            fputs(help, stdout);
            return 0;
        }
        if (strcmp(argv[i], "--version") == 0) {
            printf("weft-top of Weft %s\n", WEFT_VERSION);
            return 0;
        }
        if (strcmp(argv[i], "--once") == 0) {
            choice->is_once = true;
        } else if (strcmp(argv[i], "--stacks") == 0) {
            choice->has_stacks = true;
        } else if (strcmp(argv[i], "--delay") == 0 && i + 1 < argc &&
                   read_number(argv[i + 1], &choice->delay)) {
            i++;
        } else if (choice->pid == 0 && read_number(argv[i], &number)) {
            choice->pid = (int)number;
        } else {
            fprintf(stderr, "weft-top: %s: weft-top --help tells more\n", argv[i]);
            return 2;
        }
    }
    return -1;
}

int main(int argc, char **argv)
{
    struct choice choice = {.delay = 1};
    const int code = parse(argc, argv, &choice);

    if (code >= 0) {
        return code;
    }
    if (choice.pid == 0 && !choose_job(&choice)) {
        return 1;
    }
    return choice.is_once || !isatty(STDOUT_FILENO) ? print_once(&choice)
                                                    : watch(&choice);
}
