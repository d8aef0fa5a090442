/*
 * where_stack.c - the stack of a process that runs (where.h), for the child that reads
 * debug information.
 *
 * The process is seized and interrupted, its registers and the top of its stack are
 * copied, and it is let go; the copy is unwound afterwards. Seizing sends no signal: if
 * we die in between, the kernel lets the process go, and one that was stopped stays so.
 */
#include "where.h"

#include "base/library.h"

#ifndef WEFT_HAS_LIBDW

void where_say_stack(void *library, pid_t pid, char *text)
{
    (void)library;
    (void)pid;
    (void)text;
}

#else

#include <elf.h>
#include <elfutils/libdwfl.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ptrace.h>
#include <sys/uio.h>
#include <sys/user.h>
#include <sys/wait.h>
#include <unistd.h>

enum { FRAMES_SAID = 6, PAGE = 4096, PAGES = 64, BELOW = 256 };

#if defined(__x86_64__)
enum { REGISTERS = 17, STACK_POINTER = 7, COUNTER = 16 };
#elif defined(__aarch64__)
enum { REGISTERS = 32, STACK_POINTER = 31, COUNTER = 32 };
#else
enum { REGISTERS = 0, STACK_POINTER = 0, COUNTER = 0 };
#endif

static struct {
    Dwfl *(*begin)(const Dwfl_Callbacks *);
    void (*end)(Dwfl *);
    void (*report_begin)(Dwfl *);
    int (*report_process)(Dwfl *, pid_t);
    int (*report_end)(Dwfl *,
                      int (*)(Dwfl_Module *, void *, const char *, Dwarf_Addr, void *),
                      void *);
    int (*find_elf)(Dwfl_Module *, void **, const char *, Dwarf_Addr, char **, Elf **);
    int (*find_debuginfo)(Dwfl_Module *, void **, const char *, Dwarf_Addr, const char *,
                          const char *, GElf_Word, char **);
    bool (*attach)(Dwfl *, Elf *, pid_t, const Dwfl_Thread_Callbacks *, void *);
    int (*frames)(Dwfl *, pid_t, int (*)(Dwfl_Frame *, void *), void *);
    bool (*frame_pc)(Dwfl_Frame *, Dwarf_Addr *, bool *);
    bool (*set_registers)(Dwfl_Thread *, int, unsigned, const Dwarf_Word *);
    void (*set_pc)(Dwfl_Thread *, Dwarf_Word);
    Dwfl_Module *(*module_at)(Dwfl *, Dwarf_Addr);
    const char *(*symbol_at)(Dwfl_Module *, GElf_Addr, GElf_Off *, GElf_Sym *,
                             GElf_Word *, Elf **, Dwarf_Addr *);
    Elf *(*module_elf)(Dwfl_Module *, GElf_Addr *);
    const char *(*module_name)(Dwfl_Module *, void ***, Dwarf_Addr *, Dwarf_Addr *,
                               Dwarf_Addr *, Dwarf_Addr *, const char **, const char **);
} dw;

/* What is known of the process, and what is said of it. */
struct copy {
    pid_t pid;
    Dwarf_Word registers[REGISTERS + 1]; /* as DWARF numbers them; the counter last */
    uint64_t low;                        /* of the stack */
    size_t bytes;
    char stack[PAGES * PAGE];

    Dwfl *dwfl;
    char *text;
    size_t used;
    int said;
};

static bool load(void *library)
{
    const struct weft_symbol symbols[] = {
        {"dwfl_begin", &dw.begin},
        {"dwfl_end", &dw.end},
        {"dwfl_report_begin", &dw.report_begin},
        {"dwfl_linux_proc_report", &dw.report_process},
        {"dwfl_report_end", &dw.report_end},
        {"dwfl_linux_proc_find_elf", &dw.find_elf},
        {"dwfl_standard_find_debuginfo", &dw.find_debuginfo},
        {"dwfl_attach_state", &dw.attach},
        {"dwfl_getthread_frames", &dw.frames},
        {"dwfl_frame_pc", &dw.frame_pc},
        {"dwfl_thread_state_registers", &dw.set_registers},
        {"dwfl_thread_state_register_pc", &dw.set_pc},
        {"dwfl_addrmodule", &dw.module_at},
        {"dwfl_module_addrinfo", &dw.symbol_at},
        {"dwfl_module_getelf", &dw.module_elf},
        {"dwfl_module_info", &dw.module_name},
    };

    return weft_library_find(library, symbols, sizeof(symbols) / sizeof(symbols[0])) ==
           NULL;
}

/* ---- copying ---- */

static bool read_registers(struct copy *copy)
{
    struct user_regs_struct regs;
    struct iovec to = {.iov_base = &regs, .iov_len = sizeof(regs)};

    if (ptrace(PTRACE_GETREGSET, copy->pid, (void *)NT_PRSTATUS, &to) != 0) {
        return false;
    }
#if defined(__x86_64__)
    {
        const Dwarf_Word all[REGISTERS] = {
            regs.rax, regs.rdx, regs.rcx, regs.rbx, regs.rsi, regs.rdi,
            regs.rbp, regs.rsp, regs.r8,  regs.r9,  regs.r10, regs.r11,
            regs.r12, regs.r13, regs.r14, regs.r15, regs.rip,
        };

        memcpy(copy->registers, all, sizeof(all));
    }
    return true;
#elif defined(__aarch64__)
    for (int i = 0; i < 31; i++) {
        copy->registers[i] = regs.regs[i];
    }
    copy->registers[STACK_POINTER] = regs.sp;
    copy->registers[COUNTER] = regs.pc;
    return true;
#else
    return false;
#endif
}

static void read_stack(struct copy *copy)
{
    copy->low = copy->registers[STACK_POINTER] - BELOW;
    for (copy->bytes = 0; copy->bytes < sizeof(copy->stack); copy->bytes += PAGE) {
        const struct iovec to = {.iov_base = copy->stack + copy->bytes, .iov_len = PAGE};
        const struct iovec from = {.iov_base = (void *)(copy->low + copy->bytes),
                                   .iov_len = PAGE};
        const ssize_t n = process_vm_readv(copy->pid, &to, 1, &from, 1, 0);

        if (n != PAGE) {
            copy->bytes += n > 0 ? (size_t)n : 0;
            return;
        }
    }
}

/* Who traces it already; 0: nobody. */
static int tracer_of(pid_t pid)
{
    static const char name[] = "TracerPid:";
    char path[64];
    char line[256];
    int tracer = 0;
    FILE *file;

    snprintf(path, sizeof(path), "/proc/%d/status", (int)pid);
    file = fopen(path, "re");
    while (file != NULL && fgets(line, sizeof(line), file) != NULL) {
        if (strncmp(line, name, sizeof(name) - 1) == 0) {
            tracer = atoi(line + sizeof(name) - 1);
        }
    }
    if (file != NULL) {
        fclose(file);
    }
    return tracer;
}

/* The system call in which it sleeps, where that may be known; -1: none. */
static long system_call_of(pid_t pid)
{
    char path[64];
    long number = -1;
    FILE *file;

    snprintf(path, sizeof(path), "/proc/%d/syscall", (int)pid);
    file = fopen(path, "re");
    if (file != NULL) {
        if (fscanf(file, "%ld", &number) != 1) {
            number = -1;
        }
        fclose(file);
    }
    return number;
}

static void say_refused(const struct copy *copy, int error)
{
    const int tracer = tracer_of(copy->pid);
    const long number = system_call_of(copy->pid);
    char call[64] = "";

    if (number >= 0) {
        snprintf(call, sizeof(call), "in system call %ld; ", number);
    }
    if (tracer > 0) {
        snprintf(copy->text, WHERE_TEXT,
                 "%sits stack is not read: process %d traces it, as a debugger does",
                 call, tracer);
    } else if (error == EPERM || error == EACCES) {
        snprintf(copy->text, WHERE_TEXT,
                 "%sits stack is not read: ptrace is refused; the capability "
                 "CAP_SYS_PTRACE, or kernel.yama.ptrace_scope=0, would allow it",
                 call);
    } else {
        snprintf(copy->text, WHERE_TEXT, "its stack is not read: %s", strerror(error));
    }
}

/* Holds the process for as long as it takes to copy what is wanted of it. */
static bool take_copy(struct copy *copy)
{
    bool is_taken = false;
    int status = 0;

    if (ptrace(PTRACE_SEIZE, copy->pid, NULL, NULL) != 0) {
        say_refused(copy, errno);
        return false;
    }
    if (ptrace(PTRACE_INTERRUPT, copy->pid, NULL, NULL) == 0 &&
        waitpid(copy->pid, &status, __WALL) == copy->pid && WIFSTOPPED(status)) {
        is_taken = read_registers(copy);
        if (is_taken) {
            read_stack(copy);
        }
        /* A signal that came in this moment is not lost. */
        ptrace(PTRACE_DETACH, copy->pid, NULL,
               (void *)(status >> 16 == 0 ? (long)WSTOPSIG(status) : 0));
    }
    return is_taken;
}

/* ---- unwinding ---- */

static pid_t next_thread(Dwfl *dwfl, void *owner, void **thread)
{
    const struct copy *copy = owner;

    (void)dwfl;
    if (*thread != NULL) {
        return 0;
    }
    *thread = owner;
    return copy->pid;
}

static bool read_memory(Dwfl *dwfl, Dwarf_Addr address, Dwarf_Word *result, void *owner)
{
    const struct copy *copy = owner;

    (void)dwfl;
    if (address < copy->low || copy->bytes < sizeof(*result) ||
        address - copy->low > copy->bytes - sizeof(*result)) {
        return false;
    }
    memcpy(result, copy->stack + (address - copy->low), sizeof(*result));
    return true;
}

static bool set_registers(Dwfl_Thread *thread, void *owner)
{
    const struct copy *copy = owner;

    if (COUNTER == REGISTERS) { /* it has no number among them */
        dw.set_pc(thread, copy->registers[COUNTER]);
    }
    return dw.set_registers(thread, 0, REGISTERS, copy->registers);
}

static void name_frame(Dwfl_Module *module, Dwarf_Addr address, char *text)
{
    const char *symbol =
        dw.symbol_at(module, address, &(GElf_Off){0}, &(GElf_Sym){0}, NULL, NULL, NULL);
    Dwarf_Addr bias = 0;
    const char *path = dw.module_name(module, NULL, NULL, NULL, NULL, NULL, NULL, NULL);
    const char *slash = path != NULL ? strrchr(path, '/') : NULL;
    const char *file = slash != NULL ? slash + 1 : path != NULL ? path : "?";

    (void)dw.module_elf(module, &bias);
    if (symbol != NULL && symbol[0] != '\0') {
        snprintf(text, WHERE_TEXT, "%.80s in %.80s", symbol, file);
    } else {
        snprintf(text, WHERE_TEXT, "%.80s+0x%llx", file,
                 (unsigned long long)(address - bias));
    }
}

static bool is_main(const char *text)
{
    return strstr(text, "(main)") != NULL || strncmp(text, "main in ", 8) == 0;
}

static int on_frame(Dwfl_Frame *frame, void *owner)
{
    struct copy *copy = owner;
    char text[WHERE_TEXT] = "";
    Dwfl_Module *module;
    bool is_innermost = false;
    Dwarf_Addr pc;
    int n;

    if (!dw.frame_pc(frame, &pc, &is_innermost) || pc == 0) {
        return DWARF_CB_ABORT;
    }
    pc -= is_innermost ? 0 : 1;
    module = dw.module_at(copy->dwfl, pc);
    if (module == NULL) {
        snprintf(text, sizeof(text), "0x%llx in no file", (unsigned long long)pc);
    } else if (!where_say_line(module, pc, text)) {
        name_frame(module, pc, text);
    }
    n = snprintf(copy->text + copy->used, WHERE_TEXT - copy->used, "%s%.100s",
                 copy->said > 0 ? ", called from " : "", text);
    if (copy->used + (size_t)n >= WHERE_TEXT) {
        copy->text[copy->used] = '\0';
        return DWARF_CB_ABORT;
    }
    copy->used += (size_t)n;
    copy->said++;
    return copy->said == FRAMES_SAID || is_main(text) ? DWARF_CB_ABORT : DWARF_CB_OK;
}

static void unwind(struct copy *copy)
{
    static const Dwfl_Thread_Callbacks threads = {
        .next_thread = next_thread,
        .memory_read = read_memory,
        .set_initial_registers = set_registers,
    };
    static Dwfl_Callbacks callbacks;

    callbacks.find_elf = dw.find_elf;
    callbacks.find_debuginfo = dw.find_debuginfo;
    copy->dwfl = dw.begin(&callbacks);
    if (copy->dwfl == NULL) {
        return;
    }
    dw.report_begin(copy->dwfl);
    if (dw.report_process(copy->dwfl, copy->pid) == 0 &&
        dw.report_end(copy->dwfl, NULL, NULL) == 0 &&
        dw.attach(copy->dwfl, NULL, copy->pid, &threads, copy)) {
        (void)dw.frames(copy->dwfl, copy->pid, on_frame, copy);
    }
    dw.end(copy->dwfl);
}

void where_say_stack(void *library, pid_t pid, char *text)
{
    static struct copy copy;

    memset(&copy, 0, sizeof(copy));
    copy.pid = pid;
    copy.text = text;
    if (load(library) && REGISTERS > 0 && take_copy(&copy)) {
        unwind(&copy);
    }
}

#endif
