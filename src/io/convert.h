/*
 * convert.h - data between memory and the representation of a file.
 *
 * Functions of the user are called on the caller's thread, which does not have the
 * library's lock. What fails is returned as a fault.
 */
#ifndef WEFT_IO_CONVERT_H
#define WEFT_IO_CONVERT_H

#include "io/call.h"
#include "io/representation.h"

/* The bytes that `count` elements of a type take in the data of a view. */
WEFT_MUST_CHECK int weft_convert_bytes(const struct weft_view *view,
                                       const struct weft_datatype *type, MPI_Count count,
                                       uint64_t *bytes);

/* Fills in `in_file`, with a reference of the caller's, and `etype_bytes` of a view. */
WEFT_MUST_CHECK int weft_convert_view(struct weft_view *view);

/* The extent of a type in a file. */
WEFT_MUST_CHECK int weft_convert_extent(const struct weft_representation *representation,
                                        struct weft_datatype *type, MPI_Count *extent);

/* Must the data of a call be converted? By a function of the user? */
bool weft_convert_is_needed(const struct weft_file_call *call);
bool weft_convert_is_by_user(const struct weft_file_call *call);

/* Converts what is written to the call's staging memory; and what was read, `bytes` of
 * the file, from it. *done is how many bytes of the user's data that are. Of a derived
 * element that is not whole, external32 has its basic elements that are; a function of
 * the user is asked for whole elements only. */
WEFT_MUST_CHECK int weft_convert_out(struct weft_file_call *call);
WEFT_MUST_CHECK int weft_convert_in(const struct weft_file_call *call, uint64_t bytes,
                                    uint64_t *done);

#endif
