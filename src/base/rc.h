/*
 * rc.h - what functions of the library return.
 *
 * WEFT_AGAIN means that nothing was taken and the call may be repeated after a poll;
 * WEFT_PENDING that a buffer is in use and comes back through an upcall. The rest are
 * failures: whoever first sees one logs it, once. They become MPI error classes in
 * bindings/ and nowhere else.
 */
#ifndef WEFT_BASE_RC_H
#define WEFT_BASE_RC_H

enum weft_rc {
    WEFT_OK = 0,
    WEFT_AGAIN,
    WEFT_PENDING,
    WEFT_ERR_NOMEM,       /* memory or another resource is used up */
    WEFT_ERR_ARGUMENT,    /* a value that makes no sense */
    WEFT_ERR_LAUNCH,      /* the launcher is unreachable or answered nonsense */
    WEFT_ERR_SYSTEM,      /* a system call failed */
    WEFT_ERR_UNSUPPORTED, /* not offered here */
    WEFT_ERR_TRUNCATE,    /* a message was longer than its buffer */
    WEFT_ERR_UNREACHABLE, /* no transport leads to that rank */
    WEFT_ERR_CHECKSUM,    /* what arrived is not what was sent */
    WEFT_ERR_BUFFER,      /* no room in the buffer that the user attached */
    WEFT_ERR_PROC_FAILED, /* the other process has ended, or cannot be reached any more */
    WEFT_ERR_ADDRESS,     /* the user's memory cannot be read, or written */
    WEFT_ERR_DISAGREE,    /* members of a communicator make calls that do not fit */
};

#define WEFT_MUST_CHECK __attribute__((warn_unused_result))
#define WEFT_COLD       __attribute__((cold, noinline))
/* Of data: it is in this library, so that files that are compiled without link-time
 * optimisation need no instruction to find it. */
#define WEFT_OURS         __attribute__((visibility("hidden")))
#define WEFT_PRINTF(f, a) __attribute__((format(printf, f, a)))

#define weft_likely(x)   __builtin_expect(!!(x), 1)
#define weft_unlikely(x) __builtin_expect(!!(x), 0)

#endif
