/*
 * file_view.c - MPI-5.0 chapters 14.3, 14.4 and 14.5: views, file pointers, and how data
 * lie in files.
 */
#include "binding.h"

#include "check/file.h"
#include "engine/lock.h"
#include "io/convert.h"
#include "io/representation.h"
#include "io/seek.h"
#include "io/pointer.h"
#include "io/together.h"

#include <limits.h>
#include <stdio.h>
#include <string.h>

/* ---- views ---- */

static int check_displacement(const char *function, struct weft_file *file,
                              MPI_Offset disp)
{
    if ((file->amode & MPI_MODE_SEQUENTIAL) != 0) {
        return disp == MPI_DISPLACEMENT_CURRENT
                   ? MPI_SUCCESS
                   : weft_raise_file(file, function, WEFT_E_FILE_CURRENT,
                                     (long long)disp);
    }
    return disp >= 0 ? MPI_SUCCESS
                     : weft_raise_file(file, function, WEFT_E_FILE_DISPLACEMENT,
                                       (long long)disp);
}

/* Blocks in the order of the file, which do not overlap in a file that is written. */
static const char *find_disorder(const struct weft_datatype *type, bool is_written)
{
    struct iovec blocks[64];
    struct weft_cursor cursor;
    uintptr_t last = 0;
    uintptr_t end = 0;
    size_t n;

    if (type->true_lb < 0 || type->extent < 0) {
        return WEFT_S_FILE_NEGATIVE;
    }
    weft_cursor_init(&cursor, &type->layout, type->extent, 1, NULL);
    while ((n = weft_cursor_iov(&cursor, blocks, 64, SIZE_MAX)) > 0) {
        for (size_t i = 0; i < n; i++) {
            const uintptr_t at = (uintptr_t)blocks[i].iov_base;

            if (at < last) {
                return WEFT_S_FILE_DISORDER;
            }
            if (is_written && at < end) {
                return WEFT_S_FILE_OVERLAP;
            }
            last = at;
            end = at + blocks[i].iov_len > end ? at + blocks[i].iov_len : end;
        }
    }
    return NULL;
}

static int check_filetype(const char *function, struct weft_file *file,
                          const struct weft_datatype *etype,
                          const struct weft_datatype *filetype)
{
    const char *fault = find_disorder(filetype, weft_file_is_written(file));
    char text[WEFT_DATATYPE_TEXT];

    if (fault == NULL && filetype->size > 0 &&
        (etype->size == 0 || filetype->size % etype->size != 0)) {
        fault = WEFT_S_FILE_NO_ETYPES;
    }
    return fault == NULL
               ? MPI_SUCCESS
               : weft_raise_file(file, function, WEFT_E_FILE_FILETYPE,
                                 weft_datatype_describe(filetype, text, sizeof(text)),
                                 fault);
}

static int check_representation(const char *function, struct weft_file *file,
                                const char *name, const struct weft_representation **out)
{
    int err = weft_check_file_out(function, file, name, "datarep");

    if (err != MPI_SUCCESS) {
        return err;
    }
    weft_object_lock();
    *out = weft_representation_find(name);
    weft_object_unlock();
    return *out != NULL ? MPI_SUCCESS
                        : weft_raise_file(file, function, WEFT_E_FILE_DATAREP, name);
}

/* Fills in a view; its types are kept by whoever keeps the view. */
static int check_view(const char *function, struct weft_file *file, MPI_Offset disp,
                      MPI_Datatype etype, MPI_Datatype filetype, const char *datarep,
                      struct weft_view *view)
{
    int err = check_displacement(function, file, disp);

    if (err == MPI_SUCCESS) {
        err = weft_check_file_type(function, file, etype, &view->etype);
    }
    if (err == MPI_SUCCESS) {
        err = weft_check_file_type(function, file, filetype, &view->filetype);
    }
    if (err == MPI_SUCCESS) {
        err = check_filetype(function, file, view->etype, view->filetype);
    }
    if (err == MPI_SUCCESS) {
        err = check_representation(function, file, datarep, &view->representation);
    }
    view->displacement = (uint64_t)disp;
    return err;
}

int PMPI_File_set_view(MPI_File fh, MPI_Offset disp, MPI_Datatype etype,
                       MPI_Datatype filetype, const char *datarep, MPI_Info info)
{
    WEFT_RECORD_PLAIN(File_set_view);
    static const char function[] = "MPI_File_set_view";
    struct weft_view view = {0};
    struct weft_info *hints;
    struct weft_file *file;
    int fault;
    int err = weft_check_file(function, fh, &file);

    if (err != MPI_SUCCESS) {
        return err;
    }
    err = weft_check_file_info(function, file, info, &hints);
    if (err == MPI_SUCCESS) {
        err = check_view(function, file, disp, etype, filetype, datarep, &view);
    }
    fault = err != MPI_SUCCESS ? WEFT_IO_CLASS + err : weft_convert_view(&view);
    fault = weft_file_set_view(file, &view, disp == MPI_DISPLACEMENT_CURRENT, fault,
                               function);
    weft_lock();
    if (fault == 0) {
        weft_object_lock();
        weft_file_hints_update(&file->hints, hints);
        weft_object_unlock();
    }
    if (view.in_file != NULL) {
        weft_datatype_release(view.in_file);
    }
    weft_unlock();
    return err != MPI_SUCCESS ? err : weft_raise_fault(file, file->name, fault, function);
}
WEFT_WEAK_ALIAS(MPI_File_set_view, PMPI_File_set_view);

static int check_view_outs(const char *function, struct weft_file *file,
                           const MPI_Offset *disp, const MPI_Datatype *etype,
                           const MPI_Datatype *filetype, const char *datarep)
{
    int err = weft_check_file_out(function, file, disp, "disp");

    if (err == MPI_SUCCESS) {
        err = weft_check_file_out(function, file, etype, "etype");
    }
    if (err == MPI_SUCCESS) {
        err = weft_check_file_out(function, file, filetype, "filetype");
    }
    return err == MPI_SUCCESS ? weft_check_file_out(function, file, datarep, "datarep")
                              : err;
}

/* The user frees the types, unless they are predefined. */
int PMPI_File_get_view(MPI_File fh, MPI_Offset *disp, MPI_Datatype *etype,
                       MPI_Datatype *filetype, char *datarep)
{
    static const char function[] = "MPI_File_get_view";
    struct weft_file *file;
    int err = weft_check_file(function, fh, &file);

    if (err == MPI_SUCCESS) {
        err = check_view_outs(function, file, disp, etype, filetype, datarep);
    }
    if (err != MPI_SUCCESS) {
        return err;
    }
    weft_lock();
    weft_datatype_share(file->view->etype);
    weft_datatype_share(file->view->filetype);
    *disp = (MPI_Offset)file->view->displacement;
    *etype = file->view->etype->handle;
    *filetype = file->view->filetype->handle;
    snprintf(datarep, MPI_MAX_DATAREP_STRING, "%s", file->view->representation->name);
    weft_unlock();
    return MPI_SUCCESS;
}
WEFT_WEAK_ALIAS(MPI_File_get_view, PMPI_File_get_view);

/* ---- file pointers ---- */

static int check_whence(const char *function, struct weft_file *file, int whence)
{
    int err = weft_check_not_sequential(function, file);

    if (err != MPI_SUCCESS || whence == MPI_SEEK_SET || whence == MPI_SEEK_CUR ||
        whence == MPI_SEEK_END) {
        return err;
    }
    return weft_raise_file(file, function, WEFT_E_FILE_WHENCE, whence);
}

static uint64_t position_of(const struct weft_file *file)
{
    uint64_t position;

    weft_lock();
    position = file->position;
    weft_unlock();
    return position;
}

int PMPI_File_seek(MPI_File fh, MPI_Offset offset, int whence)
{
    WEFT_RECORD_PLAIN(File_seek);
    static const char function[] = "MPI_File_seek";
    struct weft_file *file;
    int64_t there = 0;
    int fault;
    int err = weft_check_file(function, fh, &file);

    if (err == MPI_SUCCESS) {
        err = check_whence(function, file, whence);
    }
    if (err != MPI_SUCCESS) {
        return err;
    }
    fault = weft_file_seek_to(file, position_of(file), offset, whence, &there);
    if (fault == 0 && there < 0) {
        return weft_raise_file(file, function, WEFT_E_FILE_SEEK, (long long)there);
    }
    if (fault == 0) {
        weft_lock();
        file->position = (uint64_t)there;
        weft_unlock();
    }
    return weft_raise_fault(file, file->name, fault, function);
}
WEFT_WEAK_ALIAS(MPI_File_seek, PMPI_File_seek);

int PMPI_File_get_position(MPI_File fh, MPI_Offset *offset)
{
    static const char function[] = "MPI_File_get_position";
    struct weft_file *file;
    int err = weft_check_file(function, fh, &file);

    if (err == MPI_SUCCESS) {
        err = weft_check_not_sequential(function, file);
    }
    if (err == MPI_SUCCESS) {
        err = weft_check_file_out(function, file, offset, "offset");
    }
    if (err == MPI_SUCCESS) {
        *offset = (MPI_Offset)position_of(file);
    }
    return err;
}
WEFT_WEAK_ALIAS(MPI_File_get_position, PMPI_File_get_position);

int PMPI_File_get_byte_offset(MPI_File fh, MPI_Offset offset, MPI_Offset *disp)
{
    static const char function[] = "MPI_File_get_byte_offset";
    struct weft_file *file;
    uint64_t position;
    bool is_within;
    int err = weft_check_file(function, fh, &file);

    if (err == MPI_SUCCESS) {
        err = weft_check_not_sequential(function, file);
    }
    if (err == MPI_SUCCESS) {
        err = weft_check_file_out(function, file, disp, "disp");
    }
    if (err == MPI_SUCCESS && offset < 0) {
        err = weft_raise_file(file, function, WEFT_E_FILE_OFFSET, (long long)offset);
    }
    if (err != MPI_SUCCESS) {
        return err;
    }
    weft_lock();
    is_within = weft_view_is_within(file->view, (uint64_t)offset, 1, &position);
    if (is_within) {
        *disp = (MPI_Offset)weft_view_offset(file->view, position);
    }
    weft_unlock();
    return is_within ? MPI_SUCCESS : weft_raise_file(file, function, WEFT_E_FILE_BEYOND);
}
WEFT_WEAK_ALIAS(MPI_File_get_byte_offset, PMPI_File_get_byte_offset);

int PMPI_File_seek_shared(MPI_File fh, MPI_Offset offset, int whence)
{
    WEFT_RECORD_PLAIN(File_seek_shared);
    static const char function[] = "MPI_File_seek_shared";
    struct weft_file *file;
    int fault;
    int err = weft_check_file(function, fh, &file);

    if (err != MPI_SUCCESS) {
        return err;
    }
    err = check_whence(function, file, whence);
    fault = weft_file_seek_shared(file, offset, whence,
                                  err != MPI_SUCCESS ? WEFT_IO_CLASS + err : 0, function);
    return err != MPI_SUCCESS ? err : weft_raise_fault(file, file->name, fault, function);
}
WEFT_WEAK_ALIAS(MPI_File_seek_shared, PMPI_File_seek_shared);

int PMPI_File_get_position_shared(MPI_File fh, MPI_Offset *offset)
{
    WEFT_RECORD_PLAIN(File_get_position_shared);
    static const char function[] = "MPI_File_get_position_shared";
    struct weft_file *file;
    uint64_t now = 0;
    int fault;
    int err = weft_check_file(function, fh, &file);

    if (err == MPI_SUCCESS) {
        err = weft_check_not_sequential(function, file);
    }
    if (err == MPI_SUCCESS) {
        err = weft_check_file_out(function, file, offset, "offset");
    }
    if (err != MPI_SUCCESS) {
        return err;
    }
    fault = weft_pointer_add(file, 0, function, &now);
    if (fault == 0) {
        *offset = (MPI_Offset)now;
    }
    return weft_raise_fault(file, file->name, fault, function);
}
WEFT_WEAK_ALIAS(MPI_File_get_position_shared, PMPI_File_get_position_shared);

/* ---- representations ---- */

static int get_extent_checked(const char *function, MPI_File fh, MPI_Datatype datatype,
                              const void *extent, MPI_Count *out)
{
    struct weft_datatype *type;
    struct weft_file *file;
    int fault;
    int err = weft_check_file(function, fh, &file);

    if (err == MPI_SUCCESS) {
        err = weft_check_file_out(function, file, extent, "extent");
    }
    if (err == MPI_SUCCESS) {
        err = weft_check_file_type(function, file, datatype, &type);
    }
    if (err != MPI_SUCCESS) {
        return err;
    }
    fault = weft_convert_extent(file->view->representation, type, out);
    return weft_raise_fault(file, file->name, fault, function);
}

int PMPI_File_get_type_extent(MPI_File fh, MPI_Datatype datatype, MPI_Aint *extent)
{
    MPI_Count there = 0;
    int err =
        get_extent_checked("MPI_File_get_type_extent", fh, datatype, extent, &there);

    if (err == MPI_SUCCESS) {
        *extent = (MPI_Aint)there;
    }
    return err;
}
WEFT_WEAK_ALIAS(MPI_File_get_type_extent, PMPI_File_get_type_extent);

int PMPI_File_get_type_extent_c(MPI_File fh, MPI_Datatype datatype, MPI_Count *extent)
{
    MPI_Count there = 0;
    int err =
        get_extent_checked("MPI_File_get_type_extent_c", fh, datatype, extent, &there);

    if (err == MPI_SUCCESS) {
        *extent = there;
    }
    return err;
}
WEFT_WEAK_ALIAS(MPI_File_get_type_extent_c, PMPI_File_get_type_extent_c);

static int register_checked(const char *function, const char *name,
                            struct weft_representation *made)
{
    enum weft_rc rc = WEFT_ERR_ARGUMENT;
    int err = weft_check_open(function);

    if (err == MPI_SUCCESS) {
        err = weft_check_file_out(function, NULL, name, "datarep");
    }
    if (err == MPI_SUCCESS && made->extent == NULL) {
        err = weft_raise_file(NULL, function, WEFT_E_NULL_FUNCTION);
    }
    if (err == MPI_SUCCESS && strlen(name) >= MPI_MAX_DATAREP_STRING) {
        err = weft_raise_file(NULL, function, WEFT_E_FILE_DATAREP_LENGTH,
                              MPI_MAX_DATAREP_STRING - 1);
    }
    if (err != MPI_SUCCESS) {
        return err;
    }
    snprintf(made->name, sizeof(made->name), "%s", name);
    made->kind = WEFT_REPRESENTATION_USER;
    weft_object_lock();
    if (weft_representation_find(name) == NULL) {
        rc = weft_representation_add(made);
    }
    weft_object_unlock();
    if (rc == WEFT_ERR_ARGUMENT) {
        return weft_raise_file(NULL, function, WEFT_E_FILE_DATAREP_TWICE, name);
    }
    return weft_raise_fault(NULL, name, weft_io_fault_of(rc), function);
}

int PMPI_Register_datarep(const char *datarep,
                          MPI_Datarep_conversion_function *read_conversion_fn,
                          MPI_Datarep_conversion_function *write_conversion_fn,
                          MPI_Datarep_extent_function *dtype_file_extent_fn,
                          void *extra_state)
{
    struct weft_representation made = {
        .read.narrow = read_conversion_fn,
        .write.narrow = write_conversion_fn,
        .extent = dtype_file_extent_fn,
        .extra_state = extra_state,
    };

    return register_checked("MPI_Register_datarep", datarep, &made);
}
WEFT_WEAK_ALIAS(MPI_Register_datarep, PMPI_Register_datarep);

int PMPI_Register_datarep_c(const char *datarep,
                            MPI_Datarep_conversion_function_c *read_conversion_fn,
                            MPI_Datarep_conversion_function_c *write_conversion_fn,
                            MPI_Datarep_extent_function *dtype_file_extent_fn,
                            void *extra_state)
{
    struct weft_representation made = {
        .is_large = true,
        .read.wide = read_conversion_fn,
        .write.wide = write_conversion_fn,
        .extent = dtype_file_extent_fn,
        .extra_state = extra_state,
    };

    return register_checked("MPI_Register_datarep_c", datarep, &made);
}
WEFT_WEAK_ALIAS(MPI_Register_datarep_c, PMPI_Register_datarep_c);
