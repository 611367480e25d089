#!/bin/bash
# SPDX-License-Identifier: MIT
#
# make doctor: says what is there and what is missing, and what would provide
# it. Installs and builds nothing. Status 1 when something is missing.

. "$(dirname "$0")/lib.sh"

bad=0
ok() { printf 'ok       %-22s %s\n' "$1" "$2"; }
miss() {
  printf 'MISSING  %-22s %s\n' "$1" "$2"
  bad=$((bad + 1))
}
# first_line COMMAND...: its first line of output, or nothing.
first_line() { "$@" 2>/dev/null | head -n 1 || true; }

tool() {
  if command -v "$1" >/dev/null; then
    ok "$1" "$(first_line "$@")"
  else
    miss "$1" "apt-get install $(awk -v t="$TOOL_PACKAGE" '$1 == t { print $1 }' "$SETUP/packages.txt")"
  fi
}

TOOL_PACKAGE=gcc tool gcc --version
TOOL_PACKAGE=g++ tool g++ --version
TOOL_PACKAGE=ninja-build tool ninja --version
TOOL_PACKAGE=verilator tool verilator --version
TOOL_PACKAGE=gcc-riscv64-unknown-elf tool riscv64-unknown-elf-gcc --version
TOOL_PACKAGE=gdb-multiarch tool gdb-multiarch --version
TOOL_PACKAGE=clang-format tool clang-format --version

if packages=$("$SETUP/packages.sh" missing 2>&1); then
  if [ -z "$packages" ]; then
    ok "Debian packages" "all of tools/setup/packages.txt"
  else
    miss "Debian packages" "apt-get install $(tr '\n' ' ' <<<"$packages")"
  fi
else
  miss "Debian packages" "$packages"
fi

env_mk=$ROOT/build/env.mk
value() { sed -n "s/^$1 := //p" "$env_mk" 2>/dev/null; }
check_path() {
  if [ -n "$2" ] && [ -e "$2" ]; then ok "$1" "$2"; else miss "$1" "make deps"; fi
}
check_path "Python environment" "$(value PYTHON)"
check_path "newlib for rv32imc" "$(value NEWLIB_LIB)"
qemu=$ROOT/build/qemu/qemu-system-riscv32
if [ -x "$qemu" ]; then
  ok "QEMU with tpu-soc" "$(first_line "$qemu" --version)"
else
  miss "QEMU with tpu-soc" "make deps (needs about 1 GB of disk and several minutes)"
fi
free=$(df -Pm "$CACHE" | awk 'NR == 2 { print $4 }')
if ((free >= 3000)); then
  ok "disk" "$free MB free in $CACHE"
else
  miss "disk" "$CACHE has $free MB free; 3000 MB are needed (PEPLOS_CACHE=DIR puts it elsewhere)"
fi

if ((bad)); then
  say "$bad missing"
  exit 1
fi
say "nothing is missing"
