"""A web on loopback that does everything wrong that a web can do, and some pages right."""

from __future__ import annotations

import asyncio
import ssl
import threading
from collections.abc import Awaitable, Callable, Iterator
from contextlib import contextmanager
from typing import NamedTuple

import web_pages

STARTING_SECONDS = 60.0


class Request(NamedTuple):
    """What a client asked for."""

    target: str
    headers: dict[str, str]
    """By names in lower case."""
    lines: tuple[str, ...]
    """The header lines as they came."""


class Exchange(NamedTuple):
    """One request, and the way to answer it."""

    request: Request
    writer: asyncio.StreamWriter
    web: Web

    @property
    def query(self) -> str:
        return self.request.target.partition("?")[2]

    async def send(self, data: bytes) -> None:
        self.writer.write(data)
        await self.writer.drain()

    async def begin(self, status: int = 200, **headers: str) -> None:
        """The status line and the headers."""
        lines = [f"{name.replace('_', '-')}: {value}" for name, value in headers.items()]
        await self.send("\r\n".join([f"HTTP/1.1 {status} Whatever", *lines, "", ""]).encode("latin-1"))

    async def answer(self, body: bytes | str, status: int = 200, **headers: str) -> None:
        """All of an answer; HTML unless a type is given."""
        data = body.encode() if isinstance(body, str) else body
        await self.begin(status, **{"content_type": "text/html", "content_length": str(len(data)), **headers})
        await self.send(data)

    async def chunk(self, data: bytes) -> None:
        await self.send(b"%x\r\n%s\r\n" % (len(data), data))


Handler = Callable[[Exchange], Awaitable[None]]


class Web:
    """The server, seen from a test."""

    def __init__(self) -> None:
        self.port = 0
        self.scheme = "http"
        self.requests: list[Request] = []
        self.robots: str | None = None
        """Text of robots.txt; none: there is no such file."""
        self.pages: dict[str, Handler] = {}
        """Further pages of one test, by path."""

    def url(self, path: str, host: str = "127.0.0.1") -> str:
        """The address of a path."""
        return f"{self.scheme}://{host}:{self.port}{path}"

    @property
    def place(self) -> str:
        """What `allow_private` needs so that this web may be read."""
        return f"127.0.0.1:{self.port}"

    def asked(self, path: str) -> int:
        """How often a path was asked for."""
        return sum(request.target.partition("?")[0] == path for request in self.requests)

    def publish(self, path: str, body: bytes | str, status: int = 200, **headers: str) -> str:
        """Put a page there, and tell its address."""

        async def page(exchange: Exchange) -> None:
            await exchange.answer(body, status, **headers)

        self.pages[path] = page
        return self.url(path)

    async def handle(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        """Serve one connection."""
        try:
            request = await _request(reader)
            self.requests.append(request)
            await self._handler(request)(Exchange(request, writer, self))
            await writer.drain()
        except (ConnectionError, asyncio.IncompleteReadError, asyncio.CancelledError):
            pass  # The client has seen enough, or the test is over.
        finally:
            writer.close()

    def _handler(self, request: Request) -> Handler:
        path = request.target.partition("?")[0]
        if path == "/robots.txt" and self.robots is not None:
            self.publish(path, self.robots, content_type="text/plain")
        return self.pages.get(path) or ROUTES.get(path) or _missing


@contextmanager
def hostile_web(tls: ssl.SSLContext | None = None) -> Iterator[Web]:
    """Serve the routes below at a free port of loopback, in a thread."""
    web = Web()
    web.scheme = "https" if tls else "http"
    loop = asyncio.new_event_loop()
    is_ready, is_over = threading.Event(), asyncio.Event()
    thread = threading.Thread(target=loop.run_until_complete, args=(_serve(web, tls, is_ready, is_over),))
    thread.start()
    try:
        assert is_ready.wait(STARTING_SECONDS)
        yield web
    finally:
        loop.call_soon_threadsafe(is_over.set)
        thread.join()
        loop.close()


async def _serve(web: Web, tls: ssl.SSLContext | None, is_ready: threading.Event, is_over: asyncio.Event) -> None:
    server = await asyncio.start_server(web.handle, "127.0.0.1", 0, ssl=tls)
    web.port = server.sockets[0].getsockname()[1]
    is_ready.set()
    await is_over.wait()
    server.close()
    running = [task for task in asyncio.all_tasks() if task is not asyncio.current_task()]
    for task in running:
        task.cancel()
    await asyncio.gather(*running, return_exceptions=True)
    await asyncio.sleep(0)


async def _request(reader: asyncio.StreamReader) -> Request:
    head = (await reader.readuntil(b"\r\n\r\n")).decode("latin-1")
    first, *lines = head.removesuffix("\r\n\r\n").split("\r\n")
    headers = {name.lower(): value.strip() for name, _, value in (line.partition(":") for line in lines)}
    return Request(first.split(" ")[1], headers, tuple(lines))


async def _missing(exchange: Exchange) -> None:
    await exchange.answer("There is nothing here.", 404)


async def _status(exchange: Exchange) -> None:
    await exchange.answer("No.", int(exchange.query))


async def _flaky(exchange: Exchange) -> None:
    is_first = exchange.web.asked("/flaky") == 1
    await exchange.answer("Wait." if is_first else web_pages.ARTICLE, 503 if is_first else 200)


async def _redirect(exchange: Exchange) -> None:
    await exchange.answer("", 302, **({"location": exchange.query} if exchange.query else {}))


async def _hops(exchange: Exchange) -> None:
    left = int(exchange.query)
    await (exchange.answer("", 301, location=f"?{left - 1}") if left else exchange.answer(web_pages.ARTICLE))


async def _encoded(exchange: Exchange) -> None:
    name = exchange.query
    await exchange.answer(web_pages.bomb(name), content_encoding=name)


async def _endless(exchange: Exchange) -> None:
    await exchange.begin(content_type="text/plain", transfer_encoding="chunked")
    while True:
        await exchange.chunk(b"All work and no play. " * 500)


async def _crumbs(exchange: Exchange) -> None:
    await exchange.begin(content_type="text/plain", transfer_encoding="chunked")
    while True:
        await exchange.send(b"1\r\nx\r\n" * 10_000)


async def _interim(exchange: Exchange) -> None:
    while True:
        await exchange.send(b"HTTP/1.1 102 Wait\r\n\r\n" * 1000)


async def _after_the_end(exchange: Exchange) -> None:
    await exchange.begin(content_type="text/html", content_encoding="gzip", transfer_encoding="chunked")
    await exchange.chunk(web_pages.gzipped(web_pages.ARTICLE.encode()))
    while True:
        await exchange.chunk(bytes(50_000))


async def _long_length(exchange: Exchange) -> None:
    await exchange.answer(web_pages.ARTICLE, content_length=exchange.query)


async def _drip_headers(exchange: Exchange) -> None:
    await exchange.send(b"HTTP/1.1 200 OK\r\nX-Slow: ")
    while True:
        await exchange.send(b"y")
        await asyncio.sleep(0.02)


async def _drip_body(exchange: Exchange) -> None:
    await exchange.begin(content_type="text/html", content_length="100000")
    while True:
        await exchange.send(b"y")
        await asyncio.sleep(0.02)


async def _silence(exchange: Exchange) -> None:
    await asyncio.sleep(60)


async def _large_headers(exchange: Exchange) -> None:
    await exchange.answer(web_pages.ARTICLE, x_large="y" * int(exchange.query))


async def _babble(exchange: Exchange) -> None:
    await exchange.send(b"220 mail.example ready\r\n" * 10)


ROUTES: dict[str, Handler] = {
    "/status": _status,
    "/flaky": _flaky,
    "/redirect": _redirect,
    "/hops": _hops,
    "/bomb": _encoded,
    "/endless": _endless,
    "/crumbs": _crumbs,
    "/interim": _interim,
    "/after-the-end": _after_the_end,
    "/long-length": _long_length,
    "/drip-headers": _drip_headers,
    "/drip-body": _drip_body,
    "/silence": _silence,
    "/large-headers": _large_headers,
    "/babble": _babble,
}
"""Paths; some take what follows a question mark: a status, a place, a number."""
