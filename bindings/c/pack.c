/*
 * pack.c - MPI-5.0 chapter 5: packing and unpacking, as messages do it and in the
 * portable representation. What MPI_Pack writes has no header: it is the data, dense.
 */
#include "binding.h"

#include "check/datatype.h"
#include "check/p2p.h"
#include "datatype/cursor.h"
#include "datatype/external.h"
#include "wireup/recorder.h"

#include <limits.h>
#include <string.h>

/* One call of any of them; positions are widened and narrowed around it. */
struct packing {
    const char *function;
    struct weft_comm *comm; /* NULL: in the portable form */
    const void *packed;
    MPI_Count room;
    MPI_Count *position;
    const void *buffer;
    MPI_Count count;
    MPI_Datatype datatype;
};

static int check_datarep(const char *function, const char *datarep)
{
    int err = weft_check_out(function, NULL, datarep, "datarep");

    if (err == MPI_SUCCESS && strcmp(datarep, "external32") != 0) {
        err = weft_raise(function, WEFT_E_PACK_DATAREP, datarep);
    }
    return err == MPI_SUCCESS ? weft_check_open(function) : err;
}

/* Checks everything, and gives type and size. */
static int check_packing(const struct packing *p, const struct weft_datatype **type,
                         size_t *bytes)
{
    int err =
        weft_check_buffer(p->function, p->comm, p->buffer, p->count, p->datatype, bytes);

    if (err != MPI_SUCCESS) {
        return err;
    }
    *type = weft_datatype_from_handle(p->datatype);
    if (p->comm == NULL &&
        __builtin_mul_overflow((size_t)p->count, weft_external_size(*type), bytes)) {
        return weft_bad_buffer(p->function, NULL, p->buffer, p->count, p->datatype);
    }
    if (*p->position < 0 || p->room < *p->position ||
        *bytes > (size_t)(p->room - *p->position)) {
        return weft_raise_comm(p->comm, p->function, WEFT_E_PACK_NO_ROOM, *bytes,
                               (long long)*p->position, (long long)p->room);
    }
    return *bytes == 0 ? MPI_SUCCESS
                       : weft_check_out(p->function, p->comm, p->packed, "packed buffer");
}

static int pack_checked(const struct packing *p)
{
    const struct weft_datatype *type;
    size_t bytes = 0;
    int err = check_packing(p, &type, &bytes);

    weft_recorder_count();
    if (err != MPI_SUCCESS || bytes == 0) {
        return err;
    }
    if (p->comm == NULL) {
        weft_external_pack(type, p->buffer, (uint64_t)p->count,
                           (char *)(uintptr_t)p->packed + *p->position);
    } else {
        struct weft_cursor cursor;

        weft_cursor_init(&cursor, &type->layout, type->extent, (uint64_t)p->count,
                         p->buffer);
        weft_cursor_pack(&cursor, (char *)(uintptr_t)p->packed + *p->position, bytes);
    }
    *p->position += (MPI_Count)bytes;
    return MPI_SUCCESS;
}

static int unpack_checked(const struct packing *p)
{
    const struct weft_datatype *type;
    size_t bytes = 0;
    int err = check_packing(p, &type, &bytes);

    weft_recorder_count();
    if (err != MPI_SUCCESS || bytes == 0) {
        return err;
    }
    if (p->comm == NULL) {
        weft_external_unpack(type, (void *)(uintptr_t)p->buffer, (uint64_t)p->count,
                             (const char *)p->packed + *p->position);
    } else {
        struct weft_cursor cursor;

        weft_cursor_init(&cursor, &type->layout, type->extent, (uint64_t)p->count,
                         p->buffer);
        weft_cursor_unpack(&cursor, (const char *)p->packed + *p->position, bytes);
    }
    *p->position += (MPI_Count)bytes;
    return MPI_SUCCESS;
}

int PMPI_Pack(const void *inbuf, int incount, MPI_Datatype datatype, void *outbuf,
              int outsize, int *position, MPI_Comm comm)
{
    struct weft_comm *c;
    MPI_Count at = 0;
    int err = weft_check_comm("MPI_Pack", comm, &c);

    if (err == MPI_SUCCESS) {
        err = weft_check_out("MPI_Pack", c, position, "position");
    }
    if (err != MPI_SUCCESS) {
        return err;
    }
    at = *position;
    err = pack_checked(
        &(struct packing){"MPI_Pack", c, outbuf, outsize, &at, inbuf, incount, datatype});
    *position = (int)at;
    return err;
}
WEFT_WEAK_ALIAS(MPI_Pack, PMPI_Pack);

int PMPI_Pack_c(const void *inbuf, MPI_Count incount, MPI_Datatype datatype, void *outbuf,
                MPI_Count outsize, MPI_Count *position, MPI_Comm comm)
{
    struct weft_comm *c;
    MPI_Count at = 0;
    int err = weft_check_comm("MPI_Pack_c", comm, &c);

    if (err == MPI_SUCCESS) {
        err = weft_check_out("MPI_Pack_c", c, position, "position");
    }
    if (err != MPI_SUCCESS) {
        return err;
    }
    at = *position;
    err = pack_checked(&(struct packing){"MPI_Pack_c", c, outbuf, outsize, &at, inbuf,
                                         incount, datatype});
    *position = at;
    return err;
}
WEFT_WEAK_ALIAS(MPI_Pack_c, PMPI_Pack_c);

int PMPI_Unpack(const void *inbuf, int insize, int *position, void *outbuf, int outcount,
                MPI_Datatype datatype, MPI_Comm comm)
{
    struct weft_comm *c;
    MPI_Count at = 0;
    int err = weft_check_comm("MPI_Unpack", comm, &c);

    if (err == MPI_SUCCESS) {
        err = weft_check_out("MPI_Unpack", c, position, "position");
    }
    if (err != MPI_SUCCESS) {
        return err;
    }
    at = *position;
    err = unpack_checked(&(struct packing){"MPI_Unpack", c, inbuf, insize, &at, outbuf,
                                           outcount, datatype});
    *position = (int)at;
    return err;
}
WEFT_WEAK_ALIAS(MPI_Unpack, PMPI_Unpack);

int PMPI_Unpack_c(const void *inbuf, MPI_Count insize, MPI_Count *position, void *outbuf,
                  MPI_Count outcount, MPI_Datatype datatype, MPI_Comm comm)
{
    struct weft_comm *c;
    MPI_Count at = 0;
    int err = weft_check_comm("MPI_Unpack_c", comm, &c);

    if (err == MPI_SUCCESS) {
        err = weft_check_out("MPI_Unpack_c", c, position, "position");
    }
    if (err != MPI_SUCCESS) {
        return err;
    }
    at = *position;
    err = unpack_checked(&(struct packing){"MPI_Unpack_c", c, inbuf, insize, &at, outbuf,
                                           outcount, datatype});
    *position = at;
    return err;
}
WEFT_WEAK_ALIAS(MPI_Unpack_c, PMPI_Unpack_c);

int PMPI_Pack_external(const char *datarep, const void *inbuf, int incount,
                       MPI_Datatype datatype, void *outbuf, MPI_Aint outsize,
                       MPI_Aint *position)
{
    MPI_Count at = 0;
    int err = check_datarep("MPI_Pack_external", datarep);

    if (err == MPI_SUCCESS) {
        err = weft_check_out("MPI_Pack_external", NULL, position, "position");
    }
    if (err != MPI_SUCCESS) {
        return err;
    }
    at = *position;
    err = pack_checked(&(struct packing){"MPI_Pack_external", NULL, outbuf, outsize, &at,
                                         inbuf, incount, datatype});
    *position = (MPI_Aint)at;
    return err;
}
WEFT_WEAK_ALIAS(MPI_Pack_external, PMPI_Pack_external);

int PMPI_Pack_external_c(const char *datarep, const void *inbuf, MPI_Count incount,
                         MPI_Datatype datatype, void *outbuf, MPI_Count outsize,
                         MPI_Count *position)
{
    MPI_Count at = 0;
    int err = check_datarep("MPI_Pack_external_c", datarep);

    if (err == MPI_SUCCESS) {
        err = weft_check_out("MPI_Pack_external_c", NULL, position, "position");
    }
    if (err != MPI_SUCCESS) {
        return err;
    }
    at = *position;
    err = pack_checked(&(struct packing){"MPI_Pack_external_c", NULL, outbuf, outsize,
                                         &at, inbuf, incount, datatype});
    *position = at;
    return err;
}
WEFT_WEAK_ALIAS(MPI_Pack_external_c, PMPI_Pack_external_c);

int PMPI_Unpack_external(const char datarep[], const void *inbuf, MPI_Aint insize,
                         MPI_Aint *position, void *outbuf, int outcount,
                         MPI_Datatype datatype)
{
    MPI_Count at = 0;
    int err = check_datarep("MPI_Unpack_external", datarep);

    if (err == MPI_SUCCESS) {
        err = weft_check_out("MPI_Unpack_external", NULL, position, "position");
    }
    if (err != MPI_SUCCESS) {
        return err;
    }
    at = *position;
    err = unpack_checked(&(struct packing){"MPI_Unpack_external", NULL, inbuf, insize,
                                           &at, outbuf, outcount, datatype});
    *position = (MPI_Aint)at;
    return err;
}
WEFT_WEAK_ALIAS(MPI_Unpack_external, PMPI_Unpack_external);

int PMPI_Unpack_external_c(const char datarep[], const void *inbuf, MPI_Count insize,
                           MPI_Count *position, void *outbuf, MPI_Count outcount,
                           MPI_Datatype datatype)
{
    MPI_Count at = 0;
    int err = check_datarep("MPI_Unpack_external_c", datarep);

    if (err == MPI_SUCCESS) {
        err = weft_check_out("MPI_Unpack_external_c", NULL, position, "position");
    }
    if (err != MPI_SUCCESS) {
        return err;
    }
    at = *position;
    err = unpack_checked(&(struct packing){"MPI_Unpack_external_c", NULL, inbuf, insize,
                                           &at, outbuf, outcount, datatype});
    *position = at;
    return err;
}
WEFT_WEAK_ALIAS(MPI_Unpack_external_c, PMPI_Unpack_external_c);

/* A message that can be packed so large is at most this; dense, so exactly this. */
static int pack_size_checked(const char *function, struct weft_comm *comm,
                             MPI_Count count, MPI_Datatype datatype, bool is_external,
                             MPI_Count *size)
{
    const struct weft_datatype *type = weft_datatype_from_handle(datatype);

    if (type == NULL) {
        return weft_bad_type(function, comm, datatype);
    }
    if (count < 0 ||
        __builtin_mul_overflow(
            (uint64_t)count, is_external ? weft_external_size(type) : type->size, size)) {
        return weft_raise_comm(comm, function, WEFT_E_COUNT, (long long)count);
    }
    return MPI_SUCCESS;
}

int PMPI_Pack_size(int incount, MPI_Datatype datatype, MPI_Comm comm, int *size)
{
    struct weft_comm *c;
    MPI_Count wide = 0;
    int err = weft_check_comm("MPI_Pack_size", comm, &c);

    if (err == MPI_SUCCESS) {
        err = weft_check_out("MPI_Pack_size", c, size, "size");
    }
    if (err == MPI_SUCCESS) {
        err = pack_size_checked("MPI_Pack_size", c, incount, datatype, false, &wide);
    }
    if (err == MPI_SUCCESS) {
        *size = wide > INT_MAX ? MPI_UNDEFINED : (int)wide;
    }
    return err;
}
WEFT_WEAK_ALIAS(MPI_Pack_size, PMPI_Pack_size);

int PMPI_Pack_size_c(MPI_Count incount, MPI_Datatype datatype, MPI_Comm comm,
                     MPI_Count *size)
{
    struct weft_comm *c;
    int err = weft_check_comm("MPI_Pack_size_c", comm, &c);

    if (err == MPI_SUCCESS) {
        err = weft_check_out("MPI_Pack_size_c", c, size, "size");
    }
    return err != MPI_SUCCESS
               ? err
               : pack_size_checked("MPI_Pack_size_c", c, incount, datatype, false, size);
}
WEFT_WEAK_ALIAS(MPI_Pack_size_c, PMPI_Pack_size_c);

int PMPI_Pack_external_size(const char *datarep, int incount, MPI_Datatype datatype,
                            MPI_Aint *size)
{
    static const char name[] = "MPI_Pack_external_size";
    MPI_Count wide = 0;
    int err = check_datarep(name, datarep);

    if (err == MPI_SUCCESS) {
        err = weft_check_out(name, NULL, size, "size");
    }
    if (err == MPI_SUCCESS) {
        err = pack_size_checked(name, NULL, incount, datatype, true, &wide);
    }
    if (err == MPI_SUCCESS) {
        *size = (MPI_Aint)wide;
    }
    return err;
}
WEFT_WEAK_ALIAS(MPI_Pack_external_size, PMPI_Pack_external_size);

int PMPI_Pack_external_size_c(const char *datarep, MPI_Count incount,
                              MPI_Datatype datatype, MPI_Count *size)
{
    static const char name[] = "MPI_Pack_external_size_c";
    int err = check_datarep(name, datarep);

    if (err == MPI_SUCCESS) {
        err = weft_check_out(name, NULL, size, "size");
    }
    return err != MPI_SUCCESS
               ? err
               : pack_size_checked(name, NULL, incount, datatype, true, size);
}
WEFT_WEAK_ALIAS(MPI_Pack_external_size_c, PMPI_Pack_external_size_c);
