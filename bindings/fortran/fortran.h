/*
 * fortran.h - what the C bodies of the Fortran procedures share.
 *
 * libmpifort_abi stands on the standard ABI alone: it calls MPI_ and PMPI_ functions and
 * the C library. The files with bodies are compiled twice. Without WEFT_PROFILING they
 * define mpi_send_ and the like, weak, which call MPI_Send; with it pmpi_send_, which
 * calls PMPI_Send. So a tool in C sees the calls of Fortran programs, and a tool in
 * Fortran can define mpi_send_ and call pmpi_send_. What a body needs besides its own
 * function it gets by PMPI_ functions, which no tool sees.
 *
 * Arguments come by reference. INTEGER and default LOGICAL have 4 bytes, handles are the
 * INTEGERs of MPI_*_toint, TYPE(MPI_Comm) is one INTEGER, and a status is 8 INTEGERs with
 * the layout of MPI_Status. So one body serves mpif.h, `use mpi` and, where no buffer is
 * passed, mpi_f08, whose `ierror` may be absent and is NULL then. Lengths of CHARACTER
 * arguments follow behind all others, as size_t.
 */
#ifndef WEFT_FORTRAN_H
#define WEFT_FORTRAN_H

#include "texts.h"

#include <mpi.h>

#include <ISO_Fortran_binding.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define WEFT_TEXT_OF(x) #x
#define WEFT_TEXT(x)    WEFT_TEXT_OF(x)

#ifdef WEFT_PROFILING
#define NAME(x)     pmpi_##x##_
#define CALL(X)     PMPI_##X
#define WEFT_EXPORT __attribute__((visibility("default")))
#else
#define NAME(x)     mpi_##x##_
#define CALL(X)     MPI_##X
#define WEFT_EXPORT __attribute__((visibility("default"), weak))
#endif

/* The head of a body: declares the procedure and begins its definition. */
#define PROCEDURE(name, ...)                                                             \
    WEFT_EXPORT void NAME(name)(__VA_ARGS__);                                            \
    void NAME(name)(__VA_ARGS__)

/* The same body under a second name of the same file. */
#define ALSO(name, of)                                                                   \
    extern __typeof(NAME(of)) NAME(name) WEFT_EXPORT                                     \
        __attribute__((alias(WEFT_TEXT(NAME(of)))))

/* Handles below 4096 are predefined and equal in C and Fortran. */
#define WEFT_HANDLE(type, function, name)                                                \
    static inline type weft_##name##_in(int handle)                                      \
    {                                                                                    \
        return handle > 0 && handle < 4096 ? (type)(uintptr_t)handle                     \
                                           : PMPI_##function##_fromint(handle);          \
    }                                                                                    \
    static inline int weft_##name##_out(type handle)                                     \
    {                                                                                    \
        return (uintptr_t)handle < 4096 ? (int)(uintptr_t)handle                         \
                                        : PMPI_##function##_toint(handle);               \
    }

WEFT_HANDLE(MPI_Comm, Comm, comm)
WEFT_HANDLE(MPI_Errhandler, Errhandler, errhandler)
WEFT_HANDLE(MPI_File, File, file)
WEFT_HANDLE(MPI_Group, Group, group)
WEFT_HANDLE(MPI_Info, Info, info)
WEFT_HANDLE(MPI_Message, Message, message)
WEFT_HANDLE(MPI_Op, Op, op)
WEFT_HANDLE(MPI_Request, Request, request)
WEFT_HANDLE(MPI_Session, Session, session)
WEFT_HANDLE(MPI_Datatype, Type, plain_datatype)
WEFT_HANDLE(MPI_Win, Win, win)

/* register.c: tells the C library of Fortran's types, once, as soon as it can. */
void weft_fortran_register(void);
int weft_logical_in(int logical);
int weft_logical_out(int flag);
void weft_logicals_out(int *flags, int count);         /* in place */
int *weft_logicals_in(const int *logicals, int count); /* malloc'ed */

static inline MPI_Datatype weft_datatype_in(int handle)
{
    weft_fortran_register();
    return weft_plain_datatype_in(handle);
}

static inline int weft_datatype_out(MPI_Datatype handle)
{
    return weft_plain_datatype_out(handle);
}

static inline void weft_end(int *ierror, int err)
{
    if (ierror != NULL) {
        *ierror = err;
    }
}

/* sentinels.c: addresses that stand for a constant of C become that constant. */
void *weft_buffer(const void *address); /* MPI_BOTTOM, IN_PLACE, BUFFER_AUTOMATIC */
MPI_Status *weft_status(int *status);
MPI_Status *weft_statuses(int *statuses);
int *weft_weights(const int *weights);
int *weft_errcodes(int *errcodes);
bool weft_is_argv_null(const void *argv);
bool weft_is_argvs_null(const void *argvs);

/* strings.c: `in` gives a malloc'ed text without the blanks at its end, or NULL without
 * memory; `out` cuts or pads with blanks. */
char *weft_string_in(const char *text, size_t length);
char *weft_word_in(const char *text, size_t length); /* no blanks before it, either */
void weft_string_out(char *text, size_t length, const char *from);

/* errors.c: errors that this library itself finds. They name the call of the program, and
 * run the error handler of the object that the standard names for it. */
enum weft_object {
    WEFT_ON_NOTHING, /* MPI_COMM_SELF has the error handler */
    WEFT_ON_COMM,
    WEFT_ON_FILE,
    WEFT_ON_SESSION,
    WEFT_ON_WIN,
};

struct weft_call {
    const char *name; /* the function of C, with static storage */
    enum weft_object kind;
    int handle; /* of the object; meaningless with WEFT_ON_NOTHING */
};

/* A call without an object that has an error handler. */
#define WEFT_CALL(name) ((struct weft_call){name, WEFT_ON_NOTHING, 0})

/* Raises an error of the call. The arguments behind it are one entry of the catalogue
 * (texts.h), as in weft_refuse(call, WEFT_F_SECTION_SHORT). Returns the error code, which
 * MPI_Error_class turns into the class of the entry. */
int weft_refuse(struct weft_call call, int class, const char *text, const char *cure);

/* Raises an error if there was no memory for a copy of an argument. */
static inline int weft_need(struct weft_call call, const void *copy)
{
    return copy != NULL ? MPI_SUCCESS : weft_refuse(call, WEFT_F_NO_MEM_ARGUMENT);
}

/* subarray.c: an array section as a buffer with count and datatype. */
struct weft_subarray {
    void *address;
    MPI_Count count;
    MPI_Datatype type;
    MPI_Datatype made; /* MPI_DATATYPE_NULL: the array is contiguous */
};

bool weft_is_contiguous(const CFI_cdesc_t *array);

/* Of a contiguous array, or a constant, address, count and datatype stay as they are.
 * Otherwise a datatype is made for the first `count` items of `type`, as if the section
 * had been copied together. With `partitions`, the items are those of one of them: it
 * gets a datatype, whose extent is the step to the next, and the count 1; a section whose
 * partitions do not lie at equal steps is refused. 0: the buffer is not partitioned.
 * Returns an error code after raising it as an error of `call`. */
int weft_subarray_open(struct weft_call call, struct weft_subarray *sub,
                       const CFI_cdesc_t *array, MPI_Count count, MPI_Datatype type,
                       int partitions);
void weft_subarray_close(struct weft_subarray *sub);

/* keep.c: what has to live until a call, or the operation it starts, is done: contiguous
 * copies of array sections, which are copied back, and arrays of C handles. */
enum { WEFT_KEPT_MAX = 3 };

struct weft_kept_section {
    char *copy;
    char *before; /* the copy as it was made; NULL: nothing is copied back */
    char *base;
    size_t bytes; /* of the copy */
    size_t element;
    int rank;
    struct {
        CFI_index_t extent;
        CFI_index_t step;
    } dim[CFI_MAX_RANK];
};

struct weft_kept {
    bool is_incomplete; /* there was no memory for one of the items */
    int sections;
    int memories;
    struct weft_kept_section *section[WEFT_KEPT_MAX];
    void *memory[WEFT_KEPT_MAX];
};

void *weft_keep_section(struct weft_kept *kept, const CFI_cdesc_t *array, bool is_output);
MPI_Datatype *weft_keep_datatypes(struct weft_kept *kept, const int *handles, int count);

/* Raises an error of `call` if an item could not be kept. */
static inline int weft_kept_check(struct weft_call call, const struct weft_kept *kept)
{
    return kept->is_incomplete ? weft_refuse(call, WEFT_F_NO_MEM_SECTION) : MPI_SUCCESS;
}

/* Copies back if `is_done`, and frees all. */
void weft_kept_release(struct weft_kept *kept, bool is_done);

/* Hands `kept` to a request: released when it is complete, or freed if persistent. */
void weft_kept_until(struct weft_kept *kept, int request, bool is_persistent);

/* The request with this number begins again, or is freed. */
bool weft_is_any_kept(void);
void weft_kept_start(int request);
void weft_kept_free(int request);

/* Asked before a request is completed, since its number may be used again by another
 * thread right after that: what is kept for it, 0 for nothing. Both functions behind it
 * copy the results back if that has not been done yet: weft_kept_look() for a request
 * that is complete but stays, weft_kept_complete() for one that is gone or inactive. */
unsigned long weft_kept_of(int request);
void weft_kept_look(unsigned long kept);
void weft_kept_complete(unsigned long kept);

/* Numbers of processes that an argument of alltoallw has an item for. */
int weft_dims(MPI_Comm comm); /* of a grid */
int weft_peers(MPI_Comm comm);
int weft_sources(MPI_Comm comm);
int weft_destinations(MPI_Comm comm);

/* trampolines.c: a C function that calls a Fortran procedure; NULL: none is left. */
typedef void weft_procedure(void);

enum weft_trampoline {
    WEFT_OF_OP,
    WEFT_OF_OP_LARGE,
    WEFT_OF_COMM,
    WEFT_OF_FILE,
    WEFT_OF_SESSION,
    WEFT_OF_WIN,
    WEFT_TRAMPOLINE_KINDS,
};

weft_procedure *weft_trampoline_take(enum weft_trampoline kind, weft_procedure *fortran);
/* Ties the C function to the object that was made with it; with `object` -1, gives it
 * back. */
void weft_trampoline_tie(enum weft_trampoline kind, weft_procedure *function, int object);
void weft_trampoline_free_op(int op);
void weft_trampoline_free_errhandler(int errhandler);

/* cells.c: attribute values that Fortran has set; C gets their address. */
MPI_Aint *weft_cell_make(MPI_Aint value);
bool weft_cell_read(const void *address, MPI_Aint *value); /* false: not one of ours */
void weft_cell_free(void *address);

#endif
