/*
 * attribute.h - finds the attributes of a datatype.
 *
 * A derived datatype holds its attributes itself, and MPI_Type_free deletes them. The
 * attributes of the ABI's predefined datatypes are in a table, which takes memory when
 * the first one is set. Predefined datatypes are never freed: their attributes last until
 * MPI_Finalize, which runs no callbacks for them. All functions need the library's lock.
 */
#ifndef WEFT_DATATYPE_ATTRIBUTE_H
#define WEFT_DATATYPE_ATTRIBUTE_H

#include "core/attribute.h"
#include "datatype/datatype.h"

/* Never NULL; the attributes belong to the type. */
struct weft_attributes *weft_datatype_attributes(struct weft_datatype *type);

/* Discards the attributes of predefined datatypes when the library closes. */
void weft_datatype_attributes_close(void);

#endif
