/*
 * place.c - says where it runs, and does what the launchers' tests ask of a rank.
 *
 *   place                    the line, 100 barriers, MPI_Finalize
 *   place abort RANK CODE    after the line that rank calls MPI_Abort; the others wait
 *   place kill RANK          the same by KILL
 *   place child COMMAND      after the line every rank runs the command by system()
 *   place descriptors        names what Init opened and a program started now would get
 *   place brief              MPI_Init, the line and _exit, for a job of which only this
 *                            rank runs
 *   place apart              MPI_Init and the line, for ranks that do not reach each
 * other; when all must have said it, rank 0 aborts with code 7
 *
 * The line has the rank and size that MPI gives, and what the job segment says: how many
 * ranks have mapped it, its node, our local rank in its map (beside what the launcher
 * says of it, -1 if nothing), a sum of its secret, by which those of one job are known,
 * its device and inode, by which all who share it are known, and what kind of memory it
 * is.
 */
#include "mpi.h"

#include "wireup/segment.h"

#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

enum { BARRIERS = 100, MOST_DESCRIPTORS = 1024 };

struct found {
    const struct weft_segment_header *header;
    char id[64]; /* device and inode */
    char memory[256];
};

static _Noreturn void give_up(const char *why)
{
    fprintf(stderr, "place: %s\n", why);
    exit(99);
}

/* The mapping of our file from its beginning on, where its mark is; there must be one.
 * Parts of the file are mapped more than once. */
static struct found find_segment(void)
{
    struct found found = {.header = NULL};
    FILE *maps = fopen("/proc/self/maps", "r");
    char line[1024];

    while (maps != NULL && fgets(line, sizeof(line), maps) != NULL) {
        unsigned long from;
        unsigned long offset;
        unsigned long inode;
        char device[32];
        char path[256] = "";
        const struct weft_segment_header *header;

        if (sscanf(line, "%lx-%*x %*s %lx %31s %lu %255[^\n]", &from, &offset, device,
                   &inode, path) != 5 ||
            offset != 0 ||
            (strncmp(path, "/memfd:weft", 11) != 0 &&
             strncmp(path, "/dev/shm/weft-", 14) != 0)) {
            continue;
        }
        header = (const struct weft_segment_header *)from;
        if (header->magic != WEFT_SEGMENT_MAGIC) {
            give_up("a mapping of ours is no segment");
        }
        if (found.header != NULL) {
            give_up("two segments are mapped");
        }
        found.header = header;
        snprintf(found.id, sizeof(found.id), "%s:%lu", device, inode);
        snprintf(found.memory, sizeof(found.memory), "%s", path);
    }
    if (maps != NULL) {
        fclose(maps);
    }
    if (found.header == NULL) {
        give_up("no segment is mapped");
    }
    return found;
}

static const struct weft_slot_entry *slots_of(const struct weft_segment_header *h)
{
    return (const void *)((const char *)h + h->slots_at);
}

/* The ranks that say of themselves that they have mapped the segment. */
static int count_attached(const struct weft_segment_header *h)
{
    int count = 0;

    for (uint32_t i = 0; i < h->local_size; i++) {
        count += atomic_load(&slots_of(h)[i].state) == WEFT_SLOT_ATTACHED;
    }
    return count;
}

/* The local rank by the launcher's own word, or -1. */
static int local_rank_by_launcher(void)
{
    static const char *const names[] = {"MPI_LOCALRANKID", "OMPI_COMM_WORLD_LOCAL_RANK",
                                        "SLURM_LOCALID"};

    for (size_t i = 0; i < sizeof(names) / sizeof(names[0]); i++) {
        if (getenv(names[i]) != NULL) {
            return atoi(getenv(names[i]));
        }
    }
    return -1;
}

/* Tells secrets apart, and says nothing of them (FNV-1a). */
static uint32_t sum_of_secret(const struct weft_segment_header *h)
{
    uint32_t sum = 2166136261u;

    for (size_t i = 0; i < sizeof(h->secret); i++) {
        sum = (sum ^ h->secret[i]) * 16777619u;
    }
    return sum;
}

static void say(int rank, int size)
{
    const struct found found = find_segment();
    const struct weft_segment_header *h = found.header;
    const struct weft_location *map = (const void *)((const char *)h + h->map_at);
    uint32_t local = map[rank].local_rank;

    if (local >= h->local_size || atomic_load(&slots_of(h)[local].process) !=
                                      ((uint64_t)h->job << 32 | (uint32_t)rank)) {
        give_up("the list of local ranks does not have us");
    }
    printf("place rank=%d size=%d job_size=%u shared=%d node=%u of %u local=%u given=%d "
           "secret=%08x segment=%s memory=%s\n",
           rank, size, h->job_size, count_attached(h), h->node, h->node_count, local,
           local_rank_by_launcher(), sum_of_secret(h), found.id, found.memory);
    fflush(stdout);
}

static void note_descriptors(bool open[MOST_DESCRIPTORS])
{
    for (int fd = 0; fd < MOST_DESCRIPTORS; fd++) {
        open[fd] = fcntl(fd, F_GETFD) >= 0;
    }
}

/* What is open now, was not before or speaks for the launcher, and passes through exec.
 */
static void name_leaks(const bool before[MOST_DESCRIPTORS])
{
    const char *pmi = getenv("PMI_FD");
    int opened = 0;

    for (int fd = 0; fd < MOST_DESCRIPTORS; fd++) {
        int flags = fcntl(fd, F_GETFD);

        if (flags < 0 || (before[fd] && (pmi == NULL || atoi(pmi) != fd))) {
            continue;
        }
        opened++;
        if ((flags & FD_CLOEXEC) == 0) {
            char path[64];
            char target[256] = "";

            snprintf(path, sizeof(path), "/proc/self/fd/%d", fd);
            if (readlink(path, target, sizeof(target) - 1) < 0) {
                target[0] = '?';
            }
            printf("leak %d %s\n", fd, target);
        }
    }
    printf("opened %d\n", opened);
    fflush(stdout);
}

int main(int argc, char **argv)
{
    const char *what = argc > 1 ? argv[1] : "";
    bool before[MOST_DESCRIPTORS];
    int rank;
    int size;

    note_descriptors(before);
    MPI_Init(&argc, &argv);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Comm_size(MPI_COMM_WORLD, &size);
    if (strcmp(what, "brief") == 0) {
        say(rank, size);
        _exit(0);
    }
    if (strcmp(what, "apart") == 0) {
        say(rank, size);
        sleep(rank == 0 ? 1 : 60);
        MPI_Abort(MPI_COMM_WORLD, 7);
    }
    if (strcmp(what, "descriptors") == 0) {
        name_leaks(before);
    }
    MPI_Barrier(MPI_COMM_WORLD); /* all have mapped the segment */
    say(rank, size);
    if (strcmp(what, "abort") == 0 && argc > 3 && rank == atoi(argv[2])) {
        MPI_Abort(MPI_COMM_WORLD, atoi(argv[3]));
    }
    if (strcmp(what, "kill") == 0 && argc > 2 && rank == atoi(argv[2])) {
        raise(SIGKILL);
    }
    if (strcmp(what, "child") == 0 && argc > 2 && system(argv[2]) != 0) {
        give_up("the child failed");
    }
    for (int i = 0; i < BARRIERS; i++) {
        MPI_Barrier(MPI_COMM_WORLD);
    }
    if (strcmp(what, "abort") == 0 || strcmp(what, "kill") == 0) {
        pause(); /* the launcher ends us */
    }
    return MPI_Finalize();
}
