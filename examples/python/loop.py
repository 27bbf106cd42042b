"""An agent loop in a few dozen lines, with Python's standard library alone: it
speaks to a running `browserd serve` over HTTP, opens a page, and acts on it by
refs that it reads in the snapshot, as a language model would.

    BROWSERD_TOKEN=… python3 loop.py http://127.0.0.1:9333 http://127.0.0.1:8080/

The page is the app of `browserd demo`: the loop puts a thing on its list.
"""

import json
import os
import re
import sys
import urllib.error
import urllib.request

# Never through a proxy of the environment, which would be handed the token.
direct = urllib.request.build_opener(urllib.request.ProxyHandler({}))


class Browser:
    """One session of a daemon: the first command opens it, the others name it."""

    def __init__(self, base: str, token: str):
        self.base, self.session = base.rstrip("/"), None
        self.headers = {"Authorization": f"Bearer {token}", "Content-Type": "application/json"}

    def call(self, command: str, **params) -> dict:
        if self.session:
            params["session"] = self.session
        body = json.dumps(params).encode()
        request = urllib.request.Request(f"{self.base}/v1/{command}", body, self.headers)
        try:
            with direct.open(request) as answer:
                result = json.load(answer)
        except urllib.error.HTTPError as refused:
            error = json.load(refused)["error"]
            raise RuntimeError(f"{command}: {error['code']}: {error['message']}; next: {error['next']}") from None
        self.session = result.get("session", self.session)
        return result

    def ref(self, role: str, name: str) -> str:
        """Takes a snapshot and finds the line of a role and name: @e7 [button …] "Add"."""
        text = self.call("snapshot")["snapshot"]["text"]
        line = re.search(rf'^ *(@e\d+) \[{role}\b.*\] {re.escape(json.dumps(name))}$', text, re.MULTILINE)
        if not line:
            raise RuntimeError(f'no {role} "{name}" in:\n{text}')
        return line[1]


def shown(result: dict) -> str:
    """What an action changed; after a navigation, the new document."""
    return (result.get("delta") or result["snapshot"])["text"]


if len(sys.argv) != 3:
    sys.exit("usage: BROWSERD_TOKEN=… python3 loop.py DAEMON-URL APP-URL")
browser = Browser(sys.argv[1], os.environ["BROWSERD_TOKEN"])

print(browser.call("open", url=sys.argv[2])["snapshot"]["text"])
print(shown(browser.call("click", ref=browser.ref("link", "Items"))))
browser.call("type", ref=browser.ref("textbox", "New item"), text="Oat milk")
print(shown(browser.call("click", ref=browser.ref("button", "Add"))))

page = browser.call("read", kind="text")["content"]
if "Oat milk" not in page:
    sys.exit(f"the page does not show what was added:\n{page}")
print(page)
browser.call("session_close")
