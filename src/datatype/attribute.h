/*
 * attribute.h - where the attributes of a datatype are.
 *
 * A derived one carries them itself; MPI_Type_free deletes them. Those of the ABI's
 * predefined datatypes are kept beside them, in a table that is touched when somebody
 * sets one. They are never freed, so their attributes last until MPI_Finalize, which runs
 * no callbacks for them.
 */
#ifndef WEFT_DATATYPE_ATTRIBUTE_H
#define WEFT_DATATYPE_ATTRIBUTE_H

#include "core/attribute.h"
#include "datatype/datatype.h"

struct weft_attributes *weft_datatype_attributes(struct weft_datatype *type);

/* Forgets those of predefined datatypes: the library closes. */
void weft_datatype_attributes_close(void);

#endif
