"""count.py - C of a profiling library that notes which functions succeeded.

Every MPI program in tests/mpi is linked with it, in front of the library.  The first time a
function succeeds, its name is appended to the file WEFT_COUNTED; tools/built compares these
names with bindings/spec/built.tsv.  With the argument "entered" a name is noted whenever its
function is called, before that; tests/fortran/every.py compares these with the table.
"""

import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[2] / "bindings" / "gen"))

import spec  # noqa: E402

HEAD = """\
/* Made by tests/mpi/count.py. */
#include "mpi.h"

#include <fcntl.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

static atomic_bool seen[%d];

/* One write in append mode is whole, whoever else writes. */
static void note(int which, const char *line)
{
    const char *path = getenv("WEFT_COUNTED");
    int fd;

    if (path == NULL || atomic_exchange(&seen[which], 1)) {
        return;
    }
    fd = open(path, O_WRONLY | O_APPEND | O_CREAT | O_CLOEXEC, 0644);
    if (fd < 0 || write(fd, line, strlen(line)) < 0) {
        abort();
    }
    close(fd);
}
"""


def wrapper(which, f, is_entry):
    arguments = ", ".join(p.name for p in f.parameters if p.name)
    note = f'note({which}, "{f.name}\\n");'
    call = f"P{f.name}({arguments})"
    if is_entry or f.name == "MPI_Abort":  # which does not come back
        body = f"    {note}\n    return {call};\n"
    elif f.name.startswith(("MPI_T_event_", "MPI_T_source_")):
        # There are no events: saying so is what they have to do.
        body = (f"    int err = {call};\n\n    if (err != MPI_T_ERR_NOT_SUPPORTED) {{\n"
                f"        {note}\n    }}\n    return err;\n")
    elif f.returns == "int" and not f.name.endswith("_toint"):
        body = (f"    int err = {call};\n\n    if (err == MPI_SUCCESS) {{\n        {note}\n"
                "    }\n    return err;\n")
    else:
        body = f"    {note}\n    return {call};\n"
    return f"\n{f.prototype}\n{{\n{body}}}\n"


if __name__ == "__main__":
    functions = spec.functions()
    is_entry = sys.argv[1:] == ["entered"]
    sys.stdout.write(HEAD % len(functions)
                     + "".join(wrapper(i, f, is_entry) for i, f in enumerate(functions)))
