#!/bin/bash
# SPDX-License-Identifier: MIT
#
# Size of the runtime (drivers and kernel runtime, everything in them): code with constants, and static
# data. With --check a line PASS or FAIL a bar.
#
#   size.sh SIZE-PROGRAM OBJECT-FOLDER [--check]

CODE_BAR=$((64 * 1024))
DATA_BAR=$((32 * 1024))

read -r code data < <("$1" "$2"/hal/*.o "$2"/pallas/*.o |
  awk 'NR > 1 { code += $1; data += $2 + $3 } END { print code, data }')
[ -n "$code" ] || { echo "size.sh: no objects in $2" >&2; exit 1; }
if [ "$3" != --check ]; then
  echo "runtime: $code bytes of code and constants (bar $CODE_BAR), $data bytes of static data (bar $DATA_BAR)"
  exit 0
fi
bad=0
check() {
  if [ "$2" -le "$3" ]; then echo "PASS runtime $1: $2 bytes of $3"; else echo "FAIL runtime $1: $2 bytes of $3"; bad=1; fi
}
check code "$code" $CODE_BAR
check data "$data" $DATA_BAR
exit $bad
