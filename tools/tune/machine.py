# SPDX-License-Identifier: MIT
"""Runs the firmware app `tune`: many choices for one kernel and shape in one boot of the machine."""
import dataclasses
import re
import struct
import subprocess
import sys
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
sys.path.insert(0, str(ROOT / "tools/data"))
import datafile  # noqa: E402

VALUES = 6
DEFAULT, TABLE = "default", "table"  # choices that the kernel makes itself


@dataclasses.dataclass
class Result:
    """Of one choice. refused: why it cannot run; cycles, instructions: None if it was only predicted;
    was_..: cycles that a unit was busy, or that the port needed at least."""
    refused: str | None = None
    predicted: int = 0
    bound: str = ""
    vmem: int = 0
    acc: int = 0
    steps: int = 0
    dma_in: int = 0
    dma_out: int = 0
    mxu: int = 0
    vpu: int = 0
    scalar: int = 0
    cycles: int | None = None
    instructions: int | None = None
    was_mxu: int = 0
    was_vpu: int = 0
    was_dma_in: int = 0
    was_dma_out: int = 0

    def busiest(self):
        """What took longest in the measured call, and by how much it was longer than the next."""
        order = sorted(((getattr(self, f"was_{unit}"), unit) for unit in ("mxu", "vpu", "dma_in", "dma_out")), reverse=True)
        return order[0][1], order[0][0] / max(order[1][0], 1)


def encode(choices, path):
    rows = []
    for choice in choices:
        kind, values = {DEFAULT: (1, ()), TABLE: (2, ())}.get(choice, (0, choice))
        rows.append((kind, *values, *[0] * (VALUES - len(values))))
    data = b"".join(struct.pack(f"<{VALUES + 1}i", *row) for row in rows)
    datafile.write(path, datafile.encode([datafile.Array("candidates", "int32", (len(rows), VALUES + 1), data)]))


def run(kernel, extents, choices, platform="func", measure=True):
    """The Result of every choice, in order. Ends the program if the machine does not do as told."""
    if not choices:
        return []
    label = f"tune-{kernel.name}-{'x'.join(map(str, extents))}-{platform}"
    out = ROOT / "build/run" / label
    encode(choices, out / "candidates.bin")
    command = ["tools/run/peplos-run", "--platform", platform, "--no-trace", "--no-races", "--progress", "0", "--out", str(out),
               "--data", str(out / "candidates.bin"), f"build/firmware/tune/{kernel.program}.elf", "--", kernel.name, *map(str, extents)]
    process = subprocess.run(command + ([] if measure else ["--predict"]), cwd=ROOT, stdin=subprocess.DEVNULL,
                             capture_output=True, text=True, errors="replace", check=False)
    results = {}
    for line in process.stdout.replace("\r", "").split("\n"):
        if match := re.match(r"TUNE (\d+) refused (.*)", line):
            results[int(match[1])] = Result(refused=match[2])
        elif match := re.match(r"TUNE (\d+) (predicted .*)", line):
            words = match[2].split()
            fields = dict(zip(words[::2], words[1::2]))
            results[int(match[1])] = Result(**{k: v if k == "bound" else int(v) for k, v in fields.items()})
    if process.returncode != 0 or len(results) != len(choices):
        sys.exit(f"tune: the machine ended with status {process.returncode} after {len(results)} of {len(choices)} choices:\n"
                 f"{process.stdout[-2000:]}{process.stderr[-2000:]}")
    return [results[i] for i in range(len(choices))]
