/*
 * file.c - MPI-5.0 chapters 14.2 and 14.6: files are opened, closed, deleted and
 * resized; what they tell; and when data are where others see them.
 */
#include "binding.h"

#include "check/file.h"
#include "engine/lock.h"
#include "io/make.h"
#include "io/manage.h"
#include "io/together.h"

/* ---- opening, closing, deleting ---- */

static int check_open_args(struct weft_file_ask *ask, MPI_Info info, MPI_File *fh)
{
    struct weft_info *hints = NULL;
    int err = weft_check_file_out(ask->call, NULL, fh, "fh");

    if (err == MPI_SUCCESS) {
        err = weft_check_file_info(ask->call, NULL, info, &hints);
        ask->info = hints;
    }
    if (err == MPI_SUCCESS) {
        err = weft_check_file_out(ask->call, NULL, ask->name, "filename");
    }
    return err == MPI_SUCCESS ? weft_check_amode(ask->call, ask->amode) : err;
}

int PMPI_File_open(MPI_Comm comm, const char *filename, int amode, MPI_Info info,
                   MPI_File *fh)
{
    WEFT_RECORD(File_open, comm, WEFT_PLANE_COLL, WEFT_DOING_UNKNOWN, MPI_ANY_TAG, 0);
    struct weft_file_ask ask = {
        .call = "MPI_File_open", .name = filename, .amode = amode};
    struct weft_file *made = NULL;
    int fault;
    int err = weft_check_open(ask.call);

    if (err == MPI_SUCCESS) {
        err = weft_check_file_comm(ask.call, comm, &ask.comm);
    }
    if (err != MPI_SUCCESS) {
        return err;
    }
    err = check_open_args(&ask, info, fh);
    ask.fault = err != MPI_SUCCESS ? WEFT_IO_CLASS + err : 0;
    fault = weft_file_open(&ask, &made);
    if (err != MPI_SUCCESS) {
        return err;
    }
    if (fault == 0) {
        *fh = made->handle;
        return MPI_SUCCESS;
    }
    *fh = MPI_FILE_NULL;
    return weft_raise_fault(NULL, filename, fault, ask.call);
}
WEFT_WEAK_ALIAS(MPI_File_open, PMPI_File_open);

int PMPI_File_close(MPI_File *fh)
{
    WEFT_RECORD_PLAIN(File_close);
    static const char function[] = "MPI_File_close";
    struct weft_file *file;
    int err = weft_check_open(function);

    if (err == MPI_SUCCESS) {
        err = weft_check_file_out(function, NULL, fh, "fh");
    }
    if (err == MPI_SUCCESS) {
        err = weft_check_file(function, *fh, &file);
    }
    if (err != MPI_SUCCESS) {
        return err;
    }
    if (file->split != NULL) {
        return weft_raise_file(file, function, WEFT_E_FILE_SPLIT_BUSY, file->split_kind);
    }
    err = weft_raise_fault(file, file->name, weft_file_close(file, function), function);
    weft_file_free(file);
    *fh = MPI_FILE_NULL;
    return err;
}
WEFT_WEAK_ALIAS(MPI_File_close, PMPI_File_close);

int PMPI_File_delete(const char *filename, MPI_Info info)
{
    WEFT_RECORD_PLAIN(File_delete);
    static const char function[] = "MPI_File_delete";
    struct weft_info *hints;
    int err = weft_check_open(function);

    if (err == MPI_SUCCESS) {
        err = weft_check_file_info(function, NULL, info, &hints);
    }
    if (err == MPI_SUCCESS) {
        err = weft_check_file_out(function, NULL, filename, "filename");
    }
    return err != MPI_SUCCESS
               ? err
               : weft_raise_fault(NULL, filename, weft_file_delete(filename), function);
}
WEFT_WEAK_ALIAS(MPI_File_delete, PMPI_File_delete);

/* ---- size ---- */

/* What is wrong with the arguments of a call that changes the size, as a fault for all.
 */
static int check_size(const char *function, struct weft_file *file, MPI_Offset size,
                      int *err)
{
    *err = weft_check_written(function, file);
    if (*err == MPI_SUCCESS) {
        *err = weft_check_not_sequential(function, file);
    }
    if (*err == MPI_SUCCESS && size < 0) {
        *err = weft_raise_file(file, function, WEFT_E_FILE_SIZE, (long long)size);
    }
    return *err != MPI_SUCCESS ? WEFT_IO_CLASS + *err : 0;
}

int PMPI_File_set_size(MPI_File fh, MPI_Offset size)
{
    WEFT_RECORD_PLAIN(File_set_size);
    static const char function[] = "MPI_File_set_size";
    struct weft_file *file;
    int fault;
    int err = weft_check_file(function, fh, &file);

    if (err != MPI_SUCCESS) {
        return err;
    }
    fault = check_size(function, file, size, &err);
    fault = weft_file_set_size(file, size, fault, function);
    return err != MPI_SUCCESS ? err : weft_raise_fault(file, file->name, fault, function);
}
WEFT_WEAK_ALIAS(MPI_File_set_size, PMPI_File_set_size);

int PMPI_File_preallocate(MPI_File fh, MPI_Offset size)
{
    WEFT_RECORD_PLAIN(File_preallocate);
    static const char function[] = "MPI_File_preallocate";
    struct weft_file *file;
    int fault;
    int err = weft_check_file(function, fh, &file);

    if (err != MPI_SUCCESS) {
        return err;
    }
    fault = check_size(function, file, size, &err);
    fault = weft_file_preallocate(file, size, fault, function);
    return err != MPI_SUCCESS ? err : weft_raise_fault(file, file->name, fault, function);
}
WEFT_WEAK_ALIAS(MPI_File_preallocate, PMPI_File_preallocate);

int PMPI_File_get_size(MPI_File fh, MPI_Offset *size)
{
    WEFT_RECORD_PLAIN(File_get_size);
    static const char function[] = "MPI_File_get_size";
    struct weft_file *file;
    uint64_t bytes = 0;
    int fault;
    int err = weft_check_file(function, fh, &file);

    if (err == MPI_SUCCESS) {
        err = weft_check_file_out(function, file, size, "size");
    }
    if (err != MPI_SUCCESS) {
        return err;
    }
    fault = weft_file_size(file, &bytes);
    if (fault == 0) {
        *size = (MPI_Offset)bytes;
    }
    return weft_raise_fault(file, file->name, fault, function);
}
WEFT_WEAK_ALIAS(MPI_File_get_size, PMPI_File_get_size);

/* ---- what a file tells ---- */

int PMPI_File_get_group(MPI_File fh, MPI_Group *group)
{
    static const char function[] = "MPI_File_get_group";
    struct weft_file *file;
    int err = weft_check_file(function, fh, &file);

    if (err == MPI_SUCCESS) {
        err = weft_check_file_out(function, file, group, "group");
    }
    if (err == MPI_SUCCESS) {
        weft_lock();
        weft_group_hold(file->comm->group);
        *group = file->comm->group->handle;
        weft_unlock();
    }
    return err;
}
WEFT_WEAK_ALIAS(MPI_File_get_group, PMPI_File_get_group);

int PMPI_File_get_amode(MPI_File fh, int *amode)
{
    static const char function[] = "MPI_File_get_amode";
    struct weft_file *file;
    int err = weft_check_file(function, fh, &file);

    if (err == MPI_SUCCESS) {
        err = weft_check_file_out(function, file, amode, "amode");
    }
    if (err == MPI_SUCCESS) {
        *amode = file->amode;
    }
    return err;
}
WEFT_WEAK_ALIAS(MPI_File_get_amode, PMPI_File_get_amode);

int PMPI_File_set_info(MPI_File fh, MPI_Info info)
{
    static const char function[] = "MPI_File_set_info";
    struct weft_info *from;
    struct weft_file *file;
    int err = weft_check_file(function, fh, &file);

    if (err == MPI_SUCCESS) {
        err = weft_check_file_info(function, file, info, &from);
    }
    if (err == MPI_SUCCESS) {
        weft_lock();
        weft_object_lock();
        weft_file_hints_update(&file->hints, from);
        weft_object_unlock();
        weft_unlock();
    }
    return err;
}
WEFT_WEAK_ALIAS(MPI_File_set_info, PMPI_File_set_info);

int PMPI_File_get_info(MPI_File fh, MPI_Info *info_used)
{
    static const char function[] = "MPI_File_get_info";
    struct weft_info *made = NULL;
    struct weft_file_hints hints;
    struct weft_file *file;
    enum weft_rc rc;
    int err = weft_check_file(function, fh, &file);

    if (err == MPI_SUCCESS) {
        err = weft_check_file_out(function, file, info_used, "info_used");
    }
    if (err != MPI_SUCCESS) {
        return err;
    }
    weft_lock();
    hints = file->hints;
    weft_unlock();
    weft_object_lock();
    rc = weft_file_hints_to_info(&hints, &made);
    weft_object_unlock();
    if (rc == WEFT_OK) {
        *info_used = weft_info_handle(made);
    }
    return weft_raise_fault(file, file->name, weft_io_fault_of(rc), function);
}
WEFT_WEAK_ALIAS(MPI_File_get_info, PMPI_File_get_info);

/* ---- consistency ---- */

int PMPI_File_set_atomicity(MPI_File fh, int flag)
{
    WEFT_RECORD_PLAIN(File_set_atomicity);
    static const char function[] = "MPI_File_set_atomicity";
    struct weft_file *file;
    int err = weft_check_file(function, fh, &file);

    return err != MPI_SUCCESS
               ? err
               : weft_raise_fault(file, file->name,
                                  weft_file_set_atomic(file, flag != 0, function),
                                  function);
}
WEFT_WEAK_ALIAS(MPI_File_set_atomicity, PMPI_File_set_atomicity);

int PMPI_File_get_atomicity(MPI_File fh, int *flag)
{
    static const char function[] = "MPI_File_get_atomicity";
    struct weft_file *file;
    int err = weft_check_file(function, fh, &file);

    if (err == MPI_SUCCESS) {
        err = weft_check_file_out(function, file, flag, "flag");
    }
    if (err == MPI_SUCCESS) {
        *flag = file->is_atomic;
    }
    return err;
}
WEFT_WEAK_ALIAS(MPI_File_get_atomicity, PMPI_File_get_atomicity);

int PMPI_File_sync(MPI_File fh)
{
    WEFT_RECORD_PLAIN(File_sync);
    static const char function[] = "MPI_File_sync";
    struct weft_file *file;
    int err = weft_check_file(function, fh, &file);

    return err != MPI_SUCCESS
               ? err
               : weft_raise_fault(file, file->name, weft_file_sync(file, function),
                                  function);
}
WEFT_WEAK_ALIAS(MPI_File_sync, PMPI_File_sync);
