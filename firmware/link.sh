#!/bin/bash
# SPDX-License-Identifier: MIT
#
# Links a program: once without its symbol table, which is made from that, and once with it. If it is too large for the
# chip's RAM it goes without the table (trap reports have addresses only), and if that is not enough it is
# linked for the larger RAM of the simulator; a line says so. It is too large also if it leaves less than FW_PLANS bytes
# for plans, 9 KiB if nothing is said, which is enough for each kernel of the library.
#
#   link.sh ELF SCRIPT LARGE_SCRIPT NM COMPILER_AND_FLAGS.. -- OBJECTS_AND_LIBRARIES..
set -e
elf=$1 small=$2 large=$3 nm=$4
shift 4
flags=()
while [ "$1" != -- ]; do
  flags+=("$1")
  shift
done
shift

# plans ELF: bytes that it leaves for plans.
plans() {
  "$nm" "$1" | awk '$3 == "__plans" || $3 == "__plans_end" { printf "%s16#%s", minus++ ? "-" : "", $1 }' |
    { read -r range; echo $((range > 0 ? range : -(range))); }
}

# link SCRIPT OUTPUT SYMBOLS..: status 2 if it does not fit.
link() {
  local script=$1 output=$2
  shift 2
  if "${flags[@]}" -T "$script" -Wl,-Map="$output.map" -o "$output" "${inputs[@]}" "$@" 2>"$elf.log"; then
    [ "$(plans "$output")" -ge "${FW_PLANS:-9216}" ] && return 0 || return 2
  fi
  grep -q "region .*overflowed by" "$elf.log" && return 2
  cat "$elf.log" >&2
  exit 1
}

# with_symbols SCRIPT: the second link, from $elf.first.
with_symbols() {
  "$nm" -n "$elf.first" >"$elf.first.nm"
  python3 firmware/boot/symbols.py <"$elf.first.nm" >"$elf.symbols.S"
  "${flags[@]}" -c -o "$elf.symbols.o" "$elf.symbols.S"
  link "$1" "$elf" "$elf.symbols.o" || return 2
  "$nm" -n "$elf" >"$elf.nm"
  python3 firmware/boot/symbols.py --check "$elf.first.nm" "$elf.nm"
}

inputs=("$@")
name=$(basename "$elf")
if ! link "$small" "$elf.first"; then
  echo "  ($name is larger than the chip's RAM: for simulation only)"
  link "$large" "$elf.first" || { cat "$elf.log" >&2; exit 1; }
  with_symbols "$large" || { cat "$elf.log" >&2; exit 1; }
elif ! with_symbols "$small"; then
  echo "  (no room for the symbol table of $name)"
  mv "$elf.first" "$elf"
  mv "$elf.first.map" "$elf.map"
  "$nm" -n "$elf" >"$elf.nm"
fi
rm -f "$elf".first* "$elf".symbols.* "$elf.log"
