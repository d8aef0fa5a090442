/*
 * queues.c - the functions that a debugger calls (mqs.h).
 *
 * All lists are read when the debugger asks for communicators anew, and walked after
 * that: the process is stopped in between.
 */
#include "gather.h"

#include "version.h"

#include <stdint.h>
#include <stdio.h>
#include <string.h>

enum { NO_TABLE = mqs_first_user_code, NOT_64_BITS, NOT_OPEN, NO_MEMORY };

struct _mqs_image_info {
    const mqs_image_callbacks *call;
};

struct _mqs_process_info {
    const mqs_process_callbacks *call;
    struct target target;
    struct queues queues;
    uint32_t comm;      /* which one is looked at */
    uint32_t operation; /* the next one to be looked at */
    uint32_t class;
};

static const mqs_basic_callbacks *basic;

/* The interface wants texts that might be written to. */
static char *text(const char *constant)
{
    return (char *)(uintptr_t)constant;
}

void mqs_setup_basic_callbacks(const mqs_basic_callbacks *callbacks)
{
    basic = callbacks;
}

char *mqs_version_string(void)
{
    return text("message queues of Weft " WEFT_VERSION);
}

int mqs_version_compatibility(void)
{
    return MQS_INTERFACE_COMPATIBILITY;
}

int mqs_dll_taddr_width(void)
{
    return sizeof(mqs_taddr_t);
}

char *mqs_dll_error_string(int code)
{
    switch (code) {
    case mqs_ok:
        return text("no error");
    case mqs_no_information:
        return text("no information");
    case mqs_end_of_list:
        return text("end of the list");
    case NO_TABLE:
        return text("no libmpi_abi.so of a version of Weft that this library knows");
    case NOT_64_BITS:
        return text("this library reads processes with pointers of 8 bytes");
    case NOT_OPEN:
        return text("MPI is not initialised in this process");
    case NO_MEMORY:
        return text("no memory is left");
    default:
        return text("unknown error");
    }
}

/* ---- images ---- */

int mqs_setup_image(mqs_image *image, const mqs_image_callbacks *callbacks)
{
    mqs_image_info *info = basic->mqs_malloc_fp(sizeof(*info));

    if (info == NULL) {
        return NO_MEMORY;
    }
    info->call = callbacks;
    basic->mqs_put_image_info_fp(image, info);
    return mqs_ok;
}

/* The table is in a library that may be loaded later: the process will tell. */
int mqs_image_has_queues(mqs_image *image, char **message)
{
    (void)image;
    *message = NULL;
    return mqs_ok;
}

void mqs_destroy_image_info(mqs_image_info *info)
{
    basic->mqs_free_fp(info);
}

/* ---- processes ---- */

int mqs_setup_process(mqs_process *process, const mqs_process_callbacks *callbacks)
{
    mqs_process_info *info = basic->mqs_malloc_fp(sizeof(*info));

    if (info == NULL) {
        return NO_MEMORY;
    }
    memset(info, 0, sizeof(*info));
    info->call = callbacks;
    info->target.process = process;
    info->target.fetch = callbacks->mqs_fetch_data_fp;
    basic->mqs_put_process_info_fp(process, info);
    return mqs_ok;
}

void mqs_destroy_process_info(mqs_process_info *info)
{
    queues_free(&info->queues);
    basic->mqs_free_fp(info);
}

static int open_target(mqs_process *process, mqs_process_info *info)
{
    mqs_image *image = info->call->mqs_get_image_fp(process);
    const mqs_image_info *image_info = basic->mqs_get_image_info_fp(image);
    mqs_target_type_sizes sizes;
    mqs_taddr_t table = 0;

    image_info->call->mqs_get_type_sizes_fp(process, &sizes);
    if (sizes.pointer_size != sizeof(uint64_t)) {
        return NOT_64_BITS;
    }
    if (image_info->call->mqs_find_symbol_fp(image, text("weft_queue_table"), &table) !=
            mqs_ok ||
        !target_open(&info->target, table)) {
        return NO_TABLE;
    }
    return target_is_open(&info->target) ? mqs_ok : NOT_OPEN;
}

int mqs_process_has_queues(mqs_process *process, char **message)
{
    const int code = open_target(process, basic->mqs_get_process_info_fp(process));

    *message = code == mqs_ok ? NULL : mqs_dll_error_string(code);
    return code;
}

int mqs_update_communicator_list(mqs_process *process)
{
    mqs_process_info *info = basic->mqs_get_process_info_fp(process);
    const int code = open_target(process, info);

    queues_free(&info->queues);
    info->comm = 0;
    if (code == mqs_ok) {
        queues_gather(&info->target, &info->queues);
    }
    return code;
}

/* ---- communicators ---- */

static int end_if_none(const mqs_process_info *info)
{
    return info->comm < info->queues.comm_count ? mqs_ok : mqs_end_of_list;
}

int mqs_setup_communicator_iterator(mqs_process *process)
{
    mqs_process_info *info = basic->mqs_get_process_info_fp(process);

    info->comm = 0;
    return end_if_none(info);
}

int mqs_next_communicator(mqs_process *process)
{
    mqs_process_info *info = basic->mqs_get_process_info_fp(process);

    info->comm += info->comm < info->queues.comm_count ? 1 : 0;
    return end_if_none(info);
}

int mqs_get_communicator(mqs_process *process, mqs_communicator *out)
{
    const mqs_process_info *info = basic->mqs_get_process_info_fp(process);
    const struct comm *comm = &info->queues.comms[info->comm];

    if (end_if_none(info) != mqs_ok) {
        return mqs_no_information;
    }
    memset(out, 0, sizeof(*out));
    out->unique_id = comm->context;
    out->local_rank = comm->rank;
    out->size = comm->local.size;
    snprintf(out->name, sizeof(out->name), "%s", comm->name);
    return mqs_ok;
}

int mqs_get_comm_group(mqs_process *process, int *ranks)
{
    mqs_process_info *info = basic->mqs_get_process_info_fp(process);
    const struct comm *comm = &info->queues.comms[info->comm];

    if (end_if_none(info) != mqs_ok) {
        return mqs_no_information;
    }
    info->target.fetches = 0;
    for (int r = 0; r < comm->local.size; r++) {
        ranks[r] = members_global(&info->target, &comm->local, r);
    }
    return mqs_ok;
}

/* ---- operations ---- */

int mqs_setup_operation_iterator(mqs_process *process, int which)
{
    mqs_process_info *info = basic->mqs_get_process_info_fp(process);

    if (which < mqs_pending_sends || which > mqs_unexpected_messages ||
        end_if_none(info) != mqs_ok) {
        return mqs_no_information;
    }
    info->class = (uint32_t)which;
    info->operation = 0;
    return mqs_ok;
}

static const char *kind_of(const struct operation *operation)
{
    if (operation->class == mqs_pending_receives) {
        return "receive";
    }
    if (operation->class == mqs_pending_sends) {
        return operation->is_eager ? "send, eager" : "send, rendezvous";
    }
    return operation->is_eager ? "message, eager" : "message, rendezvous";
}

static void describe(struct target *target, const struct comm *comm,
                     const struct operation *operation, mqs_pending_operation *out)
{
    const bool is_here = operation->class == mqs_unexpected_messages;

    memset(out, 0, sizeof(*out));
    out->status = is_here ? mqs_st_matched : mqs_st_pending;
    out->desired_local_rank = operation->peer >= 0 ? operation->peer : -1;
    out->desired_global_rank = members_global(target, &comm->peers, operation->peer);
    out->tag_wild = operation->is_any_tag;
    out->desired_tag = operation->tag;
    out->desired_length = (mqs_tword_t)operation->length;
    out->system_buffer = is_here;
    out->buffer = operation->buffer;
    out->actual_local_rank = out->desired_local_rank;
    out->actual_global_rank = out->desired_global_rank;
    out->actual_tag = out->desired_tag;
    out->actual_length = out->desired_length;
    snprintf(out->extra_text[0], sizeof(out->extra_text[0]), "%s", kind_of(operation));
}

int mqs_next_operation(mqs_process *process, mqs_pending_operation *out)
{
    mqs_process_info *info = basic->mqs_get_process_info_fp(process);
    const struct comm *comm = &info->queues.comms[info->comm];

    if (end_if_none(info) != mqs_ok) {
        return mqs_end_of_list;
    }
    while (info->operation < info->queues.operation_count) {
        const struct operation *o = &info->queues.operations[info->operation++];

        if (o->class == info->class && o->context == comm->context) {
            describe(&info->target, comm, o, out);
            return mqs_ok;
        }
    }
    return mqs_end_of_list;
}
