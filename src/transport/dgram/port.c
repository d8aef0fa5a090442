#include "transport/dgram/port.h"

#include "base/log.h"
#include "base/settings.h"
#include "base/texts.h"
#include "transport/dgram/fabric_port.h"
#include "transport/dgram/udp.h"
#include "transport/ofi/quirks/early.h"

enum weft_rc weft_port_ports(int local_rank, struct weft_net_ports *ports)
{
    const char *wanted = weft_setting_text(WEFT_SET_PORTS);

    *ports = (struct weft_net_ports){.begin = local_rank};
    if (!weft_net_read_ports(wanted, &ports->first, &ports->last)) {
        weft_log_error(WEFT_S_PORTS, wanted);
        return WEFT_ERR_ARGUMENT;
    }
    return WEFT_OK;
}

/* Over libfabric where that reaches hardware. Its udp is slower than a socket of our own,
 * so where there is no hardware libfabric is not even loaded. */
enum weft_rc weft_port_open(const struct weft_port_wishes *wishes, struct weft_port **out)
{
    if (weft_early_may_defer() || !weft_fabric_port_is_better(wishes)) {
        return weft_port_open_udp(wishes, out);
    }
    return weft_port_open_fabric(wishes, out);
}
