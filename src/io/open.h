/*
 * open.h - lets files be opened; called when the library opens, with the lock.
 */
#ifndef WEFT_IO_OPEN_H
#define WEFT_IO_OPEN_H

void weft_io_open(void);

#endif
