"""Judges requests that the OpenAPI adapter built, by openapi-core.

    validate.py REQUESTS

REQUESTS has one JSON object a line, as the example `built_requests` of
plugins/openapi writes them. Each request is looked up in its document and
unmarshalled by openapi-core 0.23.1: path and method must be found, and every
parameter and body must be what the document says. Prints what is refused,
grouped, and ends with 1 where a refusal is not excused in `excused.txt`.

openapi-core reads no Swagger 2.0. Security is the host's, and taken out.
"""

import collections
import json
import pathlib
import re
import sys
import urllib.parse
import warnings

import yaml
from openapi_core import Config, OpenAPI
from openapi_core.datatypes import RequestParameters
from werkzeug.datastructures import Headers, ImmutableMultiDict

warnings.filterwarnings("ignore")
BASE = "https://api.example.com/base"
METHODS = {"get", "put", "post", "delete", "options", "head", "patch", "trace"}


class Request:
    """A request as openapi-core wants it."""

    def __init__(self, line):
        url = urllib.parse.urlsplit(line["url"])
        pairs = urllib.parse.parse_qsl(url.query, keep_blank_values=True)
        headers = Headers(line["headers"])
        cookies = [part.split("=", 1) for part in headers.get("cookie", "").split("; ") if part]
        self.host_url = f"{url.scheme}://{url.netloc}"
        # Looked up as it is on the wire; the values are decoded after it.
        self.path = url.path
        self.method = line["method"].lower()
        self.parameters = RequestParameters(
            query=ImmutableMultiDict(pairs),
            header=headers,
            cookie=ImmutableMultiDict([(name, urllib.parse.unquote(value)) for name, value in cookies]),
        )
        self.content_type = headers.get("content-type", "")
        self.body = line["body"].encode() if line["body"] is not None else None


def document(path):
    """The document with the one server that requests were built for."""
    text = pathlib.Path(path).read_text(encoding="utf-8-sig")
    tree = json.loads(text) if path.endswith(".json") else yaml.load(text, yaml.CSafeLoader)
    tree["servers"] = [{"url": BASE}]
    tree.pop("security", None)
    for item in tree.get("paths", {}).values():
        item.pop("servers", None)
        for method in METHODS & item.keys():
            item[method].pop("servers", None)
            item[method].pop("security", None)
    return tree


def reason(error):
    """The innermost cause, in one line."""
    parts = []
    while error is not None and len(parts) < 4:
        details = getattr(error, "schema_errors", None)
        text = "; ".join(str(each.message) for each in list(details)[:2]) if details else str(error)
        parts.append(f"{type(error).__name__}: {text}")
        error = error.__cause__
    return re.sub(r"\s+", " ", " <- ".join(parts))[:400]


def judge(lines, path, refusals):
    config = Config(spec_validator_cls=None)
    try:
        openapi = OpenAPI.from_dict(document(path), config=config)
    except Exception as error:  # noqa: BLE001: whatever stops the judge is told
        return 0, [f"{path}: not judged: {reason(error)}"]
    good = 0
    for line in lines:
        try:
            result = openapi.unmarshal_request(Request(line))
            errors = list(result.errors)
        except Exception as error:  # noqa: BLE001
            errors = [error]
        if errors:
            refusals.append((path, line, reason(errors[0])))
        else:
            good += 1
    return good, []


def main():
    by_document = collections.defaultdict(list)
    for text in open(sys.argv[1], encoding="utf-8"):
        line = json.loads(text)
        by_document[line["document"]].append(line)
    excused = [
        re.compile(row.split("\t")[0])
        for row in (pathlib.Path(__file__).parent / "excused.txt").read_text().splitlines()
        if row and not row.startswith("#")
    ]
    refusals, skipped, good = [], [], 0
    for path, lines in by_document.items():
        accepted, unread = judge(lines, path, refusals)
        good += accepted
        skipped += unread
    bad = collections.defaultdict(list)
    counts = collections.Counter()
    for path, line, why in refusals:
        key = f"{pathlib.Path(path).name} {line['operation']} ({line['tool']}): {why}"
        rule = next((rule for rule in excused if rule.search(key)), None)
        if rule:
            counts[rule.pattern] += 1
        else:
            bad[re.sub(r"'[^']*'|\"[^\"]*\"|\d+", "…", why)[:150]].append((key, line))
    for text in skipped:
        print(text)
    for why, list_ in sorted(bad.items(), key=lambda item: -len(item[1])):
        print(f"{len(list_)} × {why}")
        for key, line in list_[:3]:
            print(f"    {key}\n      {line['method']} {line['url'][:300]} {str(line['body'])[:300]}")
    print(f"{len(by_document)} documents: {good} requests accepted, {sum(map(len, bad.values()))} refused, "
          f"{sum(counts.values())} refused and excused, {len(skipped)} documents not judged")
    for pattern, count in counts.most_common():
        print(f"    {count} × {pattern}")
    sys.exit(1 if bad or skipped else 0)


if __name__ == "__main__":
    main()
