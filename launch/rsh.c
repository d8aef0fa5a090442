#include "rsh.h"

#include "allocation.h"
#include "route.h"
#include "texts.h"

#include "base/settings.h"

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#define CANNOT_RUN "cannot run "

/* ControlMaster: an ssh of ours ends with the job, so it must not serve the user's. */
static const char ssh_words[] =
    "ssh -x -T -o BatchMode=yes -o ConnectTimeout=10 -o ConnectionAttempts=1 "
    "-o ControlMaster=no";
static const char srun_words[] =
    "srun --overlap --nodes=1 --ntasks=1 --mpi=none --quiet --kill-on-bad-exit=0 "
    "--input=0 --nodelist";

void rsh_choose(struct list *words, bool is_in_slurm)
{
    const char *own = weft_setting_text(WEFT_SET_RSH);
    const bool is_set = own[strspn(own, " ")] != '\0';
    const char *text = is_set ? own : is_in_slurm ? srun_words : ssh_words;
    char *copy = strdup(text);

    if (copy == NULL) {
        perror(program_name);
        exit(1);
    }
    for (char *rest, *word = strtok_r(copy, " ", &rest); word != NULL;
         word = strtok_r(NULL, " ", &rest)) {
        list_add(words, word);
    }
}

/* In quotes, where a shell would not read it as one word; a quote ends and resumes them.
 */
char *rsh_quote(const char *word)
{
    static const char plain[] = "abcdefghijklmnopqrstuvwxyz"
                                "ABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789/._-+=,@%";
    char *quoted = NULL;
    size_t size = 0;
    FILE *to;

    if (word[strspn(word, plain)] == '\0') {
        return strdup(word);
    }
    to = open_memstream(&quoted, &size);
    if (to == NULL) {
        return NULL;
    }
    putc('\'', to);
    for (const char *c = word; *c != '\0'; c++) {
        fputs(*c == '\'' ? "'\\''" : (char[]){*c, '\0'}, to);
    }
    putc('\'', to);
    fclose(to);
    return quoted;
}

char *rsh_own_path(void)
{
    char path[4096];
    ssize_t n = readlink("/proc/self/exe", path, sizeof(path) - 1);

    if (n <= 0) {
        return strdup("mpiexec");
    }
    path[n] = '\0';
    return rsh_quote(path);
}

static bool is_ssh(const char *command)
{
    const char *slash = strrchr(command, '/');

    return strcmp(slash != NULL ? slash + 1 : command, "ssh") == 0;
}

/* Options of ssh that take it to a host by WEFT_NET, for as long as they are in use. */
struct steering {
    struct route route;
    char to[WEFT_NET_TEXT + 16];
    char key[512]; /* the host's key is still looked up by its name */
};

static void steer(struct list *argv, struct steering *steering, const char *host,
                  const char *net)
{
    const char *at = strrchr(host, '@');
    const char *name = at != NULL ? at + 1 : host;

    if (!is_ssh(argv->at[0]) || !route_find(&steering->route, name, net)) {
        return;
    }
    snprintf(steering->to, sizeof(steering->to), "-oHostName=%s", steering->route.to);
    snprintf(steering->key, sizeof(steering->key), "-oHostKeyAlias=%s", name);
    list_add(argv, (char *)(uintptr_t) "-b");
    list_add(argv, steering->route.from);
    list_add(argv, steering->to);
    list_add(argv, steering->key);
}

/*
 * In a heterogeneous allocation srun reaches a node only if the node's component is named
 * behind it; the number of that component, or -1.
 */
static int component_of(const char *command, const char *host)
{
    const char *count = getenv("SLURM_HET_SIZE");
    int found = -1;

    if (strcmp(command, "srun") != 0 || count == NULL) {
        return -1;
    }
    for (int i = 0; found < 0 && i < atoi(count); i++) {
        struct hosts hosts = {.at = NULL};

        if (allocation_add_component(&hosts, i) && hosts_has(&hosts, host)) {
            found = i;
        }
        hosts_close(&hosts);
    }
    return found;
}

/* What the command is started with. */
struct start {
    const struct list *words;
    const char *host;
    const char *net;
    const char *path;
    const char *option;
    int pipes[3][2]; /* for its standard input, output and error */
};

/*
 * The child's life until it runs the command. A session of its own has no terminal to ask
 * at. Names are looked up here: a name server that does not answer must not keep the
 * keeper from its links.
 */
_Noreturn static void become(const struct start *start)
{
    struct list argv = {NULL, 0};
    const int component = component_of(start->words->at[0], start->host);
    char group[32];
    struct steering steering;
    sigset_t none;

    setsid();
    for (int s = 1; s < 32; s++) {
        signal(s, SIG_DFL);
    }
    sigemptyset(&none);
    sigprocmask(SIG_SETMASK, &none, NULL);
    if (dup2(start->pipes[0][0], 0) < 0 || dup2(start->pipes[1][1], 1) < 0 ||
        dup2(start->pipes[2][1], 2) < 0) {
        _exit(127);
    }
    for (int i = 0; i < start->words->count; i++) {
        list_add(&argv, start->words->at[i]);
    }
    steer(&argv, &steering, start->host, start->net);
    list_add(&argv, (char *)(uintptr_t)start->host);
    if (component >= 0) {
        snprintf(group, sizeof(group), "--het-group=%d", component);
        list_add(&argv, group);
    }
    list_add(&argv, (char *)(uintptr_t)start->path);
    if (start->option != NULL) {
        list_add(&argv, (char *)(uintptr_t)start->option);
    }
    execvp(argv.at[0], argv.at);
    dprintf(STDERR_FILENO, CANNOT_RUN "%s: %s\n", argv.at[0], strerror(errno));
    _exit(127);
}

/* Leaves errno alone. */
static void close_pipes(int pipes[3][2])
{
    const int why = errno;

    for (int i = 0; i < 3; i++) {
        for (int end = 0; end < 2; end++) {
            if (pipes[i][end] >= 0) {
                close(pipes[i][end]);
            }
        }
    }
    errno = why;
}

static bool open_pipes(int pipes[3][2])
{
    memset(pipes, -1, sizeof(int[3][2]));
    for (int i = 0; i < 3; i++) {
        if (pipe2(pipes[i], O_CLOEXEC) != 0) {
            close_pipes(pipes);
            return false;
        }
    }
    return true;
}

bool rsh_start(const struct list *words, const char *host, const char *net,
               const char *path, const char *option, struct rsh *rsh)
{
    struct start start = {
        .words = words, .host = host, .net = net, .path = path, .option = option};

    if (!open_pipes(start.pipes)) {
        return false;
    }
    rsh->pid = fork();
    if (rsh->pid == 0) {
        become(&start);
    }
    if (rsh->pid < 0) {
        close_pipes(start.pipes);
        return false;
    }
    close(start.pipes[0][0]);
    close(start.pipes[1][1]);
    close(start.pipes[2][1]);
    fcntl(start.pipes[2][0], F_SETFL, O_NONBLOCK);
    rsh->input = start.pipes[0][1];
    rsh->output = start.pipes[1][0];
    rsh->error = start.pipes[2][0];
    return true;
}

/* Words of ssh and of shells, and what helps. %s is the host. */
static const struct {
    const char *words;
    const char *help;
} known[] = {
    {CANNOT_RUN, "install it, or name another command in WEFT_RSH"},
    {"Permission denied",
     "ssh would have to ask for a password: make 'ssh %s true' work without one "
     "(ssh-copy-id %s)"},
    {"Host key verification failed",
     "its key is not known here, or has changed: run 'ssh %s' once by hand and check it"},
    {"Could not resolve", "no such host is known: check the name, in DNS or /etc/hosts"},
    {"Name or service not known",
     "no such host is known: check the name, in DNS or /etc/hosts"},
    {"Connection refused",
     "the host is up, but takes no ssh: start sshd there, or open its port (22)"},
    {"timed out", "the host is down, or a firewall drops what is sent to its port of ssh "
                  "(22): try 'ssh %s true'"},
    {"No route to host", "the host is down, or no network leads there"},
    {"Network is unreachable", "the host is down, or no network leads there"},
    {"error while loading shared libraries",
     "a library that mpiexec needs is not there on the host: install it, or set "
     "LD_LIBRARY_PATH there for shells that are not interactive"},
    {"not found", "Weft has to be installed under the same path on every host"},
    {"No such file", "Weft has to be installed under the same path on every host"},
    {"ermission denied", "the file must be executable on the host"},
    {"cannot execute", "the file must be executable on the host, and made for it"},
};

static const char *help_for(const char *said)
{
    for (size_t i = 0; i < sizeof(known) / sizeof(known[0]); i++) {
        if (strstr(said, known[i].words) != NULL) {
            return known[i].help;
        }
    }
    return "try the command by hand";
}

/* The last line that says something, without its end. */
static void last_line(const char *said, char *line, size_t size)
{
    size_t end = strlen(said);
    size_t begin;

    while (end > 0 && (said[end - 1] == '\n' || said[end - 1] == '\r')) {
        end--;
    }
    begin = end;
    while (begin > 0 && said[begin - 1] != '\n') {
        begin--;
    }
    snprintf(line, size, "%.*s", (int)(end - begin), said + begin);
}

void rsh_explain(char *line, size_t size, const struct list *words, const char *host,
                 const char *path, int status, const char *said)
{
    char cause[512];
    char help[512];

    last_line(said, cause, sizeof(cause));
    if (cause[0] == '\0' && WIFSIGNALED(status)) {
        snprintf(cause, sizeof(cause), TEXT_HOST_KILLED, WTERMSIG(status),
                 strsignal(WTERMSIG(status)));
    } else if (cause[0] == '\0') {
        snprintf(cause, sizeof(cause), TEXT_HOST_SILENT, WEXITSTATUS(status));
    }
#pragma GCC diagnostic push
#pragma GCC diagnostic ignored "-Wformat-nonliteral"
    snprintf(help, sizeof(help), help_for(said), host, host);
#pragma GCC diagnostic pop
    snprintf(line, size, TEXT_HOST_START, host, path, words->at[0], cause, help);
}
