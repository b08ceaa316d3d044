#!/usr/bin/env bash
# Puts other people's programs, which the daemon is tested with, into a folder.
#
#   tests/outside/setup.sh FOLDER
#
# FOLDER/npm      Node 22, the MCP SDKs and the inspector, Playwright: by package-lock.json
# FOLDER/python   schemathesis: by requirements.txt, whose hashes pip checks
# Chromium is the system's; on Debian it is installed by apt where it is missing
# and this runs as root. EXECUTOR_CHROMIUM names another one.
#
# What is in place already, by the checksum of what pins it, is left alone; each
# part appears whole or not at all.
set -euo pipefail

here="$(cd "$(dirname "${BASH_SOURCE[0]}")" && pwd)"
target="${1:?usage: setup.sh FOLDER}"

say() { printf 'outside: %s\n' "$*"; }

# fail WHAT HINT
fail() {
  printf 'error: %s\n\nhint: %s\n' "$1" "$2" >&2
  exit 1
}

# Installs Debian packages; apt-get is asked once for its lists.
apt_install() {
  if [ "$(id -u)" -ne 0 ] || ! command -v apt-get >/dev/null; then
    fail "the tests from outside need $1, which is missing" "install it, on Debian with: sudo apt-get install $*"
  fi
  say "installing $* by apt"
  apt-get update -qq >"$work/apt.log" 2>&1 || :
  DEBIAN_FRONTEND=noninteractive apt-get install -y -qq --no-install-recommends "$@" >>"$work/apt.log" 2>&1 || {
    tail -n 20 "$work/apt.log" >&2
    fail "apt-get could not install $*" "see above; with the packages installed by hand this goes on without it"
  }
}

# True where FOLDER/$1 was made from what has the checksum $2.
in_place() { [ -f "$target/$1/.stamp" ] && [ "$(cat "$target/$1/.stamp")" = "$2" ]; }

# install PART STAMP: moves $work/PART into place; one that stands there makes way.
install_part() {
  printf '%s\n' "$2" >"$work/$1/.stamp"
  rm -rf "${target:?}/$1"
  mv -T "$work/$1" "$target/$1"
  say "$1 is now in place"
}

npm_part() {
  local stamp
  stamp="$(sha256sum <"$here/package-lock.json")"
  if in_place npm "$stamp"; then return; fi
  command -v npm >/dev/null || fail "npm is missing" "install Node 20 or newer, which brings it"
  say "fetching Node 22, the MCP SDKs, the inspector and Playwright"
  mkdir "$work/npm"
  cp "$here/package.json" "$here/package-lock.json" "$work/npm/"
  # No package runs a script of its own here. The engines that some ask for
  # are those of the Node that is fetched, not of the one that fetches.
  npm ci --prefix "$work/npm" --ignore-scripts --no-audit --no-fund --loglevel=error >"$work/npm.log" 2>&1 || {
    head -n 20 "$work/npm.log" >&2
    fail "npm could not install the packages of tests/outside/package-lock.json" \
      "see above; they come from the npm registry, which this machine has to reach once"
  }
  local node=("$work"/npm/node_modules/node-linux-*/bin/node)
  [ -x "${node[0]}" ] || fail "there is no pinned Node for this machine ($(uname -sm))" \
    "the tests from outside run on Linux on x86-64 and arm64"
  ln -s "${node[0]#"$work/npm/"}" "$work/npm/node"
  install_part npm "$stamp"
}

python_part() {
  command -v python3 >/dev/null || apt_install python3 python3-pip
  local stamp
  stamp="$(python3 --version) $(sha256sum <"$here/requirements.txt")"
  if in_place python "$stamp"; then return; fi
  python3 -c 'import sys; sys.exit(sys.version_info < (3, 10))' ||
    fail "$(python3 --version) is too old for schemathesis" "install Python 3.10 or newer"
  python3 -c 'import pip' 2>/dev/null || apt_install python3-pip
  say "fetching schemathesis"
  # Into a folder rather than a virtual environment: that needs no venv module
  # and can be moved. Wheels alone, so that no package's build runs here.
  python3 -m pip install --quiet --disable-pip-version-check --no-warn-script-location --root-user-action=ignore \
    --target "$work/python" --require-hashes --only-binary :all: -r "$here/requirements.txt" >"$work/pip.log" 2>&1 || {
    tail -n 20 "$work/pip.log" >&2
    fail "pip could not install the packages of tests/outside/requirements.txt" \
      "see above; they come from PyPI, which this machine has to reach once"
  }
  install_part python "$stamp"
}

chromium_part() {
  local browser="${EXECUTOR_CHROMIUM:-chromium}"
  if command -v "$browser" >/dev/null; then return; fi
  [ -z "${EXECUTOR_CHROMIUM:-}" ] ||
    fail "EXECUTOR_CHROMIUM names $browser, which can't be run" "name a Chromium, or leave the variable out"
  apt_install chromium
}

mkdir -p "$target"
target="$(cd "$target" && pwd)"
exec 9>"$target/.lock"
flock 9
# Inside the target, so that moving into place stays on one file system.
work="$(mktemp -d "$target/.setup.XXXXXX")"
trap 'rm -rf "$work"' EXIT

npm_part
python_part
chromium_part
say "everything is in place in $target"
