/*
 * ship_store.h - contents of a list (ship.h) as they arrive: stored, hashed, checked, and
 * put where their files belong.
 */
#ifndef WEFT_LAUNCH_SHIP_STORE_H
#define WEFT_LAUNCH_SHIP_STORE_H

#include "ship.h"

/* One content. */
struct store {
    int fd;     /* to be read from, also while it grows; -1: nothing is there */
    int number; /* of its file in the folder, until that gets a name; -1: it has none */
    uint64_t got;
    struct blake2b hash;
};

enum store_news { STORE_MORE, STORE_WHOLE, STORE_DAMAGED, STORE_FAILED };

/* Makes the file in which it is stored. False with errno set. */
bool store_open(struct store *store, int folder, int number);

/* A content that is there already. */
void store_adopt(struct store *store, int fd, uint64_t size);

/*
 * Adds a piece. STORE_DAMAGED: the hash of the whole is another one, or it is too long;
 * STORE_FAILED: it cannot be written, and errno says why.
 */
enum store_news store_add(struct store *store, const struct ship_content *content,
                          const void *piece, size_t bytes);

/*
 * Makes the file in which it is stored, as store_open(), and copies into it what can be
 * read from `from`. False if that is not `content`, or cannot be copied: then nothing of
 * it stays. What is checked is the copy: whoever owns the other file may change it
 * meanwhile.
 */
bool store_copy(struct store *store, int folder, int number,
                const struct ship_content *content, int from);

/*
 * Makes `name` below the folder of it, with the folders on the way: the first time by
 * giving it that name, later by copying it. False with errno set. A whole content is then
 * open for reading only, or the kernel would not run it.
 */
bool store_put(struct store *store, int folder, const char *name, int mode);

/* Makes the folders on the way to `name`. False with errno set. */
bool store_make_way(int folder, const char *name);

void store_close(struct store *store);

#endif
