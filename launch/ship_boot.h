/*
 * ship_boot.h - how a daemon comes to a host that has nothing: the first lines for its
 * shell.
 *
 * The way to the host starts `sh`, which reads these lines from its standard input. They
 * choose a folder, print SHIP_BOOT_READY, read the daemon and become it. Nothing follows
 * the lines until that word has come, so a shell may read ahead. What is wrong is printed
 * on standard error in words that ship_boot_explain() turns into the user's line.
 */
#ifndef WEFT_LAUNCH_SHIP_BOOT_H
#define WEFT_LAUNCH_SHIP_BOOT_H

#include "bytes.h"
#include "link.h"

#include <stdbool.h>
#include <stdint.h>

#define SHIP_BOOT_COMMAND "sh"
#define SHIP_BOOT_READY   "weft-wants-daemon"

/* The lines; `bytes` are needed in the folder beside the daemon itself. */
void ship_boot_lines(struct bytes *lines, uint64_t bytes);

/* Sends the daemon once the shell is ready for it; true when it was sent. */
bool ship_boot_send(struct link *link);

/* The user's line, if the host's last words are of these lines; else false. */
bool ship_boot_explain(char *line, size_t size, const char *host, const char *said);

#endif
