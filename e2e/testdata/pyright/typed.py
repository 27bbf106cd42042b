"""What a type checker makes of programs that use the client. Each line that is to be ignored is
an error; a line that is none is one too."""
from typing import List, Optional

import browserd


def right(client: browserd.Client) -> List[str]:
    page = client.open(url="https://example.com", wait_until="load")
    client.click(ref={"role": "button", "name": "Save"}, modifiers=["Control"])
    client.wait(for_="quiet", timeout_ms=1000)
    number: int = page["page"]["status"]
    text: str = browserd.PageText().apply(page)
    for event in client.events(timeout=1):
        if event["type"] == "dialog":
            return [event["message"], text]
    try:
        return [client.call("read")["content"]]
    except browserd.StaleRefError as e:
        return [e.code, e.next, str(number)]


async def right_async() -> Optional[str]:
    async with browserd.connect_async(session="work", timeout=5) as client:
        async for event in client.events():
            if event["type"] == "download":
                return event["name"]
        return (await client.read(kind="text"))["content"]


async def wrong(client: browserd.Client, other: browserd.AsyncClient) -> None:
    client.open()  # pyright: ignore
    client.open(url=1)  # pyright: ignore
    client.clik(ref="@e1")  # pyright: ignore
    client.click(reff="@e1")  # pyright: ignore
    client.click(ref="@e1", button="top")  # pyright: ignore
    client.read(kind="text")["text"]  # pyright: ignore
    (await other.tab_list())["tabs"][0]["address"]  # pyright: ignore
    for event in client.events():
        if event["type"] == "dialog":
            event["name"]  # pyright: ignore
