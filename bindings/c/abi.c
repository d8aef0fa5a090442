/*
 * abi.c - MPI-5.0 chapter 20: handles to and from integers.
 *
 * The conversions may be called at any time. Predefined handles keep their value; an
 * integer behind which no object lives becomes the null handle of its type.
 */
#include "binding.h"

#include "engine/lock.h"

static uintptr_t fromint(enum weft_kind kind, int number, const void *null_handle)
{
    const bool is_any_time = kind == WEFT_KIND_INFO || kind == WEFT_KIND_ERRHANDLER ||
                             kind == WEFT_KIND_SESSION;
    uintptr_t handle;

    if (is_any_time) {
        weft_object_lock();
        handle = weft_handle_fromint(kind, number);
        weft_object_unlock();
    } else {
        weft_lock();
        handle = weft_handle_fromint(kind, number);
        weft_unlock();
    }
    return handle != 0 ? handle : (uintptr_t)null_handle;
}

int PMPI_Comm_toint(MPI_Comm comm)
{
    return weft_handle_toint((uintptr_t)comm);
}
WEFT_WEAK_ALIAS(MPI_Comm_toint, PMPI_Comm_toint);

MPI_Comm PMPI_Comm_fromint(int comm)
{
    return (MPI_Comm)fromint(WEFT_KIND_COMM, comm, MPI_COMM_NULL);
}
WEFT_WEAK_ALIAS(MPI_Comm_fromint, PMPI_Comm_fromint);

int PMPI_Errhandler_toint(MPI_Errhandler errhandler)
{
    return weft_handle_toint((uintptr_t)errhandler);
}
WEFT_WEAK_ALIAS(MPI_Errhandler_toint, PMPI_Errhandler_toint);

MPI_Errhandler PMPI_Errhandler_fromint(int errhandler)
{
    return (MPI_Errhandler)fromint(WEFT_KIND_ERRHANDLER, errhandler, MPI_ERRHANDLER_NULL);
}
WEFT_WEAK_ALIAS(MPI_Errhandler_fromint, PMPI_Errhandler_fromint);

int PMPI_File_toint(MPI_File file)
{
    return weft_handle_toint((uintptr_t)file);
}
WEFT_WEAK_ALIAS(MPI_File_toint, PMPI_File_toint);

MPI_File PMPI_File_fromint(int file)
{
    return (MPI_File)fromint(WEFT_KIND_FILE, file, MPI_FILE_NULL);
}
WEFT_WEAK_ALIAS(MPI_File_fromint, PMPI_File_fromint);

int PMPI_Group_toint(MPI_Group group)
{
    return weft_handle_toint((uintptr_t)group);
}
WEFT_WEAK_ALIAS(MPI_Group_toint, PMPI_Group_toint);

MPI_Group PMPI_Group_fromint(int group)
{
    return (MPI_Group)fromint(WEFT_KIND_GROUP, group, MPI_GROUP_NULL);
}
WEFT_WEAK_ALIAS(MPI_Group_fromint, PMPI_Group_fromint);

int PMPI_Info_toint(MPI_Info info)
{
    return weft_handle_toint((uintptr_t)info);
}
WEFT_WEAK_ALIAS(MPI_Info_toint, PMPI_Info_toint);

MPI_Info PMPI_Info_fromint(int info)
{
    return (MPI_Info)fromint(WEFT_KIND_INFO, info, MPI_INFO_NULL);
}
WEFT_WEAK_ALIAS(MPI_Info_fromint, PMPI_Info_fromint);

int PMPI_Message_toint(MPI_Message message)
{
    return weft_handle_toint((uintptr_t)message);
}
WEFT_WEAK_ALIAS(MPI_Message_toint, PMPI_Message_toint);

MPI_Message PMPI_Message_fromint(int message)
{
    return (MPI_Message)fromint(WEFT_KIND_MESSAGE, message, MPI_MESSAGE_NULL);
}
WEFT_WEAK_ALIAS(MPI_Message_fromint, PMPI_Message_fromint);

int PMPI_Op_toint(MPI_Op op)
{
    return weft_handle_toint((uintptr_t)op);
}
WEFT_WEAK_ALIAS(MPI_Op_toint, PMPI_Op_toint);

MPI_Op PMPI_Op_fromint(int op)
{
    return (MPI_Op)fromint(WEFT_KIND_OP, op, MPI_OP_NULL);
}
WEFT_WEAK_ALIAS(MPI_Op_fromint, PMPI_Op_fromint);

int PMPI_Request_toint(MPI_Request request)
{
    return weft_handle_toint((uintptr_t)request);
}
WEFT_WEAK_ALIAS(MPI_Request_toint, PMPI_Request_toint);

MPI_Request PMPI_Request_fromint(int request)
{
    return (MPI_Request)fromint(WEFT_KIND_REQUEST, request, MPI_REQUEST_NULL);
}
WEFT_WEAK_ALIAS(MPI_Request_fromint, PMPI_Request_fromint);

int PMPI_Session_toint(MPI_Session session)
{
    return weft_handle_toint((uintptr_t)session);
}
WEFT_WEAK_ALIAS(MPI_Session_toint, PMPI_Session_toint);

MPI_Session PMPI_Session_fromint(int session)
{
    return (MPI_Session)fromint(WEFT_KIND_SESSION, session, MPI_SESSION_NULL);
}
WEFT_WEAK_ALIAS(MPI_Session_fromint, PMPI_Session_fromint);

int PMPI_Type_toint(MPI_Datatype datatype)
{
    return weft_handle_toint((uintptr_t)datatype);
}
WEFT_WEAK_ALIAS(MPI_Type_toint, PMPI_Type_toint);

MPI_Datatype PMPI_Type_fromint(int datatype)
{
    return (MPI_Datatype)fromint(WEFT_KIND_DATATYPE, datatype, MPI_DATATYPE_NULL);
}
WEFT_WEAK_ALIAS(MPI_Type_fromint, PMPI_Type_fromint);

int PMPI_Win_toint(MPI_Win win)
{
    return weft_handle_toint((uintptr_t)win);
}
WEFT_WEAK_ALIAS(MPI_Win_toint, PMPI_Win_toint);

MPI_Win PMPI_Win_fromint(int win)
{
    return (MPI_Win)fromint(WEFT_KIND_WIN, win, MPI_WIN_NULL);
}
WEFT_WEAK_ALIAS(MPI_Win_fromint, PMPI_Win_fromint);
