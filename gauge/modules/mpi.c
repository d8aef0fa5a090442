/*
 * mpi.c - any MPI, loaded when it is asked for; weft-gauge itself runs without one.
 *
 * What calls MPI is mpi_object.c, in a shared object per flavour: `abi` for every library
 * of the standard ABI, which --library names, and one for each MPI that lacks that ABI
 * and whose compiler wrapper was there when weft-gauge was built. The object lies beside
 * weft-gauge, or in ../lib/weft-gauge from there (GAUGE_LIBDIR of meson.build).
 *
 * The ends must be ranks of a job, so they are started by the MPI's own mpiexec. Forked
 * ends would each be a job of one.
 */
#include "gauge/modules/mpi.h"

#include <dlfcn.h>
#include <limits.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

static struct gauge_option options[] = {
    {"flavour", GAUGE_TEXT, "abi", "KIND",
     "which MPI: abi (any library of the standard ABI), openmpi or mpich"},
    {"library", GAUGE_TEXT, "libmpi_abi.so.1", "FILE", "with abi: the library"},
    {"object", GAUGE_TEXT, "", "FILE",
     "what calls that MPI; default: gauge_mpi_KIND.so, found beside weft-gauge"},
    {NULL, GAUGE_TEXT, NULL, NULL, NULL},
};

static char fault[400]; /* the sentence of the last refusal */

/* The first of its places at which the object exists; false: none of them. */
static bool find_object(const char *flavour, char *path, size_t size)
{
    static const char *const places[] = {".", "../" GAUGE_LIBDIR "/weft-gauge"};
    char program[PATH_MAX];
    ssize_t length = readlink("/proc/self/exe", program, sizeof(program) - 1);
    char *slash = NULL;

    program[length > 0 ? length : 0] = '\0';
    slash = strrchr(program, '/');
    if (slash != NULL) {
        *slash = '\0';
    }
    for (size_t i = 0; i < sizeof(places) / sizeof(*places); i++) {
        int wanted =
            snprintf(path, size, "%s/%s/gauge_mpi_%s.so", program, places[i], flavour);

        if (wanted > 0 && (size_t)wanted < size && access(path, R_OK) == 0) {
            return true;
        }
    }
    return false;
}

static const char *mpi_configure(struct gauge_module *module)
{
    const char *flavour = gauge_option_text(options, "flavour");

    (void)module;
    return strcmp(flavour, "abi") == 0 || strcmp(flavour, "openmpi") == 0 ||
                   strcmp(flavour, "mpich") == 0
               ? NULL
               : "--flavour is abi, openmpi or mpich";
}

static const char *refuse(const char *what, const char *why)
{
    snprintf(fault, sizeof(fault), "%.190s%.190s", what, why != NULL ? why : "");
    return fault;
}

static void adopt(struct gauge_module *module, const struct gauge_mpi_object *object)
{
    module->init = object->init;
    module->shutdown = object->shutdown;
    module->facts = object->facts;
    module->sendto = object->sendto;
    module->recvfrom = object->recvfrom;
    module->isendto = object->isendto;
    module->irecvfrom = object->irecvfrom;
    module->test = object->test;
    module->wait = object->wait;
    module->one_sided = object->one_sided;
    module->files = object->files;
}

/* Loads the library, then the object, whose open names it answers. */
static const char *load(struct gauge_module *module)
{
    const char *flavour = gauge_option_text(options, "flavour");
    const char *library = gauge_option_text(options, "library");
    const char *given = gauge_option_text(options, "object");
    struct gauge_mpi_object *object = NULL;
    char path[2 * PATH_MAX];
    void *handle = NULL;

    if (given[0] != '\0') {
        snprintf(path, sizeof(path), "%s", given);
    } else if (!find_object(flavour, path, sizeof(path))) {
        snprintf(path, sizeof(path), "gauge_mpi_%s.so", flavour);
        return refuse(path, " is not here: it is built where that MPI is installed");
    }
    if (strcmp(flavour, "abi") == 0 && dlopen(library, RTLD_NOW | RTLD_GLOBAL) == NULL) {
        return refuse("no such MPI: ", dlerror());
    }
    handle = dlopen(path, RTLD_NOW | RTLD_LOCAL);
    if (handle == NULL) {
        return refuse("its object cannot be loaded: ", dlerror());
    }
    object = dlsym(handle, GAUGE_MPI_ENTRY);
    if (object == NULL || object->version != GAUGE_MPI_VERSION ||
        object->world_size != sizeof(struct gauge_world)) {
        return refuse(path, " belongs to another weft-gauge");
    }
    object->fail = gauge_fail;
    adopt(module, object);
    return NULL;
}

static const char *mpi_available(struct gauge_module *module)
{
    return module->init != NULL ? NULL : load(module);
}

struct gauge_module gauge_mpi = {
    .name = "mpi",
    .description = "any MPI, loaded at run time; started by its own mpiexec",
    .flags = GAUGE_RELIABLE | GAUGE_CHANNEL | GAUGE_LAUNCHED,
    .largest = INT_MAX,
    .options = options,
    .available = mpi_available,
    .configure = mpi_configure,
};
