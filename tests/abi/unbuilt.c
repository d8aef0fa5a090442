/*
 * unbuilt.c [fatal] - what functions do that are not built yet.
 *
 * make.py picks them from those that the library still lacks. Where a sort of them has
 * run out, a line says so and the rest is still checked.
 */
#include "check.h"

struct unbuilt {
    const char *name; /* NULL: none is left */
    int (*call)(void);
};

#include "unbuilt.h"

struct seen {
    int calls;
    int class;
    MPI_Comm comm;
};

static struct seen by_world;
static struct seen by_self;

static void note(struct seen *seen, MPI_Comm comm, int class)
{
    seen->calls++;
    seen->class = class;
    seen->comm = comm;
}

static void world_handler(MPI_Comm *comm, int *class, ...)
{
    note(&by_world, *comm, *class);
}

static void self_handler(MPI_Comm *comm, int *class, ...)
{
    note(&by_self, *comm, *class);
}

static void set_handlers(void)
{
    MPI_Errhandler world;
    MPI_Errhandler self;

    CHECK(MPI_Comm_create_errhandler(world_handler, &world) == MPI_SUCCESS);
    CHECK(MPI_Comm_create_errhandler(self_handler, &self) == MPI_SUCCESS);
    CHECK(MPI_Comm_set_errhandler(MPI_COMM_WORLD, world) == MPI_SUCCESS);
    CHECK(MPI_Comm_set_errhandler(MPI_COMM_SELF, self) == MPI_SUCCESS);
    CHECK(MPI_Errhandler_free(&world) == MPI_SUCCESS);
    CHECK(MPI_Errhandler_free(&self) == MPI_SUCCESS);
}

/* The call returns `class` and runs one handler, `used`, or none where that is NULL. */
static void fails(const char *sort, const struct unbuilt *function, int class,
                  const struct seen *used, MPI_Comm comm)
{
    memset(&by_world, 0, sizeof(by_world));
    memset(&by_self, 0, sizeof(by_self));
    if (function->name == NULL) {
        printf("%s: every function is built, nothing to check\n", sort);
        return;
    }
    printf("%s: %s\n", sort, function->name);
    IS_ERROR(function->call(), class);
    CHECK(by_world.calls + by_self.calls == (used != NULL));
    if (used != NULL) {
        CHECK(used->calls == 1 && used->class == class && used->comm == comm);
    }
}

int main(int argc, char **argv)
{
    CHECK(MPI_Init(&argc, &argv) == MPI_SUCCESS);
    if (argc > 1 && strcmp(argv[1], "fatal") == 0) {
        if (on_world.name != NULL) {
            puts(on_world.name);
            fflush(stdout);
            on_world.call();
            puts("it came back");
        }
        return MPI_Finalize();
    }

    set_handlers();
    fails("on a communicator", &on_world, MPI_ERR_UNSUPPORTED_OPERATION, &by_world,
          MPI_COMM_WORLD);
    fails("without an object", &on_nothing, MPI_ERR_UNSUPPORTED_OPERATION, &by_self,
          MPI_COMM_SELF);
    fails("on a file", &on_file, MPI_ERR_UNSUPPORTED_OPERATION, NULL, MPI_COMM_NULL);
    fails("of MPI_T", &of_tools, MPI_T_ERR_NOT_SUPPORTED, NULL, MPI_COMM_NULL);
    return MPI_Finalize();
}
