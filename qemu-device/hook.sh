#!/bin/sh
# SPDX-License-Identifier: GPL-2.0-or-later
#
# hook.sh TREE: makes a QEMU 10.0.x source tree build hw/tpu. Three lines are
# added after fixed anchors; a second run changes nothing; a missing anchor is
# an error, so that a QEMU whose files moved is noticed here and not as a
# machine that is silently absent.

set -eu
tree=${1:?usage: hook.sh QEMU-SOURCE-TREE}

version=$(cat "$tree/VERSION")
case $version in
10.0.*) ;;
*)
    echo "error: $tree is QEMU $version; this overlay is for 10.0.x" >&2
    exit 1
    ;;
esac

# add FILE LINE ANCHOR: put LINE after the first line that is exactly ANCHOR.
add() {
    if grep -qxF -- "$2" "$tree/$1"; then
        return
    fi
    if ! grep -qxF -- "$3" "$tree/$1"; then
        echo "error: $1: the line '$3' is gone, so there is no place for '$2'" >&2
        exit 1
    fi
    LINE=$2 ANCHOR=$3 awk '
        { print }
        $0 == ENVIRON["ANCHOR"] && !done { print ENVIRON["LINE"]; done = 1 }
    ' "$tree/$1" >"$tree/$1.tpu-new"
    mv "$tree/$1.tpu-new" "$tree/$1"
    echo "hooked $1"
}

add hw/meson.build "subdir('tpu')" "subdir('riscv')"
add hw/Kconfig "source tpu/Kconfig" "source timer/Kconfig"
add meson.build "    'hw/tpu'," "    'hw/timer',"
