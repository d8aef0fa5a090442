/*
 * polls.h - which calls only look whether something has happened, as MPI_Test does. A
 * program may call them again and again while nothing happens.
 */
#ifndef WEFT_WIREUP_POLLS_H
#define WEFT_WIREUP_POLLS_H

#include "wireup/trace.h"

static inline bool weft_call_is_poll(unsigned call)
{
    switch ((enum weft_call_number)call) {
    case WEFT_CALL_Test:
    case WEFT_CALL_Testany:
    case WEFT_CALL_Testall:
    case WEFT_CALL_Testsome:
    case WEFT_CALL_Iprobe:
    case WEFT_CALL_Improbe:
    case WEFT_CALL_Parrived:
    case WEFT_CALL_Request_get_status:
    case WEFT_CALL_Request_get_status_any:
    case WEFT_CALL_Request_get_status_all:
    case WEFT_CALL_Request_get_status_some:
    case WEFT_CALL_Win_test:
        return true;
    default:
        return false;
    }
}

#endif
