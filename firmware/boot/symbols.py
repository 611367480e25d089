#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Makes the assembly source of the symbol table of an ELF.

Reads the output of `nm -n` on standard input and writes the table that
symbols.c searches. With --check OTHER the two files of `nm -n` output are
compared: the second link must not have moved any function.
"""

import sys


def functions(lines):
    """Yields (address, name) of the code symbols, and the code's end."""
    for line in lines:
        fields = line.split()
        if len(fields) != 3:
            continue
        address, kind, name = int(fields[0], 16), fields[1], fields[2]
        if name == "__text_end":
            yield address, ""
        elif kind in "tTwW" and not name.startswith((".L", "$")):
            yield address, name


def table(symbols):
    by_address = {}
    for address, name in symbols:
        by_address.setdefault(address, name)
    return sorted(by_address.items())


def main():
    if len(sys.argv) == 4 and sys.argv[1] == "--check":
        with open(sys.argv[2]) as first, open(sys.argv[3]) as second:
            if table(functions(first)) != table(functions(second)):
                sys.exit("symbols.py: code moved between the two links")
        return
    entries = table(functions(sys.stdin))
    print("/* Made by firmware/boot/symbols.py. */")
    print('  .section .symbols, "a"\n   .balign 4')
    first = entries[0][0] if entries else 0
    print(f"  .word {len(entries)}, {first:#x}")
    for address, _ in entries:
        print(f"  .2byte {(address - first) // 2:#x}")
    for _, name in entries:
        print(f'  .asciz "{name}"')


if __name__ == "__main__":
    main()
