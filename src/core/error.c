#include "core/error.h"

#include "mpi.h"

#include <stddef.h>

#define ROW(class, meaning)                                                              \
    {                                                                                    \
        class, #class, meaning                                                           \
    }

static const struct weft_error_row table[] = {
    ROW(MPI_SUCCESS, "no error"),
    ROW(MPI_ERR_BUFFER, "the buffer is NULL although data must move"),
    ROW(MPI_ERR_COUNT, "the count is negative or too large"),
    ROW(MPI_ERR_TYPE, "the datatype is null, freed, or not committed"),
    ROW(MPI_ERR_TAG, "the tag is negative, above MPI_TAG_UB, or a wildcard in a send"),
    ROW(MPI_ERR_COMM, "the communicator is null, freed, or of the wrong kind"),
    ROW(MPI_ERR_RANK, "the rank lies outside the communicator or group"),
    ROW(MPI_ERR_REQUEST, "the request is freed, or not fit for this call"),
    ROW(MPI_ERR_ROOT, "the root lies outside the communicator"),
    ROW(MPI_ERR_GROUP, "the group is null, freed, or does not fit the communicator"),
    ROW(MPI_ERR_OP, "the operation is null, freed, or not defined for the datatype"),
    ROW(MPI_ERR_TOPOLOGY, "the communicator does not have this topology"),
    ROW(MPI_ERR_DIMS, "the dimensions do not fit"),
    ROW(MPI_ERR_ARG, "an argument has a value that makes no sense"),
    ROW(MPI_ERR_UNKNOWN, "the cause is not known"),
    ROW(MPI_ERR_TRUNCATE, "the message is longer than the receive buffer"),
    ROW(MPI_ERR_OTHER, "an error that no class of the standard describes"),
    ROW(MPI_ERR_INTERN, "an internal error of the library"),
    ROW(MPI_ERR_PENDING, "the operation has neither failed nor completed"),
    ROW(MPI_ERR_IN_STATUS, "each status tells the error of its own operation"),
    ROW(MPI_ERR_ACCESS, "permission to the file is denied"),
    ROW(MPI_ERR_AMODE, "the access mode is contradictory or does not allow this"),
    ROW(MPI_ERR_ASSERT, "the assertion has bits that this call does not know"),
    ROW(MPI_ERR_BAD_FILE, "the file name is not usable"),
    ROW(MPI_ERR_BASE, "the base address was not given by MPI_Alloc_mem"),
    ROW(MPI_ERR_CONVERSION, "a user's data conversion function failed"),
    ROW(MPI_ERR_DISP, "the displacement lies outside what is allowed"),
    ROW(MPI_ERR_DUP_DATAREP, "the data representation exists already"),
    ROW(MPI_ERR_FILE_EXISTS, "the file exists already"),
    ROW(MPI_ERR_FILE_IN_USE, "the file is open somewhere"),
    ROW(MPI_ERR_FILE, "the file handle is null, closed, or not one"),
    ROW(MPI_ERR_INFO_KEY, "the info key is empty or longer than MPI_MAX_INFO_KEY"),
    ROW(MPI_ERR_INFO_NOKEY, "the info object does not have this key"),
    ROW(MPI_ERR_INFO_VALUE, "the info value is NULL or longer than MPI_MAX_INFO_VAL"),
    ROW(MPI_ERR_INFO, "the info object is null or freed"),
    ROW(MPI_ERR_IO, "reading or writing the file failed"),
    ROW(MPI_ERR_KEYVAL, "the attribute key is unknown, freed, or of another object"),
    ROW(MPI_ERR_LOCKTYPE, "the lock type is neither shared nor exclusive"),
    ROW(MPI_ERR_NAME, "nobody published a service of this name"),
    ROW(MPI_ERR_NO_MEM, "memory is used up"),
    ROW(MPI_ERR_NOT_SAME,
        "an argument differs between the processes of a collective call"),
    ROW(MPI_ERR_NO_SPACE, "the file system is full"),
    ROW(MPI_ERR_NO_SUCH_FILE, "the file does not exist"),
    ROW(MPI_ERR_PORT, "the port name is not valid or nobody listens there"),
    ROW(MPI_ERR_QUOTA, "the file quota is used up"),
    ROW(MPI_ERR_READ_ONLY, "the file or file system is read only"),
    ROW(MPI_ERR_RMA_ATTACH, "the memory cannot be attached to the window"),
    ROW(MPI_ERR_RMA_CONFLICT, "conflicting accesses to the window"),
    ROW(MPI_ERR_RMA_RANGE, "the access lies outside the target's window"),
    ROW(MPI_ERR_RMA_SHARED, "the memory cannot be shared between these processes"),
    ROW(MPI_ERR_RMA_SYNC, "the window is not in the right epoch for this call"),
    ROW(MPI_ERR_SERVICE, "the service name is not valid or not published by us"),
    ROW(MPI_ERR_SIZE, "the size is negative or too large"),
    ROW(MPI_ERR_SPAWN, "the processes could not be started"),
    ROW(MPI_ERR_UNSUPPORTED_DATAREP, "the data representation is not supported"),
    ROW(MPI_ERR_UNSUPPORTED_OPERATION, "the operation is not supported"),
    ROW(MPI_ERR_WIN, "the window is null, freed, or not one"),
    ROW(MPI_ERR_RMA_FLAVOR, "the window is of another flavor than this call needs"),
    ROW(MPI_ERR_PROC_ABORTED, "the other process has ended"),
    ROW(MPI_ERR_VALUE_TOO_LARGE, "the value does not fit the type of the argument"),
    ROW(MPI_ERR_SESSION, "the session is null, finalized, or not one"),
    ROW(MPI_ERR_ERRHANDLER, "the error handler is null, freed, or of another object"),
    ROW(MPI_ERR_ABI, "the ABI's Fortran properties are already set, or are impossible"),
    ROW(MPI_T_ERR_CANNOT_INIT, "the tool interface cannot be initialised"),
    ROW(MPI_T_ERR_NOT_ACCESSIBLE, "the tool interface is not accessible now"),
    ROW(MPI_T_ERR_NOT_INITIALIZED, "the tool interface is not initialised"),
    ROW(MPI_T_ERR_NOT_SUPPORTED, "the tool interface does not support this"),
    ROW(MPI_T_ERR_MEMORY, "memory is used up"),
    ROW(MPI_T_ERR_INVALID, "an argument has a value that makes no sense"),
    ROW(MPI_T_ERR_INVALID_INDEX, "no variable, category or event has this index"),
    ROW(MPI_T_ERR_INVALID_ITEM, "the enumeration does not have this item"),
    ROW(MPI_T_ERR_INVALID_SESSION, "the performance session is not valid"),
    ROW(MPI_T_ERR_INVALID_HANDLE, "the variable or event handle is not valid"),
    ROW(MPI_T_ERR_INVALID_NAME, "nothing has this name"),
    ROW(MPI_T_ERR_OUT_OF_HANDLES, "no more handles are available"),
    ROW(MPI_T_ERR_OUT_OF_SESSIONS, "no more sessions are available"),
    ROW(MPI_T_ERR_CVAR_SET_NOT_NOW, "the control variable cannot be set now"),
    ROW(MPI_T_ERR_CVAR_SET_NEVER, "the control variable can never be set"),
    ROW(MPI_T_ERR_PVAR_NO_WRITE, "the performance variable cannot be written or reset"),
    ROW(MPI_T_ERR_PVAR_NO_STARTSTOP,
        "the performance variable cannot be started or stopped"),
    ROW(MPI_T_ERR_PVAR_NO_ATOMIC,
        "the performance variable cannot be read and reset at once"),
};

const struct weft_error_row *weft_error_row(int class)
{
    for (size_t i = 0; i < sizeof(table) / sizeof(table[0]); i++) {
        if (table[i].class == class) {
            return &table[i];
        }
    }
    return NULL;
}
