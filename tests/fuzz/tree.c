/*
 * tree.c - what goes through the tree of daemons: what a daemon is told first, the stream
 * that a link carries, and frames of a child at the root, those of --report too.
 */
#include "fuzz.h"

#include "job_parts.h"

#include <fcntl.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <unistd.h>

enum { DAEMONS = 3, RANKS = 6, MOST = 60000 };

static struct station stations[DAEMONS];
static int by_node[DAEMONS] = {0, 1, 2};
static char *argv[] = {"program", NULL};
static struct app app = {.argv = argv, .ranks = RANKS};
static struct plan plan = {.apps = &app, .app_count = 1, .ranks = RANKS};
static struct child child;
static struct job job;
static int nowhere = -1;

/* ---- what a daemon is told first ---- */

static void unpack(struct input *in)
{
    const mode_t mask = umask(0);
    const size_t bytes = in->left;
    uint8_t *block = input_block(in, bytes);
    static struct setup setup;

    umask(mask);
    if (setup_unpack(&setup, (const char *)block, bytes)) {
        for (int d = 0; d < setup.layout.count; d++) {
            demand(setup.layout.stations[d].name != NULL, "a host without a name");
        }
        for (int r = 0; r < setup.plan.ranks && r < 1000; r++) {
            demand(plan_app_of(&setup.plan, r)->argv != NULL, "a rank without a program");
        }
    }
    umask(mask);
    free(block);
}

/* ---- the root, and a child of its that has two daemons ---- */

static void open_root(void)
{
    if (nowhere < 0) {
        nowhere = open("/dev/null", O_WRONLY | O_CLOEXEC);
        demand(freopen("/dev/null", "w", stdout) != NULL, "no output");
    }
    memset(&job, 0, sizeof(job));
    memset(&child, 0, sizeof(child));
    for (int d = 0; d < DAEMONS; d++) {
        stations[d] =
            (struct station){.name = "host", .node = d, .first = 2 * d, .ranks = 2};
    }
    job.plan = &plan;
    job.setup.plan = plan;
    job.setup.path = "mpiexec";
    job.setup.beat_ns = 1;
    job.setup.layout = (struct layout){stations, DAEMONS, by_node, DAEMONS};
    job.tree.count = DAEMONS;
    job.tree.children = &child;
    job.tree.child_count = 1;
    child.number = 1;
    child.count = DAEMONS - 1;
    job.epoll = job.front = -1;
    sink_open(&job.output, nowhere);
    job.error_to = &job.output;
    job.remote = calloc(RANKS, sizeof(*job.remote));
    job.taken = calloc(DAEMONS, sizeof(*job.taken));
    job.state = RUNNING;
    job_open_lookup(&job);
    job.pmi.count = 0;
}

static void close_root(void)
{
    for (int r = 0; r < RANKS; r++) {
        if (job.remote[r] != NULL) {
            free(job.remote[r]->output.text);
            free(job.remote[r]->error.text);
            bytes_free(&job.remote[r]->output.given);
            bytes_free(&job.remote[r]->error.given);
            free(job.remote[r]);
        }
    }
    pmi_service_close(&job.pmi);
    job_close_networks(&job);
    free(job.pmi.mapping);
    free(job.remote);
    free(job.taken);
    free(job.output.held);
}

static void read_link(struct input *in, bool is_greeted)
{
    struct greeting greeting;
    int pair[2];

    demand(socketpair(AF_UNIX, SOCK_STREAM, 0, pair) == 0, "no socket");
    open_root();
    link_open(&child.link, pair[0], pair[0]);
    child.link.is_greeted = is_greeted;
    if (in->left <= MOST) {
        (void)!send(pair[1], in->at, in->left, MSG_DONTWAIT);
    }
    shutdown(pair[1], SHUT_WR);
    while (child.link.in >= 0 &&
           link_read(&child.link, &greeting, job_on_frame, &job) == LINK_FINE) {
    }
    link_close(&child.link);
    close(pair[1]);
    close_root();
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    struct input in = {data, size};
    const uint64_t how = input_number(&in, 1) % 4;

    if (how == 0) {
        unpack(&in);
    } else {
        read_link(&in, how != 1);
    }
    return 0;
}
