#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Runs the twins of the conformance cases on JAX and compares with the golden vectors.

  oracle.py [WORD ...]           makes everything anew and fails on any difference from golden/
  oracle.py --write [WORD ...]   stores it instead
Only cases whose name has one of the words; without, all of them. Runs in JAX's environment (make oracle).

A result with a tolerance in cases.toml is compared within it, because a CPU may add in another order;
everything else bit for bit. A case without `oracle` is judged by stated rules alone and has no twin.
"""
import argparse
import importlib
import logging
import os
import signal
import sys
import time
import zlib

os.environ.setdefault("JAX_PLATFORMS", "cpu")
import jax  # noqa: E402
import ml_dtypes  # noqa: E402
import numpy as np  # noqa: E402

import suite  # noqa: E402
from twins import common  # noqa: E402

PINNED = "0.10.2"
SECONDS = 240  # for one case; a semaphore that nobody signals makes JAX wait for ever


def bits(values):
    """As golden vectors are stored: bf16 as its bits."""
    return values.view(np.uint16) if values.dtype == ml_dtypes.bfloat16 else values


def run_case(case):
    """What the oracle says of a case: (about, arrays)."""
    about = {"outputs": {}, "inputs": {}, "oracle": case.get("oracle", [])}
    arrays = {}
    for name in case.get("inputs", {}):
        values, _ = suite.pack_input(case, name)
        about["inputs"][name] = f"{zlib.crc32(np.ascontiguousarray(values).tobytes()):08x}"
    if not case.get("oracle"):
        return about, arrays
    twin = common.Twin(case)
    module = importlib.import_module(f"twins.{case['program']}")
    function = getattr(module, case["name"], None)
    if function is None:
        raise common.Disagreement(f"twins/{case['program']}.py has no {case['name']}")
    function(twin)
    for name, value in twin.outputs.items():
        arrays[f"{case['name']}/{name}"] = bits(value)
        about["outputs"][name] = {"dtype": common.NAMES[value.dtype.name], "shape": list(value.shape)}
        if name in twin.masks:
            arrays[f"{case['name']}/{name}.m"] = twin.masks[name]
    if twin.copies and case.get("copies_judged", True):
        about["copies"] = twin.copies
        if case.get("copies", twin.copies) != twin.copies:
            raise common.Disagreement(f"JAX makes {twin.copies} copies, cases.toml says {case['copies']}")
    if twin.errors:
        about["errors"] = twin.errors
    return about, arrays


def as_float(values, dtype):
    return (values.astype(np.uint32) << 16).view(np.float32) if dtype == "bf16" else values


def differences(case, golden, about, arrays):
    """How the oracle's answer differs from the committed one."""
    name = case["name"]
    if name not in golden.about:
        yield "there is no golden vector of it (make oracle-write)"
        return
    for key in ("inputs", "outputs", "copies", "errors", "oracle"):
        if about.get(key) != golden.about[name].get(key):
            yield f"{key}: {about.get(key)}, committed {golden.about[name].get(key)}"
    committed = {k: v for k, v in golden.arrays.items() if k.split("/")[0] == name}
    if committed.keys() != arrays.keys():
        yield f"arrays {sorted(arrays)}, committed {sorted(committed)}"
        return
    for key, value in arrays.items():
        output = key.split("/")[1]
        t = case.get("tolerance", {}).get(output)
        if t is None:
            same = value.dtype == committed[key].dtype and value.tobytes() == committed[key].tobytes()
        else:
            dtype = about["outputs"][output]["dtype"]
            a, b = (as_float(v, dtype).astype(np.float64) for v in (value, committed[key]))
            spacing = np.abs(b) * 2.0 ** (-7 if dtype == "bf16" else -23)
            same = np.all((np.abs(a - b) <= t.get("absolute", 0) + t.get("ulps", 0) * spacing) | (np.isnan(a) & np.isnan(b)))
        if not same:
            yield f"{output}: the values differ"


def main():
    parser = argparse.ArgumentParser(description=__doc__.split("\n\n")[0])
    parser.add_argument("--write", action="store_true")
    parser.add_argument("words", nargs="*")
    options = parser.parse_args()
    if jax.__version__ != PINNED:
        sys.exit(f"oracle.py: JAX {jax.__version__}, the suite is judged by {PINNED}")
    logging.getLogger("jax").setLevel(logging.CRITICAL)  # a callback's failure is an exception, too
    _, cases = suite.load()
    failed, ran = 0, 0
    for program in sorted({case["program"] for case in cases.values()}):
        golden = suite.Golden(program)
        if golden.paths[0].exists():
            golden.read()
        stale = [n for n in golden.about if n not in cases or cases[n]["program"] != program]
        for case in [c for c in cases.values() if c["program"] == program]:
            if options.words and not any(word in case["name"] for word in options.words):
                continue
            ran += 1
            signal.alarm(SECONDS)
            start = time.monotonic()
            try:
                about, arrays = run_case(case)
            except Exception as error:  # pylint: disable=broad-exception-caught
                common.pltpu.reset_tpu_interpret_mode_state()
                failed += 1
                print(f"FAIL oracle: {case['name']}: {type(error).__name__}: {str(error)[:2000]}", flush=True)
                if os.environ.get("ORACLE_TRACE"):
                    raise
                continue
            finally:
                signal.alarm(0)
            wrong = [] if options.write else list(differences(case, golden, about, arrays))
            failed += bool(wrong)
            print(f"{'FAIL' if wrong else 'PASS'} oracle: {case['name']}" + "".join(f": {w}" for w in wrong[:4]) +
                  (f" ({time.monotonic() - start:.1f} s)" if time.monotonic() - start > 5 else ""), flush=True)
            if options.write:
                golden.arrays = {k: v for k, v in golden.arrays.items() if k.split("/")[0] != case["name"]} | arrays
                golden.about[case["name"]] = about
        if options.write:
            golden.about = {n: a for n, a in golden.about.items() if n not in stale}
            golden.arrays = {k: v for k, v in golden.arrays.items() if k.split("/")[0] in golden.about}
            golden.write()
        elif stale and not options.words:
            failed += 1
            print(f"FAIL oracle: golden/{program} has vectors of unknown cases: {', '.join(stale)}")
    print(f"{ran - failed} passed, {failed} failed")
    return 1 if failed or not ran else 0


if __name__ == "__main__":
    sys.exit(main())
