#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Packs arrays into a data file for HBM (docs/data-format.md).

  pack.py -o OUT [NAME=FILE[#KEY][:DTYPE] ...] [@DATAFILE ...]

FILE is .npy, .npz (with #KEY), .csv (numbers, one row a line), .pgm or .png (grey values 0..255).
DTYPE is f32, bf16, int32, int8 or uint8; without it the file's own type is taken (f64 becomes f32,
int64 int32). Floats become bf16 by rounding to nearest even; a uint16 array named bf16 is taken as bit
patterns. @DATAFILE takes over all arrays of an existing data file.
"""
import argparse
import pathlib
import sys
import warnings
import zipfile

import datafile

try:
    import numpy as np
except ImportError:
    sys.exit(f"{pathlib.Path(sys.argv[0]).name}: this Python ({sys.executable}) has no numpy; the one that build/env.mk names as PYTHON "
             "has, and build/train-python reads PNG, too (make build/train-python)")

MAX_PIXELS = 1 << 26  # as many as HBM has bytes
NUMPY = {"f32": np.float32, "int32": np.int32, "int8": np.int8, "uint8": np.uint8}
NATURAL = {"float64": "f32", "float32": "f32", "float16": "f32", "int64": "int32", "int32": "int32", "int16": "int32",
           "int8": "int8", "uint8": "uint8", "bool": "uint8"}


def read_pgm(path):
    """Grey values 0..255 of a PGM (P2 or P5)."""
    raw = path.read_bytes()
    fields, at = [], 0
    while len(fields) < 4:
        while at < len(raw) and raw[at:at + 1].isspace():
            at += 1
        if raw[at:at + 1] == b"#":
            at = raw.find(b"\n", at) + 1 or len(raw)
            continue
        end = at
        while end < len(raw) and not raw[end:end + 1].isspace():
            end += 1
        if end == at:
            raise datafile.BadFile(f"{path}: the PGM header ends early")
        fields.append(raw[at:end])
        at = end
    try:
        kind, width, height, top = fields[0], *(int(f) for f in fields[1:])
    except ValueError as e:
        raise datafile.BadFile(f"{path}: not a PGM header") from e
    if kind not in (b"P2", b"P5") or width <= 0 or height <= 0 or not 0 < top < 65536:
        raise datafile.BadFile(f"{path}: P2 or P5 with sizes above 0 is needed")
    try:
        if kind == b"P5":
            values = np.frombuffer(raw, dtype=">u2" if top > 255 else "u1", offset=min(at + 1, len(raw)))
        else:
            values = np.array(raw[at:].split(), dtype=np.int64)
    except ValueError as e:
        raise datafile.BadFile(f"{path}: a pixel is no number, or is cut short: {e}") from e
    if values.size < width * height:
        raise datafile.BadFile(f"{path}: {values.size} pixels, the header says {width} x {height}")
    values = values[:width * height].reshape(height, width).astype(np.float64)
    if values.min() < 0 or values.max() > top:
        raise datafile.BadFile(f"{path}: pixels from {values.min():g} to {values.max():g}, the header says 0 to {top}")
    return np.rint(values * 255 / top).astype(np.uint8)


def read_png(path):
    try:
        from PIL import Image
    except ImportError as e:
        raise datafile.BadFile(f"{path}: PNG needs Pillow; run this with build/train-python (make build/train-python)") from e
    Image.MAX_IMAGE_PIXELS = None  # the limit is below, and an error and not a warning
    with Image.open(path) as image:
        if image.width * image.height > MAX_PIXELS:
            raise datafile.BadFile(f"{path}: {image.width} x {image.height} pixels; up to {MAX_PIXELS} are read")
        alpha = np.asarray(image.convert("RGBA").getchannel("A"))
        if alpha.min() < 255:
            raise datafile.BadFile(f"{path}: {np.count_nonzero(alpha < 255)} of {alpha.size} pixels are transparent, so that "
                                   "their grey is not known; save it without transparency, on a dark or a bright ground")
        if image.mode.startswith("I"):  # 16 bits of grey, which convert("L") would cut off at 255
            return np.rint(np.asarray(image).astype(np.float64) * 255 / 65535).astype(np.uint8)
        return np.asarray(image.convert("L"))


def read_csv(path):
    """Whole numbers that fit as int32, others as f32."""
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # of an empty file, which is an error below
            values = np.loadtxt(path, delimiter=",", ndmin=2)
    except ValueError as e:
        raise datafile.BadFile(f"{path}: {e}") from e
    if values.size == 0:
        raise datafile.BadFile(f"{path}: there are no numbers in it; rows of numbers with commas between are right")
    whole = np.array_equal(values, np.rint(values)) and values.min() >= -2**31 and values.max() < 2**31
    return values.astype(np.int32) if whole else values


def read_any(path, key=None):
    """The array in a file."""
    path = pathlib.Path(path)
    kind = path.suffix.lower()
    try:
        if kind == ".npy":
            return np.load(path, allow_pickle=False)
        if kind == ".npz":
            with np.load(path, allow_pickle=False) as arrays:
                if key not in arrays:
                    raise datafile.BadFile(f"{path}: no array {key!r}; it has {', '.join(arrays)} (FILE.npz#KEY)")
                return arrays[key]
        if kind == ".csv":
            return read_csv(path)
        if kind == ".pgm":
            return read_pgm(path)
        if kind == ".png":
            return read_png(path)
    except OSError as e:
        raise datafile.BadFile(f"{path}: {e.strerror or e}") from e
    except (ValueError, EOFError, SyntaxError, zipfile.BadZipFile) as e:
        raise datafile.BadFile(f"{path}: not a sound {kind} file: {e}") from e
    raise datafile.BadFile(f"{path}: .npy, .npz, .csv, .pgm and .png can be read")


def to_bf16(values):
    """Bit patterns, nearest even; uint16 is taken as bit patterns already."""
    if values.dtype == np.uint16:
        return values
    f = np.ascontiguousarray(values, dtype=np.float32)
    bits = f.view(np.uint32)
    rounded = ((bits + 0x7FFF + ((bits >> 16) & 1)) >> 16).astype(np.uint16)
    return np.where(np.isnan(f), np.uint16(0x7FC0), rounded)


def make_array(name, values, dtype=None):
    """A datafile.Array; refuses values that the type cannot hold."""
    dtype = dtype or NATURAL.get(values.dtype.name)
    if dtype is None:
        raise datafile.BadFile(f"array {name!r}: name a dtype, {values.dtype.name} has none of its own")
    if dtype not in datafile.DTYPES:
        raise datafile.BadFile(f"array {name!r}: dtype {dtype} is none of {', '.join(datafile.DTYPES)}")
    if values.dtype.kind not in "fiub":
        raise datafile.BadFile(f"array {name!r}: {values.dtype.name} values are no real numbers")
    with np.errstate(all="ignore"):  # what does not fit is found below
        out = to_bf16(values) if dtype == "bf16" else values.astype(NUMPY[dtype])
        if dtype in ("f32", "bf16"):
            fits = values.dtype == np.uint16 or np.array_equal(np.isfinite(values.astype(np.float32)), np.isfinite(values))
        else:
            fits = np.array_equal(out.astype(np.float64), values.astype(np.float64))
    if not fits:
        raise datafile.BadFile(f"array {name!r}: values do not fit {dtype}")
    out = np.ascontiguousarray(out)
    return datafile.Array(name, dtype, out.shape, out.tobytes())


def parse_item(item):
    if item.startswith("@"):
        return datafile.decode(datafile.read(item[1:]), item[1:])
    name, equals, rest = item.partition("=")
    if not equals:
        raise datafile.BadFile(f"{item!r}: NAME=FILE[#KEY][:DTYPE] or @DATAFILE")
    rest, _, dtype = rest.partition(":")
    path, _, key = rest.partition("#")
    return [make_array(name, read_any(path, key or None), dtype or None)]


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("-o", "--output", required=True)
    parser.add_argument("items", nargs="+")
    args = parser.parse_args()
    try:
        arrays = [a for item in args.items for a in parse_item(item)]
        names = [a.name for a in arrays]
        twice = sorted({n for n in names if names.count(n) > 1})
        if twice:
            raise datafile.BadFile(f"more than one array is called {', '.join(twice)}")
        data = datafile.encode(arrays)
        datafile.write(args.output, data)
    except datafile.BadFile as e:
        sys.exit(f"pack.py: {e}")
    print(f"{args.output}: {len(arrays)} arrays, {len(data)} bytes")


if __name__ == "__main__":
    main()
