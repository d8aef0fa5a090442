/*
 * keep.c - copies of array sections, and arrays of handles, that live as long as a call
 * or the operation that it starts.
 *
 * Collectives need copies: a reduction takes no derived datatype, and blocks of several
 * ranks lie at multiples of an extent. A section whose operation goes on is copied back
 * by the Fortran procedure that finds its request complete. The list of these is short;
 * it is guarded by one mutex, and its length is read without it.
 *
 * While an operation goes on, the program may change the elements that MPI does not
 * write: all of them where the buffer is not significant, or those between the blocks. So
 * an output section has a second copy, which MPI never sees, and only the bytes in which
 * the two copies differ are copied back. In all other bytes the operation has left the
 * value that the section had, or has written nothing.
 */
#include "fortran.h"

#include <pthread.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>

struct waiting {
    struct waiting *next;
    struct weft_kept kept;
    unsigned long number; /* never used twice */
    int request;
    bool is_persistent;
    bool is_active; /* may still have to be copied back */
};

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static struct waiting *list;
static unsigned long last_number;
static atomic_int waiting_count;

/* Calls `each` with the address and the place in the copy of every element of a section.
 */
static void walk(const struct weft_kept_section *section,
                 void (*each)(const struct weft_kept_section *section, char *at,
                              size_t place))
{
    CFI_index_t index[CFI_MAX_RANK] = {0};
    size_t place = 0;
    char *at = section->base;
    int i;

    do {
        each(section, at, place);
        place += section->element;
        for (i = 0; i < section->rank; i++) {
            at += section->dim[i].step;
            if (++index[i] < section->dim[i].extent) {
                break;
            }
            at -= section->dim[i].step * section->dim[i].extent;
            index[i] = 0;
        }
    } while (i < section->rank);
}

static void copy_element(const struct weft_kept_section *section, char *at, size_t place)
{
    memcpy(section->copy + place, at, section->element);
}

static void copy_element_back(const struct weft_kept_section *section, char *at,
                              size_t place)
{
    const char *now = section->copy + place;
    const char *before = section->before + place;

    for (size_t i = 0; i < section->element; i++) {
        if (now[i] != before[i]) {
            at[i] = now[i];
        }
    }
}

static void copy_section(const struct weft_kept_section *section)
{
    walk(section, copy_element);
    if (section->before != NULL) {
        memcpy(section->before, section->copy, section->bytes);
    }
}

static void describe(struct weft_kept_section *section, const CFI_cdesc_t *array)
{
    section->bytes = array->elem_len;
    section->base = array->base_addr;
    section->element = array->elem_len;
    section->rank = array->rank;
    for (int i = 0; i < array->rank; i++) {
        section->dim[i].extent = array->dim[i].extent;
        section->dim[i].step = array->dim[i].sm;
        section->bytes *= (size_t)array->dim[i].extent;
    }
}

void *weft_keep_section(struct weft_kept *kept, const CFI_cdesc_t *array, bool is_output)
{
    struct weft_kept_section *section;

    if (weft_is_contiguous(array)) {
        return weft_buffer(array->base_addr);
    }
    section = malloc(sizeof(*section));
    if (section == NULL) {
        kept->is_incomplete = true;
        return NULL;
    }
    describe(section, array);
    section->copy = malloc(section->bytes * (is_output ? 2 : 1));
    section->before = is_output ? section->copy + section->bytes : NULL;
    if (section->copy == NULL) {
        free(section);
        kept->is_incomplete = true;
        return NULL;
    }
    copy_section(section);
    kept->section[kept->sections++] = section;
    return section->copy;
}

MPI_Datatype *weft_keep_datatypes(struct weft_kept *kept, const int *handles, int count)
{
    MPI_Datatype *types = malloc((count > 0 ? (size_t)count : 1) * sizeof(*types));

    if (types == NULL) {
        kept->is_incomplete = true;
        return NULL;
    }
    for (int i = 0; i < count; i++) {
        types[i] = weft_datatype_in(handles[i]);
    }
    kept->memory[kept->memories++] = types;
    return types;
}

static void copy_back(const struct weft_kept *kept)
{
    for (int i = 0; i < kept->sections; i++) {
        if (kept->section[i]->before != NULL) {
            walk(kept->section[i], copy_element_back);
        }
    }
}

void weft_kept_release(struct weft_kept *kept, bool is_done)
{
    if (is_done) {
        copy_back(kept);
    }
    for (int i = 0; i < kept->sections; i++) {
        free(kept->section[i]->copy);
        free(kept->section[i]);
    }
    for (int i = 0; i < kept->memories; i++) {
        free(kept->memory[i]);
    }
    kept->sections = 0;
    kept->memories = 0;
}

bool weft_is_any_kept(void)
{
    return atomic_load_explicit(&waiting_count, memory_order_relaxed) != 0;
}

/* The link to what waits for `request`, or to NULL; with the mutex. */
static struct waiting **find(int request)
{
    struct waiting **link = &list;

    while (*link != NULL && (*link)->request != request) {
        link = &(*link)->next;
    }
    return link;
}

static void remove_waiting(struct waiting **link)
{
    struct waiting *one = *link;

    *link = one->next;
    weft_kept_release(&one->kept, false);
    free(one);
    atomic_fetch_sub_explicit(&waiting_count, 1, memory_order_relaxed);
}

void weft_kept_until(struct weft_kept *kept, int request, bool is_persistent)
{
    struct waiting *one;
    struct waiting **old;

    if (kept->sections == 0 && kept->memories == 0) {
        return;
    }
    one = malloc(sizeof(*one));
    if (one == NULL) {
        return; /* leaked, and not copied back: there is no memory for 200 bytes */
    }
    *one = (struct waiting){.kept = *kept,
                            .request = request,
                            .is_persistent = is_persistent,
                            .is_active = !is_persistent};
    pthread_mutex_lock(&lock);
    old = find(request);
    if (*old != NULL && (*old)->is_persistent) { /* C has freed that request */
        remove_waiting(old);
    }
    one->number = ++last_number;
    one->next = list;
    list = one;
    atomic_fetch_add_explicit(&waiting_count, 1, memory_order_relaxed);
    pthread_mutex_unlock(&lock);
}

void weft_kept_start(int request)
{
    struct waiting *one;

    pthread_mutex_lock(&lock);
    one = *find(request);
    for (int i = 0; one != NULL && i < one->kept.sections; i++) {
        copy_section(one->kept.section[i]);
    }
    if (one != NULL) {
        one->is_active = true;
    }
    pthread_mutex_unlock(&lock);
}

unsigned long weft_kept_of(int request)
{
    struct waiting *one;
    unsigned long number;

    if (!weft_is_any_kept()) {
        return 0;
    }
    pthread_mutex_lock(&lock);
    one = *find(request);
    number = one != NULL ? one->number : 0;
    pthread_mutex_unlock(&lock);
    return number;
}

/* The link to what has this number, or to NULL; with the mutex. */
static struct waiting **find_number(unsigned long kept)
{
    struct waiting **link = &list;

    while (*link != NULL && (*link)->number != kept) {
        link = &(*link)->next;
    }
    return link;
}

/* Copies the results back, once; with the mutex. */
static void finish(struct waiting *one)
{
    if (one->is_active) {
        copy_back(&one->kept);
        one->is_active = false;
    }
}

void weft_kept_look(unsigned long kept)
{
    struct waiting **link;

    if (kept == 0) {
        return;
    }
    pthread_mutex_lock(&lock);
    link = find_number(kept);
    if (*link != NULL) {
        finish(*link);
    }
    pthread_mutex_unlock(&lock);
}

void weft_kept_complete(unsigned long kept)
{
    struct waiting **link;

    if (kept == 0) {
        return;
    }
    pthread_mutex_lock(&lock);
    link = find_number(kept);
    if (*link != NULL) {
        finish(*link);
        if (!(*link)->is_persistent) {
            remove_waiting(link);
        }
    }
    pthread_mutex_unlock(&lock);
}

void weft_kept_free(int request)
{
    struct waiting **link;

    pthread_mutex_lock(&lock);
    link = find(request);
    if (*link != NULL && (*link)->is_persistent) {
        remove_waiting(link);
    }
    pthread_mutex_unlock(&lock);
}

int weft_dims(MPI_Comm comm)
{
    int topology = MPI_UNDEFINED;
    int dims = 0;

    if (PMPI_Topo_test(comm, &topology) == MPI_SUCCESS && topology == MPI_CART) {
        PMPI_Cartdim_get(comm, &dims);
    }
    return dims;
}

int weft_peers(MPI_Comm comm)
{
    int is_inter = 0;
    int size = 0;

    if (PMPI_Comm_test_inter(comm, &is_inter) == MPI_SUCCESS) {
        if (is_inter) {
            PMPI_Comm_remote_size(comm, &size);
        } else {
            PMPI_Comm_size(comm, &size);
        }
    }
    return size;
}

static int neighbours(MPI_Comm comm, bool is_source)
{
    int topology = MPI_UNDEFINED;
    int sources = 0;
    int destinations = 0;
    int weighted;
    int rank;

    PMPI_Topo_test(comm, &topology);
    if (topology == MPI_CART) {
        PMPI_Cartdim_get(comm, &sources);
        return 2 * sources;
    }
    if (topology == MPI_GRAPH) {
        PMPI_Comm_rank(comm, &rank);
        PMPI_Graph_neighbors_count(comm, rank, &sources);
        return sources;
    }
    if (topology == MPI_DIST_GRAPH) {
        PMPI_Dist_graph_neighbors_count(comm, &sources, &destinations, &weighted);
    }
    return is_source ? sources : destinations;
}

int weft_sources(MPI_Comm comm)
{
    return neighbours(comm, true);
}

int weft_destinations(MPI_Comm comm)
{
    return neighbours(comm, false);
}
