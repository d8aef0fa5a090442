/* ports.c - a case about the ports at which this process listens. */
#include "suite.h"

#include "base/settings.h"
#include "wireup/net.h"

#include <dirent.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

enum { LISTENS = 0x0a, BOUND = 0x07 }; /* as the kernel calls these states */

/* Has this process a descriptor of that socket? */
static bool is_ours(unsigned long inode)
{
    DIR *folder = opendir("/proc/self/fd");
    const struct dirent *entry;
    char wanted[64];
    bool is_found = false;

    check(folder != NULL);
    snprintf(wanted, sizeof(wanted), "socket:[%lu]", inode);
    while ((entry = readdir(folder)) != NULL) {
        char path[300];
        char target[64] = "";

        snprintf(path, sizeof(path), "/proc/self/fd/%s", entry->d_name);
        is_found = is_found || (readlink(path, target, sizeof(target) - 1) > 0 &&
                                strcmp(target, wanted) == 0);
    }
    closedir(folder);
    return is_found;
}

/* All sockets of a table are of WEFT_PORTS, those that listen or are bound. Is there any?
 */
static bool are_within(const char *path, unsigned state, int first, int last)
{
    FILE *table = fopen(path, "r");
    char line[256];
    bool is_any = false;

    check(table != NULL);
    while (fgets(line, sizeof(line), table) != NULL) {
        unsigned long inode;
        unsigned port;
        unsigned is;

        if (sscanf(line, "%*d: %*8x:%4x %*8x:%*4x %2x %*x:%*x %*x:%*x %*x %*d %*d %lu",
                   &port, &is, &inode) == 3 &&
            is == state && is_ours(inode)) {
            check((int)port >= first && (int)port <= last);
            is_any = true;
        }
    }
    fclose(table);
    return is_any;
}

void case_ports(void)
{
    int first;
    int last;

    if (getenv("WEFT_PORTS") != NULL) {
        check(weft_net_read_ports(weft_setting_text(WEFT_SET_PORTS), &first, &last));
        check(are_within("/proc/self/net/tcp", LISTENS, first, last) ||
              are_within("/proc/self/net/udp", BOUND, first, last));
    }
}
