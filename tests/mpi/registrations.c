/*
 * registrations.c - memory whose life the library knows is registered with the network
 * once, not for each operation; and what is kept is right when memory is freed, when many
 * ask for it, and across fork.
 *
 * The argument says what is expected: `kept`; `none`, where the network wants no
 * registration of the origin's memory; `few`, where there is room for few of them.
 */
#include "bytes.h"
#include "rma.h"

#include <sys/wait.h>
#include <unistd.h>

enum {
    TIMES = 20,
    EACH = 64 * 1024,
    REGION = 1024 * 1024,
    REGIONS = 300, /* more than are kept */
};

static bool is_kept;
static bool is_few;
static int rank;
static MPI_Win win;
static char *base; /* of the window: REGION bytes */

/* ---- counting ---- */

static MPI_T_pvar_session session;
static MPI_T_pvar_handle made;

static void start_counting(void)
{
    int provided;
    int index = -1;
    int count = 0;

    DONE(MPI_T_init_thread(MPI_THREAD_SINGLE, &provided));
    DONE(MPI_T_pvar_session_create(&session));
    DONE(MPI_T_pvar_get_index("msg_registrations", MPI_T_PVAR_CLASS_COUNTER, &index));
    DONE(MPI_T_pvar_handle_alloc(session, index, NULL, &made, &count));
    DONE(MPI_T_pvar_start(session, made));
}

static uint64_t registrations(void)
{
    unsigned long long value = 0;

    DONE(MPI_T_pvar_read(session, made, &value));
    return value;
}

/* Since `before`, there were so many, or none where there are none at all. Memory of
 * unknown life is registered again if a network that was full is tried again. */
static void expect(uint64_t before, uint64_t wanted)
{
    const uint64_t since = registrations() - before;
    const uint64_t now = wanted == TIMES && since > wanted ? wanted : since;

    if (!is_few) {
        CHECK(now == (is_kept ? wanted : 0));
    }
}

/* ---- puts ---- */

static void put(const char *from)
{
    DONE(MPI_Put(from, EACH, MPI_BYTE, 1, 0, EACH, MPI_BYTE, win));
    DONE(MPI_Win_flush(1, win));
}

/* What is at the target now? */
static void is_there(const char *expected)
{
    static char seen[EACH];

    DONE(MPI_Get(seen, EACH, MPI_BYTE, 1, 0, EACH, MPI_BYTE, win));
    DONE(MPI_Win_flush(1, win));
    CHECK(memcmp(seen, expected, EACH) == 0);
}

static void put_from(char *memory, uint64_t wanted)
{
    const uint64_t before = registrations();

    for (int i = 0; i < TIMES; i++) {
        memset(memory, 'a' + i, EACH);
        put(memory + (i % 2 == 0 ? 0 : REGION - EACH));
    }
    expect(before, wanted);
    memset(memory, 'z', EACH);
    put(memory);
    is_there(memory);
}

static char *allocate(void)
{
    char *memory = NULL;

    DONE(MPI_Alloc_mem(REGION, MPI_INFO_NULL, &memory));
    memset(memory, 0, REGION);
    return memory;
}

static void puts_of_lasting_memory_register_it_once(void)
{
    char *memory = allocate();
    char *unknown = calloc(1, REGION);

    CHECK(unknown != NULL);
    put_from(memory, 1);
    put_from(base, 1);
    put_from(unknown, TIMES);
    free(unknown);
    DONE(MPI_Free_mem(memory));
}

/* What comes to lie at the same place is other memory. */
static void freed_memory_is_not_taken_for_new(void)
{
    for (int i = 0; i < 3; i++) {
        char *memory = allocate();

        put_from(memory, 1);
        DONE(MPI_Free_mem(memory));
    }
}

/* More regions than are kept, twice in the same order: each is registered again. */
static void many_regions_are_bounded(void)
{
    char **regions = malloc(REGIONS * sizeof(*regions));
    uint64_t before;

    CHECK(regions != NULL);
    for (int i = 0; i < REGIONS; i++) {
        DONE(MPI_Alloc_mem(EACH, MPI_INFO_NULL, &regions[i]));
        memset(regions[i], i % 256, EACH);
    }
    before = registrations();
    for (int i = 0; i < 2 * REGIONS; i++) {
        put(regions[i % REGIONS]);
    }
    expect(before, 2 * REGIONS);
    is_there(regions[REGIONS - 1]);
    for (int i = 0; i < REGIONS; i++) {
        DONE(MPI_Free_mem(regions[i]));
    }
    free(regions);
}

/* The child gives all back that it can, and ends as programs do. */
static void a_child_leaves_the_parents_alone(void)
{
    char *memory = allocate();
    pid_t child;
    int status = -1;

    put_from(memory, 1);
    fflush(NULL);
    child = fork();
    CHECK(child >= 0);
    if (child == 0) {
        memset(memory, 'c', REGION);
        (void)MPI_Free_mem(memory);
        exit(0);
    }
    CHECK(waitpid(child, &status, 0) == child);
    CHECK(WIFEXITED(status) && WEXITSTATUS(status) == 0);
    put_from(memory, 1); /* anew: pages may have changed with the fork */
    put_from(memory, 0);
    DONE(MPI_Free_mem(memory));
}

/* ---- messages ---- */

static void send_and_receive(char *memory)
{
    if (rank == 0) {
        DONE(MPI_Send(memory, REGION, MPI_BYTE, 1, 0, MPI_COMM_WORLD));
    } else if (rank == 1) {
        DONE(MPI_Recv(memory, REGION, MPI_BYTE, 0, 0, MPI_COMM_WORLD, MPI_STATUS_IGNORE));
    }
    DONE(MPI_Barrier(MPI_COMM_WORLD));
}

/* Not how many: the receiver registers the memory as the sender's network wants it. */
static void long_messages_register_lasting_memory_once(void)
{
    char *memory = allocate();
    uint64_t before;

    send_and_receive(memory);
    send_and_receive(memory);
    before = registrations();
    for (int i = 0; i < TIMES; i++) {
        if (rank == 0) {
            memset(memory, 'a' + i, REGION);
        }
        send_and_receive(memory);
        CHECK(rank > 1 || (memory[0] == 'a' + i && memory[REGION - 1] == 'a' + i));
    }
    CHECK(!is_kept || is_few || registrations() - before <= 2);
    DONE(MPI_Free_mem(memory));
}

/* A request that is active is memory whose life is known: its parts share one. */
static void parts_of_a_message_share_a_registration(void)
{
    enum { PARTS = 16, BYTES = 256 * 1024 };
    char *memory = malloc((size_t)PARTS * BYTES);
    MPI_Request request = MPI_REQUEST_NULL;

    CHECK(memory != NULL);
    memset(memory, rank, (size_t)PARTS * BYTES);
    if (rank == 0) {
        DONE(MPI_Psend_init(memory, PARTS, BYTES, MPI_BYTE, 1, 0, MPI_COMM_WORLD,
                            MPI_INFO_NULL, &request));
    } else if (rank == 1) {
        DONE(MPI_Precv_init(memory, PARTS, BYTES, MPI_BYTE, 0, 0, MPI_COMM_WORLD,
                            MPI_INFO_NULL, &request));
    }
    for (int i = 0; rank < 2 && i < 3; i++) {
        const uint64_t before = registrations();

        DONE(MPI_Start(&request));
        for (int part = 0; rank == 0 && part < PARTS; part++) {
            memset(memory + (size_t)part * BYTES, part + i, BYTES);
            DONE(MPI_Pready(part, request));
        }
        DONE(MPI_Wait(&request, MPI_STATUS_IGNORE));
        for (int part = 0; part < PARTS; part++) {
            CHECK(memory[(size_t)(part + 1) * BYTES - 1] == part + i);
        }
        CHECK(!is_kept || is_few || registrations() - before <= 2);
    }
    if (rank < 2) {
        DONE(MPI_Request_free(&request));
    }
    free(memory);
}

int main(int argc, char **argv)
{
    static void (*const by_origin[])(void) = {
        puts_of_lasting_memory_register_it_once,
        freed_memory_is_not_taken_for_new,
        many_regions_are_bounded,
        a_child_leaves_the_parents_alone,
    };

    MPI_Init(&argc, &argv);
    CHECK(argc == 2);
    is_few = strcmp(argv[1], "few") == 0;
    is_kept = is_few || strcmp(argv[1], "kept") == 0;
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    start_counting();
    DONE(MPI_Win_allocate(REGION, 1, MPI_INFO_NULL, MPI_COMM_WORLD, &base, &win));
    DONE(MPI_Win_lock_all(0, win));
    for (size_t i = 0; rank == 0 && i < LENGTH(by_origin); i++) {
        by_origin[i]();
    }
    DONE(MPI_Win_unlock_all(win));
    DONE(MPI_Win_free(&win));
    long_messages_register_lasting_memory_once();
    parts_of_a_message_share_a_registration();
    DONE(MPI_T_pvar_handle_free(session, &made));
    DONE(MPI_T_pvar_session_free(&session));
    DONE(MPI_T_finalize());
    MPI_Finalize();
    return 0;
}
