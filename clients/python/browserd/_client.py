"""The connection: a WebSocket (RFC 6455) that carries JSON-RPC 2.0. PROTOCOL.md sections 1 and 2."""
from __future__ import annotations

import asyncio
import base64
import hashlib
import hmac
import json
import os
import queue
import secrets
import socket
import ssl
import stat
import struct
import sys
import threading
from concurrent.futures import Future, InvalidStateError
from concurrent.futures import TimeoutError as NotInTime
from pathlib import Path
from typing import Any, AsyncIterator, Dict, Iterator, Optional, Tuple
from urllib.parse import urlsplit

from ._commands import ERRORS, AsyncCommands, BrowserdError, Commands, Event

GRACE = 5.0  # seconds for an answer beyond timeout_ms, within which the daemon promises it
HOUR = 3600.0


class ConnectionLost(ConnectionError):
    """The connection ended before the answer came: what the command was to do may be done."""


class NotProved(ConnectionError):
    """What listens there did not prove that it is a browserd that knows the token, which was not sent."""


def _state() -> Path:
    if sys.platform == "win32":
        return Path(os.environ["LocalAppData"]) / "browserd"
    if sys.platform == "darwin":
        return Path.home() / "Library/Application Support/browserd"
    base = os.environ.get("XDG_STATE_HOME", "")
    return (Path(base) if os.path.isabs(base) else Path.home() / ".local/state") / "browserd"


def _head(sock: socket.socket) -> Tuple[int, Dict[str, str], bytes]:
    """Reads the head of an HTTP answer: status, headers, and what came behind it."""
    data = b""
    while b"\r\n\r\n" not in data:
        more = sock.recv(65536)
        if not more or len(data) > 1 << 20:
            raise ConnectionLost("the connection was closed while it was opened")
        data += more
    head, _, rest = data.partition(b"\r\n\r\n")
    first, *lines = head.decode("latin-1").split("\r\n")
    pairs = (line.partition(":") for line in lines)
    return int(first.split()[1]), {k.lower(): v.strip() for k, _, v in pairs}, rest


def _prove(sock: socket.socket, host: str, token: str) -> None:
    nonce = secrets.token_hex(32)
    sock.sendall(f"GET /proof?nonce={nonce} HTTP/1.1\r\nHost: {host}\r\n\r\n".encode())
    try:
        status, headers, body = _head(sock)
        while len(body) < int(headers["content-length"]):
            body += sock.recv(65536) or b"\0" * (1 << 20)
        answer = json.loads(body)
        lines = "\n".join(["browserd proof 1", host.lower(), nonce, answer["nonce"]])
        want = hmac.new(hashlib.sha256(token.encode()).digest(), lines.encode(), hashlib.sha256).hexdigest()
        proved = status == 200 and len(answer["nonce"]) == 64 and any(hmac.compare_digest(want, p) for p in answer["proofs"])
    except (KeyError, ValueError, TypeError, OSError) as e:
        raise NotProved(f"{host}: {e}") from e
    if not proved:
        raise NotProved(f"{host} did not prove that it knows the token")


class _Socket:
    """A connected WebSocket. Any thread may send; one receives."""

    def __init__(self, url: Optional[str], token: str, tls: Optional[ssl.SSLContext], timeout: float):
        at, path = urlsplit(url or "ws://127.0.0.1:9333/v1/ws"), _state() / "127.0.0.1:9333.sock"
        port = at.port or (443 if at.scheme == "wss" else 80)
        host = f"{at.hostname}:{port}"
        sock = None if url else self._local(path)
        if sock is None:
            sock = socket.create_connection((at.hostname, port), timeout)
            if at.scheme == "wss":  # its certificate says who it is
                sock = (tls or ssl.create_default_context()).wrap_socket(sock, server_hostname=at.hostname)
            else:
                peer = sock.getpeername()
                if at.hostname == "localhost":
                    host = f"[{peer[0]}]:{peer[1]}" if ":" in peer[0] else f"{peer[0]}:{peer[1]}"
                sock.settimeout(timeout)
                _prove(sock, host, token)
        sock.settimeout(timeout)
        key = base64.b64encode(secrets.token_bytes(16)).decode()
        sock.sendall((f"GET {at.path or '/v1/ws'} HTTP/1.1\r\nHost: {host}\r\nAuthorization: Bearer {token}\r\nConnection: Upgrade\r\nUpgrade: websocket\r\n"
                      f"Sec-WebSocket-Version: 13\r\nSec-WebSocket-Key: {key}\r\nSec-WebSocket-Protocol: browserd.v1\r\n\r\n").encode())
        status, headers, self._rest = _head(sock)
        accept = base64.b64encode(hashlib.sha1((key + "258EAFA5-E914-47DA-95CA-C5AB0DC85B11").encode()).digest()).decode()
        if status != 101 or headers.get("sec-websocket-accept") != accept:
            sock.close()
            raise ConnectionError(f"{host}: HTTP {status}")
        sock.settimeout(None)
        self._sock, self._sending = sock, threading.Lock()

    @staticmethod
    def _local(path: Path) -> Optional[socket.socket]:
        """The daemon's socket, where it is this user's and no other can write to it."""
        try:
            for p in (path.parent, path):
                s = os.lstat(p)
                if s.st_uid not in (0, os.geteuid()) or stat.S_IMODE(s.st_mode) & 0o022:
                    return None
            sock = socket.socket(socket.AF_UNIX)
            sock.connect(str(path))
            return sock
        except (OSError, AttributeError):
            return None

    def send(self, payload: bytes, opcode: int = 1) -> None:
        n, mask = len(payload), secrets.token_bytes(4)
        size = struct.pack("!B", 128 | n) if n < 126 else struct.pack("!BH", 254, n) if n < 1 << 16 else struct.pack("!BQ", 255, n)
        key = int.from_bytes((mask * (n // 4 + 1))[:n], "big")
        masked = (int.from_bytes(payload, "big") ^ key).to_bytes(n, "big")
        with self._sending:
            self._sock.sendall(bytes([128 | opcode]) + size + mask + masked)

    def _exactly(self, n: int) -> bytes:
        parts = [self._rest[:n]]
        self._rest, left = self._rest[n:], n - len(parts[0])
        while left:
            part = self._sock.recv(min(left, 1 << 20))
            if not part:
                raise ConnectionLost("the daemon closed the connection")
            parts.append(part)
            left -= len(part)
        return b"".join(parts)

    def receive(self) -> Any:
        text = b""
        while True:
            first, n = self._exactly(2)
            n = struct.unpack("!H", self._exactly(2))[0] if n == 126 else struct.unpack("!Q", self._exactly(8))[0] if n == 127 else n
            payload = self._exactly(n)
            if first & 15 == 8:
                raise ConnectionLost("the daemon closed the connection: " + payload[2:].decode("utf-8", "replace"))
            if first & 15 == 9:
                self.send(payload, 10)
            elif first & 15 < 3:
                text += payload
                if first & 128:
                    return json.loads(text)

    def close(self) -> None:
        try:
            self._sock.shutdown(socket.SHUT_RDWR)
        except OSError:
            pass
        self._sock.close()


class Client(Commands):
    """A connection to a daemon. Any thread may use it. One that was lost is made again by the
    next command, which goes on with the session that the last result named; nothing is sent twice."""

    def __init__(self, url: Optional[str] = None, token: Optional[str] = None, session: Optional[str] = None, tls: Optional[ssl.SSLContext] = None, timeout: float = 10):
        token = token or os.environ.get("BROWSERD_TOKEN") or (_state() / "token").read_text().strip()
        self._how, self.session = (url, token, tls, timeout), session
        self._lock, self._waiting, self._last = threading.Lock(), {}, 0  # type: Any, Dict[int, Future[Any]], int
        self._events: queue.Queue = queue.Queue(1024)
        self._socket: Optional[_Socket] = None
        self._closed, self._resume = False, bool(session)
        self._connect()

    def _connect(self) -> None:
        self._socket = _Socket(*self._how)
        self._resume = self.session is not None
        threading.Thread(target=self._read, args=(self._socket,), daemon=True).start()

    def _read(self, sock: _Socket) -> None:
        try:
            while True:
                message = sock.receive()
                if message.get("method") == "event":
                    if self._events.full():
                        self._events.get_nowait()  # the oldest goes
                    self._events.put_nowait(message["params"])
                else:
                    self._answer(message.get("id"), message)
        except (OSError, ValueError, struct.error) as e:
            with self._lock:
                if self._socket is sock:
                    self._socket = None
                waiting, self._waiting = self._waiting, {}
            sock.close()
            for answer in waiting.values():
                self._settle(answer, e if isinstance(e, ConnectionLost) else ConnectionLost(str(e)))

    def _answer(self, number: Any, message: Any) -> None:
        with self._lock:
            answer = self._waiting.pop(number, None)
            name = (message.get("result") or {}).get("session")
            if name:
                self.session, self._resume = name, False
        if answer:
            self._settle(answer, message)

    @staticmethod
    def _settle(answer: "Future[Any]", message: Any) -> None:
        try:
            answer.set_result(message)
        except InvalidStateError:
            pass  # nobody waits any more

    def send(self, method: str, params: Optional[Dict[str, Any]] = None) -> Tuple[int, "Future[Any]", float]:
        """Sends a command without waiting: its id, where its answer comes, and its deadline in seconds."""
        params = {k.rstrip("_"): v for k, v in (params or {}).items()}
        with self._lock:
            if self._closed:
                raise ConnectionLost("the client is closed")
            if self._socket is None:
                self._connect()
            self._last += 1
            number, answer = self._last, Future()  # type: int, Future[Any]
            self._waiting[number] = answer
            if self._resume and method != "session_open":
                params.setdefault("session", self.session)
            sock = self._socket
            try:
                sock.send(json.dumps({"jsonrpc": "2.0", "id": number, "method": method, "params": params}).encode())  # type: ignore[union-attr]
            except OSError as e:
                self._waiting.pop(number, None)
                raise ConnectionLost(str(e)) from e
        return number, answer, params.get("timeout_ms", 30000) / 1000 + GRACE

    def call(self, method: str, params: Any = None) -> Any:
        number, answer, limit = self.send(method, params)
        try:
            return self._result(answer.result(limit))
        except NotInTime:
            self.cancel_request(number)
            raise ConnectionLost(f"{method}: no answer within {limit} s") from None

    def cancel_request(self, number: int) -> None:
        """Gives up a command: the daemon cancels it."""
        with self._lock:
            given_up = self._waiting.pop(number, None)
        if given_up is not None:
            self.send("cancel", {"id": number})

    @staticmethod
    def _result(message: Any) -> Any:
        if isinstance(message, Exception):
            raise message
        error = message.get("error")
        if error:
            data = error["data"]
            raise ERRORS.get(data["code"], BrowserdError)(data["code"], error["message"], data["retryable"], data.get("next", ""), data.get("details", {}))
        return message["result"]

    def events(self, timeout: float = HOUR) -> Iterator[Event]:
        """The events as they come, until none has come for so many seconds."""
        while True:
            try:
                yield self._events.get(timeout=timeout)
            except queue.Empty:
                return

    def close(self) -> None:
        """Ends the connection. The session goes on in the daemon."""
        self._closed, sock = True, self._socket
        if sock:
            sock.close()

    def __enter__(self) -> "Client":
        return self

    def __exit__(self, *_: Any) -> None:
        self.close()


class AsyncClient(AsyncCommands):
    """Client for asyncio. A task that is cancelled cancels its command."""

    def __init__(self, *args: Any, **kwargs: Any):
        self._args, self._kwargs, self.client = args, kwargs, None  # type: Any, Any, Optional[Client]

    async def __aenter__(self) -> "AsyncClient":
        self.client = await asyncio.get_running_loop().run_in_executor(None, lambda: Client(*self._args, **self._kwargs))
        return self

    async def __aexit__(self, *_: Any) -> None:
        self.client.close()  # type: ignore[union-attr]

    async def call(self, method: str, params: Any = None) -> Any:
        loop, client = asyncio.get_running_loop(), self.client
        number, answer, limit = await loop.run_in_executor(None, client.send, method, params)  # type: ignore[union-attr]
        try:
            return client._result(await asyncio.wait_for(asyncio.wrap_future(answer), limit))  # type: ignore[union-attr]
        except (asyncio.TimeoutError, asyncio.CancelledError):
            await loop.run_in_executor(None, client.cancel_request, number)  # type: ignore[union-attr]
            raise

    async def events(self, timeout: float = HOUR) -> AsyncIterator[Event]:
        loop, events = asyncio.get_running_loop(), self.client.events(timeout)  # type: ignore[union-attr]
        while True:
            event = await loop.run_in_executor(None, next, events, None)
            if event is None:
                return
            yield event


connect, connect_async = Client, AsyncClient
