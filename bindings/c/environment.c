/*
 * environment.c - MPI-5.0 chapter 9: versions, names, time, memory, hardware.
 */
#include "binding.h"

#include "base/clock.h"
#include "base/forks.h"
#include "check/info.h"
#include "check/rc.h"
#include "engine/lock.h"
#include "transport/lasting.h"
#include "version.h"

#include <sched.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

int PMPI_Get_version(int *version, int *subversion)
{
    int err = weft_check_out("MPI_Get_version", NULL, version, "version");

    if (err == MPI_SUCCESS) {
        err = weft_check_out("MPI_Get_version", NULL, subversion, "subversion");
    }
    if (err == MPI_SUCCESS) {
        *version = MPI_VERSION;
        *subversion = MPI_SUBVERSION;
    }
    return err;
}
WEFT_WEAK_ALIAS(MPI_Get_version, PMPI_Get_version);

/* Copies `text` into a user's buffer of `size` bytes and tells its length. */
static void give_string(char *to, size_t size, int *length, const char *text)
{
    int n = snprintf(to, size, "%s", text);

    *length = (size_t)n < size ? n : (int)size - 1;
}

int PMPI_Get_library_version(char *version, int *resultlen)
{
    int err = weft_check_out("MPI_Get_library_version", NULL, version, "version");

    if (err == MPI_SUCCESS) {
        err = weft_check_out("MPI_Get_library_version", NULL, resultlen, "resultlen");
    }
    if (err == MPI_SUCCESS) {
        give_string(version, MPI_MAX_LIBRARY_VERSION_STRING, resultlen,
                    "Weft " WEFT_VERSION ", MPI " WEFT_MPI_VERSION
                    ", ABI " WEFT_ABI_VERSION);
    }
    return err;
}
WEFT_WEAK_ALIAS(MPI_Get_library_version, PMPI_Get_library_version);

int PMPI_Get_processor_name(char *name, int *resultlen)
{
    int err = weft_check_open("MPI_Get_processor_name");

    if (err == MPI_SUCCESS) {
        err = weft_check_out("MPI_Get_processor_name", NULL, name, "name");
    }
    if (err == MPI_SUCCESS) {
        err = weft_check_out("MPI_Get_processor_name", NULL, resultlen, "resultlen");
    }
    if (err == MPI_SUCCESS) {
        give_string(name, MPI_MAX_PROCESSOR_NAME, resultlen, weft_runtime_host());
    }
    return err;
}
WEFT_WEAK_ALIAS(MPI_Get_processor_name, PMPI_Get_processor_name);

double PMPI_Wtime(void)
{
    return 1e-9 * (double)weft_clock_ns();
}
WEFT_WEAK_ALIAS(MPI_Wtime, PMPI_Wtime);

double PMPI_Wtick(void)
{
    return 1e-9 * (double)weft_clock_resolution_ns();
}
WEFT_WEAK_ALIAS(MPI_Wtick, PMPI_Wtick);

/* ---- memory ---- */

enum { ALIGNMENT = 64 }; /* of all memory we give out: a cache line */

static size_t alignment_of(const struct weft_info *info)
{
    size_t alignment;

    weft_object_lock();
    alignment = weft_info_alignment(info, ALIGNMENT);
    weft_object_unlock();
    return alignment;
}

static bool is_more_than_host(uint64_t bytes)
{
    const long pages = sysconf(_SC_PHYS_PAGES);
    const long page = sysconf(_SC_PAGESIZE);

    return pages > 0 && page > 0 && bytes / (uint64_t)page >= (uint64_t)pages;
}

int PMPI_Alloc_mem(MPI_Aint size, MPI_Info info, void *baseptr)
{
    static const char function[] = "MPI_Alloc_mem";
    struct weft_info *hints = NULL;
    void *memory = NULL;
    int err = weft_check_open(function);

    if (err == MPI_SUCCESS) {
        err = weft_check_out(function, NULL, baseptr, "baseptr");
    }
    if (err == MPI_SUCCESS && size < 0) {
        err = weft_raise(function, WEFT_E_SIZE, (long long)size);
    }
    if (err == MPI_SUCCESS) {
        err = weft_check_info_or_null(function, NULL, info, &hints);
    }
    if (err != MPI_SUCCESS) {
        return err;
    }
    if (posix_memalign(&memory, alignment_of(hints), size > 0 ? (size_t)size : 1) != 0) {
        return is_more_than_host((uint64_t)size)
                   ? weft_raise(function, WEFT_E_NO_MEM_MORE_THAN_HOST, (long long)size)
                   : weft_raise(function, WEFT_E_NO_MEM_BYTES, (long long)size);
    }
    weft_lock();
    weft_lasting_add(memory, (size_t)size, NULL);
    weft_unlock();
    *(void **)baseptr = memory;
    return MPI_SUCCESS;
}
WEFT_WEAK_ALIAS(MPI_Alloc_mem, PMPI_Alloc_mem);

/* In a child nobody may have let go of the lock, and what is noted is the parent's. */
int PMPI_Free_mem(void *base)
{
    int err = weft_check_open("MPI_Free_mem");

    if (err == MPI_SUCCESS && !weft_forks_is_child()) {
        weft_lock();
        weft_lasting_remove(base, NULL);
        weft_unlock();
    }
    if (err == MPI_SUCCESS) {
        free(base);
    }
    return err;
}
WEFT_WEAK_ALIAS(MPI_Free_mem, PMPI_Free_mem);

/* ---- hardware ---- */

/* May this thread run on one processor only? */
static bool is_on_one_processor(void)
{
    cpu_set_t set;

    return sched_getaffinity(0, sizeof(set), &set) == 0 && CPU_COUNT(&set) == 1;
}

/* Each resource, with whether the process is restricted to one instance of it. */
static enum weft_rc describe_hardware(struct weft_info *info)
{
    enum weft_rc rc = weft_info_set(info, "weft://node", "true");

    return rc != WEFT_OK ? rc
                         : weft_info_set(info, "weft://processor",
                                         is_on_one_processor() ? "true" : "false");
}

int PMPI_Get_hw_resource_info(MPI_Info *hw_info)
{
    static const char function[] = "MPI_Get_hw_resource_info";
    struct weft_info *made = NULL;
    enum weft_rc rc;
    int err = weft_check_open(function);

    if (err == MPI_SUCCESS) {
        err = weft_check_out(function, NULL, hw_info, "hw_info");
    }
    if (err != MPI_SUCCESS) {
        return err;
    }
    weft_object_lock();
    rc = weft_info_create(&made);
    if (rc == WEFT_OK) {
        rc = describe_hardware(made);
        if (rc == WEFT_OK) {
            *hw_info = weft_info_handle(made);
        } else {
            weft_info_free(made);
        }
    }
    weft_object_unlock();
    return weft_raise_rc(NULL, rc, function);
}
WEFT_WEAK_ALIAS(MPI_Get_hw_resource_info, PMPI_Get_hw_resource_info);
