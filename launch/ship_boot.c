#include "ship_boot.h"

#include "ship_home.h"
#include "texts.h"

#include "info/elf_file.h"

#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/utsname.h>
#include <unistd.h>

/*
 * A function is read as a whole before it runs. `t` tries whether programs may be started
 * in the folder. --version shows whether the C library is new enough; only then does the
 * shell, which removes the folder at an end, become the daemon, which does so, too.
 */
static const char lines_format[] =
    "weft() {\n"
    "umask 077\n"
    "m=$(uname -m)\n"
    "[ \"$m\" = '%s' ] || { echo \"weft-machine $m\" >&2; return; }\n"
    "[ -e '%s' ] || { echo 'weft-loader %s' >&2; return; }\n"
    "w=\n"
    "for f in \"${TMPDIR-}\" /tmp /var/tmp \"${XDG_RUNTIME_DIR-}\" /dev/shm; do\n"
    "case $f in /*) ;; *) continue ;; esac\n"
    "d=$(mktemp -d \"$f/weft.XXXXXXXXXX\" 2>/dev/null) ||\n"
    "{ w=\"$w, $f cannot be written\"; continue; }\n"
    "trap 'rm -rf \"$d\"' EXIT\n"
    "trap 'exit 1' HUP INT TERM PIPE\n"
    "printf '#!/bin/sh\\n' 2>/dev/null >\"$d/t\" && chmod 700 \"$d/t\" && \"$d/t\" "
    "2>/dev/null ||\n"
    "{ w=\"$w, $f starts no programs\"; rm -rf \"$d\"; continue; }\n"
    "k=$(df -Pk \"$d\" 2>/dev/null | { read -r a; read -r a b c k a; echo \"$k\"; })\n"
    "case $k in '' | *[!0-9]*) k=%llu ;; esac\n"
    "[ \"$k\" -ge %llu ] || { w=\"$w, $f is full\"; rm -rf \"$d\"; continue; }\n"
    "mkdir \"$d/"
    "run"
    "\" \"$d/lib\" || return\n"
    "echo " SHIP_BOOT_READY "\n"
    "head -c %llu >\"$d/" HOME_DAEMON "\"\n"
    "[ \"$(wc -c <\"$d/" HOME_DAEMON "\")\" -eq %llu ] || return\n"
    "chmod 700 \"$d/" HOME_DAEMON "\"\n"
    "\"$d/" HOME_DAEMON "\" --version >/dev/null 2>\"$d/t\" || {\n"
    "echo \"weft-start $(getconf GNU_LIBC_VERSION 2>/dev/null): $(head -n 1 \"$d/t\")\" "
    ">&2; return; }\n"
    "rm -f \"$d/t\"\n"
    "LD_LIBRARY_PATH=$d/lib${LD_LIBRARY_PATH:+:$LD_LIBRARY_PATH}\n"
    "export LD_LIBRARY_PATH\n"
    "trap - EXIT HUP INT TERM PIPE\n"
    "exec \"$d/" HOME_DAEMON "\" --weft-daemon \"$d\"\n"
    "done\n"
    "echo \"weft-folder %llu$w\" >&2\n"
    "}\n"
    "weft\n"
    "exit 1\n";

/* Every daemon passes on the file that it runs itself, which may have no name any more.
 */
static int open_own(uint64_t *size)
{
    const int fd = open("/proc/self/exe", O_RDONLY | O_CLOEXEC);
    struct stat st;

    *size = fd >= 0 && fstat(fd, &st) == 0 ? (uint64_t)st.st_size : 0;
    return fd;
}

static void read_loader(char *loader, size_t size)
{
    struct elf_file elf;

    loader[0] = '\0';
    if (elf_open(&elf, AT_FDCWD, "/proc/self/exe") == NULL) {
        (void)elf_read_loader(&elf, loader, size);
        elf_close(&elf);
    }
}

void ship_boot_lines(struct bytes *lines, uint64_t bytes)
{
    char loader[256];
    struct utsname name;
    uint64_t own;
    const int fd = open_own(&own);
    const unsigned long long room = (bytes + own) / 1024 + 1;
    const unsigned long long daemon = own;
    char *text;

    if (fd >= 0) {
        close(fd);
    }
    uname(&name);
    read_loader(loader, sizeof(loader));
#pragma GCC diagnostic push
#pragma GCC diagnostic ignored "-Wformat-nonliteral"
    if (asprintf(&text, lines_format, name.machine, loader, loader, room, room, daemon,
                 daemon, room) < 0) {
        return;
    }
#pragma GCC diagnostic pop
    bytes_add(lines, text, strlen(text));
    free(text);
}

bool ship_boot_send(struct link *link)
{
    static char piece[64 * 1024];
    uint64_t size;
    ssize_t n;
    int fd;

    if (link->arrived.count < strlen(SHIP_BOOT_READY) ||
        memmem(link->arrived.at, link->arrived.count, SHIP_BOOT_READY "\n",
               strlen(SHIP_BOOT_READY) + 1) == NULL) {
        return false;
    }
    fd = open_own(&size);
    while (fd >= 0 && (n = read(fd, piece, sizeof(piece))) > 0) {
        link_write(link, piece, (size_t)n);
    }
    if (fd >= 0) {
        close(fd);
    }
    return true;
}

/* The rest of the line behind a word of ours; NULL if it is not there. */
static const char *behind(const char *said, const char *word, char *rest, size_t size)
{
    const char *at = strstr(said, word);

    if (at == NULL) {
        return NULL;
    }
    at += strlen(word);
    snprintf(rest, size, "%.*s", (int)strcspn(at, "\r\n"), at);
    return rest;
}

/* "glibc 2.31: .../mpiexec: .../libc.so.6: version `GLIBC_2.34' not found ..." */
static void explain_start(char *line, size_t size, const char *host, char *rest)
{
    char *wanted = strstr(rest, "GLIBC_");
    const char *has = strstr(rest, "glibc ");

    if (wanted == NULL) {
        snprintf(line, size, "host %s: its daemon cannot be started: %s", host, rest);
        return;
    }
    wanted += strlen("GLIBC_");
    has = has != NULL ? has + strlen("glibc ") : "of an older version";
    rest[strcspn(rest, ":")] = '\0';
    wanted[strcspn(wanted, "' )")] = '\0';
    snprintf(line, size, TEXT_SHIP_OLD_LIBC, host, has, wanted);
}

bool ship_boot_explain(char *line, size_t size, const char *host, const char *said)
{
    char rest[1024];
    struct utsname name;

    uname(&name);
    if (behind(said, "weft-machine ", rest, sizeof(rest)) != NULL) {
        snprintf(line, size, TEXT_SHIP_MACHINE, host, rest, name.machine);
    } else if (behind(said, "weft-loader ", rest, sizeof(rest)) != NULL) {
        snprintf(line, size, TEXT_SHIP_NO_LOADER, host, rest);
    } else if (behind(said, "weft-folder ", rest, sizeof(rest)) != NULL) {
        char *why = strchr(rest, ',');
        char megabytes[32];

        snprintf(megabytes, sizeof(megabytes), "%.0f", strtod(rest, NULL) / 1000);
        snprintf(line, size, TEXT_SHIP_NO_FOLDER, host, megabytes,
                 why != NULL ? why + 2 : "none is there");
    } else if (behind(said, "weft-start ", rest, sizeof(rest)) != NULL) {
        explain_start(line, size, host, rest);
    } else {
        return false;
    }
    return true;
}
