/*
 * ship_pack.c - the list of what is shipped, on its way through the tree. What comes out
 * of it is checked: a name never leads out of its folder.
 */
#include "ship.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

enum { MOST = 1000000, PIECE = 64 * 1024 };

static void pack_file(const struct ship_file *file, struct bytes *to)
{
    bytes_add_number(to, file->kind);
    bytes_add_text(to, file->name);
    bytes_add_text(to, file->path);
    bytes_add_number(to, file->mode);
    bytes_add_number(to, file->content);
    bytes_add_number(to, file->glibc);
    bytes_add_number(to, file->group);
    bytes_add_text(to, file->loader);
    bytes_add_number(to, file->needs.count);
    for (int i = 0; i < file->needs.count; i++) {
        bytes_add_text(to, file->needs.at[i]);
    }
}

void ship_pack(const struct ship *ship, struct bytes *to)
{
    bytes_add_number(to, ship->is_on);
    if (!ship->is_on) {
        return;
    }
    bytes_add_number(to, ship->content_count);
    for (int i = 0; i < ship->content_count; i++) {
        bytes_add_number(to, (int64_t)ship->contents[i].size);
        bytes_add(to, ship->contents[i].hash, BLAKE2B_BYTES);
    }
    bytes_add_number(to, ship->file_count);
    for (int i = 0; i < ship->file_count; i++) {
        pack_file(&ship->files[i], to);
    }
    bytes_add_number(to, ship->app_count);
    for (int i = 0; i < ship->app_count; i++) {
        bytes_add_number(to, ship->apps[i].file);
        bytes_add_text(to, ship->apps[i].wdir);
    }
}

/* Memory for things that follow, each of which takes a number at least. */
static void *make(struct reader *from, size_t each, int *count)
{
    const int64_t number = reader_number(from);
    void *made = NULL;

    *count = 0;
    if (from->is_bad || number < 0 || number > MOST ||
        (uint64_t)number > from->left / sizeof(int64_t)) {
        from->is_bad = true;
        return NULL;
    }
    made = calloc((size_t)number + 1, each);
    from->is_bad |= made == NULL;
    *count = made != NULL ? (int)number : 0;
    return made;
}

/* Does it stay in its folder, and name a file there? */
static bool is_inside(const char *name)
{
    if (name == NULL) {
        return false;
    }
    for (;;) {
        const size_t length = strcspn(name, "/");

        if (length == 0 || (length == 1 && name[0] == '.') ||
            (length == 2 && name[0] == '.' && name[1] == '.')) {
            return false;
        }
        if (name[length] == '\0') {
            return true;
        }
        name += length + 1;
    }
}

static int read_index(struct reader *from, int least, int count)
{
    const int64_t number = reader_number(from);

    from->is_bad |= number < least || number >= count;
    return from->is_bad ? least : (int)number;
}

static void read_file(struct reader *from, const struct ship *ship,
                      struct ship_file *file)
{
    int64_t needs;

    file->kind = (enum ship_kind)read_index(from, 0, SHIP_KINDS);
    file->name = reader_text(from);
    file->path = reader_text(from);
    file->mode = (int)reader_number(from) & 0777;
    file->content = read_index(from, 0, ship->content_count);
    file->glibc = (int)reader_number(from);
    file->group = read_index(from, -1, ship->file_count);
    file->loader = reader_text(from);
    needs = reader_number(from);
    for (int64_t i = 0; i < needs && !from->is_bad; i++) {
        const char *text = reader_text(from);

        if (text == NULL || strchr(text, ' ') == NULL) {
            from->is_bad = true;
            return;
        }
        list_add(&file->needs, (char *)(uintptr_t)text);
    }
    from->is_bad |= !is_inside(file->name) || file->path == NULL ||
                    (file->kind != SHIP_RUN && strchr(file->name, '/') != NULL);
}

void ship_unpack(struct ship *ship, struct reader *from)
{
    memset(ship, 0, sizeof(*ship));
    ship->is_on = reader_number(from) != 0;
    if (!ship->is_on) {
        return;
    }
    ship->contents = make(from, sizeof(*ship->contents), &ship->content_count);
    for (int i = 0; i < ship->content_count && !from->is_bad; i++) {
        const void *hash;

        ship->contents[i].size = (uint64_t)reader_number(from);
        hash = reader_take(from, BLAKE2B_BYTES);
        if (hash != NULL) {
            memcpy(ship->contents[i].hash, hash, BLAKE2B_BYTES);
        }
    }
    ship->files = make(from, sizeof(*ship->files), &ship->file_count);
    for (int i = 0; i < ship->file_count && !from->is_bad; i++) {
        read_file(from, ship, &ship->files[i]);
    }
    ship->apps = make(from, sizeof(*ship->apps), &ship->app_count);
    for (int i = 0; i < ship->app_count && !from->is_bad; i++) {
        ship->apps[i].file = read_index(from, -1, ship->file_count);
        ship->apps[i].wdir = reader_text(from);
    }
}

uint64_t ship_bytes(const struct ship *ship)
{
    uint64_t bytes = 0;

    for (int i = 0; i < ship->content_count; i++) {
        bytes += ship->contents[i].size;
    }
    return bytes;
}

bool ship_hash(int fd, struct ship_content *content)
{
    static char piece[PIECE];
    struct blake2b hash;
    ssize_t n;

    content->size = 0;
    blake2b_open(&hash);
    do {
        n = read(fd, piece, sizeof(piece));
        if (n > 0) {
            blake2b_add(&hash, piece, (size_t)n);
            content->size += (uint64_t)n;
        }
    } while (n > 0 || (n < 0 && errno == EINTR));
    blake2b_close(&hash, content->hash);
    return n == 0;
}
