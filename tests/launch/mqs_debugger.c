/*
 * mqs_debugger.c - a debugger in small that shows the message queues of a process.
 *
 *   mqs_debugger LIBRARY PID            stops the process, prints its queues, lets it go
 *   mqs_debugger LIBRARY PID garbage N  reads them N times with random bits wrong, in
 *                                       ever other places, and prints how often it got
 *                                       queues at all; other limits are the library's
 *   mqs_debugger LIBRARY PID dead       kills the process once it has been found
 *
 * It knows the library only by the interface (queues/mqs.h), and Weft not at all: symbols
 * come from the file of libmpi_abi.so, memory from /proc.
 */
#include "mqs.h"

#include <dlfcn.h>
#include <elf.h>
#include <fcntl.h>
#include <signal.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/ptrace.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

/* The library's functions. */
static struct {
    void (*basic)(const mqs_basic_callbacks *callbacks);
    int (*compatibility)(void);
    int (*width)(void);
    int (*setup_image)(mqs_image *image, const mqs_image_callbacks *callbacks);
    int (*image_has)(mqs_image *image, char **message);
    void (*destroy_image)(mqs_image_info *info);
    int (*setup_process)(mqs_process *process, const mqs_process_callbacks *callbacks);
    int (*process_has)(mqs_process *process, char **message);
    void (*destroy_process)(mqs_process_info *info);
    int (*update)(mqs_process *process);
    int (*first_comm)(mqs_process *process);
    int (*get_comm)(mqs_process *process, mqs_communicator *out);
    int (*get_group)(mqs_process *process, int *ranks);
    int (*next_comm)(mqs_process *process);
    int (*first_operation)(mqs_process *process, int which);
    int (*next_operation)(mqs_process *process, mqs_pending_operation *out);
} dll;

static pid_t pid;
static int memory;
static char library[4096]; /* libmpi_abi.so, as the process has it */
static uint64_t base;      /* where it is there */
static mqs_image_info *image_info;
static mqs_process_info *process_info;
static uint64_t garbage; /* state of the random numbers; 0: all bits are right */

static void fail(const char *what)
{
    fprintf(stderr, "mqs_debugger: %s\n", what);
    exit(1);
}

/* ---- callbacks ---- */

static uint64_t draw(void)
{
    garbage ^= garbage << 13;
    garbage ^= garbage >> 7;
    garbage ^= garbage << 17;
    return garbage;
}

static int fetch(mqs_process *process, mqs_taddr_t from, int bytes, void *to)
{
    (void)process;
    if (bytes < 0 || pread(memory, to, (size_t)bytes, (off_t)from) != bytes) {
        return mqs_first_user_code;
    }
    if (garbage != 0 && draw() % 16 == 0 && bytes > 0) {
        ((uint8_t *)to)[draw() % (uint64_t)bytes] ^= (uint8_t)(1u << draw() % 8);
    }
    return mqs_ok;
}

static void to_host(mqs_process *process, const void *from, void *to, int bytes)
{
    (void)process;
    memcpy(to, from, (size_t)bytes);
}

/* The value of a symbol in the dynamic symbol table of the library's file. */
static uint64_t find_in_file(const char *name)
{
    const int fd = open(library, O_RDONLY);
    struct stat st;
    const char *file;
    const Elf64_Ehdr *head;
    const Elf64_Shdr *sections;
    uint64_t found = 0;

    if (fd < 0 || fstat(fd, &st) != 0) {
        fail("libmpi_abi.so cannot be read");
    }
    file = mmap(NULL, (size_t)st.st_size, PROT_READ, MAP_PRIVATE, fd, 0);
    if (file == MAP_FAILED) {
        fail("libmpi_abi.so cannot be mapped");
    }
    head = (const Elf64_Ehdr *)(const void *)file;
    sections = (const Elf64_Shdr *)(const void *)(file + head->e_shoff);
    for (int i = 0; i < head->e_shnum; i++) {
        const Elf64_Sym *s =
            (const Elf64_Sym *)(const void *)(file + sections[i].sh_offset);

        for (uint64_t n = 0;
             sections[i].sh_type == SHT_DYNSYM && n < sections[i].sh_size / sizeof(*s);
             n++) {
            if (strcmp(file + sections[sections[i].sh_link].sh_offset + s[n].st_name,
                       name) == 0) {
                found = s[n].st_value;
            }
        }
    }
    munmap((void *)(uintptr_t)file, (size_t)st.st_size);
    close(fd);
    return found;
}

static int find_symbol(mqs_image *image, char *name, mqs_taddr_t *address)
{
    const uint64_t value = find_in_file(name);

    (void)image;
    *address = base + value;
    return value != 0 ? mqs_ok : mqs_first_user_code;
}

static void get_sizes(mqs_process *process, mqs_target_type_sizes *sizes)
{
    (void)process;
    *sizes = (mqs_target_type_sizes){sizeof(short), sizeof(int), sizeof(long),
                                     sizeof(long long), sizeof(void *)};
}

static void put_image(mqs_image *image, mqs_image_info *info)
{
    (void)image;
    image_info = info;
}

static mqs_image_info *get_image_info(mqs_image *image)
{
    (void)image;
    return image_info;
}

static void put_process(mqs_process *process, mqs_process_info *info)
{
    (void)process;
    process_info = info;
}

static mqs_process_info *get_process_info(mqs_process *process)
{
    (void)process;
    return process_info;
}

static mqs_image *get_image(mqs_process *process)
{
    return (mqs_image *)process;
}

static void print(const char *text)
{
    fputs(text, stderr);
}

static const mqs_basic_callbacks basic_callbacks = {
    .mqs_malloc_fp = malloc,
    .mqs_free_fp = free,
    .mqs_dprints_fp = print,
    .mqs_put_image_info_fp = put_image,
    .mqs_get_image_info_fp = get_image_info,
    .mqs_put_process_info_fp = put_process,
    .mqs_get_process_info_fp = get_process_info,
};
static const mqs_image_callbacks image_callbacks = {
    .mqs_get_type_sizes_fp = get_sizes,
    .mqs_find_symbol_fp = find_symbol,
};
static const mqs_process_callbacks process_callbacks = {
    .mqs_get_image_fp = get_image,
    .mqs_fetch_data_fp = fetch,
    .mqs_target_to_host_fp = to_host,
};

/* ---- the library and the process ---- */

static void *need(void *handle, const char *name)
{
    void *found = dlsym(handle, name);

    if (found == NULL) {
        fail(name);
    }
    return found;
}

static void load(const char *path)
{
    void *handle = dlopen(path, RTLD_NOW | RTLD_LOCAL);

    if (handle == NULL) {
        fail(dlerror());
    }
    *(void **)&dll.basic = need(handle, "mqs_setup_basic_callbacks");
    *(void **)&dll.compatibility = need(handle, "mqs_version_compatibility");
    *(void **)&dll.width = need(handle, "mqs_dll_taddr_width");
    *(void **)&dll.setup_image = need(handle, "mqs_setup_image");
    *(void **)&dll.image_has = need(handle, "mqs_image_has_queues");
    *(void **)&dll.destroy_image = need(handle, "mqs_destroy_image_info");
    *(void **)&dll.setup_process = need(handle, "mqs_setup_process");
    *(void **)&dll.process_has = need(handle, "mqs_process_has_queues");
    *(void **)&dll.destroy_process = need(handle, "mqs_destroy_process_info");
    *(void **)&dll.update = need(handle, "mqs_update_communicator_list");
    *(void **)&dll.first_comm = need(handle, "mqs_setup_communicator_iterator");
    *(void **)&dll.get_comm = need(handle, "mqs_get_communicator");
    *(void **)&dll.get_group = need(handle, "mqs_get_comm_group");
    *(void **)&dll.next_comm = need(handle, "mqs_next_communicator");
    *(void **)&dll.first_operation = need(handle, "mqs_setup_operation_iterator");
    *(void **)&dll.next_operation = need(handle, "mqs_next_operation");
    dll.basic(&basic_callbacks);
    if (dll.compatibility() != MQS_INTERFACE_COMPATIBILITY ||
        dll.width() != sizeof(mqs_taddr_t)) {
        fail("another version of the interface");
    }
}

static void find_library(void)
{
    char path[64];
    char line[8192];
    FILE *maps;

    snprintf(path, sizeof(path), "/proc/%d/maps", pid);
    maps = fopen(path, "r");
    while (maps != NULL && base == 0 && fgets(line, sizeof(line), maps) != NULL) {
        if (strstr(line, "/libmpi_abi.so") != NULL) {
            base = strtoull(line, NULL, 16);
            snprintf(library, sizeof(library), "%s", strchr(line, '/'));
            library[strcspn(library, "\n")] = '\0';
        }
    }
    if (base == 0) {
        fail("the process has no libmpi_abi.so");
    }
    fclose(maps);
}

/* ---- what is printed ---- */

static void show_operation(int which, const mqs_pending_operation *o)
{
    static const char *const words[] = {"send to", "receive from", "message from"};

    printf("  %s ", words[which]);
    if (o->desired_local_rank < 0) {
        printf("any");
    } else {
        printf("%ld (%ld)", o->desired_local_rank, o->desired_global_rank);
    }
    if (o->tag_wild) {
        printf(", any tag");
    } else {
        printf(", tag %ld", o->desired_tag);
    }
    printf(", %ld bytes, %s\n", o->desired_length, o->extra_text[0]);
}

static void show_comm(mqs_process *process, bool is_quiet)
{
    mqs_communicator comm;
    int *ranks;

    if (dll.get_comm(process, &comm) != mqs_ok || comm.size < 0) {
        fail("no communicator");
    }
    ranks = calloc((size_t)comm.size + 1, sizeof(*ranks));
    if (ranks == NULL || dll.get_group(process, ranks) != mqs_ok) {
        fail("no group");
    }
    if (!is_quiet) {
        printf("%.64s: %ld of %ld:", comm.name, comm.local_rank, comm.size);
        for (int r = 0; r < comm.size; r++) {
            printf(" %d", ranks[r]);
        }
        printf("\n");
    }
    free(ranks);
    for (int which = mqs_pending_sends; which <= mqs_unexpected_messages; which++) {
        mqs_pending_operation operation;
        int code = dll.first_operation(process, which);

        while (code == mqs_ok && dll.next_operation(process, &operation) == mqs_ok) {
            if (!is_quiet) {
                show_operation(which, &operation);
            }
        }
    }
}

/* True if there were queues to show. */
static bool show(bool is_quiet)
{
    mqs_process *process = (mqs_process *)(void *)&pid;
    mqs_image *image = (mqs_image *)process;
    char *why = NULL;
    bool is_there;

    if (dll.setup_image(image, &image_callbacks) != mqs_ok ||
        dll.image_has(image, &why) != mqs_ok ||
        dll.setup_process(process, &process_callbacks) != mqs_ok) {
        fail("the library cannot be set up");
    }
    is_there = dll.process_has(process, &why) == mqs_ok && dll.update(process) == mqs_ok;
    if (!is_there && !is_quiet) {
        printf("no queues: %s\n", why != NULL ? why : "?");
    }
    for (int code = is_there ? dll.first_comm(process) : mqs_end_of_list; code == mqs_ok;
         code = dll.next_comm(process)) {
        show_comm(process, is_quiet);
    }
    dll.destroy_process(process_info);
    dll.destroy_image(image_info);
    return is_there;
}

int main(int argc, char **argv)
{
    char path[64];
    int status;

    if (argc < 3) {
        fail("LIBRARY PID [garbage N | dead]");
    }
    pid = atoi(argv[2]);
    load(argv[1]);
    if (ptrace(PTRACE_ATTACH, pid, NULL, NULL) != 0 || waitpid(pid, &status, 0) != pid) {
        fail("the process cannot be stopped");
    }
    snprintf(path, sizeof(path), "/proc/%d/mem", pid);
    memory = open(path, O_RDONLY);
    find_library();
    if (argc > 3 && strcmp(argv[3], "dead") == 0) {
        kill(pid, SIGKILL);
        while (waitpid(pid, &status, 0) == pid && !WIFSIGNALED(status)) {
        }
    }
    if (argc > 4 && strcmp(argv[3], "garbage") == 0) {
        int count = 0;

        for (int i = 1; i <= atoi(argv[4]); i++) {
            garbage = (uint64_t)i * UINT64_C(0x9e3779b97f4a7c15);
            count += show(true) ? 1 : 0;
        }
        printf("queues in %d of %s\n", count, argv[4]);
    } else {
        mqs_taddr_t name;
        char text[256] = "";

        show(false);
        if (find_symbol(NULL, "MPIR_dll_name", &name) == mqs_ok &&
            fetch(NULL, name, sizeof(text) - 1, text) == mqs_ok) {
            printf("library %s\n", text);
        }
    }
    ptrace(PTRACE_DETACH, pid, NULL, NULL);
    return 0;
}
