# SPDX-License-Identifier: MIT
"""What is in a file of waveforms, so that a run can say which cycles it has.

The device does not simulate cycles in which it is idle, so a window may hold fewer than were asked for, or none; a file
without any looks like one with waveforms until a viewer shows nothing.
"""

import struct
import sys


def window(path):
    """First and last cycle of an FST file; None if it has none. Its header: a byte, a length, two times (two a cycle)."""
    try:
        with open(path, "rb") as file:
            first, last = struct.unpack_from(">QQ", file.read(25), 9)
    except (OSError, struct.error):
        return None
    return (first // 2, last // 2) if last else None


def report(path, asked, status):
    """Says which waveforms a run left; returns its exit status, 1 for a good run that left none."""
    cycles = window(path)
    if cycles:
        print(f"waveforms of cycles {cycles[0]} to {cycles[1]}: {path}")
    elif status == 0:
        path.unlink(missing_ok=True)
        print(f"error: no waveforms: the device was idle, or the run had ended: nothing from cycle {asked[0]} to {asked[1]}\n"
              "       make run prints the cycles of the kernel call that its timeline shows", file=sys.stderr)
        status = 1
    return status
