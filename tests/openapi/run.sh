#!/usr/bin/env bash
# Builds requests of some 370 published documents with the OpenAPI adapter, and
# has openapi-core judge them.
#
#   tests/openapi/run.sh FIXTURES TARGET
#
# Needs python3 with venv; what the judge needs is installed, pinned, into
# TARGET/openapi-venv.
set -euo pipefail

here="$(cd "$(dirname "${BASH_SOURCE[0]}")" && pwd)"
fixtures="$1"
target="$2"
venv="$target/openapi-venv"
requests="$target/openapi-requests.jsonl"

if ! cmp -s "$here/requirements.txt" "$venv/requirements.txt"; then
  echo "== the judge (openapi-core, pinned)"
  rm -rf "$venv"
  python3 -m venv "$venv"
  "$venv/bin/pip" install --quiet --disable-pip-version-check -r "$here/requirements.txt"
  cp "$here/requirements.txt" "$venv/requirements.txt"
fi
echo "== requests"
python3 "$here/sample.py" "$fixtures" | tr '\n' '\0' |
  xargs -0 "${CARGO:-cargo}" run --quiet -p executor-openapi --example built_requests -- 12 >"$requests"
echo "== judgement"
"$venv/bin/python" "$here/validate.py" "$requests"
