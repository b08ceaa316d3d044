#!/usr/bin/env bash
# Runs other people's programs against a daemon and prints a line a case.
#
#   tests/outside/run.sh EXECUTOR UPSTREAM FOLDER [ONLY]
#
# EXECUTOR is the binary. UPSTREAM is the github-emulator, or the origin
# (http://127.0.0.1:PORT) of one that runs. FOLDER is what setup.sh filled.
# ONLY picks the cases whose name contains it: clients, clients/sdk2, openapi, browser.
#
# GITHUB_DOCUMENT names GitHub's OpenAPI document, where UPSTREAM is a binary.
set -euo pipefail

here="$(cd "$(dirname "${BASH_SOURCE[0]}")" && pwd)"
[ $# -ge 3 ] || { sed -n '2,10s/^# \{0,1\}//p' "$0" >&2; exit 2; }
node="$3/npm/node"
[ -x "$node" ] || {
  printf 'error: %s is not there\n\nhint: run tests/outside/setup.sh %s\n' "$node" "$3" >&2
  exit 1
}
browser="${EXECUTOR_CHROMIUM:-chromium}"
EXECUTOR_CHROMIUM="$(command -v "$browser")" || {
  printf 'error: %s is not there\n\nhint: run tests/outside/setup.sh %s\n' "$browser" "$3" >&2
  exit 1
}
export EXECUTOR_CHROMIUM
exec "$node" --no-warnings "$here/run.mjs" "$@"
