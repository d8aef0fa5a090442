/*
 * file.h - argument checks of calls on files, and what becomes of their faults: see
 * check.h for what they answer.
 */
#ifndef WEFT_CHECK_FILE_H
#define WEFT_CHECK_FILE_H

#include "check/check.h"
#include "io/place.h"

/* `handle` is an open file, which goes to *out. */
int weft_check_file(const char *function, MPI_File handle, struct weft_file **out);

/* An address the result goes to; `name` is that of the parameter. */
int weft_check_file_out(const char *function, struct weft_file *file, const void *address,
                        const char *name);

/* A type that data can be moved with, which goes to *out. */
int weft_check_file_type(const char *function, struct weft_file *file,
                         MPI_Datatype handle, struct weft_datatype **out);

/* The communicator of MPI_File_open, which goes to *out. */
int weft_check_file_comm(const char *function, MPI_Comm handle, struct weft_comm **out);

/* An info object, or MPI_INFO_NULL, for which *out is NULL. */
int weft_check_file_info(const char *function, struct weft_file *file, MPI_Info handle,
                         struct weft_info **out);

/* The access mode of MPI_File_open. */
int weft_check_amode(const char *function, int amode);

/* Refuse a call that the access mode does not allow. */
int weft_check_written(const char *function, struct weft_file *file);
int weft_check_not_sequential(const char *function, struct weft_file *file);

/* A read or write as the user wrote it. */
struct weft_file_args {
    const char *function;
    MPI_File file;
    bool is_write;
    bool is_collective;
    enum weft_file_pointer pointer;
    MPI_Offset offset;
    const void *buffer;
    MPI_Count count;
    MPI_Datatype type;
};

/* Fills in all of *call that does not depend on the view. */
int weft_check_file_access(const struct weft_file_args *args, struct weft_file *file,
                           struct weft_file_call *call);

/* The error class of a fault; MPI_SUCCESS for 0. */
int weft_class_of_fault(int fault);

/* MPI_SUCCESS for 0; anything else is raised on the file, or, where that is NULL, on
 * MPI_FILE_NULL with the name of the file, and returned. */
int weft_raise_fault(struct weft_file *file, const char *name, int fault,
                     const char *function);

/* The same for a read or write, which says what was moved. */
int weft_raise_moved(struct weft_file *file, const struct weft_moved *moved,
                     bool is_write, const char *function);

#endif
