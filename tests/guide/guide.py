#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Keeps the guide, the page of limits and the page for users of JAX true.

Blocks between `<!-- KIND ... -->` and `<!-- end -->` in docs/*.md are made from what they show:

  code STEP PART            the part between /* [PART] */ and /* [end] */ of firmware/apps/STEP.c
  output STEP               what STEP prints on the functional model
  timeline STEP CALL        the summary of the trace of one of its kernel calls, likewise
  cycles                    the measured lines of every step, `label: N cycles ...`, on both models
  constants                 the PL_MAX_ constants of pallas.h
  configurations            memories and units of every configuration in hw/config

  guide.py --write          make them anew
  guide.py --check          fail if one is not what it would be made into (not those that
                            need a run), if a page names what pallas.h does not have, or if a public name
                            is on none of the pages
  guide.py --run func rtl   run every step on these models and compare with the guide
"""
import argparse
import re
import subprocess
import sys
import tomllib
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
PAGES = [ROOT / "docs" / name for name in ("guide.md", "limits.md", "coming-from-jax.md", "vector-functions.md")]
HEADERS = [ROOT / "firmware/pallas" / name for name in ("pallas.h", "vector_fn.h")]
HEADER = HEADERS[0]
STEPS = sorted(path.stem for path in (ROOT / "firmware/apps").glob("step[0-9][0-9]_*.c"))
BLOCK = re.compile(r"(<!-- (code|output|timeline|cycles|constants|configurations)((?: \w+)*) -->\n)(.*?)(<!-- end -->)", re.S)
MEASURED = re.compile(r"^(\S.*?): +(\d+) cycles", re.M)
# Of pallas.h, but not for users: what macros and inline functions are made of.
INNER = {"pl_ref_of", "pl_no_operand", "pl_no_axis", "pl_dot_refs", "pl_at_slices", "pl_get_at", "pl_put_at",
         "pl_get_float_at", "pl_put_float_at", "pl_run_scoped_specs", "pl_running", "pl_nothing", "PL_COUNT",
         "PL_SCRATCH_OF", "PL_ARRAYS", "pl_dyn", "PL_DYN_FLAG", "pl_vrecord_load", "pl_vrecord_store", "pl_vrecord_const",
         "pl_vrun_counted", "PL_VCOUNTS", "pl_refs_of", "pl_scalars_of",
         "pl_vrecord_scalar", "pl_vrecord_op", "pl_vrecord_neg", "pl_vrecord_move", "pl_vrecord_random", "pl_vrecord_loop", "pl_vrecord_end", "pl_vbits",
         "pl_float_bits", "pl_scalar_at", "PL_VECTOR_FN_H", "PL_VFOR", "PL_VOP", "PL_VOP_SAME", "PL_VNONE", "PL_VARITY", "PL_VSWAPPED", "PL_V0", "PL_V1", "PL_V2",
         "PL_V3", "PALLAS_VECTOR_FN_H"}


def excerpt(step, part):
    """The lines of a part of a step's source."""
    source = (ROOT / f"firmware/apps/{step}.c").read_text()
    found = re.search(rf"^ */\* \[{part}\] \*/\n(.*?)^ */\* \[end\] \*/$", source, re.S | re.M)
    if not found:
        raise KeyError(f"{step}.c has no part [{part}]")
    lines = found[1].rstrip().split("\n")
    indent = min(len(line) - len(line.lstrip()) for line in lines if line)
    return "```c\n" + "\n".join(line[indent:] for line in lines) + "\n```\n"


def constants():
    """The limits of the header as a table, with their values worked out."""
    rows = ["| constant | value | of what |", "|---|---|---|"]
    for name, value, meaning in re.findall(r"^  (PL_MAX_\w+) = ([^,]+), +/\* (.*?) \*/$", HEADER.read_text(), re.M):
        if not re.fullmatch(r"[0-9 ()<+-]+", value):
            raise KeyError(f"{name} = {value}: not a number")
        rows.append(f"| `{name}` | {eval(value)} | {meaning} |")  # digits and operators only, see above
    return "\n".join(rows) + "\n"


def configurations():
    kinds = {"KiB": 1024, "MiB": 1 << 20}
    rows = [("matrix unit and lanes", lambda c: f"{c['dim']} x {c['dim']}"),
            ("matrix unit multiplies", lambda c: " and ".join(t for t in ("int8", "bf16") if c[f"mxu_{t}"])),
            ("VMEM", lambda c: f"{c['vmem_bytes'] // kinds['KiB']} KiB"),
            ("SMEM", lambda c: f"{c['smem_bytes'] // kinds['KiB']} KiB"),
            ("ACC", lambda c: f"{c['acc_rows']} rows of {c['dim']}"),
            ("HBM", lambda c: f"{c['hbm_bytes'] // kinds['MiB']} MiB, {c['hbm_port_bytes']} bytes a cycle "
                              + ("in all" if c["hbm_shared_bus"] else "each way")),
            ("semaphores", lambda c: str(c["semaphores"])),
            ("DMA channels", lambda c: str(c["dma_channels"])),
            ("commands that can wait in a queue", lambda c: str(c["queue_depth"]))]
    names = sorted((ROOT / "hw/config").glob("*.toml"), key=lambda p: tomllib.loads(p.read_text())["config"])
    configs = [tomllib.loads(path.read_text()) for path in names]
    lines = ["| | " + " | ".join(f"`{path.stem}`" for path in names) + " |", "|---" * (len(names) + 1) + "|"]
    lines += [f"| {label} | " + " | ".join(value(c) for c in configs) + " |" for label, value in rows]
    return "\n".join(lines) + "\n"


def timeline(step, call):
    """Who was busy in a kernel call: what tpu-trace says of the last run on func."""
    result = subprocess.run([ROOT / "build/tools/tpu-trace", ROOT / f"build/tests/guide/{step}-func/trace.bin",
                             "--call", call], stdout=subprocess.PIPE, text=True, check=True)
    lines = [line for line in result.stdout.split("\n") if not line.startswith("cycles ")]
    return "```\n" + "\n".join(lines).strip() + "\n```\n"


def cycles(outputs):
    """Measured lines of all steps: outputs is {model: {step: text}}."""
    rows = ["| step | measured | func | rtl |", "|---|---|---|---|"]
    for step in STEPS:
        rtl = dict(MEASURED.findall(outputs["rtl"][step]))
        for label, number in MEASURED.findall(outputs["func"][step]):
            rows.append(f"| {step} | {label} | {number} | {rtl.get(label, 'missing')} |")
    return "\n".join(rows) + "\n"


def contents(kind, words, outputs):
    """What a block must hold; None if that needs a run and there was none."""
    if kind == "code":
        return excerpt(*words)
    if kind == "output":
        return f"```\n{outputs['func'][words[0]]}```\n" if "func" in outputs else None
    if kind == "timeline":
        return timeline(*words) if "func" in outputs else None
    if kind == "cycles":
        return cycles(outputs) if len(outputs) == 2 else None
    return constants() if kind == "constants" else configurations()


def rewrite(text, outputs):
    """A page with its blocks made anew, and the names of those that differ."""
    different = []

    def block(match):
        head, kind, words, old, end = match.groups()
        new = contents(kind, words.split(), outputs)
        if new is None or new == old:
            return match[0]
        different.append((kind + words).strip())
        return head + new + end

    return BLOCK.sub(block, text), different


def public_names():
    """Functions and macros of the headers."""
    text = "".join(path.read_text() for path in HEADERS)
    names = set(re.findall(r"^(?!#|typedef| )[\w *]*?\b(pl_\w+)\(", text, re.M))
    names |= set(re.findall(r"^#define ((?:PL|pl)_\w+)", text, re.M))
    return names - INNER


def name_faults(pages):
    """Names on the pages that pallas.h and the steps lack, and public ones that no page has."""
    known = set(re.findall(r"\b(?:PL|pl)_\w+", "".join(path.read_text() for path in HEADERS)))
    used = set()
    for name, text in pages.items():
        here = set(re.findall(r"\b(?:PL|pl)_\w+", re.sub(r"\b(?:PL|pl)_\w*\*", "", text)))
        used |= here
        for word in sorted(here - known):
            if not word.endswith("_"):
                yield f"{name} names {word}, which pallas.h does not have"
    for word in sorted(public_names() - used):
        yield f"{word} of pallas.h is on none of the pages (docs/coming-from-jax.md lists them)"


def source_faults(pages):
    for name, text in pages.items():
        for block in rewrite(text, {})[1]:
            yield f"{name}: `{block}` is not what its source says; make guide-text"
    guide = pages["guide.md"]
    for step in STEPS:
        if f"<!-- code {step} " not in guide or f"<!-- output {step} -->" not in guide:
            yield f"guide.md shows no excerpt or no output of {step}"
    yield from name_faults(pages)


def run_step(step, model):
    """Exit status and console of a step; raises if the machine logged something."""
    out = ROOT / f"build/tests/guide/{step}-{model}"
    result = subprocess.run([ROOT / "tools/run/peplos-run", "--platform", model, "--out", out,
                             "--max-seconds", "60", "--progress", "0", step],
                            stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True,
                            errors="replace", check=False)
    console = (out / "console.txt").read_text(errors="replace") if (out / "console.txt").exists() else ""
    log = out / "guest-errors.txt"
    if result.returncode == 0 and log.exists() and log.stat().st_size:
        return 1, f"{console}the log of guest errors is not empty: {log.read_text(errors='replace').splitlines()[0]}\n"
    return result.returncode, console if result.returncode == 0 else result.stdout


def without_cycles(text):
    """Measured lines without their numbers: the rest is the same on all models."""
    return "\n".join(re.sub(r"\d+", "N", line[line.index(":"):]) if MEASURED.match(line) else line
                     for line in text.split("\n"))


def run_all(models, pages, report):
    """Runs every step; returns the outputs and how many steps failed."""
    outputs, failed = {model: {} for model in models}, 0
    for model in models:
        for step in STEPS:
            status, text = run_step(step, model)
            outputs[model][step] = text
            wrong = f"status {status}" if status else ""
            if not wrong and report:
                shown = re.search(rf"<!-- output {step} -->\n```\n(.*?)```\n", pages["guide.md"], re.S)
                if not shown:
                    wrong = "the guide does not show its output"
                elif model == "func" and shown[1] != text:
                    wrong = "prints something else than the guide says (make guide-text)"
                elif without_cycles(shown[1]) != without_cycles(text):
                    wrong = "prints something else than the guide says, cycles apart"
            failed += bool(wrong)
            if wrong or report:
                print(f"FAIL guide {model}: {step}: {wrong}\n{text}" if wrong else f"PASS guide {model}: {step}",
                      flush=True)
    return outputs, failed


def notices(pages, outputs):
    """Whether the checks see what they are for: each page is spoilt in one place."""
    guide, limits = pages["guide.md"], pages["limits.md"]
    spoilt = [("an excerpt", "guide.md", guide.replace("pl_add(pl_output(0)", "pl_add(pl_output(1)", 1)),
              ("a constant", "limits.md", limits.replace("| `PL_MAX_RANK` | 5 |", "| `PL_MAX_RANK` | 6 |", 1)),
              ("a configuration", "limits.md", limits.replace("| VMEM | 512 KiB", "| VMEM | 513 KiB", 1)),
              ("a name", "limits.md", limits + "\n`pl_no_such_call`\n")]
    for what, page, text in spoilt:
        if text == pages[page] or not list(source_faults(pages | {page: text})):
            return f"a wrong {what.split(' ', 1)[1]} is not noticed"
    measured = MEASURED.search(guide)
    if not measured or not rewrite(guide.replace(measured[0], measured[0].replace(measured[2], measured[2] + "1"), 1),
                                   outputs)[1]:
        return "a wrong number of cycles is not noticed"
    return ""


def main():
    parser = argparse.ArgumentParser(description=__doc__.split("\n\n")[0])
    parser.add_argument("--write", action="store_true", help="make the blocks anew")
    parser.add_argument("--check", action="store_true", help="compare with the sources")
    parser.add_argument("--run", nargs="+", metavar="MODEL", help="run the steps, compare with the guide")
    options = parser.parse_args()
    pages = {path.name: path.read_text() for path in PAGES}
    if options.write:
        outputs, failed = run_all(["func", "rtl"], pages, report=False)
        if failed:
            return 1
        for path in PAGES:
            text, different = rewrite(pages[path.name], outputs)
            path.write_text(text)
            print(f"{path.name}: {', '.join(different) if different else 'nothing new'}")
        return 0
    failed = 0
    if options.check:
        for fault in source_faults(pages):
            failed += 1
            print(f"lint: {fault}", file=sys.stderr)
        if not failed:
            print("lint guide: clean")
    if options.run:
        outputs, failed = run_all(options.run, pages, report=True)
        if len(options.run) == 2 and not failed:
            wrong = [block for block in rewrite(pages["guide.md"], outputs)[1]]
            wrong = f"{', '.join(wrong)} differ from the run (make guide-text)" if wrong else notices(pages, outputs)
            failed += bool(wrong)
            print(f"FAIL guide: {wrong}" if wrong else "PASS guide: figures are those of the run, wrong ones are noticed")
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
