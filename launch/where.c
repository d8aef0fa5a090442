#include "where.h"

#include "descriptors.h"

#include "base/clock.h"

#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

static const uint64_t BUDGET_NS = UINT64_C(1500000000);

struct answer {
    struct answer *next;
    uint64_t address;
    char path[WEFT_TRACE_PATH];
    char text[WHERE_TEXT];
};

struct where {
    struct answer *answers;
    pid_t child; /* 0: none yet; -1: none any more */
    int fd;      /* to it */
    uint64_t left_ns;
    char stack[WHERE_TEXT];
};

struct where *where_open(void)
{
    struct where *where = calloc(1, sizeof(*where));

    if (where != NULL) {
        where->left_ns = BUDGET_NS;
        where->fd = -1;
    }
    return where;
}

/* ---- the child ---- */

/* Holds nothing that others wait for, leaves no core, and does not outlive us. */
static void be_child(pid_t parent, int fd)
{
    const struct rlimit none = {0, 0};

    prctl(PR_SET_PDEATHSIG, SIGKILL);
    prctl(PR_SET_NAME, "weft-where");
    setrlimit(RLIMIT_CORE, &none);
    if (parent != getppid() || dup2(fd, 0) != 0 || !descriptors_close_from(1)) {
        _exit(1);
    }
    where_serve(0);
    _exit(0);
}

static void end_child(struct where *where)
{
    if (where->child > 0) {
        kill(where->child, SIGKILL);
        /* It may read from a file system that hangs: whoever reaps our children later
         * takes it then. */
        (void)waitpid(where->child, NULL, WNOHANG);
    }
    if (where->fd >= 0) {
        close(where->fd);
    }
    where->child = -1;
    where->fd = -1;
}

static bool start_child(struct where *where)
{
    const pid_t self = getpid();
    int ends[2];

    if (where->child != 0) {
        return where->child > 0;
    }
    where->child = -1;
    if (!where_has_dwarf() ||
        socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, ends) != 0) {
        return false;
    }
    where->child = fork();
    if (where->child == 0) {
        be_child(self, ends[1]);
    }
    close(ends[1]);
    where->fd = ends[0];
    if (where->child < 0) {
        end_child(where);
    }
    return where->child > 0;
}

/* Waits for the answer, not longer than what is left of the time. */
static bool hear(struct where *where, char *text)
{
    struct pollfd p = {.fd = where->fd, .events = POLLIN};
    const uint64_t begin = weft_clock_ns();
    uint64_t spent = 0;
    ssize_t n = -1;

    do {
        const int ms = (int)((where->left_ns - spent) / 1000000) + 1;

        if (poll(&p, 1, ms) > 0) {
            n = recv(where->fd, text, WHERE_TEXT - 1, MSG_DONTWAIT);
        }
        spent = weft_clock_ns() - begin;
    } while (p.revents == 0 && spent < where->left_ns);
    where->left_ns = spent < where->left_ns ? where->left_ns - spent : 0;
    text[n > 0 ? n : 0] = '\0';
    return n > 0;
}

static void ask(struct where *where, const struct where_question *question, char *text)
{
    text[0] = '\0';
    if (where->left_ns == 0 || !start_child(where)) {
        return;
    }
    if (send(where->fd, question, sizeof(*question), MSG_NOSIGNAL) !=
            (ssize_t)sizeof(*question) ||
        !hear(where, text)) {
        end_child(where); /* it is dead or too slow; the next one might be so, too */
    }
    if (strcmp(text, "?") == 0) {
        text[0] = '\0';
    }
}

void where_close(struct where *where)
{
    if (where == NULL) {
        return;
    }
    end_child(where);
    while (where->answers != NULL) {
        struct answer *next = where->answers->next;

        free(where->answers);
        where->answers = next;
    }
    free(where);
}

/* ---- answers ---- */

static const struct weft_trace_module *module_of(const struct weft_trace_module *modules,
                                                 int count, uint64_t address)
{
    for (int i = 0; i < count; i++) {
        if (address >= modules[i].low && address < modules[i].high) {
            return &modules[i];
        }
    }
    return NULL;
}

static const struct answer *find(const struct where *where, const char *path,
                                 uint64_t address)
{
    const struct answer *a = where->answers;

    while (a != NULL && (a->address != address || strcmp(a->path, path) != 0)) {
        a = a->next;
    }
    return a;
}

const char *where_name(struct where *where, const struct weft_trace_module *modules,
                       int count, uint64_t address)
{
    const uint64_t call = address - 1; /* what follows a call may be another line */
    const struct weft_trace_module *module = module_of(modules, count, call);
    struct where_question question;
    const struct answer *known;
    struct answer *answer;

    memset(&question, 0, sizeof(question));
    if (where == NULL || module == NULL || module->path[0] == '\0') {
        return "";
    }
    known = find(where, module->path, call - module->bias);
    if (known != NULL) {
        return known->text;
    }
    answer = calloc(1, sizeof(*answer));
    if (answer == NULL) {
        return "";
    }
    answer->address = call - module->bias;
    snprintf(answer->path, sizeof(answer->path), "%s", module->path);
    question.module = *module;
    question.address = answer->address;
    ask(where, &question, answer->text);
    if (answer->text[0] == '\0') {
        snprintf(answer->text, sizeof(answer->text), "%s+0x%llx", answer->path,
                 (unsigned long long)answer->address);
    }
    answer->next = where->answers;
    where->answers = answer;
    return answer->text;
}

const char *where_stack(struct where *where, pid_t pid)
{
    struct where_question question;

    memset(&question, 0, sizeof(question));
    question.pid = pid;
    if (where == NULL || pid <= 0) {
        return "";
    }
    ask(where, &question, where->stack);
    if (where->stack[0] == '\0' && where_has_dwarf()) {
        snprintf(where->stack, sizeof(where->stack),
                 "its stack is not read: there was no answer in time");
    }
    return where->stack;
}
