/* io: files. io FOLDER [MIB [ROUNDS [PART]]]: collective access to one file of MIB
 * mebibytes (1024) in FOLDER, by all ranks. Each figure is the best of ROUNDS (5),
 * the parts of which are taken in turn. PART is one of:
 *   bare     pwrite and pread of each rank's part, without MPI: new file, old file, read
 *   contig   MPI_File_write_at_all of one block for each rank: new file, old file; read
 *   btio     a cube of cells of 5 doubles, dealt out in blocks of 3 dimensions:
 *            MPI_File_write_all and MPI_File_read_all; a quarter of the bytes
 *   strided  1,000 pieces of 64 B each, in turn: MPI_File_write_all, microseconds
 *   shared   MPI_File_write_shared of 64 B: appends per second of all ranks
 *   overlap  MPI_File_iwrite_at_all of 256 MiB, or what there is, by rank 0 and 1 rank
 *            that has none, while rank 0 computes: per cent of the write that is hidden
 *   busy     MPI_File_iwrite_at_all of a quarter of the bytes by all ranks, each of which
 *            computes meanwhile; with as many ranks as cores no core is left. The time
 *            beyond that of the same work alone, in times of a bare pwrite
 * Rows of bandwidth are in MB/s of all ranks together. */
#define _GNU_SOURCE
#include "bench.h"

#include <fcntl.h>
#include <unistd.h>

static char name[512];
static size_t bytes; /* of each rank */
static int rounds = 5;
static char *data;

static void fresh(void)
{
    MPI_Barrier(MPI_COMM_WORLD);
    if (me == 0)
        unlink(name);
    MPI_Barrier(MPI_COMM_WORLD);
}

static double slowest(double mine)
{
    double all;
    MPI_Allreduce(&mine, &all, 1, MPI_DOUBLE, MPI_MAX, MPI_COMM_WORLD);
    return all;
}

static double begin(void)
{
    MPI_Barrier(MPI_COMM_WORLD);
    return wall();
}

static void keep(double *best, double now)
{
    if (now < *best)
        *best = now;
}

static void tell(const char *what, const char *param, double total, double seconds)
{
    if (me == 0)
        row(what, param, total / seconds / 1e6, "MB/s");
}

static void bare_once(double *best)
{
    double start;
    int fd;
    fresh();
    fd = open(name, O_RDWR | O_CREAT, 0600);
    for (int how = 0; how < 3; how++) {
        off_t at = (off_t)bytes * me;
        size_t done = 0;
        start = begin();
        while (done < bytes) {
            ssize_t n = how < 2 ? pwrite(fd, data + done, bytes - done, at + (off_t)done)
                                : pread(fd, data + done, bytes - done, at + (off_t)done);
            if (n <= 0)
                MPI_Abort(MPI_COMM_WORLD, 4);
            done += (size_t)n;
        }
        keep(&best[how], slowest(wall() - start));
    }
    close(fd);
}

static void contig_once(double *best)
{
    MPI_File file;
    double start;
    fresh();
    MPI_File_open(MPI_COMM_WORLD, name, MPI_MODE_CREATE | MPI_MODE_RDWR, MPI_INFO_NULL,
                  &file);
    for (int how = 0; how < 3; how++) {
        MPI_Offset at = (MPI_Offset)bytes * me;
        int n = (int)(bytes / 8);
        start = begin();
        if (how < 2)
            MPI_File_write_at_all(file, at, data, n, MPI_DOUBLE, MPI_STATUS_IGNORE);
        else
            MPI_File_read_at_all(file, at, data, n, MPI_DOUBLE, MPI_STATUS_IGNORE);
        keep(&best[how], slowest(wall() - start));
    }
    MPI_File_close(&file);
}

/* Blocks along z and y: rows of a block are pieces of the file where y is divided, and
 * x is halved, too, so that a piece is half a row. */
static void btio_once(double *best, int edge)
{
    int dims[3] = {0, 0, 0}, sizes[4], sub[4], from[4], place[3], total;
    MPI_Datatype type;
    MPI_File file;
    MPI_Dims_create(np, 3, dims);
    place[2] = me % dims[0];
    place[1] = me / dims[0] % dims[1];
    place[0] = me / dims[0] / dims[1];
    for (int d = 0; d < 3; d++) {
        int parts = dims[2 - d];
        sizes[d] = edge;
        sub[d] = edge / parts;
        from[d] = sub[d] * place[d];
    }
    sizes[3] = sub[3] = 5;
    from[3] = 0;
    total = sub[0] * sub[1] * sub[2] * 5;
    MPI_Type_create_subarray(4, sizes, sub, from, MPI_ORDER_C, MPI_DOUBLE, &type);
    MPI_Type_commit(&type);
    fresh();
    MPI_File_open(MPI_COMM_WORLD, name, MPI_MODE_CREATE | MPI_MODE_RDWR, MPI_INFO_NULL,
                  &file);
    for (int how = 0; how < 3; how++) {
        double start;
        MPI_File_set_view(file, 0, MPI_DOUBLE, type, "native", MPI_INFO_NULL);
        start = begin();
        if (how < 2)
            MPI_File_write_all(file, data, total, MPI_DOUBLE, MPI_STATUS_IGNORE);
        else
            MPI_File_read_all(file, data, total, MPI_DOUBLE, MPI_STATUS_IGNORE);
        keep(&best[how], slowest(wall() - start));
    }
    MPI_File_close(&file);
    MPI_Type_free(&type);
}

static void strided_once(double *best)
{
    MPI_Datatype type, wide;
    MPI_File file;
    MPI_Type_vector(1000, 64, 64 * np, MPI_BYTE, &type);
    MPI_Type_create_resized(type, 0, 64000 * (MPI_Aint)np, &wide);
    MPI_Type_commit(&wide);
    fresh();
    MPI_File_open(MPI_COMM_WORLD, name, MPI_MODE_CREATE | MPI_MODE_RDWR, MPI_INFO_NULL,
                  &file);
    MPI_File_set_view(file, 64 * me, MPI_BYTE, wide, "native", MPI_INFO_NULL);
    for (int i = 0; i < 50; i++) {
        double start = begin();
        MPI_File_write_at_all(file, 0, data, 64000, MPI_BYTE, MPI_STATUS_IGNORE);
        keep(&best[0], slowest(wall() - start));
        start = begin();
        MPI_File_read_at_all(file, 0, data, 64000, MPI_BYTE, MPI_STATUS_IGNORE);
        keep(&best[1], slowest(wall() - start));
    }
    MPI_File_close(&file);
    MPI_Type_free(&type);
    MPI_Type_free(&wide);
}

static void shared_once(double *best)
{
    MPI_Offset size;
    MPI_File file;
    double start;
    fresh();
    MPI_File_open(MPI_COMM_WORLD, name, MPI_MODE_CREATE | MPI_MODE_RDWR, MPI_INFO_NULL,
                  &file);
    start = begin();
    for (int i = 0; i < 1000; i++)
        MPI_File_write_shared(file, data, 64, MPI_BYTE, MPI_STATUS_IGNORE);
    keep(&best[0], slowest(wall() - start));
    MPI_File_sync(file);
    MPI_Barrier(MPI_COMM_WORLD);
    MPI_File_get_size(file, &size);
    check(size == 64000 * (MPI_Offset)np, "io.shared", "size");
    MPI_File_close(&file);
}

static volatile double sink;
static double compute(double seconds)
{
    double end = wall() + seconds, x = 1;
    while (wall() < end)
        for (int i = 0; i < 1000; i++)
            x = x * 1.0000001 + 1e-9;
    sink = x;
    return x;
}

/* Rank 0 has all of the data. The others wait inside MPI, and leave it their cores. */
static void overlap_once(double *best)
{
    size_t n = me == 0 ? (bytes < 256u << 20 ? bytes : 256u << 20) : 0;
    MPI_Request request;
    MPI_File file;
    double alone, both, start;
    fresh();
    MPI_File_open(MPI_COMM_WORLD, name, MPI_MODE_CREATE | MPI_MODE_RDWR, MPI_INFO_NULL,
                  &file);
    MPI_File_write_at_all(file, 0, data, (int)n, MPI_BYTE, MPI_STATUS_IGNORE);
    start = begin();
    MPI_File_iwrite_at_all(file, 0, data, (int)n, MPI_BYTE, &request);
    MPI_Wait(&request, MPI_STATUS_IGNORE);
    alone = slowest(wall() - start);
    start = begin();
    MPI_File_iwrite_at_all(file, 0, data, (int)n, MPI_BYTE, &request);
    if (me == 0)
        compute(alone);
    MPI_Wait(&request, MPI_STATUS_IGNORE);
    both = slowest(wall() - start);
    keep(&best[0], (both - alone) / alone);
    keep(&best[1], alone);
    MPI_File_close(&file);
}

static double toil(long turns)
{
    double start = wall();
    work(turns);
    return wall() - start;
}

static void bare_write(int fd, size_t n)
{
    for (size_t done = 0; done < n;) {
        ssize_t now = pwrite(fd, data + done, n - done, (off_t)(n * (size_t)me + done));
        if (now <= 0)
            MPI_Abort(MPI_COMM_WORLD, 4);
        done += (size_t)now;
    }
}

/* The work takes about three times as long as the write. */
static void busy_once(double *best)
{
    size_t n = bytes / 4;
    double alone, bare, both, start;
    long turns = 1000000;
    MPI_Request request;
    MPI_File file;
    int fd;
    fresh();
    MPI_File_open(MPI_COMM_WORLD, name, MPI_MODE_CREATE | MPI_MODE_RDWR, MPI_INFO_NULL,
                  &file);
    fd = open(name, O_RDWR);
    bare_write(fd, n);
    start = begin();
    bare_write(fd, n);
    bare = slowest(wall() - start);
    turns = (long)(3 * bare / slowest(toil(turns)) * (double)turns);
    alone = slowest(toil(turns));
    start = begin();
    MPI_File_iwrite_at_all(file, (MPI_Offset)(n * (size_t)me), data, (int)n, MPI_BYTE,
                           &request);
    toil(turns);
    MPI_Wait(&request, MPI_STATUS_IGNORE);
    both = slowest(wall() - start);
    keep(&best[0], (both - alone) / bare);
    close(fd);
    MPI_File_close(&file);
}

int main(int argc, char **argv)
{
    double t[16];
    const char *part;
    double total, cells;
    int edge = 12;
    bench_begin(&argc, &argv, 0);
    snprintf(name, sizeof name, "%s/bench_io.%d", argc > 1 ? argv[1] : "/dev/shm", np);
    total = (argc > 2 ? atof(argv[2]) : 1024) * 1048576;
    rounds = argc > 3 ? atoi(argv[3]) : 5;
    part = argc > 4 ? argv[4] : "";
    bytes = (size_t)(total / np) / 8 * 8;
    while ((edge + 12.0) * (edge + 12.0) * (edge + 12.0) * 40 <= total / 4)
        edge += 12;
    cells = (double)edge * edge * edge * 40;
    data = buffer(bytes);
    for (int i = 0; i < 16; i++)
        t[i] = 1e9;
    for (int i = 0; i < rounds; i++) {
        if (!*part || strstr(part, "bare"))
            bare_once(t);
        if (!*part || strstr(part, "contig"))
            contig_once(t + 3);
        if (!*part || strstr(part, "btio"))
            btio_once(t + 6, edge);
        if (!*part || strstr(part, "strided"))
            strided_once(t + 9);
        if (!*part || strstr(part, "shared"))
            shared_once(t + 11);
        if (!*part || strstr(part, "overlap"))
            overlap_once(t + 12);
        if (!*part || strstr(part, "busy"))
            busy_once(t + 14);
    }
    fresh();
    total = (double)bytes * np;
    if (t[0] < 1e9) {
        tell("io.bare", "write,new", total, t[0]);
        tell("io.bare", "write,old", total, t[1]);
        tell("io.bare", "read", total, t[2]);
    }
    if (t[3] < 1e9) {
        tell("io.contig", "write,new", total, t[3]);
        tell("io.contig", "write,old", total, t[4]);
        tell("io.contig", "read", total, t[5]);
    }
    if (t[6] < 1e9) {
        tell("io.btio", "write,new", cells, t[6]);
        tell("io.btio", "write,old", cells, t[7]);
        tell("io.btio", "read", cells, t[8]);
    }
    if (me == 0 && t[9] < 1e9) {
        row("io.strided", "write", t[9] * 1e6, "us");
        row("io.strided", "read", t[10] * 1e6, "us");
    }
    if (me == 0 && t[11] < 1e9)
        row("io.shared", "append", 1000.0 * np / t[11], "1/s");
    if (me == 0 && t[12] < 1e9) {
        row("io.overlap", "hidden", 100 * (1 - t[12]), "%");
        row("io.overlap", "alone", t[13] * 1e3, "ms");
    }
    if (me == 0 && t[14] < 1e9)
        row("io.busy", "cost", t[14], "x");
    MPI_Finalize();
    return 0;
}
