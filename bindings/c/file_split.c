/*
 * file_split.c - MPI-5.0 chapter 14.4.5: collective reads and writes in two calls.
 */
#include "file_access.h"

int PMPI_File_read_all_begin(MPI_File fh, void *buf, int count, MPI_Datatype datatype)
{
    WEFT_RECORD_PLAIN(File_read_all_begin);
    const struct weft_file_args args =
        WEFT_FILE_ARGS("MPI_File_read_all_begin", false, true, WEFT_FILE_INDIVIDUAL, 0);

    return weft_file_begin(&args, "read_all");
}
WEFT_WEAK_ALIAS(MPI_File_read_all_begin, PMPI_File_read_all_begin);

int PMPI_File_read_all_begin_c(MPI_File fh, void *buf, MPI_Count count,
                               MPI_Datatype datatype)
{
    WEFT_RECORD_PLAIN(File_read_all_begin_c);
    const struct weft_file_args args =
        WEFT_FILE_ARGS("MPI_File_read_all_begin_c", false, true, WEFT_FILE_INDIVIDUAL, 0);

    return weft_file_begin(&args, "read_all");
}
WEFT_WEAK_ALIAS(MPI_File_read_all_begin_c, PMPI_File_read_all_begin_c);

int PMPI_File_read_all_end(MPI_File fh, void *buf, MPI_Status *status)
{
    WEFT_RECORD_PLAIN(File_read_all_end);

    (void)buf;
    return weft_file_end("MPI_File_read_all_end", fh, "read_all", status);
}
WEFT_WEAK_ALIAS(MPI_File_read_all_end, PMPI_File_read_all_end);

int PMPI_File_read_at_all_begin(MPI_File fh, MPI_Offset offset, void *buf, int count,
                                MPI_Datatype datatype)
{
    WEFT_RECORD_PLAIN(File_read_at_all_begin);
    const struct weft_file_args args = WEFT_FILE_ARGS("MPI_File_read_at_all_begin", false,
                                                      true, WEFT_FILE_EXPLICIT, offset);

    return weft_file_begin(&args, "read_at_all");
}
WEFT_WEAK_ALIAS(MPI_File_read_at_all_begin, PMPI_File_read_at_all_begin);

int PMPI_File_read_at_all_begin_c(MPI_File fh, MPI_Offset offset, void *buf,
                                  MPI_Count count, MPI_Datatype datatype)
{
    WEFT_RECORD_PLAIN(File_read_at_all_begin_c);
    const struct weft_file_args args = WEFT_FILE_ARGS(
        "MPI_File_read_at_all_begin_c", false, true, WEFT_FILE_EXPLICIT, offset);

    return weft_file_begin(&args, "read_at_all");
}
WEFT_WEAK_ALIAS(MPI_File_read_at_all_begin_c, PMPI_File_read_at_all_begin_c);

int PMPI_File_read_at_all_end(MPI_File fh, void *buf, MPI_Status *status)
{
    WEFT_RECORD_PLAIN(File_read_at_all_end);

    (void)buf;
    return weft_file_end("MPI_File_read_at_all_end", fh, "read_at_all", status);
}
WEFT_WEAK_ALIAS(MPI_File_read_at_all_end, PMPI_File_read_at_all_end);

int PMPI_File_read_ordered_begin(MPI_File fh, void *buf, int count, MPI_Datatype datatype)
{
    WEFT_RECORD_PLAIN(File_read_ordered_begin);
    const struct weft_file_args args =
        WEFT_FILE_ARGS("MPI_File_read_ordered_begin", false, true, WEFT_FILE_ORDERED, 0);

    return weft_file_begin(&args, "read_ordered");
}
WEFT_WEAK_ALIAS(MPI_File_read_ordered_begin, PMPI_File_read_ordered_begin);

int PMPI_File_read_ordered_begin_c(MPI_File fh, void *buf, MPI_Count count,
                                   MPI_Datatype datatype)
{
    WEFT_RECORD_PLAIN(File_read_ordered_begin_c);
    const struct weft_file_args args = WEFT_FILE_ARGS("MPI_File_read_ordered_begin_c",
                                                      false, true, WEFT_FILE_ORDERED, 0);

    return weft_file_begin(&args, "read_ordered");
}
WEFT_WEAK_ALIAS(MPI_File_read_ordered_begin_c, PMPI_File_read_ordered_begin_c);

int PMPI_File_read_ordered_end(MPI_File fh, void *buf, MPI_Status *status)
{
    WEFT_RECORD_PLAIN(File_read_ordered_end);

    (void)buf;
    return weft_file_end("MPI_File_read_ordered_end", fh, "read_ordered", status);
}
WEFT_WEAK_ALIAS(MPI_File_read_ordered_end, PMPI_File_read_ordered_end);

int PMPI_File_write_all_begin(MPI_File fh, const void *buf, int count,
                              MPI_Datatype datatype)
{
    WEFT_RECORD_PLAIN(File_write_all_begin);
    const struct weft_file_args args =
        WEFT_FILE_ARGS("MPI_File_write_all_begin", true, true, WEFT_FILE_INDIVIDUAL, 0);

    return weft_file_begin(&args, "write_all");
}
WEFT_WEAK_ALIAS(MPI_File_write_all_begin, PMPI_File_write_all_begin);

int PMPI_File_write_all_begin_c(MPI_File fh, const void *buf, MPI_Count count,
                                MPI_Datatype datatype)
{
    WEFT_RECORD_PLAIN(File_write_all_begin_c);
    const struct weft_file_args args =
        WEFT_FILE_ARGS("MPI_File_write_all_begin_c", true, true, WEFT_FILE_INDIVIDUAL, 0);

    return weft_file_begin(&args, "write_all");
}
WEFT_WEAK_ALIAS(MPI_File_write_all_begin_c, PMPI_File_write_all_begin_c);

int PMPI_File_write_all_end(MPI_File fh, const void *buf, MPI_Status *status)
{
    WEFT_RECORD_PLAIN(File_write_all_end);

    (void)buf;
    return weft_file_end("MPI_File_write_all_end", fh, "write_all", status);
}
WEFT_WEAK_ALIAS(MPI_File_write_all_end, PMPI_File_write_all_end);

int PMPI_File_write_at_all_begin(MPI_File fh, MPI_Offset offset, const void *buf,
                                 int count, MPI_Datatype datatype)
{
    WEFT_RECORD_PLAIN(File_write_at_all_begin);
    const struct weft_file_args args = WEFT_FILE_ARGS("MPI_File_write_at_all_begin", true,
                                                      true, WEFT_FILE_EXPLICIT, offset);

    return weft_file_begin(&args, "write_at_all");
}
WEFT_WEAK_ALIAS(MPI_File_write_at_all_begin, PMPI_File_write_at_all_begin);

int PMPI_File_write_at_all_begin_c(MPI_File fh, MPI_Offset offset, const void *buf,
                                   MPI_Count count, MPI_Datatype datatype)
{
    WEFT_RECORD_PLAIN(File_write_at_all_begin_c);
    const struct weft_file_args args = WEFT_FILE_ARGS(
        "MPI_File_write_at_all_begin_c", true, true, WEFT_FILE_EXPLICIT, offset);

    return weft_file_begin(&args, "write_at_all");
}
WEFT_WEAK_ALIAS(MPI_File_write_at_all_begin_c, PMPI_File_write_at_all_begin_c);

int PMPI_File_write_at_all_end(MPI_File fh, const void *buf, MPI_Status *status)
{
    WEFT_RECORD_PLAIN(File_write_at_all_end);

    (void)buf;
    return weft_file_end("MPI_File_write_at_all_end", fh, "write_at_all", status);
}
WEFT_WEAK_ALIAS(MPI_File_write_at_all_end, PMPI_File_write_at_all_end);

int PMPI_File_write_ordered_begin(MPI_File fh, const void *buf, int count,
                                  MPI_Datatype datatype)
{
    WEFT_RECORD_PLAIN(File_write_ordered_begin);
    const struct weft_file_args args =
        WEFT_FILE_ARGS("MPI_File_write_ordered_begin", true, true, WEFT_FILE_ORDERED, 0);

    return weft_file_begin(&args, "write_ordered");
}
WEFT_WEAK_ALIAS(MPI_File_write_ordered_begin, PMPI_File_write_ordered_begin);

int PMPI_File_write_ordered_begin_c(MPI_File fh, const void *buf, MPI_Count count,
                                    MPI_Datatype datatype)
{
    WEFT_RECORD_PLAIN(File_write_ordered_begin_c);
    const struct weft_file_args args = WEFT_FILE_ARGS("MPI_File_write_ordered_begin_c",
                                                      true, true, WEFT_FILE_ORDERED, 0);

    return weft_file_begin(&args, "write_ordered");
}
WEFT_WEAK_ALIAS(MPI_File_write_ordered_begin_c, PMPI_File_write_ordered_begin_c);

int PMPI_File_write_ordered_end(MPI_File fh, const void *buf, MPI_Status *status)
{
    WEFT_RECORD_PLAIN(File_write_ordered_end);

    (void)buf;
    return weft_file_end("MPI_File_write_ordered_end", fh, "write_ordered", status);
}
WEFT_WEAK_ALIAS(MPI_File_write_ordered_end, PMPI_File_write_ordered_end);
