/*
 * stress_soak.h - what a long run must not use more and more of: memory, descriptors,
 * requests. Taken while nothing is under way, after a tenth of the time and at the end.
 *
 * Memory is what is resident after the allocator has given back what it can. A queue of
 * its own (a lane) is given to a rank once: there cannot be more than ranks.
 */
#ifndef WEFT_TEST_STRESS_SOAK_H
#define WEFT_TEST_STRESS_SOAK_H

#include "stress_common.h"

#include <dirent.h>
#include <malloc.h>
#include <unistd.h>

struct soak {
    long resident; /* KiB */
    long descriptors;
    long requests;
    long lanes;
};

/* Before the first allocation that counts: large blocks always go back. */
static void soak_open(void)
{
    int provided;

    mallopt(M_MMAP_THRESHOLD, 128 * 1024);
    CHECK(MPI_T_init_thread(MPI_THREAD_SINGLE, &provided) == MPI_SUCCESS);
}

static long soak_level(const char *name)
{
    MPI_T_pvar_session session;
    MPI_T_pvar_handle handle;
    unsigned long long value;
    int index;
    int count;

    CHECK(MPI_T_pvar_get_index(name, MPI_T_PVAR_CLASS_LEVEL, &index) == MPI_SUCCESS);
    CHECK(MPI_T_pvar_session_create(&session) == MPI_SUCCESS);
    CHECK(MPI_T_pvar_handle_alloc(session, index, NULL, &handle, &count) == MPI_SUCCESS);
    CHECK(MPI_T_pvar_read(session, handle, &value) == MPI_SUCCESS);
    CHECK(MPI_T_pvar_handle_free(session, &handle) == MPI_SUCCESS);
    CHECK(MPI_T_pvar_session_free(&session) == MPI_SUCCESS);
    return (long)value;
}

static long soak_resident(void)
{
    FILE *file = fopen("/proc/self/statm", "r");
    long pages = -1;

    CHECK(file != NULL && fscanf(file, "%*s %ld", &pages) == 1 && fclose(file) == 0);
    return pages * (sysconf(_SC_PAGESIZE) / 1024);
}

static long soak_descriptors(void)
{
    DIR *folder = opendir("/proc/self/fd");
    long count = 0;

    CHECK(folder != NULL);
    while (readdir(folder) != NULL) {
        count++;
    }
    CHECK(closedir(folder) == 0);
    return count - 3; /* itself and the two dots */
}

static struct soak soak_take(void)
{
    struct soak now = {0, 0, 0, 0};

    malloc_trim(0);
    now.resident = soak_resident();
    now.descriptors = soak_descriptors();
    now.requests = soak_level("requests");
    now.lanes = soak_level("shm_lanes");
    return now;
}

/* `most` MiB more, or anything if it is 0. The line is about the rank that grew most. */
static void soak_check(const struct soak *early, const struct soak *late, int most)
{
    struct {
        long grown;
        int rank;
    } mine = {late->resident - early->resident, rank}, worst;

    CHECK(MPI_Allreduce(&mine, &worst, 1, MPI_LONG_INT, MPI_MAXLOC, MPI_COMM_WORLD) ==
          MPI_SUCCESS);
    if (rank == worst.rank) {
        printf("soak: rank %d: %ld KiB resident after a tenth, %ld at the end; %ld and "
               "%ld descriptors; %ld and %ld requests; %ld and %ld lanes\n",
               rank, early->resident, late->resident, early->descriptors,
               late->descriptors, early->requests, late->requests, early->lanes,
               late->lanes);
        fflush(stdout);
    }
    HOLDS(most == 0 || mine.grown <= most * 1024L);
    HOLDS(late->descriptors == early->descriptors);
    HOLDS(early->requests == 0 && late->requests == 0);
    HOLDS(late->lanes < size || size == 1);
}

#endif
