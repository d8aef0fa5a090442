/*
 * loaded.c LIBRARY - opens the library as mpi4py does, with every symbol bound at once,
 * and calls into it after closing it: the library must stay where it is.
 */
#include <dlfcn.h>
#include <stdio.h>

int main(int argc, char **argv)
{
    int (*get_version)(int *version, int *subversion);
    void *library = argc == 2 ? dlopen(argv[1], RTLD_NOW | RTLD_LOCAL) : NULL;
    int version = 0;
    int subversion = -1;

    if (library == NULL) {
        fprintf(stderr, "dlopen: %s\n", argc == 2 ? dlerror() : "no library named");
        return 1;
    }
    *(void **)&get_version = dlsym(library, "MPI_Get_version");
    if (get_version == NULL) {
        fprintf(stderr, "dlsym: %s\n", dlerror());
        return 1;
    }
    if (dlclose(library) != 0) {
        fprintf(stderr, "dlclose: %s\n", dlerror());
        return 1;
    }
    return get_version(&version, &subversion) != 0 || version != 5 || subversion != 0;
}
