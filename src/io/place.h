/*
 * place.h - where a call begins: at an offset, or at a file pointer, which moves on.
 */
#ifndef WEFT_IO_PLACE_H
#define WEFT_IO_PLACE_H

#include "io/call.h"

enum weft_file_pointer {
    WEFT_FILE_EXPLICIT,
    WEFT_FILE_INDIVIDUAL,
    WEFT_FILE_SHARED,
    WEFT_FILE_ORDERED, /* the shared one, in the order of ranks: a call of all members */
};

/*
 * Takes the lock. Fills in the call's view and position; the view is kept until
 * weft_move_release(). What fails is in call->fault. A pointer moves on by all that the
 * call asks for. `offset` is in etypes, of WEFT_FILE_EXPLICIT only.
 */
void weft_call_begin_at(struct weft_file_call *call, enum weft_file_pointer which,
                        uint64_t offset);

#endif
