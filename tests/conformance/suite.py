# SPDX-License-Identifier: MIT
"""The table of cases (cases.toml), the inputs of a case, and the golden vectors.

Inputs are not stored: a case's input is a function of its name and description, made from the numbers
of a fixed generator (splitmix64) that does not depend on a library's version. What the oracle made from
them is stored in golden/PROGRAM.npz (arrays) and golden/PROGRAM.json (everything else, for readers).
"""
import json
import pathlib
import sys
import tomllib
import zlib

import numpy as np

HERE = pathlib.Path(__file__).resolve().parent
ROOT = HERE.parents[1]
sys.path.insert(0, str(ROOT / "tools/data"))
import pack  # noqa: E402

GOLDEN = HERE / "golden"
PATTERN = 0xA5  # of bytes that a kernel must not write: CASE_PATTERN in programs/case.h
NUMPY = {"f32": np.float32, "bf16": np.float32, "int32": np.int32, "int8": np.int8, "uint8": np.uint8}


def load(path=HERE / "cases.toml"):
    """The table: (features by id, cases by name), checked."""
    with open(path, "rb") as file:
        table = tomllib.load(file)
    features = {f["id"]: f for f in table["feature"]}
    cases = {}
    for case in table["case"]:
        name = case["name"]
        if name in cases:
            raise SystemExit(f"cases.toml: two cases are called {name}")
        for feature in case["features"]:
            if feature not in features:
                raise SystemExit(f"cases.toml: case {name} has an unknown feature {feature}")
        cases[name] = case
    return features, cases


def bits64(seed, n):
    """n numbers of splitmix64."""
    with np.errstate(over="ignore"):
        z = (np.arange(1, n + 1, dtype=np.uint64) + np.uint64(seed)) * np.uint64(0x9E3779B97F4A7C15)
        z = (z ^ (z >> np.uint64(30))) * np.uint64(0xBF58476D1CE4E5B9)
        z = (z ^ (z >> np.uint64(27))) * np.uint64(0x94D049BB133111EB)
        return z ^ (z >> np.uint64(31))


def to_bf16(values):
    """The nearest bf16 values, as f32."""
    return (pack.to_bf16(np.asarray(values, np.float32)).astype(np.uint32) << 16).view(np.float32)


def make_input(case, name):
    """An input as numpy (bf16 as f32 with bf16 values) and its dtype."""
    spec = case["inputs"][name]
    dtype = spec["dtype"]
    if "values" in spec:
        values = np.array(spec["values"])
    elif spec.get("iota"):
        values = np.arange(int(np.prod(spec["shape"]))).reshape(spec["shape"])
    else:
        seed = zlib.crc32(f"{case.get('seed', case['name'])}/{name}".encode()) << 20
        raw = bits64(seed, int(np.prod(spec["shape"])))
        low, high = spec["range"]
        if spec.get("real"):  # evenly spread over [low, high), 24 bits
            values = low + (high - low) * ((raw >> np.uint64(40)).astype(np.float64) / 2.0**24)
        else:
            values = low + (raw % np.uint64(high - low + 1)).astype(np.int64)
        values = values.reshape(spec["shape"])
    values = values.astype(NUMPY[dtype])
    return (to_bf16(values) if dtype == "bf16" else values), dtype


def pack_input(case, name):
    """The bytes that an input has in HBM, for its CRC, and as pack.make_array takes it."""
    values, dtype = make_input(case, name)
    return (pack.to_bf16(values) if dtype == "bf16" else values), dtype


class Golden:
    """The golden vectors of a program: about[case] and arrays['case/output'], ['case/output.m']."""

    def __init__(self, program, folder=GOLDEN):
        self.paths = folder / f"{program}.json", folder / f"{program}.npz"
        self.about, self.arrays = {}, {}

    def read(self):
        if not self.paths[0].exists():
            raise SystemExit(f"{self.paths[0]} is missing; make oracle-write makes it")
        self.about = json.loads(self.paths[0].read_text())
        with np.load(self.paths[1], allow_pickle=False) as arrays:
            self.arrays = {name: arrays[name] for name in arrays}
        return self

    def write(self):
        self.paths[0].parent.mkdir(parents=True, exist_ok=True)
        self.paths[0].write_text(json.dumps(self.about, indent=1, sort_keys=True) + "\n")
        np.savez_compressed(self.paths[1], **{name: self.arrays[name] for name in sorted(self.arrays)})

    def outputs(self, case):
        """(name, array, dtype, mask or None) of a case."""
        for name, about in self.about[case]["outputs"].items():
            yield name, self.arrays[f"{case}/{name}"], about["dtype"], self.arrays.get(f"{case}/{name}.m")
