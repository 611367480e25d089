#!/bin/bash
# SPDX-License-Identifier: MIT
#
# Cross-builds newlib for the scalar core (rv32imc, ilp32) from Debian's
# newlib-source package and prints its folder (with include/ and lib/) as the
# last line. Debian ships no newlib for this compiler, and its picolibc has
# no rv32imc variant.
#
# Options, and why. The firmware has 128 KiB in all, so size decides:
# nano malloc, no wide-character streams, no
# buffering tricks, exit handlers without the atexit table's allocation.
# The reentrancy struct is the full one: the small one allocates stdin, stdout
# and stderr at first use, and the firmware has no heap.
# printf is newlib's full one and not the "nano" one, because 64-bit cycle
# counters need %llu, which nano prints wrongly. Its integer-only twin
# (iprintf, sniprintf, ...) is in the same library: a program that does not
# print floats links that one and is 20 KiB smaller (measured: 7.6 KiB against 27.9).

. "$(dirname "$0")/lib.sh"

ARCHIVE=$(ls /usr/src/newlib/newlib-*.tar.xz 2>/dev/null | sort -V | tail -n 1)
[ -n "$ARCHIVE" ] || die "newlib's source is missing" "apt-get install newlib-source, or: make deps"
command -v riscv64-unknown-elf-gcc >/dev/null ||
  die "riscv64-unknown-elf-gcc is missing" "apt-get install gcc-riscv64-unknown-elf, or: make deps"

MACHINE=(-march=rv32imc -mabi=ilp32 -mcmodel=medany)
CFLAGS="${MACHINE[*]} -Os -ffunction-sections -fdata-sections -fno-common -ffp-contract=off"
OPTIONS=(
  --target=riscv64-unknown-elf
  --disable-multilib
  --disable-nls
  --disable-newlib-supplied-syscalls
  --enable-newlib-nano-malloc
  --enable-newlib-global-atexit
  --enable-lite-exit
  --enable-newlib-io-long-long
  --disable-newlib-io-c99-formats
  --disable-newlib-fvwrite-in-streamio
  --disable-newlib-fseek-optimization
  --disable-newlib-wide-orient
  --disable-newlib-unbuf-stream-opt
)
COMPILER=$(riscv64-unknown-elf-gcc -dumpfullversion)
VERSION=$(basename "$ARCHIVE" .tar.xz)
DIR=$CACHE/$VERSION-rv32imc-$(hash_of "$CFLAGS" "${OPTIONS[@]}" "$COMPILER" "$(stat -c %s "$ARCHIVE")")

build() {
  local tmp=$1 source
  tar -xf "$ARCHIVE" -C "$tmp"
  source=$(dirname "$(find "$tmp" -maxdepth 2 -name configure)")
  mkdir "$tmp/obj"
  cd "$tmp/obj"
  # No manual pages, and no libgloss: the system calls are ours
  # (firmware/boot).
  "$source/configure" --prefix="$tmp/prefix" "${OPTIONS[@]}" CFLAGS_FOR_TARGET="$CFLAGS" MAKEINFO=true
  make -j "$JOBS" MAKEINFO=true all-target-newlib
  make MAKEINFO=true install-target-newlib
}

lock newlib
if [ ! -e "$DIR/lib/libc.a" ]; then
  step "newlib for rv32imc (once, a minute or two)"
  rm -rf "$CACHE"/newlib.?????? # what an earlier run left when it was killed
  TMP=$(mktemp -d "$CACHE/newlib.XXXXXX")
  trap 'rm -rf "$TMP"' EXIT
  run "$LOGS/newlib.log" "building $VERSION" build "$TMP"
  mv "$TMP/prefix/riscv64-unknown-elf" "$DIR"
fi
echo "$DIR"
