#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""What shows a kernel's inside: the printed plan, values and checks, and scopes by name in the trace."""

import json
import subprocess
import sys
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
ELF = "build/firmware/test/inside.elf"
OUT = ROOT / "build/tests/inside"
CONSOLE = [
    "plan of inside: grid [3], 3 steps",
    "  input 0    f32   [12, 20]       blocks [4, 20]        in VMEM, 2 x 512 bytes, 3 copies",
    "  output 0   f32   [12, 1]        blocks [4, 1]         in VMEM, 2 x 256 bytes, 3 copies",
    "  bytes: 960 in, 48 out",
    "inside, step 2 (2): sums = output 0 f32 [4, 1] in VMEM",
    "  [325]",
    "  [445]",
    "ERROR_CHECK: kernel inside, step 2 (2): check failed: step 2",
]


def main():
    failed = 0

    def verdict(name, ok, why=""):
        nonlocal failed
        failed += not ok
        print(f"{'PASS' if ok else 'FAIL'} inside: {name}{'' if ok else ': ' + why}")

    run = subprocess.run(["tools/run/peplos-run", "--platform", "func", "--progress", "0", "--out", OUT, ELF], cwd=ROOT,
                         stdin=subprocess.DEVNULL, capture_output=True, text=True, check=False)
    console = (OUT / "console.txt").read_text().replace("\r", "")
    verdict("the program ends well", run.returncode == 0, f"status {run.returncode}: {console}{run.stderr}")
    for line in CONSOLE:
        verdict(f"prints {line.strip()!r}", line in console.split("\n"), console)

    def events(*elf):
        path = OUT / "trace.json"
        subprocess.run(["build/tools/tpu-trace", OUT / "trace.bin", "--quiet", "--json", path, "--svg",
                        OUT / "timeline.svg", *elf], cwd=ROOT, check=True)
        return json.loads(path.read_text())["traceEvents"]

    named = events("--elf", ELF)
    scopes = [e["name"] for e in named if e["ph"] == "X" and e["name"] not in ("work", "wait")]
    verdict("scopes by name", scopes == 6 * ["load", "row sums"], str(scopes))
    values = [(e["name"], e["args"]["value"]) for e in named if e["ph"] == "C"]
    verdict("values", values == 2 * [("step", 1000), ("step", -2000), ("step", -5000)], str(values))
    verdict("scopes in the timeline", "scope row sums" in (OUT / "timeline.svg").read_text())
    bare = [e["name"] for e in events() if e["ph"] == "X" and e["name"].startswith("0x")]
    verdict("scopes by address without the ELF file", len(bare) == 12 and len(set(bare)) == 2, str(bare))
    print(f"inside: {failed} failed")
    return failed != 0


if __name__ == "__main__":
    sys.exit(main())
