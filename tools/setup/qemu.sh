#!/bin/bash
# SPDX-License-Identifier: MIT
#
# Builds QEMU 10.0.x with the machine of qemu-device/ and links the binary to
# build/qemu/qemu-system-riscv32.
#
# The source tree and the object tree stay in the cache: the first build takes
# minutes, one after a change in qemu-device/ takes seconds. A finished binary
# is kept under a name made from QEMU's version, the configure flags, and the
# overlay's contents, so that going back to an earlier overlay costs nothing.

. "$(dirname "$0")/lib.sh"

OVERLAY=$ROOT/qemu-device
# Everything but the one machine is off: that is what makes the build short.
# Libraries come from the machine; configure must not fetch anything.
FLAGS=(
  --target-list=riscv32-softmmu
  --without-default-features
  --without-default-devices
  --with-devices-riscv32=tpu
  --enable-tcg
  --enable-fdt=system
  --disable-docs
  --disable-tools
  --disable-user
  --disable-guest-agent
  --disable-install-blobs
  --disable-werror
  --disable-debug-info
  --disable-download
)

# The files that go into hw/tpu: the overlay, and the headers that it shares
# with the models (one source; copied, because QEMU's tree must stand alone).
overlay_files() {
  find "$OVERLAY" -maxdepth 1 -type f ! -name 'README*' ! -name 'Makefile.inc' ! -name '.*' | LC_ALL=C sort
  local header
  for header in hw/model/tpu_model.h hw/regs/gen/tpu_memmap.h hw/regs/gen/tpu_regs.h; do
    [ -e "$ROOT/$header" ] && echo "$ROOT/$header"
  done
  return 0
}

# Copies what changed (an unchanged file keeps its time, so ninja leaves it
# alone) and removes what is gone.
lay_overlay() {
  local to=$1/hw/tpu file name names=" "
  mkdir -p "$to" "$1/configs/devices/riscv32-softmmu"
  for file in $(overlay_files); do
    name=$(basename "$file")
    names+="$name "
    cmp -s "$file" "$to/$name" || cp "$file" "$to/$name"
  done
  for file in "$to"/*; do
    [[ $names == *" $(basename "$file") "* ]] || rm -f "$file"
  done
  cmp -s "$OVERLAY/tpu.mak" "$1/configs/devices/riscv32-softmmu/tpu.mak" ||
    cp "$OVERLAY/tpu.mak" "$1/configs/devices/riscv32-softmmu/tpu.mak"
  "$OVERLAY/hook.sh" "$1"
}

link_binary() {
  mkdir -p "$ROOT/build/qemu"
  # Make compares times through the link: a binary from the cache is current.
  touch "$BIN/qemu-system-riscv32"
  ln -sfn "$BIN/qemu-system-riscv32" "$ROOT/build/qemu/qemu-system-riscv32"
  ln -sfn "$TREE" "$ROOT/build/qemu/source"
}

lock qemu
TREE=$(folder_of "$SETUP/qemu-source.sh")
VERSION=$(cat "$TREE/VERSION")
VENV=$(folder_of "$SETUP/venv.sh" qemu)
FLAGS_KEY=$(hash_of "${FLAGS[@]}" "$VENV")
OBJ=$CACHE/qemu-$VERSION-build-$FLAGS_KEY
BIN=$CACHE/qemu-bin/$VERSION-$FLAGS_KEY-$(hash_files $(overlay_files))

if [ -x "$BIN/qemu-system-riscv32" ]; then
  link_binary
  exit 0
fi

step "QEMU $VERSION with the tpu-soc machine (first time: several minutes; after a change: seconds)"
lay_overlay "$TREE"
if [ ! -e "$OBJ/.configured" ]; then
  # Interrupted in the middle of configure: start again, it is short.
  rm -rf "$OBJ"
  mkdir -p "$OBJ"
  cd "$OBJ"
  run "$LOGS/qemu-configure.log" "configuring QEMU" env PATH="$VENV/bin:$PATH" \
    "$TREE/configure" --python="$VENV/bin/python" "${FLAGS[@]}"
  touch "$OBJ/.configured"
fi
run "$LOGS/qemu-build.log" "building QEMU" env PATH="$VENV/bin:$PATH" \
  ninja -C "$OBJ" -j "$JOBS" qemu-system-riscv32
rm -rf "$BIN.tmp"
mkdir -p "$BIN.tmp"
cp "$OBJ/qemu-system-riscv32" "$BIN.tmp/"
rm -rf "$BIN"
mv "$BIN.tmp" "$BIN"
link_binary

# Old binaries: the newest few are enough to go back and forth between branches.
cd "$CACHE/qemu-bin"
# shellcheck disable=SC2012
ls -t | tail -n +9 | xargs -r rm -rf --
