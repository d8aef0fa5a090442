#include "datatype/attribute.h"

static struct weft_attributes predefined[WEFT_DATATYPE_COUNT];

struct weft_attributes *weft_datatype_attributes(struct weft_datatype *type)
{
    return type->contents == NULL ? &predefined[type - weft_datatypes]
                                  : &type->attributes;
}

void weft_datatype_attributes_close(void)
{
    for (int i = 0; i < WEFT_DATATYPE_COUNT; i++) {
        weft_attributes_forget(&predefined[i]);
    }
}
