#include "check/rma.h"

#include "check/datatype.h"
#include "datatype/elements.h"
#include "datatype/operation.h"
#include "datatype/reduce.h"
#include "engine/lock.h"
#include "rma/apply.h"

/* ---- datatypes and buffers ---- */

static int bad_type(const char *function, struct weft_win *win, MPI_Datatype handle,
                    const struct weft_datatype *type)
{
    char text[WEFT_DATATYPE_TEXT];

    if (handle == MPI_DATATYPE_NULL) {
        return weft_raise_win(win, function, WEFT_E_TYPE_NULL);
    }
    if (type == NULL) {
        return weft_raise_win(
            win, function, MPI_ERR_TYPE, WEFT_T_HANDLE,
            weft_describe_handle(WEFT_KIND_DATATYPE, handle, text, sizeof(text)));
    }
    return weft_raise_win(win, function, WEFT_E_TYPE_UNCOMMITTED,
                          weft_datatype_describe(type, text, sizeof(text)));
}

/* A type that data can be moved with, and a count; the bytes of all. */
static int check_elements(const char *function, struct weft_win *win,
                          const struct weft_rma_side *side, size_t *bytes)
{
    const struct weft_datatype *type = weft_datatype_from_handle(side->type);
    char text[WEFT_DATATYPE_TEXT];

    if (weft_unlikely(type == NULL || !type->is_committed)) {
        return bad_type(function, win, side->type, type);
    }
    if (weft_unlikely(side->count < 0)) {
        return weft_raise_win(win, function, WEFT_E_COUNT, (long long)side->count);
    }
    if (__builtin_mul_overflow((size_t)side->count, type->size, bytes)) {
        return weft_raise_win(win, function, WEFT_E_COUNT_HUGE, (long long)side->count,
                              weft_datatype_describe(type, text, sizeof(text)));
    }
    return MPI_SUCCESS;
}

static int check_side(const char *function, struct weft_win *win,
                      const struct weft_rma_side *side, struct weft_data *data)
{
    char text[WEFT_DATATYPE_TEXT];
    struct weft_datatype *type;
    size_t bytes = 0;
    int err = check_elements(function, win, side, &bytes);

    if (err != MPI_SUCCESS) {
        return err;
    }
    type = weft_datatype_from_handle(side->type);
    if (side->buffer == NULL && bytes > 0 && type->contents == NULL) {
        return weft_raise_win(win, function, WEFT_E_BUFFER_NULL, (long long)side->count,
                              weft_datatype_describe(type, text, sizeof(text)));
    }
    *data = weft_data_of(side->buffer, side->count, type, bytes);
    return MPI_SUCCESS;
}

/* ---- the target ---- */

/* The lowest byte of the elements and the one behind the highest. */
static bool find_span(const struct weft_datatype *type, MPI_Count count, int64_t at,
                      int64_t *low, int64_t *high)
{
    int64_t reach;
    int64_t first;

    if (__builtin_mul_overflow(type->extent, (int64_t)count - 1, &reach) ||
        __builtin_add_overflow(at, type->true_lb, &first) ||
        __builtin_add_overflow(first, reach < 0 ? reach : 0, low) ||
        __builtin_add_overflow(first, reach > 0 ? reach : 0, high) ||
        __builtin_add_overflow(*high, type->true_extent, high)) {
        return false;
    }
    return true;
}

static int check_range(const struct weft_rma_args *args, struct weft_win *win, int64_t at)
{
    const uint64_t size = weft_win_size_of(&win->parts, args->rank);
    int64_t low = 0;
    int64_t high = 0;

    if (!find_span(weft_datatype_from_handle(args->target.type), args->target.count, at,
                   &low, &high) ||
        low < 0 || (uint64_t)high > size) {
        return weft_raise_win(win, args->function, WEFT_E_WIN_RANGE, (long long)low,
                              (long long)high - 1, args->rank, (long long)size);
    }
    return MPI_SUCCESS;
}

static int check_where(const struct weft_rma_args *args, struct weft_win *win,
                       struct weft_where *where)
{
    const bool is_dynamic = win->flavor == MPI_WIN_FLAVOR_DYNAMIC;
    int64_t at;

    if (!is_dynamic && args->disp < 0) {
        return weft_raise_win(win, args->function, WEFT_E_WIN_DISP,
                              (long long)args->disp);
    }
    if (is_dynamic) {
        at = args->disp;
    } else if (__builtin_mul_overflow(
                   args->disp, (int64_t)weft_win_unit_of(&win->parts, args->rank), &at)) {
        return weft_raise_win(win, args->function, WEFT_E_WIN_DISP,
                              (long long)args->disp);
    }
    *where = (struct weft_where){
        .type = weft_datatype_from_handle(args->target.type),
        .count = (uint64_t)args->target.count,
        .at = (uint64_t)at,
    };
    return is_dynamic ? MPI_SUCCESS : check_range(args, win, at);
}

/* ---- what is moved ---- */

static int check_fits(const char *function, struct weft_win *win, size_t bytes,
                      size_t room)
{
    return bytes <= room ? MPI_SUCCESS
                         : weft_raise_win(win, function, WEFT_E_WIN_TRUNCATE,
                                          (long long)bytes, (long long)room);
}

/* A put moves what the origin has, and the others what they are about at the target. */
static int check_sides(const struct weft_rma_args *args, struct weft_win *win,
                       struct weft_rma_call *call)
{
    const bool has_origin = args->kind != WEFT_RMA_GET && args->op != MPI_NO_OP;
    const bool has_result =
        args->kind != WEFT_RMA_PUT && args->kind != WEFT_RMA_ACCUMULATE;
    size_t target = 0;
    int err = check_elements(args->function, win, &args->target, &target);

    if (err == MPI_SUCCESS && has_origin) {
        err = check_side(args->function, win, &args->origin, &call->origin);
    }
    if (err == MPI_SUCCESS && has_result) {
        err = check_side(args->function, win, &args->result, &call->result);
    }
    if (err != MPI_SUCCESS) {
        return err;
    }
    call->bytes = has_origin ? call->origin.bytes : target;
    if (has_result) {
        err = check_fits(args->function, win, call->bytes, call->result.bytes);
    }
    return err == MPI_SUCCESS ? check_fits(args->function, win, call->bytes, target)
                              : err;
}

/* ---- elements of accumulates ---- */

static bool note_basic(void *context, const struct weft_datatype *basic, uintptr_t memory,
                       uint64_t count)
{
    const struct weft_datatype **one = context;

    (void)memory;
    (void)count;
    if (*one != NULL && *one != basic) {
        return false;
    }
    *one = basic;
    return true;
}

static int check_op(const struct weft_rma_args *args, struct weft_win *win,
                    const struct weft_datatype *basic)
{
    const char *name = weft_reduce_name(args->op);
    char text[WEFT_DATATYPE_TEXT];

    if (args->kind == WEFT_RMA_ACCUMULATE && args->op == MPI_NO_OP) {
        return weft_raise_win(win, args->function, WEFT_E_WIN_NO_OP);
    }
    if (weft_rma_is_defined(args->op, basic)) {
        return MPI_SUCCESS;
    }
    if (name != NULL) {
        return weft_raise_win(win, args->function, WEFT_E_WIN_OP_UNDEFINED, name,
                              weft_datatype_describe(basic, text, sizeof(text)));
    }
    if (weft_operation_from_handle(args->op) != NULL) {
        return weft_raise_win(win, args->function, WEFT_E_WIN_OP);
    }
    return weft_raise_win(
        win, args->function, MPI_ERR_OP, WEFT_T_HANDLE,
        weft_describe_handle(WEFT_KIND_OP, args->op, text, sizeof(text)));
}

/* The predefined type of all elements; NULL: there are several, or none. */
static const struct weft_datatype *find_basic(const struct weft_datatype *type)
{
    const struct weft_datatype *basic = NULL;

    return weft_elements_visit(type, 0, 1, note_basic, &basic) ? basic : NULL;
}

/* Are elements of both reckoned with in the same way? */
static bool are_alike(const struct weft_datatype *a, const struct weft_datatype *b)
{
    return a->size == b->size && a->number == b->number && a->pair_of == b->pair_of;
}

/* The elements of the origin or of the result, beside those of the target. What is only
 * moved may have another type, if no element is cut. */
static int check_buffer_basic(const struct weft_rma_args *args, struct weft_win *win,
                              MPI_Datatype handle, size_t bytes,
                              const struct weft_datatype *basic)
{
    const struct weft_datatype *type = weft_datatype_from_handle(handle);
    const struct weft_datatype *ours = find_basic(type);
    char text[WEFT_DATATYPE_TEXT];
    char other[WEFT_DATATYPE_TEXT];

    if (args->op == MPI_REPLACE || args->op == MPI_NO_OP) {
        return bytes % basic->size == 0
                   ? MPI_SUCCESS
                   : weft_raise_win(win, args->function, WEFT_E_WIN_CUT, (long long)bytes,
                                    weft_datatype_describe(basic, text, sizeof(text)));
    }
    if (ours == NULL) {
        return weft_raise_win(win, args->function, WEFT_E_WIN_BASIC,
                              weft_datatype_describe(type, text, sizeof(text)));
    }
    return are_alike(ours, basic)
               ? MPI_SUCCESS
               : weft_raise_win(win, args->function, WEFT_E_WIN_ELEMENTS,
                                weft_datatype_describe(ours, text, sizeof(text)),
                                weft_datatype_describe(basic, other, sizeof(other)));
}

/* The sides that the call has, unless their type is that of the target. */
static int check_buffers_basic(const struct weft_rma_args *args, struct weft_win *win,
                               const struct weft_rma_call *call)
{
    const bool has_origin = args->op != MPI_NO_OP;
    const bool has_result = args->kind == WEFT_RMA_GET_ACCUMULATE;
    int err = MPI_SUCCESS;

    if (has_origin && args->origin.type != args->target.type) {
        err = check_buffer_basic(args, win, args->origin.type, call->bytes, call->basic);
    }
    if (err == MPI_SUCCESS && has_result && args->result.type != args->target.type) {
        err = check_buffer_basic(args, win, args->result.type, call->bytes, call->basic);
    }
    return err;
}

static int check_basic(const struct weft_rma_args *args, struct weft_win *win,
                       const struct weft_datatype **basic)
{
    const struct weft_datatype *type = weft_datatype_from_handle(args->target.type);
    char text[WEFT_DATATYPE_TEXT];

    if (args->kind == WEFT_RMA_PUT || args->kind == WEFT_RMA_GET) {
        return MPI_SUCCESS;
    }
    if (args->needs_predefined && type->contents != NULL) {
        return weft_raise_win(win, args->function, WEFT_E_WIN_PREDEFINED,
                              weft_datatype_describe(type, text, sizeof(text)));
    }
    *basic = find_basic(type);
    if (*basic == NULL) {
        return weft_raise_win(win, args->function, WEFT_E_WIN_BASIC,
                              weft_datatype_describe(type, text, sizeof(text)));
    }
    if (args->kind == WEFT_RMA_SWAP && !weft_rma_can_swap(*basic)) {
        return weft_raise_win(win, args->function, WEFT_E_WIN_SWAP,
                              weft_datatype_describe(type, text, sizeof(text)));
    }
    return check_op(args, win, *basic);
}

/* ---- epochs ---- */

static int check_epoch(const struct weft_rma_args *args, struct weft_win *win)
{
    const bool is_locked = weft_win_is_locked(win, args->rank);
    bool is_started;

    if (args->has_request) {
        return weft_check_epoch(args->function, win,
                                weft_epoch_may_flush(&win->epoch, is_locked));
    }
    weft_lock();
    is_started =
        win->started != NULL &&
        weft_group_rank_of(win->started, weft_comm_process(win->comm, args->rank)) !=
            MPI_UNDEFINED;
    weft_unlock();
    return weft_check_epoch(args->function, win,
                            weft_epoch_may_operate(&win->epoch, is_locked, is_started));
}

static int check_target(const struct weft_rma_args *args, struct weft_win *win,
                        struct weft_rma_call *call, bool *is_empty)
{
    int err = check_epoch(args, win);

    if (err == MPI_SUCCESS) {
        err = check_sides(args, win, call);
    }
    *is_empty = err == MPI_SUCCESS && call->bytes == 0;
    if (err == MPI_SUCCESS && !*is_empty) {
        err = check_basic(args, win, &call->basic);
    }
    if (err == MPI_SUCCESS && !*is_empty && call->basic != NULL) {
        err = check_buffers_basic(args, win, call);
    }
    if (err == MPI_SUCCESS && !*is_empty) {
        err = check_where(args, win, &call->where);
    }
    return err;
}

int weft_check_rma(const struct weft_rma_args *args, struct weft_win **win,
                   struct weft_rma_call *call, bool *is_empty)
{
    int err = weft_check_win(args->function, args->win, win);

    *is_empty = true;
    if (err != MPI_SUCCESS || args->rank == MPI_PROC_NULL) {
        return err;
    }
    err = weft_check_win_rank(args->function, *win, args->rank);
    if (err != MPI_SUCCESS) {
        return err;
    }
    *call = (struct weft_rma_call){
        .name = args->function,
        .kind = args->kind,
        .op = args->op,
        .target = args->rank,
    };
    err = check_target(args, *win, call, is_empty);
    if (err == MPI_SUCCESS && !*is_empty && args->compare != NULL) {
        call->compare = (struct weft_data){.buffer = args->compare, .bytes = call->bytes};
    }
    return err;
}
