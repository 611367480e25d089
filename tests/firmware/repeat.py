#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""The same run again, and again while the host is busy: console and trace must be the same bytes.

Every run is made four times: alone, alone again, beside one busy process a core and two more, and with
another quantum (cycles between two catch-ups of the device), which must not be seen either. The RTL's three
builds must agree too. A control: with another HBM latency the trace must differ, or this test would see nothing.
"""

import argparse
import os
import struct
import subprocess
import sys
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
RUNS = {
    "matmul": ["--data", "build/data/repeat.bin", "matmul", "--", "96", "80", "112", "--block", "32", "--buffers", "3"],
    "digits": ["--data", "build/data/digits.bin", "digits", "--", "--show", "0"],
    "zoo deadlock": ["build/firmware/test/zoo.elf", "--", "two_engines"],
}
BUSY = "while True: pass"


def run(platform, name, label, options):
    """Console and trace of one run."""
    out = ROOT / "build/tests/repeat" / f"{platform}-{name.split()[0]}-{label}"
    command = ["tools/run/peplos-run", "--platform", platform, "--progress", "0", "--out", out, "--max-seconds", "300",
               *options, *RUNS[name]]
    subprocess.run(command, cwd=ROOT, stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL,
                   check=False)
    return [(out / file).read_bytes() for file in ("console.txt", "trace.bin")]


def middle(trace):
    """The cycle of the middle record of a trace (docs/contract.md section 11)."""
    head, record = struct.unpack_from("<2I", trace, 12)
    count = (len(trace) - head) // record
    return int.from_bytes(trace[head + count // 2 * record:][:6], "little")


def busy_run(*arguments):
    hogs = [subprocess.Popen([sys.executable, "-c", BUSY]) for _ in range((os.cpu_count() or 1) + 2)]
    try:
        return run(*arguments)
    finally:
        for hog in hogs:
            hog.kill()
            hog.wait()


def main():
    parser = argparse.ArgumentParser(description=__doc__.split("\n\n")[0])
    parser.add_argument("--platform", default="func")
    platform = parser.parse_args().platform
    failed = 0

    def verdict(name, ok, why):
        nonlocal failed
        failed += not ok
        print(f"PASS repeat {platform}: {name}" if ok else f"FAIL repeat {platform}: {name}: {why}", flush=True)

    for name in RUNS:
        console, trace = run(platform, name, "first", [])
        if not console or len(trace) < 64:
            verdict(name, False, f"{len(console)} bytes of console, {len(trace)} of trace")
            continue
        others = {"again": run(platform, name, "again", []),
                  "beside busy processes": busy_run(platform, name, "busy", []),
                  "with another quantum": run(platform, name, "quantum", ["--quantum", "777"])}
        if platform == "rtl":
            others["on the checked build"] = run("rtl_checked", name, "checked", [])
            start = middle(trace) - 100
            others["on the build for waveforms"] = run("rtl", name, "wave", ["--wave", str(start), str(start + 200)])
            wave = (start, (ROOT / f"build/tests/repeat/rtl-{name.split()[0]}-wave/wave.fst").read_bytes())
        different = [f"{what} {label}" for label, other in others.items()
                     for what, a, b in zip(("console", "trace"), (console, trace), other) if a != b]
        if platform == "rtl" and name == "matmul":
            first, last = struct.unpack_from(">QQ", wave[1], 9)  # the header of FST: a byte, a length, two times
            low, high = 2 * wave[0], 2 * wave[0] + 399  # two times a cycle; idle cycles are skipped
            verdict(f"waveforms of 200 cycles, {len(wave[1])} bytes", low <= first < last <= high,
                    f"times {first} to {last}, not inside {low} to {high}")
        verdict(f"{name}, {len(others) + 1} runs: {len(console)} bytes of console and {len(trace)} of trace are the same",
                not different, f"{', '.join(different)} differs")
    other = run(platform, "matmul", "latency", ["--latency", "140"])
    verdict("control: another HBM latency shows", other[1] != run(platform, "matmul", "first", [])[1],
            "the trace is the same with a latency of 140 cycles")
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
