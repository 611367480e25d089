#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Finds the choice of blocks, buffers and so on with which a kernel of the library is quickest for a shape.

  tune.py KERNEL SHAPE     search, confirm on the RTL, put the choice into the table, write a plot
  tune.py --refresh        measure all entries of the table again (after the runtime or the device changed)
  tune.py --check          is the firmware's table made from tools/tune/table.json?
  tune.py --test           is each entry, measured on the functional model, as good as the kernel's default, and
                           not slower than when it was tuned?

A search predicts all choices (pl_predict_calls() in the firmware), drops what does not fit on the chip, measures
the best on the functional model, goes on from the best of those to their neighbours, and measures the last few
on the RTL. docs/tuning.md.
"""
import argparse
import json
import re
import subprocess
import sys
from pathlib import Path

import machine
import plot
from kernels import KERNELS
from machine import DEFAULT, ROOT, TABLE

TABLE_FILE = ROOT / "tools/tune/table.json"
INC_FILE = ROOT / "firmware/kernels/tuned_table.inc"
OUT = ROOT / "build/tune"
FIRST = 24          # choices measured after the prediction, at most PER_BLOCKS of the same blocks
PER_BLOCKS = 2
NEIGHBOURS = 3      # choices whose neighbours are measured in each round
ROUNDS = 4
CONFIRMED = 3       # choices measured on the RTL beside the default
GAIN = 0.005        # by which a choice must be quicker than the default to be stored
CLEAR = 1.1         # by which a unit is busier than the others if it clearly is the bottleneck
DRIFT = 0.03        # by which the cycles of an entry may exceed the table's


class Search:
    """Choices for one kernel and shape, and what is known about them."""

    def __init__(self, kernel, extents):
        self.kernel, self.extents = kernel, extents
        self.choices = kernel.candidates(extents)
        self.predicted = dict(zip([DEFAULT] + self.choices, machine.run(kernel, extents, [DEFAULT] + self.choices, measure=False)))
        self.measured = {}
        self.confirmed = {}
        self.fitting = sorted((c for c in self.choices if not self.predicted[c].refused),
                              key=lambda c: self.predicted[c].predicted)

    def measure(self, choices):
        """Measures what is new of these on the functional model."""
        new = [c for c in dict.fromkeys(choices) if c not in self.measured]
        for choice, result in zip(new, machine.run(self.kernel, self.extents, new)):
            self.measured[choice] = result
        return len(new)

    def best(self, n):
        """The quickest ones so far, by the functional model."""
        good = [c for c in self.measured if c != DEFAULT and not self.measured[c].refused]
        return sorted(good, key=lambda c: self.measured[c].cycles)[:n]

    def promising(self):
        """The best by prediction, with few variants of the same blocks."""
        blocks, picked = {}, []
        for choice in self.fitting:
            key = choice[:self.kernel.blocks]
            blocks[key] = blocks.get(key, 0) + 1
            if blocks[key] <= PER_BLOCKS:
                picked.append(choice)
        return picked[:FIRST]

    def neighbours(self, choice):
        """Fitting choices that differ in one value, by the next one on its axis; all of a short axis."""
        for i, axis in enumerate(self.kernel.axes(*self.extents)):
            axis = sorted({*axis, choice[i]})
            at = axis.index(choice[i])
            others = axis if i >= self.kernel.blocks else axis[max(at - 1, 0):at + 2]
            for value in others:
                other = (*choice[:i], value, *choice[i + 1:])
                if other in self.predicted and not self.predicted[other].refused:
                    yield other

    def run(self):
        seeds = [c for c in self.kernel.seeds(*self.extents) if not self.predicted[c].refused]
        self.measure([DEFAULT] + seeds + self.promising())
        if self.measured[DEFAULT].refused:
            print(f"tune: the kernel's default is refused: {self.measured[DEFAULT].refused}")
        for _ in range(ROUNDS):
            if self.measure(n for c in self.best(NEIGHBOURS) for n in self.neighbours(c)) == 0:
                break
        last = ([] if self.measured[DEFAULT].refused else [DEFAULT]) + self.best(CONFIRMED)
        self.confirmed = dict(zip(last, machine.run(self.kernel, self.extents, last, platform="rtl")))

    def choice(self):
        """The quickest on the RTL of those that gain on both models; if none does, of all."""
        tried = [c for c in self.confirmed if c != DEFAULT]
        return min([c for c in tried if self.gains(c)] or tried, key=lambda c: self.confirmed[c].cycles)

    def gains(self, choice):
        """Whether a choice is quicker than the default, by more than where a call's commands happen to fall."""
        if DEFAULT not in self.confirmed:
            return True
        return all(of[choice].cycles <= (1 - GAIN) * of[DEFAULT].cycles for of in (self.confirmed, self.measured))


def text(kernel, choice):
    return choice if isinstance(choice, str) else " ".join(f"{n} {v}" for n, v in zip(kernel.values, choice))


def report(search):
    """The table of what was measured, best first."""
    refused = sum(1 for c in search.choices if search.predicted[c].refused)
    print(f"{search.kernel.name} {shape_text(search.extents)}: {len(search.choices)} choices, {refused} do not fit, "
          f"{len(search.measured)} measured on func, {len(search.confirmed)} on rtl")
    print(f"{'choice':44} {'VMEM':>7} {'ACC':>5} {'predicted':>10} {'func':>10} {'rtl':>10}  bound by")
    rank = sorted((c for c in search.measured if not search.measured[c].refused), key=lambda c: search.measured[c].cycles)
    for choice in rank[:16] + ([DEFAULT] if DEFAULT in rank[16:] else []):
        m, rtl = search.measured[choice], search.confirmed.get(choice)
        print(f"{text(search.kernel, choice):44} {m.vmem:7} {m.acc:5} {m.predicted:10} {m.cycles:10} "
              f"{rtl.cycles if rtl else '':>10}  {m.bound}")


def provenance():
    """Of what the figures are: the configuration and the device's interface."""
    header = (ROOT / "hw/regs/gen/tpu_regs.h").read_text()
    config = (ROOT / "hw/config/sim16.toml").read_text()
    return {"config": "sim16", "config_number": int(re.search(r"^config = (\d+)", config, re.M)[1]),
            "abi_hash": re.search(r"TPU_ABI_HASH (0x[0-9a-f]+)", header)[1]}


def load():
    return json.loads(TABLE_FILE.read_text()) if TABLE_FILE.exists() else {"entries": []}


def store(table):
    table["entries"].sort(key=lambda e: (list(KERNELS).index(e["kernel"]), e["shape"]))
    head = {k: v for k, v in table.items() if k != "entries"} | provenance()
    lines = ",\n".join("  " + json.dumps(e) for e in table["entries"])
    TABLE_FILE.write_text(json.dumps(head)[:-1] + ',\n "entries": [\n' + lines + "\n]}\n")
    INC_FILE.write_text(firmware_table(load()))


def firmware_table(table):
    """The text of firmware/kernels/tuned_table.inc."""
    lines = ["/* SPDX-License-Identifier: MIT */",
             "/*", " * Made from tools/tune/table.json by tools/tune/tune.py; not to be edited. Comments: cycles on the RTL with this",
             f" * choice and with the kernel's default, configuration {table['config']}, interface {table['abi_hash']}.", " */",
             f"enum {{ TUNED_CONFIG = {table['config_number']} }};", "/* clang-format off */",
             "static const struct choice table[] = {"]
    for e in table["entries"]:
        kernel = KERNELS[e["kernel"]]
        lines.append(f"    {{{kernel.enum}, {kernel.dtype}, {{{', '.join(map(str, e['shape']))}}}, "
                     f"{{{', '.join(map(str, e['values']))}}}}}, /* {e['rtl']}, {e['rtl_default']} */")
    return "\n".join(lines + ["};", "/* clang-format on */", ""])


def entry_of(search):
    choice = search.choice()
    default = search.measured[DEFAULT]
    return {"kernel": search.kernel.name, "shape": list(search.extents), "values": list(choice),
            "rtl": search.confirmed[choice].cycles, "func": search.measured[choice].cycles,
            "predicted": search.measured[choice].predicted, "bound": search.measured[choice].bound,
            "rtl_default": search.confirmed[DEFAULT].cycles if DEFAULT in search.confirmed else None,
            "func_default": default.cycles, "choices": len(search.choices), "measured": len(search.measured)}


def shape_text(extents):
    return "x".join(map(str, extents))


def parse(kernel_name, shape):
    """The kernel and the extents, or an end that says what is right."""
    known = "; ".join(f"{k.name} SHAPE={shape_text(k.shape)}, for instance {k.example}" for k in KERNELS.values())
    if kernel_name not in KERNELS:
        sys.exit(f"tune: KERNEL={kernel_name}: there is no such kernel to tune. These are: {known}")
    kernel = KERNELS[kernel_name]
    wanted = f"SHAPE={shape}: {kernel.name} needs {shape_text(kernel.shape)}, {len(kernel.shape)} numbers, for instance {kernel.example}"
    if not re.fullmatch(r"\d+(x\d+)*", shape or ""):
        sys.exit(f"tune: {wanted}")
    extents = tuple(map(int, shape.split("x")))
    if len(extents) != len(kernel.shape) or not all(1 <= e <= 65535 for e in extents):
        sys.exit(f"tune: {wanted}; each from 1 to 65535")
    return kernel, extents


def search_and_store(kernel, extents):
    search = Search(kernel, extents)
    if not search.fitting:
        first = next(r.refused for r in search.predicted.values() if r.refused)
        sys.exit(f"tune: none of {len(search.choices)} choices runs; the first one: {first}")
    search.run()
    report(search)
    entry = entry_of(search)
    default = entry["rtl_default"]
    table = load()
    others = [e for e in table["entries"] if (e["kernel"], e["shape"]) != (kernel.name, list(extents))]
    if not search.gains(search.choice()):
        if len(others) != len(table["entries"]):
            store(table | {"entries": others})
            print("the table's entry is gone")
        print(f"the default stays: {default} cycles on the RTL, the best choice took {entry['rtl']}")
    else:
        store(table | {"entries": others + [entry]})
        gain = "" if default is None else f", {100 * (1 - entry['rtl'] / default):.1f} % less than the default's {default}"
        print(f"stored: {text(kernel, tuple(entry['values']))}: {entry['rtl']} cycles on the RTL{gain}")
        print(f"  in {TABLE_FILE.relative_to(ROOT)} and {INC_FILE.relative_to(ROOT)}; build and commit them")
    path = OUT / f"{kernel.name}-{shape_text(extents)}.svg"
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(plot.svg(search, entry, text))
    print(f"plot: {path.relative_to(ROOT)}")


def refresh():
    table = load()
    for e in table["entries"]:
        kernel, extents = KERNELS[e["kernel"]], tuple(e["shape"])
        for platform in ("func", "rtl"):
            default, choice = machine.run(kernel, extents, [DEFAULT, tuple(e["values"])], platform=platform)
            e[platform], e[f"{platform}_default"] = choice.cycles, default.cycles
        e["predicted"], e["bound"] = choice.predicted, choice.bound
        print(f"{kernel.name} {shape_text(extents)}: {e['rtl']} cycles on the RTL, default {e['rtl_default']}")
    store(table)


def check():
    """Lint: the firmware's table is the one that table.json makes, and its entries are possible ones."""
    table, bad = load(), []
    if INC_FILE.read_text() != firmware_table(table):
        bad.append(f"{INC_FILE.relative_to(ROOT)} is not what {TABLE_FILE.relative_to(ROOT)} makes; run tools/tune/tune.py --refresh")
    for e in table["entries"]:
        kernel = KERNELS.get(e["kernel"])
        if kernel is None or len(e["shape"]) != len(kernel.shape) or len(e["values"]) != len(kernel.values):
            bad.append(f"{TABLE_FILE.relative_to(ROOT)}: no kernel of tools/tune/kernels.py has the entry {e}")
    for line in bad:
        print(f"tune: {line}")
    if not bad:
        print(f"tuned table: {len(table['entries'])} entries, the firmware's is in step")
    return 1 if bad else 0


def test_entry(e):
    """None, or what is wrong with an entry: the kernel itself is asked, through its own lookup."""
    kernel, extents = KERNELS[e["kernel"]], tuple(e["shape"])
    default, chosen = machine.run(kernel, extents, [DEFAULT, TABLE])
    if chosen.refused:
        return f"refused: {chosen.refused}"
    if not default.refused and chosen.cycles > default.cycles:
        return f"{chosen.cycles} cycles, the default takes {default.cycles}"
    if chosen.cycles > (1 + DRIFT) * e["func"]:
        return f"{chosen.cycles} cycles, the table says {e['func']}; run make tune-refresh and commit"
    if abs(chosen.predicted - chosen.cycles) > 0.1 * chosen.cycles:
        return f"{chosen.cycles} cycles, predicted {chosen.predicted}: more than 10 % off"
    unit, margin = chosen.busiest()
    if margin > CLEAR and chosen.bound not in (unit, "scalar"):
        return f"predicted to be bound by {chosen.bound}; {unit} was the busiest, {margin:.2f} times the next"
    return None


def refusals():
    """(name, what is wrong or None) of what must be refused, and of an entry that must be complained about."""
    for arguments, wanted in (("nothing 1", "KERNEL=nothing: there is no such kernel to tune"), ("matmul_bf16 5x5", "needs MxNxK, 3 numbers"),
                              ("matmul_bf16 0x5x5", "each from 1 to 65535"), ("gmm_bf16 axb", "needs GROUPSxMxKxN")):
        said = subprocess.run([sys.executable, __file__, "--arguments", *arguments.split()], capture_output=True, text=True, check=False)
        yield f"arguments {arguments}", None if said.returncode == 1 and wanted in said.stderr else f"said {said.stderr!r}"
    kernel = KERNELS["matmul_bf16"]
    large, = machine.run(kernel, (512, 512, 512), [(512, 512, 512, 4, 0)], measure=False)
    yield "blocks that do not fit", None if (large.refused or "").startswith("ERROR_BUDGET") else f"not refused: {large}"
    slow = next(e for e in load()["entries"] if e["kernel"] == "matmul_bf16") | {"func": 1000}
    yield "an entry that got slower", None if "the table says 1000" in (test_entry(slow) or "") else "is not noticed"


def test():
    table, failed = load(), 0
    for name, why in refusals():
        failed += why is not None
        print(f"FAIL tune/{name}: {why}" if why else f"PASS tune/{name}")
    if table["abi_hash"] != provenance()["abi_hash"]:
        print(f"tuned for interface {table['abi_hash']}, this one is {provenance()['abi_hash']}: the figures below say whether it matters")
    for e in table["entries"]:
        why = test_entry(e)
        failed += why is not None
        name = f"tune/{e['kernel']} {shape_text(e['shape'])}"
        print(f"FAIL {name}: {why}" if why else f"PASS {name}: no slower than the default, {e['func']} cycles in the table")
    kernels, entries = {e["kernel"] for e in table["entries"]}, len(table["entries"])
    enough = len(kernels) >= 3 and entries >= 6
    print(f"{'PASS' if enough else 'FAIL'} tune/table: {entries} shapes of {len(kernels)} kernels; 6 of 3 at least")
    return 0 if enough and not failed else 1


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("kernel", nargs="?", default="")
    parser.add_argument("shape", nargs="?", default="")
    parser.add_argument("--arguments", action="store_true", help="only say whether KERNEL and SHAPE are right")
    parser.add_argument("--refresh", action="store_true")
    parser.add_argument("--check", action="store_true")
    parser.add_argument("--test", action="store_true")
    args = parser.parse_args()
    if args.check:
        return check()
    if args.test:
        return test()
    if args.refresh:
        return refresh()
    what = parse(args.kernel, args.shape)
    if not args.arguments:
        search_and_store(*what)
    return 0


if __name__ == "__main__":
    sys.exit(main())
