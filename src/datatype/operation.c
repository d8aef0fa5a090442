#include "datatype/operation.h"

#include "datatype/reduce.h"
#include "engine/lock.h"

#include <assert.h>
#include <limits.h>

#define INDEX(op)    ((uintptr_t)(op) - (uintptr_t)MPI_OP_NULL)
#define COMMUTES(op) [INDEX(op)] = {.handle = op, .commutes = true}

enum { COUNT = INDEX(MPI_NO_OP) + 1 };

static struct weft_operation predefined[COUNT] = {
    COMMUTES(MPI_SUM),
    COMMUTES(MPI_MIN),
    COMMUTES(MPI_MAX),
    COMMUTES(MPI_PROD),
    COMMUTES(MPI_BAND),
    COMMUTES(MPI_BOR),
    COMMUTES(MPI_BXOR),
    COMMUTES(MPI_LAND),
    COMMUTES(MPI_LOR),
    COMMUTES(MPI_LXOR),
    COMMUTES(MPI_MINLOC),
    COMMUTES(MPI_MAXLOC),
    [INDEX(MPI_REPLACE)] = {.handle = MPI_REPLACE},
    [INDEX(MPI_NO_OP)] = {.handle = MPI_NO_OP},
};

static struct weft_pool pool;

struct weft_operation *weft_operation_from_handle(MPI_Op handle)
{
    const uintptr_t at = INDEX(handle);
    struct weft_operation *op;

    if (weft_likely(at < COUNT)) {
        return predefined[at].handle != NULL ? &predefined[at] : NULL;
    }
    op = weft_handle_find(WEFT_KIND_OP, (uintptr_t)handle);
    return op != NULL && !op->is_freed ? op : NULL;
}

bool weft_operation_is_defined(const struct weft_operation *op,
                               const struct weft_datatype *type)
{
    return weft_operation_is_user(op) || weft_reduce_is_defined(op->handle, type);
}

enum weft_rc weft_operation_new(MPI_User_function *function,
                                MPI_User_function_c *function_c, bool commutes,
                                struct weft_operation **out)
{
    void *object;
    uintptr_t handle;
    enum weft_rc rc;

    weft_assert_locked();
    assert((function != NULL) != (function_c != NULL));
    if (pool.first == 0) {
        weft_pool_init(&pool, sizeof(struct weft_operation), 8,
                       1u << WEFT_HANDLE_INDEX_BITS);
        weft_handle_register(WEFT_KIND_OP, &pool);
    }
    rc = weft_handle_take(WEFT_KIND_OP, &object, &handle);
    if (rc == WEFT_OK) {
        *out = object;
        **out = (struct weft_operation){
            .handle = (MPI_Op)handle,
            .function = function,
            .function_c = function_c,
            .commutes = commutes,
            .references = 1,
        };
    }
    return rc;
}

void weft_operation_keep(struct weft_operation *op)
{
    weft_assert_locked();
    if (weft_operation_is_user(op)) {
        assert(op->references > 0);
        op->references++;
    }
}

void weft_operation_release(struct weft_operation *op)
{
    weft_assert_locked();
    if (weft_operation_is_user(op)) {
        assert(op->references > 0);
        if (--op->references == 0) {
            weft_handle_give(WEFT_KIND_OP, (uintptr_t)op->handle);
        }
    }
}

void weft_operation_free(struct weft_operation *op)
{
    weft_assert_locked();
    assert(weft_operation_is_user(op) && !op->is_freed);
    op->is_freed = true;
    weft_operation_release(op);
}

/* A function without a large count is called as often as it takes. */
static void call(const struct weft_operation *op, struct weft_datatype *type,
                 const char *in, char *inout, uint64_t count)
{
    MPI_Datatype handle = type->handle;

    while (count > 0) {
        const int some = count < INT_MAX ? (int)count : INT_MAX;
        const int64_t step = some * type->extent;

        op->function((void *)(uintptr_t)in, inout, &(int){some}, &handle);
        in += step;
        inout += step;
        count -= (uint64_t)some;
    }
}

void weft_operation_apply(const struct weft_operation *op, struct weft_datatype *type,
                          const void *in, void *inout, uint64_t count)
{
    assert(weft_operation_is_defined(op, type));
    if (weft_likely(!weft_operation_is_user(op))) {
        weft_reduce_apply(op->handle, type, in, inout, (size_t)count);
    } else if (op->function != NULL) {
        call(op, type, in, inout, count);
    } else if (count > 0) {
        MPI_Datatype handle = type->handle;

        op->function_c((void *)(uintptr_t)in, inout, &(MPI_Count){(MPI_Count)count},
                       &handle);
    }
}
