#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""The packers of data files: what users give them, good and bad.

Each bad input must end with a status that is not 0 and one line that says what, where, and what would be
right; each good one must give a data file whose arrays are what went in.
"""

import re
import struct
import subprocess
import sys
from pathlib import Path

import numpy as np
from PIL import Image

ROOT = Path(__file__).resolve().parents[2]
sys.path.insert(0, str(ROOT / "tools/data"))
import datafile  # noqa: E402

OUT = ROOT / "build/tests/pack"
DIGITS, ARRAYS, MATMUL = [sys.executable, "tools/digits/pack.py"], [sys.executable, "tools/data/pack.py"], ["build/tools/matmul-data"]
TRACE = ["build/tools/tpu-trace"]


def made(name, content):
    path = OUT / name
    path.write_bytes(content if isinstance(content, bytes) else content.encode())
    return path.relative_to(ROOT)


def picture(name, mode, values):
    Image.fromarray(values.astype(np.uint8), mode).save(OUT / name)
    return (OUT / name).relative_to(ROOT)


def row(value="3", count=64):
    return ",".join(["0"] * (count - 1) + [value]) + "\n"


def stroke(ground, ink):
    """A picture of 20 x 12 with one upright stroke."""
    grey = np.full((20, 12), ground)
    grey[3:17, 5:7] = ink
    return grey


def bad_cases():
    def images(path):
        return DIGITS + ["-o", OUT / "bad.bin", path]

    def array(path, dtype=""):
        return ARRAYS + ["-o", OUT / "bad.bin", f"a={path}{dtype}"]

    alpha = np.zeros((20, 12, 4))
    alpha[3:17, 5:7, 3] = 255
    yield "an empty CSV", images(made("empty.csv", "")), ["empty.csv: there are no numbers"]
    yield "a CSV of blank lines", array(made("blank.csv", "\n\n")), ["blank.csv: there are no numbers"]
    yield "NaN in a CSV", images(made("nan.csv", row() + row("nan"))), ["number 64 of image 2 is nan", "from 0 to 16"]
    yield "infinity in a CSV", images(made("inf.csv", row("inf"))), ["number 64 of image 1 is inf"]
    yield "a fraction in a CSV", images(made("fraction.csv", row("8.7"))), ["number 64 of image 1 is 8.7", "whole numbers from 0 to 16"]
    yield "17 in a CSV", images(made("17.csv", row("17"))), ["number 64 of image 1 is 17"]
    yield "-1 in a CSV", images(made("minus.csv", row("-1"))), ["number 64 of image 1 is -1"]
    yield "63 numbers a line", images(made("63.csv", row(count=63))), ["63 numbers a line; 64"]
    yield "words in a CSV", images(made("words.csv", row("seven"))), ["words.csv", "seven"]
    yield "lines of different length", array(made("ragged.csv", "1,2\n3\n")), ["ragged.csv"]
    yield "bytes that are no text", array(made("bytes.csv", b"\xff\xfe\x00")), ["bytes.csv"]
    yield "a transparent PNG", images(picture("alpha.png", "RGBA", alpha)), ["alpha.png: 212 of 240 pixels are transparent",
                                                                            "without transparency"]
    yield "an even PNG", images(picture("even.png", "L", stroke(40, 40))), ["even.png: nothing to see", "greys from 40 to 40",
                                                                          "bright strokes on a dark ground"]
    yield "a PNG that is too large", images(picture("huge.png", "L", np.zeros((8192, 8193)))), ["huge.png: 8193 x 8192 pixels; up to 67108864"]
    yield "a Python without numpy", [sys.executable, "-S"] + DIGITS[1:] + ["-o", OUT / "bad.bin"], ["has no numpy", "build/train-python"]
    yield "a PNG that is none", images(made("none.png", "hello")), ["none.png"]
    yield "a PNG cut short", images(made("cut.png", (OUT / "even.png").read_bytes()[:60])), ["cut.png"]
    yield "a PGM of words", images(made("words.pgm", "P2 2 2 255\n0 0 0 x\n")), ["words.pgm: a pixel is no number"]
    yield "a PGM cut short", images(made("cut.pgm", b"P5 20 20 255")), ["cut.pgm: 0 pixels, the header says 20 x 20"]
    yield "a PGM brighter than it says", images(made("bright.pgm", "P2 2 1 15\n3 16\n")), ["pixels from 3 to 16, the header says 0 to 15"]
    yield "an npz for an image", images(made("a.npy", b"")), ["a.npy: not a sound .npy file"]
    yield "a picture that is not there", images("build/nowhere.png"), ["build/nowhere.png: No such file"]
    yield "a file of another kind", images("README.md"), ["README.md: .npy"]
    yield "an npz that is none", array(made("b.npz", "hello"), ""), ["b.npz: not a sound .npz file"]
    yield "numbers that int8 does not hold", array(made("c.csv", "1,300\n"), ":int8"), ["array 'a': values do not fit int8"]
    yield "NaN as int32", array(made("d.csv", "1,nan\n"), ":int32"), ["array 'a': values do not fit int32"]
    yield "numbers that f32 does not hold", array(made("e.csv", "1,1e300\n")), ["array 'a': values do not fit f32"]
    yield "a dtype that is none", array(made("f.csv", "1\n"), ":f64"), ["dtype f64 is none of f32, bf16"]
    yield "an output that is a folder", DIGITS + ["-o", OUT], ["cannot be written: Is a directory"]
    yield "an output below a file", DIGITS + ["-o", "README.md/x.bin"], ["README.md/x.bin: cannot be written"]
    yield "an output of arrays below a file", ARRAYS + ["-o", "README.md/x.bin", f"a={made('g.csv', '1')}"], ["cannot be written"]
    yield "a device as data file", ARRAYS + ["-o", OUT / "bad.bin", "@/dev/zero"], ["/dev/zero: not a regular file"]
    yield "a device as data of a run", ["tools/run/peplos-run", "--platform", "func", "--data", "/dev/zero", "hello"], ["/dev/zero: not a regular file"]
    yield "more data than HBM", ["tools/run/peplos-run", "--platform", "func", "--data", sparse(), "hello"], ["8589934592 bytes do not fit into the HBM of"]
    yield "a size of 0", MATMUL + ["0", "1", "1", "-o", "x"], ["M: '0' is not a number from 1 to 8192"]
    yield "a size below 0", MATMUL + ["1", "-5", "1", "-o", "x"], ["N: '-5' is not a number from 1 to 8192"]
    yield "an option without its value", MATMUL + ["256", "256", "256", "--block", "--dim", "16", "-o", "x"], ["--block needs a value"]
    yield "matrices larger than HBM", MATMUL + ["8192", "8192", "8192", "-o", "x"], ["402653184 bytes; HBM has 67108864"]
    yield "a trace of garbage", TRACE + [trace("garbage.bin", (0xdeadbeefdeadbeef, 1, 2))], ["garbage.bin: record 0 (deadbeefdeadbeef)", "damaged"]
    good = (7 << 56 | 7 << 48 | 100, 1, 0)
    yield "a trace with garbage in it", TRACE + [trace("some.bin", good, (0, 1, 2))], ["some.bin: record 1 (0000000000000000)"]
    yield "a trace cut short", TRACE + [made("short.bin", (OUT / "some.bin").read_bytes()[:-3])], ["short.bin: ends in the middle of a record"]
    yield "a call that is no number", TRACE + ["--call", "x", trace("good.bin", good)], ["--call: 'x' is not a call, 1 = first"]
    yield "a picture on a full disk", TRACE + ["--quiet", "--svg", "/dev/full", trace("good.bin", good)], ["cannot write /dev/full"]
    yield ("a window behind itself", TRACE + ["--from", "9", "--to", "5", trace("good.bin", good)],
           ["cycles 9 to 5: --to must be after --from (the trace has cycles 100 to 100)"])
    yield "matrices below a file", MATMUL + ["4", "4", "4", "-o", "README.md/x"], ["README.md/x: cannot be written: Not a directory"]


def trace(name, *records):
    """A trace file with these records (head, tag, arg)."""
    abi = re.search(r"TPU_ABI_HASH (0x[0-9a-f]+)", (ROOT / "hw/regs/gen/tpu_regs.h").read_text())[1]
    head = struct.pack("<8s6I", b"PEPLTRC", 1, 32, 16, int(abi, 16), 125_000_000, 1)
    return made(name, head + b"".join(struct.pack("<QII", *r) for r in records))


def sparse():
    path = OUT / "sparse.bin"
    with open(path, "wb") as file:
        file.truncate(8 << 30)
    return path.relative_to(ROOT)


def bad(name, command, patterns):
    try:
        result = subprocess.run(command, cwd=ROOT, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.PIPE,
                                text=True, errors="replace", timeout=30, check=False)
    except subprocess.TimeoutExpired:
        return [f"{name}: no end after 30 s"]
    wrong = [f"no {pattern!r}" for pattern in patterns if not re.search(re.escape(pattern), result.stderr)]
    if result.returncode == 0 or result.returncode < 0:
        wrong.append(f"status {result.returncode}")
    if "Traceback" in result.stderr or "Warning" in result.stderr:
        wrong.append("a traceback or a warning")
    return [f"{name}: {'; '.join(wrong)}: {result.stderr.strip()[-300:]}"] if wrong else []


def packed(command):
    """The arrays of the file that a packer makes."""
    subprocess.run(command, cwd=ROOT, check=True, stdout=subprocess.DEVNULL)
    return {a.name: a for a in datafile.check(OUT / "good.bin", 1 << 26)}


def good():
    """Dark on bright and bright on dark, PNG of 8 and 16 bits and PGM, of any size, give the same image; CSV is taken as it is."""
    values = np.arange(64) % 17
    Image.fromarray(stroke(0, 65535).astype(np.uint16)).save(OUT / "sixteen.png")
    large = np.repeat(np.repeat(stroke(0, 255), 150, axis=0), 150, axis=1)
    pgm = b"P5 12 20 255\n" + stroke(0, 255).astype(np.uint8).tobytes()
    images = packed(DIGITS + ["-o", OUT / "good.bin", picture("dark.png", "L", stroke(0, 255)), picture("bright.png", "L", stroke(255, 0)),
                              made("dark.pgm", pgm), OUT / "sixteen.png", picture("large.png", "L", large),
                              made("good.csv", ",".join(map(str, values)) + "\n")])["images"]
    rows = np.frombuffer(images.data, np.uint8).reshape(images.shape)
    if images.shape != (6, 64) or not all(np.array_equal(rows[0], row) for row in rows[1:5]) or rows[0].max() != 16:
        yield "pictures of one digit: not the same image"
    grey = stroke(0, 65535).astype(np.uint16)
    grey[3:10, 5:7] = 32768  # half as bright
    Image.fromarray(grey).save(OUT / "half.png")
    half = np.frombuffer(packed(DIGITS + ["-o", OUT / "good.bin", OUT / "half.png"])["images"].data, np.uint8).reshape(8, 8)
    if half.max() != 16 or half[:4].max() != 8:
        yield f"16 bits of grey: {half}"
    if not np.array_equal(rows[5], values):
        yield "a CSV of one image: other values"
    np.save(OUT / "n.npy", np.array([[1.5, np.nan]]))
    arrays = packed(ARRAYS + ["-o", OUT / "good.bin", f"a={made('h.csv', '1,-2147483648')}", f"b={made('i.csv', '3e9,0.5')}",
                              f"c={OUT / 'n.npy'}", f"d={OUT / 'n.npy'}:bf16"])
    got = {name: (a.dtype, a.data) for name, a in arrays.items()}
    want = {"a": ("int32", np.array([1, -2**31], "<i4").tobytes()), "b": ("f32", np.array([3e9, 0.5], "<f4").tobytes()),
            "c": ("f32", np.array([1.5, np.nan], "<f4").tobytes()), "d": ("bf16", np.array([0x3FC0, 0x7FC0], "<u2").tobytes())}
    if got != want:
        yield f"arrays: {got}"


def main():
    OUT.mkdir(parents=True, exist_ok=True)
    failed = 0
    for case in bad_cases():
        wrong = bad(*case)
        failed += len(wrong)
        print(f"FAIL pack: {wrong[0]}" if wrong else f"PASS pack: {case[0]}", flush=True)
    wrong = list(good())
    for text in wrong:
        print(f"FAIL pack: {text}")
    if not wrong:
        print("PASS pack: good files")
    # The check itself: a good file is not taken for an error.
    control = bad("a good file", DIGITS + ["-o", OUT / "good.bin"], [])
    print("PASS pack: control: a good file is no error" if control else "FAIL pack: control: a good file was taken for an error")
    return 1 if failed or wrong or not control else 0


if __name__ == "__main__":
    sys.exit(main())
