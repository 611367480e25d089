#!/bin/bash
# SPDX-License-Identifier: MIT
#
# One firmware ELF on another configuration: the test program of the model ABI on the RTL (on the functional
# model test-model-func has it), functional model against RTL by random streams, the hang zoo and the apps
# on both. Prints PASS and FAIL lines.
#
#   run.sh CONFIG DIM
set -uo pipefail
cd "$(dirname "$0")/../.."
config=$1 dim=$2
library=build/lib/$config/libtpu_rtl.so
bad=0

verdict() { # name, log, status
  if [ "$3" -eq 0 ]; then echo "PASS configs/$1"; else
    echo "FAIL configs/$1: status $3: $(tail -n 1 "$2")"
    bad=1
  fi
}

log=build/test-logs/configs-$config.txt
mkdir -p build/test-logs build/data
build/unit/func/test_func MODEL="$PWD/$library" CONFIG="$config" >"$log" 2>&1
verdict "$config: the model's test program on the RTL: $(tail -n 1 "$log" | sed 's/.*: //')" "$log" $?
tests/firmware/run.py --platform func --config "$config" || bad=1
tests/firmware/run.py --platform rtl --config "$config" || bad=1
build/fuzz/streams build/lib/libtpu_func.so "$library" --config "$config" --count 300 --seed 5 >"$log" 2>&1
verdict "$config: 300 random streams, functional model against RTL" "$log" $?
build/tools/matmul-data 96 80 112 --dim "$dim" -o "build/data/matmul-$config.bin"
for platform in func rtl; do
  app() { # name, data, arguments...
    local name=$1 data=$2
    shift 2
    tools/run/peplos-run --platform $platform --config "$config" --no-trace --data "$data" "$name" -- "$@" >"$log" 2>&1
    verdict "$config: $name on $platform" "$log" $?
  }
  app matmul "build/data/matmul-$config.bin" 96 80 112 --block 48
  app digits build/data/digits.bin --show 0
done
exit "$bad"
