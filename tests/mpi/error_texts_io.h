/*
 * error_texts_io.h - mistakes with files, for error_texts.c: at least one for each text
 * of the chapter that a job of one rank can get.
 */
#ifndef WEFT_TEST_ERROR_TEXTS_IO_H
#define WEFT_TEST_ERROR_TEXTS_IO_H

#include "mpi.h"

#include <stdint.h>
#include <string.h>

static int file_words[4];

/* An error of a file ends the job, as one of a communicator does. */
static MPI_File open_as(const char *name, int amode)
{
    MPI_File fh = MPI_FILE_NULL;

    MPI_File_set_errhandler(MPI_FILE_NULL, MPI_ERRORS_ARE_FATAL);
    MPI_File_open(MPI_COMM_WORLD, name, amode, MPI_INFO_NULL, &fh);
    return fh;
}

static MPI_File any_file(void)
{
    return open_as("/dev/null", MPI_MODE_RDWR);
}

static void file_that_is_not_there(void)
{
    open_as("/nowhere/results", MPI_MODE_RDONLY);
}

static void file_that_is_a_folder(void)
{
    open_as("/", MPI_MODE_RDONLY);
}

static void file_mode_missing(void)
{
    open_as("results", MPI_MODE_CREATE);
}

static void file_mode_create(void)
{
    open_as("results", MPI_MODE_CREATE | MPI_MODE_RDONLY);
}

static void file_mode_sequential(void)
{
    open_as("results", MPI_MODE_RDWR | MPI_MODE_SEQUENTIAL);
}

static void file_mode_unknown(void)
{
    open_as("results", MPI_MODE_RDWR | MPI_MODE_NOCHECK);
}

static void null_file(void)
{
    MPI_File_set_errhandler(MPI_FILE_NULL, MPI_ERRORS_ARE_FATAL);
    MPI_File_sync(MPI_FILE_NULL);
}

static void file_read_only(void)
{
    MPI_File_write_at(open_as("/dev/null", MPI_MODE_RDONLY), 0, file_words, 1, MPI_INT,
                      MPI_STATUS_IGNORE);
}

static void file_write_only(void)
{
    MPI_File_read_at(open_as("/dev/null", MPI_MODE_WRONLY), 0, file_words, 1, MPI_INT,
                     MPI_STATUS_IGNORE);
}

static void file_in_sequence(void)
{
    MPI_File_seek(open_as("/dev/null", MPI_MODE_RDONLY | MPI_MODE_SEQUENTIAL), 0,
                  MPI_SEEK_SET);
}

static void file_offset(void)
{
    MPI_File_read_at(any_file(), -4, file_words, 1, MPI_INT, MPI_STATUS_IGNORE);
}

static void file_far_away(void)
{
    MPI_Offset at;

    MPI_File_get_byte_offset(any_file(), INT64_MAX, &at);
}

static void file_half_an_etype(void)
{
    MPI_File fh = any_file();

    MPI_File_set_view(fh, 0, MPI_DOUBLE, MPI_DOUBLE, "native", MPI_INFO_NULL);
    MPI_File_read_at(fh, 0, file_words, 1, MPI_INT, MPI_STATUS_IGNORE);
}

static void file_seek(void)
{
    MPI_File_seek(any_file(), -1, MPI_SEEK_CUR);
}

static void file_whence(void)
{
    MPI_File_seek(any_file(), 0, 7);
}

static void file_size(void)
{
    MPI_File_set_size(any_file(), -1);
}

static void file_displacement(void)
{
    MPI_File_set_view(any_file(), -1, MPI_INT, MPI_INT, "native", MPI_INFO_NULL);
}

static void file_displacement_in_sequence(void)
{
    MPI_File_set_view(open_as("/dev/null", MPI_MODE_RDONLY | MPI_MODE_SEQUENTIAL), 0,
                      MPI_INT, MPI_INT, "native", MPI_INFO_NULL);
}

static void file_filetype(void)
{
    MPI_File_set_view(any_file(), 0, MPI_DOUBLE, MPI_INT, "native", MPI_INFO_NULL);
}

static void file_representation(void)
{
    MPI_File_set_view(any_file(), 0, MPI_INT, MPI_INT, "external64", MPI_INFO_NULL);
}

static int no_extent(MPI_Datatype type, MPI_Aint *extent, void *extra_state)
{
    (void)type;
    (void)extra_state;
    *extent = 0;
    return MPI_SUCCESS;
}

static void representation_twice(void)
{
    MPI_File_set_errhandler(MPI_FILE_NULL, MPI_ERRORS_ARE_FATAL);
    MPI_Register_datarep("native", NULL, NULL, no_extent, NULL);
}

static void representation_name(void)
{
    char name[200];

    memset(name, 'n', sizeof(name));
    name[sizeof(name) - 1] = '\0';
    MPI_File_set_errhandler(MPI_FILE_NULL, MPI_ERRORS_ARE_FATAL);
    MPI_Register_datarep(name, NULL, NULL, no_extent, NULL);
}

static void split_twice(void)
{
    MPI_File fh = any_file();

    MPI_File_read_all_begin(fh, file_words, 1, MPI_INT);
    MPI_File_write_all_begin(fh, file_words, 1, MPI_INT);
}

static void split_that_was_not_begun(void)
{
    MPI_File_read_all_end(any_file(), file_words, MPI_STATUS_IGNORE);
}

static void file_on_a_full_device(void)
{
    MPI_File_write_at(open_as("/dev/full", MPI_MODE_WRONLY), 8, file_words, 4, MPI_INT,
                      MPI_STATUS_IGNORE);
}

static void request_of_a_full_device(void)
{
    MPI_Request request;

    MPI_File_iwrite_at(open_as("/dev/full", MPI_MODE_WRONLY), 8, file_words, 4, MPI_INT,
                       &request);
    MPI_Wait(&request, MPI_STATUS_IGNORE);
}

#endif
