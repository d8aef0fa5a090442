/*
 * where_target.c - a program, and a library, that says where one of its calls is:
 * test_where.c looks it up. With the path of a library it lets that say so; with "sleep"
 * or "spin" it stays, in a function of that name, for whoever looks at its stack.
 */
#include <dlfcn.h>
#include <link.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

struct here {
    uint64_t address;
    int line;
};

void where_exchange(void);

__attribute__((noinline)) static uint64_t return_address(void)
{
    return (uint64_t)(uintptr_t)__builtin_return_address(0);
}

static int print_module(struct dl_phdr_info *info, size_t size, void *arg)
{
    const uint64_t address = *(const uint64_t *)arg;

    (void)size;
    for (int i = 0; i < info->dlpi_phnum; i++) {
        const ElfW(Phdr) *part = &info->dlpi_phdr[i];
        const uint64_t low = info->dlpi_addr + part->p_vaddr;

        if (part->p_type == PT_LOAD && address >= low && address < low + part->p_memsz) {
            printf("%lx %lx %lx ", (unsigned long)low,
                   (unsigned long)(low + part->p_memsz), (unsigned long)info->dlpi_addr);
            return 1;
        }
    }
    return 0;
}

static void say(const struct here *here)
{
    uint64_t address = here->address;

    dl_iterate_phdr(print_module, &address);
    printf("%lx %d\n", (unsigned long)address, here->line);
}

__attribute__((noinline)) void where_exchange(void)
{
    const struct here here = {return_address(), __LINE__};

    say(&here);
}

static volatile unsigned long turns;

__attribute__((noinline)) static void where_sleep(void)
{
    while (turns == 0) {
        pause(); /* where_sleep */
    }
}

__attribute__((noinline)) static void where_spin(void)
{
    while (turns + 1 > 0) {
        turns++; /* where_spin */
    }
}

int main(int argc, char **argv)
{
    void (*exchange)(void) = where_exchange;
    void *library = argc > 1 ? dlopen(argv[1], RTLD_NOW) : NULL;

    if (argc > 1 && strcmp(argv[1], "sleep") == 0) {
        where_sleep();
    } else if (argc > 1 && strcmp(argv[1], "spin") == 0) {
        where_spin();
    }

    if (library != NULL) {
        *(void **)(void *)&exchange = dlsym(library, "where_exchange");
    }
    exchange();
    return 0;
}
