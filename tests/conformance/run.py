#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Runs the conformance cases on the machine and judges them by the golden vectors; needs no JAX.

One run of the machine for each program and each file of golden vectors. The firmware compares arrays; copy counts and errors are
compared here: counts with those the oracle saw (golden/PROGRAM.json) or, where it cannot show them,
with `copies` in cases.toml; errors with `errors` in cases.toml, in order.

  run.py --platform func|rtl [WORD ...]     only cases whose name has one of the words
  run.py --control                          negative controls: what is broken on purpose must be noticed
"""
import argparse
import re
import struct
import subprocess
import sys

import numpy as np

import suite
from suite import ROOT

sys.path.insert(0, str(ROOT / "tools/data"))
import datafile  # noqa: E402
import pack  # noqa: E402


def array_of(name, values, dtype):
    return pack.make_array(name, values, dtype)


def broken(values, dtype):
    """The array with its last compared element off by a little."""
    out = values.copy().reshape(-1)
    if out.dtype.kind == "f":
        out[-1] = out[-1] * 2 + 1
    else:
        out[-1] ^= 1 if dtype != "bf16" else 0x40
    return out.reshape(values.shape)


def argument(case):
    """Name and tolerances as harness.c reads them."""
    text = case["name"]
    for output, t in case.get("tolerance", {}).items():
        bits = struct.unpack("<I", struct.pack("<f", t.get("absolute", 0.0)))[0]
        text += f",{output}={t.get('ulps', 0)}/{bits:x}"
    return text


def arrays_of(index, case, golden, damage):
    """The data file's arrays of a case."""
    for name in case.get("inputs", {}):
        yield array_of(f"{index}.{name}", *suite.pack_input(case, name))
    for name, values, dtype, mask in golden.outputs(case["name"]):
        if damage == f"{case['name']}/{name}":
            values = broken(values, dtype)
        yield array_of(f"{index}.{name}", values, dtype)
        if mask is not None:
            yield array_of(f"{index}.{name}.m", mask, "uint8")


def parts(cases, golden, damage):
    """The cases in portions whose arrays fit a data file."""
    portion, arrays = [], []
    for case in cases:
        more = list(arrays_of(len(portion) + 1, case, golden, damage))
        if portion and ("races" in case or "races" in portion[-1] or len(arrays) + len(more) > datafile.MAX_ARRAYS or len(portion) == 24):
            yield portion, arrays
            portion, arrays = [], []
            more = list(arrays_of(1, case, golden, damage))
        portion.append(case)
        arrays += more
    if portion:
        yield portion, arrays


def run_machine(portion, arrays, number, options):
    """Console, exit status, errors and log of a run."""
    program, platform, extra = elf_of(portion[0]), options.platform, options.extra
    folder = ROOT / f"build/tests/conformance/{platform}{''.join(extra)}/{portion[0]['program']}-{program}-{number}"
    folder.mkdir(parents=True, exist_ok=True)
    (folder / "data.bin").write_bytes(datafile.encode(arrays))
    command = [ROOT / "tools/run/peplos-run", "--platform", platform, "--out", folder, "--no-trace", "--progress", "0",
               "--max-seconds", "300", "--data", folder / "data.bin", *extra,
               ROOT / f"build/firmware/conformance/{program}.elf", "--", *(argument(case) for case in portion)]
    result = subprocess.run(command, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.PIPE,
                            text=True, errors="replace", check=False)
    log = folder / "guest-errors.txt"
    return result.stdout, result.returncode, result.stderr, log.read_text(errors="replace") if log.exists() else ""


def elf_of(case):
    return case.get("elf", case["program"])


def blocks(text):
    """The lines between CASE and END of each case; None for the text of one that did not end."""
    out, name, lines = {}, None, []
    for line in text.splitlines():
        match = re.match(r"(CASE|END) (\w+)$", line)
        if match and match[1] == "CASE":
            name, lines = match[2], []
        elif match and name == match[2]:
            out[name], name = lines, None
        elif name:
            lines.append(line)
    return out


def judge(case, about, lines):
    """What is wrong with a case; nothing if it is as it must be."""
    if lines is None:
        yield "did not run to its end"
        return
    for line in lines:
        if line.startswith("WRONG"):
            yield line.removeprefix("WRONG ")
    copies = [[int(n) for n in line.split()[1:]] for line in lines if line.startswith("COPIES")]
    for source, wanted in (("JAX", about.get("copies")), ("the rules", case.get("copies"))):
        if wanted is not None and copies != wanted:
            yield f"copies {copies}, by {source} {wanted}"
    errors, at = [], None
    for line in lines:  # a message may have several lines
        if line.startswith("ERROR "):
            errors.append(line.removeprefix("ERROR "))
            at = True
        elif re.match(r"(COPIES|WRONG)\b", line):
            at = None
        elif at:
            errors[-1] += "\n" + line
    wanted = case.get("errors", [])
    if len(errors) != len(wanted):
        yield f"{len(errors)} errors instead of {len(wanted)}: {errors}"
    for pattern, message in zip(wanted, errors):
        if not re.search(pattern, message):
            yield f"no {pattern!r} in {message!r}"


def judge_end(status, found):
    """What is wrong with the way a run ended: 1 is for arrays that are wrong, and they are told."""
    told = any(line.startswith("WRONG") for lines in found.values() for line in lines)
    if status != int(told):
        yield f"the machine ended with status {status} instead of {int(told)}"


def run_program(program, cases, options):
    """Runs the cases of a program; yields (case, what is wrong)."""
    golden = suite.Golden(program).read()
    for case in list(cases):
        if case["name"] not in golden.about:
            yield case, ["there is no golden vector of it; make oracle-write makes one"], ""
            cases.remove(case)
    for number, (portion, arrays) in enumerate(parts(cases, golden, options.damage)):
        text, status, stderr, log = run_machine(portion, arrays, number, options)
        found = blocks(text)
        wrong = {case["name"]: list(judge(case, golden.about[case["name"]], found.get(case["name"])))
                 for case in portion}
        first, last = portion[0], portion[-1]["name"]
        if "races" in first and not re.search(first["races"], log):
            wrong[last].append(f"no {first['races']!r} in the log of guest errors: {log[:300]!r}")
        elif log and "races" not in first:
            wrong[first["name"]].append(f"the log of guest errors is not empty: {log.splitlines()[0]}")
        wrong[last] += judge_end(status, found)
        for case in portion:
            yield case, wrong[case["name"]], text + stderr


# A case with an output, a copy count and an error each; what a control must be told.
CONTROLS = {
    "a golden vector with one element changed": ("grid_int", r"^o\[\d+,\d+\] is 0x[0-9a-f]+, not 0x"),
    "one copy more than the oracle saw": ("grid_int", r"^copies .* by JAX"),
    "one copy more than the rules allow": ("grid_int", r"^copies .* by the rules"),
    "an error that does not come": ("grid_int", r"^0 errors instead of 1"),
    "a program that fails and says nothing": ("grid_int", r"^the machine ended with status 1 instead of 0"),
}


def control(cases, options):
    """Breaks one thing at a time in a copy of a good case; each must be reported, and nothing else."""
    failed = 0
    for kind, (name, wanted) in CONTROLS.items():
        case, golden = dict(cases[name]), suite.Golden(cases[name]["program"]).read()
        about = golden.about[name]
        damage = ""
        if "element" in kind:
            damage = f"{name}/{next(iter(about['outputs']))}"
        elif "oracle" in kind:
            about["copies"] = [[n + 1 for n in call] for call in about["copies"]]
        elif "rules" in kind:
            case["copies"] = [[n + 1 for n in call] for call in case["copies"]]
        elif "error" in kind:
            case["errors"] = ["REVISIT"]
        (portion, arrays), = parts([case], golden, damage)
        unknown = [{"name": "no_such_case"}] if "nothing" in kind else []
        text, status, _, _ = run_machine(portion + unknown, arrays, "control", options)
        wrong = list(judge(case, about, blocks(text).get(name))) + list(judge_end(status, blocks(text)))
        good = len(wrong) == 1 and re.search(wanted, wrong[0])
        failed += not good
        print(f"{'PASS' if good else 'FAIL'} conformance control: {kind}" + ("" if good else f": {wrong}"), flush=True)
    return 1 if failed else 0


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--platform", default="func")
    parser.add_argument("--control", action="store_true")
    parser.add_argument("--extra", action="append", default=[], help="an option for peplos-run")
    parser.add_argument("words", nargs="*")
    options = parser.parse_args()
    options.damage = ""
    _, cases = suite.load()
    if options.control:
        return control(cases, options)
    failed, ran = 0, 0
    platform = " ".join([options.platform, *(e.removeprefix("--") for e in options.extra)])
    for program, elf in sorted({(case["program"], elf_of(case)) for case in cases.values()}):
        chosen = [c for c in cases.values() if c["program"] == program and elf_of(c) == elf and
                  (not options.words or any(word in c["name"] for word in options.words)) and
                  ("races" not in c or options.platform == "func")]
        for case, wrong, text in run_program(program, chosen, options) if chosen else ():
            ran += 1
            name = f"conformance {platform}: {case['name']}"
            if wrong:
                failed += 1
                print(f"FAIL {name}: {wrong[0]}")
                print("\n".join(f"    {line}" for line in wrong[1:8]))
                if "did not run" in wrong[0] or "ended with" in wrong[0]:
                    print("\n".join(f"    | {line}" for line in text.splitlines()[-25:]))
            else:
                print(f"PASS {name}", flush=True)
    if not ran:
        sys.exit(f"run.py: no case has a name with {' or '.join(options.words)}")
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
