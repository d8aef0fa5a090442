#include "record.h"

#include <stdatomic.h>
#include <stdbool.h>
#include <stddef.h>

enum { MOST = 1 << 18 }; /* a call that enters more functions has waited for too long */

int main(int argc, char **argv);
void __cyg_profile_func_enter(void *function, void *site);
void __cyg_profile_func_exit(void *function, void *site);

static void *entered[MOST];
static _Atomic size_t count;
static _Atomic bool is_on;

void __cyg_profile_func_enter(void *function, void *site)
{
    size_t at;

    (void)site;
    if (is_on && (at = count++) < MOST) {
        entered[at] = function;
    }
}

void __cyg_profile_func_exit(void *function, void *site)
{
    (void)function;
    (void)site;
}

void tour_begin(void)
{
    count = 0;
    is_on = true;
}

void tour_end(void)
{
    is_on = false;
}

void tour_write(FILE *file)
{
    fprintf(file, "%p", (void *)main);
    for (size_t i = 0; i < count && i < MOST; i++) {
        fprintf(file, " %p", entered[i]);
    }
    fputc('\n', file);
}
