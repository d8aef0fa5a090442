/*
 * texts.h - the catalogue of errors that the Fortran library itself raises.
 *
 * Each entry is the class, the text and the cure that weft_refuse() takes (fortran.h). A
 * text has no values of the program in it: every pair of call and text becomes one error
 * code, so that the number of codes is bounded. docs/errors.md lists the entries for
 * users; tests/house/texts.py compares the two.
 */
#ifndef WEFT_FORTRAN_TEXTS_H
#define WEFT_FORTRAN_TEXTS_H

/* ---- array sections ---- */

#define WEFT_F_SECTION_GAPS                                                              \
    MPI_ERR_TYPE,                                                                        \
        "the buffer is an array section, and the datatype has gaps and another extent "  \
        "than an element of the array",                                                  \
        "pass a contiguous array, or give the datatype of the elements"
#define WEFT_F_SECTION_PIECE                                                             \
    MPI_ERR_TYPE,                                                                        \
        "the buffer is an array section, and its last element would be sent or "         \
        "received in part",                                                              \
        "pass a contiguous array, or give a count that is a whole number of elements"
#define WEFT_F_SECTION_SHORT                                                             \
    MPI_ERR_COUNT,                                                                       \
        "the array section has fewer elements than the count and the "                   \
        "datatype say",                                                                  \
        "give the number of its elements, not that of the whole array"
#define WEFT_F_SECTION_PARTITIONS                                                        \
    MPI_ERR_COUNT, "the array section has fewer elements than all partitions together",  \
        "the count is that of one partition"
#define WEFT_F_SECTION_STEPS                                                             \
    MPI_ERR_BUFFER,                                                                      \
        "the partitions of an array section do not lie at equal steps in memory",        \
        "pass a contiguous array, or choose partitions that end where a dimension of "   \
        "the section does"

/* ---- memory and tables ---- */

#define WEFT_F_NO_MEM_SECTION                                                            \
    MPI_ERR_NO_MEM,                                                                      \
        "no memory for a copy of an array section, or for an array of "                  \
        "datatypes",                                                                     \
        "pass contiguous arrays, start fewer ranks on this host, or raise the limit "    \
        "(ulimit -v, the job's memory)"
#define WEFT_F_NO_MEM_ARGUMENT                                                           \
    MPI_ERR_NO_MEM, "no memory for a copy of an argument",                               \
        "start fewer ranks on this host, or raise the limit (ulimit -v, the job's "      \
        "memory)"
#define WEFT_F_PROCEDURES                                                                \
    MPI_ERR_NO_MEM, "64 Fortran procedures of this kind are in use, which is the limit", \
        "free operations or error handlers that are no longer needed"

/* ---- compilers ---- */

#define WEFT_F_BOOLEANS                                                                  \
    MPI_ERR_ABI,                                                                         \
        "another Fortran library has set other values of LOGICAL in this program",       \
        "use the libmpifort_abi of one compiler only"

#endif
