#!/bin/bash
# SPDX-License-Identifier: MIT
#
# Rules for every tracked file: an SPDX line (files that cannot carry one are listed), no machine paths,
# no trailing blanks in sources.
set -euo pipefail
cd "$(dirname "$0")/../.."
bad=0
complain() { echo "lint: $*" >&2; bad=1; }

# Data and files whose format has no comments.
no_spdx='^(LICENSE|qemu-device/COPYING|.*\.(npz|json|bin|hex|pgm|png|csv|txt))$'

while IFS= read -r file; do
  [ -f "$file" ] || continue
  if ! [[ $file =~ $no_spdx ]] && ! head -n 8 "$file" | grep -q 'SPDX-License-Identifier:'; then
    complain "$file: no SPDX-License-Identifier line at its head"
  fi
  case $file in
    qemu-device/*.[ch]) head -n 8 "$file" | grep -q 'GPL-2.0-or-later' || complain "$file: must be GPL-2.0-or-later" ;;
  esac
  case $file in
    *.c | *.h | *.cpp | *.sv | *.py | *.sh | *.md | *.rdl | *.toml | *.inc)
      if grep -nE '[[:blank:]]+$' "$file" | head -n 1 | grep -q .; then
        complain "$file: trailing blanks in line $(grep -nE '[[:blank:]]+$' "$file" | head -n 1 | cut -d: -f1)"
      fi ;;
  esac
  if grep -nIE '(^|[^A-Za-z0-9_.$}/-])/(work|farm|root)/' "$file" | head -n 1 | grep -q .; then
    complain "$file: names a path of one machine"
  fi
done < <(git ls-files)
[ "$bad" -eq 0 ] && echo "lint files: clean"
exit "$bad"
