#!/bin/bash
# SPDX-License-Identifier: MIT
#
# One firmware ELF on another configuration: functional model against RTL by random streams, then the
# apps on both models. Prints PASS and FAIL lines.
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
