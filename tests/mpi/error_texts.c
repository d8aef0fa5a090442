/*
 * error_texts.c - mistakes that programs make, one after the other, and what is printed.
 *
 *   error_texts           each mistake in a process of its own, which MPI_Init makes a
 *                         job of one rank; the output is the mistake's name, a tab and
 *                         what the process has printed on standard error
 *   error_texts NAME      this mistake alone, for two ranks under a launcher
 *
 * error_texts.py compares the output with error_texts.tsv.
 */
#include "error_texts_io.h"
#include "error_texts_rma.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

enum { MANY = 1 << 18 };

static int numbers[MANY];
static const MPI_Comm world = MPI_COMM_WORLD;
static MPI_Datatype freed_type;

/* ---- ranks, tags, counts, buffers ---- */

static void destination(void)
{
    MPI_Send(numbers, 1, MPI_INT, 99, 0, world);
}

static void source(void)
{
    MPI_Recv(numbers, 1, MPI_INT, -7, 0, world, MPI_STATUS_IGNORE);
}

static void negative_tag(void)
{
    MPI_Send(numbers, 1, MPI_INT, 0, -3, world);
}

static void any_tag_in_send(void)
{
    MPI_Send(numbers, 1, MPI_INT, 0, MPI_ANY_TAG, world);
}

static void any_source_in_send(void)
{
    MPI_Send(numbers, 1, MPI_INT, MPI_ANY_SOURCE, 0, world);
}

static void negative_count(void)
{
    MPI_Send(numbers, -1, MPI_INT, 0, 0, world);
}

static void huge_count(void)
{
    MPI_Send_c(numbers, (MPI_Count)1 << 62, MPI_DOUBLE, 0, 0, world);
}

static void null_buffer(void)
{
    MPI_Send(NULL, 10, MPI_DOUBLE, 0, 0, world);
}

static void null_result(void)
{
    MPI_Comm_rank(world, NULL);
}

static void negative_size(void)
{
    void *memory;

    MPI_Alloc_mem(-1, MPI_INFO_NULL, &memory);
}

static void huge_size(void)
{
    void *memory;

    MPI_Alloc_mem((MPI_Aint)1 << 62, MPI_INFO_NULL, &memory);
}

/* ---- communicators and groups ---- */

static void null_comm(void)
{
    MPI_Barrier(MPI_COMM_NULL);
}

static void freed_comm(void)
{
    MPI_Comm copy;
    MPI_Comm kept;

    MPI_Comm_dup(world, &copy);
    kept = copy;
    MPI_Comm_free(&copy);
    MPI_Barrier(kept);
}

static void comm_that_is_a_type(void)
{
    MPI_Barrier((MPI_Comm)MPI_INT);
}

static void comm_that_is_a_group(void)
{
    MPI_Group group;

    MPI_Comm_group(world, &group);
    MPI_Barrier((MPI_Comm)group);
}

static void comm_not_set(void)
{
    MPI_Barrier((MPI_Comm)0);
}

static void free_of_world(void)
{
    MPI_Comm comm = MPI_COMM_WORLD;

    MPI_Comm_free(&comm);
}

static void remote_size_of_one_group(void)
{
    int size;

    MPI_Comm_remote_size(world, &size);
}

static void negative_color(void)
{
    MPI_Comm made;

    MPI_Comm_split(world, -5, 0, &made);
}

static void split_type(void)
{
    MPI_Comm made;

    MPI_Comm_split_type(world, 4711, 0, MPI_INFO_NULL, &made);
}

static void null_group(void)
{
    int size;

    MPI_Group_size(MPI_GROUP_NULL, &size);
}

static void rank_outside_of_group(void)
{
    const int ranks[] = {0, 3};
    MPI_Group group;
    MPI_Group made;

    MPI_Comm_group(world, &group);
    MPI_Group_incl(group, 2, ranks, &made);
}

static void rank_twice_in_group(void)
{
    const int ranks[] = {0, 0};
    MPI_Group group;
    MPI_Group made;

    MPI_Comm_group(world, &group);
    MPI_Group_incl(group, 2, ranks, &made);
}

static void stride_of_zero(void)
{
    int ranges[1][3] = {{0, 0, 0}};
    MPI_Group group;
    MPI_Group made;

    MPI_Comm_group(world, &group);
    MPI_Group_range_incl(group, 1, ranges, &made);
}

static void null_session(void)
{
    MPI_Session session = MPI_SESSION_NULL;

    MPI_Session_finalize(&session);
}

/* ---- datatypes and operations ---- */

static void null_type(void)
{
    MPI_Send(numbers, 1, MPI_DATATYPE_NULL, 0, 0, world);
}

static void type_that_is_freed(void)
{
    MPI_Datatype type;

    MPI_Type_contiguous(3, MPI_INT, &type);
    MPI_Type_commit(&type);
    freed_type = type;
    MPI_Type_free(&type);
    MPI_Send(numbers, 1, freed_type, 0, 0, world);
}

static void type_not_committed(void)
{
    MPI_Datatype type;

    MPI_Type_vector(3, 2, 4, MPI_DOUBLE, &type);
    MPI_Send(numbers, 1, type, 0, 0, world);
}

static void type_that_is_a_comm(void)
{
    MPI_Send(numbers, 1, (MPI_Datatype)MPI_COMM_WORLD, 0, 0, world);
}

static void free_of_int(void)
{
    MPI_Datatype type = MPI_INT;

    MPI_Type_free(&type);
}

static void negative_blocks(void)
{
    MPI_Datatype type;

    MPI_Type_vector(-2, 1, 1, MPI_INT, &type);
}

static void subarray_outside(void)
{
    const int sizes[] = {4};
    const int parts[] = {3};
    const int starts[] = {2};
    MPI_Datatype type;

    MPI_Type_create_subarray(1, sizes, parts, starts, MPI_ORDER_C, MPI_INT, &type);
}

static void contents_of_int(void)
{
    int integers[1];
    MPI_Aint addresses[1];
    MPI_Datatype types[1];

    MPI_Type_get_contents(MPI_INT, 1, 1, 1, integers, addresses, types);
}

static void null_op(void)
{
    MPI_Allreduce(numbers, numbers + 10, 1, MPI_INT, MPI_OP_NULL, world);
}

static void op_of_other_types(void)
{
    MPI_Allreduce(numbers, numbers + 10, 1, MPI_DOUBLE, MPI_BAND, world);
}

static void op_that_is_a_type(void)
{
    MPI_Allreduce(numbers, numbers + 10, 1, MPI_INT, (MPI_Op)MPI_INT, world);
}

static void free_of_sum(void)
{
    MPI_Op op = MPI_SUM;

    MPI_Op_free(&op);
}

/* ---- collectives ---- */

static void root(void)
{
    MPI_Bcast(numbers, 1, MPI_INT, 5, world);
}

static void in_place_of_bcast(void)
{
    MPI_Bcast(MPI_IN_PLACE, 1, MPI_INT, 0, world);
}

static void same_buffers(void)
{
    MPI_Allreduce(numbers, numbers, 1, MPI_INT, MPI_SUM, world);
}

static void own_block(void)
{
    MPI_Allgather(numbers, 1, MPI_INT, numbers, 1, MPI_INT, world);
}

static void comm_of_garbage(void)
{
    MPI_Barrier((MPI_Comm)0x5a5a5a5a5a5a5a5a);
}

static void no_topology(void)
{
    MPI_Neighbor_allgather(numbers, 1, MPI_INT, numbers + 10, 1, MPI_INT, world);
}

static void null_counts(void)
{
    MPI_Allgatherv(numbers, 1, MPI_INT, numbers + 10, NULL, NULL, MPI_INT, world);
}

/* ---- topologies ---- */

static void grid_too_large(void)
{
    const int dims[] = {3, 4};
    const int periods[] = {0, 0};
    MPI_Comm grid;

    MPI_Cart_create(world, 2, dims, periods, 0, &grid);
}

static void dimension_of_zero(void)
{
    const int dims[] = {1, 0};
    const int periods[] = {0, 0};
    MPI_Comm grid;

    MPI_Cart_create(world, 2, dims, periods, 0, &grid);
}

static void coordinates_without_grid(void)
{
    int coordinates[2];

    MPI_Cart_coords(world, 0, 2, coordinates);
}

static void dimensions_that_do_not_divide(void)
{
    int dims[] = {3, 0};

    MPI_Dims_create(8, 2, dims);
}

static void direction(void)
{
    const int dims[] = {1};
    const int periods[] = {0};
    MPI_Comm grid;
    int from;
    int to;

    MPI_Cart_create(world, 1, dims, periods, 0, &grid);
    MPI_Comm_set_name(grid, "grid");
    MPI_Cart_shift(grid, 1, 1, &from, &to);
}

/* ---- requests ---- */

static void freed_request(void)
{
    MPI_Request request;
    MPI_Request kept;

    MPI_Recv_init(numbers, 1, MPI_INT, 0, 0, world, &request);
    kept = request;
    MPI_Request_free(&request);
    MPI_Wait(&kept, MPI_STATUS_IGNORE);
}

static void null_request(void)
{
    MPI_Request request = MPI_REQUEST_NULL;

    MPI_Cancel(&request);
}

static void start_of_a_plain_request(void)
{
    MPI_Request request;

    MPI_Irecv(numbers, 1, MPI_INT, 0, 0, world, &request);
    MPI_Start(&request);
}

static void started_twice(void)
{
    MPI_Request request;

    MPI_Recv_init(numbers, 1, MPI_INT, 0, 0, world, &request);
    MPI_Start(&request);
    MPI_Start(&request);
}

static void cancel_of_a_collective(void)
{
    MPI_Request request;

    MPI_Ibcast(numbers, 1, MPI_INT, 0, world, &request);
    MPI_Cancel(&request);
}

static void null_message(void)
{
    MPI_Message message = MPI_MESSAGE_NULL;

    MPI_Mrecv(numbers, 1, MPI_INT, &message, MPI_STATUS_IGNORE);
}

static void ready_twice(void)
{
    MPI_Request request;

    MPI_Psend_init(numbers, 2, 1, MPI_INT, 0, 0, world, MPI_INFO_NULL, &request);
    MPI_Start(&request);
    MPI_Pready(0, request);
    MPI_Pready(0, request);
}

static void partition_outside(void)
{
    MPI_Request request;

    MPI_Psend_init(numbers, 2, 1, MPI_INT, 0, 0, world, MPI_INFO_NULL, &request);
    MPI_Start(&request);
    MPI_Pready(2, request);
}

static void completion_of_a_plain_request(void)
{
    MPI_Request request;

    MPI_Irecv(numbers, 1, MPI_INT, 0, 0, world, &request);
    MPI_Grequest_complete(request);
}

/* ---- messages ---- */

static void truncate_by(int sent, int received)
{
    MPI_Request request;

    MPI_Irecv(numbers, received, MPI_INT, 0, 5, world, &request);
    MPI_Send(numbers, sent, MPI_INT, 0, 5, world);
    MPI_Wait(&request, MPI_STATUS_IGNORE);
}

static void truncated(void)
{
    truncate_by(100, 10);
}

static void truncated_long(void)
{
    truncate_by(MANY, 10);
}

static void buffer_too_small(void)
{
    MPI_Buffer_attach(numbers + 100, 80);
    MPI_Bsend(numbers, MANY, MPI_INT, 0, 0, world);
}

static void attached_twice(void)
{
    MPI_Buffer_attach(numbers, sizeof(numbers) / 2);
    MPI_Buffer_attach(numbers + MANY / 2, sizeof(numbers) / 2);
}

static void pack_without_room(void)
{
    int position = 0;

    MPI_Pack(numbers, 10, MPI_INT, numbers + 100, 8, &position, world);
}

/* ---- attributes, infos, handlers, codes ---- */

static void key_that_is_invalid(void)
{
    MPI_Comm_set_attr(world, MPI_KEYVAL_INVALID, NULL);
}

static void key_of_another_object(void)
{
    int key;

    MPI_Type_create_keyval(MPI_TYPE_NULL_COPY_FN, MPI_TYPE_NULL_DELETE_FN, &key, NULL);
    MPI_Comm_set_attr(world, key, NULL);
}

static void key_that_is_predefined(void)
{
    MPI_Comm_set_attr(world, MPI_TAG_UB, NULL);
}

static void null_info(void)
{
    MPI_Info_set(MPI_INFO_NULL, "key", "value");
}

static void info_without_the_key(void)
{
    MPI_Info info;

    MPI_Info_create(&info);
    MPI_Info_delete(info, "missing");
}

static void info_of_the_environment(void)
{
    MPI_Info_set(MPI_INFO_ENV, "key", "value");
}

static void long_info_key(void)
{
    char key[MPI_MAX_INFO_KEY + 10];
    MPI_Info info;

    memset(key, 'k', sizeof(key));
    key[sizeof(key) - 1] = '\0';
    MPI_Info_create(&info);
    MPI_Info_set(info, key, "value");
}

static void null_handler(void)
{
    MPI_Comm_set_errhandler(world, MPI_ERRHANDLER_NULL);
}

static void session_handler(MPI_Session *session, int *code, ...)
{
    (void)session;
    (void)code;
}

static void handler_of_another_object(void)
{
    MPI_Errhandler handler;

    MPI_Session_create_errhandler(session_handler, &handler);
    MPI_Comm_set_errhandler(world, handler);
}

static void code_that_is_none(void)
{
    char text[MPI_MAX_ERROR_STRING];
    int length;

    MPI_Error_string(-1, text, &length);
}

static void error_of_the_program(void)
{
    int class;
    int code;

    MPI_Add_error_class(&class);
    MPI_Add_error_code(class, &code);
    MPI_Add_error_string(code, "the mesh has a hole");
    MPI_Comm_call_errhandler(world, code);
}

/* A library above MPI names the call that it has refused. */
static void error_of_a_library(void)
{
    int code;

    MPI_Add_error_code(MPI_ERR_TYPE, &code);
    MPI_Add_error_string(code,
                         "MPI_Send: MPI_ERR_TYPE: the section has gaps: pass another");
    MPI_Comm_call_errhandler(world, code);
}

static void error_of_a_library_on_self(void)
{
    int code;

    MPI_Add_error_code(MPI_ERR_TYPE, &code);
    MPI_Add_error_string(code,
                         "MPI_Send: MPI_ERR_TYPE: the section has gaps: pass another");
    MPI_Comm_call_errhandler(MPI_COMM_SELF, code);
}

/* The class is another than that of the code, so that the text is no sentence. */
static void error_of_another_class(void)
{
    int code;

    MPI_Add_error_code(MPI_ERR_COUNT, &code);
    MPI_Add_error_string(code,
                         "MPI_Send: MPI_ERR_TYPE: the section has gaps: pass another");
    MPI_Comm_call_errhandler(world, code);
}

/* ---- the whole ---- */

static void port(void)
{
    char name[MPI_MAX_PORT_NAME];

    MPI_Open_port(MPI_INFO_NULL, name);
}

static void initialised_twice(void)
{
    MPI_Init(NULL, NULL);
}

static void finalize_twice(void)
{
    MPI_Finalize();
    MPI_Finalize();
}

static void after_finalize(void)
{
    MPI_Finalize();
    MPI_Barrier(world);
}

static void aborted(void)
{
    MPI_Abort(world, 7);
}

#define CASE(name)                                                                       \
    {                                                                                    \
#name, name                                                                      \
    }

static const struct mistake {
    const char *name;
    void (*make)(void);
} mistakes[] = {
    CASE(destination),
    CASE(source),
    CASE(negative_tag),
    CASE(any_tag_in_send),
    CASE(any_source_in_send),
    CASE(negative_count),
    CASE(huge_count),
    CASE(null_buffer),
    CASE(null_result),
    CASE(negative_size),
    CASE(huge_size),
    CASE(null_comm),
    CASE(comm_of_garbage),
    CASE(freed_comm),
    CASE(comm_that_is_a_type),
    CASE(comm_that_is_a_group),
    CASE(comm_not_set),
    CASE(free_of_world),
    CASE(remote_size_of_one_group),
    CASE(negative_color),
    CASE(split_type),
    CASE(null_group),
    CASE(rank_outside_of_group),
    CASE(rank_twice_in_group),
    CASE(stride_of_zero),
    CASE(null_session),
    CASE(null_type),
    CASE(type_that_is_freed),
    CASE(type_not_committed),
    CASE(type_that_is_a_comm),
    CASE(free_of_int),
    CASE(negative_blocks),
    CASE(subarray_outside),
    CASE(contents_of_int),
    CASE(null_op),
    CASE(op_of_other_types),
    CASE(op_that_is_a_type),
    CASE(free_of_sum),
    CASE(root),
    CASE(in_place_of_bcast),
    CASE(own_block),
    CASE(same_buffers),
    CASE(no_topology),
    CASE(null_counts),
    CASE(grid_too_large),
    CASE(dimension_of_zero),
    CASE(coordinates_without_grid),
    CASE(dimensions_that_do_not_divide),
    CASE(direction),
    CASE(freed_request),
    CASE(null_request),
    CASE(start_of_a_plain_request),
    CASE(started_twice),
    CASE(cancel_of_a_collective),
    CASE(null_message),
    CASE(ready_twice),
    CASE(partition_outside),
    CASE(completion_of_a_plain_request),
    CASE(truncated),
    CASE(truncated_long),
    CASE(buffer_too_small),
    CASE(attached_twice),
    CASE(pack_without_room),
    CASE(key_that_is_invalid),
    CASE(key_of_another_object),
    CASE(key_that_is_predefined),
    CASE(null_info),
    CASE(info_without_the_key),
    CASE(info_of_the_environment),
    CASE(long_info_key),
    CASE(null_handler),
    CASE(handler_of_another_object),
    CASE(code_that_is_none),
    CASE(error_of_the_program),
    CASE(error_of_a_library),
    CASE(error_of_a_library_on_self),
    CASE(error_of_another_class),
    CASE(file_that_is_not_there),
    CASE(file_that_is_a_folder),
    CASE(file_mode_missing),
    CASE(file_mode_create),
    CASE(file_mode_sequential),
    CASE(file_mode_unknown),
    CASE(null_file),
    CASE(file_read_only),
    CASE(file_write_only),
    CASE(file_in_sequence),
    CASE(file_offset),
    CASE(file_far_away),
    CASE(file_half_an_etype),
    CASE(file_seek),
    CASE(file_whence),
    CASE(file_size),
    CASE(file_displacement),
    CASE(file_displacement_in_sequence),
    CASE(file_filetype),
    CASE(file_representation),
    CASE(representation_twice),
    CASE(representation_name),
    CASE(split_twice),
    CASE(split_that_was_not_begun),
    CASE(file_on_a_full_device),
    CASE(request_of_a_full_device),
    CASE(window_size),
    CASE(window_unit),
    CASE(window_without_memory),
    CASE(null_window),
    CASE(freed_window),
    CASE(window_that_is_a_type),
    CASE(attach_to_created),
    CASE(shared_query_of_dynamic),
    CASE(attached_again),
    CASE(detached_again),
    CASE(window_key),
    CASE(target),
    CASE(displacement),
    CASE(behind_the_window),
    CASE(not_attached),
    CASE(sides_that_differ),
    CASE(two_basic_types),
    CASE(other_elements),
    CASE(cut_elements),
    CASE(derived_in_fetch),
    CASE(swap_of_doubles),
    CASE(op_of_the_program),
    CASE(no_op),
    CASE(op_of_characters),
    CASE(lock_type),
    CASE(no_locks),
    CASE(assertion),
    CASE(put_without_epoch),
    CASE(start_after_fence),
    CASE(started_again),
    CASE(put_outside_of_start),
    CASE(posted_again),
    CASE(wait_without_post),
    CASE(fence_inside_lock),
    CASE(free_inside_lock_all),
    CASE(unlock_without_lock),
    CASE(unlock_all_without_lock),
    CASE(flush_without_lock),
    CASE(port),
    CASE(initialised_twice),
    CASE(finalize_twice),
    CASE(after_finalize),
    CASE(aborted),
};

enum { MISTAKES = sizeof(mistakes) / sizeof(mistakes[0]) };

/* The process of one mistake; it must not come back from it. */
static void err(const struct mistake *mistake)
{
    MPI_Init(NULL, NULL);
    mistake->make();
    fprintf(stderr, "nothing is said\n");
    _exit(0);
}

static void before_init(const char *name)
{
    MPI_Barrier(world);
    fprintf(stderr, "nothing is said by %s\n", name);
    _exit(0);
}

/* Runs it in a child and prints what that says, every line with the name before it. */
static void show(const char *name, const struct mistake *mistake)
{
    char line[4096];
    int ends[2];
    FILE *said;
    pid_t pid;

    if (pipe(ends) != 0 || (pid = fork()) < 0) {
        perror("error_texts");
        exit(1);
    }
    if (pid == 0) {
        dup2(ends[1], STDERR_FILENO);
        close(ends[0]);
        close(ends[1]);
        if (mistake == NULL) {
            before_init(name);
        }
        err(mistake);
    }
    close(ends[1]);
    said = fdopen(ends[0], "r");
    while (said != NULL && fgets(line, sizeof(line), said) != NULL) {
        printf("%s\t%s", name, line);
        fflush(stdout);
    }
    fclose(said);
    waitpid(pid, NULL, 0);
}

int main(int argc, char **argv)
{
    for (int i = 0; i < MISTAKES; i++) {
        if (argc < 2) {
            show(mistakes[i].name, &mistakes[i]);
        } else if (strcmp(argv[1], mistakes[i].name) == 0) {
            err(&mistakes[i]);
        }
    }
    if (argc < 2) {
        show("before_init", NULL);
    }
    return argc < 2 ? 0 : 2;
}
