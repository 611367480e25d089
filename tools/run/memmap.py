# SPDX-License-Identifier: MIT
"""Addresses and codes of the machine, from the generated C headers."""

import functools
import re
from pathlib import Path

GEN = Path(__file__).resolve().parent.parent.parent / "hw/regs/gen"
DEFINE = re.compile(r"^#define (\w+) (0x[0-9a-fA-F]+|\d+)u?(?:ll)?\s*(?:/\*.*)?$", re.M)
ENUM = re.compile(r"^  (TPU_\w+) = (\d+),", re.M)


@functools.cache
def values():
    """All plain numeric macros and enumerators."""
    result = {}
    for header in ("tpu_memmap.h", "tpu_regs.h"):
        text = (GEN / header).read_text()
        for name, value in DEFINE.findall(text) + ENUM.findall(text):
            result[name] = int(value, 0)
    return result


def value(name):
    """One of them; a KeyError names what the headers lack."""
    return values()[name]
