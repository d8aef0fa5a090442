/*
 * file_individual.c - MPI-5.0 chapter 14.4.3: reads and writes at the process's own file
 * pointer.
 */
#include "file_access.h"

int PMPI_File_iread(MPI_File fh, void *buf, int count, MPI_Datatype datatype,
                    MPI_Request *request)
{
    WEFT_RECORD_PLAIN(File_iread);
    const struct weft_file_args args =
        WEFT_FILE_ARGS("MPI_File_iread", false, false, WEFT_FILE_INDIVIDUAL, 0);

    return weft_file_start(&args, request);
}
WEFT_WEAK_ALIAS(MPI_File_iread, PMPI_File_iread);

int PMPI_File_iread_c(MPI_File fh, void *buf, MPI_Count count, MPI_Datatype datatype,
                      MPI_Request *request)
{
    WEFT_RECORD_PLAIN(File_iread_c);
    const struct weft_file_args args =
        WEFT_FILE_ARGS("MPI_File_iread_c", false, false, WEFT_FILE_INDIVIDUAL, 0);

    return weft_file_start(&args, request);
}
WEFT_WEAK_ALIAS(MPI_File_iread_c, PMPI_File_iread_c);

int PMPI_File_iread_all(MPI_File fh, void *buf, int count, MPI_Datatype datatype,
                        MPI_Request *request)
{
    WEFT_RECORD_PLAIN(File_iread_all);
    const struct weft_file_args args =
        WEFT_FILE_ARGS("MPI_File_iread_all", false, true, WEFT_FILE_INDIVIDUAL, 0);

    return weft_file_start(&args, request);
}
WEFT_WEAK_ALIAS(MPI_File_iread_all, PMPI_File_iread_all);

int PMPI_File_iread_all_c(MPI_File fh, void *buf, MPI_Count count, MPI_Datatype datatype,
                          MPI_Request *request)
{
    WEFT_RECORD_PLAIN(File_iread_all_c);
    const struct weft_file_args args =
        WEFT_FILE_ARGS("MPI_File_iread_all_c", false, true, WEFT_FILE_INDIVIDUAL, 0);

    return weft_file_start(&args, request);
}
WEFT_WEAK_ALIAS(MPI_File_iread_all_c, PMPI_File_iread_all_c);

int PMPI_File_iwrite(MPI_File fh, const void *buf, int count, MPI_Datatype datatype,
                     MPI_Request *request)
{
    WEFT_RECORD_PLAIN(File_iwrite);
    const struct weft_file_args args =
        WEFT_FILE_ARGS("MPI_File_iwrite", true, false, WEFT_FILE_INDIVIDUAL, 0);

    return weft_file_start(&args, request);
}
WEFT_WEAK_ALIAS(MPI_File_iwrite, PMPI_File_iwrite);

int PMPI_File_iwrite_c(MPI_File fh, const void *buf, MPI_Count count,
                       MPI_Datatype datatype, MPI_Request *request)
{
    WEFT_RECORD_PLAIN(File_iwrite_c);
    const struct weft_file_args args =
        WEFT_FILE_ARGS("MPI_File_iwrite_c", true, false, WEFT_FILE_INDIVIDUAL, 0);

    return weft_file_start(&args, request);
}
WEFT_WEAK_ALIAS(MPI_File_iwrite_c, PMPI_File_iwrite_c);

int PMPI_File_iwrite_all(MPI_File fh, const void *buf, int count, MPI_Datatype datatype,
                         MPI_Request *request)
{
    WEFT_RECORD_PLAIN(File_iwrite_all);
    const struct weft_file_args args =
        WEFT_FILE_ARGS("MPI_File_iwrite_all", true, true, WEFT_FILE_INDIVIDUAL, 0);

    return weft_file_start(&args, request);
}
WEFT_WEAK_ALIAS(MPI_File_iwrite_all, PMPI_File_iwrite_all);

int PMPI_File_iwrite_all_c(MPI_File fh, const void *buf, MPI_Count count,
                           MPI_Datatype datatype, MPI_Request *request)
{
    WEFT_RECORD_PLAIN(File_iwrite_all_c);
    const struct weft_file_args args =
        WEFT_FILE_ARGS("MPI_File_iwrite_all_c", true, true, WEFT_FILE_INDIVIDUAL, 0);

    return weft_file_start(&args, request);
}
WEFT_WEAK_ALIAS(MPI_File_iwrite_all_c, PMPI_File_iwrite_all_c);

int PMPI_File_read(MPI_File fh, void *buf, int count, MPI_Datatype datatype,
                   MPI_Status *status)
{
    WEFT_RECORD_PLAIN(File_read);
    const struct weft_file_args args =
        WEFT_FILE_ARGS("MPI_File_read", false, false, WEFT_FILE_INDIVIDUAL, 0);

    return weft_file_run(&args, status);
}
WEFT_WEAK_ALIAS(MPI_File_read, PMPI_File_read);

int PMPI_File_read_c(MPI_File fh, void *buf, MPI_Count count, MPI_Datatype datatype,
                     MPI_Status *status)
{
    WEFT_RECORD_PLAIN(File_read_c);
    const struct weft_file_args args =
        WEFT_FILE_ARGS("MPI_File_read_c", false, false, WEFT_FILE_INDIVIDUAL, 0);

    return weft_file_run(&args, status);
}
WEFT_WEAK_ALIAS(MPI_File_read_c, PMPI_File_read_c);

int PMPI_File_read_all(MPI_File fh, void *buf, int count, MPI_Datatype datatype,
                       MPI_Status *status)
{
    WEFT_RECORD_PLAIN(File_read_all);
    const struct weft_file_args args =
        WEFT_FILE_ARGS("MPI_File_read_all", false, true, WEFT_FILE_INDIVIDUAL, 0);

    return weft_file_run(&args, status);
}
WEFT_WEAK_ALIAS(MPI_File_read_all, PMPI_File_read_all);

int PMPI_File_read_all_c(MPI_File fh, void *buf, MPI_Count count, MPI_Datatype datatype,
                         MPI_Status *status)
{
    WEFT_RECORD_PLAIN(File_read_all_c);
    const struct weft_file_args args =
        WEFT_FILE_ARGS("MPI_File_read_all_c", false, true, WEFT_FILE_INDIVIDUAL, 0);

    return weft_file_run(&args, status);
}
WEFT_WEAK_ALIAS(MPI_File_read_all_c, PMPI_File_read_all_c);

int PMPI_File_write(MPI_File fh, const void *buf, int count, MPI_Datatype datatype,
                    MPI_Status *status)
{
    WEFT_RECORD_PLAIN(File_write);
    const struct weft_file_args args =
        WEFT_FILE_ARGS("MPI_File_write", true, false, WEFT_FILE_INDIVIDUAL, 0);

    return weft_file_run(&args, status);
}
WEFT_WEAK_ALIAS(MPI_File_write, PMPI_File_write);

int PMPI_File_write_c(MPI_File fh, const void *buf, MPI_Count count,
                      MPI_Datatype datatype, MPI_Status *status)
{
    WEFT_RECORD_PLAIN(File_write_c);
    const struct weft_file_args args =
        WEFT_FILE_ARGS("MPI_File_write_c", true, false, WEFT_FILE_INDIVIDUAL, 0);

    return weft_file_run(&args, status);
}
WEFT_WEAK_ALIAS(MPI_File_write_c, PMPI_File_write_c);

int PMPI_File_write_all(MPI_File fh, const void *buf, int count, MPI_Datatype datatype,
                        MPI_Status *status)
{
    WEFT_RECORD_PLAIN(File_write_all);
    const struct weft_file_args args =
        WEFT_FILE_ARGS("MPI_File_write_all", true, true, WEFT_FILE_INDIVIDUAL, 0);

    return weft_file_run(&args, status);
}
WEFT_WEAK_ALIAS(MPI_File_write_all, PMPI_File_write_all);

int PMPI_File_write_all_c(MPI_File fh, const void *buf, MPI_Count count,
                          MPI_Datatype datatype, MPI_Status *status)
{
    WEFT_RECORD_PLAIN(File_write_all_c);
    const struct weft_file_args args =
        WEFT_FILE_ARGS("MPI_File_write_all_c", true, true, WEFT_FILE_INDIVIDUAL, 0);

    return weft_file_run(&args, status);
}
WEFT_WEAK_ALIAS(MPI_File_write_all_c, PMPI_File_write_all_c);
