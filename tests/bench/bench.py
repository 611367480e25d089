#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Measures the figures of docs/timings.md.

Sources: the firmware app `bench` in QEMU on both models, and the host program `device` on the bare
model libraries. Both print lines `FIGURE name value unit`. Simulated cycles are exact; host speeds
(kHz, GMAC/s) are noisy and only ever compared as ratios inside one run or against a floor.

  bench.py            measure, print, write build/bench.json; exit 1 if a bar is missed
  bench.py --write    also rewrite the table in docs/timings.md
  bench.py --check    also fail if the exact figures in docs/timings.md differ from the run
  bench.py --exact    leave out what depends on the host's speed
"""
import argparse
import json
import os
import pathlib
import re
import resource
import subprocess
import sys
import time

ROOT = pathlib.Path(__file__).resolve().parents[2]
TABLE = ROOT / "docs" / "timings.md"
BEGIN, END = "<!-- bench: begin -->", "<!-- bench: end -->"

# name: (comparison, bar). A figure without a bar is printed only.
BARS = {
    "matmul_bf16_512_b128.utilisation": (">=", 97.0),
    "matmul_int8_512_b128.utilisation": (">=", 97.0),
    "matmul_bf16_512_b64.utilisation": (">=", 90.0),
    "matmul_bf16_256_b128.utilisation": (">=", 84.0),
    "matmul_bf16_256_b64.utilisation": (">=", 88.0),
    "matmul_bf16_128_resident.mxu_command": (">=", 99.0),
    "matmul_bf16_128_resident.utilisation": (">=", 75.0),
    "call_setup_instructions": ("<=", 2600),
    "step_instructions": ("<=", 250),
    "copy_pipeline_3buf.bandwidth": (">=", 95.0),
    "gmm_8x512x256x512.utilisation": (">=", 85.0),
    "gmm_8x512x256x512_desc.utilisation": (">=", 85.0),
    "flash_1024_d128.mfu": (">=", 90.0),
    "flash_1024_d64.mfu": (">=", 88.0),
    "flash_1024_d128_causal.mfu": (">=", 85.0),
    "flash_1024_d64_causal.mfu": (">=", 85.0),
    "softmax_512x1024_f32.bound": (">=", 90.0),
    "softmax_512x1024_bf16.bound": (">=", 90.0),
    "layernorm_512x1024_f32.bound": (">=", 90.0),
    "layernorm_512x1024_bf16.bound": (">=", 90.0),
    "matmul_bias_gelu_512.relative": (">=", 95.0),
    "rotary_8x512x128_bf16.bound": (">=", 78.0),
    "maxpool_112x112x64_bf16.bound": (">=", 78.0),
    "topk_256x1024_k8_f32.bound": (">=", 95.0),
    "argmax_512x1024_f32.bound": (">=", 92.0),
    "add_512x1024_int32.bound": (">=", 92.0),
    "iota_512x1024_int32.bound": (">=", 92.0),
    "paged_4x256_32_8_d128.bound": (">=", 87.0),
    "gather_8192_rows256.bound": (">=", 94.0),
    "scatter_8192_rows256.bound": (">=", 94.0),
    "indirect_in_8192_rows256.bound": (">=", 92.0),
    "indirect_out_8192_rows256.bound": (">=", 94.0),
    "gather_32768_rows16_vmem.bound": (">=", 90.0),
    "embedding_4096_rows512.bound": (">=", 83.0),
    "dma_64k_rows256.bandwidth": (">=", 97.0),
    "dma_64b.overhead": ("<=", 40),
    "dma_chain.bubble": ("<=", 0),
    "mxu_beside_dma.loss": ("<=", 1.0),
    "digits.accuracy": (">=", 96.0),
    "rtl.khz": (">=", 500.0),
    "qemu_rtl.relative": (">=", 85.0),
    "func.gmacs_bf16": (">=", 5.0),
    "func.gmacs_int8": (">=", 5.0),
    "func.gmacs_matmul_512": (">=", 5.0),
    "func_vs_jax_interpreter.ratio": (">=", 20.0),
    "make_run.seconds": ("<=", 15.0),
    "make_run.memory": ("<=", 1024.0),
}
FUNC_CYCLE_ERROR = 10.0
PLAN_ERROR = 10.0  # of pl_predict(), against the RTL; every kernel with a figure `cycles` has one `planned`
HOST_UNITS = {"kHz", "GMAC/s", "s", "MiB", "% of bare", "x"}
# What make bench-jax measured here, or else what was committed.
JAX_RESULTS = [ROOT / "build" / "bench-jax.json", ROOT / "tests" / "bench" / "jax.json"]


def run(command, label, timeout=1800):
    """Runs a program, passes its output through, returns its FIGURE lines as (name, value, unit)."""
    print(f"== {label}", flush=True)
    figures = []
    process = subprocess.Popen(command, cwd=ROOT, stdout=subprocess.PIPE, stdin=subprocess.DEVNULL, text=True,
                               errors="replace")
    for line in process.stdout:
        match = re.match(r"FIGURE (\S+) (-?[0-9.]+) (.+)$", line.rstrip())
        if match:
            figures.append((match[1], float(match[2]), match[3]))
        else:
            print(line, end="", flush=True)
    status = process.wait(timeout)
    if status != 0:
        sys.exit(f"bench: {label} ended with status {status}")
    return figures


def cpu_seconds(command):
    """CPU time of a run, its output dropped."""
    before = resource.getrusage(resource.RUSAGE_CHILDREN).ru_utime
    if subprocess.run(command, cwd=ROOT, stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL).returncode != 0:
        sys.exit(f"bench: {' '.join(command)} failed")
    return resource.getrusage(resource.RUSAGE_CHILDREN).ru_utime - before


def speed_in_qemu(model, cycles):
    """kHz of a model in QEMU: CPU time of ten more calls of a product of so many cycles each (the fastest of three
    runs, as for the bare model)."""
    def seconds(calls):
        return min(cpu_seconds(["tools/run/peplos-run", "--platform", model, "--no-trace", "--data", "build/data/bench.bin",
                                "matmul", "--", "512", "512", "512", "--block", "128", "--calls", str(calls)])
                   for _ in range(3))
    return 10 * cycles / (seconds(12) - seconds(2)) / 1e3


def a_later_run():
    """Wall clock of a whole `make run` when all is built, and the largest resident set of its processes, QEMU with the RTL
    among them."""
    environment = {k: v for k, v in os.environ.items() if k not in ("MAKEFLAGS", "MAKELEVEL", "MFLAGS")}
    for _ in range(2):  # the first may have to build
        start = time.monotonic()
        process = subprocess.Popen(["make", "run"], cwd=ROOT, env=environment, stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL)
        _, status, usage = os.wait4(process.pid, 0)
        if status != 0:
            sys.exit("bench: make run failed")
    return [("make_run.seconds", round(time.monotonic() - start, 1), "s"), ("make_run.memory", round(usage.ru_maxrss / 1024), "MiB")]


def against_jax():
    """The ratios that make bench-jax measured: it needs JAX, which is not asked for here."""
    path = next(p for p in JAX_RESULTS if p.exists())
    print(f"== against JAX, from {path.relative_to(ROOT)}", flush=True)
    return [f | {"source": str(path.relative_to(ROOT))} for f in json.loads(path.read_text())["figures"]
            if f["unit"] == "x"]


def collect(device, models, exact):
    """All figures as dicts, rtl first."""
    out = []

    def add(figures, model):
        for name, value, unit in figures:
            op, bar = BARS.get(name, (None, None))
            if model == "func" and not name.startswith("func."):
                bar = None  # the bars are for RTL cycles
            ok = bar is None or (value >= bar if op == ">=" else value <= bar)
            out.append({"name": name, "model": model, "value": value, "unit": unit, "bar": bar, "pass": ok})

    for model in models:
        app = ["tools/run/peplos-run", "--platform", model, "--no-trace"]
        add(run(app + ["bench"], f"firmware on {model}"), model)
        add(run(app + ["bench_kernels"], f"kernels with vector functions on {model}"), model)
        add(run(app + ["bench_matmul"], f"matrix products on {model}"), model)
        add(run(app + ["bench_rows"], f"softmax and norms on {model}"), model)
        add(run(app + ["bench_places"], f"kernels that move and choose on {model}"), model)
        add(run(app + ["bench_lists"], f"gathers and scatters on {model}"), model)
        add(run(app + ["build/firmware/test/step_cost.elf"], f"instructions on {model}"), model)
        if model == "func":  # instructions, which are the same on both
            add(run(app + ["build/firmware/test/feature_cost.elf"], "what features cost"), model)
        add(run(app + ["--data", "build/data/digits.bin", "digits", "--", "--bench"], f"digits on {model}"), model)
    for model in models:
        add(run([device, f"build/lib/libtpu_{model}.so"] + (["--exact"] if exact else []), f"bare {model} model"), model)
    product = {f["model"]: f["value"] for f in out if f["name"] == "matmul_bf16_512_b128.cycles"}
    if not exact:
        print("== speed in QEMU", flush=True)
        add([("qemu_rtl.khz", round(speed_in_qemu("rtl", product["rtl"]), 1), "kHz")], "rtl")
        add(a_later_run(), "rtl")
    cycles = {m: {f["name"]: f["value"] for f in out if f["model"] == m and f["name"].endswith(".cycles")}
              for m in models}
    for name, value in cycles.get("rtl", {}).items():
        if name in cycles.get("func", {}):
            error = round(100.0 * (cycles["func"][name] - value) / value, 2)
            out.append({"name": f"func_cycle_error.{name.removesuffix('.cycles')}", "model": "func", "value": error,
                        "unit": "%", "bar": FUNC_CYCLE_ERROR, "pass": abs(error) <= FUNC_CYCLE_ERROR})
    for model in models:  # utilisation of a product with an epilogue by that of the product alone
        value = round(100.0 * cycles[model]["matmul_bf16_512_b128.cycles"] / cycles[model]["matmul_bias_gelu_512.cycles"], 2)
        add([("matmul_bias_gelu_512.relative", value, "%")], model)
    out += plan_errors(out)
    by = {(f["name"], f["model"]): f["value"] for f in out}
    if ("rtl.khz", "rtl") in by and ("qemu_rtl.khz", "rtl") in by:
        value = round(100.0 * by["qemu_rtl.khz", "rtl"] / by["rtl.khz", "rtl"], 1)
        out.append({"name": "qemu_rtl.relative", "model": "rtl", "value": value, "unit": "% of bare",
                    "bar": BARS["qemu_rtl.relative"][1], "pass": value >= BARS["qemu_rtl.relative"][1]})
    if not exact:
        out += against_jax()
    return out


def plan_errors(figures):
    """What pl_predict() said beside the RTL's cycles, of every kernel; nan: it was not asked."""
    rtl = {f["name"]: f["value"] for f in figures if f["model"] == "rtl"}
    out = []
    for name, cycles in rtl.items():
        kernel, dot, what = name.rpartition(".")
        if what == "cycles":
            error = round(100.0 * (rtl.get(f"{kernel}.planned", float("nan")) - cycles) / cycles, 2)
            out.append({"name": f"{kernel}.plan_error", "model": "rtl", "value": error, "unit": "%", "bar": PLAN_ERROR,
                        "pass": abs(error) <= PLAN_ERROR})
    return out


def show(value):
    text = f"{value:.2f}".rstrip("0").rstrip(".")
    return "0" if text == "-0" else text


def rows(figures):
    lines = ["| figure | model | value | unit | bar | |", "|---|---|---|---|---|---|"]
    for f in figures:
        op = BARS.get(f["name"], ("<=", None))[0]
        bar = "" if f["bar"] is None else f"{'±' if f['name'].startswith('func_cycle') or f['name'].endswith('.plan_error') else op} {show(f['bar'])}"
        mark = "" if f["bar"] is None else ("reached" if f["pass"] else "**missed**")
        lines.append(f"| {f['name']} | {f['model']} | {show(f['value'])} | {f['unit']} | {bar} | {mark} |")
    return lines


def split_table(text):
    begin, end = text.index(BEGIN) + len(BEGIN), text.index(END)
    return text[:begin], text[begin:end], text[end:]


def exact(lines):
    """Cells of the figures that do not depend on the host."""
    out = {}
    for line in lines:
        cells = [c.strip() for c in line.strip().strip("|").split("|")]
        if len(cells) == 6 and cells[1] in ("rtl", "func") and cells[3] not in HOST_UNITS:
            out[cells[0], cells[1]] = cells[2]
    return out


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--write", action="store_true")
    parser.add_argument("--check", action="store_true")
    parser.add_argument("--exact", action="store_true")
    parser.add_argument("--device", default="build/bench/device")
    args = parser.parse_args()
    figures = collect(args.device, ["rtl", "func"], args.exact)
    (ROOT / "build" / "bench.json").write_text(json.dumps({"figures": figures}, indent=1) + "\n")
    table = rows(figures)
    print("\n".join(table))
    bad = [f for f in figures if not f["pass"]]
    for f in figures:
        if f["value"] != f["value"]:
            print(f"FAIL bench/{f['name']}: the kernel was not predicted; bench_plan_begin() and bench_plan_end() do it")
        elif f["bar"] is not None:
            print(f"{'PASS' if f['pass'] else 'FAIL'} bench/{f['name']}: {show(f['value'])} {f['unit']}, bar {show(f['bar'])}")
    if args.write:
        head, _, tail = split_table(TABLE.read_text())
        TABLE.write_text(head + "\n" + "\n".join(table) + "\n" + tail)
    if args.check:
        committed, measured = exact(split_table(TABLE.read_text())[1].splitlines()), exact(table)
        for key in sorted(set(committed) | set(measured)):
            if committed.get(key) != measured.get(key):
                bad.append(key)
                print(f"FAIL bench/{key[0]}: docs/timings.md: {key[0]} on {key[1]} says {committed.get(key)}, measured {measured.get(key)}; "
                      "run tests/bench/bench.py --write and commit")
        if committed == measured:
            print(f"PASS bench/table: the {len(measured)} exact figures of docs/timings.md are those of the run")
    sys.exit(1 if bad else 0)


if __name__ == "__main__":
    main()
