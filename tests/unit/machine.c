#include "machine.h"

#include <stdio.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <unistd.h>

/* What is being written: a machine, and the next number of an object. */
struct writing {
    FILE *to;
    const struct machine *machine;
    int next;
};

static const struct machine *in_use;
static int file = -1;

/* Also in a build without assertions. */
static void check(bool is_so)
{
    if (!is_so) {
        abort();
    }
}

static int all_cores(const struct machine *m)
{
    return m->sockets * m->numa * (m->caches > 0 ? m->caches : 1) * m->cores;
}

void machine_read_list(const char *list, cpu_set_t *set)
{
    while (*list != '\0') {
        char *end;
        const unsigned long first = strtoul(list, &end, 10);
        const unsigned long last = *end == '-' ? strtoul(end + 1, &end, 10) : first;

        check(end != list && last < CPU_SETSIZE && (*end == ',' || *end == '\0'));
        for (unsigned long c = first; c <= last; c++) {
            CPU_SET(c, set);
        }
        list = *end == ',' ? end + 1 : end;
    }
}

/* The processors of cores `first` to `first + count - 1`. */
static cpu_set_t of_cores(const struct machine *m, int first, int count)
{
    cpu_set_t set;

    CPU_ZERO(&set);
    for (int t = 0; t < m->threads; t++) {
        for (int c = first; c < first + count; c++) {
            CPU_SET((size_t)(c + t * all_cores(m)), &set);
        }
    }
    return set;
}

/* hwloc's form: words of 32 bits, the highest first. */
static void write_set(FILE *to, const char *name, const cpu_set_t *set)
{
    fprintf(to, " %s=\"", name);
    for (int word = CPU_SETSIZE / 32 - 1; word >= 0; word--) {
        unsigned bits = 0;

        for (int b = 0; b < 32; b++) {
            bits |= CPU_ISSET((size_t)(32 * word + b), set) ? 1U << b : 0;
        }
        fprintf(to, "0x%08x%s", bits, word > 0 ? "," : "");
    }
    fprintf(to, "\"");
}

/* Begins an object with these cores; the caller ends it. */
static void begin(struct writing *w, const char *type, int number, int first, int count)
{
    const cpu_set_t set = of_cores(w->machine, first, count);
    cpu_set_t nodes;
    const int each = all_cores(w->machine) / (w->machine->sockets * w->machine->numa);

    CPU_ZERO(&nodes);
    for (int n = first / each; n <= (first + count - 1) / each; n++) {
        CPU_SET((size_t)n, &nodes);
    }
    fprintf(w->to, "<object type=\"%s\" os_index=\"%d\"", type, number);
    write_set(w->to, "cpuset", &set);
    write_set(w->to, "complete_cpuset", &set);
    write_set(w->to, "nodeset", &nodes);
    write_set(w->to, "complete_nodeset", &nodes);
    fprintf(w->to, " gp_index=\"%d\"", ++w->next);
}

static void write_core(struct writing *w, int core)
{
    begin(w, "Core", core, core, 1);
    fprintf(w->to, ">\n");
    for (int t = 0; t < w->machine->threads; t++) {
        cpu_set_t one;
        const int number = core + t * all_cores(w->machine);

        CPU_ZERO(&one);
        CPU_SET((size_t)number, &one);
        fprintf(w->to, "<object type=\"PU\" os_index=\"%d\"", number);
        write_set(w->to, "cpuset", &one);
        write_set(w->to, "complete_cpuset", &one);
        fprintf(w->to, " gp_index=\"%d\"/>\n", ++w->next);
    }
    fprintf(w->to, "</object>\n");
}

static void write_numa(struct writing *w, int node)
{
    const struct machine *m = w->machine;
    const int each = all_cores(m) / (m->sockets * m->numa);

    begin(w, "Group", node, node * each, each);
    fprintf(w->to, " kind=\"1001\" subkind=\"0\">\n");
    begin(w, "NUMANode", node, node * each, each);
    fprintf(w->to, " local_memory=\"1073741824\"/>\n");
    for (int c = node * each; c < (node + 1) * each; c++) {
        if (m->caches > 0 && c % m->cores == 0) {
            begin(w, "L3Cache", c / m->cores, c, m->cores);
            fprintf(w->to, " cache_size=\"33554432\" depth=\"3\" cache_linesize=\"64\" "
                           "cache_associativity=\"16\" cache_type=\"0\">\n");
        }
        write_core(w, c);
        if (m->caches > 0 && c % m->cores == m->cores - 1) {
            fprintf(w->to, "</object>\n");
        }
    }
    fprintf(w->to, "</object>\n");
}

static void write_machine(struct writing *w)
{
    const struct machine *m = w->machine;
    const int each = all_cores(m) / m->sockets;
    cpu_set_t allowed = of_cores(m, 0, all_cores(m));

    if (m->allowed != NULL) {
        CPU_ZERO(&allowed);
        machine_read_list(m->allowed, &allowed);
    }
    fprintf(w->to, "<?xml version=\"1.0\" encoding=\"UTF-8\"?>\n"
                   "<!DOCTYPE topology SYSTEM \"hwloc2.dtd\">\n"
                   "<topology version=\"2.0\">\n");
    begin(w, "Machine", 0, 0, all_cores(m));
    write_set(w->to, "allowed_cpuset", &allowed);
    fprintf(w->to, " allowed_nodeset=\"0x%08x\">\n", (1U << (m->sockets * m->numa)) - 1);
    for (int s = 0; s < m->sockets; s++) {
        begin(w, "Package", s, s * each, each);
        fprintf(w->to, ">\n");
        for (int n = 0; n < m->numa; n++) {
            write_numa(w, s * m->numa + n);
        }
        fprintf(w->to, "</object>\n");
    }
    fprintf(w->to, "</object>\n</topology>\n");
}

void machine_use(const struct machine *machine)
{
    struct writing writing = {.machine = machine};
    char path[64];

    in_use = machine;
    unsetenv("HWLOC_XMLFILE");
    if (file >= 0) {
        close(file);
        file = -1;
    }
    if (machine == NULL) {
        return;
    }
    file = memfd_create("machine", MFD_CLOEXEC);
    check(file >= 0);
    writing.to = fdopen(dup(file), "w");
    check(writing.to != NULL);
    write_machine(&writing);
    fclose(writing.to);
    snprintf(path, sizeof(path), "/proc/self/fd/%d", file);
    setenv("HWLOC_XMLFILE", path, 1);
}

void machine_affinity(cpu_set_t *set)
{
    const char *list = in_use->affinity != NULL ? in_use->affinity : in_use->allowed;

    CPU_ZERO(set);
    if (list != NULL) {
        machine_read_list(list, set);
    } else {
        *set = of_cores(in_use, 0, all_cores(in_use));
    }
}
