#include "allocation.h"

#include "plan.h"
#include "texts.h"

#include <errno.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

enum found { NOT_THERE, FOUND, UNREADABLE };

static const char *value_of(const char *name)
{
    const char *value = getenv(name);

    return value != NULL && value[0] != '\0' ? value : NULL;
}

/* A variable that holds a number; 0 if it does not. */
static int number_of(const char *name)
{
    const char *value = value_of(name);

    return value != NULL ? atoi(value) : 0;
}

/*
 * Batch systems may name a host with its domain where the host itself does not; then it
 * is this one, under its own name.
 */
static const char *own_name(const char *name, char *own, size_t size)
{
    const size_t length = strcspn(name, ".");

    own[0] = '\0';
    gethostname(own, size - 1);
    own[size - 1] = '\0';
    return name[length] == '.' && strlen(own) == length && strncmp(own, name, length) == 0
               ? own
               : name;
}

static bool add(struct hosts *hosts, const char *name, const char *slots)
{
    char own[HOST_NAME_MAX + 1];
    int number;

    name = own_name(name, own, sizeof(own));
    return hosts_read_slots(slots, name, &number) && hosts_add(hosts, name, number, 0);
}

/* Adds the hosts of a file; `has_slots`: the second word of a line says how many. */
static enum found read_file(struct hosts *hosts, const char *variable, bool has_slots)
{
    const char *path = value_of(variable);
    FILE *file = path != NULL ? fopen(path, "re") : NULL;
    char *line = NULL;
    size_t size = 0;
    bool is_good = true;

    if (file == NULL) {
        fprintf(stderr, "%s: %s=%s: %s\n", program_name, variable, path, strerror(errno));
        return UNREADABLE;
    }
    while (is_good && getline(&line, &size, file) >= 0) {
        char *rest;
        const char *name = strtok_r(line, " \t\r\n", &rest);
        const char *slots = name != NULL ? strtok_r(NULL, " \t\r\n", &rest) : NULL;

        if (name != NULL) {
            is_good = add(hosts, name, has_slots && slots != NULL ? slots : "1");
        }
    }
    free(line);
    fclose(file);
    return is_good ? FOUND : UNREADABLE;
}

/* Adds the hosts of a text; `has_slots`: each is followed by its number of slots. */
static enum found read_words(struct hosts *hosts, const char *text, bool has_slots)
{
    char *copy = strdup(text);
    bool is_good = copy != NULL;

    for (char *rest, *name = is_good ? strtok_r(copy, " ", &rest) : NULL;
         is_good && name != NULL; name = strtok_r(NULL, " ", &rest)) {
        const char *slots = has_slots ? strtok_r(NULL, " ", &rest) : "1";

        is_good = slots != NULL && add(hosts, name, slots);
    }
    free(copy);
    return is_good ? FOUND : UNREADABLE;
}

/* ---- one function for each batch system ---- */

/* A task of a job of Flux has its part alone, as a step of Slurm does. */
static enum found look_for_flux(struct hosts *hosts)
{
    char *nodes = NULL;
    size_t size = 0;
    ssize_t n = -1;
    FILE *answer;
    bool is_good;

    if (value_of("FLUX_URI") == NULL || value_of("FLUX_TASK_RANK") != NULL) {
        return NOT_THERE;
    }
    answer = popen("flux getattr hostlist", "re");
    if (answer != NULL) {
        n = getline(&nodes, &size, answer);
        pclose(answer);
    }
    if (n > 0) {
        nodes[strcspn(nodes, "\r\n")] = '\0';
    }
    is_good = n > 0 && nodes[0] != '\0' && hosts_add_nodes(hosts, nodes, NULL);
    free(nodes);
    return is_good ? FOUND : UNREADABLE;
}

/*
 * A task of a step has its part of the allocation and no right to the rest. The shell
 * that salloc may start on a node is a step too, with a number of its own kind.
 */
static bool is_in_step(void)
{
    const char *step = getenv("SLURM_STEP_ID");

    return step != NULL && strtoul(step, NULL, 10) < 4294967280ul;
}

bool allocation_add_component(struct hosts *hosts, int number)
{
    char nodes_name[64];
    char tasks_name[64];
    const char *nodes;
    const char *tasks;

    snprintf(nodes_name, sizeof(nodes_name), "SLURM_JOB_NODELIST_HET_GROUP_%d", number);
    snprintf(tasks_name, sizeof(tasks_name), "SLURM_TASKS_PER_NODE_HET_GROUP_%d", number);
    nodes = value_of(nodes_name);
    tasks = value_of(tasks_name);
    return nodes != NULL && hosts_add_nodes(hosts, nodes, tasks != NULL ? tasks : "1");
}

/* The components of a heterogeneous job have a list of nodes each. */
static enum found read_components(struct hosts *hosts, int components)
{
    for (int i = 0; i < components; i++) {
        if (!allocation_add_component(hosts, i)) {
            return UNREADABLE;
        }
    }
    return FOUND;
}

static enum found look_for_slurm(struct hosts *hosts)
{
    const char *nodes = value_of("SLURM_JOB_NODELIST");
    const char *tasks = value_of("SLURM_TASKS_PER_NODE");
    const int components = number_of("SLURM_HET_SIZE");

    if (value_of("SLURM_JOB_ID") == NULL || is_in_step()) {
        return NOT_THERE;
    }
    hosts->is_from_slurm = true;
    if (components > 1) {
        return read_components(hosts, components);
    }
    if (nodes == NULL) {
        return number_of("SLURM_JOB_NUM_NODES") > 1 ? UNREADABLE : NOT_THERE;
    }
    return hosts_add_nodes(hosts, nodes, tasks != NULL ? tasks : "1") ? FOUND
                                                                      : UNREADABLE;
}

static enum found look_for_pbs(struct hosts *hosts)
{
    if (value_of("PBS_NODEFILE") != NULL) {
        return read_file(hosts, "PBS_NODEFILE", false);
    }
    return number_of("PBS_NUM_NODES") > 1 ? UNREADABLE : NOT_THERE;
}

static enum found look_for_lsf(struct hosts *hosts)
{
    const char *in_turn = value_of("LSB_MCPU_HOSTS");
    const char *repeated = value_of("LSB_HOSTS");
    const char *path = value_of("LSB_DJOB_HOSTFILE");

    if (path != NULL &&
        ((in_turn == NULL && repeated == NULL) || access(path, R_OK) == 0)) {
        return read_file(hosts, "LSB_DJOB_HOSTFILE", false);
    }
    if (in_turn != NULL) {
        return read_words(hosts, in_turn, true);
    }
    if (repeated != NULL) {
        return read_words(hosts, repeated, false);
    }
    return number_of("LSB_DJOB_NUMPROC") > 1 ? UNREADABLE : NOT_THERE;
}

static enum found look_for_sge(struct hosts *hosts)
{
    if (value_of("PE_HOSTFILE") != NULL) {
        return read_file(hosts, "PE_HOSTFILE", true);
    }
    return value_of("SGE_ROOT") != NULL && number_of("NHOSTS") > 1 ? UNREADABLE
                                                                   : NOT_THERE;
}

static const struct {
    const char *name;
    enum found (*look)(struct hosts *hosts);
} systems[] = {
    {"Flux", look_for_flux}, {"Slurm", look_for_slurm}, {"PBS", look_for_pbs},
    {"LSF", look_for_lsf},   {"SGE", look_for_sge},
};

bool allocation_add_hosts(struct hosts *hosts)
{
    const char *file = value_of("HYDRA_HOST_FILE");

    if (file != NULL) {
        return hosts_add_file(hosts, file);
    }
    for (size_t i = 0; i < sizeof(systems) / sizeof(systems[0]); i++) {
        enum found found = systems[i].look(hosts);

        if (found == NOT_THERE) {
            continue;
        }
        if (found == FOUND && hosts->count > 0) {
            hosts->system = systems[i].name;
            return true;
        }
        fprintf(stderr, "%s: " TEXT_ALLOCATION "\n", program_name, systems[i].name);
        return false;
    }
    return true;
}
