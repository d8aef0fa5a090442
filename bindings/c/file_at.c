/*
 * file_at.c - MPI-5.0 chapter 14.4.2: reads and writes at explicit offsets.
 */
#include "file_access.h"

int PMPI_File_iread_at(MPI_File fh, MPI_Offset offset, void *buf, int count,
                       MPI_Datatype datatype, MPI_Request *request)
{
    WEFT_RECORD_PLAIN(File_iread_at);
    const struct weft_file_args args =
        WEFT_FILE_ARGS("MPI_File_iread_at", false, false, WEFT_FILE_EXPLICIT, offset);

    return weft_file_start(&args, request);
}
WEFT_WEAK_ALIAS(MPI_File_iread_at, PMPI_File_iread_at);

int PMPI_File_iread_at_c(MPI_File fh, MPI_Offset offset, void *buf, MPI_Count count,
                         MPI_Datatype datatype, MPI_Request *request)
{
    WEFT_RECORD_PLAIN(File_iread_at_c);
    const struct weft_file_args args =
        WEFT_FILE_ARGS("MPI_File_iread_at_c", false, false, WEFT_FILE_EXPLICIT, offset);

    return weft_file_start(&args, request);
}
WEFT_WEAK_ALIAS(MPI_File_iread_at_c, PMPI_File_iread_at_c);

int PMPI_File_iread_at_all(MPI_File fh, MPI_Offset offset, void *buf, int count,
                           MPI_Datatype datatype, MPI_Request *request)
{
    WEFT_RECORD_PLAIN(File_iread_at_all);
    const struct weft_file_args args =
        WEFT_FILE_ARGS("MPI_File_iread_at_all", false, true, WEFT_FILE_EXPLICIT, offset);

    return weft_file_start(&args, request);
}
WEFT_WEAK_ALIAS(MPI_File_iread_at_all, PMPI_File_iread_at_all);

int PMPI_File_iread_at_all_c(MPI_File fh, MPI_Offset offset, void *buf, MPI_Count count,
                             MPI_Datatype datatype, MPI_Request *request)
{
    WEFT_RECORD_PLAIN(File_iread_at_all_c);
    const struct weft_file_args args = WEFT_FILE_ARGS("MPI_File_iread_at_all_c", false,
                                                      true, WEFT_FILE_EXPLICIT, offset);

    return weft_file_start(&args, request);
}
WEFT_WEAK_ALIAS(MPI_File_iread_at_all_c, PMPI_File_iread_at_all_c);

int PMPI_File_iwrite_at(MPI_File fh, MPI_Offset offset, const void *buf, int count,
                        MPI_Datatype datatype, MPI_Request *request)
{
    WEFT_RECORD_PLAIN(File_iwrite_at);
    const struct weft_file_args args =
        WEFT_FILE_ARGS("MPI_File_iwrite_at", true, false, WEFT_FILE_EXPLICIT, offset);

    return weft_file_start(&args, request);
}
WEFT_WEAK_ALIAS(MPI_File_iwrite_at, PMPI_File_iwrite_at);

int PMPI_File_iwrite_at_c(MPI_File fh, MPI_Offset offset, const void *buf,
                          MPI_Count count, MPI_Datatype datatype, MPI_Request *request)
{
    WEFT_RECORD_PLAIN(File_iwrite_at_c);
    const struct weft_file_args args =
        WEFT_FILE_ARGS("MPI_File_iwrite_at_c", true, false, WEFT_FILE_EXPLICIT, offset);

    return weft_file_start(&args, request);
}
WEFT_WEAK_ALIAS(MPI_File_iwrite_at_c, PMPI_File_iwrite_at_c);

int PMPI_File_iwrite_at_all(MPI_File fh, MPI_Offset offset, const void *buf, int count,
                            MPI_Datatype datatype, MPI_Request *request)
{
    WEFT_RECORD_PLAIN(File_iwrite_at_all);
    const struct weft_file_args args =
        WEFT_FILE_ARGS("MPI_File_iwrite_at_all", true, true, WEFT_FILE_EXPLICIT, offset);

    return weft_file_start(&args, request);
}
WEFT_WEAK_ALIAS(MPI_File_iwrite_at_all, PMPI_File_iwrite_at_all);

int PMPI_File_iwrite_at_all_c(MPI_File fh, MPI_Offset offset, const void *buf,
                              MPI_Count count, MPI_Datatype datatype,
                              MPI_Request *request)
{
    WEFT_RECORD_PLAIN(File_iwrite_at_all_c);
    const struct weft_file_args args = WEFT_FILE_ARGS("MPI_File_iwrite_at_all_c", true,
                                                      true, WEFT_FILE_EXPLICIT, offset);

    return weft_file_start(&args, request);
}
WEFT_WEAK_ALIAS(MPI_File_iwrite_at_all_c, PMPI_File_iwrite_at_all_c);

int PMPI_File_read_at(MPI_File fh, MPI_Offset offset, void *buf, int count,
                      MPI_Datatype datatype, MPI_Status *status)
{
    WEFT_RECORD_PLAIN(File_read_at);
    const struct weft_file_args args =
        WEFT_FILE_ARGS("MPI_File_read_at", false, false, WEFT_FILE_EXPLICIT, offset);

    return weft_file_run(&args, status);
}
WEFT_WEAK_ALIAS(MPI_File_read_at, PMPI_File_read_at);

int PMPI_File_read_at_c(MPI_File fh, MPI_Offset offset, void *buf, MPI_Count count,
                        MPI_Datatype datatype, MPI_Status *status)
{
    WEFT_RECORD_PLAIN(File_read_at_c);
    const struct weft_file_args args =
        WEFT_FILE_ARGS("MPI_File_read_at_c", false, false, WEFT_FILE_EXPLICIT, offset);

    return weft_file_run(&args, status);
}
WEFT_WEAK_ALIAS(MPI_File_read_at_c, PMPI_File_read_at_c);

int PMPI_File_read_at_all(MPI_File fh, MPI_Offset offset, void *buf, int count,
                          MPI_Datatype datatype, MPI_Status *status)
{
    WEFT_RECORD_PLAIN(File_read_at_all);
    const struct weft_file_args args =
        WEFT_FILE_ARGS("MPI_File_read_at_all", false, true, WEFT_FILE_EXPLICIT, offset);

    return weft_file_run(&args, status);
}
WEFT_WEAK_ALIAS(MPI_File_read_at_all, PMPI_File_read_at_all);

int PMPI_File_read_at_all_c(MPI_File fh, MPI_Offset offset, void *buf, MPI_Count count,
                            MPI_Datatype datatype, MPI_Status *status)
{
    WEFT_RECORD_PLAIN(File_read_at_all_c);
    const struct weft_file_args args =
        WEFT_FILE_ARGS("MPI_File_read_at_all_c", false, true, WEFT_FILE_EXPLICIT, offset);

    return weft_file_run(&args, status);
}
WEFT_WEAK_ALIAS(MPI_File_read_at_all_c, PMPI_File_read_at_all_c);

int PMPI_File_write_at(MPI_File fh, MPI_Offset offset, const void *buf, int count,
                       MPI_Datatype datatype, MPI_Status *status)
{
    WEFT_RECORD_PLAIN(File_write_at);
    const struct weft_file_args args =
        WEFT_FILE_ARGS("MPI_File_write_at", true, false, WEFT_FILE_EXPLICIT, offset);

    return weft_file_run(&args, status);
}
WEFT_WEAK_ALIAS(MPI_File_write_at, PMPI_File_write_at);

int PMPI_File_write_at_c(MPI_File fh, MPI_Offset offset, const void *buf, MPI_Count count,
                         MPI_Datatype datatype, MPI_Status *status)
{
    WEFT_RECORD_PLAIN(File_write_at_c);
    const struct weft_file_args args =
        WEFT_FILE_ARGS("MPI_File_write_at_c", true, false, WEFT_FILE_EXPLICIT, offset);

    return weft_file_run(&args, status);
}
WEFT_WEAK_ALIAS(MPI_File_write_at_c, PMPI_File_write_at_c);

int PMPI_File_write_at_all(MPI_File fh, MPI_Offset offset, const void *buf, int count,
                           MPI_Datatype datatype, MPI_Status *status)
{
    WEFT_RECORD_PLAIN(File_write_at_all);
    const struct weft_file_args args =
        WEFT_FILE_ARGS("MPI_File_write_at_all", true, true, WEFT_FILE_EXPLICIT, offset);

    return weft_file_run(&args, status);
}
WEFT_WEAK_ALIAS(MPI_File_write_at_all, PMPI_File_write_at_all);

int PMPI_File_write_at_all_c(MPI_File fh, MPI_Offset offset, const void *buf,
                             MPI_Count count, MPI_Datatype datatype, MPI_Status *status)
{
    WEFT_RECORD_PLAIN(File_write_at_all_c);
    const struct weft_file_args args =
        WEFT_FILE_ARGS("MPI_File_write_at_all_c", true, true, WEFT_FILE_EXPLICIT, offset);

    return weft_file_run(&args, status);
}
WEFT_WEAK_ALIAS(MPI_File_write_at_all_c, PMPI_File_write_at_all_c);
