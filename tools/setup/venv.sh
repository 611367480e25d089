#!/bin/bash
# SPDX-License-Identifier: MIT
#
# Makes a private Python environment from a pinned list of requirements and
# prints its folder as the last line. `venv.sh` uses requirements.txt;
# `venv.sh NAME` uses requirements-NAME.txt (the heavy ones that only a few
# targets need, such as `train`). The machine's Python is not touched.

. "$(dirname "$0")/lib.sh"

NAME=${1:-}
LIST=$SETUP/requirements${NAME:+-$NAME}.txt
BASE=${PEPLOS_PYTHON:-/usr/bin/python3}
[ -r "$LIST" ] || die "no list of requirements $LIST"
[ -x "$BASE" ] || die "no Python at $BASE" "install python3, or set PEPLOS_PYTHON to a Python 3.11 or newer"
VERSION=$("$BASE" -c 'import sys; print("%d.%d" % sys.version_info[:2])')
"$BASE" -c 'import sys; sys.exit(sys.version_info < (3, 11))' ||
  die "$BASE is Python $VERSION, 3.11 or newer is needed" "set PEPLOS_PYTHON to one"

lock "venv$NAME"
DIR=$CACHE/venv${NAME:+-$NAME}-py$VERSION-$(hash_files "$LIST")
if [ ! -e "$DIR/.complete" ]; then
  # An environment holds its own path, so it is made in place; the mark at the
  # end tells a whole one from one that was interrupted.
  rm -rf "$DIR"
  run "$LOGS/venv-make$NAME.log" "making a Python environment" "$BASE" -m venv "$DIR"
  run "$LOGS/venv$NAME.log" "installing $(basename "$LIST")" "$DIR/bin/python" -m pip install \
    --disable-pip-version-check --no-input --progress-bar off -r "$LIST"
  touch "$DIR/.complete"
fi
echo "$DIR"
