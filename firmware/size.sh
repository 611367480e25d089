#!/bin/bash
# SPDX-License-Identifier: MIT
#
# Size of the runtime (all of the kernel runtime, whether a program uses it or not, and what it and a program that
# does nothing use of the drivers) as linked: code with constants, and data with the memory for plans, from the map of a
# link that keeps all of the kernel runtime. The bar of 64 KiB is of the core, all of firmware/pallas but what follows.
# Vector functions, of which whole-ref operations are made, are a line of their own, and every program has them: there is
# a bar for both together. Counted apart is what a program has only if it uses it: further operations (pl_exp() and its
# like, roll, transposition, random bits, the division of grids between cores), the prediction (pl_plan(),
# pl_predict()), gathers and scatters. With --check a line PASS or FAIL a bar.
#
#   size.sh MAP [--check]

CODE_BAR=$((64 * 1024))
DATA_BAR=$((32 * 1024))
VECTOR_CODE_BAR=$((24 * 1024))
VECTOR_DATA_BAR=$((12 * 1024))
SUM_CODE_BAR=$((82 * 1024))
SUM_DATA_BAR=$((36 * 1024))
MORE_CODE_BAR=$((6 * 1024))
PLAN_CODE_BAR=$((8 * 1024))
LIST_CODE_BAR=$((6 * 1024))

# A section's name may be on the line before its address, size and object.
code=0 data=0 vector_code=0 vector_data=0 plan=0 list=0 more=0
while read -r part name size; do
  case $part$name in
    vector.text* | vector.rodata* | vector.srodata*) vector_code=$((vector_code + size)) ;;
    vector.data* | vector.sdata*) vector_code=$((vector_code + size)) vector_data=$((vector_data + size)) ;;
    vector.bss* | vector.sbss*) vector_data=$((vector_data + size)) ;;
    more.text* | more.rodata* | more.srodata* | more.data* | more.sdata* | more.bss* | more.sbss*) more=$((more + size)) ;;
    plan.text* | plan.rodata* | plan.srodata* | plan.data* | plan.sdata* | plan.bss* | plan.sbss*) plan=$((plan + size)) ;;
    list.text* | list.rodata* | list.srodata* | list.data* | list.sdata* | list.bss* | list.sbss*) list=$((list + size)) ;;
    core.text* | core.rodata* | core.srodata*) code=$((code + size)) ;;
    core.data* | core.sdata*) code=$((code + size)) data=$((data + size)) ;;
    core.bss* | core.sbss* | core.plans) data=$((data + size)) ;;
  esac
done < <(awk '
  /^Linker script and memory map/ { on = 1 }
  !on { next }
  NF == 1 && /^ \./ { name = $1; next }
  { object = "" }
  $2 == "__plans_end" { end = $1 }
  $2 == "__plans" { print "core .plans " end " - " $1 }
  /^ \./ { name = $1; size = $3; object = $4 }
  /^ +0x/ { size = $2; object = $3 }
  object ~ /obj\/(hal|pallas)\// {
    print object ~ /pallas\/(vfn_math|vfn_cross|partition)/ ? "more" : object ~ /pallas\/vfn_/ ? "vector" : object ~ /pallas\/predict/ ? "plan" : object ~ /pallas\/list/ ? "list" : "core",
      name, size }' "$1")
[ "$code" -gt 0 ] || { echo "size.sh: no runtime in $1" >&2; exit 1; }
if [ "$2" != --check ]; then
  echo "runtime: $code bytes of code and constants (bar $CODE_BAR), $data bytes of data (bar $DATA_BAR)"
  echo "vector functions: $vector_code bytes (bar $VECTOR_CODE_BAR), $vector_data bytes of data (bar $VECTOR_DATA_BAR)"
  echo "both: $((code + vector_code)) bytes (bar $SUM_CODE_BAR), $((data + vector_data)) bytes of data (bar $SUM_DATA_BAR)"
  echo "further operations: $more bytes (bar $MORE_CODE_BAR)"
  echo "gathers and scatters: $list bytes (bar $LIST_CODE_BAR)"
  echo "prediction: $plan bytes (bar $PLAN_CODE_BAR)"
  exit 0
fi
bad=0
check() {
  if [ "$2" -le "$3" ]; then echo "PASS runtime $1: $2 bytes of $3"; else echo "FAIL runtime $1: $2 bytes of $3"; bad=1; fi
}
check code "$code" $CODE_BAR
check data "$data" $DATA_BAR
check "gathers and scatters" "$list" $LIST_CODE_BAR
check "vector functions" "$vector_code" $VECTOR_CODE_BAR
check "vector functions' data" "$vector_data" $VECTOR_DATA_BAR
check "and vector functions, code" $((code + vector_code)) $SUM_CODE_BAR
check "and vector functions, data" $((data + vector_data)) $SUM_DATA_BAR
check "further operations" "$more" $MORE_CODE_BAR
check prediction "$plan" $PLAN_CODE_BAR
exit $bad
