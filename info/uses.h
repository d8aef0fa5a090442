/*
 * uses.h - which MPI functions a program or library imports.
 */
#ifndef WEFT_INFO_USES_H
#define WEFT_INFO_USES_H

/*
 * Calls `found` once for each imported symbol of the ELF file at `path`. Returns 0, or -1
 * after a line on standard error that says why the file cannot be read.
 */
int weft_uses_each(const char *path, void (*found)(const char *name, void *arg),
                   void *arg);

#endif
