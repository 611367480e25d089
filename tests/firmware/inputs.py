#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""What users get wrong: each must end at once, with a status that is not 0 and a message that says what
is wrong, where, and what would be right.

Data files are damaged copies of good ones. They are given to the tools, which look at them before the
machine starts, and also past the tools straight to the machine, where the firmware must find the fault.
"""

import argparse
import re
import struct
import subprocess
import sys
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
sys.path.insert(0, str(ROOT / "tools/data"))
import datafile  # noqa: E402

OUT = ROOT / "build/tests/inputs"
MATMUL = ROOT / "build/data/repeat.bin"  # 96 x 80 x 112
DIGITS = ROOT / "build/data/digits.bin"
SIZES = ["96", "80", "112"]


def damaged(name, source, change):
    path = OUT / name
    path.write_bytes(change(bytearray(source.read_bytes())))
    return path


def replaced(at, new):
    def change(data):
        data[at:at + len(new)] = new
        return data
    return change


def resized(array, shape, dtype="bf16"):
    """A well-formed file with one array of another shape."""
    def change(data):
        arrays = [a for a in datafile.decode(bytes(data)) if a.name != array]
        size = datafile.DTYPES[dtype][1]
        count = 1
        for extent in shape:
            count *= extent
        return datafile.encode(arrays + [datafile.Array(array, dtype, shape, bytes(count * size))])
    return change


def files():
    """name: (file, what the message must match); for the firmware and for the tools."""
    last = MATMUL.stat().st_size - 1
    return {
        "short": (damaged("short.bin", MATMUL, lambda d: d[:len(d) // 2]), r"bytes|array y is damaged"),
        "empty": (damaged("empty.bin", MATMUL, lambda d: d[:0]), r"empty|bytes|there is no data file"),
        "a header and no more": (damaged("header.bin", MATMUL, lambda d: d[:64]), r"bytes|directory damaged"),
        "magic": (damaged("magic.bin", MATMUL, replaced(0, b"PNG")), r"not a data file|there is no data file"),
        "version": (damaged("version.bin", MATMUL, replaced(8, struct.pack("<I", 9))), r"version 9"),
        "directory": (damaged("directory.bin", MATMUL, replaced(70, b"\xff")), r"CRC"),
        "contents": (damaged("contents.bin", MATMUL, replaced(last, b"\xa5")), r"ref.*CRC|CRC.*ref"),
    }


def check(name, command, status, patterns):
    """One case. status: that of the program, or None for any but 0 and those of hangs and signals."""
    try:
        result = subprocess.run(command, cwd=ROOT, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE,
                                stderr=subprocess.STDOUT, text=True, errors="replace", timeout=60, check=False)
    except subprocess.TimeoutExpired:
        print(f"FAIL inputs: {name}: no end after 60 s")
        return False
    wrong = []
    if status is not None and result.returncode != status:
        wrong.append(f"status {result.returncode} instead of {status}")
    if result.returncode in (0, 120, 121, 124) or result.returncode < 0:
        wrong.append(f"status {result.returncode}")
    wrong += [f"no {pattern!r}" for pattern in patterns if not re.search(pattern, result.stdout)]
    if "Traceback" in result.stdout or "TRAP" in result.stdout:
        wrong.append("a traceback or a trap")
    print(f"FAIL inputs: {name}: {'; '.join(wrong)}" if wrong else f"PASS inputs: {name}", flush=True)
    if wrong:
        print("\n".join(f"    {line}" for line in result.stdout.splitlines()[-15:]))
    return not wrong


def cases():
    def run(*arguments, data=None, past=None, platform="func"):
        command = ["tools/run/peplos-run", "--platform", platform, "--progress", "0", "--max-seconds", "30", "--no-trace",
                   "--out", OUT / "run"]
        command += ["--data", data] if data else []
        command += ["--qemu", f"-initrd {past}"] if past else []
        return command + [arguments[0], "--", *arguments[1:]]

    for name, (path, pattern) in files().items():
        yield f"data file: {name}, seen by the tools", run("matmul", data=path), 2, [re.escape(path.name), pattern]
        yield f"data file: {name}, seen by the firmware", run("matmul", past=path), 2, ["matmul: ", pattern]
    yield "no data file", run("matmul"), 2, ["matmul: .*(no data file|DATA)"]
    yield "a data file that is not there", run("matmul", data="build/nowhere.bin"), 2, ["build/nowhere.bin"]
    yield "a folder as data file", run("matmul", data="build"), 2, ["build"]
    yield "images for matmul", run("matmul", data=DIGITS), 2, ["matmul: .*no array.* x"]
    yield "matrices for digits", run("digits", data=MATMUL), 2, ["digits: .*no array"]
    yield ("inner extents that differ", run("matmul", data=damaged("inner.bin", MATMUL, resized("y", (64, 80)))), 2,
           [r"96.*112", r"64.*80"])
    yield ("operands of two dtypes", run("matmul", data=damaged("dtypes.bin", MATMUL, resized("y", (112, 80), "int8"))),
           2, ["bf16", "int8"])
    yield ("a reference of another shape", run("matmul", data=damaged("ref.bin", MATMUL, resized("ref", (96, 81)))), 2,
           [r"ref must be bf16 \[96,80\]"])
    yield ("images of another size", run("digits", data=damaged("images.bin", DIGITS, resized("images", (7, 49), "uint8"))),
           2, ["images", "64"])
    yield "sizes that the file has not", run("matmul", "64", "64", "64", data=MATMUL), 2, ["64 x 64 x 64", "96 x 80 x 112"]
    yield ("blocks that do not fit", run("matmul", *SIZES, "--block", "2048", data=MATMUL), 16,
           [r"VMEM", r"524288|512 KiB", "input 0", "fit"])
    yield ("accumulators that do not fit", run("matmul", *SIZES, "--block-m", "256", "--block-n", "320", "--block-k", "16",
                                               data=MATMUL), 16, ["ACC", "fit"])
    yield "a block of 0", run("matmul", *SIZES, "--block", "0", data=MATMUL), 2, ["'0' is not a number from 1"]
    yield "a negative size", run("matmul", "-5", "80", "112", data=MATMUL), 2, ["-5"]
    yield "too many buffers", run("matmul", *SIZES, "--buffers", "99", data=MATMUL), 2, ["'99'", "1 to 32"]
    yield "a word as a number", run("matmul", *SIZES, "--block", "big", data=MATMUL), 2, ["'big'"]
    yield "an unknown option", run("matmul", *SIZES, "--blok", "32", data=MATMUL), 2, ["--blok", "usage"]
    yield "an option without its value", run("matmul", *SIZES, "--block", data=MATMUL), 2, ["--block needs a value"]
    yield "an unknown app", run("matmull"), 2, ["matmull", "matmul"]
    yield "an unknown platform", run("hello", platform="fpga"), 2, ["fpga", "rtl, func"]
    yield "a text file as model", run("hello", platform="./README.md"), None, ["README.md"]
    yield "another library as model", run("hello", platform="/lib/x86_64-linux-gnu/libm.so.6"), None, ["tpu_model_get_api"]
    yield "an unknown configuration", ["tools/run/peplos-run", "--platform", "func", "--config", "sim99", "hello"], None, ["sim99", "sim16"]
    def make(*words):
        return ["make", "--no-print-directory", *words]

    yield "make run with an unknown app", make("run", "APP=matmull", "PLATFORM=func"), 2, ["no such app", "digits hello"]
    yield "make run with no app", make("run", "APP=", "PLATFORM=func"), 2, ["one app is needed"]
    yield "make run with an unknown platform", make("run", "PLATFORM=fpga"), 2, ["PLATFORM=fpga: rtl"]
    yield "make run with an unknown configuration", make("run", "CONFIG=sim99"), 2, ["CONFIG=sim99: .*sim16"]
    yield "make run with two platforms", make("run", "PLATFORM=rtl func"), 2, ["PLATFORM='rtl func': one is needed"]
    yield "make run with a library that is not there", make("run", "PLATFORM=./no.so"), 2, ["PLATFORM=./no.so: there is no such"]
    yield "make run with a configuration for synthesis", make("run", "CONFIG=ecp5"), 2, ["CONFIG=ecp5: .*run in QEMU are sim16"]
    yield "make run with the path of a configuration", make("run", "CONFIG=../config/sim16"), 2, ["CONFIG=../config/sim16: "]
    yield "make run with an argument that matmul has not", make("run", "PLATFORM=func", "APP=matmul", "ARGS=16 16 16 --dtype int8"), 2, [
        "unknown argument --dtype", "--type bf16"]
    yield "waveforms of another configuration", make("wave", "FROM=1", "TO=2", "CONFIG=sim8"), 2, ["CONFIG=sim8: .*sim16 only"]
    yield "waveforms of the functional model", make("wave", "FROM=1", "TO=2", "PLATFORM=func"), 2, ["PLATFORM=func: .*for rtl"]
    yield "make run with a data file that is not there", make("run", "DATA=nowhere.bin"), 2, ["DATA=nowhere.bin: .*pack.py"]
    yield "make run with a space in a file name", make("run", "DATA=a b.bin"), 2, ["space"]
    yield "too few digits right", run("digits", "--show", "0", "--expect", "99", data=DIGITS), 1, ["FAILED, at least 99 %"]
    yield "waveforms of no cycles", ["tools/run/peplos-run", "--wave", "200", "100", "hello"], 2, ["200 to 100", "less than TO"]
    yield "a device as folder of the run", ["tools/run/peplos-run", "--platform", "func", "--out", "/dev/null", "hello"], 2, [
        "/dev/null", "--out names another"]
    yield "make wave without a window", ["make", "--no-print-directory", "wave"], None, ["FROM=", "TO="]


def main():
    argparse.ArgumentParser(description=__doc__.split("\n\n")[0]).parse_args()
    OUT.mkdir(parents=True, exist_ok=True)
    results = [check(*case) for case in cases()]
    # The check itself: a good run is not an error, and must be reported as one that did not fail.
    good = ["tools/run/peplos-run", "--platform", "func", "--progress", "0", "--no-trace", "--out", OUT / "run", "hello"]
    ok = subprocess.run(good, cwd=ROOT, stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL, check=False).returncode == 0
    print("PASS inputs: control: a good run ends with 0" if ok else "FAIL inputs: control: a good run failed")
    return 0 if all(results) and ok else 1


if __name__ == "__main__":
    sys.exit(main())
