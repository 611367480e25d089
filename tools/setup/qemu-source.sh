#!/bin/bash
# SPDX-License-Identifier: MIT
#
# Gets the source of QEMU 10.0.x and prints the folder it is in as its last
# line. From QEMU_TARBALL if that is set; else from Debian, by apt, so that
# the archive's signature covers what we build. The machine's own apt set-up
# says where Debian's archive is; a private list of sources asks that archive
# for the release that carries 10.0, so nothing of the machine's changes.
#
# 10.0 is pinned because QEMU's internal interfaces, which the overlay in
# qemu-device/ uses, move with every minor version.

. "$(dirname "$0")/lib.sh"

SERIES=10.0
KEYRING=/usr/share/keyrings/debian-archive-keyring.gpg
APT=$CACHE/apt

# The base address of Debian's main archive, as apt is configured here.
archive_uri() {
  apt-get indextargets --format '$(REPO_URI) $(LABEL) $(SUITE) $(RELEASE)' 'Created-By: Packages' |
    awk -v rel="$(. /etc/os-release && echo "${VERSION_CODENAME:-stable}")" \
      '$2 == "Debian" && $NF == rel { print $1; exit }'
}

private_apt() {
  local tool=$1
  shift
  "$tool" -q -o Dir::Etc::sourcelist=/dev/null -o Dir::Etc::sourceparts="$APT/sources" \
    -o Dir::State::lists="$APT/lists" -o Dir::Cache="$APT/cache" -o APT::Sandbox::User=root \
    -o Dir::Cache::pkgcache= -o Dir::Cache::srcpkgcache= -o Acquire::Languages=none "$@"
}

write_sources() {
  local uri=$1
  mkdir -p "$APT/sources" "$APT/lists/partial" "$APT/cache/archives/partial"
  cat >"$APT/sources/peplos.sources" <<END
Types: deb-src
URIs: $uri
Suites: trixie bookworm-backports
Components: main
Signed-By: $KEYRING
END
}

# The newest 10.0.x that the private lists offer, as a Debian version.
pick_version() {
  private_apt apt-cache showsrc qemu | awk '$1 == "Version:" { print $2 }' |
    grep -E "^([0-9]+:)?${SERIES//./\\.}\." | sort -V | tail -n 1
}

fetch_from_debian() {
  local uri version
  command -v apt-get >/dev/null ||
    die "no apt-get here, so QEMU's source cannot be fetched from Debian" \
      "get a release tarball of QEMU $SERIES.x and run: make deps QEMU_TARBALL=FILE"
  uri=$(archive_uri)
  [ -n "$uri" ] || {
    run "$LOGS/apt-update.log" "apt-get update" ${SUDO:-} apt-get -q update
    uri=$(archive_uri)
  }
  [ -n "$uri" ] ||
    die "apt knows no Debian archive for this release" \
      "add one, or get a release tarball of QEMU $SERIES.x and run: make deps QEMU_TARBALL=FILE"
  [ -r "$KEYRING" ] || die "$KEYRING is missing" "install the package debian-archive-keyring"
  write_sources "$uri"
  run "$LOGS/qemu-lists.log" "reading Debian's list of sources" private_apt apt-get \
    -o APT::Update::Error-Mode=any update
  version=$(pick_version)
  [ -n "$version" ] ||
    die "Debian's archive offers no QEMU $SERIES.x source" \
      "get a release tarball of QEMU $SERIES.x and run: make deps QEMU_TARBALL=FILE"
  rm -rf "$APT/download.tmp"
  mkdir -p "$APT/download.tmp"
  cd "$APT/download.tmp"
  run "$LOGS/qemu-fetch.log" "fetching QEMU $version from Debian" private_apt apt-get \
    source --download-only "qemu=$version"
  TARBALL=$(ls "$PWD"/qemu_*.orig.tar.*)
}

unpack() {
  local tmp
  rm -rf "$CACHE"/qemu-src.??????
  tmp=$(mktemp -d "$CACHE/qemu-src.XXXXXX")
  run "$LOGS/qemu-unpack.log" "unpacking $(basename "$TARBALL")" \
    tar -xf "$TARBALL" -C "$tmp" --strip-components=1
  VERSION=$(cat "$tmp/VERSION" 2>/dev/null || true)
  case $VERSION in
  "$SERIES".*) ;;
  *)
    rm -rf "$tmp"
    die "$TARBALL holds QEMU '${VERSION:-unknown}', not $SERIES.x" \
      "the overlay is written for $SERIES; give a tarball of that series"
    ;;
  esac
  TREE=$CACHE/qemu-$VERSION
  rm -rf "$TREE"
  mv "$tmp" "$TREE"
  echo "$VERSION" >"$TREE/.peplos-version"
}

if [ -n "${QEMU_TARBALL:-}" ]; then
  [ -r "$QEMU_TARBALL" ] || die "QEMU_TARBALL=$QEMU_TARBALL cannot be read"
  TARBALL=$(realpath "$QEMU_TARBALL")
  # Keyed by the file, so that naming another tarball is noticed.
  MARK=$CACHE/qemu-source-$(hash_of "$TARBALL" "$(stat -c '%s %Y' "$TARBALL")")
else
  MARK=$CACHE/qemu-source-debian
fi
if [ -s "$MARK" ] && [ -s "$(cat "$MARK")/.peplos-version" ]; then
  cat "$MARK"
  exit 0
fi
[ -n "${TARBALL:-}" ] || fetch_from_debian
unpack
echo "$TREE" >"$MARK.tmp" && mv "$MARK.tmp" "$MARK"
rm -rf "$APT/download.tmp"
echo "$TREE"
