/*
 * file_shared.c - MPI-5.0 chapter 14.4.4: reads and writes at the file pointer that all
 * share.
 */
#include "file_access.h"

int PMPI_File_iread_shared(MPI_File fh, void *buf, int count, MPI_Datatype datatype,
                           MPI_Request *request)
{
    WEFT_RECORD_PLAIN(File_iread_shared);
    const struct weft_file_args args =
        WEFT_FILE_ARGS("MPI_File_iread_shared", false, false, WEFT_FILE_SHARED, 0);

    return weft_file_start(&args, request);
}
WEFT_WEAK_ALIAS(MPI_File_iread_shared, PMPI_File_iread_shared);

int PMPI_File_iread_shared_c(MPI_File fh, void *buf, MPI_Count count,
                             MPI_Datatype datatype, MPI_Request *request)
{
    WEFT_RECORD_PLAIN(File_iread_shared_c);
    const struct weft_file_args args =
        WEFT_FILE_ARGS("MPI_File_iread_shared_c", false, false, WEFT_FILE_SHARED, 0);

    return weft_file_start(&args, request);
}
WEFT_WEAK_ALIAS(MPI_File_iread_shared_c, PMPI_File_iread_shared_c);

int PMPI_File_iwrite_shared(MPI_File fh, const void *buf, int count,
                            MPI_Datatype datatype, MPI_Request *request)
{
    WEFT_RECORD_PLAIN(File_iwrite_shared);
    const struct weft_file_args args =
        WEFT_FILE_ARGS("MPI_File_iwrite_shared", true, false, WEFT_FILE_SHARED, 0);

    return weft_file_start(&args, request);
}
WEFT_WEAK_ALIAS(MPI_File_iwrite_shared, PMPI_File_iwrite_shared);

int PMPI_File_iwrite_shared_c(MPI_File fh, const void *buf, MPI_Count count,
                              MPI_Datatype datatype, MPI_Request *request)
{
    WEFT_RECORD_PLAIN(File_iwrite_shared_c);
    const struct weft_file_args args =
        WEFT_FILE_ARGS("MPI_File_iwrite_shared_c", true, false, WEFT_FILE_SHARED, 0);

    return weft_file_start(&args, request);
}
WEFT_WEAK_ALIAS(MPI_File_iwrite_shared_c, PMPI_File_iwrite_shared_c);

int PMPI_File_read_ordered(MPI_File fh, void *buf, int count, MPI_Datatype datatype,
                           MPI_Status *status)
{
    WEFT_RECORD_PLAIN(File_read_ordered);
    const struct weft_file_args args =
        WEFT_FILE_ARGS("MPI_File_read_ordered", false, true, WEFT_FILE_ORDERED, 0);

    return weft_file_run(&args, status);
}
WEFT_WEAK_ALIAS(MPI_File_read_ordered, PMPI_File_read_ordered);

int PMPI_File_read_ordered_c(MPI_File fh, void *buf, MPI_Count count,
                             MPI_Datatype datatype, MPI_Status *status)
{
    WEFT_RECORD_PLAIN(File_read_ordered_c);
    const struct weft_file_args args =
        WEFT_FILE_ARGS("MPI_File_read_ordered_c", false, true, WEFT_FILE_ORDERED, 0);

    return weft_file_run(&args, status);
}
WEFT_WEAK_ALIAS(MPI_File_read_ordered_c, PMPI_File_read_ordered_c);

int PMPI_File_read_shared(MPI_File fh, void *buf, int count, MPI_Datatype datatype,
                          MPI_Status *status)
{
    WEFT_RECORD_PLAIN(File_read_shared);
    const struct weft_file_args args =
        WEFT_FILE_ARGS("MPI_File_read_shared", false, false, WEFT_FILE_SHARED, 0);

    return weft_file_run(&args, status);
}
WEFT_WEAK_ALIAS(MPI_File_read_shared, PMPI_File_read_shared);

int PMPI_File_read_shared_c(MPI_File fh, void *buf, MPI_Count count,
                            MPI_Datatype datatype, MPI_Status *status)
{
    WEFT_RECORD_PLAIN(File_read_shared_c);
    const struct weft_file_args args =
        WEFT_FILE_ARGS("MPI_File_read_shared_c", false, false, WEFT_FILE_SHARED, 0);

    return weft_file_run(&args, status);
}
WEFT_WEAK_ALIAS(MPI_File_read_shared_c, PMPI_File_read_shared_c);

int PMPI_File_write_ordered(MPI_File fh, const void *buf, int count,
                            MPI_Datatype datatype, MPI_Status *status)
{
    WEFT_RECORD_PLAIN(File_write_ordered);
    const struct weft_file_args args =
        WEFT_FILE_ARGS("MPI_File_write_ordered", true, true, WEFT_FILE_ORDERED, 0);

    return weft_file_run(&args, status);
}
WEFT_WEAK_ALIAS(MPI_File_write_ordered, PMPI_File_write_ordered);

int PMPI_File_write_ordered_c(MPI_File fh, const void *buf, MPI_Count count,
                              MPI_Datatype datatype, MPI_Status *status)
{
    WEFT_RECORD_PLAIN(File_write_ordered_c);
    const struct weft_file_args args =
        WEFT_FILE_ARGS("MPI_File_write_ordered_c", true, true, WEFT_FILE_ORDERED, 0);

    return weft_file_run(&args, status);
}
WEFT_WEAK_ALIAS(MPI_File_write_ordered_c, PMPI_File_write_ordered_c);

int PMPI_File_write_shared(MPI_File fh, const void *buf, int count, MPI_Datatype datatype,
                           MPI_Status *status)
{
    WEFT_RECORD_PLAIN(File_write_shared);
    const struct weft_file_args args =
        WEFT_FILE_ARGS("MPI_File_write_shared", true, false, WEFT_FILE_SHARED, 0);

    return weft_file_run(&args, status);
}
WEFT_WEAK_ALIAS(MPI_File_write_shared, PMPI_File_write_shared);

int PMPI_File_write_shared_c(MPI_File fh, const void *buf, MPI_Count count,
                             MPI_Datatype datatype, MPI_Status *status)
{
    WEFT_RECORD_PLAIN(File_write_shared_c);
    const struct weft_file_args args =
        WEFT_FILE_ARGS("MPI_File_write_shared_c", true, false, WEFT_FILE_SHARED, 0);

    return weft_file_run(&args, status);
}
WEFT_WEAK_ALIAS(MPI_File_write_shared_c, PMPI_File_write_shared_c);
