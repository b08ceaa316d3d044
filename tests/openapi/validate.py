"""Judges requests that the OpenAPI adapter built, by openapi-core.

    validate.py REQUESTS

REQUESTS has one JSON object a line, as the example `built_requests` of
plugins/openapi writes them. Each request is looked up in its document and
validated by openapi-core: path and method must be found, and every parameter
and body must be what the document says. Prints what is refused,
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
        # Decoded, as frameworks give it, but for slashes inside of a value.
        self.path = urllib.parse.unquote(re.sub("%2[Ff]", "%252F", url.path))
        if "#" in line["operation"]:
            self.path += marked("#" + line["operation"].split("#", 1)[1])
        self.method = line["method"].lower()
        self.parameters = RequestParameters(
            query=ImmutableMultiDict(pairs),
            header=headers,
            cookie=ImmutableMultiDict([(name, urllib.parse.unquote(value)) for name, value in cookies]),
        )
        self.content_type = headers.get("content-type", "")
        self.body = line["body"].encode() if line["body"] is not None else None


def marked(path):
    """AWS tells operations of one path apart by a fragment, which is not sent."""
    return path.replace("#", "!").replace("=", "-")


def is_the_hosts(parameter, schemes):
    """What the specification ignores, and what a security scheme places."""
    name, place = str(parameter.get("name")), parameter.get("in")
    if place == "header" and name.lower() in ("accept", "authorization", "content-type"):
        return True
    if place in ("header", "query") and name.lower().startswith("x-amz-"):
        return True
    return any(name.lower() == str(scheme.get("name")).lower() and place == scheme.get("in") for scheme in schemes)


def document(path):
    """The document with the one server that requests were built for."""
    text = pathlib.Path(path).read_text(encoding="utf-8-sig")
    tree = json.loads(text) if path.endswith(".json") else yaml.load(text, yaml.CSafeLoader)
    tree["servers"] = [{"url": BASE}]
    tree.pop("security", None)
    tree["paths"] = {marked(path): item for path, item in tree.get("paths", {}).items()}
    schemes = list(tree.get("components", {}).get("securitySchemes", {}).values())
    shared = tree.get("components", {}).get("parameters", {})
    for item in tree["paths"].values():
        for level in [item] + [item[method] for method in METHODS & item.keys()]:
            level.pop("servers", None)
            level.pop("security", None)
            if "parameters" in level:
                named = lambda each: shared.get(str(each.get("$ref")).rsplit("/", 1)[-1], each)  # noqa: E731
                level["parameters"] = [
                    each for each in level["parameters"] if not is_the_hosts(named(each), schemes)
                ]
    return tree


def reason(error):
    """The innermost cause, in one line."""
    parts = []
    while error is not None and len(parts) < 4:
        details = getattr(error, "schema_errors", None)
        text = "; ".join(str(each.message) for each in list(details)[:2]) if details else str(error)
        parts.append(f"{type(error).__name__}: {text}")
        error = error.__cause__
    return re.sub(r"\s+", " ", " <- ".join(parts))[:3000]


def is_default(error, line):
    """Whether what is refused is what the document says of what is left out."""
    name = getattr(error, "name", None)
    sent = urllib.parse.urlsplit(line["url"]).query + str([name for name, _ in line["headers"]])
    return type(error).__name__ == "InvalidParameter" and name not in urllib.parse.unquote(sent)


def judge(lines, path, refusals):
    config = Config(spec_validator_cls=None)
    try:
        openapi = OpenAPI.from_dict(document(path), config=config)
    except Exception as error:  # noqa: BLE001: whatever stops the judge is told
        return 0, [f"{path}: not judged: {reason(error)}"]
    good = 0
    for line in lines:
        try:
            errors = list(openapi.iter_request_errors(Request(line)))
        except Exception as error:  # noqa: BLE001
            errors = [error]
        if errors:
            own = " (not sent: its default)" if is_default(errors[0], line) else ""
            refusals.append((path, line, reason(errors[0]) + own))
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
            print(f"    {key[:500]}\n      {line['method']} {line['url'][:300]} {str(line['body'])[:300]}")
    print(f"{len(by_document)} documents: {good} requests accepted, {sum(map(len, bad.values()))} refused, "
          f"{sum(counts.values())} refused and excused, {len(skipped)} documents not judged")
    for pattern, count in counts.most_common():
        print(f"    {count} × {pattern}")
    sys.exit(1 if bad or skipped else 0)


if __name__ == "__main__":
    main()
