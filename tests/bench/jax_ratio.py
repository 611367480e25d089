#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""The functional model in QEMU against JAX's TPU interpreter, on the same pipelined products.

Runs in JAX's environment (make bench-jax). Both sides compute 512 x 512 x 512 in bf16 with f32 accumulation
over HBM blocks, with race detection on, in this one run, in turns. Times are wall clock, the least of several
(what else the host does only adds to them), and CPU time beside it:

  warm  one more call: here the difference of a run of many calls and of two, so that boot, loading and the
        check of the result are not in it; in JAX a compiled call
  cold  a process of its own that makes the result once, start and set-up included

The figure is the ratio against pallas_call with pltpu.InterpretParams at blocks of 128, where JAX does
best: 64 steps of large blocks. Blocks of 64, emit_pipeline (asynchronous copies), HLO mode (which models
nothing and detects no races) and cold runs are printed beside it. --write keeps the result in
tests/bench/jax.json, from which make bench takes it where JAX is not.
"""
import argparse
import json
import os
import pathlib
import resource
import subprocess
import sys
import time

os.environ.setdefault("JAX_PLATFORMS", "cpu")
ROOT = pathlib.Path(__file__).resolve().parents[2]
sys.path.insert(0, str(ROOT / "tests/conformance"))
RESULT = ROOT / "tests/bench/jax.json"
SIZE, BAR = 512, 20.0
BLOCKS = (128, 64)


# ---- JAX ----

def product(block, mode):
    """A compiled function of x and y, in one of the modes."""
    import jax
    import jax.numpy as jnp
    from jax.experimental import pallas as pl
    from jax.experimental.pallas import tpu as pltpu
    from twins import common
    steps = SIZE // block

    def body(x, y, o, acc):
        @pl.when(pl.program_id(2) == 0)
        def _():
            acc[...] = jnp.zeros_like(acc)
        acc[...] += jnp.dot(x[...], y[...], preferred_element_type=jnp.float32)

        @pl.when(pl.program_id(2) == steps - 1)
        def _():
            o[...] = acc[...].astype(o.dtype)

    specs = {"in_specs": [pl.BlockSpec((block, block), lambda i, j, k: (i, k)),
                          pl.BlockSpec((block, block), lambda i, j, k: (k, j))],
             "out_specs": [pl.BlockSpec((block, block), lambda i, j, k: (i, j))]}
    scratch = [pltpu.VMEM((block, block), jnp.float32)]
    shape = [jax.ShapeDtypeStruct((SIZE, SIZE), jnp.bfloat16)]
    if mode == "emit":
        def outer(x, y, o, acc):
            pltpu.emit_pipeline(body, grid=(steps,) * 3, **specs)(x, y, o, scratches=(acc,))
        call = pl.pallas_call(outer, out_shape=shape, in_specs=[common.ANY] * 2, out_specs=[common.ANY],
                              scratch_shapes=scratch, interpret=common.tpu())
    else:
        call = pl.pallas_call(body, out_shape=shape, grid=(steps,) * 3, scratch_shapes=scratch, **specs,
                              interpret=True if mode == "hlo" else common.tpu())
    return jax.jit(call)


def operands():
    import jax.numpy as jnp
    import numpy as np
    bits = np.random.default_rng(1).integers(-8, 9, (2, SIZE, SIZE)).astype(np.float32)
    return [jnp.asarray(b).astype(jnp.bfloat16) for b in bits]


class Warm:
    """A compiled product; its first result is checked."""

    def __init__(self, block, mode):
        import jax.numpy as jnp
        import numpy as np
        self.operands, self.run = operands(), product(block, mode)
        x, y = self.operands
        want = (x.astype(jnp.float32) @ y.astype(jnp.float32)).astype(jnp.bfloat16)
        if not np.array_equal(np.asarray(self.run(x, y)[0]), np.asarray(want)):
            sys.exit(f"jax_ratio: JAX's result in mode {mode} is wrong")

    def call(self):
        """Seconds of a call: wall clock, CPU."""
        start, cpu = time.monotonic(), time.process_time()
        self.run(*self.operands)[0].block_until_ready()
        return time.monotonic() - start, time.process_time() - cpu


# ---- here ----

def machine(block, calls):
    """Seconds (wall clock, CPU) of a run of the machine with so many calls; the app checks its result."""
    command = [ROOT / "tools/run/peplos-run", "--platform", "func", "--races", "--no-trace", "--progress", "0",
               "--data", ROOT / "build/data/bench.bin", "matmul", "--", *[str(SIZE)] * 3, "--block", str(block),
               "--calls", str(calls)]
    start, before = time.monotonic(), resource.getrusage(resource.RUSAGE_CHILDREN)
    result = subprocess.run(command, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True,
                            check=False)
    seconds, after = time.monotonic() - start, resource.getrusage(resource.RUSAGE_CHILDREN)
    if result.returncode != 0:
        sys.exit(f"jax_ratio: the machine ended with status {result.returncode}:\n{result.stdout}")
    return seconds, after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime


def cold(command):
    start = time.monotonic()
    subprocess.run(command, cwd=ROOT, check=True, stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL)
    return time.monotonic() - start


def least(samples):
    return tuple(min(column) for column in zip(*samples))


def measure():
    """(wall clock, CPU) seconds by (block, what)."""
    seconds = {}
    few, many = 2, 42
    for block, turns in ((128, 6), (64, 2)):
        warm = {mode: Warm(block, mode) for mode in ("tpu", "emit", "hlo")}
        samples = {key: [] for key in (few, many, *warm)}
        machine(block, few)  # files are in memory then
        for _ in range(turns):
            for calls in (few, many):
                samples[calls].append(machine(block, calls))
            for mode, product_ in warm.items():
                samples[mode].append(product_.call())
        best = {key: least(values) for key, values in samples.items()}
        seconds[block, "func"] = tuple((m - f) / (many - few) for m, f in zip(best[many], best[few]))
        for mode in warm:
            seconds[block, mode] = best[mode]
        seconds[block, "func cold"] = machine(block, 1)
        seconds[block, "tpu cold"] = (cold([sys.executable, __file__, "--cold", str(block)]), 0)
    return seconds


def figures(seconds):
    out = []

    def add(name, value, unit, bar=None):
        out.append({"name": name, "model": "func", "value": round(value, 4 if unit == "s" else 1), "unit": unit, "bar": bar,
                    "pass": bar is None or value >= bar})

    def ratio(block, what, against="func", clock=0):
        return seconds[block, what][clock] / seconds[block, against][clock]
    add("func_vs_jax_interpreter.ratio", ratio(128, "tpu"), "x", BAR)
    add("func_vs_jax_interpreter.cpu_ratio", ratio(128, "tpu", clock=1), "x")
    for b in BLOCKS:
        for mode, name in (("tpu", "interpreter"), ("emit", "emit_pipeline"), ("hlo", "hlo")):
            add(f"func_vs_jax_{name}.ratio_b{b}", ratio(b, mode), "x")
        add(f"func_vs_jax_interpreter.cold_ratio_b{b}", ratio(b, "tpu cold", "func cold"), "x")
        for what in ("func", "tpu", "emit", "hlo", "func cold", "tpu cold"):
            add(f"jax_bench.{what.replace(' ', '_')}_b{b}", seconds[b, what][0], "s")
    return out


def main():
    parser = argparse.ArgumentParser(description=__doc__.split("\n\n")[0])
    parser.add_argument("--write", action="store_true")
    parser.add_argument("--cold", type=int, metavar="BLOCK", help=argparse.SUPPRESS)
    options = parser.parse_args()
    if options.cold:
        x, y = operands()
        product(options.cold, "tpu")(x, y)[0].block_until_ready()
        return 0
    import jax
    result = {"what": f"{SIZE}^3 bf16, blocks of 128 and 64, wall clock, race detection on in both, warm unless said",
              "jax": jax.__version__, "cpus": os.cpu_count(), "figures": figures(measure())}
    for f in result["figures"]:
        print(f"FIGURE {f['name']} {f['value']} {f['unit']}")
    text = json.dumps(result, indent=1) + "\n"
    (ROOT / "build/bench-jax.json").write_text(text)
    if options.write:
        RESULT.write_text(text)
    head = result["figures"][0]
    print(f"{'PASS' if head['pass'] else 'FAIL'} bench/{head['name']}: {head['value']} x, bar {head['bar']} x")
    return 0 if head["pass"] else 1


if __name__ == "__main__":
    sys.exit(main())
