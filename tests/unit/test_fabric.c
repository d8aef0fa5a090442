/*
 * test_fabric.c - loading libfabric, choosing a provider and opening its queues, over a
 * libfabric that is the test's.
 *
 * The library is found by dlopen() and dlsym(), which are the test's, too. It counts what
 * is open and what was allocated, so that each case ends with nothing left.
 */
#include "unit.h"

#include "transport/ofi/common/fabric.h"

#include <arpa/inet.h>
#include <dlfcn.h>
#include <netinet/in.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>

#define CASE(name) cmocka_unit_test_setup_teardown(name, open_case, close_case)

enum { PROVIDERS_MAX = 3, KEYS_MAX = 4, STEPS = 5, SLACK_NS = 50000 };

static struct {
    bool is_missing;
    uint32_t version;
    const char *without; /* a function that it does not have */
    int libraries;       /* that are open */
    int slack;           /* of timers, while it was loaded */
    const char *providers[PROVIDERS_MAX];
    size_t shared_receives[PROVIDERS_MAX];
    uint64_t mr_mode;
    int infos;            /* that are allocated */
    uint64_t caps;        /* that were asked for */
    uint32_t addr_format; /* as well */
    int step;             /* of opening: how many were done */
    int failing_step;
    int objects; /* that are open */
    int registered;
    uint64_t keys[KEYS_MAX];
    int refusal; /* of the next registration */
} fake;

/* ---- objects, which only count ---- */

static int close_object(struct fid *fid)
{
    fake.objects--;
    free(fid);
    return 0;
}

static struct fi_ops ops = {.size = sizeof(ops), .close = close_object};

static bool is_step_refused(void)
{
    return ++fake.step == fake.failing_step;
}

/* `object` begins with its fid. */
static void *open_object(size_t bytes)
{
    struct fid *fid = calloc(1, bytes);

    assert_non_null(fid);
    fid->ops = &ops;
    fake.objects++;
    return fid;
}

static int open_eq(struct fid_fabric *fabric, struct fi_eq_attr *attr, struct fid_eq **eq,
                   void *context)
{
    (void)context;
    assert_non_null(fabric);
    assert_int_equal(attr->wait_obj, FI_WAIT_FD);
    if (is_step_refused()) {
        return -FI_ENOMEM;
    }
    *eq = open_object(sizeof(**eq));
    return 0;
}

/* Has room for twice as many as were asked for, and says so. */
static int open_cq(struct fid_domain *domain, struct fi_cq_attr *attr, struct fid_cq **cq,
                   void *context)
{
    (void)context;
    assert_non_null(domain);
    assert_int_equal(attr->wait_obj, FI_WAIT_FD);
    if (is_step_refused()) {
        return -FI_ENOMEM;
    }
    attr->size *= 2;
    *cq = open_object(sizeof(**cq));
    return 0;
}

static int open_srx(struct fid_domain *domain, struct fi_rx_attr *attr,
                    struct fid_ep **ep, void *context)
{
    (void)context;
    assert_non_null(domain);
    assert_non_null(attr);
    if (is_step_refused()) {
        return -FI_ENOSYS;
    }
    *ep = open_object(sizeof(**ep));
    return 0;
}

static int register_memory(struct fid *fid, const void *memory, size_t bytes,
                           uint64_t access, uint64_t offset, uint64_t key, uint64_t flags,
                           struct fid_mr **mr, void *context)
{
    (void)fid;
    (void)access;
    (void)offset;
    (void)flags;
    (void)context;
    assert_non_null(memory);
    assert_int_equal(bytes, 64);
    if (fake.refusal != 0) {
        return fake.refusal;
    }
    fake.keys[fake.registered++] = key;
    *mr = open_object(sizeof(**mr));
    return 0;
}

static struct fi_ops_domain domain_ops = {
    .size = sizeof(domain_ops), .cq_open = open_cq, .srx_ctx = open_srx};
static struct fi_ops_mr mr_ops = {.size = sizeof(mr_ops), .reg = register_memory};

static int open_domain(struct fid_fabric *fabric, struct fi_info *info,
                       struct fid_domain **domain, void *context)
{
    (void)fabric;
    (void)context;
    assert_non_null(info);
    if (is_step_refused()) {
        return -FI_EBUSY;
    }
    *domain = open_object(sizeof(**domain));
    (*domain)->ops = &domain_ops;
    (*domain)->mr = &mr_ops;
    return 0;
}

static struct fi_ops_fabric fabric_ops = {
    .size = sizeof(fabric_ops), .domain = open_domain, .eq_open = open_eq};

static int open_fabric(struct fi_fabric_attr *attr, struct fid_fabric **fabric,
                       void *context)
{
    (void)attr;
    (void)context;
    if (is_step_refused()) {
        return -FI_EBUSY;
    }
    *fabric = open_object(sizeof(**fabric));
    (*fabric)->ops = &fabric_ops;
    return 0;
}

/* ---- descriptions of providers ---- */

static void *copy_of(const void *from, size_t bytes)
{
    void *to = calloc(1, bytes > 0 ? bytes : 1);

    assert_non_null(to);
    if (from != NULL) {
        memcpy(to, from, bytes);
    }
    return to;
}

static struct fi_info *dup_info(const struct fi_info *from)
{
    struct fi_info *info = copy_of(from, sizeof(*info));

    info->next = NULL;
    info->fabric_attr =
        copy_of(from != NULL ? from->fabric_attr : NULL, sizeof(*info->fabric_attr));
    info->domain_attr =
        copy_of(from != NULL ? from->domain_attr : NULL, sizeof(*info->domain_attr));
    info->ep_attr = copy_of(from != NULL ? from->ep_attr : NULL, sizeof(*info->ep_attr));
    info->rx_attr = copy_of(from != NULL ? from->rx_attr : NULL, sizeof(*info->rx_attr));
    if (from != NULL && from->src_addr != NULL) {
        info->src_addr = copy_of(from->src_addr, from->src_addrlen);
    }
    fake.infos++;
    return info;
}

static void free_info(struct fi_info *info)
{
    while (info != NULL) {
        struct fi_info *next = info->next;

        free(info->fabric_attr);
        free(info->domain_attr);
        free(info->ep_attr);
        free(info->rx_attr);
        free(info->src_addr);
        free(info->dest_addr);
        free(info);
        fake.infos--;
        info = next;
    }
}

static int get_info(uint32_t version, const char *node, const char *service,
                    uint64_t flags, const struct fi_info *hints, struct fi_info **out)
{
    struct fi_info **end = out;

    (void)node;
    (void)service;
    (void)flags;
    assert_int_equal(version, WEFT_OFI_API);
    fake.caps = hints->caps;
    fake.addr_format = hints->addr_format;
    for (int i = 0; i < PROVIDERS_MAX && fake.providers[i] != NULL; i++) {
        *end = dup_info(hints);
        (*end)->fabric_attr->prov_name = (char *)(uintptr_t)fake.providers[i];
        (*end)->domain_attr->max_ep_srx_ctx = fake.shared_receives[i];
        (*end)->domain_attr->mr_mode = (int)fake.mr_mode;
        end = &(*end)->next;
    }
    return *out != NULL ? 0 : -FI_ENODATA;
}

static const char *describe(int code)
{
    (void)code;
    return "the reason";
}

static uint32_t version(void)
{
    return fake.version;
}

/* ---- the library ---- */

static int handle;

void *__real_dlopen(const char *name, int flags);
void *__wrap_dlopen(const char *name, int flags);
void *__real_dlsym(void *library, const char *name);
void *__wrap_dlsym(void *library, const char *name);
int __real_dlclose(void *library);
int __wrap_dlclose(void *library);

/* Sanitizers look for functions, too. */

void *__wrap_dlopen(const char *name, int flags)
{
    if (name == NULL || strcmp(name, "libfabric.so.1") != 0) {
        return __real_dlopen(name, flags);
    }
    fake.slack = prctl(PR_GET_TIMERSLACK);
    if (fake.is_missing) {
        return __real_dlopen("/no/folder/libfabric.so.1", flags); /* for dlerror() */
    }
    fake.libraries++;
    return &handle;
}

void *__wrap_dlsym(void *library, const char *name)
{
    static const struct {
        const char *name;
        void *function;
    } functions[] = {
        {"fi_getinfo", (void *)get_info},  {"fi_freeinfo", (void *)free_info},
        {"fi_dupinfo", (void *)dup_info},  {"fi_fabric", (void *)open_fabric},
        {"fi_strerror", (void *)describe}, {"fi_version", (void *)version},
    };

    if (library != &handle) {
        return __real_dlsym(library, name);
    }
    for (size_t i = 0; i < sizeof(functions) / sizeof(functions[0]); i++) {
        if (strcmp(name, functions[i].name) == 0 &&
            (fake.without == NULL || strcmp(name, fake.without) != 0)) {
            return functions[i].function;
        }
    }
    return NULL;
}

int __wrap_dlclose(void *library)
{
    if (library != &handle) {
        return __real_dlclose(library);
    }
    fake.libraries--;
    return 0;
}

/* ---- what the cases share ---- */

static struct weft_ofi ofi;
static const struct sockaddr_in here = {.sin_family = AF_INET};

static int open_case(void **state)
{
    const int libraries = fake.libraries; /* stays loaded */

    (void)state;
    memset(&fake, 0, sizeof(fake));
    fake.libraries = libraries;
    fake.version = WEFT_OFI_API;
    fake.providers[0] = "tcp";
    fake.shared_receives[0] = 1;
    return 0;
}

static int close_case(void **state)
{
    (void)state;
    weft_ofi_close(&ofi);
    return fake.infos == 0 && fake.objects == 0 ? 0 : -1;
}

static enum weft_rc choose(void)
{
    struct sockaddr_storage at = {0};

    memcpy(&at, &here, sizeof(here));
    return weft_ofi_choose(&ofi, &at, sizeof(here));
}

static void open_network(void)
{
    assert_int_equal(choose(), WEFT_OK);
    assert_int_equal(weft_ofi_open(&ofi, 100), WEFT_OK);
}

/* ---- loading; these cases come before the library is loaded ---- */

static void a_missing_library_is_tried_again_later(void **state)
{
    (void)state;
    fake.is_missing = true;
    assert_int_equal(choose(), WEFT_ERR_UNSUPPORTED);
    assert_int_equal(choose(), WEFT_ERR_UNSUPPORTED);
    assert_int_equal(fake.libraries, 0);
}

static void an_old_library_is_refused_and_closed(void **state)
{
    (void)state;
    fake.version = FI_VERSION(1, 16);
    assert_int_equal(choose(), WEFT_ERR_UNSUPPORTED);
    assert_int_equal(fake.libraries, 0);
}

static void a_library_without_a_function_is_refused_and_closed(void **state)
{
    static const char *const names[] = {"fi_getinfo", "fi_freeinfo", "fi_dupinfo",
                                        "fi_fabric",  "fi_strerror", "fi_version"};

    (void)state;
    for (size_t i = 0; i < sizeof(names) / sizeof(names[0]); i++) {
        fake.without = names[i];
        assert_int_equal(choose(), WEFT_ERR_UNSUPPORTED);
        assert_int_equal(fake.libraries, 0);
    }
}

/* Its constructors nap a thousand times; the program's timers are as exact as before. */
static void it_is_loaded_once_and_without_slack_of_timers(void **state)
{
    (void)state;
    assert_int_equal(prctl(PR_SET_TIMERSLACK, SLACK_NS), 0);
    assert_int_equal(weft_libfabric_open(), WEFT_OK);
    assert_int_equal(fake.slack, 1);
    assert_int_equal(prctl(PR_GET_TIMERSLACK), SLACK_NS);
    assert_int_equal(weft_libfabric_open(), WEFT_OK);
    assert_int_equal(fake.libraries, 1);
}

/* ---- choosing ---- */

static void a_provider_with_connections_and_remote_memory_is_asked_for(void **state)
{
    (void)state;
    assert_int_equal(choose(), WEFT_OK);
    assert_true(fake.caps == (FI_MSG | FI_RMA));
    assert_int_equal(fake.addr_format, FI_SOCKADDR_IN);
    assert_int_equal(ofi.info->ep_attr->type, FI_EP_MSG);
}

static void
avoided_providers_and_those_without_a_shared_queue_are_passed_over(void **state)
{
    (void)state;
    fake.providers[0] = "net";
    fake.providers[1] = "opx";
    fake.providers[2] = "tcp";
    fake.shared_receives[1] = 0;
    fake.shared_receives[2] = 1;
    assert_int_equal(choose(), WEFT_OK);
    assert_string_equal(ofi.info->fabric_attr->prov_name, "tcp");
    assert_int_equal(fake.infos, 1);
}

static void where_no_provider_will_do_nothing_is_left(void **state)
{
    (void)state;
    fake.shared_receives[0] = 0;
    assert_int_equal(choose(), WEFT_ERR_UNSUPPORTED);
    fake.providers[0] = NULL;
    assert_int_equal(choose(), WEFT_ERR_UNSUPPORTED);
    assert_int_equal(fake.infos, 0);
}

static void warming_up_asks_and_keeps_nothing(void **state)
{
    (void)state;
    weft_ofi_warm_up();
    assert_true(fake.caps == (FI_MSG | FI_RMA));
    assert_int_equal(fake.infos, 0);
}

/* ---- opening ---- */

static void the_queues_are_as_long_as_the_provider_says(void **state)
{
    (void)state;
    open_network();
    assert_int_equal(ofi.completions, 200);
    assert_int_equal(fake.objects, STEPS);
}

static void whatever_step_fails_all_before_it_are_undone(void **state)
{
    (void)state;
    for (int step = 1; step <= STEPS; step++) {
        assert_int_equal(choose(), WEFT_OK);
        fake.step = 0;
        fake.failing_step = step;
        assert_int_equal(weft_ofi_open(&ofi, 100), WEFT_ERR_SYSTEM);
        assert_int_equal(fake.step, step);
        assert_int_equal(fake.objects, 0);
        assert_int_equal(fake.infos, 0);
    }
}

/* ---- addresses ---- */

static void a_caller_names_where_to_and_a_listener_where_from(void **state)
{
    const struct sockaddr_in6 there = {.sin6_family = AF_INET6, .sin6_port = htons(7)};
    struct sockaddr_storage address = {0};
    struct fi_info *info;

    (void)state;
    open_network();
    memcpy(&address, &there, sizeof(there));
    info = weft_ofi_info(&ofi, NULL, &address, sizeof(there));
    assert_non_null(info);
    assert_int_equal(info->addr_format, FI_SOCKADDR_IN6);
    assert_null(info->src_addr);
    assert_int_equal(info->dest_addrlen, sizeof(there));
    assert_memory_equal(info->dest_addr, &there, sizeof(there));
    free_info(info);

    info = weft_ofi_info(&ofi, &address, NULL, sizeof(there));
    assert_non_null(info);
    assert_null(info->dest_addr);
    assert_memory_equal(info->src_addr, &there, sizeof(there));
    free_info(info);
}

/* ---- registering ---- */

static void every_registration_asks_for_a_key_of_its_own(void **state)
{
    struct fid_mr *mr[2];
    char memory[64];

    (void)state;
    open_network();
    for (int i = 0; i < 2; i++) {
        assert_int_equal(
            weft_ofi_register(&ofi, memory, sizeof(memory), FI_REMOTE_READ, &mr[i]),
            WEFT_OK);
    }
    assert_true(fake.keys[0] != fake.keys[1]);
    weft_ofi_unregister(mr[0]);
    weft_ofi_unregister(mr[1]);
    assert_int_equal(fake.objects, STEPS);
}

/* What is short now may be there later; another error stays. */
static void a_registration_for_which_there_is_no_room_can_be_repeated(void **state)
{
    static const struct {
        int code;
        enum weft_rc rc;
    } refusals[] = {{-FI_ENOMEM, WEFT_AGAIN},
                    {-FI_EAGAIN, WEFT_AGAIN},
                    {-FI_EFAULT, WEFT_ERR_SYSTEM}};
    char memory[64];

    (void)state;
    open_network();
    for (size_t i = 0; i < sizeof(refusals) / sizeof(refusals[0]); i++) {
        struct fid_mr *mr = (struct fid_mr *)&handle;

        fake.refusal = refusals[i].code;
        assert_int_equal(
            weft_ofi_register(&ofi, memory, sizeof(memory), FI_REMOTE_READ, &mr),
            refusals[i].rc);
        assert_null(mr);
    }
}

static void memory_of_our_own_is_registered_only_for_providers_that_want_it(void **state)
{
    struct fid_mr *mr;
    char memory[64];

    (void)state;
    open_network();
    assert_int_equal(weft_ofi_register_local(&ofi, memory, sizeof(memory), FI_SEND, &mr),
                     WEFT_OK);
    assert_null(mr);
    weft_ofi_close(&ofi);

    fake.mr_mode = FI_MR_LOCAL;
    open_network();
    assert_int_equal(weft_ofi_register_local(&ofi, memory, sizeof(memory), FI_SEND, &mr),
                     WEFT_OK);
    assert_non_null(mr);
    weft_ofi_unregister(mr);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        CASE(a_missing_library_is_tried_again_later),
        CASE(an_old_library_is_refused_and_closed),
        CASE(a_library_without_a_function_is_refused_and_closed),
        CASE(it_is_loaded_once_and_without_slack_of_timers),
        CASE(a_provider_with_connections_and_remote_memory_is_asked_for),
        CASE(avoided_providers_and_those_without_a_shared_queue_are_passed_over),
        CASE(where_no_provider_will_do_nothing_is_left),
        CASE(warming_up_asks_and_keeps_nothing),
        CASE(the_queues_are_as_long_as_the_provider_says),
        CASE(whatever_step_fails_all_before_it_are_undone),
        CASE(a_caller_names_where_to_and_a_listener_where_from),
        CASE(every_registration_asks_for_a_key_of_its_own),
        CASE(a_registration_for_which_there_is_no_room_can_be_repeated),
        CASE(memory_of_our_own_is_registered_only_for_providers_that_want_it),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
