"""symbols.py - the linker's version script: what libmpi_abi.so exports, and no more."""

import sys

import spec


def script():
    names = [f.name for f in spec.functions()]
    lines = "".join(f"        {prefix}{name};\n" for name in names for prefix in ("", "P"))
    return "{\n    global:\n" + lines + "    local:\n        *;\n};\n"


if __name__ == "__main__":
    sys.stdout.write(script())
