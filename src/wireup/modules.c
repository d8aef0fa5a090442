#include "wireup/modules.h"

#include <link.h>
#include <string.h>
#include <unistd.h>

struct search {
    struct weft_trace *trace;
    struct weft_trace_module modules[WEFT_TRACE_MODULES];
    uint32_t count;
    bool are_callers; /* first those that have called MPI of late, then the others */
    bool is_old;      /* nothing has come or gone */
    uint64_t changes; /* loads and unloads, the table's first */
};

static struct weft_trace *open_trace; /* NULL: none */

/* Loads and unloads of which the table tells, and whether somebody writes it. */
static _Atomic uint64_t written;
static atomic_flag is_busy = ATOMIC_FLAG_INIT;

/* Has a call been recorded that returns there? */
static bool is_caller(const struct weft_trace *trace,
                      const struct weft_trace_module *module)
{
    for (int i = 0; i < WEFT_TRACE_EVENTS; i++) {
        const struct weft_trace_event event = {
            .where = atomic_load_explicit(&trace->events[i].where, memory_order_relaxed)};
        const uint64_t address = weft_trace_address(&event);

        if (event.where == 0) {
            return false; /* the ring's first lap: nothing is behind */
        }
        if (address >= module->low && address < module->high) {
            return true;
        }
    }
    return false;
}

/* The build id, among the notes of an object. */
static void read_id(const char *notes, size_t size, struct weft_trace_module *module)
{
    const size_t name = sizeof(ELF_NOTE_GNU);
    size_t at = 0;

    while (size - at >= sizeof(ElfW(Nhdr))) {
        const ElfW(Nhdr) *note = (const void *)(notes + at);
        const size_t begin = at + sizeof(*note) + ((size_t)note->n_namesz + 3) / 4 * 4;
        const size_t end = begin + ((size_t)note->n_descsz + 3) / 4 * 4;

        if (end > size) {
            return;
        }
        if (note->n_type == NT_GNU_BUILD_ID && note->n_namesz == name &&
            memcmp(note + 1, ELF_NOTE_GNU, name) == 0) {
            module->id_bytes =
                note->n_descsz < WEFT_TRACE_ID ? note->n_descsz : WEFT_TRACE_ID;
            memcpy(module->id, notes + begin, module->id_bytes);
        }
        at = end;
    }
}

/* The executable part of an object; nothing for the kernel's own. */
static bool read_object(const struct dl_phdr_info *info, struct weft_trace_module *module)
{
    *module = (struct weft_trace_module){.low = UINT64_MAX, .bias = info->dlpi_addr};
    for (int i = 0; i < info->dlpi_phnum; i++) {
        const ElfW(Phdr) *part = &info->dlpi_phdr[i];
        const uint64_t low = info->dlpi_addr + part->p_vaddr;

        if (part->p_type == PT_LOAD && (part->p_flags & PF_X) != 0) {
            module->low = low < module->low ? low : module->low;
            module->high =
                low + part->p_memsz > module->high ? low + part->p_memsz : module->high;
        } else if (part->p_type == PT_NOTE) {
            read_id((const char *)low, part->p_memsz, module);
        }
    }
    if (info->dlpi_name[0] == '\0') { /* the program */
        return readlink("/proc/self/exe", module->path, sizeof(module->path) - 1) > 0 &&
               module->low < module->high;
    }
    strncpy(module->path, info->dlpi_name, sizeof(module->path) - 1);
    return strchr(module->path, '/') != NULL && module->low < module->high;
}

static int look(struct dl_phdr_info *info, size_t size, void *owner)
{
    struct search *s = owner;
    const bool is_program = info->dlpi_name[0] == '\0';
    struct weft_trace_module module;

    (void)size;
    s->changes = 1 + info->dlpi_adds + info->dlpi_subs;
    s->is_old = s->changes == atomic_load_explicit(&written, memory_order_relaxed);
    if (s->is_old || s->count == WEFT_TRACE_MODULES) {
        return 1;
    }
    if (read_object(info, &module) &&
        (is_program || is_caller(s->trace, &module)) == s->are_callers) {
        s->modules[s->count++] = module;
    }
    return 0;
}

void weft_modules_refresh(void)
{
    /* Threads of the program come here, whose stacks may have no room for it. */
    static struct search s;
    struct weft_trace *trace = open_trace;

    if (trace == NULL ||
        atomic_flag_test_and_set_explicit(&is_busy, memory_order_acquire)) {
        return; /* another thread writes the same */
    }
    s.trace = trace;
    s.is_old = false;
    s.count = 0;
    s.are_callers = true;
    dl_iterate_phdr(look, &s);
    if (!s.is_old) {
        s.are_callers = false;
        dl_iterate_phdr(look, &s);
        weft_trace_write_modules(trace, s.modules, s.count);
        atomic_store_explicit(&written, s.changes, memory_order_relaxed);
    }
    atomic_flag_clear_explicit(&is_busy, memory_order_release);
}

void weft_modules_open(struct weft_trace *trace)
{
    open_trace = trace;
    weft_modules_refresh();
}
