#!/bin/bash
# SPDX-License-Identifier: MIT
#
# packages.sh missing: prints the Debian packages of packages.txt that are not
# installed. packages.sh install: installs exactly those, and asks for fresh
# package lists only then.

. "$(dirname "$0")/lib.sh"

missing() {
  local want have
  want=$(awk '!/^#/ && NF { print $1 }' "$SETUP/packages.txt")
  # dpkg-query ends with 1 when it does not know one of them.
  # shellcheck disable=SC2086
  have=$({ dpkg-query -W -f '${db:Status-Status} ${Package}\n' $want 2>/dev/null || true; } |
    awk '$1 == "installed" { print $2 }')
  comm -23 <(sort -u <<<"$want") <(sort -u <<<"$have")
}

install() {
  local list sudo=
  list=$(missing)
  [ -n "$list" ] || return 0
  list=$(tr '\n' ' ' <<<"$list")
  if [ "$(id -u)" != 0 ]; then
    command -v sudo >/dev/null ||
      die "missing packages: $list" "as root: apt-get install $list"
    sudo=sudo
    sudo -v # asks for the password here, where there is a terminal
  fi
  step "installing packages: $list"
  run "$LOGS/apt-update.log" "apt-get update" $sudo apt-get -q update
  # shellcheck disable=SC2086
  run "$LOGS/apt-install.log" "apt-get install" $sudo env DEBIAN_FRONTEND=noninteractive \
    apt-get -q -y --no-install-recommends install $list
  list=$(missing | tr '\n' ' ')
  [ -z "$list" ] || die "still missing after the installation: $list"
}

command -v dpkg-query >/dev/null ||
  die "this machine has no dpkg" "Peplos sets itself up on Debian 12; elsewhere install what packages.txt lists by hand"
case ${1:-} in
missing) missing ;;
install)
  lock packages
  install
  ;;
*) die "usage: packages.sh missing|install" ;;
esac
