/*
 * binding.h - what every file in bindings/c includes first.
 *
 * The library is compiled with hidden symbols; the functions that mpi.h declares are the
 * exception. PMPI_X is the body, MPI_X a weak alias of it that a profiling tool can
 * replace. The library itself never calls either.
 */
#ifndef WEFT_BINDING_H
#define WEFT_BINDING_H

#pragma GCC visibility push(default)
#include "mpi.h"
#pragma GCC visibility pop

#include "check/check.h"
#include "check/record.h"

#define WEFT_WEAK_ALIAS(alias_name, target)                                              \
    extern __typeof__(target) alias_name __attribute__((weak, alias(#target)))

#endif
