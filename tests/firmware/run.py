#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Runs firmware programs on the machine and checks how each ends.

The table is zoo.toml. A case passes if the exit status is right, the console
and the machine's report say what they must, and the log of guest errors is
what the table says, or empty.
"""

import argparse
import re
import shutil
import struct
import subprocess
import sys
import tomllib
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
LIMIT = 10_000  # cycles from the last possible progress to the report
PARAM_DIM = 2


def program_path(name):
    for folder in ("test/", ""):
        path = ROOT / f"build/firmware/{folder}{name}.elf"
        if path.exists():
            return path
    sys.exit(f"run.py: there is no program {name}; make firmware-tests")


def symbol_offset(elf, name):
    """Offset in the file of a symbol of the first segment."""
    for line in Path(f"{elf}.nm").read_text().splitlines():
        fields = line.split()
        if fields[-1] == name:
            address = int(fields[0], 16)
    data = elf.read_bytes()
    phoff, = struct.unpack_from("<I", data, 28)
    phentsize, phnum = struct.unpack_from("<HH", data, 42)
    for i in range(phnum):
        kind, offset, vaddr, _, size = struct.unpack_from("<5I", data, phoff + i * phentsize)
        if kind == 1 and vaddr <= address < vaddr + size:
            return offset + address - vaddr
    sys.exit(f"run.py: {name} is not in {elf}")


def other_abi(elf, folder):
    """The program as another register description would have made it: hash, and a least DIM of 32."""
    copy = folder / f"{elf.stem}-other-abi.elf"
    shutil.copyfile(elf, copy)
    data = bytearray(copy.read_bytes())
    at = symbol_offset(elf, "boot_expected")
    struct.pack_into("<I", data, at, 0xDEADBEEF)
    if struct.unpack_from("<I", data, at + 4)[0] != PARAM_DIM:
        sys.exit("run.py: the first least parameter is not DIM")
    struct.pack_into("<I", data, at + 8, 32)
    copy.write_bytes(data)
    return copy


def for_config(case, config):
    """The case with what depends on the configuration put into its patterns."""
    with open(ROOT / f"hw/config/{config}.toml", "rb") as file:
        parameters = tomllib.load(file)
    rows = parameters["acc_rows"]
    words = {"@DIM@": str(parameters["dim"]), "@ACC_LAST@": hex(rows - 1), "@ACC_END@": hex(rows + 8)}

    def fill(pattern):
        for word, value in words.items():
            pattern = pattern.replace(word, value)
        return pattern
    return {key: [fill(p) for p in value] if key in ("output", "log", "races") else value for key, value in case.items()}


def failures(case, platform, status, text, log):
    """What is wrong with the way a program ended; nothing if it is as it must be."""
    if status != case["status"]:
        yield f"status {status} instead of {case['status']}"
    for pattern in case.get("output", []):
        if not re.search(pattern, text):
            yield f"no {pattern!r} in the output"
    for pattern in case.get("log", []):
        if not re.search(pattern, log):
            yield f"no {pattern!r} in the log of guest errors"
    for pattern in case.get("races", []) if platform == "func" else []:
        if not re.search(f"(?:UNPREDICTABLE|GUEST_ERROR): .*{pattern}", log):
            yield f"no {pattern!r} in the log of guest errors"
    if "log" not in case and log and not (platform == "func" and "races" in case):
        yield f"the log of guest errors is not empty: {log.splitlines()[0]}"
    if case.get("hang"):
        last = re.search(r"no progress after cycle (\d+)", text)
        stopped = re.search(r"stopped at cycle (\d+)", text)
        if not last or not stopped:
            yield "no cycle of the last progress or of the report"
        elif int(stopped[1]) - int(last[1]) > LIMIT:
            yield f"noticed after {int(stopped[1]) - int(last[1])} cycles"


def run_case(case, platform, config, folder):
    elf = program_path(case["program"])
    if case.get("other_abi"):
        elf = other_abi(elf, folder)
    out = folder / re.sub(r"\W+", "-", case["name"])
    command = [ROOT / "tools/run/peplos-run", "--platform", platform, "--config", config, "--out", out, "--max-seconds", "20",
               "--progress", "0", elf, "--", *case.get("args", [])]
    # Apart, and then one after the other: the console comes through a file, and lines must not mix.
    result = subprocess.run(command, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.PIPE,
                            text=True, errors="replace", check=False)
    text = result.stdout + result.stderr
    log = out / "guest-errors.txt"
    log_text = log.read_text(errors="replace") if log.exists() else ""
    return list(failures(case, platform, result.returncode, text, log_text)), text


def main():
    parser = argparse.ArgumentParser(description=__doc__.split("\n\n")[0])
    parser.add_argument("--platform", default="func")
    parser.add_argument("--config", default="sim16")
    parser.add_argument("--table", type=Path, default=ROOT / "tests/firmware/zoo.toml")
    parser.add_argument("words", nargs="*", help="only cases whose name has one of these words")
    options = parser.parse_args()
    with open(options.table, "rb") as file:
        cases = tomllib.load(file)["case"]
    where = options.platform if options.config == "sim16" else f"{options.platform} {options.config}"
    folder = ROOT / "build/tests/firmware" / where.replace(" ", "-")
    folder.mkdir(parents=True, exist_ok=True)
    failed = 0
    for case in cases:
        if options.words and not any(word in case["name"] for word in options.words):
            continue
        if options.config not in case.get("configs", [options.config]) or \
                options.platform not in case.get("platforms", [options.platform]):
            continue
        case = for_config(case, options.config)
        name = f"firmware {where}: {case['name']}" + (f" (zoo {case['row']})" if case["row"] else "")
        wrong, text = run_case(case, options.platform, options.config, folder)
        if wrong:
            failed += 1
            print(f"FAIL {name}: {'; '.join(wrong)}")
            print("\n".join(f"    {line}" for line in text.splitlines()[-30:]))
        else:
            print(f"PASS {name}", flush=True)
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
