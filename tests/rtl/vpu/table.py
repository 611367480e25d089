#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""The table of instruction timings in rtl/vpu/README.md against what the testbench measured.

    table.py check|write README timings ...

A file of timings has a line for each instruction, `name|cycles a VREG|latency`; its folder is named like the configuration.
Instructions in a row that agree in every configuration share a row of the table; a value that depends on the lanes shows
one for each number of lanes. `check` fails with the difference, `write` replaces the table."""
import difflib
import pathlib
import re
import sys

BEGIN, END = "<!-- timings: begin -->", "<!-- timings: end -->"
LANES = {"sim16": 16, "sim8": 8, "sim4": 4, "ecp5": 8}


def measured(files):
    """{lanes: [(name, cycles, latency)]}; configurations with as many lanes must agree."""
    by_lanes = {}
    for file in map(pathlib.Path, files):
        rows = [tuple(line.split("|")) for line in file.read_text().splitlines()]
        if by_lanes.setdefault(LANES[file.parent.name], rows) != rows:
            sys.exit(f"{file}: differs from another configuration with as many lanes")
    names = {tuple(row[0] for row in rows) for rows in by_lanes.values()}
    if len(names) != 1:
        sys.exit("configurations differ in their instructions")
    return dict(sorted(by_lanes.items(), reverse=True))


def cell(values):
    """One value, or all of them with their lanes."""
    if len(set(values.values())) == 1:
        return next(iter(values.values()))
    return ", ".join(f"{value} with {lanes} lanes" for lanes, value in values.items())


def table(by_lanes):
    lines = ["| instructions | cycles a VREG | latency |", "|---|---|---|"]
    rows = []
    for same in zip(*by_lanes.values()):
        values = [{lanes: row[i] for lanes, row in zip(by_lanes, same)} for i in (1, 2)]
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
