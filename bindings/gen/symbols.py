"""symbols.py - the linker's version script: what libmpi_abi.so exports, and no more."""

import sys

import spec

# What debuggers look for (src/runtime/queues.h).
DEBUGGERS = ("MPIR_dll_name", "weft_queue_table")


def script():
    names = [f.name for f in spec.functions()]
    lines = "".join(f"        {name};\n" for name in DEBUGGERS)
    lines += "".join(f"        {prefix}{name};\n" for name in names for prefix in ("", "P"))
    return "{\n    global:\n" + lines + "    local:\n        *;\n};\n"


if __name__ == "__main__":
    sys.stdout.write(script())
