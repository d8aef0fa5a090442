#include "shipping.h"

#include "job_parts.h"
#include "ship_home.h"
#include "ship_host.h"
#include "ship_store.h"
#include "texts.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

enum { AHEAD = 256 * 1024, PIECE = 64 * 1024 };

struct shipping {
    struct store *stores; /* by content */
    uint8_t *wants;       /* by content: it is to come */
    bool *is_taken;       /* by file: this host needs it */
    int left;             /* contents that are still to come */
    bool has_told;
    bool is_unloaded;
    bool is_closed;
};

static const char *own_name(const struct job *job)
{
    return job->setup.layout.stations[job->tree.me].name;
}

/* A file of the list that has this content, for words. */
static const char *name_of(const struct ship *ship, int content)
{
    for (int i = 0; i < ship->file_count; i++) {
        if (ship->files[i].content == content) {
            return ship->files[i].name;
        }
    }
    return "";
}

static void refuse_store(struct job *job, const char *name)
{
    char line[1024];

    snprintf(line, sizeof(line), TEXT_SHIP_STORE, own_name(job), name,
             home_path() != NULL ? home_path() : "its folder", strerror(errno),
             (double)ship_bytes(&job->setup.ship) / 1e6);
    job_lose_daemon(job, line);
}

/* ---- the beginning ---- */

static bool make(struct job *job)
{
    const struct ship *ship = &job->setup.ship;
    struct shipping *made = calloc(1, sizeof(*made));

    if (made == NULL) {
        return false;
    }
    made->stores = calloc((size_t)ship->content_count + 1, sizeof(*made->stores));
    made->wants = calloc((size_t)ship->content_count + 1, sizeof(*made->wants));
    made->is_taken = calloc((size_t)ship->file_count + 1, sizeof(*made->is_taken));
    for (int i = 0; made->stores != NULL && i < ship->content_count; i++) {
        store_adopt(&made->stores[i], -1, 0);
    }
    job->shipping = made;
    return made->stores != NULL && made->wants != NULL && made->is_taken != NULL;
}

/* The root has all files. */
static bool open_files(struct job *job)
{
    const struct ship *ship = &job->setup.ship;

    for (int i = 0; i < ship->file_count; i++) {
        const struct ship_file *file = &ship->files[i];
        struct store *store = &job->shipping->stores[file->content];

        if (store->fd < 0) {
            const int fd = open(file->path, O_RDONLY | O_CLOEXEC | O_NOCTTY);

            if (fd < 0) {
                job_say(job, TEXT_SHIP_READ, file->path, strerror(errno));
                return false;
            }
            store_adopt(store, fd, ship->contents[file->content].size);
        }
    }
    return true;
}

/* What this host takes and does not have is wanted. */
static bool look_around(struct job *job)
{
    const struct ship *ship = &job->setup.ship;
    struct shipping *shipping = job->shipping;
    char why[1024];

    if (!ship_choose(ship, own_name(job), shipping->is_taken, why, sizeof(why))) {
        job_lose_daemon(job, why);
        return false;
    }
    for (int i = 0; i < ship->file_count; i++) {
        const struct ship_file *file = &ship->files[i];
        struct store *store = &shipping->stores[file->content];
        int fd;

        if (!shipping->is_taken[i] || store->fd >= 0) {
            continue;
        }
        fd = ship_find_here(ship, file);
        shipping->wants[file->content] =
            fd < 0 || !store_copy(store, home_folder(), file->content,
                                  &ship->contents[file->content], fd);
        if (fd >= 0) {
            close(fd);
        }
    }
    return true;
}

bool shipping_begin(struct job *job)
{
    if (!job->setup.ship.is_on) {
        return true;
    }
    if (!make(job)) {
        job_lose_daemon(job, strerror(ENOMEM));
        return false;
    }
    if (job_is_daemon(job)) {
        return look_around(job);
    }
    job->shipping->is_unloaded = true;
    return open_files(job);
}

bool shipping_is_done(const struct job *job)
{
    return !job->setup.ship.is_on ||
           (job->shipping != NULL && job->shipping->is_unloaded);
}

/* ---- what is wanted ---- */

static bool have_all_told(const struct job *job)
{
    for (int i = 0; i < job->tree.child_count; i++) {
        if (job->tree.children[i].feed.want == NULL) {
            return false;
        }
    }
    return true;
}

/* What those below want and we do not have comes to us, too. */
static void want_for_children(struct job *job)
{
    struct shipping *shipping = job->shipping;

    for (int c = 0; c < job->setup.ship.content_count; c++) {
        for (int i = 0; i < job->tree.child_count; i++) {
            shipping->wants[c] |= job->tree.children[i].feed.want[c];
        }
        shipping->wants[c] &= shipping->stores[c].fd < 0;
    }
}

static bool open_stores(struct job *job)
{
    struct shipping *shipping = job->shipping;

    for (int c = 0; c < job->setup.ship.content_count; c++) {
        if (shipping->wants[c] == 0) {
            continue;
        }
        if (!store_open(&shipping->stores[c], home_folder(), c)) {
            refuse_store(job, name_of(&job->setup.ship, c));
            return false;
        }
        if (job->setup.ship.contents[c].size == 0) {
            shipping->wants[c] = 0; /* nothing comes, and that is all of it */
        } else {
            shipping->left++;
        }
    }
    return true;
}

void shipping_tell_want(struct job *job)
{
    struct shipping *shipping = job->shipping;
    struct frame frame = {.kind = FRAME_WANT, .to = -1, .from = job->tree.me, .rank = -1};

    if (shipping == NULL || shipping->has_told || !job_is_daemon(job) ||
        !have_all_told(job)) {
        return;
    }
    shipping->has_told = true;
    want_for_children(job);
    if (!open_stores(job)) {
        return;
    }
    frame.bytes = (uint32_t)job->setup.ship.content_count;
    link_send(&job->tree.up, &frame, shipping->wants);
}

void shipping_on_want(struct job *job, struct child *child, const struct frame *frame,
                      const char *payload)
{
    const int count = job->setup.ship.content_count;

    if (job->shipping == NULL || child->feed.want != NULL ||
        frame->bytes != (uint32_t)count) {
        return;
    }
    child->feed.want = calloc((size_t)count + 1, 1);
    if (child->feed.want == NULL) {
        return;
    }
    for (int c = 0; c < count; c++) {
        child->feed.want[c] = payload[c] != 0;
    }
    shipping_tell_want(job);
}

/* ---- pieces ---- */

void shipping_on_piece(struct job *job, const struct frame *frame, const char *payload)
{
    struct shipping *shipping = job->shipping;
    const struct ship *ship = &job->setup.ship;
    const int c = frame->value;
    char line[512];

    if (shipping == NULL || job->state != STARTING || c < 0 || c >= ship->content_count ||
        shipping->wants[c] == 0) {
        return;
    }
    switch (store_add(&shipping->stores[c], &ship->contents[c], payload, frame->bytes)) {
    case STORE_MORE:
        break;
    case STORE_WHOLE:
        shipping->wants[c] = 0;
        shipping->left--;
        break;
    case STORE_DAMAGED:
        snprintf(line, sizeof(line), TEXT_SHIP_HASH, own_name(job), name_of(ship, c));
        job_lose_daemon(job, line);
        break;
    case STORE_FAILED:
        refuse_store(job, name_of(ship, c));
        break;
    }
}

bool shipping_has_come(const struct job *job)
{
    return job->shipping != NULL && job->shipping->has_told && job->shipping->left == 0 &&
           !job->shipping->is_unloaded && job->state == STARTING;
}

/* The next piece for a child; false if there is none now. */
static bool feed_piece(struct job *job, struct child *child)
{
    static char piece[PIECE];
    const struct ship *ship = &job->setup.ship;
    struct shipment *feed = &child->feed;
    struct frame frame = {
        .kind = FRAME_PIECE, .to = -1, .from = job->tree.me, .rank = -1};
    const struct store *store;
    uint64_t there;
    ssize_t n;

    while (feed->content < ship->content_count &&
           (feed->want[feed->content] == 0 ||
            feed->at == ship->contents[feed->content].size)) {
        feed->content++;
        feed->at = 0;
    }
    if (feed->content == ship->content_count) {
        return false;
    }
    store = &job->shipping->stores[feed->content];
    there = store->got - feed->at;
    if (there == 0) {
        return false;
    }
    n = pread(store->fd, piece, there < PIECE ? (size_t)there : PIECE, (off_t)feed->at);
    if (n <= 0) {
        char line[1024];

        snprintf(line, sizeof(line), TEXT_SHIP_CHANGED, name_of(ship, feed->content));
        job_lose_daemon(job, line);
        return false;
    }
    frame.bytes = (uint32_t)n;
    frame.value = feed->content;
    link_send(&child->link, &frame, piece);
    feed->at += (uint64_t)n;
    return true;
}

/* Ranks start, or the job ends: what was to be sent is no longer needed. */
static void close_stores(struct job *job)
{
    for (int c = 0; c < job->setup.ship.content_count; c++) {
        store_close(&job->shipping->stores[c]);
    }
    job->shipping->is_closed = true;
}

void shipping_tend(struct job *job)
{
    if (job->shipping != NULL && job->state != STARTING && !job->shipping->is_closed) {
        close_stores(job);
    }
    for (int i = 0;
         job->shipping != NULL && job->state == STARTING && i < job->tree.child_count;
         i++) {
        struct child *child = &job->tree.children[i];

        while (!child->is_gone && child->feed.want != NULL &&
               child->link.waiting.count < AHEAD && job->state == STARTING &&
               feed_piece(job, child)) {
        }
    }
}

/* ---- unloading ---- */

static bool put_files(struct job *job)
{
    const struct ship *ship = &job->setup.ship;

    for (int i = 0; i < ship->file_count; i++) {
        const struct ship_file *file = &ship->files[i];
        char *name;
        bool is_put;

        if (!job->shipping->is_taken[i]) {
            continue;
        }
        if (asprintf(&name, "%s/%s",
                     file->kind == SHIP_RUN ? SHIP_RUN_FOLDER : SHIP_LIB_FOLDER,
                     file->name) < 0) {
            return false;
        }
        is_put = store_put(&job->shipping->stores[file->content], home_folder(), name,
                           file->mode);
        free(name);
        if (!is_put) {
            refuse_store(job, file->name);
            return false;
        }
    }
    return true;
}

/* A path in our folder, which stays as long as the process. */
static char *path_in(const char *folder, const char *name)
{
    char *path;

    if (asprintf(&path, "%s/%s%s%s", home_path(), folder, name != NULL ? "/" : "",
                 name != NULL ? name : "") < 0) {
        perror(program_name);
        exit(1);
    }
    return path;
}

/* Makes the folder of -wdir, as far as it is not there. */
static void make_folder(const char *wdir)
{
    char *name;

    if (wdir != NULL && asprintf(&name, "%s/%s/", SHIP_RUN_FOLDER, wdir) >= 0) {
        (void)store_make_way(home_folder(), name); /* ranks say it if it is missing */
        free(name);
    }
}

static const char search_name[] = "LD_LIBRARY_PATH";

/* The entry of the environment that adds the libraries of our folder to `others`. */
static char *search_from(const char *others)
{
    const bool has_others = others != NULL && others[0] != '\0';
    char *entry;

    if (asprintf(&entry, "%s=%s/%s%s%s", search_name, home_path(), SHIP_LIB_FOLDER,
                 has_others ? ":" : "", has_others ? others : "") < 0) {
        perror(program_name);
        exit(1);
    }
    return entry;
}

static void change_plan(struct job *job)
{
    const struct ship *ship = &job->setup.ship;
    const struct list *common = &job->setup.environment.common;

    for (int i = 0; i < ship->app_count && i < job->setup.plan.app_count; i++) {
        struct app *app = &job->setup.plan.apps[i];
        const char *wdir = ship->apps[i].wdir;

        if (wdir == NULL || wdir[0] != '/') {
            make_folder(wdir);
            app->wdir = path_in(SHIP_RUN_FOLDER, wdir);
        }
        if (ship->apps[i].file >= 0) {
            app->argv[0] = path_in(SHIP_RUN_FOLDER, ship->files[ship->apps[i].file].name);
        }
        if (list_value(&app->set, search_name) != NULL) {
            list_add(&app->set, search_from(list_value(&app->set, search_name)));
        }
    }
    environment_set(&job->setup.environment,
                    search_from(list_value(common, search_name)));
}

bool shipping_unload(struct job *job)
{
    if (job->shipping == NULL) {
        return true;
    }
    if (!put_files(job)) {
        return false;
    }
    change_plan(job);
    job->shipping->is_unloaded = true;
    return true;
}
