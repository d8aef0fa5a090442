/*
 * mqs.h - the interface between a debugger and a library that shows it message queues.
 *
 * TotalView has defined it, and other debuggers have taken it over: names, types and
 * numbers are theirs. The debugger loads the library that MPIR_dll_name in the MPI
 * library names, hands it tables of callbacks by which the library reads a stopped
 * process, and then asks for communicators and, in each, for operations.
 */
#ifndef WEFT_QUEUES_MQS_H
#define WEFT_QUEUES_MQS_H

#include <stddef.h>

enum { MQS_INTERFACE_COMPATIBILITY = 2, MQS_INVALID_PROCESS = -1 };

/* What functions return; a library's own codes begin with the last one. */
enum { mqs_ok, mqs_no_information, mqs_end_of_list, mqs_first_user_code = 100 };

enum { mqs_st_pending, mqs_st_matched, mqs_st_complete };

typedef enum {
    mqs_pending_sends,
    mqs_pending_receives,
    mqs_unexpected_messages
} mqs_op_class;

typedef enum {
    mqs_lang_c = 'c',
    mqs_lang_cplus = 'C',
    mqs_lang_f77 = 'f',
    mqs_lang_f90 = 'F'
} mqs_lang_code;

typedef unsigned long mqs_taddr_t; /* an address in the process */
typedef long mqs_tword_t;

/* The library's own; the debugger keeps pointers to them. */
typedef struct _mqs_image_info mqs_image_info;
typedef struct _mqs_process_info mqs_process_info;

/* The debugger's. */
typedef struct mqs_image_ mqs_image;
typedef struct mqs_process_ mqs_process;
typedef struct mqs_type_ mqs_type;

typedef struct {
    int short_size;
    int int_size;
    int long_size;
    int long_long_size;
    int pointer_size;
} mqs_target_type_sizes;

typedef struct {
    mqs_taddr_t unique_id;
    mqs_tword_t local_rank;
    mqs_tword_t size;
    char name[64];
} mqs_communicator;

typedef struct {
    int status;
    mqs_tword_t desired_local_rank;  /* in the communicator; -1: any */
    mqs_tword_t desired_global_rank; /* in MPI_COMM_WORLD */
    int tag_wild;
    mqs_tword_t desired_tag;
    mqs_tword_t desired_length;
    int system_buffer; /* it is not the user's */
    mqs_taddr_t buffer;
    mqs_tword_t actual_local_rank; /* these four, if it is matched, or a send */
    mqs_tword_t actual_global_rank;
    mqs_tword_t actual_tag;
    mqs_tword_t actual_length;
    char extra_text[5][64]; /* for the user */
} mqs_pending_operation;

/* ---- what the debugger offers ---- */

typedef struct mqs_basic_callbacks {
    void *(*mqs_malloc_fp)(size_t bytes);
    void (*mqs_free_fp)(void *memory);
    void (*mqs_dprints_fp)(const char *text);
    char *(*mqs_errorstring_fp)(int code);
    void (*mqs_put_image_info_fp)(mqs_image *image, mqs_image_info *info);
    mqs_image_info *(*mqs_get_image_info_fp)(mqs_image *image);
    void (*mqs_put_process_info_fp)(mqs_process *process, mqs_process_info *info);
    mqs_process_info *(*mqs_get_process_info_fp)(mqs_process *process);
} mqs_basic_callbacks;

typedef struct mqs_image_callbacks {
    void (*mqs_get_type_sizes_fp)(mqs_process *process, mqs_target_type_sizes *sizes);
    int (*mqs_find_function_fp)(mqs_image *image, char *name, mqs_lang_code language,
                                mqs_taddr_t *address);
    int (*mqs_find_symbol_fp)(mqs_image *image, char *name, mqs_taddr_t *address);
    mqs_type *(*mqs_find_type_fp)(mqs_image *image, char *name, mqs_lang_code language);
    int (*mqs_field_offset_fp)(mqs_type *type, char *name);
    int (*mqs_sizeof_fp)(mqs_type *type);
} mqs_image_callbacks;

typedef struct mqs_process_callbacks {
    int (*mqs_get_global_rank_fp)(mqs_process *process);
    mqs_image *(*mqs_get_image_fp)(mqs_process *process);
    int (*mqs_fetch_data_fp)(mqs_process *process, mqs_taddr_t from, int bytes, void *to);
    void (*mqs_target_to_host_fp)(mqs_process *process, const void *from, void *to,
                                  int bytes);
} mqs_process_callbacks;

/* ---- what the library offers ---- */

#define MQS_EXPORT __attribute__((visibility("default")))

MQS_EXPORT void mqs_setup_basic_callbacks(const mqs_basic_callbacks *callbacks);
MQS_EXPORT char *mqs_version_string(void);
MQS_EXPORT int mqs_version_compatibility(void);
MQS_EXPORT int mqs_dll_taddr_width(void);
MQS_EXPORT char *mqs_dll_error_string(int code);

MQS_EXPORT int mqs_setup_image(mqs_image *image, const mqs_image_callbacks *callbacks);
MQS_EXPORT int mqs_image_has_queues(mqs_image *image, char **message);
MQS_EXPORT void mqs_destroy_image_info(mqs_image_info *info);

MQS_EXPORT int mqs_setup_process(mqs_process *process,
                                 const mqs_process_callbacks *callbacks);
MQS_EXPORT int mqs_process_has_queues(mqs_process *process, char **message);
MQS_EXPORT void mqs_destroy_process_info(mqs_process_info *info);

MQS_EXPORT int mqs_update_communicator_list(mqs_process *process);
MQS_EXPORT int mqs_setup_communicator_iterator(mqs_process *process);
MQS_EXPORT int mqs_get_communicator(mqs_process *process, mqs_communicator *out);
MQS_EXPORT int mqs_get_comm_group(mqs_process *process, int *ranks);
MQS_EXPORT int mqs_next_communicator(mqs_process *process);

MQS_EXPORT int mqs_setup_operation_iterator(mqs_process *process, int which);
MQS_EXPORT int mqs_next_operation(mqs_process *process, mqs_pending_operation *out);

#endif
