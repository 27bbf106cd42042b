"""The connection: a WebSocket (RFC 6455) that carries JSON-RPC 2.0. PROTOCOL.md sections 1 and 2."""
from __future__ import annotations

import asyncio
import base64
import hashlib
import hmac
import json
import os
import secrets
import ssl
import sys
import threading
from concurrent.futures import Future
from email import message_from_string
from email.message import Message
from pathlib import Path
from typing import Any, AsyncIterator, Coroutine, Dict, Iterator, Mapping, Optional, Tuple, Union
from urllib.parse import urlsplit

from ._commands import ERRORS, AsyncCommands, BrowserdError, Commands, ConnectionLost, Event, NotProved

GRACE = 5.0  # seconds for an answer beyond timeout_ms, within which the daemon promises it


def _state() -> Path:
    if sys.platform == "win32":
        return Path(os.environ["LocalAppData"]) / "browserd"
    if sys.platform == "darwin":
        return Path.home() / "Library/Application Support/browserd"
    base = os.environ.get("XDG_STATE_HOME", "")
    return (Path(base) if os.path.isabs(base) else Path.home() / ".local/state") / "browserd"


async def _local() -> Optional[Tuple[asyncio.StreamReader, asyncio.StreamWriter]]:
    """The socket of this user's daemon, where it and its folder are this user's and no other can write to them."""
    path = _state() / "127.0.0.1:9333.sock"
    try:
        if all(s.st_uid in (0, os.geteuid()) and not s.st_mode & 0o022 for s in map(os.lstat, (path.parent, path))):
            return await asyncio.open_unix_connection(path)
    except (OSError, AttributeError):  # it was left by a daemon that has ended; Windows has none
        pass
    return None


class _Socket:
    """A WebSocket to a daemon."""

    reader: asyncio.StreamReader
    writer: asyncio.StreamWriter

    @classmethod
    async def open(cls, url: Optional[str], token: str, tls: Optional[ssl.SSLContext]) -> _Socket:
        ws, at, local = cls(), urlsplit(url or "ws://127.0.0.1:9333/v1/ws"), None if url else await _local()
        secure, name = at.scheme == "wss", str(at.hostname)
        port = at.port or (443 if secure else 80)

        def host(name: str) -> str:
            return f"[{name}]:{port}" if ":" in name else f"{name}:{port}"

        ws.reader, ws.writer = local or await asyncio.open_connection(name, port, ssl=(tls or ssl.create_default_context()) if secure else None)
        try:
            if not secure and not local:  # otherwise its certificate, or its file's owner, says who it is
                await ws._prove(host(ws.writer.get_extra_info("peername")[0] if name == "localhost" else name), token)
            key = base64.b64encode(secrets.token_bytes(16)).decode()
            status, headers, body = await ws._ask(at.path or "/v1/ws", host(name), (
                f"Authorization: Bearer {token}\r\nConnection: Upgrade\r\nUpgrade: websocket\r\nSec-WebSocket-Version: 13\r\n"
                f"Sec-WebSocket-Key: {key}\r\nSec-WebSocket-Protocol: browserd.v1\r\n"))
            accept = base64.b64encode(hashlib.sha1((key + "258EAFA5-E914-47DA-95CA-C5AB0DC85B11").encode()).digest()).decode()
            if status != 101 or headers["sec-websocket-accept"] != accept:
                raise ConnectionError(f"{at.netloc}: HTTP {status} {body.decode('utf-8', 'replace')}")
        except BaseException as e:
            ws.writer.close()
            raise ConnectionLost(f"{at.netloc}: {e}") from e if isinstance(e, (EOFError, asyncio.LimitOverrunError)) else e
        return ws

    async def _ask(self, path: str, host: str, more: str = "") -> Tuple[int, Message, bytes]:
        """Sends GET with no body: the answer's status, headers and body."""
        self.writer.write(f"GET {path} HTTP/1.1\r\nHost: {host}\r\n{more}\r\n".encode())
        first, _, lines = (await self.reader.readuntil(b"\r\n\r\n")).decode("latin-1").partition("\r\n")
        headers = message_from_string(lines)
        length = int(headers.get("content-length", 0))
        if not 0 <= length < 1 << 20:
            raise ValueError("the answer is too long")
        return int(first.split()[1]), headers, await self.reader.readexactly(length)

    async def _prove(self, host: str, token: str) -> None:
        nonce = secrets.token_hex(32)
        try:
            status, _, body = await self._ask(f"/proof?nonce={nonce}", host)
            answer = json.loads(body)
            lines = "\n".join(["browserd proof 1", host.lower(), nonce, answer["nonce"]])
            want = hmac.new(hashlib.sha256(token.encode()).digest(), lines.encode(), hashlib.sha256).hexdigest()
            if status == 200 and len(answer["nonce"]) == 64 and any(hmac.compare_digest(want, p) for p in answer["proofs"]):
                return
        except (LookupError, ValueError, TypeError, OSError, EOFError, asyncio.LimitOverrunError) as e:
            raise NotProved(f"{host}: {e}") from e
        raise NotProved(f"{host} did not prove that it knows the token")

    def send(self, payload: bytes, opcode: int = 1) -> None:
        n, mask = len(payload), secrets.token_bytes(4)
        size = bytes([128 | n]) if n < 126 else b"\xfe" + n.to_bytes(2, "big") if n < 1 << 16 else b"\xff" + n.to_bytes(8, "big")
        key = int.from_bytes((mask * (n // 4 + 1))[:n], "big")
        self.writer.write(bytes([128 | opcode]) + size + mask + (int.from_bytes(payload, "big") ^ key).to_bytes(n, "big"))

    async def receive(self) -> Any:
        text, last = b"", 0
        while not last:
            first, n = await self.reader.readexactly(2)
            if n in (126, 127):
                n = int.from_bytes(await self.reader.readexactly(2 if n == 126 else 8), "big")
            elif n > 127:
                first |= 64  # a mask
            if first & 112 or n > 1 << 28:
                raise ConnectionLost("the daemon sent a frame that RFC 6455 or this client does not allow")
            payload, opcode = await self.reader.readexactly(n), first & 15
            if opcode == 8:
                raise ConnectionLost("the daemon closed the connection: " + payload[2:].decode("utf-8", "replace"))
            if opcode == 9:
                self.send(payload, 10)
            elif opcode < 3:
                text, last = text + payload, first & 128
        return json.loads(text)


class AsyncClient(AsyncCommands):
    """A connection to a daemon, for the event loop that enters it. One that was lost is made again by
    the next command, which goes on with the session that the last result named; nothing is sent twice.
    Commands are sent in the order of the calls; a task that is cancelled cancels its command."""

    def __init__(self, url: Optional[str] = None, token: Optional[str] = None, session: Optional[str] = None, tls: Optional[ssl.SSLContext] = None, timeout: float = 10):
        self._to = url, token or os.environ.get("BROWSERD_TOKEN") or (_state() / "token").read_text().strip(), tls
        self.session: Optional[str] = session
        self._timeout, self._closed, self._resume, self._last = timeout, False, False, 0
        self._socket: Optional[_Socket] = None
        self._waiting: Dict[int, asyncio.Future[Any]] = {}

    async def __aenter__(self) -> AsyncClient:
        self._connecting = asyncio.Lock()
        self._events: asyncio.Queue[Union[Event, ConnectionLost, None]] = asyncio.Queue()  # None: the client is closed
        await self._connected()
        return self

    async def __aexit__(self, *_: object) -> None:
        await self.close()

    async def _connected(self) -> _Socket:
        async with self._connecting:
            if self._closed:
                raise ConnectionLost("the client is closed")
            if self._socket is None:
                self._socket = await asyncio.wait_for(_Socket.open(*self._to), self._timeout)
                self._resume = self.session is not None  # the connection does not know it yet
                self._reading = asyncio.ensure_future(self._read(self._socket))
            return self._socket

    async def _read(self, ws: _Socket) -> None:
        lost = ConnectionLost("the client is closed")
        try:
            while True:
                message = await ws.receive()
                if message.get("method") != "event":
                    self._answer(message.get("result"), message.get("error"), self._waiting.get(message["id"]))
                else:
                    if self._events.qsize() == 1024:
                        self._events.get_nowait()  # the oldest goes
                    self._events.put_nowait(message["params"])
        except (OSError, EOFError, ValueError) as e:
            lost = e if isinstance(e, ConnectionLost) else ConnectionLost(f"the daemon closed the connection: {e}")
        finally:
            self._socket = None
            ws.writer.close()
            for answer in self._waiting.values():
                if not answer.done():
                    answer.set_exception(lost)
            self._events.put_nowait(None if self._closed else lost)

    def _answer(self, result: Any, error: Any, answer: Optional[asyncio.Future[Any]]) -> None:
        if isinstance(result, dict) and "session" in result:
            self.session, self._resume = result["session"], False
        if answer is None or answer.done():
            return
        if not error:
            return answer.set_result(result)
        data = error["data"]
        answer.set_exception(ERRORS.get(data["code"], BrowserdError)(data["code"], error["message"], data["retryable"], data.get("next", ""), data.get("details", {})))

    async def call(self, method: str, params: Optional[Mapping[str, Any]] = None) -> Any:
        given: Dict[str, Any] = {k.rstrip("_"): v for k, v in (params or {}).items()}
        ws = await self._connected()
        if self._resume and method != "session_open":
            given.setdefault("session", self.session)

        def send(method: str, params: Mapping[str, Any]) -> int:
            self._last += 1
            ws.send(json.dumps({"jsonrpc": "2.0", "id": self._last, "method": method, "params": params}).encode())
            return self._last

        limit, number, answer = given.get("timeout_ms", 30000) / 1000 + GRACE, send(method, given), asyncio.get_running_loop().create_future()
        self._waiting[number] = answer
        try:
            return await asyncio.wait_for(answer, limit)
        except asyncio.CancelledError:
            send("cancel", {"id": number})
            raise
        except asyncio.TimeoutError:
            send("cancel", {"id": number})
            raise ConnectionLost(f"{method}: no answer within {limit} s") from None
        finally:
            del self._waiting[number]

    async def next_event(self, timeout: Optional[float] = None) -> Optional[Event]:
        """The next event, as events has them; None where that ends."""
        try:
            event = await asyncio.wait_for(self._events.get(), timeout)
        except asyncio.TimeoutError:
            return None
        if isinstance(event, ConnectionLost):
            raise event
        return event

    async def events(self, timeout: Optional[float] = None) -> AsyncIterator[Event]:
        """The events as they come, each to one reader, until none has come for timeout seconds or the
        client is closed. It raises ConnectionLost where the connection was lost: then subscribe again."""
        while (event := await self.next_event(timeout)) is not None:
            yield event

    async def close(self) -> None:
        """Ends the connection. The session goes on in the daemon."""
        self._closed = True
        if self._socket:
            self._reading.cancel()
            await asyncio.wait([self._reading])


class Client(Commands):
    """AsyncClient for any number of threads. Its event loop runs in a thread of its own."""

    def __init__(self, url: Optional[str] = None, token: Optional[str] = None, session: Optional[str] = None, tls: Optional[ssl.SSLContext] = None, timeout: float = 10):
        self._client, self._loop = AsyncClient(url, token, session, tls, timeout), asyncio.new_event_loop()
        threading.Thread(target=self._loop.run_forever, daemon=True).start()
        try:
            self._run(self._client.__aenter__()).result()
        except BaseException:
            self.close()
            raise

    def _run(self, what: Coroutine[Any, Any, Any]) -> Future[Any]:
        return asyncio.run_coroutine_threadsafe(what, self._loop)

    @property
    def session(self) -> Optional[str]:
        """The session that the last result named."""
        return self._client.session

    def send(self, method: str, params: Optional[Mapping[str, Any]] = None) -> Future[Any]:
        """Sends a command without waiting. To cancel the future cancels the command."""
        return self._run(self._client.call(method, params))

    def call(self, method: str, params: Optional[Mapping[str, Any]] = None) -> Any:
        answer = self.send(method, params)
        try:
            return answer.result()
        finally:
            answer.cancel()  # after a KeyboardInterrupt

    def events(self, timeout: Optional[float] = None) -> Iterator[Event]:
        """AsyncClient.events."""
        while (event := self._run(self._client.next_event(timeout)).result()) is not None:
            yield event

    def close(self) -> None:
        """Ends the connection. The session goes on in the daemon."""
        async def end() -> None:
            await self._client.close()
            rest = asyncio.all_tasks() - {asyncio.current_task()}
            if rest:
                await asyncio.wait(rest, timeout=1)

        if self._loop.is_running():
            self._run(end()).result()
            self._loop.call_soon_threadsafe(self._loop.stop)

    def __enter__(self) -> Client:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()


connect, connect_async = Client, AsyncClient
