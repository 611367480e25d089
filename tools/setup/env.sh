#!/bin/bash
# SPDX-License-Identifier: MIT
#
# Installs and builds what compiling needs (packages, Python, newlib) and
# writes build/env.mk, which tells the Makefile where they are. QEMU is apart
# (qemu.sh), because only running needs it.

. "$(dirname "$0")/lib.sh"

"$SETUP/packages.sh" install
VENV=$(folder_of "$SETUP/venv.sh")
NEWLIB=$(folder_of "$SETUP/newlib.sh")

mkdir -p "$ROOT/build"
cat >"$ROOT/build/env.mk.tmp" <<END
# Written by tools/setup/env.sh; do not edit.
PEPLOS_CACHE := $CACHE
VENV := $VENV
PYTHON := $VENV/bin/python
NEWLIB := $NEWLIB
NEWLIB_INC := $NEWLIB/include
NEWLIB_LIB := $NEWLIB/lib
END
mv "$ROOT/build/env.mk.tmp" "$ROOT/build/env.mk"
