/*
 * test_where.c - addresses of real programs (where_target.c) become file, line and
 * function: with and without debug information, stripped, damaged, gone.
 */
#include "unit.h"

#include "launch/where.h"

#include <arpa/inet.h>
#include <errno.h>
#include <fcntl.h>
#include <linux/filter.h>
#include <linux/seccomp.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/prctl.h>
#include <sys/ptrace.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

enum { DAMAGES = 60, RANKS = 1000 };

enum target { DEBUG, FIXED, SYMBOLS, STRIPPED, LIBRARY, CLANG, TARGETS };

static const char *paths[TARGETS];
static char folder[] = "/tmp/weft-where-XXXXXX";

#ifdef WEFT_HAS_LIBDW
static const bool has_dwarf = true;
#else
static const bool has_dwarf = false;
#endif

/* The line of where_target.c that has this mark. */
static int line_of(const char *mark)
{
    char path[1024];
    char line[256];
    int number = 0;
    bool is_found = false;
    FILE *file;

    snprintf(path, sizeof(path), "%s/tests/unit/where_target.c", getenv("WEFT_SOURCE"));
    file = fopen(path, "r");
    assert_non_null(file);
    while (!is_found && fgets(line, sizeof(line), file) != NULL) {
        number++;
        is_found = strstr(line, mark) != NULL;
    }
    fclose(file);
    assert_true(is_found);
    return number;
}

/* The call that a program says, in a module that is said to be at `path`. */
struct call {
    struct weft_trace_module module;
    uint64_t address;
    int line;
};

static struct call call_of(const char *program, const char *library, const char *path)
{
    unsigned long low;
    unsigned long high;
    unsigned long bias;
    unsigned long address;
    struct call call;
    char command[2048];
    FILE *pipe;

    memset(&call, 0, sizeof(call));
    snprintf(command, sizeof(command), "'%s' %s", program, library);
    pipe = popen(command, "r");
    assert_non_null(pipe);
    assert_int_equal(
        fscanf(pipe, "%lx %lx %lx %lx %d", &low, &high, &bias, &address, &call.line), 5);
    assert_int_equal(pclose(pipe), 0);
    call.module.low = low;
    call.module.high = high;
    call.module.bias = bias;
    call.address = address;
    snprintf(call.module.path, sizeof(call.module.path), "%s", path);
    return call;
}

static struct call call_at(enum target target)
{
    return call_of(paths[target], "", paths[target]);
}

/* ---- what is to be said ---- */

static void expect(const struct call *call, const char *wanted)
{
    struct where *where = where_open();

    assert_string_equal(where_name(where, &call->module, 1, call->address), wanted);
    where_close(where);
}

static void expect_line(const struct call *call)
{
    char wanted[100];

    snprintf(wanted, sizeof(wanted), "where_target.c:%d (where_exchange)", call->line);
    expect(call, wanted);
}

static void expect_offset(const struct call *call)
{
    char wanted[400];

    snprintf(wanted, sizeof(wanted), "%s+0x%lx", call->module.path,
             (unsigned long)(call->address - call->module.bias - 1));
    expect(call, wanted);
}

static void a_call_has_file_line_and_function(void **state)
{
    const enum target targets[] = {DEBUG, FIXED, CLANG};

    (void)state;
    for (size_t i = 0; i < sizeof(targets) / sizeof(targets[0]); i++) {
        if (paths[targets[i]] != NULL) {
            const struct call call = call_at(targets[i]);

            (has_dwarf ? expect_line : expect_offset)(&call);
        }
    }
}

static void a_call_in_a_library_has_them_too(void **state)
{
    const struct call call = call_of(paths[STRIPPED], paths[LIBRARY], paths[LIBRARY]);

    (void)state;
    (has_dwarf ? expect_line : expect_offset)(&call);
}

static void without_debug_information_the_function_is_said(void **state)
{
    struct call call = call_at(SYMBOLS);
    struct where *where = where_open();
    const char *text = where_name(where, &call.module, 1, call.address);
    char wanted[400];
    unsigned offset = 0;

    (void)state;
    if (has_dwarf) {
        assert_int_equal(sscanf(text, "where_exchange+0x%x in ", &offset), 1);
        assert_in_range(offset, 1, 1024); /* sanitizers add to it */
        snprintf(wanted, sizeof(wanted), "where_exchange+0x%x in %s", offset,
                 paths[SYMBOLS]);
        assert_string_equal(text, wanted);
    } else {
        expect_offset(&call);
    }
    where_close(where);
}

static void of_a_stripped_program_the_offset_is_said(void **state)
{
    const struct call call = call_at(STRIPPED);

    (void)state;
    expect_offset(&call);
}

static void debug_information_may_be_in_a_file_of_its_own(void **state)
{
    struct call call;
    char program[200];
    char command[2048];

    (void)state;
    snprintf(program, sizeof(program), "%s/split", folder);
    snprintf(command, sizeof(command),
             "objcopy --only-keep-debug '%s' %s.debug && strip -o %s '%s' && "
             "objcopy --add-gnu-debuglink=%s.debug %s",
             paths[DEBUG], program, program, paths[DEBUG], program, program);
    assert_int_equal(system(command), 0);
    call = call_of(program, "", program);
    (has_dwarf ? expect_line : expect_offset)(&call);
}

static void an_address_in_no_module_has_no_place(void **state)
{
    struct call call = call_at(DEBUG);
    struct where *where = where_open();

    (void)state;
    assert_string_equal(where_name(where, &call.module, 1, 0), "");
    assert_string_equal(where_name(where, &call.module, 1, call.module.low), "");
    assert_string_equal(where_name(where, &call.module, 1, UINT64_MAX), "");
    assert_string_equal(where_name(where, &call.module, 0, call.address), "");
    call.module.path[0] = '\0';
    assert_string_equal(where_name(where, &call.module, 1, call.address), "");
    assert_string_equal(where_name(NULL, &call.module, 1, call.address), "");
    where_close(where);
}

/* Each rank has the program somewhere else in its memory. */
static void a_thousand_ranks_need_one_lookup(void **state)
{
    struct call call = call_at(DEBUG);
    struct where *where = where_open();
    const char *first = where_name(where, &call.module, 1, call.address);

    (void)state;
    for (uint64_t r = 1; r < RANKS; r++) {
        struct weft_trace_module module = call.module;

        module.bias += r << 20;
        module.low += r << 20;
        module.high += r << 20;
        assert_ptr_equal(where_name(where, &module, 1, call.address + (r << 20)), first);
    }
    where_close(where);
}

/* ---- files that are not as they should be ---- */

static void copy_to(const char *path, const char *from)
{
    char command[1024];

    snprintf(command, sizeof(command), "cp '%s' '%s'", from, path);
    assert_int_equal(system(command), 0);
}

static void a_file_that_is_gone_or_no_file_is_said_by_offset(void **state)
{
    struct call call = call_at(DEBUG);

    (void)state;
    snprintf(call.module.path, sizeof(call.module.path), "%s/gone", folder);
    expect_offset(&call);
    assert_int_equal(mkfifo(call.module.path, 0600), 0);
    expect_offset(&call); /* nobody will ever write into it */
    snprintf(call.module.path, sizeof(call.module.path), "%s", folder);
    expect_offset(&call);
    snprintf(call.module.path, sizeof(call.module.path), "/etc/passwd");
    expect_offset(&call);
}

/* The build id, as readelf has it. */
static void read_id(struct weft_trace_module *module)
{
    char command[1024];
    unsigned byte;
    FILE *pipe;

    snprintf(command, sizeof(command), "readelf -n '%s' | sed -n 's/.*Build ID: //p'",
             module->path);
    pipe = popen(command, "r");
    assert_non_null(pipe);
    while (module->id_bytes < WEFT_TRACE_ID && fscanf(pipe, "%2x", &byte) == 1) {
        module->id[module->id_bytes++] = (uint8_t)byte;
    }
    pclose(pipe);
    assert_int_equal(module->id_bytes, WEFT_TRACE_ID);
}

/* As by a compiler, while ranks of the old program still run. */
static void a_file_that_was_replaced_is_not_believed(void **state)
{
    struct call call = call_at(DEBUG);
    char wanted[400];

    (void)state;
    read_id(&call.module);
    (has_dwarf ? expect_line : expect_offset)(&call);
    snprintf(call.module.path, sizeof(call.module.path), "%s/replaced", folder);
    copy_to(call.module.path, paths[SYMBOLS]);
    snprintf(wanted, sizeof(wanted), "%s+0x%lx (the file has been replaced since)",
             call.module.path, (unsigned long)(call.address - call.module.bias - 1));
    if (has_dwarf) {
        expect(&call, wanted);
    } else {
        expect_offset(&call);
    }
}

static void damage(const char *path)
{
    const int fd = open(path, O_RDWR);
    struct stat st;

    assert_true(fd >= 0 && fstat(fd, &st) == 0);
    if (rand() % 4 == 0) {
        assert_int_equal(ftruncate(fd, rand() % st.st_size), 0);
    }
    for (int i = 1 + rand() % 200; i > 0; i--) {
        const unsigned char byte = (unsigned char)rand();
        const off_t at = rand() % 3 == 0 ? rand() % 4096 : rand() % st.st_size;

        assert_int_equal(pwrite(fd, &byte, 1, at), 1);
    }
    close(fd);
}

/* Whatever libdw does with it, there is an answer. */
static void a_damaged_file_does_no_harm(void **state)
{
    struct call call = call_at(DEBUG);

    (void)state;
    srand(1);
    snprintf(call.module.path, sizeof(call.module.path), "%s/damaged", folder);
    for (int i = 0; i < DAMAGES; i++) {
        struct where *where = where_open();

        copy_to(call.module.path, paths[DEBUG]);
        damage(call.module.path);
        assert_true(where_name(where, &call.module, 1, call.address)[0] != '\0');
        where_close(where);
    }
}

/* ---- the child ---- */

static void no_server_is_asked_for_debug_information(void **state)
{
    const int fd = socket(AF_INET, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0);
    struct sockaddr_in here = {.sin_family = AF_INET,
                               .sin_addr.s_addr = htonl(INADDR_LOOPBACK)};
    socklen_t length = sizeof(here);
    struct call call = call_at(STRIPPED);
    char url[64];

    (void)state;
    assert_true(bind(fd, (struct sockaddr *)&here, length) == 0 && listen(fd, 8) == 0);
    assert_int_equal(getsockname(fd, (struct sockaddr *)&here, &length), 0);
    snprintf(url, sizeof(url), "http://127.0.0.1:%d", ntohs(here.sin_port));
    setenv("DEBUGINFOD_URLS", url, 1);
    setenv("DEBUGINFOD_CACHE_PATH", folder, 1);
    expect_offset(&call);
    assert_string_equal(getenv("DEBUGINFOD_URLS"), url); /* ours is untouched */
    assert_int_equal(accept(fd, NULL, NULL), -1);
    assert_int_equal(errno, EAGAIN);
    unsetenv("DEBUGINFOD_URLS");
    close(fd);
}

/* ---- stacks ---- */

static pid_t start(const char *path, const char *what)
{
    const pid_t pid = fork();

    if (pid == 0) {
        execl(path, path, what, (char *)NULL);
        _exit(127);
    }
    assert_true(pid > 0);
    return pid;
}

static void end(pid_t pid)
{
    kill(pid, SIGKILL);
    assert_int_equal(waitpid(pid, NULL, 0), pid);
}

/* As /proc has it. */
static char state_of(pid_t pid)
{
    char path[64];
    char state = 0;
    FILE *file;

    snprintf(path, sizeof(path), "/proc/%d/stat", (int)pid);
    file = fopen(path, "r");
    assert_non_null(file);
    assert_int_equal(fscanf(file, "%*d (%*[^)]) %c", &state), 1);
    fclose(file);
    return state;
}

/* Waits until its stack is as it will be; what is said of it in the end. */
static const char *stack_of(struct where **where, pid_t pid, const char *wanted)
{
    const char *text = "";

    for (int i = 0; i < 1000; i++) {
        *where = where_open();
        text = where_stack(*where, pid);
        if (strstr(text, wanted) != NULL) {
            break;
        }
        usleep(10000);
        if (i < 999) {
            where_close(*where);
        }
    }
    return text;
}

static void expect_stack(enum target target, const char *what, const char *wanted)
{
    const pid_t pid = start(paths[target], what);
    struct where *where;
    const char *text = stack_of(&where, pid, wanted);

    assert_non_null(strstr(text, wanted));
    assert_true(strstr(text, "main") != NULL);
    where_close(where);
    end(pid);
}

static void the_stack_of_a_process_is_said(void **state)
{
    char wanted[100];

    (void)state;
    if (!has_dwarf) {
        return;
    }
    snprintf(wanted, sizeof(wanted),
             ", called from where_target.c:%d (where_sleep), called from where_target.c:",
             line_of("/* where_sleep */"));
    expect_stack(DEBUG, "sleep", wanted);
    expect_stack(FIXED, "sleep", wanted);
    expect_stack(DEBUG, "spin", " (where_spin), called from where_target.c:");
    expect_stack(SYMBOLS, "sleep",
                 ", called from where_sleep in where_symbols, called from main in ");
}

/* A process that is let go needs the processor once, to come to its old state. */
static void await_state(pid_t pid, char wanted)
{
    for (int i = 0; i < 10000 && state_of(pid) != wanted; i++) {
        usleep(1000);
    }
    assert_int_equal(state_of(pid), wanted);
}

/* A running one runs, a sleeping one sleeps, and a stopped one is stopped. */
static void a_process_goes_on_as_before(void **state)
{
    const pid_t spinning = start(paths[DEBUG], "spin");
    const pid_t sleeping = start(paths[DEBUG], "sleep");
    const pid_t stopped = start(paths[DEBUG], "spin");
    struct where *where = where_open();

    (void)state;
    await_state(sleeping, 'S');
    kill(stopped, SIGSTOP);
    assert_int_equal(waitpid(stopped, NULL, WUNTRACED), stopped);
    for (int i = 0; i < 20; i++) {
        where_stack(where, spinning);
        where_stack(where, sleeping);
        where_stack(where, stopped);
        await_state(spinning, 'R');
        await_state(sleeping, 'S');
        await_state(stopped, 'T');
    }
    where_close(where);
    kill(stopped, SIGCONT);
    await_state(stopped, 'R');
    end(spinning);
    end(sleeping);
    end(stopped);
}

static void expect_no_stack(pid_t pid, const char *wanted)
{
    struct where *where = where_open();
    const char *text = where_stack(where, pid);

    if (!has_dwarf || strstr(text, wanted) == NULL) {
        assert_string_equal(text, has_dwarf ? wanted : "");
    }
    where_close(where);
}

static void why_there_is_no_stack_is_said(void **state)
{
    const pid_t pid = start(paths[DEBUG], "sleep");
    char wanted[100];

    (void)state;
    assert_int_equal(ptrace(PTRACE_SEIZE, pid, NULL, NULL), 0);
    snprintf(wanted, sizeof(wanted), "its stack is not read: process %d traces it",
             (int)getpid());
    expect_no_stack(pid, wanted);
    end(pid);
    expect_no_stack(pid, "its stack is not read: No such process");
}

/* As a container does that forbids it. */
static void forbid_ptrace(void)
{
    struct sock_filter filter[] = {
        BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(struct seccomp_data, nr)),
        BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, SYS_ptrace, 0, 1),
        BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ERRNO | EPERM),
        BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW),
    };
    const struct sock_fprog program = {sizeof(filter) / sizeof(filter[0]), filter};

    prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0);
    prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, &program);
}

static void who_would_allow_a_refused_ptrace_is_said(void **state)
{
    const pid_t pid = start(paths[DEBUG], "sleep");
    pid_t asking;
    int status;

    (void)state;
    await_state(pid, 'S');
    asking = fork();
    if (asking == 0) {
        struct where *where;
        const char *text;

        forbid_ptrace();
        where = where_open();
        text = where_stack(where, pid);
        _exit(has_dwarf &&
              (strncmp(text, "in system call ", 15) != 0 ||
               strstr(text, "its stack is not read: ptrace is refused; the capability "
                            "CAP_SYS_PTRACE, or kernel.yama.ptrace_scope=0, would allow "
                            "it") == NULL));
    }
    assert_int_equal(waitpid(asking, &status, 0), asking);
    assert_int_equal(status, 0);
    end(pid);
}

/* ---- what is left ---- */

static int count_files(void)
{
    const int next = dup(0);

    close(next);
    return next;
}

/* The processes that looked calls up were killed; the program's own waitpid() takes those
 * that had not ended when they were. */
static void nothing_is_left(void **state)
{
    struct call call = call_at(DEBUG);
    const int before = count_files();
    int status;

    (void)state;
    (has_dwarf ? expect_line : expect_offset)(&call);
    while (waitpid(-1, &status, 0) > 0) {
        assert_true(WIFSIGNALED(status) || WIFEXITED(status));
    }
    assert_int_equal(errno, ECHILD);
    assert_int_equal(count_files(), before);
}

int main(int argc, char **argv)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_call_has_file_line_and_function),
        cmocka_unit_test(a_call_in_a_library_has_them_too),
        cmocka_unit_test(without_debug_information_the_function_is_said),
        cmocka_unit_test(of_a_stripped_program_the_offset_is_said),
        cmocka_unit_test(debug_information_may_be_in_a_file_of_its_own),
        cmocka_unit_test(an_address_in_no_module_has_no_place),
        cmocka_unit_test(a_thousand_ranks_need_one_lookup),
        cmocka_unit_test(a_file_that_is_gone_or_no_file_is_said_by_offset),
        cmocka_unit_test(a_file_that_was_replaced_is_not_believed),
        cmocka_unit_test(a_damaged_file_does_no_harm),
        cmocka_unit_test(no_server_is_asked_for_debug_information),
        cmocka_unit_test(the_stack_of_a_process_is_said),
        cmocka_unit_test(a_process_goes_on_as_before),
        cmocka_unit_test(why_there_is_no_stack_is_said),
        cmocka_unit_test(who_would_allow_a_refused_ptrace_is_said),
        cmocka_unit_test(nothing_is_left),
    };
    char command[64];
    int failed;

    for (int i = 0; i < TARGETS && i + 1 < argc; i++) {
        paths[i] = argv[i + 1];
    }
    if (mkdtemp(folder) == NULL) {
        return 1;
    }
    failed = cmocka_run_group_tests(tests, NULL, NULL);
    snprintf(command, sizeof(command), "rm -r %s", folder);
    return system(command) != 0 ? 1 : failed;
}
