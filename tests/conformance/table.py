#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Makes docs/conformance.md from cases.toml and the golden vectors.

  table.py           write it
  table.py --check   fail if it is not what it would be, a feature has neither case nor reason, or a case
                     lacks its twin, its program or its golden vector
"""
import argparse
import re
import sys

import suite

PAGE = suite.ROOT / "docs/conformance.md"
MODES = {"hlo": "HLO", "tpu": "TPU", "emit": "emit_pipeline", "numpy": "golden model"}

HEAD = """<!-- SPDX-License-Identifier: MIT -->
<!-- made by tests/conformance/table.py from tests/conformance/cases.toml -->
# Conformance with JAX

JAX {version} on the CPU is the judge of the programming model. Each case below is a firmware kernel and a
JAX twin of the same name ([tests/conformance](../tests/conformance/README.md)): both get the same seeded
inputs; integers and moves are compared bit for bit, floats within the tolerance given in the second table,
and copy counts with those JAX makes. The kernels run on both models in `make test`; `make oracle` runs the
twins anew and fails if a golden vector differs.

Oracle: the modes of JAX that judge a case. **HLO** is `interpret=True`, **TPU** the TPU interpreter
(`pltpu.InterpretParams`, race detection on), **emit_pipeline** the published schedule in the TPU
interpreter, whose copies are counted. Several modes must agree with one another. **rules**: JAX cannot show
it (or does it wrong, see the reason), so stated rules judge: an error's text, a count. **golden model**: an
independent model in the twin's file, without JAX.

## Features

| feature | in JAX | here | oracle | cases |
|---|---|---|---|---|
"""


def oracle_of(cases):
    modes = {mode for case in cases for mode in case.get("oracle", [])}
    names = [text for mode, text in MODES.items() if mode in modes]
    if any(not case.get("oracle") for case in cases):
        names.append("rules")
    return ", ".join(names)


def code(text):
    return f"`{text}`" if text else ""


def page(features, cases):
    from_version = re.search(r"^jax==(\S+)", (suite.ROOT / "tools/setup/requirements-jax.txt").read_text(), re.M)
    out = [HEAD.format(version=from_version[1])]
    for f in features.values():
        covering = [c for c in cases.values() if f["id"] in c["features"]]
        names = ", ".join(c["name"] for c in covering) or f"none: {f.get('why', '')}"
        out.append(f"| {f['name']} | {code(f['jax'])} | {code(f['ours'])} | {oracle_of(covering)} | {names} |\n")
    out.append(f"\n{len(features)} features, {len(cases)} cases.\n")
    out.append("\n## Tolerances and reasons\n\nCases that are not compared bit for bit, and those in which JAX is "
               "not followed or not asked.\n\n| case | tolerance | reason |\n|---|---|---|\n")
    for case in cases.values():
        if "tolerance" in case or "why" in case:
            text = "; ".join(f"{name}: " + " or ".join(
                ([f"{t['ulps']} ulp"] if "ulps" in t else []) + ([f"{t['absolute']:g}"] if "absolute" in t else []))
                for name, t in case.get("tolerance", {}).items())
            out.append(f"| {case['name']} | {text} | {case.get('why', '')} |\n")
    out.append("\n## Where JAX's modes differ\n\nErrors of JAX that a twin provokes, next to ours.\n\n"
               "| case | JAX | here |\n|---|---|---|\n")
    for case in cases.values():
        about = suite.Golden(case["program"]).read().about.get(case["name"], {})
        if case.get("errors") or about.get("errors"):
            jax = "; ".join(about.get("errors", [])) or "no error"
            ours = "; ".join(case.get("errors", [])) or "no error: works"
            out.append(f"| {case['name']} | {cell(jax)} | {cell(ours)} |\n")
    return "".join(out)


def cell(text):
    return text.replace("\\", "").replace("|", "\\|").replace(".*", " .. ")


def problems(features, cases):
    used = {f for case in cases.values() for f in case["features"]}
    for f in features.values():
        if f["id"] not in used and not f.get("why"):
            yield f"feature {f['id']} has neither a case nor a reason why not"
    for case in cases.values():
        name, program = case["name"], case["program"]
        source = suite.HERE / "programs" / f"{case.get('elf', program)}.c"
        if not source.exists() or not re.search(rf"\bCASE\({name}\)", source.read_text()):
            yield f"case {name} is not in programs/{source.name}"
        twin = suite.HERE / "twins" / f"{program}.py"
        if case.get("oracle") and (not twin.exists() or not re.search(rf"^def {name}\(t\)", twin.read_text(), re.M)):
            yield f"case {name} has no twin in twins/{program}.py"
        golden = suite.Golden(program).read()
        if name not in golden.about:
            yield f"case {name} has no golden vector"
        elif golden.about[name]["oracle"] != case.get("oracle", []):
            yield f"case {name}: the golden vector is of modes {golden.about[name]['oracle']}"
        if "tolerance" in case and "why" not in case:
            yield f"case {name} has a tolerance and no reason for it"
    for source in sorted((suite.HERE / "programs").glob("*.c")):
        for name in re.findall(r"\bCASE\((\w+)\)", source.read_text()):
            if name not in cases:
                yield f"programs/{source.name} has a case {name} that is not in cases.toml"


def main():
    parser = argparse.ArgumentParser(description=__doc__.split("\n\n")[0])
    parser.add_argument("--check", action="store_true")
    options = parser.parse_args()
    features, cases = suite.load()
    wrong = list(problems(features, cases))
    text = page(features, cases)
    if not options.check:
        PAGE.write_text(text)
    elif not PAGE.exists() or PAGE.read_text() != text:
        wrong.append("docs/conformance.md is not up to date: make conformance-table")
    for line in wrong:
        print(f"conformance: {line}", file=sys.stderr)
    if not wrong:
        print(f"conformance: {len(features)} features, {len(cases)} cases, table up to date")
    return 1 if wrong else 0


if __name__ == "__main__":
    sys.exit(main())
