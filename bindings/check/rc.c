#include "check/rc.h"

#include <stddef.h>

/* What a return code means to the user. No default: a new code is a warning here. */
struct meaning {
    int class;
    const char *text;
};

static struct meaning meaning_of(enum weft_rc rc)
{
    switch (rc) {
    case WEFT_OK:
        return (struct meaning){MPI_SUCCESS, "no error"};
    case WEFT_AGAIN:
    case WEFT_PENDING:
        break; /* between rooms only */
    case WEFT_ERR_NOMEM:
        return (struct meaning){MPI_ERR_NO_MEM, "memory is used up"};
    case WEFT_ERR_ARGUMENT:
        return (struct meaning){MPI_ERR_ARG, "a value makes no sense"};
    case WEFT_ERR_LAUNCH:
        return (struct meaning){MPI_ERR_OTHER, "the launcher cannot be reached"};
    case WEFT_ERR_SYSTEM:
        return (struct meaning){MPI_ERR_OTHER, "a system call failed"};
    case WEFT_ERR_UNSUPPORTED:
        return (struct meaning){MPI_ERR_UNSUPPORTED_OPERATION, "not offered here"};
    case WEFT_ERR_TRUNCATE:
        return (struct meaning){MPI_ERR_TRUNCATE, "a message was longer than its buffer"};
    case WEFT_ERR_UNREACHABLE:
        return (struct meaning){MPI_ERR_OTHER, "no transport leads to that rank"};
    case WEFT_ERR_CHECKSUM:
        return (struct meaning){MPI_ERR_OTHER, "what arrived is not what was sent"};
    case WEFT_ERR_BUFFER:
        return (struct meaning){MPI_ERR_BUFFER, "no room in the attached buffer"};
    }
    return (struct meaning){MPI_ERR_INTERN, "a return code that is not for users"};
}

int weft_class_of(enum weft_rc rc)
{
    return meaning_of(rc).class;
}

int weft_raise_rc(struct weft_comm *comm, enum weft_rc rc, const char *function)
{
    if (weft_likely(rc == WEFT_OK)) {
        return MPI_SUCCESS;
    }
    return weft_raise_comm(comm, weft_class_of(rc), function, "%s", meaning_of(rc).text);
}
