# SPDX-License-Identifier: MIT
"""Reading and writing of data files (docs/data-format.md)."""

import math
import os
import pathlib
import stat
import struct
import zlib

MAGIC = b"PEPLDATA"
VERSION = 1
HEADER = struct.Struct("<8s4I40x")
ENTRY = struct.Struct("<16s2I5I3I8x")
MAX_ARRAYS = 64
ALIGN = 64
# name: (code, bytes of an element)
DTYPES = {"f32": (0, 4), "bf16": (1, 2), "int32": (2, 4), "int8": (3, 1), "uint8": (4, 1)}


class BadFile(Exception):
    """What is wrong with a file, in words for its user."""


class Array:
    """An array: name, dtype (a key of DTYPES), shape, raw little-endian bytes."""

    def __init__(self, name, dtype, shape, data):
        if dtype not in DTYPES:
            raise BadFile(f"array {name!r}: dtype {dtype} is none of {', '.join(DTYPES)}")
        if not (1 <= len(name) <= 15 and name.isascii()):
            raise BadFile(f"array {name!r}: a name has 1 to 15 ASCII characters")
        if len(shape) > 5:
            raise BadFile(f"array {name!r}: rank {len(shape)} is more than 5")
        size = math.prod(shape) * DTYPES[dtype][1]
        if size != len(data):
            raise BadFile(f"array {name!r}: {len(data)} bytes, but shape {tuple(shape)} of {dtype} has {size}")
        self.name, self.dtype, self.shape, self.data = name, dtype, tuple(shape), bytes(data)


def encode(arrays):
    """The bytes of a file with these arrays."""
    if len(arrays) > MAX_ARRAYS:
        raise BadFile(f"{len(arrays)} arrays are more than {MAX_ARRAYS}")
    if len({a.name for a in arrays}) != len(arrays):
        raise BadFile("two arrays have the same name")
    offset = HEADER.size + ENTRY.size * len(arrays)
    directory, body = b"", b""
    for array in arrays:
        gap = -offset % ALIGN
        body += bytes(gap)
        offset += gap
        shape = list(array.shape) + [0] * (5 - len(array.shape))
        directory += ENTRY.pack(array.name.encode(), DTYPES[array.dtype][0], len(array.shape), *shape, offset,
                                len(array.data), zlib.crc32(array.data))
        body += array.data
        offset += len(array.data)
        if offset > 0xFFFFFFFF:
            raise BadFile(f"array {array.name!r} ends behind 4 GiB, which no HBM has")
    crc = zlib.crc32(HEADER.pack(MAGIC, VERSION, len(arrays), offset, 0) + directory)
    return HEADER.pack(MAGIC, VERSION, len(arrays), offset, crc) + directory + body


def decode(data, path="data file"):
    """The arrays of a file; BadFile says what is wrong."""
    if len(data) < HEADER.size:
        raise BadFile(f"{path}: {len(data)} bytes are too short for a data file (docs/data-format.md)")
    magic, version, count, size, crc = HEADER.unpack_from(data)
    if magic != MAGIC:
        raise BadFile(f"{path}: not a data file (starts with {magic!r}); tools/data/pack.py makes one")
    if version != VERSION:
        raise BadFile(f"{path}: version {version}, this program reads {VERSION}")
    end = HEADER.size + ENTRY.size * count
    if count > MAX_ARRAYS or size < end or len(data) < size:
        raise BadFile(f"{path}: {len(data)} bytes, the header says {size} with {count} arrays: cut short?")
    if crc != zlib.crc32(data[:20] + bytes(4) + data[24:end]):
        raise BadFile(f"{path}: the header or the directory is damaged (CRC)")
    names = {code: name for name, (code, _) in DTYPES.items()}
    arrays = []
    for i in range(count):
        fields = ENTRY.unpack_from(data, HEADER.size + ENTRY.size * i)
        name = fields[0].rstrip(b"\0").decode("ascii", "replace")
        dtype, rank, shape, (offset, length, check) = fields[1], fields[2], fields[3:8], fields[8:]
        if dtype not in names or rank > 5 or offset + length > size or offset % ALIGN:
            raise BadFile(f"{path}: array {name!r} has a bad directory entry")
        content = data[offset:offset + length]
        if zlib.crc32(content) != check:
            raise BadFile(f"{path}: array {name!r} is damaged (CRC)")
        arrays.append(Array(name, names[dtype], shape[:rank], content))
    return arrays


def read(path, limit=None):
    """The bytes of the regular file at a path; limit: the most it may have, in bytes of HBM."""
    try:
        with open(path, "rb", opener=lambda name, flags: os.open(name, flags | os.O_NONBLOCK)) as file:
            info = os.fstat(file.fileno())
            if not stat.S_ISREG(info.st_mode):
                raise BadFile(f"{path}: not a regular file; tools/data/pack.py makes data files")
            if limit is not None and info.st_size > limit:
                raise BadFile(f"{path}: {info.st_size} bytes do not fit into the HBM of {limit}")
            return file.read()
    except OSError as error:
        raise BadFile(f"{path}: {error.strerror}") from error


def check(path, limit):
    """Checks the file at a path; limit: bytes of HBM. Returns its arrays."""
    return decode(read(path, limit), path)


def write(path, data):
    """Writes a file and the folders above it. A regular file gets another name first, so that whoever reads it
    meanwhile has all of the old one or all of the new one."""
    path = pathlib.Path(path)
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        if path.exists() and not path.is_file():
            path.write_bytes(data)  # a pipe, a device; a folder is an error
            return
        path = path.resolve()  # a link stays one
        temporary = path.with_name(f"{path.name}.{os.getpid()}.tmp")
        try:
            temporary.write_bytes(data)
            temporary.replace(path)
        finally:
            temporary.unlink(missing_ok=True)
    except OSError as error:
        raise BadFile(f"{path}: cannot be written: {error.strerror}") from error
