"""An agent's loop on the Python client: it shows a model the page, runs the command that the
model answers with, and shows it what that changed, until the model has done its task.

    BROWSERD_TOKEN=… PYTHONPATH=clients/python python3 examples/python/loop.py ws://127.0.0.1:9333/v1/ws http://127.0.0.1:8080/

The page is the app of `browserd demo`. The model is a function, in place of a language
model: its task is to put oat milk on the list.
"""
import re
import sys
from typing import Any, Dict, Optional, Tuple

import browserd


def model(page: str) -> Optional[Tuple[str, Dict[str, Any]]]:
    """Reads the page and answers with a command, or with None when the task is done."""

    def find(role: str, name: str) -> Optional["re.Match[str]"]:
        return re.search(rf'^ *(@e\d+) \[{role}\b(.*)\] "{name}"$', page, re.MULTILINE)

    field, add, items = find("textbox", "New item"), find("button", "Add"), find("link", "Items")
    if any("Oat milk" in line and "[textbox" not in line for line in page.split("\n")):
        return None
    if field and add:
        if 'value="Oat milk"' in field[2]:
            return "click", {"ref": add[1]}
        return "type", {"ref": field[1], "text": "Oat milk"}
    if items:
        return "click", {"ref": items[1]}
    raise RuntimeError("the model does not know what to do with\n" + page)


def main(url: str, app: str) -> None:
    held = browserd.PageText()  # the whole page, as the model would put it together of what it is shown
    with browserd.connect(url) as client:
        result: Any = client.open(url=app)
        for _ in range(10):
            print((result.get("delta") or result["snapshot"])["text"])
            step = model(held.apply(result))
            if step is None:
                break
            command, params = step
            try:
                result = client.call(command, params)
            except browserd.BrowserdError as e:  # a language model reads it and tries something else
                sys.exit(f"{command}: {e.code}: {e.message}; next: {e.next}")
        print(client.read(kind="text")["content"])
        client.session_close()


if len(sys.argv) != 3:
    sys.exit("usage: BROWSERD_TOKEN=… python3 loop.py WEBSOCKET-URL APP-URL")
main(sys.argv[1], sys.argv[2])
