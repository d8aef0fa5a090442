#!/usr/bin/env python3
"""assertions.py LIBRARY on|off - the library has assertions in debug builds, and none in others."""

import subprocess
import sys


def main(library, wanted):
    symbols = subprocess.run(["readelf", "--wide", "--dyn-syms", library], check=True,
                             capture_output=True, text=True).stdout
    found = "on" if "__assert_fail" in symbols else "off"
    print(f"{library}: assertions are {found}, as they should be" if found == wanted else
          f"{library}: assertions are {found}, and should be {wanted}: see b_ndebug")
    return 0 if found == wanted else 1


if __name__ == "__main__":
    sys.exit(main(*sys.argv[1:]))
