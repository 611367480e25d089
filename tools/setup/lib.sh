# SPDX-License-Identifier: MIT
# shellcheck shell=bash
#
# What the set-up scripts share: where the cache is, how they talk, and the
# lock that keeps two runs from building into the same place.
#
# Everything that takes minutes to build (QEMU, newlib, the Python
# environment) lives in a cache outside the work tree, so that `make clean`
# and a fresh clone do not pay for it again. Each entry is named after what it
# was made from (version, options, requirement list); a change makes a new
# entry and never edits a finished one, QEMU's object tree excepted: it is
# kept so that a change in qemu-device/ costs seconds.

set -euo pipefail

ROOT=$(cd "$(dirname "${BASH_SOURCE[0]}")/../.." && pwd)
SETUP=$ROOT/tools/setup
CACHE=${PEPLOS_CACHE:-${XDG_CACHE_HOME:-$HOME/.cache}/peplos}
LOGS=$CACHE/logs
JOBS=${JOBS:-$(nproc)}
mkdir -p "$CACHE" "$LOGS"

say() { printf '%s\n' "$*"; }
step() { printf '== %s\n' "$*"; }

# die MESSAGE [WHAT TO DO]...: one line says what is wrong, the next ones what to do.
die() {
  printf 'error: %s\n' "$1" >&2
  shift
  local hint
  for hint in "$@"; do printf '       %s\n' "$hint" >&2; done
  exit 1
}

# hash_of STRING...: a short name for a set of inputs.
hash_of() { printf '%s\n' "$@" | sha256sum | cut -c1-12; }

# hash_files FILE...: the same for contents; a missing file is an error.
hash_files() { cat -- "$@" | sha256sum | cut -c1-12; }

# lock NAME: hold a lock until the script ends; says so when it must wait.
lock() {
  exec 9>"$CACHE/$1.lock"
  if ! flock -n 9; then
    say "   another run holds $1 (process $(cat "$CACHE/$1.pid" 2>/dev/null || echo '?')); waiting for it"
    flock 9
  fi
  echo $$ >"$CACHE/$1.pid"
}

# run LOG LABEL COMMAND...: run with the output in a log, a sign of life every
# few seconds, the time at the end, and the log's tail when it fails.
# The command is a process group of its own, so that an interruption ends all
# of it; it keeps the lock for as long as any of it lives.
run() {
  local log=$1 label=$2 start=$SECONDS rc=0 shown=0 pid
  shift 2
  set -m
  ("$@") >"$log" 2>&1 </dev/null &
  pid=$!
  set +m
  # shellcheck disable=SC2064
  trap "echo; echo '   interrupted'; kill -TERM -- -$pid 2>/dev/null; wait $pid 2>/dev/null; exit 130" INT TERM HUP
  while kill -0 "$pid" 2>/dev/null; do
    sleep 0.1
    if ((SECONDS - start >= shown + 5)); then
      shown=$((SECONDS - start))
      if [ -t 1 ]; then
        printf '\r\033[K   %s: %d s  %.60s' "$label" "$shown" "$(tail -n 1 "$log" | tr -d '\r')"
      elif ((shown % 30 < 5)); then
        printf '   %s: %d s  %.80s\n' "$label" "$shown" "$(tail -n 1 "$log" | tr -d '\r')"
      fi
    fi
  done
  wait "$pid" || rc=$?
  trap - INT TERM HUP
  if [ -t 1 ]; then printf '\r\033[K'; fi
  if ((rc != 0)); then
    tail -n 25 "$log" >&2
    die "$label failed (status $rc)" "the whole log is $log"
  fi
  say "   $label: done in $((SECONDS - start)) s"
}

# folder_of SCRIPT...: runs a script whose last line of output is a folder;
# prints the folder, and passes the other lines on to the reader.
folder_of() {
  local out
  out=$("$@" | tee >(sed '$d' >&2)) || exit 1
  printf '%s\n' "${out##*$'\n'}"
}
