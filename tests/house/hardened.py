#!/usr/bin/env python3
"""hardened.py FILE... [--without-fortify] - the programs and libraries that we install were
built and linked so that overwritten memory is noticed and less useful:

    a stack protector, checked calls of libc (_FORTIFY_SOURCE), relocations that are all done
    at the start and then read only (RELRO, BIND_NOW), no executable stack, no fixed address.

Looks at the built files themselves, with readelf; names each that lacks something.
"""

import argparse
import re
import subprocess
import sys


def read(path):
    """What readelf says of its kind, segments, dynamic section and symbols."""
    return subprocess.run(["readelf", "--wide", "-h", "-l", "-d", "--dyn-syms", path], check=True,
                          capture_output=True, text=True).stdout


def lacks(text, is_fortified):
    """What is missing, in words."""
    stack = re.search(r"^\s+GNU_STACK\s+(?:0x\w+\s+){5}(\S+)", text, re.M)
    now = re.search(r"\(FLAGS\).*BIND_NOW|\(FLAGS_1\).*\bNOW\b|\(BIND_NOW\)", text)
    wanted = {
        "no fixed address": re.search(r"Type:\s+DYN", text),
        "read-only relocations": re.search(r"^\s+GNU_RELRO\b", text, re.M),
        "relocations at the start": now,
        "a stack without code": stack and "E" not in stack[1],
        "a stack protector": "__stack_chk_fail" in text,
        "checked calls of libc": not is_fortified or re.search(r"\b__\w+_chk\b", text),
    }
    return [name for name, is_there in wanted.items() if not is_there]


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("files", nargs="+")
    parser.add_argument("--without-fortify", action="store_true")
    options = parser.parse_args()
    bad = 0
    for path in options.files:
        missing = lacks(read(path), not options.without_fortify)
        bad += bool(missing)
        print(f"{path}: {'lacks ' + ', '.join(missing) if missing else 'hardened'}")
    return 1 if bad else 0


if __name__ == "__main__":
    sys.exit(main())
