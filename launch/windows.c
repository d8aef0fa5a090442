#include "windows.h"

#include "base/settings.h"

#include <string.h>

/* A transport that is named may be without shared memory. */
static bool has_shared_memory(void)
{
    const char *transport = weft_setting_text(WEFT_SET_TRANSPORT);

    return strcmp(transport, "auto") == 0 || strstr(transport, "shm") != NULL;
}

const char *windows_inside(bool can_copy)
{
    if (weft_setting(WEFT_SET_RMA) != WEFT_RMA_AUTO) {
        return "windows inside the host: messages (WEFT_RMA); the target's process does "
               "accumulates";
    }
    if (!has_shared_memory()) {
        return "windows inside the host: as between hosts (WEFT_TRANSPORT)";
    }
    if (!can_copy) {
        return "windows inside the host: mapped memory if MPI allocates it, messages "
               "otherwise; accumulates under a lock word of the target, or by messages";
    }
    return "windows inside the host: mapped memory if MPI allocates it, single copy "
           "otherwise; accumulates under a lock word of the target";
}

const char *windows_between(void)
{
    if (weft_setting(WEFT_SET_RMA) != WEFT_RMA_AUTO) {
        return "windows between hosts: messages (WEFT_RMA); the target's process does "
               "accumulates";
    }
    if (weft_setting(WEFT_SET_CHECKSUM) != 0) {
        return "windows between hosts: messages (WEFT_CHECKSUM); the target's process "
               "does accumulates";
    }
    return "windows between hosts: the network's memory table for data in one block, "
           "messages otherwise; the target's process does accumulates";
}
