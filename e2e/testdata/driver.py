"""Calls the methods of the Python client: a line of stdin is {"method", "params"}, one of
stdout is {"result"} or {"error"}. With "async" the asyncio client. A method may be
"+wait", which does not wait for its answer."""
import asyncio
import json
import sys

import browserd


def said(call):
    try:
        return {"result": call()}
    except browserd.BrowserdError as e:
        return {"error": {"code": e.code, "message": e.message, "class": type(e).__name__}}
    except ConnectionError as e:
        return {"error": {"code": "", "message": str(e), "class": type(e).__name__}}


async def said_async(call):
    try:
        result = await call
        return said(lambda: result)
    except browserd.BrowserdError as e:
        return {"error": {"code": e.code, "message": e.message, "class": type(e).__name__}}
    except ConnectionError as e:
        return {"error": {"code": "", "message": str(e), "class": type(e).__name__}}


def lines():
    for line in sys.stdin:
        step = json.loads(line)
        yield step["method"], {k + "_" if k == "for" else k: v for k, v in (step.get("params") or {}).items()}


def answer(value):
    print(json.dumps(value), flush=True)


def corpus(file):
    page = browserd.PageText()
    for number, step in enumerate(json.load(open(file))):
        page.apply({step["kind"]: {"text": step["text"]}})
        if page.text != step["held"]:
            sys.exit(f"step {number}:\n{step['text']}\nholds\n{page.text}\nnot\n{step['held']}")


async def main_async(url):
    loop, tasks = asyncio.get_running_loop(), []
    async with browserd.connect_async(url) as client:
        steps = lines()
        while True:
            step = await loop.run_in_executor(None, next, steps, None)
            if step is None:
                return
            method, params = step
            if method[0] == "+":
                tasks.append(asyncio.ensure_future(said_async(getattr(client, method[1:])(**params))))
                await client.ping()
                answer({"result": None})
            elif method == "-":
                answer(await tasks.pop())
            else:
                answer(await said_async(getattr(client, method)(**params)))


def main(url):
    pending = None
    with browserd.connect(url) as client:
        for method, params in lines():
            if method[0] == "+":
                pending = client.send(method[1:], params)[1]
                answer({"result": None})
            elif method == "-":
                answer(said(lambda: client._result(pending.result(60))))
            else:
                answer(said(lambda: getattr(client, method)(**params)))


if sys.argv[1] == "corpus":
    corpus(sys.argv[2])
elif sys.argv[1] == "async":
    asyncio.run(main_async(sys.argv[2]))
else:
    main(sys.argv[2])
