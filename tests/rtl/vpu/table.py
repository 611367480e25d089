#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""The table of instruction timings in rtl/vpu/README.md against what the testbench measured.

    table.py check|write README timings ...

A file of timings has a line for each instruction, `name|cycles a VREG|latency`; its folder is named like the configuration.
Instructions in a row that agree in every configuration share a row of the table; a value that depends on the lanes shows
one for each number of lanes, and for ecp5, whose EUP has fewer, its own where it differs. `check` fails with the difference, `write` replaces the table."""
import difflib
import pathlib
import re
import sys

BEGIN, END = "<!-- timings: begin -->", "<!-- timings: end -->"
WHERE = {"sim16": "with 16 lanes", "sim8": "with 8 lanes", "sim4": "with 4 lanes", "ecp5": "in ecp5"}


def measured(files):
    """{configuration: [(name, cycles, latency)]}, in the order of WHERE."""
    by_name = {}
    for file in map(pathlib.Path, files):
        rows = [tuple(line.split("|")) for line in file.read_text().splitlines()]
        by_name[file.parent.name] = rows
    names = {tuple(row[0] for row in rows) for rows in by_name.values()}
    if len(names) != 1:
        sys.exit("configurations differ in their instructions")
    return {name: by_name[name] for name in WHERE if name in by_name}


def cell(values):
    """One value, or all of them with where they are."""
    values = dict(values)
    if values.get("ecp5") == values.get("sim8"):
        values.pop("ecp5", None)
    own = [f"{values.pop('ecp5')} in ecp5"] if "ecp5" in values else []
    if len(set(values.values())) == 1:
        return ", ".join([next(iter(values.values()))] + own)
    return ", ".join([f"{value} {WHERE[name]}" for name, value in values.items()] + own)


def table(by_name):
    lines = ["| instructions | cycles a VREG | latency |", "|---|---|---|"]
    rows = []
    for same in zip(*by_name.values()):
        values = [{name: row[i] for name, row in zip(by_name, same)} for i in (1, 2)]
        if rows and rows[-1][1] == values and kind(rows[-1][0][-1]) == kind(same[0][0]):
            rows[-1][0].append(same[0][0])
        else:
            rows.append(([same[0][0]], values))
    lines += ["| " + ", ".join(names) + f" | {cell(cycles)} | {cell(latency)} |" for names, (cycles, latency) in rows]
    return lines


def kind(name):
    """What shares a row: loads with loads, reductions with reductions of one direction."""
    return name.split(" ")[0] if " " in name else re.match(r"(RL_|RS_)?", name).group(0)


def main():
    if len(sys.argv) < 4 or sys.argv[1] not in ("check", "write"):
        sys.exit(__doc__)
    readme = pathlib.Path(sys.argv[2])
    text = readme.read_text()
    if BEGIN not in text or END not in text:
        sys.exit(f"{readme}: no lines '{BEGIN}' and '{END}'")
    head, rest = text.split(BEGIN)
    old, tail = rest.split(END)
    new = "\n" + "\n".join(table(measured(sys.argv[3:]))) + "\n"
    if sys.argv[1] == "write":
        readme.write_text(head + BEGIN + new + END + tail)
    elif old != new:
        print("\n".join(difflib.unified_diff(old.splitlines(), new.splitlines(), "README", "measured", lineterm="")))
        print("FAIL vpu_timings: rtl/vpu/README.md differs from the measurement; make vpu-table")
        sys.exit(1)
    else:
        print("PASS vpu_timings: the table of rtl/vpu/README.md is what was measured")


main()
