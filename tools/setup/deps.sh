#!/bin/bash
# SPDX-License-Identifier: MIT
#
# make deps: everything a new machine needs, in order, with the time each step
# took. Quick when all is there.

. "$(dirname "$0")/lib.sh"

"$SETUP/env.sh"
"$SETUP/qemu.sh"
say "set-up complete in $SECONDS s (cache: $CACHE)"
