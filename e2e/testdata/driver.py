"""Calls the methods of the Python client: a line of stdin is {"method", "params"}, one of
stdout is {"result"} or {"error"}. With "async" the asyncio client. "+wait" does not wait for
its answer and has its id as the result; "-" is the answer of the last of these, "!" gives it
up, and "?dialog" is the next event of that type."""
import asyncio
import json
import sys
from concurrent.futures import CancelledError

import browserd


def lines():
    for line in sys.stdin:
        step = json.loads(line)
        yield step["method"], {k + "_" if k == "for" else k: v for k, v in (step.get("params") or {}).items()}


def failed(e):
    return {"error": {"code": getattr(e, "code", ""), "message": str(e), "class": type(e).__name__}}


def answer(value):
    print(json.dumps(value), flush=True)


def corpus(file):
    page = browserd.PageText()
    for number, step in enumerate(json.load(open(file))):
        page.apply({step["kind"]: {"text": step["text"]}})
        if page.text != step["held"]:
            sys.exit(f"step {number}:\n{step['text']}\nholds\n{page.text}\nnot\n{step['held']}")


ERRORS = (browserd.BrowserdError, ConnectionError, CancelledError, asyncio.CancelledError)


async def main_async(url):
    loop, tasks, ids, steps = asyncio.get_running_loop(), [], 0, lines()
    async with browserd.connect_async(url) as client:
        unread = asyncio.ensure_future(client.events().__anext__())  # it is given up
        await asyncio.sleep(0)
        unread.cancel()
        while True:
            step = await loop.run_in_executor(None, next, steps, None)
            if step is None:
                return
            method, params = step
            ids += method[0] not in "-?"
            try:
                if method[0] == "+":
                    tasks.append(asyncio.ensure_future(getattr(client, method[1:])(**params)))
                    await asyncio.sleep(0)  # the task sends it first
                    result = ids
                elif method == "-":
                    result = await tasks.pop()
                elif method == "!":
                    tasks[-1].cancel()
                    result = await tasks.pop()
                elif method[0] == "?":
                    async for result in client.events():
                        if result["type"] == method[1:]:
                            break
                else:
                    result = await getattr(client, method)(**params)
                answer({"result": result})
            except ERRORS as e:
                answer(failed(e))


def main(url):
    pending, ids = [], 0
    with browserd.connect(url) as client:
        for method, params in lines():
            ids += method[0] not in "-?"
            try:
                if method[0] == "+":
                    pending.append(client.send(method[1:], params))
                    result = ids
                elif method == "-":
                    result = pending.pop().result()
                elif method == "!":
                    pending[-1].cancel()
                    result = pending.pop().result()
                elif method[0] == "?":
                    result = next(e for e in client.events() if e["type"] == method[1:])
                else:
                    result = getattr(client, method)(**params)
                answer({"result": result})
            except ERRORS as e:
                answer(failed(e))


url = sys.argv[2] or None
if sys.argv[1] == "corpus":
    corpus(url)
elif sys.argv[1] == "async":
    asyncio.run(main_async(url))
else:
    main(url)
