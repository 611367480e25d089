#!/bin/bash
# SPDX-License-Identifier: MIT
#
# C and C++ in the project's style (.clang-format): format.sh rewrites, format.sh --check only says which files
# differ. Not qemu-device/, which is written as QEMU is, and nothing generated.
set -euo pipefail
cd "$(dirname "$0")/../.."
command -v clang-format >/dev/null || { echo "format: clang-format not found; run make deps" >&2; exit 1; }
mapfile -t files < <(git ls-files -co --exclude-standard '*.c' '*.h' '*.cpp' | grep -vE '^qemu-device/|/gen/')
if [ "${1:-}" != --check ]; then
  clang-format -i "${files[@]}"
  exit
fi
differ=()
for file in "${files[@]}"; do
  clang-format "$file" | cmp -s - "$file" || differ+=("$file")
done
if [ ${#differ[@]} -ne 0 ]; then
  printf 'lint format: %s is not in the style of .clang-format; make format rewrites it\n' "${differ[@]}"
  exit 1
fi
echo "lint format: ${#files[@]} files clean"
