"""The Python client of browserd, with the standard library alone (Python 3.9 or later).

    with browserd.connect() as page:
        print(page.open(url="https://example.com")["snapshot"]["text"])

    async with browserd.connect_async() as page:
        await page.click(ref="@e2")
"""
from ._client import AsyncClient, Client, connect, connect_async
from ._commands import *
from ._commands import ERRORS, BrowserdError, ConnectionLost, NotProved
from ._pagetext import PageText

__all__ = ["AsyncClient", "BrowserdError", "Client", "ConnectionLost", "ERRORS", "NotProved", "PageText", "connect", "connect_async"]
