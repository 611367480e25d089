#!/bin/bash
# SPDX-License-Identifier: MIT
#
# Prints the targets of the given makefiles that carry `## text`.

set -euo pipefail
echo "Peplos: targets of make"
awk '
  match($0, /^[A-Za-z0-9_\/.-]+:.*## /) {
    target = $0; sub(/:.*/, "", target)
    text = $0; sub(/^.*## /, "", text)
    printf "  %-18s %s\n", target, text
  }
' "$@" | sort
