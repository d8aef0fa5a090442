/* unit.h - cmocka and what it wants included before it. */
#ifndef WEFT_TEST_UNIT_H
#define WEFT_TEST_UNIT_H

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

#endif
