#!/usr/bin/env bash
# The main job, end to end, on loopback: a daemon on a fresh home, GitHub's
# real OpenAPI document served by an emulator, TypeScript that searches, calls
# tools at the same time and stops at a write until somebody says yes.
#
# usage: demo.sh DIRECTORY-OF-BINARIES DIRECTORY-OF-FIXTURES
set -euo pipefail

binaries=$1
document=$2/octokit-openapi/generated/api.github.com.json
here=$(cd "$(dirname "$0")" && pwd)
export EXECUTOR_PORT=auto
# Nothing of the demonstration goes into the keyring of whoever runs it.
export DBUS_SESSION_BUS_ADDRESS=disabled:
home=$(mktemp -d "${TMPDIR:-/tmp}/executor-demo.XXXXXX")
token=demo-$RANDOM$RANDOM$RANDOM
executor() { "$binaries/executor" --home "$home" --no-progress "$@"; }

finish() {
  executor down >/dev/null 2>&1 || :
  [ -z "${emulator:-}" ] || kill "$emulator" 2>/dev/null || :
  rm -rf "$home"
}
trap finish EXIT

step() { printf '\n\033[1m%s\033[0m\n' "$*"; }
show() { printf '  $ executor %s\n' "$*"; }
milliseconds() { echo $((($(date +%s%N) - $1) / 1000000)); }

step "1. GitHub's API, emulated on this machine (nothing leaves it)"
exec 3< <("$binaries/github-emulator" --document "$document" --token "$token" 2>&1)
emulator=$!
read -r line <&3
origin=${line##* }
echo "  $origin answers as api.github.com would; its document is GitHub's own, $(du -h "$document" | cut -f1)"

step "2. A daemon on a fresh home"
begun=$(date +%s%N)
show up
executor up | sed 's/^/  /'
echo "  up after $(milliseconds "$begun") ms"
while ! executor status --json | grep -q '"ready": *true'; do sleep 0.1; done
echo "  components compiled and ready after $(milliseconds "$begun") ms (once a home; then they are kept)"

step "3. The API becomes tools"
begun=$(date +%s%N)
show sources add "$origin/openapi.json" --name github --set base_url="$origin" --allow-host "${origin#http://}"
executor sources add "$origin/openapi.json" --name github --set base_url="$origin" --allow-host "${origin#http://}" 2>&1 | sed 's/^/  /'
echo "  $(milliseconds "$begun") ms from the URL to callable tools"

step "4. A credential, which no program and no agent ever sees"
show connections add github --set token=env:GITHUB_TOKEN
GITHUB_TOKEN=$token executor connections add github --set token=env:GITHUB_TOKEN 2>&1 | sed 's/^/  /'

step "5. TypeScript against the tools, in the sandbox"
sed 's/^/  | /' "$here/triage.ts"
begun=$(date +%s%N)
show run triage.ts
status=0
executor run "$here/triage.ts" --no-input >"$home/answer" 2>&1 || status=$?
sed 's/^/  /' "$home/answer"
[ "$status" -eq 3 ] || { echo "the run was to stop for an approval (exit 3), and ended with $status" >&2; exit 1; }
echo "  it waits, in no memory, after $(milliseconds "$begun") ms: exit code 3"

step "6. Somebody says yes"
id=$(grep -o 'exe_[a-z0-9]*' "$home/answer" | head -n 1)
begun=$(date +%s%N)
show resume "$id" --accept --yes
executor resume "$id" --accept --yes 2>&1 | sed 's/^/  /'
echo "  done after $(milliseconds "$begun") ms"

step "7. What was done is on record"
show executions trace "$id"
executor executions trace "$id" 2>&1 | sed 's/^/  /'

step "How to go on"
cat <<END
  make run                                     serve, with a home of your own
  executor sources add https://…/openapi.json  add an API of yours
  executor tools search "create an issue"      find a tool
  executor call github issues create --help    see how it is called
  executor run FILE.ts                         run TypeScript against your tools
  executor connect                             give them to Claude Code, Cursor and other agents
  The binary is $binaries/executor; this demo's home is gone.
END
