/*
 * loaded.c - libfabric for tests of faces, loaded as Weft loads it.
 *
 * A face stands on a libfabric of its own (below.c), whose calls of itself would lead to
 * one that the program is linked with.
 */
#include <dlfcn.h>
#include <rdma/fabric.h>
#include <stdio.h>
#include <stdlib.h>

static void *find(const char *name)
{
    static void *library;
    void *found;

    if (library == NULL) {
        library = dlopen("libfabric.so.1", RTLD_NOW | RTLD_LOCAL);
    }
    found = library != NULL ? dlsym(library, name) : NULL;
    if (found == NULL) {
        fprintf(stderr, "%s\n", dlerror());
        exit(1);
    }
    return found;
}

int fi_getinfo(uint32_t version, const char *node, const char *service, uint64_t flags,
               const struct fi_info *hints, struct fi_info **info)
{
    __typeof__(fi_getinfo) *call = (__typeof__(fi_getinfo) *)find("fi_getinfo");

    return call(version, node, service, flags, hints, info);
}

void fi_freeinfo(struct fi_info *info)
{
    __typeof__(fi_freeinfo) *call = (__typeof__(fi_freeinfo) *)find("fi_freeinfo");

    call(info);
}

struct fi_info *fi_dupinfo(const struct fi_info *info)
{
    __typeof__(fi_dupinfo) *call = (__typeof__(fi_dupinfo) *)find("fi_dupinfo");

    return call(info);
}

int fi_fabric(struct fi_fabric_attr *attr, struct fid_fabric **fabric, void *context)
{
    __typeof__(fi_fabric) *call = (__typeof__(fi_fabric) *)find("fi_fabric");

    return call(attr, fabric, context);
}

const char *fi_strerror(int error)
{
    __typeof__(fi_strerror) *call = (__typeof__(fi_strerror) *)find("fi_strerror");

    return call(error);
}
