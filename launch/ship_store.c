#include "ship_store.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/sendfile.h>
#include <sys/stat.h>
#include <unistd.h>

static void name_part(int number, char *name, size_t size)
{
    snprintf(name, size, "part.%d", number);
}

bool store_open(struct store *store, int folder, int number)
{
    char name[32];

    name_part(number, name, sizeof(name));
    memset(store, 0, sizeof(*store));
    blake2b_open(&store->hash);
    store->number = number;
    store->fd = openat(folder, name, O_RDWR | O_CREAT | O_EXCL | O_CLOEXEC, 0600);
    return store->fd >= 0;
}

void store_adopt(struct store *store, int fd, uint64_t size)
{
    memset(store, 0, sizeof(*store));
    store->fd = fd;
    store->number = -1;
    store->got = size;
}

static bool write_all(int fd, const char *from, size_t bytes, uint64_t at)
{
    while (bytes > 0) {
        const ssize_t n = pwrite(fd, from, bytes, (off_t)at);

        if (n < 0 && errno == EINTR) {
            continue;
        }
        if (n <= 0) {
            errno = n == 0 ? ENOSPC : errno;
            return false;
        }
        from += n;
        at += (uint64_t)n;
        bytes -= (size_t)n;
    }
    return true;
}

enum store_news store_add(struct store *store, const struct ship_content *content,
                          const void *piece, size_t bytes)
{
    uint8_t hash[BLAKE2B_BYTES];

    if (store->got >= content->size || bytes > content->size - store->got) {
        return STORE_DAMAGED;
    }
    if (!write_all(store->fd, piece, bytes, store->got)) {
        return STORE_FAILED;
    }
    blake2b_add(&store->hash, piece, bytes);
    store->got += bytes;
    if (store->got < content->size) {
        return STORE_MORE;
    }
    blake2b_close(&store->hash, hash);
    return memcmp(hash, content->hash, sizeof(hash)) == 0 ? STORE_WHOLE : STORE_DAMAGED;
}

bool store_copy(struct store *store, int folder, int number,
                const struct ship_content *content, int from)
{
    static char piece[64 * 1024];
    enum store_news news = content->size == 0 ? STORE_WHOLE : STORE_MORE;
    char name[32];

    if (!store_open(store, folder, number)) {
        return false;
    }
    while (news == STORE_MORE) {
        const ssize_t n = read(from, piece, sizeof(piece));

        if (n > 0) {
            news = store_add(store, content, piece, (size_t)n);
        } else if (n == 0 || errno != EINTR) {
            news = STORE_FAILED;
        }
    }
    if (news != STORE_WHOLE) {
        store_close(store);
        name_part(number, name, sizeof(name));
        unlinkat(folder, name, 0);
    }
    return news == STORE_WHOLE;
}

bool store_make_way(int folder, const char *name)
{
    for (const char *slash = strchr(name, '/'); slash != NULL;
         slash = strchr(slash + 1, '/')) {
        char *way = strndup(name, (size_t)(slash - name));
        const bool is_made =
            way != NULL && (mkdirat(folder, way, 0700) == 0 || errno == EEXIST);

        free(way);
        if (!is_made) {
            return false;
        }
    }
    return true;
}

static bool copy(const struct store *store, int to)
{
    off_t at = 0;

    while ((uint64_t)at < store->got) {
        const ssize_t n =
            sendfile(to, store->fd, &at, (size_t)(store->got - (uint64_t)at));

        if (n < 0 && errno == EINTR) {
            continue;
        }
        if (n <= 0) {
            errno = n == 0 ? EIO : errno;
            return false;
        }
    }
    return true;
}

static bool put_copy(const struct store *store, int folder, const char *name, mode_t mode)
{
    const int flags = O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC | O_NOFOLLOW;
    const int to = openat(folder, name, flags, 0600);
    bool is_put;

    if (to < 0) {
        return false;
    }
    is_put = copy(store, to) && fchmod(to, mode) == 0;
    return close(to) == 0 && is_put;
}

bool store_put(struct store *store, int folder, const char *name, int mode)
{
    const mode_t kept = (mode_t)((mode & 0700) | 0400);
    char part[32];
    int reader;

    if (!store_make_way(folder, name)) {
        return false;
    }
    if (store->number < 0) {
        return put_copy(store, folder, name, kept);
    }
    name_part(store->number, part, sizeof(part));
    if (fchmod(store->fd, kept) != 0 ||
        renameat2(folder, part, folder, name, RENAME_NOREPLACE) != 0) {
        return false;
    }
    store->number = -1;
    reader = openat(folder, name, O_RDONLY | O_CLOEXEC | O_NOFOLLOW);
    if (reader < 0) {
        return false;
    }
    close(store->fd);
    store->fd = reader;
    return true;
}

void store_close(struct store *store)
{
    if (store->fd >= 0) {
        close(store->fd);
        store->fd = -1;
    }
}
