#include "check/file.h"

#include "check/rc.h"
#include "core/error.h"
#include "engine/lock.h"
#include "engine/wait.h"
#include "io/convert.h"

#include <errno.h>
#include <string.h>

/* ---- objects ---- */

int weft_check_file(const char *function, MPI_File handle, struct weft_file **out)
{
    char text[128];

    *out = weft_file_from_handle(handle);
    if (weft_likely(*out != NULL)) {
        return MPI_SUCCESS;
    }
    if (handle == MPI_FILE_NULL) {
        return weft_raise_file(NULL, function, WEFT_E_FILE_NULL);
    }
    return weft_raise_file(
        NULL, function, MPI_ERR_FILE, WEFT_T_HANDLE,
        weft_describe_handle(WEFT_KIND_FILE, handle, text, sizeof(text)));
}

int weft_check_file_out(const char *function, struct weft_file *file, const void *address,
                        const char *name)
{
    return address != NULL ? MPI_SUCCESS
                           : weft_raise_file(file, function, WEFT_E_NULL_ARGUMENT, name);
}

int weft_check_file_type(const char *function, struct weft_file *file,
                         MPI_Datatype handle, struct weft_datatype **out)
{
    char text[WEFT_DATATYPE_TEXT];

    *out = weft_datatype_from_handle(handle);
    if (weft_likely(*out != NULL && (*out)->is_committed)) {
        return MPI_SUCCESS;
    }
    if (handle == MPI_DATATYPE_NULL) {
        return weft_raise_file(file, function, WEFT_E_TYPE_NULL);
    }
    if (*out == NULL) {
        return weft_raise_file(
            file, function, MPI_ERR_TYPE, WEFT_T_HANDLE,
            weft_describe_handle(WEFT_KIND_DATATYPE, handle, text, sizeof(text)));
    }
    return weft_raise_file(file, function, WEFT_E_TYPE_UNCOMMITTED,
                           weft_datatype_describe(*out, text, sizeof(text)));
}

int weft_check_file_comm(const char *function, MPI_Comm handle, struct weft_comm **out)
{
    char text[128];

    *out = weft_comm_from_handle(handle);
    if (weft_likely(*out != NULL)) {
        return weft_comm_is_inter(*out)
                   ? weft_raise_file(NULL, function, WEFT_E_COMM_INTER)
                   : MPI_SUCCESS;
    }
    if (handle == MPI_COMM_NULL) {
        return weft_raise_file(NULL, function, WEFT_E_COMM_NULL);
    }
    return weft_raise_file(
        NULL, function, MPI_ERR_COMM, WEFT_T_HANDLE,
        weft_describe_handle(WEFT_KIND_COMM, handle, text, sizeof(text)));
}

int weft_check_file_info(const char *function, struct weft_file *file, MPI_Info handle,
                         struct weft_info **out)
{
    char text[128];

    *out = NULL;
    if (handle == MPI_INFO_NULL) {
        return MPI_SUCCESS;
    }
    weft_object_lock();
    *out = weft_info_from_handle(handle);
    weft_object_unlock();
    return *out != NULL ? MPI_SUCCESS
                        : weft_raise_file(file, function, MPI_ERR_INFO, WEFT_T_HANDLE,
                                          weft_describe_handle(WEFT_KIND_INFO, handle,
                                                               text, sizeof(text)));
}

/* ---- access modes ---- */

int weft_check_amode(const char *function, int amode)
{
    enum {
        ACCESS = MPI_MODE_RDONLY | MPI_MODE_RDWR | MPI_MODE_WRONLY,
        OTHERS = MPI_MODE_CREATE | MPI_MODE_EXCL | MPI_MODE_DELETE_ON_CLOSE |
                 MPI_MODE_UNIQUE_OPEN | MPI_MODE_SEQUENTIAL | MPI_MODE_APPEND,
    };
    const int kinds = __builtin_popcount((unsigned)(amode & ACCESS));

    if ((amode & ~(ACCESS | OTHERS)) != 0) {
        return weft_raise_file(NULL, function, WEFT_E_FILE_AMODE_UNKNOWN, amode,
                               amode & ~(ACCESS | OTHERS));
    }
    if (kinds != 1) {
        return weft_raise_file(NULL, function, WEFT_E_FILE_AMODE_ACCESS, amode, kinds);
    }
    if ((amode & MPI_MODE_RDONLY) != 0 &&
        (amode & (MPI_MODE_CREATE | MPI_MODE_EXCL)) != 0) {
        return weft_raise_file(NULL, function, WEFT_E_FILE_AMODE_CREATE);
    }
    if ((amode & MPI_MODE_RDWR) != 0 && (amode & MPI_MODE_SEQUENTIAL) != 0) {
        return weft_raise_file(NULL, function, WEFT_E_FILE_AMODE_SEQUENTIAL);
    }
    return MPI_SUCCESS;
}

int weft_check_written(const char *function, struct weft_file *file)
{
    return (file->amode & MPI_MODE_RDONLY) == 0
               ? MPI_SUCCESS
               : weft_raise_file(file, function, WEFT_E_FILE_READ_ONLY);
}

int weft_check_not_sequential(const char *function, struct weft_file *file)
{
    return (file->amode & MPI_MODE_SEQUENTIAL) == 0
               ? MPI_SUCCESS
               : weft_raise_file(file, function, WEFT_E_FILE_SEQUENTIAL);
}

/* ---- reads and writes ---- */

static int check_mode(const struct weft_file_args *args, struct weft_file *file)
{
    int err = MPI_SUCCESS;

    if (args->is_write) {
        err = weft_check_written(args->function, file);
    } else if ((file->amode & MPI_MODE_WRONLY) != 0) {
        err = weft_raise_file(file, args->function, WEFT_E_FILE_WRITE_ONLY);
    }
    if (err == MPI_SUCCESS &&
        (args->pointer == WEFT_FILE_EXPLICIT || args->pointer == WEFT_FILE_INDIVIDUAL)) {
        err = weft_check_not_sequential(args->function, file);
    }
    if (err == MPI_SUCCESS && args->offset < 0) {
        err = weft_raise_file(file, args->function, WEFT_E_FILE_OFFSET,
                              (long long)args->offset);
    }
    return err;
}

static int check_data(const struct weft_file_args *args, struct weft_file *file,
                      const struct weft_datatype *type)
{
    char text[WEFT_DATATYPE_TEXT];
    size_t bytes;

    if (args->count < 0) {
        return weft_raise_file(file, args->function, WEFT_E_COUNT,
                               (long long)args->count);
    }
    if (__builtin_mul_overflow((size_t)args->count, type->size, &bytes)) {
        return weft_raise_file(file, args->function, WEFT_E_COUNT_HUGE,
                               (long long)args->count,
                               weft_datatype_describe(type, text, sizeof(text)));
    }
    if (args->buffer == NULL && bytes > 0 && type->contents == NULL) {
        return weft_raise_file(file, args->function, WEFT_E_BUFFER_NULL,
                               (long long)args->count,
                               weft_datatype_describe(type, text, sizeof(text)));
    }
    return MPI_SUCCESS;
}

static int check_etypes(const struct weft_file_args *args, struct weft_file *file,
                        const struct weft_datatype *type)
{
    struct weft_view *view;
    uint64_t bytes = 0;
    uint64_t unit;
    int fault;

    weft_lock();
    view = file->view;
    weft_view_keep(view);
    weft_unlock();
    fault = weft_convert_bytes(view, type, args->count, &bytes);
    weft_lock();
    unit = view->etype_bytes;
    weft_view_release(view);
    weft_unlock();
    if (fault != 0) {
        return weft_raise_fault(file, file->name, fault, args->function);
    }
    return bytes == 0 || (unit > 0 && bytes % unit == 0)
               ? MPI_SUCCESS
               : weft_raise_file(file, args->function, WEFT_E_FILE_ETYPES,
                                 (unsigned long long)bytes, (unsigned long long)unit);
}

int weft_check_file_access(const struct weft_file_args *args, struct weft_file *file,
                           struct weft_file_call *call)
{
    struct weft_datatype *type;
    int err = weft_check_file_type(args->function, file, args->type, &type);

    if (err == MPI_SUCCESS) {
        err = check_mode(args, file);
    }
    if (err == MPI_SUCCESS) {
        err = check_data(args, file, type);
    }
    if (err == MPI_SUCCESS) {
        err = check_etypes(args, file, type);
    }
    if (err == MPI_SUCCESS) {
        *call = (struct weft_file_call){
            .name = args->function,
            .file = file,
            .is_write = args->is_write,
            .buffer = args->buffer,
            .count = args->count,
            .type = type,
        };
    }
    return err;
}

/* ---- faults ---- */

static int class_of_errno(int error)
{
    switch (error) {
    case EACCES:
    case EPERM:
        return MPI_ERR_ACCESS;
    case EROFS:
        return MPI_ERR_READ_ONLY;
    case ENOENT:
        return MPI_ERR_NO_SUCH_FILE;
    case EEXIST:
        return MPI_ERR_FILE_EXISTS;
    case ENOSPC:
        return MPI_ERR_NO_SPACE;
    case EDQUOT:
        return MPI_ERR_QUOTA;
    case EBUSY:
    case ETXTBSY:
        return MPI_ERR_FILE_IN_USE;
    case EISDIR:
    case ENOTDIR:
    case ELOOP:
    case ENAMETOOLONG:
    case ENXIO:
        return MPI_ERR_BAD_FILE;
    case ENOMEM:
        return MPI_ERR_NO_MEM;
    case EFAULT:
        return MPI_ERR_BUFFER;
    case EOVERFLOW:
    case EINVAL:
        return MPI_ERR_ARG;
    case EOPNOTSUPP:
        return MPI_ERR_UNSUPPORTED_OPERATION;
    default:
        return MPI_ERR_IO;
    }
}

int weft_class_of_fault(int fault)
{
    if (fault == WEFT_IO_FINE) {
        return MPI_SUCCESS;
    }
    if (fault < WEFT_IO_OWN) {
        return class_of_errno(fault);
    }
    if (fault >= WEFT_IO_CLASS) {
        return fault - WEFT_IO_CLASS;
    }
    if (fault >= WEFT_IO_RC) {
        return weft_class_of((enum weft_rc)(fault - WEFT_IO_RC));
    }
    return fault == WEFT_IO_NOT_SAME ? MPI_ERR_NOT_SAME : MPI_ERR_CONVERSION;
}

/* The cause in words. */
static const char *describe(int fault)
{
    const struct weft_error_row *row = weft_error_row(weft_class_of_fault(fault));

    if (fault < WEFT_IO_OWN) {
        return strerrordesc_np(fault) != NULL ? strerrordesc_np(fault) : "unknown";
    }
    if (fault == WEFT_IO_NOT_SAME) {
        return WEFT_S_FILE_NOT_SAME;
    }
    if (fault == WEFT_IO_CONVERSION) {
        return WEFT_S_FILE_CONVERSION;
    }
    return row != NULL ? row->meaning : WEFT_S_FILE_REFUSED;
}

int weft_raise_fault(struct weft_file *file, const char *name, int fault,
                     const char *function)
{
    char text[WEFT_FAILED_TEXT];

    if (weft_likely(fault == WEFT_IO_FINE)) {
        return MPI_SUCCESS;
    }
    if (fault == WEFT_IO_RC + WEFT_ERR_PROC_FAILED) {
        weft_progress();
        weft_describe_failed(file != NULL ? file->comm : NULL, text, sizeof(text));
        return weft_raise_file(file, function, MPI_ERR_PROC_ABORTED, WEFT_T_SAID, text);
    }
    return weft_raise_file(file, function, weft_class_of_fault(fault), WEFT_T_FILE_CALL,
                           name, describe(fault));
}

int weft_raise_moved(struct weft_file *file, const struct weft_moved *moved,
                     bool is_write, const char *function)
{
    const char *name = file != NULL ? file->name : "";
    const int class = weft_class_of_fault(moved->fault);
    const unsigned long long at = moved->at;
    const unsigned long long bytes = moved->bytes;

    if (weft_likely(moved->fault == WEFT_IO_FINE)) {
        return MPI_SUCCESS;
    }
    if (moved->is_elsewhere && moved->fault != WEFT_IO_RC + WEFT_ERR_PROC_FAILED) {
        return weft_raise_file(file, function, class, WEFT_T_FILE_OTHER, name,
                               describe(moved->fault));
    }
    if (moved->fault >= WEFT_IO_OWN || moved->fault == EOVERFLOW) {
        return weft_raise_fault(file, name, moved->fault, function);
    }
    if (is_write) {
        return weft_raise_file(file, function, class, WEFT_T_FILE_WRITE, name, at,
                               describe(moved->fault), bytes);
    }
    return weft_raise_file(file, function, class, WEFT_T_FILE_READ, name, at,
                           describe(moved->fault), bytes);
}
