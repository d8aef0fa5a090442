#include "io/open.h"

#include "io/file.h"

void weft_io_open(void)
{
    weft_files_open();
}
