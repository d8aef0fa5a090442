/*
 * io_files.c - chapters 14.2 and 14.3: how files are opened, closed and deleted, what
 * they tell of themselves, their sizes, views, pointers and error handlers.
 */
#include "io.h"

#include <sys/stat.h>
#include <unistd.h>

static MPI_File open_file(int amode)
{
    MPI_File fh = MPI_FILE_NULL;

    DONE(MPI_File_open(MPI_COMM_WORLD, path, amode, MPI_INFO_NULL, &fh));
    return fh;
}

static void open_fails(int amode, int class)
{
    MPI_File fh = (MPI_File)0;

    IS_ERROR(MPI_File_open(MPI_COMM_WORLD, path, amode, MPI_INFO_NULL, &fh), class);
    CHECK(fh == MPI_FILE_NULL || class == MPI_ERR_AMODE);
}

static void barrier(void)
{
    DONE(MPI_Barrier(MPI_COMM_WORLD));
}

static bool exists(void)
{
    return access(path, F_OK) == 0;
}

/* ---- opening ---- */

static void ways_to_open(void)
{
    MPI_Offset now = -1;
    MPI_File fh;
    int amode = 0;

    open_fails(MPI_MODE_RDONLY, MPI_ERR_NO_SUCH_FILE);
    open_fails(MPI_MODE_RDWR, MPI_ERR_NO_SUCH_FILE);
    open_fails(0, MPI_ERR_AMODE);
    open_fails(MPI_MODE_RDONLY | MPI_MODE_RDWR, MPI_ERR_AMODE);
    open_fails(MPI_MODE_RDONLY | MPI_MODE_CREATE, MPI_ERR_AMODE);
    open_fails(MPI_MODE_RDONLY | MPI_MODE_EXCL, MPI_ERR_AMODE);
    open_fails(MPI_MODE_RDWR | MPI_MODE_SEQUENTIAL, MPI_ERR_AMODE);
    CHECK(!exists());
    barrier();
    fh = open_file(MPI_MODE_WRONLY | MPI_MODE_CREATE | MPI_MODE_EXCL);
    CHECK(exists());
    DONE(MPI_File_get_amode(fh, &amode));
    CHECK(amode == (MPI_MODE_WRONLY | MPI_MODE_CREATE | MPI_MODE_EXCL));
    if (rank == 0) {
        DONE(MPI_File_write(fh, "0123456789", 10, MPI_CHAR, MPI_STATUS_IGNORE));
    }
    DONE(MPI_File_close(&fh));
    open_fails(MPI_MODE_RDWR | MPI_MODE_CREATE | MPI_MODE_EXCL, MPI_ERR_FILE_EXISTS);
    fh = open_file(MPI_MODE_RDWR | MPI_MODE_CREATE); /* what it has stays */
    CHECK(size_of(fh) == 10);
    DONE(MPI_File_get_position(fh, &now));
    CHECK(now == 0);
    DONE(MPI_File_close(&fh));
    fh = open_file(MPI_MODE_RDWR | MPI_MODE_APPEND | MPI_MODE_UNIQUE_OPEN);
    DONE(MPI_File_get_position(fh, &now));
    CHECK(now == 10);
    DONE(MPI_File_get_position_shared(fh, &now));
    CHECK(now == 10);
    DONE(MPI_File_close(&fh));
    fh = open_file(MPI_MODE_RDONLY | MPI_MODE_DELETE_ON_CLOSE);
    CHECK(exists());
    DONE(MPI_File_close(&fh));
    CHECK(!exists());
    barrier();
}

/* One rank's mode differs from the others'. */
static void different_modes(void)
{
    MPI_File fh = MPI_FILE_NULL;
    const int amode = rank == size - 1 ? MPI_MODE_RDWR : MPI_MODE_WRONLY;

    if (size > 1) {
        IS_ERROR(MPI_File_open(MPI_COMM_WORLD, path, amode | MPI_MODE_CREATE,
                               MPI_INFO_NULL, &fh),
                 MPI_ERR_NOT_SAME);
        IS_ERROR(MPI_File_open(MPI_COMM_WORLD, path, rank == 0 ? 0 : MPI_MODE_RDWR,
                               MPI_INFO_NULL, &fh),
                 MPI_ERR_AMODE);
    }
    CHECK(!exists());
    barrier();
}

static void bad_names(void)
{
    char long_name[5000];
    MPI_File fh = MPI_FILE_NULL;

    memset(long_name, 'x', sizeof(long_name));
    long_name[sizeof(long_name) - 1] = '\0';
    IS_ERROR(MPI_File_open(MPI_COMM_SELF, long_name, MPI_MODE_RDONLY, MPI_INFO_NULL, &fh),
             MPI_ERR_BAD_FILE);
    IS_ERROR(MPI_File_open(MPI_COMM_SELF, "/", MPI_MODE_RDONLY, MPI_INFO_NULL, &fh),
             MPI_ERR_BAD_FILE);
    IS_ERROR(MPI_File_open(MPI_COMM_SELF, "/", MPI_MODE_RDWR, MPI_INFO_NULL, &fh),
             MPI_ERR_BAD_FILE);
    IS_ERROR(
        MPI_File_open(MPI_COMM_SELF, "/dev/null/x", MPI_MODE_RDWR, MPI_INFO_NULL, &fh),
        MPI_ERR_BAD_FILE);
    IS_ERROR(MPI_File_delete("/", MPI_INFO_NULL), MPI_ERR_BAD_FILE);
    IS_ERROR(MPI_File_delete(path, MPI_INFO_NULL), MPI_ERR_NO_SUCH_FILE);
    IS_ERROR(MPI_File_delete(NULL, MPI_INFO_NULL), MPI_ERR_ARG);
    IS_ERROR(MPI_File_open(MPI_COMM_SELF, NULL, MPI_MODE_RDWR, MPI_INFO_NULL, &fh),
             MPI_ERR_ARG);
    barrier(); /* before the next one makes the file */
}

static void delete_a_file(void)
{
    MPI_File fh = MPI_FILE_NULL;

    if (rank == 0) {
        DONE(MPI_File_open(MPI_COMM_SELF, path, MPI_MODE_WRONLY | MPI_MODE_CREATE,
                           MPI_INFO_NULL, &fh));
        DONE(MPI_File_close(&fh));
        CHECK(exists());
        DONE(MPI_File_delete(path, MPI_INFO_NULL));
        CHECK(!exists());
    }
    barrier();
}

/* ---- what a file tells ---- */

static bool has_key(MPI_Info info, const char *key, char *value)
{
    int room = MPI_MAX_INFO_VAL;
    int flag = 0;

    DONE(MPI_Info_get_string(info, key, &room, value, &flag));
    return flag != 0;
}

/* A file of one process: windows are those of members that share a node. */
static void default_hints(void)
{
    char value[MPI_MAX_INFO_VAL];
    MPI_File fh = MPI_FILE_NULL;
    MPI_Info used;

    DONE(MPI_File_open(MPI_COMM_SELF, path,
                       MPI_MODE_RDWR | MPI_MODE_CREATE | MPI_MODE_DELETE_ON_CLOSE,
                       MPI_INFO_NULL, &fh));
    DONE(MPI_File_get_info(fh, &used));
    CHECK(has_key(used, "cb_buffer_size", value) && strcmp(value, "1048576") == 0);
    DONE(MPI_Info_free(&used));
    DONE(MPI_File_close(&fh));
}

static void hints(void)
{
    char value[MPI_MAX_INFO_VAL];
    MPI_File fh = MPI_FILE_NULL;
    MPI_Info info;
    MPI_Info used;

    DONE(MPI_Info_create(&info));
    DONE(MPI_Info_set(info, "cb_buffer_size", "123456"));
    DONE(MPI_Info_set(info, "cb_nodes", "no number"));
    DONE(MPI_Info_set(info, "romio_ds_write", "disable"));
    DONE(MPI_Info_set(info, "nobody_knows_this", "1"));
    DONE(MPI_File_open(MPI_COMM_WORLD, path,
                       MPI_MODE_RDWR | MPI_MODE_CREATE | MPI_MODE_DELETE_ON_CLOSE, info,
                       &fh));
    DONE(MPI_File_get_info(fh, &used));
    CHECK(has_key(used, "cb_buffer_size", value) && strcmp(value, "123456") == 0);
    CHECK(has_key(used, "romio_ds_write", value) && strcmp(value, "disable") == 0);
    CHECK(has_key(used, "romio_ds_read", value) && strcmp(value, "automatic") == 0);
    CHECK(!has_key(used, "nobody_knows_this", value));
    DONE(MPI_Info_free(&used));
    DONE(MPI_Info_set(info, "cb_buffer_size", "0"));
    DONE(MPI_Info_set(info, "collective_buffering", "false"));
    DONE(MPI_File_set_info(fh, info));
    DONE(MPI_File_get_info(fh, &used));
    CHECK(has_key(used, "cb_buffer_size", value) && strcmp(value, "123456") == 0);
    CHECK(has_key(used, "romio_cb_write", value) && strcmp(value, "disable") == 0);
    CHECK(has_key(used, "collective_buffering", value) && strcmp(value, "false") == 0);
    DONE(MPI_Info_free(&used));
    DONE(MPI_Info_free(&info));
    DONE(MPI_File_close(&fh));
}

static void group_and_handle(MPI_File fh)
{
    MPI_Group group;
    MPI_Group world;
    int result = -1;

    DONE(MPI_File_get_group(fh, &group));
    DONE(MPI_Comm_group(MPI_COMM_WORLD, &world));
    DONE(MPI_Group_compare(group, world, &result));
    CHECK(result == MPI_IDENT);
    DONE(MPI_Group_free(&group));
    DONE(MPI_Group_free(&world));
    CHECK(MPI_File_fromint(MPI_File_toint(fh)) == fh);
    CHECK(MPI_File_fromint(MPI_File_toint(MPI_FILE_NULL)) == MPI_FILE_NULL);
}

/* ---- sizes ---- */

static void sizes(MPI_File fh)
{
    struct stat about;
    char bytes[16];
    MPI_Status status;

    DONE(MPI_File_set_size(fh, 100));
    CHECK(size_of(fh) == 100);
    DONE(MPI_File_preallocate(fh, 50)); /* never shrinks */
    CHECK(size_of(fh) == 100);
    DONE(MPI_File_preallocate(fh, 100000));
    CHECK(size_of(fh) == 100000);
    CHECK(stat(path, &about) == 0 && about.st_blocks > 0);
    if (rank == 0) {
        DONE(MPI_File_write_at(fh, 10, "abc", 3, MPI_CHAR, MPI_STATUS_IGNORE));
    }
    sync_all(fh);
    DONE(MPI_File_preallocate(fh, 200000)); /* and changes nothing */
    DONE(MPI_File_read_at(fh, 9, bytes, 5, MPI_CHAR, &status));
    CHECK(memcmp(bytes, "\0abc\0", 5) == 0);
    DONE(MPI_File_set_size(fh, 11));
    CHECK(size_of(fh) == 11);
    DONE(MPI_File_set_size(fh, 5000000000)); /* has holes */
    CHECK(size_of(fh) == 5000000000);
    DONE(MPI_File_set_size(fh, 0));
    IS_ERROR(MPI_File_set_size(fh, -1), MPI_ERR_ARG);
    IS_ERROR(MPI_File_preallocate(fh, -1), MPI_ERR_ARG);
    if (size > 1) {
        IS_ERROR(MPI_File_set_size(fh, rank), MPI_ERR_NOT_SAME);
        IS_ERROR(MPI_File_preallocate(fh, rank == 0 ? -1 : 5), MPI_ERR_ARG);
    }
    CHECK(size_of(fh) == 0);
    barrier();
}

/* Offsets beyond what 32 bits can say. */
static void far_away(MPI_File fh)
{
    const MPI_Offset far_off = 3LL << 32;
    MPI_Status status;
    char byte = 0;

    if (rank == size - 1) {
        DONE(MPI_File_write_at(fh, far_off, "x", 1, MPI_CHAR, &status));
    }
    sync_all(fh);
    CHECK(size_of(fh) == far_off + 1);
    DONE(MPI_File_read_at(fh, far_off, &byte, 1, MPI_CHAR, &status));
    CHECK(byte == 'x');
    barrier();
    DONE(MPI_File_set_size(fh, 0));
}

/* More bytes than an int can count, from memory that is used again and again. */
static void large_counts(void)
{
    enum { BLOCK = 1 << 20, BLOCKS = 3000 };
    const MPI_Count bytes = (MPI_Count)BLOCK * BLOCKS;
    static char block[BLOCK];
    MPI_Datatype type;
    MPI_Request request;
    MPI_Status status;
    MPI_Count count = -1;
    MPI_Offset now = -1;
    int few = 0;
    MPI_File fh;

    DONE(MPI_File_open(MPI_COMM_SELF, "/dev/null", MPI_MODE_WRONLY, MPI_INFO_NULL, &fh));
    DONE(MPI_Type_create_hvector(BLOCKS, BLOCK, 0, MPI_BYTE, &type));
    DONE(MPI_Type_commit(&type));
    DONE(MPI_File_write(fh, block, 1, type, &status));
    DONE(MPI_Get_count_c(&status, MPI_BYTE, &count));
    CHECK(count == bytes);
    DONE(MPI_Get_count(&status, MPI_BYTE, &few));
    CHECK(few == MPI_UNDEFINED);
    DONE(MPI_File_iwrite_c(fh, block, 1, type, &request));
    DONE(MPI_Wait(&request, &status));
    DONE(MPI_Get_elements_c(&status, MPI_BYTE, &count));
    CHECK(count == bytes);
    DONE(MPI_File_get_position(fh, &now));
    CHECK(now == 2 * bytes);
    DONE(MPI_Type_free(&type));
    DONE(MPI_File_close(&fh));
}

/* ---- views ---- */

/* Every rank sees every size-th pair of numbers. */
static MPI_Datatype every_other_pair(void)
{
    MPI_Datatype pair;
    MPI_Datatype type;

    DONE(MPI_Type_contiguous(2, MPI_INT, &pair));
    DONE(MPI_Type_create_resized(pair, 0, 8 * size, &type));
    DONE(MPI_Type_commit(&type));
    DONE(MPI_Type_free(&pair));
    return type;
}

static void is_view(MPI_File fh, MPI_Offset disp, MPI_Aint extent)
{
    char datarep[MPI_MAX_DATAREP_STRING] = "";
    MPI_Datatype etype = MPI_DATATYPE_NULL;
    MPI_Datatype filetype = MPI_DATATYPE_NULL;
    MPI_Offset got = -1;
    MPI_Aint lb = 0;
    MPI_Aint there = 0;

    DONE(MPI_File_get_view(fh, &got, &etype, &filetype, datarep));
    CHECK(got == disp);
    CHECK(etype == MPI_INT);
    CHECK(strcmp(datarep, "native") == 0);
    DONE(MPI_Type_get_extent(filetype, &lb, &there));
    CHECK(there == extent);
    DONE(MPI_Type_free(&filetype));
    DONE(MPI_File_get_type_extent(fh, MPI_INT, &there));
    CHECK(there == 4);
}

static void view_with_holes(MPI_File fh)
{
    MPI_Datatype type = every_other_pair();
    MPI_Offset at = -1;
    MPI_Count extent = 0;
    MPI_Status status;
    int numbers[6] = {0};
    int all[64];

    for (int i = 0; i < 6; i++) {
        numbers[i] = rank * 100 + i;
    }
    DONE(MPI_File_set_view(fh, 4 + 8 * rank, MPI_INT, type, "native", MPI_INFO_NULL));
    DONE(MPI_Type_free(&type)); /* the view goes on */
    is_view(fh, 4 + 8 * rank, 8 * size);
    DONE(MPI_File_get_type_extent_c(fh, MPI_DOUBLE, &extent));
    CHECK(extent == 8);
    DONE(MPI_File_get_byte_offset(fh, 3, &at));
    CHECK(at == 4 + 8 * rank + 8 * size + 4);
    DONE(MPI_File_write_at(fh, 0, numbers, 3, MPI_INT, &status));
    DONE(MPI_File_write_at_all(fh, 3, numbers + 3, 3, MPI_INT, &status));
    sync_all(fh);
    CHECK(size_of(fh) == 4 + 8 * 3 * size);
    DONE(MPI_File_seek(fh, -1, MPI_SEEK_END));
    DONE(MPI_File_get_position(fh, &at));
    CHECK(at == 5);
    DONE(MPI_File_seek(fh, 0, MPI_SEEK_SET));
    memset(all, 0, sizeof(all));
    DONE(MPI_File_read(fh, all, 20, MPI_INT, &status)); /* the last has more there */
    CHECK(count_of(&status, MPI_INT) == 6);
    CHECK(memcmp(all, numbers, sizeof(numbers)) == 0);
    barrier();
    DONE(MPI_File_set_view(fh, 4, MPI_INT, MPI_INT, "native", MPI_INFO_NULL));
    DONE(MPI_File_read(fh, all, 64, MPI_INT, &status));
    CHECK(count_of(&status, MPI_INT) == 6 * size);
    for (int i = 0; i < 6 * size; i++) {
        CHECK(all[i] == i / 2 % size * 100 + i / (2 * size) * 2 + i % 2);
    }
    barrier();
}

/* Memory and file have holes of different kinds. */
static void holes_on_both_sides(MPI_File fh)
{
    enum { N = 7 };
    MPI_Datatype filetype;
    MPI_Datatype memory;
    MPI_Status status;
    short out[5 * N];
    short in[5 * N];

    for (int i = 0; i < 5 * N; i++) {
        out[i] = (short)(rank * 1000 + i);
        in[i] = -1;
    }
    DONE(MPI_Type_vector(3, 2, 3 * size, MPI_SHORT, &filetype));
    DONE(MPI_Type_commit(&filetype));
    DONE(MPI_Type_vector(N, 3, 5, MPI_SHORT, &memory));
    DONE(MPI_Type_commit(&memory));
    DONE(MPI_File_set_view(fh, 6 * rank, MPI_SHORT, filetype, "native", MPI_INFO_NULL));
    if (rank == 0) {
        DONE(MPI_File_write_at(fh, 1, out, 1, memory, &status));
        CHECK(count_of(&status, memory) == 1);
        DONE(MPI_File_read_at(fh, 1, in, 1, memory, &status));
        CHECK(count_of(&status, memory) == 1);
        for (int i = 0; i < 5 * N; i++) {
            CHECK(in[i] == (i % 5 < 3 ? out[i] : -1));
        }
    }
    DONE(MPI_Type_free(&filetype));
    DONE(MPI_Type_free(&memory));
    barrier();
}

static void bad_views(MPI_File fh)
{
    const int lengths[2] = {1, 1};
    const int back[2] = {3, 0};
    const int over[2] = {0, 0};
    MPI_Datatype backward;
    MPI_Datatype overlap;
    MPI_Datatype late;

    DONE(MPI_Type_indexed(2, lengths, back, MPI_INT, &backward));
    DONE(MPI_Type_indexed(2, lengths, over, MPI_INT, &overlap));
    DONE(MPI_Type_contiguous(2, MPI_INT, &late));
    DONE(MPI_Type_commit(&backward));
    DONE(MPI_Type_commit(&overlap));
#define VIEW(disp, etype, filetype, datarep)                                             \
    MPI_File_set_view(fh, disp, etype, filetype, datarep, MPI_INFO_NULL)
    IS_ERROR(VIEW(-5, MPI_INT, MPI_INT, "native"), MPI_ERR_ARG);
    IS_ERROR(VIEW(MPI_DISPLACEMENT_CURRENT, MPI_INT, MPI_INT, "native"), MPI_ERR_ARG);
    IS_ERROR(VIEW(0, MPI_DATATYPE_NULL, MPI_INT, "native"), MPI_ERR_TYPE);
    IS_ERROR(VIEW(0, MPI_INT, late, "native"), MPI_ERR_TYPE);
    IS_ERROR(VIEW(0, MPI_INT, backward, "native"), MPI_ERR_IO);
    IS_ERROR(VIEW(0, MPI_INT, overlap, "native"), MPI_ERR_IO);
    IS_ERROR(VIEW(0, MPI_DOUBLE, MPI_INT, "native"), MPI_ERR_IO);
    IS_ERROR(VIEW(0, MPI_INT, MPI_INT, "foreign"), MPI_ERR_UNSUPPORTED_DATAREP);
    if (size > 1) {
        IS_ERROR(VIEW(0, rank == 0 ? MPI_INT : MPI_BYTE, MPI_INT, "native"),
                 MPI_ERR_NOT_SAME);
        IS_ERROR(VIEW(rank == 0 ? -1 : 0, MPI_INT, MPI_INT, "native"), MPI_ERR_ARG);
    }
#undef VIEW
    DONE(MPI_Type_free(&backward));
    DONE(MPI_Type_free(&overlap));
    DONE(MPI_Type_free(&late));
}

/* ---- sequential files ---- */

static void sequential(void)
{
    MPI_Offset at;
    MPI_Status status;
    int number = rank;
    MPI_File fh = open_file(MPI_MODE_WRONLY | MPI_MODE_CREATE | MPI_MODE_SEQUENTIAL);

    IS_ERROR(MPI_File_write_at(fh, 0, &number, 1, MPI_INT, &status),
             MPI_ERR_UNSUPPORTED_OPERATION);
    IS_ERROR(MPI_File_write(fh, &number, 1, MPI_INT, &status),
             MPI_ERR_UNSUPPORTED_OPERATION);
    IS_ERROR(MPI_File_seek(fh, 0, MPI_SEEK_SET), MPI_ERR_UNSUPPORTED_OPERATION);
    IS_ERROR(MPI_File_seek_shared(fh, 0, MPI_SEEK_SET), MPI_ERR_UNSUPPORTED_OPERATION);
    IS_ERROR(MPI_File_get_position(fh, &at), MPI_ERR_UNSUPPORTED_OPERATION);
    IS_ERROR(MPI_File_get_position_shared(fh, &at), MPI_ERR_UNSUPPORTED_OPERATION);
    IS_ERROR(MPI_File_get_byte_offset(fh, 0, &at), MPI_ERR_UNSUPPORTED_OPERATION);
    IS_ERROR(MPI_File_set_size(fh, 0), MPI_ERR_UNSUPPORTED_OPERATION);
    IS_ERROR(MPI_File_set_view(fh, 0, MPI_INT, MPI_INT, "native", MPI_INFO_NULL),
             MPI_ERR_ARG);
    DONE(MPI_File_write_ordered(fh, &number, 1, MPI_INT, &status));
    DONE(MPI_File_set_view(fh, MPI_DISPLACEMENT_CURRENT, MPI_SHORT, MPI_SHORT, "native",
                           MPI_INFO_NULL));
    DONE(MPI_File_write_shared(fh, &number, 2, MPI_SHORT, &status));
    DONE(MPI_File_close(&fh));
    fh = open_file(MPI_MODE_RDONLY | MPI_MODE_SEQUENTIAL | MPI_MODE_DELETE_ON_CLOSE);
    CHECK(size_of(fh) == 8 * size);
    DONE(MPI_File_read_ordered(fh, &number, 1, MPI_INT, &status));
    CHECK(number == rank);
    DONE(MPI_File_read_shared(fh, &number, 1, MPI_INT, &status));
    CHECK(number >= 0 && number < size);
    DONE(MPI_File_close(&fh));
}

/* ---- two communicators on one file ---- */

static void two_communicators(void)
{
    MPI_Comm half;
    MPI_File ours = MPI_FILE_NULL;
    MPI_File all = open_file(MPI_MODE_RDWR | MPI_MODE_CREATE | MPI_MODE_DELETE_ON_CLOSE);
    MPI_Status status;
    int number = rank;

    DONE(MPI_Comm_split(MPI_COMM_WORLD, rank % 2, rank, &half));
    DONE(MPI_File_open(half, path, MPI_MODE_RDWR, MPI_INFO_NULL, &ours));
    DONE(MPI_Comm_free(&half));
    DONE(MPI_File_write_at_all(ours, 4 * rank, &number, 1, MPI_INT, &status));
    DONE(MPI_File_sync(ours));
    sync_all(all);
    DONE(
        MPI_File_read_at_all(all, 4 * ((rank + 1) % size), &number, 1, MPI_INT, &status));
    CHECK(number == (rank + 1) % size);
    DONE(MPI_File_close(&ours));
    DONE(MPI_File_close(&all));
}

/* ---- errors ---- */

static int handled;
static MPI_File handled_file;

static void handler(MPI_File *file, int *code, ...)
{
    handled_file = *file;
    handled = *code;
}

static void error_handlers(void)
{
    MPI_Errhandler made;
    MPI_Errhandler got;
    MPI_File fh;

    DONE(MPI_File_create_errhandler(handler, &made));
    DONE(MPI_File_get_errhandler(MPI_FILE_NULL, &got));
    CHECK(got == MPI_ERRORS_RETURN);
    DONE(MPI_File_set_errhandler(MPI_FILE_NULL, made));
    handled = 0;
    IS_ERROR(
        MPI_File_open(MPI_COMM_SELF, "/none/there", MPI_MODE_RDONLY, MPI_INFO_NULL, &fh),
        MPI_ERR_NO_SUCH_FILE);
    CHECK(handled == MPI_ERR_NO_SUCH_FILE && handled_file == MPI_FILE_NULL);
    fh = new_file(MPI_MODE_RDWR); /* it inherits the handler */
    DONE(MPI_File_get_errhandler(fh, &got));
    CHECK(got == made);
    DONE(MPI_File_set_errhandler(MPI_FILE_NULL, MPI_ERRORS_RETURN));
    IS_ERROR(MPI_File_seek(fh, -1, MPI_SEEK_SET), MPI_ERR_ARG);
    CHECK(handled == MPI_ERR_ARG && handled_file == fh);
    DONE(MPI_File_call_errhandler(fh, MPI_ERR_IO));
    CHECK(handled == MPI_ERR_IO);
    DONE(MPI_File_set_errhandler(fh, MPI_ERRORS_RETURN));
    IS_ERROR(MPI_File_seek(fh, -1, MPI_SEEK_SET), MPI_ERR_ARG);
    CHECK(handled == MPI_ERR_IO);
    DONE(MPI_Errhandler_free(&made));
    DONE(MPI_Errhandler_free(&got));
    DONE(MPI_File_close(&fh));
}

static void wrong_arguments(MPI_File fh)
{
    MPI_Request request;
    MPI_Status status;
    int number = 0;

    DONE(MPI_File_set_view(fh, 0, MPI_INT, MPI_INT, "native", MPI_INFO_NULL));
    IS_ERROR(MPI_File_read_at(MPI_FILE_NULL, 0, &number, 1, MPI_INT, &status),
             MPI_ERR_FILE);
    IS_ERROR(MPI_File_read_at(fh, -1, &number, 1, MPI_INT, &status), MPI_ERR_ARG);
    IS_ERROR(MPI_File_read_at(fh, 0, &number, -1, MPI_INT, &status), MPI_ERR_COUNT);
    IS_ERROR(MPI_File_read_at(fh, 0, &number, 1, MPI_BYTE, &status), MPI_ERR_TYPE);
    IS_ERROR(MPI_File_read_at(fh, 0, &number, 1, MPI_DATATYPE_NULL, &status),
             MPI_ERR_TYPE);
    IS_ERROR(MPI_File_read_at(fh, 0, NULL, 1, MPI_INT, &status), MPI_ERR_BUFFER);
    IS_ERROR(MPI_File_read_at(fh, INT64_MAX, &number, 1, MPI_INT, &status), MPI_ERR_ARG);
    IS_ERROR(MPI_File_iread_at(fh, 0, &number, 1, MPI_INT, NULL), MPI_ERR_ARG);
    IS_ERROR(MPI_File_iread_at(fh, -1, &number, 1, MPI_INT, &request), MPI_ERR_ARG);
    IS_ERROR(MPI_File_seek(fh, 0, 5), MPI_ERR_ARG);
    IS_ERROR(MPI_File_seek_shared(fh, 0, 5), MPI_ERR_ARG);
    IS_ERROR(MPI_File_seek_shared(fh, -1, MPI_SEEK_SET), MPI_ERR_ARG);
    if (size > 1) {
        /* All get the class of the one whose arguments are wrong. */
        IS_ERROR(
            MPI_File_write_at_all(fh, rank == 1 ? -1 : 0, &number, 0, MPI_INT, &status),
            MPI_ERR_ARG);
        IS_ERROR(MPI_File_read_ordered(fh, &number, rank == 1 ? -1 : 0, MPI_INT, &status),
                 MPI_ERR_COUNT);
        IS_ERROR(MPI_File_seek_shared(fh, rank, MPI_SEEK_SET), MPI_ERR_NOT_SAME);
        IS_ERROR(MPI_File_set_atomicity(fh, rank), MPI_ERR_NOT_SAME);
    }
}

static void split_errors(MPI_File fh)
{
    MPI_File closed = fh;
    MPI_Status status;
    int numbers[2] = {0, 0};

    IS_ERROR(MPI_File_read_all_end(fh, numbers, &status), MPI_ERR_OTHER);
    DONE(MPI_File_write_at_all_begin(fh, rank, numbers, 1, MPI_INT));
    IS_ERROR(MPI_File_read_all_begin(fh, numbers, 1, MPI_INT), MPI_ERR_OTHER);
    IS_ERROR(MPI_File_write_all_end(fh, numbers, &status), MPI_ERR_OTHER);
    IS_ERROR(MPI_File_close(&closed), MPI_ERR_OTHER);
    DONE(MPI_File_read_at(fh, 0, numbers + 1, 1, MPI_INT, &status)); /* may go beside */
    DONE(MPI_File_write_at_all_end(fh, numbers, &status));
    IS_ERROR(MPI_File_write_at_all_end(fh, numbers, &status), MPI_ERR_OTHER);
}

static void wrong_modes(void)
{
    MPI_File fh = open_file(MPI_MODE_WRONLY | MPI_MODE_CREATE);
    int number = 0;

    IS_ERROR(MPI_File_read_at(fh, 0, &number, 1, MPI_INT, MPI_STATUS_IGNORE),
             MPI_ERR_ACCESS);
    DONE(MPI_File_close(&fh));
    IS_ERROR(MPI_File_close(&fh), MPI_ERR_FILE);
    fh = open_file(MPI_MODE_RDONLY | MPI_MODE_DELETE_ON_CLOSE);
    IS_ERROR(MPI_File_write_at(fh, 0, &number, 1, MPI_INT, MPI_STATUS_IGNORE),
             MPI_ERR_READ_ONLY);
    IS_ERROR(MPI_File_write_at_all(fh, 0, &number, 1, MPI_INT, MPI_STATUS_IGNORE),
             MPI_ERR_READ_ONLY);
    IS_ERROR(MPI_File_set_size(fh, 7), MPI_ERR_READ_ONLY);
    IS_ERROR(MPI_File_preallocate(fh, 7), MPI_ERR_READ_ONLY);
    DONE(MPI_File_close(&fh));
}

/* ---- a device that is full ---- */

static void full_device(void)
{
    MPI_File fh = MPI_FILE_NULL;
    MPI_Request requests[2];
    MPI_Status statuses[2];
    int numbers[4] = {1, 2, 3, 4};

    if (MPI_File_open(MPI_COMM_WORLD, "/dev/full", MPI_MODE_RDWR, MPI_INFO_NULL, &fh) !=
        MPI_SUCCESS) {
        return;
    }
    IS_ERROR(MPI_File_write_at(fh, 0, numbers, 4, MPI_INT, &statuses[0]),
             MPI_ERR_NO_SPACE);
    CHECK(count_of(&statuses[0], MPI_INT) == 0);
    DONE(MPI_File_iwrite_at(fh, 0, numbers, 4, MPI_INT, &requests[0]));
    IS_ERROR(MPI_Wait(&requests[0], &statuses[0]), MPI_ERR_NO_SPACE);
    DONE(MPI_File_iwrite_at(fh, 0, numbers, 4, MPI_INT, &requests[0]));
    DONE(MPI_File_iread_at(fh, 0, numbers, 4, MPI_INT, &requests[1]));
    IS_ERROR(MPI_Waitall(2, requests, statuses), MPI_ERR_IN_STATUS);
    CHECK(statuses[0].MPI_ERROR == MPI_ERR_NO_SPACE);
    CHECK(statuses[1].MPI_ERROR == MPI_SUCCESS);
    /* One rank writes, and all learn that it cannot. */
    IS_ERROR(MPI_File_write_at_all(fh, 0, numbers, rank == 0 ? 4 : 0, MPI_INT,
                                   MPI_STATUS_IGNORE),
             MPI_ERR_NO_SPACE);
    MPI_File_close(&fh);
}

/* ---- atomic mode ---- */

static void atomic_mode(MPI_File fh)
{
    enum { N = 3000 };
    static int numbers[N];
    MPI_Datatype type;
    int flag = -1;

    DONE(MPI_File_get_atomicity(fh, &flag));
    CHECK(flag == 0);
    DONE(MPI_File_set_atomicity(fh, 1));
    DONE(MPI_File_get_atomicity(fh, &flag));
    CHECK(flag == 1);
    /* All write the same places, which lie apart: one of them is the last. */
    DONE(MPI_Type_vector(N, 1, 2, MPI_INT, &type));
    DONE(MPI_Type_commit(&type));
    DONE(MPI_File_set_view(fh, 0, MPI_INT, type, "native", MPI_INFO_NULL));
    for (int i = 0; i < N; i++) {
        numbers[i] = rank;
    }
    DONE(MPI_File_write_at(fh, 0, numbers, N, MPI_INT, MPI_STATUS_IGNORE));
    DONE(MPI_File_read_at(fh, 0, numbers, N, MPI_INT, MPI_STATUS_IGNORE));
    for (int i = 0; i < N; i++) {
        CHECK(numbers[i] == numbers[0]);
    }
    DONE(MPI_Type_free(&type));
    barrier();
    DONE(MPI_File_set_atomicity(fh, 0));
}

int main(int argc, char **argv)
{
    MPI_File fh;

    begin(argc, argv);
    fh = new_file(MPI_MODE_RDWR);
    group_and_handle(fh);
    sizes(fh);
    far_away(fh);
    large_counts();
    view_with_holes(fh);
    holes_on_both_sides(fh);
    bad_views(fh);
    wrong_arguments(fh);
    split_errors(fh);
    atomic_mode(fh);
    DONE(MPI_File_close(&fh));
    ways_to_open();
    different_modes();
    bad_names();
    delete_a_file();
    if (rank == 0) {
        default_hints();
    }
    hints();
    sequential();
    two_communicators();
    error_handlers();
    wrong_modes();
    full_device();
    DONE(MPI_Finalize());
    return 0;
}
