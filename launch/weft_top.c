/*
 * weft_top.c - weft-top: what the ranks of a job do, live in the terminal.
 *
 * It asks mpiexec once a second (top.h) and shows the answer: ranks grouped by what they
 * do, so that a thousand of them fit on a screen, and who waits for whom.
 */
#include "bytes.h"
#include "top_ask.h"

#include "version.h"

#include <poll.h>
#include <pwd.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <termios.h>
#include <time.h>
#include <unistd.h>

enum { FEWEST_ROWS = 5, FEWEST_COLUMNS = 20 };

static const char help[] =
    "usage: weft-top [options] [PID]\n"
    "\n"
    "Shows what the ranks of a job do, once a second: ranks grouped by call, and who "
    "waits\n"
    "for whom. PID is the process id of mpiexec, on the host where it was started; "
    "without\n"
    "it, that of the only job of this user, of all users for root. q ends it.\n"
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

/* The command line of a process, its words with blanks between; "" if it is not known. */
static void read_command(int pid, char *text, size_t size)
{
    char path[64];
    FILE *file;
    size_t n;

    snprintf(path, sizeof(path), "/proc/%d/cmdline", pid);
    file = fopen(path, "re");
    n = file != NULL ? fread(text, 1, size - 1, file) : 0;
    if (file != NULL) {
        fclose(file);
    }
    while (n > 0 && text[n - 1] == '\0') {
        n--;
    }
    text[n] = '\0';
    for (size_t i = 0; i < n; i++) {
        text[i] = text[i] == '\0' || text[i] == '\n' ? ' ' : text[i];
    }
    top_make_printable(text, n);
}

static void list_job(const struct top_job *job)
{
    const struct passwd *user = getpwuid(job->user);
    char command[200];
    char number[24];

    snprintf(number, sizeof(number), "%ld", (long)job->user);
    read_command(job->pid, command, sizeof(command));
    fprintf(stderr, "  %d  %s  %s\n", job->pid, user != NULL ? user->pw_name : number,
            command);
}

static bool choose_job(struct choice *choice)
{
    struct top_job jobs[TOP_JOBS_MOST];
    const int count = top_find_jobs(jobs);

    if (count == 1) {
        choice->pid = jobs[0].pid;
        return true;
    }
    fprintf(stderr, "weft-top: %s\n",
            count > 1        ? "several jobs run; choose one by PID:"
            : geteuid() == 0 ? "no job runs on this host"
                             : "no job of this user runs on this host");
    for (int i = 0; i < count; i++) {
        list_job(&jobs[i]);
    }
    return false;
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

static const char silent[] = "does not answer: too many ask it at once, or it is stopped";

static int watch(const struct choice *choice)
{
    struct bytes text = {NULL, 0, 0};
    struct bytes last = {NULL, 0, 0};
    time_t since = time(NULL);
    enum top_result result;

    enter_screen();
    while ((result = top_ask(choice->pid, choice->has_stacks, &text)) == TOP_TOLD) {
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
    if (result != TOP_TOLD) {
        fprintf(stderr, "weft-top: job %d %s\n", choice->pid,
                result == TOP_SILENT ? silent : "has ended");
    }
    bytes_free(&text);
    bytes_free(&last);
    return 0;
}

static int print_once(const struct choice *choice)
{
    struct bytes text = {NULL, 0, 0};
    const enum top_result result = top_ask(choice->pid, choice->has_stacks, &text);

    if (result != TOP_TOLD) {
        if (result == TOP_SILENT) {
            fprintf(stderr, "weft-top: job %d %s\n", choice->pid, silent);
        } else {
            fprintf(stderr, "weft-top: there is no job %d of this user on this host\n",
                    choice->pid);
        }
        bytes_free(&text);
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
            fprintf(stderr,
                    "weft-top: %s is no option and no process id: weft-top --help tells "
                    "more\n",
                    argv[i]);
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
