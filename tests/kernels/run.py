#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""The kernel library against plain C references: runs every program of tests/kernels/programs.

Each of them tries random shapes and what must fail, and prints PASS and FAIL lines. On the functional model
there are many shapes, and three timings of the device; on the RTL, which is slow, a few.
"""
import argparse
import subprocess
import sys
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
PROGRAMS = sorted(p.stem for p in (ROOT / "tests/kernels/programs").glob("*.c") if p.stem != "check")


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--platform", required=True, choices=["func", "rtl"])
    parser.add_argument("--shapes", type=int)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("programs", nargs="*", default=[], metavar="PROGRAM")
    args = parser.parse_args()
    shapes = args.shapes or {"func": 20, "rtl": 2}[args.platform]
    timings = {"func": [[], ["--timing=late"], ["--timing=random", "--seed=5"]], "rtl": [["--stalls=25:1"]]}[args.platform]
    failed = 0
    for program in args.programs or PROGRAMS:
        for timing in timings:
            name = f"{program}{''.join(' ' + t for t in timing)} on {args.platform}"
            run = subprocess.run(["tools/run/peplos-run", "--platform", args.platform, "--no-trace", "--progress", "0", *timing,
                                  f"build/firmware/kernels-test/{program}.elf", "--", str(shapes), str(args.seed)], cwd=ROOT,
                                 stdin=subprocess.DEVNULL, capture_output=True, text=True, check=False)
            lines = run.stdout.replace("\r", "").split("\n")
            verdicts = [line for line in lines if line.startswith(("PASS ", "FAIL "))]
            for line in verdicts:
                print(f"{line[:4]} kernels/{line[5:]} ({name})")
            if run.returncode != 0 or not verdicts or any(v.startswith("FAIL") for v in verdicts):
                failed += 1
                print(f"FAIL kernels/{name}: status {run.returncode}")
                print("\n".join("  " + line for line in lines + run.stderr.split("\n") if line and line not in verdicts))
    return failed != 0


if __name__ == "__main__":
    sys.exit(main())
