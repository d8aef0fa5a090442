/*
 * match.c - see match.h. Keys that have become empty stay in their table and are thrown
 * out when it would have to grow, so that a key in steady use is made once.
 */
#include "match/match.h"

#include "base/reserve.h"

#include "engine/lock.h"

#include <assert.h>
#include <string.h>

enum { FIRST_BUCKETS = 16 };

/* ---- lists ---- */

static void link_reset(struct weft_link *head)
{
    head->next = head->previous = head;
}

static bool is_empty(const struct weft_link *head)
{
    return head->next == head;
}

static void append(struct weft_link *head, struct weft_link *link)
{
    assert(head->next->previous == head && head->previous->next == head);
    link->next = head;
    link->previous = head->previous;
    head->previous->next = link;
    head->previous = link;
}

static void take_out(struct weft_link *link)
{
    assert(link->previous->next == link && link->next->previous == link);
    link->previous->next = link->next;
    link->next->previous = link->previous;
}

static struct weft_posted *posted_at(struct weft_link *link)
{
    return (struct weft_posted *)((char *)link - offsetof(struct weft_posted, link));
}

static struct weft_waiting *waiting_at(struct weft_link *link,
                                       enum weft_match_class class)
{
    return (struct weft_waiting *)((char *)link - offsetof(struct weft_waiting, link) -
                                   (size_t) class * sizeof(struct weft_link));
}

/* ---- one class: a hash of keys ---- */

static uint32_t hash(uint32_t context, int32_t source, int32_t tag)
{
    uint64_t h = ((uint64_t)context << 32 | (uint32_t)tag) * UINT64_C(0x9e3779b97f4a7c15);

    h = (h ^ (h >> 29)) + (uint32_t)source * UINT64_C(0xbf58476d1ce4e5b9);
    return (uint32_t)((h * UINT64_C(0x94d049bb133111eb)) >> 32);
}

static bool has_key(const struct weft_match_node *n, uint32_t context, int32_t source,
                    int32_t tag)
{
    return n->tag == tag && n->source == source && n->context == context;
}

static struct weft_match_node *find_node(struct weft_match_index *index, uint32_t context,
                                         int32_t source, int32_t tag)
{
    struct weft_match_node *n = index->last;

    if (weft_likely(n != NULL && has_key(n, context, source, tag))) {
        return n;
    }
    if (index->bucket_count == 0) {
        return NULL;
    }
    n = index->buckets[hash(context, source, tag) & (index->bucket_count - 1)];
    while (n != NULL && !has_key(n, context, source, tag)) {
        n = n->next;
    }
    if (n != NULL) {
        index->last = n;
    }
    return n;
}

static void put_node(struct weft_match_index *index, struct weft_match_node *n)
{
    uint32_t at = hash(n->context, n->source, n->tag) & (index->bucket_count - 1);

    assert(index->bucket_count > 0);
    n->next = index->buckets[at];
    index->buckets[at] = n;
}

/* Makes room for one more key: throws empty ones out, and doubles if that is not enough.
 */
static enum weft_rc make_room(struct weft_match_index *index)
{
    struct weft_match_node **old = index->buckets;
    uint32_t old_count = index->bucket_count;
    uint32_t alive = 0;
    uint32_t count = FIRST_BUCKETS;

    for (uint32_t i = 0; i < old_count; i++) {
        for (struct weft_match_node *n = old[i]; n != NULL; n = n->next) {
            alive += is_empty(&n->head) ? 0 : 1;
        }
    }
    while (count < 2 * (alive + 1)) {
        count *= 2;
    }
    index->buckets = weft_reserve_take_zeroed(count * sizeof(struct weft_match_node *));
    if (index->buckets == NULL) {
        index->buckets = old;
        return WEFT_ERR_NOMEM;
    }
    index->bucket_count = count;
    index->node_count = alive;
    index->last = NULL;
    for (uint32_t i = 0; i < old_count; i++) {
        struct weft_match_node *n = old[i];

        while (n != NULL) {
            struct weft_match_node *next = n->next;

            if (is_empty(&n->head)) {
                weft_reserve_give(n);
            } else {
                put_node(index, n);
            }
            n = next;
        }
    }
    weft_reserve_give(old);
    return WEFT_OK;
}

static struct weft_match_node *make_node(struct weft_match_index *index, uint32_t context,
                                         int32_t source, int32_t tag)
{
    struct weft_match_node *n;

    /* Without memory for more buckets their lists get longer. */
    if (index->node_count >= index->bucket_count && make_room(index) != WEFT_OK &&
        index->bucket_count == 0) {
        return NULL;
    }
    n = weft_reserve_take(sizeof(*n));
    if (n == NULL) {
        return NULL;
    }
    link_reset(&n->head);
    n->context = context;
    n->source = source;
    n->tag = tag;
    put_node(index, n);
    index->node_count++;
    index->last = n;
    return n;
}

static void free_index(struct weft_match_index *index)
{
    for (uint32_t i = 0; i < index->bucket_count; i++) {
        struct weft_match_node *n = index->buckets[i];

        while (n != NULL) {
            struct weft_match_node *next = n->next;

            weft_reserve_give(n);
            n = next;
        }
    }
    weft_reserve_give(index->buckets);
    memset(index, 0, sizeof(*index));
}

/* ---- classes ---- */

static enum weft_match_class class_of(int32_t source, int32_t tag)
{
    return (enum weft_match_class)(
        (source == WEFT_ANY_SOURCE ? WEFT_MATCH_ANY_SOURCE : 0) |
        (tag == WEFT_ANY_TAG ? WEFT_MATCH_ANY_TAG : 0));
}

_Static_assert((WEFT_MATCH_ANY_SOURCE | WEFT_MATCH_ANY_TAG) == WEFT_MATCH_ANY_BOTH,
               "a class is two bits");

/* What is left open is left out of the key. */
static int32_t key_source(enum weft_match_class class, int32_t source)
{
    return (class & WEFT_MATCH_ANY_SOURCE) != 0 ? WEFT_ANY_SOURCE : source;
}

static int32_t key_tag(enum weft_match_class class, int32_t tag)
{
    return (class & WEFT_MATCH_ANY_TAG) != 0 ? WEFT_ANY_TAG : tag;
}

static struct weft_match_node *node_for(struct weft_match_index *index,
                                        enum weft_match_class class, uint32_t context,
                                        int32_t source, int32_t tag)
{
    return find_node(index, context, key_source(class, source), key_tag(class, tag));
}

/* The list of a key, made if it is new. */
static struct weft_link *list_for(struct weft_match_index *index,
                                  enum weft_match_class class, uint32_t context,
                                  int32_t source, int32_t tag)
{
    struct weft_match_node *n = node_for(index, class, context, source, tag);

    if (weft_unlikely(n == NULL)) {
        n = make_node(index, context, key_source(class, source), key_tag(class, tag));
    }
    return n != NULL ? &n->head : NULL;
}

/* ---- the matcher ---- */

void weft_match_init(struct weft_match *match)
{
    memset(match, 0, sizeof(*match));
    match->is_indexed[WEFT_MATCH_EXACT] = true;
    link_reset(&match->all);
}

void weft_match_fini(struct weft_match *match)
{
    for (int c = 0; c < WEFT_MATCH_CLASSES; c++) {
        free_index(&match->posted[c]);
        free_index(&match->waiting[c]);
    }
}

enum weft_rc weft_match_post(struct weft_match *match, struct weft_posted *entry)
{
    enum weft_match_class class = class_of(entry->source, entry->tag);
    struct weft_link *list =
        list_for(&match->posted[class], class, entry->context, entry->source, entry->tag);

    weft_assert_locked();
    if (weft_unlikely(list == NULL)) {
        return WEFT_ERR_NOMEM;
    }
    entry->number = match->next_posted++;
    entry->state = WEFT_POSTED;
    entry->offer = NULL;
    append(list, &entry->link);
    match->posted_count[class]++;
    match->posted_wild += class != WEFT_MATCH_EXACT ? 1 : 0;
    return WEFT_OK;
}

static void unpost(struct weft_match *match, struct weft_posted *entry)
{
    enum weft_match_class class = class_of(entry->source, entry->tag);

    assert(entry->state == WEFT_POSTED && match->posted_count[class] > 0);
    assert(class == WEFT_MATCH_EXACT || match->posted_wild > 0);
    take_out(&entry->link);
    match->posted_count[class]--;
    match->posted_wild -= class != WEFT_MATCH_EXACT ? 1 : 0;
}

/* Takes a linked receive out; false: its sender has claimed it, and it is out too. */
static bool claim(struct weft_match *match, struct weft_posted *entry,
                  enum weft_posted_state as)
{
    unpost(match, entry);
    if (weft_unlikely(entry->offer != NULL) &&
        !weft_share_take_back(entry->offer, entry->offer_generation)) {
        entry->state = WEFT_POSTED_CLAIMED;
        return false;
    }
    entry->state = (uint32_t)as;
    return true;
}

bool weft_match_cancel(struct weft_match *match, struct weft_posted *entry)
{
    weft_assert_locked();
    return entry->state == WEFT_POSTED && claim(match, entry, WEFT_POSTED_CANCELLED);
}

void weft_match_claimed(struct weft_match *match, struct weft_posted *entry)
{
    weft_assert_locked();
    if (entry->state == WEFT_POSTED) {
        unpost(match, entry);
        entry->state = WEFT_POSTED_CLAIMED;
    }
}

bool weft_match_may_offer(struct weft_match *match, const struct weft_posted *entry)
{
    const struct weft_match_node *key;

    weft_assert_locked();
    assert(class_of(entry->source, entry->tag) == WEFT_MATCH_EXACT);
    for (int c = WEFT_MATCH_EXACT + 1; c < WEFT_MATCH_CLASSES; c++) {
        const struct weft_match_node *n =
            match->posted_count[c] == 0
                ? NULL
                : node_for(&match->posted[c], (enum weft_match_class)c, entry->context,
                           entry->source, entry->tag);

        if (n != NULL && !is_empty(&n->head)) {
            return false;
        }
    }
    key = find_node(&match->posted[WEFT_MATCH_EXACT], entry->context, entry->source,
                    entry->tag);
    return key->head.next == &entry->link ||
           posted_at(entry->link.previous)->offer != NULL;
}

static struct weft_posted *first_exact(struct weft_match *match, uint32_t context,
                                       int32_t source, int32_t tag)
{
    struct weft_match_node *n;

    if (match->posted_count[WEFT_MATCH_EXACT] == 0) {
        return NULL;
    }
    n = find_node(&match->posted[WEFT_MATCH_EXACT], context, source, tag);
    return n != NULL && !is_empty(&n->head) ? posted_at(n->head.next) : NULL;
}

/* The oldest receive that fits, in all classes that have any. */
static struct weft_posted *oldest_posted(struct weft_match *match, uint32_t context,
                                         int32_t source, int32_t tag)
{
    struct weft_posted *best = first_exact(match, context, source, tag);

    if (weft_likely(match->posted_wild == 0)) {
        return best;
    }
    for (int c = WEFT_MATCH_EXACT + 1; c < WEFT_MATCH_CLASSES; c++) {
        enum weft_match_class class = (enum weft_match_class)c;
        struct weft_match_node *n;

        if (match->posted_count[c] == 0) {
            continue;
        }
        n = node_for(&match->posted[c], class, context, source, tag);
        if (n != NULL && !is_empty(&n->head)) {
            struct weft_posted *entry = posted_at(n->head.next);

            if (best == NULL || entry->number < best->number) {
                best = entry;
            }
        }
    }
    return best;
}

struct weft_posted *weft_match_arrive(struct weft_match *match, uint32_t context,
                                      int32_t source, int32_t tag)
{
    weft_assert_locked();
    assert(source != WEFT_ANY_SOURCE && tag != WEFT_ANY_TAG);
    for (;;) {
        struct weft_posted *entry = oldest_posted(match, context, source, tag);

        if (entry == NULL) {
            return NULL;
        }
        if (weft_likely(claim(match, entry, WEFT_POSTED_MATCHED))) {
            return entry;
        }
        /* A sender was faster and stores into it: the next one is ours. */
    }
}

/* Links a waiting message into every class that receives have asked for. */
static enum weft_rc link_all(struct weft_match *match, struct weft_waiting *entry)
{
    for (int c = 0; c < WEFT_MATCH_CLASSES; c++) {
        enum weft_match_class class = (enum weft_match_class)c;
        struct weft_link *list;

        if (!match->is_indexed[c]) {
            continue;
        }
        list = list_for(&match->waiting[c], class, entry->context, entry->source,
                        entry->tag);
        if (weft_unlikely(list == NULL)) {
            while (c-- > 0) {
                if (match->is_indexed[c]) {
                    take_out(&entry->link[c]);
                }
            }
            return WEFT_ERR_NOMEM;
        }
        append(list, &entry->link[c]);
    }
    return WEFT_OK;
}

enum weft_rc weft_match_keep(struct weft_match *match, struct weft_waiting *entry)
{
    struct weft_match_index *exact = &match->waiting[WEFT_MATCH_EXACT];
    struct weft_match_node *n = exact->last;

    weft_assert_locked();
    assert(class_of(entry->source, entry->tag) == WEFT_MATCH_EXACT);
    if (weft_likely(!match->is_indexed_wild && n != NULL &&
                    has_key(n, entry->context, entry->source, entry->tag))) {
        append(&n->head, &entry->link[WEFT_MATCH_EXACT]);
    } else if (link_all(match, entry) != WEFT_OK) {
        return WEFT_ERR_NOMEM;
    }
    entry->number = match->next_waiting++;
    append(&match->all, &entry->all);
    match->waiting_count++;
    return WEFT_OK;
}

/* The first receive that leaves this much open: waiting messages are linked for it. */
static bool start_index(struct weft_match *match, enum weft_match_class class)
{
    for (struct weft_link *l = match->all.next; l != &match->all; l = l->next) {
        struct weft_waiting *entry =
            (struct weft_waiting *)((char *)l - offsetof(struct weft_waiting, all));
        struct weft_link *list = list_for(&match->waiting[class], class, entry->context,
                                          entry->source, entry->tag);

        if (list == NULL) { /* out of memory: undo */
            for (l = l->previous; l != &match->all; l = l->previous) {
                entry = (struct weft_waiting *)((char *)l -
                                                offsetof(struct weft_waiting, all));
                take_out(&entry->link[class]);
            }
            return false;
        }
        append(list, &entry->link[class]);
    }
    match->is_indexed[class] = true;
    match->is_indexed_wild = true;
    return true;
}

/* Without memory for an index: one after the other, in order of arrival. */
static struct weft_waiting *find_by_looking(struct weft_match *match, uint32_t context,
                                            int32_t source, int32_t tag)
{
    for (struct weft_link *l = match->all.next; l != &match->all; l = l->next) {
        struct weft_waiting *entry =
            (struct weft_waiting *)((char *)l - offsetof(struct weft_waiting, all));

        if (entry->context == context &&
            (source == WEFT_ANY_SOURCE || source == entry->source) &&
            (tag == WEFT_ANY_TAG || tag == entry->tag)) {
            return entry;
        }
    }
    return NULL;
}

struct weft_waiting *weft_match_find(struct weft_match *match, uint32_t context,
                                     int32_t source, int32_t tag)
{
    enum weft_match_class class = class_of(source, tag);
    struct weft_match_node *n;

    weft_assert_locked();
    if (weft_likely(match->waiting_count == 0)) {
        return NULL;
    }
    n = match->waiting[class].last;
    if (weft_likely(class == WEFT_MATCH_EXACT && n != NULL &&
                    has_key(n, context, source, tag) && !is_empty(&n->head))) {
        return waiting_at(n->head.next, WEFT_MATCH_EXACT);
    }
    if (weft_unlikely(!match->is_indexed[class]) && !start_index(match, class)) {
        return find_by_looking(match, context, source, tag);
    }
    n = node_for(&match->waiting[class], class, context, source, tag);
    if (n == NULL || is_empty(&n->head)) {
        return NULL;
    }
    return waiting_at(n->head.next, class);
}

static void relink(const struct weft_link *from, struct weft_link *to)
{
    *to = *from;
    to->previous->next = to;
    to->next->previous = to;
}

struct weft_waiting *weft_match_find_if(const struct weft_match *match,
                                        bool (*is_it)(const struct weft_waiting *entry))
{
    for (struct weft_link *l = match->all.next; l != &match->all; l = l->next) {
        struct weft_waiting *entry =
            (struct weft_waiting *)((char *)l - offsetof(struct weft_waiting, all));

        if (is_it(entry)) {
            return entry;
        }
    }
    return NULL;
}

struct weft_waiting *weft_match_find_below(const struct weft_match *match,
                                           uint32_t context, int32_t limit)
{
    for (struct weft_link *l = match->all.next; l != &match->all; l = l->next) {
        struct weft_waiting *entry =
            (struct weft_waiting *)((char *)l - offsetof(struct weft_waiting, all));

        if (entry->context == context && entry->tag < limit) {
            return entry;
        }
    }
    return NULL;
}

void weft_match_move(struct weft_match *match, struct weft_waiting *from,
                     struct weft_waiting *to)
{
    weft_assert_locked();
    for (int c = 0; c < WEFT_MATCH_CLASSES; c++) {
        if (match->is_indexed[c]) {
            relink(&from->link[c], &to->link[c]);
        }
    }
    relink(&from->all, &to->all);
}

void weft_match_take(struct weft_match *match, struct weft_waiting *entry)
{
    weft_assert_locked();
    assert(match->waiting_count > 0);
    take_out(&entry->all);
    match->waiting_count--;
    take_out(&entry->link[WEFT_MATCH_EXACT]);
    if (weft_likely(!match->is_indexed_wild)) {
        return;
    }
    for (int c = WEFT_MATCH_EXACT + 1; c < WEFT_MATCH_CLASSES; c++) {
        if (match->is_indexed[c]) {
            take_out(&entry->link[c]);
        }
        if (match->waiting_count == 0) { /* nothing is linked: it may be forgotten */
            match->is_indexed[c] = false;
        }
    }
    match->is_indexed_wild = match->waiting_count > 0;
}
