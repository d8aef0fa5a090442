#include "setup.h"

#include "claims.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

/* Variables that belong to one login on one host; each host keeps its own. */
static bool is_of_host(const char *entry)
{
    static const char *const starts[] = {
        "HOSTNAME=", "HOST=",        "SSH_",           "XDG_RUNTIME_DIR=",          "_=",
        "SHLVL=",    "XDG_SESSION_", CLAIMS_SCOPE "=", "DBUS_SESSION_BUS_ADDRESS=",
    };

    for (size_t i = 0; i < sizeof(starts) / sizeof(starts[0]); i++) {
        if (strncmp(entry, starts[i], strlen(starts[i])) == 0) {
            return true;
        }
    }
    return false;
}

/* With --ship, hosts have nothing in common: these are each host's own, too. */
static bool is_of_account(const char *entry)
{
    static const char *const starts[] = {
        "HOME=", "USER=", "LOGNAME=", "SHELL=",  "MAIL=",
        "PATH=", "PWD=",  "OLDPWD=",  "TMPDIR=",
    };

    for (size_t i = 0; i < sizeof(starts) / sizeof(starts[0]); i++) {
        if (strncmp(entry, starts[i], strlen(starts[i])) == 0) {
            return true;
        }
    }
    return false;
}

/* Has the user set it for this job? */
static bool is_set(const struct plan *plan, const char *entry)
{
    for (int i = 0; i < plan->set.count; i++) {
        if (strcmp(plan->set.at[i], entry) == 0) {
            return true;
        }
    }
    return false;
}

static void pack_list(const struct list *list, struct bytes *to)
{
    bytes_add_number(to, list->count);
    for (int i = 0; i < list->count; i++) {
        bytes_add_text(to, list->at[i]);
    }
}

static void pack_environment(const struct setup *setup, struct bytes *to)
{
    const struct list *common = &setup->environment.common;
    struct list travelling = {NULL, 0};

    for (int i = 0; i < common->count; i++) {
        if (!is_of_host(common->at[i]) &&
            (!setup->ship.is_on || !is_of_account(common->at[i]) ||
             is_set(&setup->plan, common->at[i]))) {
            list_add(&travelling, common->at[i]);
        }
    }
    pack_list(&travelling, to);
    free(travelling.at);
}

/* Where a program of the job starts: the name that the shell has for our folder, if it is
 * that one, because the true one may not be there on another host. */
static char *folder_of(const struct app *app)
{
    const char *shell = getenv("PWD");
    struct stat a;
    struct stat b;
    char *here = NULL;
    char *joined;

    if (app->wdir != NULL && app->wdir[0] == '/') {
        return strdup(app->wdir);
    }
    if (shell != NULL && shell[0] == '/' && stat(shell, &a) == 0 && stat(".", &b) == 0 &&
        a.st_ino == b.st_ino && a.st_dev == b.st_dev) {
        here = strdup(shell);
    } else {
        here = getcwd(NULL, 0);
    }
    if (app->wdir == NULL || here == NULL) {
        return here;
    }
    if (asprintf(&joined, "%s/%s", here, app->wdir) < 0) {
        joined = NULL;
    }
    free(here);
    return joined;
}

static void pack_app(const struct app *app, struct bytes *to)
{
    char *folder = folder_of(app);
    int words = 0;

    while (app->argv[words] != NULL) {
        words++;
    }
    bytes_add_number(to, words);
    for (int i = 0; i < words; i++) {
        bytes_add_text(to, app->argv[i]);
    }
    bytes_add_number(to, app->ranks);
    bytes_add_number(to, app->width);
    bytes_add_number(to, app->width_by);
    bytes_add_text(to, folder);
    pack_list(&app->set, to);
    free(folder);
}

static void pack_layout(const struct layout *layout, struct bytes *to)
{
    bytes_add_number(to, layout->count);
    for (int d = 0; d < layout->count; d++) {
        bytes_add_text(to, layout->stations[d].name);
        bytes_add_number(to, layout->stations[d].node);
        bytes_add_number(to, layout->stations[d].first);
        bytes_add_number(to, layout->stations[d].ranks);
    }
    bytes_add_number(to, layout->rank_at != NULL ? layout->ranks : 0);
    for (int p = 0; layout->rank_at != NULL && p < layout->ranks; p++) {
        bytes_add_number(to, layout->rank_at[p]);
    }
}

void setup_pack(const struct setup *setup, struct bytes *to)
{
    const struct plan *plan = &setup->plan;
    mode_t mask = umask(0);

    umask(mask);
    bytes_add_number(to, setup->job);
    bytes_add(to, setup->secret, sizeof(setup->secret));
    bytes_add_number(to, (int64_t)setup->beat_ns);
    bytes_add_number(to, (int64_t)setup->grace_ns);
    pack_list(&setup->rsh, to);
    bytes_add_text(to, setup->net);
    bytes_add_number(to, setup->first_port);
    bytes_add_number(to, setup->last_port);
    bytes_add_number(to, plan->is_report);
    bytes_add_text(to, setup->path);
    bytes_add_number(to, (int64_t)mask);
    bytes_add_number(to, plan->ranks);
    bytes_add_number(to, plan->bind);
    bytes_add_number(to, plan->spread.by);
    bytes_add_number(to, plan->spread.level);
    bytes_add_number(to, plan->spread.each);
    pack_list(&plan->slots, to);
    bytes_add_number(to, plan->may_be_foreign);
    bytes_add_number(to, plan->is_held);
    bytes_add_text(to, plan->input);
    bytes_add_text(to, plan->debug);
    bytes_add_text(to, plan->commands);
    pack_list(&plan->debugger, to);
    bytes_add_number(to, plan->keeps_going);
    bytes_add_number(to, (int64_t)(plan->hang_timeout * 1e9));
    bytes_add_number(to, plan->is_reporting_bindings);
    bytes_add_number(to, plan->app_count);
    for (int i = 0; i < plan->app_count; i++) {
        pack_app(&plan->apps[i], to);
    }
    pack_layout(&setup->layout, to);
    pack_environment(setup, to);
    ship_pack(&setup->ship, to);
}

static void read_list(struct reader *from, struct list *list)
{
    const int64_t count = reader_number(from);

    for (int64_t i = 0; i < count && !from->is_bad; i++) {
        const char *text = reader_text(from);

        list_add(list, (char *)(uintptr_t)(text != NULL ? text : ""));
    }
    if (list->at == NULL) {
        list_add(list, NULL);
        list->count = 0;
    }
}

/* How many things follow, each of which takes a number at least; 0 at a fault. */
static int64_t reader_count(struct reader *from)
{
    const int64_t count = reader_number(from);

    return from->is_bad || count < 0 || count > 1000000 ||
                   (uint64_t)count > from->left / sizeof(int64_t)
               ? 0
               : count;
}

static void read_apps(struct reader *from, struct plan *plan)
{
    const int64_t count = reader_count(from);

    if (count < 1) {
        from->is_bad = true;
        return;
    }
    plan->apps = calloc((size_t)count, sizeof(*plan->apps));
    plan->app_count = plan->apps != NULL ? (int)count : 0;
    for (int i = 0; i < plan->app_count && !from->is_bad; i++) {
        struct app *app = &plan->apps[i];
        struct list words = {NULL, 0};

        read_list(from, &words);
        app->argv = words.at;
        app->ranks = (int)reader_number(from);
        app->width = (int)reader_number(from);
        app->width_by = (enum width_by)reader_number(from);
        app->wdir = reader_text(from);
        read_list(from, &app->set);
    }
}

/* Which rank is at which place, if ranks are not in blocks. */
static void read_ranks(struct reader *from, struct layout *layout)
{
    const int count = (int)reader_count(from);
    int *rank_at = calloc((size_t)count + 1, sizeof(*rank_at));

    for (int p = 0; rank_at != NULL && p < count; p++) {
        rank_at[p] = (int)reader_number(from);
    }
    if (count > 0 && (rank_at == NULL || !layout_set_ranks(layout, rank_at, count))) {
        from->is_bad = true;
    }
    if (layout->rank_at != rank_at) {
        free(rank_at);
    }
}

static void read_layout(struct reader *from, struct layout *layout)
{
    const int64_t count = reader_count(from);

    if (count < 1) {
        from->is_bad = true;
        return;
    }
    layout->stations = calloc((size_t)count, sizeof(*layout->stations));
    layout->by_node = calloc((size_t)count, sizeof(*layout->by_node));
    layout->count = layout->stations != NULL && layout->by_node != NULL ? (int)count : 0;
    for (int d = 0; d < layout->count && !from->is_bad; d++) {
        struct station *station = &layout->stations[d];

        station->name = (char *)(uintptr_t)reader_text(from);
        station->node = (int)reader_number(from);
        station->first = (int)reader_number(from);
        station->ranks = (int)reader_number(from);
        if (station->node >= 0 && station->node < layout->count) {
            layout->by_node[station->node] = d;
            layout->nodes++;
        }
    }
    read_ranks(from, layout);
}

/* Are the ranks of all programs those of the job, and is there a program to start? */
static bool are_apps_sound(const struct plan *plan)
{
    int64_t ranks = 0;

    for (int i = 0; i < plan->app_count; i++) {
        const struct app *app = &plan->apps[i];

        if (app->ranks < 0 || app->argv == NULL ||
            (app->argv[0] == NULL && !plan->is_report)) {
            return false;
        }
        ranks += app->ranks;
    }
    return plan->app_count > 0 && plan->ranks > 0 && ranks == plan->ranks;
}

/* Does each daemon have a name, and a range of ranks of the job on a node of its own? */
static bool is_layout_sound(const struct layout *layout, int ranks)
{
    for (int d = 0; d < layout->count; d++) {
        const struct station *station = &layout->stations[d];

        if (station->name == NULL || station->ranks < 0 || station->first < 0 ||
            station->first > ranks || station->ranks > ranks - station->first ||
            station->node < -1 || station->node >= layout->nodes ||
            (station->node < 0) != (station->ranks == 0)) {
            return false;
        }
    }
    return layout->count > 0 && (layout->rank_at == NULL || layout->ranks == ranks);
}

static bool is_sound(const struct setup *setup)
{
    return setup->path != NULL && setup->beat_ns > 0 && setup->rsh.count > 0 &&
           are_apps_sound(&setup->plan) &&
           (setup->plan.debug == NULL || setup->plan.debugger.count > 0) &&
           (setup->plan.slots.count == 0 ||
            setup->plan.slots.count == setup->plan.ranks) &&
           is_layout_sound(&setup->layout, setup->plan.ranks);
}

/* Programs are looked for where mpiexec would look for them. */
static void adopt_path(const struct environment *environment)
{
    for (int i = 0; i < environment->common.count; i++) {
        if (strncmp(environment->common.at[i], "PATH=", 5) == 0) {
            setenv("PATH", environment->common.at[i] + 5, 1);
        }
    }
}

/* What belongs to the session on this host comes from here. */
static void complete_environment(struct environment *environment, bool is_shipped)
{
    extern char **environ;

    for (char **e = environ; *e != NULL; e++) {
        char name[64];

        snprintf(name, sizeof(name), "%.*s", (int)strcspn(*e, "="), *e);
        if ((is_of_host(*e) && strcmp(name, "_") != 0) ||
            (is_shipped && is_of_account(*e) &&
             list_value(&environment->common, name) == NULL)) {
            list_add(&environment->common, *e);
        }
    }
}

bool setup_unpack(struct setup *setup, const char *from, size_t bytes)
{
    char *copy = malloc(bytes);
    struct reader reader = {.at = copy, .left = bytes};
    const void *secret;
    mode_t mask;

    memset(setup, 0, sizeof(*setup));
    if (copy == NULL) {
        return false;
    }
    memcpy(copy, from, bytes);
    setup->job = (uint32_t)reader_number(&reader);
    secret = reader_take(&reader, sizeof(setup->secret));
    if (secret != NULL) {
        memcpy(setup->secret, secret, sizeof(setup->secret));
    }
    setup->beat_ns = (uint64_t)reader_number(&reader);
    setup->grace_ns = (uint64_t)reader_number(&reader);
    read_list(&reader, &setup->rsh);
    setup->net = reader_text(&reader);
    setup->first_port = (int)reader_number(&reader);
    setup->last_port = (int)reader_number(&reader);
    setup->plan.is_report = reader_number(&reader) != 0;
    setup->path = (char *)(uintptr_t)reader_text(&reader);
    mask = (mode_t)reader_number(&reader);
    setup->plan.ranks = (int)reader_number(&reader);
    setup->plan.bind = (enum bind_to)reader_number(&reader);
    setup->plan.spread.by = (enum map_by)reader_number(&reader);
    setup->plan.spread.level = (enum level)reader_number(&reader);
    setup->plan.spread.each = (int)reader_number(&reader);
    read_list(&reader, &setup->plan.slots);
    setup->plan.may_be_foreign = reader_number(&reader) != 0;
    setup->plan.is_held = reader_number(&reader) != 0;
    setup->plan.input = reader_text(&reader);
    setup->plan.debug = reader_text(&reader);
    setup->plan.commands = reader_text(&reader);
    read_list(&reader, &setup->plan.debugger);
    setup->plan.keeps_going = reader_number(&reader) != 0;
    setup->plan.hang_timeout = (double)reader_number(&reader) / 1e9;
    setup->plan.is_reporting_bindings = reader_number(&reader) != 0;
    read_apps(&reader, &setup->plan);
    read_layout(&reader, &setup->layout);
    read_list(&reader, &setup->environment.common);
    ship_unpack(&setup->ship, &reader);
    if (reader.is_bad || !is_sound(setup)) {
        return false;
    }
    umask(mask & 0777);
    adopt_path(&setup->environment);
    complete_environment(&setup->environment, setup->ship.is_on);
    return true;
}
