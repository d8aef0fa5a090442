/*
 * mpi_legacy.h - names that the MPI-5.0 ABI left out, for older sources.
 *
 * Nothing in here is exported by the library: it is inline code on top of mpi.h. Include
 * it instead of mpi.h, or compile with  mpicc -DWEFT_LEGACY  to leave the source alone.
 * It holds
 *
 *   - MPI_Fint, the status and handle conversions to and from Fortran (c2f, f2c): handles
 *     become the integers of MPI_*_toint, statuses are copied word by word;
 *   - what the standard deprecated in 1997 and has removed since: attributes by
 * MPI_Attr_* and MPI_Keyval_*, the datatype calls MPI_Type_hvector, _hindexed, _struct,
 * _extent, _lb, _ub and MPI_Address, and MPI_Errhandler_create, _set and _get;
 *   - MPIO_USES_MPI_REQUEST, by which ROMIO says that requests of files are MPI's.
 *
 * MPI_LB, MPI_UB and the *_INTEGER combiners have no value in the ABI and cannot be
 * offered.
 */
#ifndef MPI_LEGACY_H
#define MPI_LEGACY_H

#include "mpi.h"

#include <string.h>

#ifdef __cplusplus
extern "C" {
#endif

/* Fortran: INTEGER is taken to be a C int. */

typedef int MPI_Fint;

typedef struct {
    MPI_Fint MPI_SOURCE;
    MPI_Fint MPI_TAG;
    MPI_Fint MPI_ERROR;
    MPI_Fint MPI_internal[5];
} MPI_F08_status;

#define MPI_F_STATUS_IGNORE     ((MPI_Fint *)0)
#define MPI_F_STATUSES_IGNORE   ((MPI_Fint *)0)
#define MPI_F08_STATUS_IGNORE   ((MPI_F08_status *)0)
#define MPI_F08_STATUSES_IGNORE ((MPI_F08_status *)0)

#define WEFT_LEGACY_CONVERT(type, handle)                                                \
    WEFT_LEGACY_CONVERT_AS(MPI_##type, handle)                                           \
    WEFT_LEGACY_CONVERT_AS(PMPI_##type, handle)

#define WEFT_LEGACY_CONVERT_AS(name, handle)                                             \
    static inline MPI_Fint name##_c2f(handle object)                                     \
    {                                                                                    \
        return name##_toint(object);                                                     \
    }                                                                                    \
    static inline handle name##_f2c(MPI_Fint object)                                     \
    {                                                                                    \
        return name##_fromint(object);                                                   \
    }

WEFT_LEGACY_CONVERT(Comm, MPI_Comm)
WEFT_LEGACY_CONVERT(Errhandler, MPI_Errhandler)
WEFT_LEGACY_CONVERT(File, MPI_File)
WEFT_LEGACY_CONVERT(Group, MPI_Group)
WEFT_LEGACY_CONVERT(Info, MPI_Info)
WEFT_LEGACY_CONVERT(Message, MPI_Message)
WEFT_LEGACY_CONVERT(Op, MPI_Op)
WEFT_LEGACY_CONVERT(Request, MPI_Request)
WEFT_LEGACY_CONVERT(Session, MPI_Session)
WEFT_LEGACY_CONVERT(Type, MPI_Datatype)
WEFT_LEGACY_CONVERT(Win, MPI_Win)

#undef WEFT_LEGACY_CONVERT
#undef WEFT_LEGACY_CONVERT_AS

/* The three statuses have the same eight words, so each conversion is a copy. */

static inline int MPI_Status_c2f(const MPI_Status *c_status, MPI_Fint *f_status)
{
    memcpy(f_status, c_status, sizeof(*c_status));
    return MPI_SUCCESS;
}

static inline int MPI_Status_f2c(const MPI_Fint *f_status, MPI_Status *c_status)
{
    memcpy(c_status, f_status, sizeof(*c_status));
    return MPI_SUCCESS;
}

static inline int MPI_Status_c2f08(const MPI_Status *c_status, MPI_F08_status *f08_status)
{
    memcpy(f08_status, c_status, sizeof(*c_status));
    return MPI_SUCCESS;
}

static inline int MPI_Status_f082c(const MPI_F08_status *f08_status, MPI_Status *c_status)
{
    memcpy(c_status, f08_status, sizeof(*c_status));
    return MPI_SUCCESS;
}

static inline int MPI_Status_f2f08(const MPI_Fint *f_status, MPI_F08_status *f08_status)
{
    memcpy(f08_status, f_status, sizeof(*f08_status));
    return MPI_SUCCESS;
}

static inline int MPI_Status_f082f(const MPI_F08_status *f08_status, MPI_Fint *f_status)
{
    memcpy(f_status, f08_status, sizeof(*f08_status));
    return MPI_SUCCESS;
}

/* Attributes, replaced in MPI-2.0 by MPI_Comm_*_attr and MPI_Comm_*_keyval. */

typedef int MPI_Copy_function(MPI_Comm comm, int keyval, void *extra_state,
                              void *attribute_val_in, void *attribute_val_out, int *flag);
typedef int MPI_Delete_function(MPI_Comm comm, int keyval, void *attribute_val,
                                void *extra_state);

#define MPI_NULL_COPY_FN   ((MPI_Copy_function *)0x0)
#define MPI_DUP_FN         ((MPI_Copy_function *)0x1)
#define MPI_NULL_DELETE_FN ((MPI_Delete_function *)0x0)

static inline int MPI_Keyval_create(MPI_Copy_function *copy_fn,
                                    MPI_Delete_function *delete_fn, int *keyval,
                                    void *extra_state)
{
    return MPI_Comm_create_keyval(copy_fn, delete_fn, keyval, extra_state);
}

static inline int MPI_Keyval_free(int *keyval)
{
    return MPI_Comm_free_keyval(keyval);
}

static inline int MPI_Attr_put(MPI_Comm comm, int keyval, void *attribute_val)
{
    return MPI_Comm_set_attr(comm, keyval, attribute_val);
}

static inline int MPI_Attr_get(MPI_Comm comm, int keyval, void *attribute_val, int *flag)
{
    return MPI_Comm_get_attr(comm, keyval, attribute_val, flag);
}

static inline int MPI_Attr_delete(MPI_Comm comm, int keyval)
{
    return MPI_Comm_delete_attr(comm, keyval);
}

/* Datatypes, removed in MPI-3.0. */

static inline int MPI_Address(void *location, MPI_Aint *address)
{
    return MPI_Get_address(location, address);
}

static inline int MPI_Type_hvector(int count, int blocklength, MPI_Aint stride,
                                   MPI_Datatype oldtype, MPI_Datatype *newtype)
{
    return MPI_Type_create_hvector(count, blocklength, stride, oldtype, newtype);
}

static inline int MPI_Type_hindexed(int count, int *blocklengths, MPI_Aint *displacements,
                                    MPI_Datatype oldtype, MPI_Datatype *newtype)
{
    return MPI_Type_create_hindexed(count, blocklengths, displacements, oldtype, newtype);
}

static inline int MPI_Type_struct(int count, int *blocklengths, MPI_Aint *displacements,
                                  MPI_Datatype *types, MPI_Datatype *newtype)
{
    return MPI_Type_create_struct(count, blocklengths, displacements, types, newtype);
}

static inline int MPI_Type_extent(MPI_Datatype datatype, MPI_Aint *extent)
{
    MPI_Aint lb;

    return MPI_Type_get_extent(datatype, &lb, extent);
}

static inline int MPI_Type_lb(MPI_Datatype datatype, MPI_Aint *displacement)
{
    MPI_Aint extent;

    return MPI_Type_get_extent(datatype, displacement, &extent);
}

static inline int MPI_Type_ub(MPI_Datatype datatype, MPI_Aint *displacement)
{
    MPI_Aint lb = 0;
    MPI_Aint extent = 0;
    int err = MPI_Type_get_extent(datatype, &lb, &extent);

    if (err == MPI_SUCCESS) {
        *displacement = lb + extent;
    }
    return err;
}

/* Error handlers, removed in MPI-3.0. */

typedef MPI_Comm_errhandler_function MPI_Handler_function;

static inline int MPI_Errhandler_create(MPI_Handler_function *handler_fn,
                                        MPI_Errhandler *errhandler)
{
    return MPI_Comm_create_errhandler(handler_fn, errhandler);
}

static inline int MPI_Errhandler_set(MPI_Comm comm, MPI_Errhandler errhandler)
{
    return MPI_Comm_set_errhandler(comm, errhandler);
}

static inline int MPI_Errhandler_get(MPI_Comm comm, MPI_Errhandler *errhandler)
{
    return MPI_Comm_get_errhandler(comm, errhandler);
}

/* Files. Sources that know ROMIO's own requests ask by this name whether MPI's are used.
 */
#define MPIO_USES_MPI_REQUEST 1

#ifdef __cplusplus
}
#endif

#endif /* MPI_LEGACY_H */
