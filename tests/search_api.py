"""A search server on loopback that speaks Tavily's API, scripted by query; and the HTTP server under it."""

from __future__ import annotations

import json
import socket
import threading
from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any, NamedTuple

KEY = "tvly-test-canary"
HANGS_AFTER = 60.0
"""Seconds after which nobody waits any more for what is to come first."""
DETAILS = {
    400: "Query is too long. Max query length is 400 characters.",
    401: "Unauthorized: missing or invalid API key.",
    429: "Your request has been blocked due to excessive requests. Please reduce rate of requests.",
    432: "This request exceeds your plan's set usage limit. Please upgrade your plan or contact support@tavily.com",
    433: "This request exceeds the pay-as-you-go limit. You can increase your limit on the Tavily dashboard.",
    500: "Internal Server Error",
}


class Request(NamedTuple):
    """What a client sent."""

    method: str
    path: str
    headers: Mapping[str, str]
    body: bytes

    @property
    def json(self) -> dict[str, Any]:
        """The body, read."""
        content: dict[str, Any] = json.loads(self.body)
        return content


@dataclass(frozen=True)
class Answer:
    """What the server says; `results` unless there is a `body`."""

    results: Sequence[Mapping[str, Any]] = ()
    status: int = 200
    delay: float = 0.0
    headers: Mapping[str, str] = field(default_factory=dict)
    body: str | bytes | None = None
    hangs_up: bool = False
    until: threading.Event | None = None
    """It comes only after this."""


def found(address: str, title: str = "A page", content: str = "What it says.", **more: Any) -> dict[str, Any]:
    """One result as Tavily writes it."""
    return {"url": address, "title": title, "content": content, "score": 0.9, "raw_content": None, **more}


def pages(site: str, count: int) -> list[dict[str, Any]]:
    """So many results, all different."""
    return [found(f"https://{site}/{number}", f"{site} {number}") for number in range(count)]


def refused(status: int, words: str = "", **headers: str) -> Answer:
    """An error as Tavily writes it; a header's name has `_` for `-`."""
    detail = {"detail": {"error": words or DETAILS.get(status, "Error")}}
    named = {name.replace("_", "-"): value for name, value in headers.items()}
    return Answer(status=status, body=json.dumps(detail), headers=named)


class Loopback:
    """An HTTP server on this computer that records what it is asked."""

    def __init__(self, answer: Callable[[Request], Answer]) -> None:
        self.requests: list[Request] = []
        self.most_at_once = 0
        self._now = 0
        self._lock = threading.Lock()
        self._answer = answer
        self._closing = threading.Event()
        self._server = ThreadingHTTPServer(("127.0.0.1", 0), _handler(self))
        self._thread = threading.Thread(target=self._server.serve_forever, args=(0.01,), daemon=True)
        self.url = f"http://127.0.0.1:{self._server.server_port}"

    def start(self) -> None:
        """Answer from now on."""
        self._thread.start()

    def close(self) -> None:
        """End, and let nobody wait."""
        self._closing.set()
        self._server.shutdown()
        self._thread.join()
        self._server.server_close()

    def take(self, request: Request) -> Answer:
        """Record the request and wait as the script wants it."""
        with self._lock:
            self.requests.append(request)
            self._now += 1
            self.most_at_once = max(self.most_at_once, self._now)
            answer = self._answer(request)
        self._closing.wait(answer.delay)
        if answer.until:
            answer.until.wait(HANGS_AFTER)
        with self._lock:
            self._now -= 1
        return answer


def _handler(server: Loopback) -> type[BaseHTTPRequestHandler]:
    class Handler(BaseHTTPRequestHandler):
        disable_nagle_algorithm = True

        def do_POST(self) -> None:
            length = int(self.headers.get("Content-Length", 0))
            self._reply(server.take(Request("POST", self.path, dict(self.headers), self.rfile.read(length))))

        def do_GET(self) -> None:
            self._reply(server.take(Request("GET", self.path, dict(self.headers), b"")))

        def _reply(self, answer: Answer) -> None:
            if answer.hangs_up:
                return
            body = answer.body or b""
            content = body.encode() if isinstance(body, str) else body
            try:
                self.send_response(answer.status)
                for name, value in {"Content-Length": str(len(content)), **answer.headers}.items():
                    self.send_header(name, value)
                self.end_headers()
                self.wfile.write(content)
            except ConnectionError:
                return  # whoever asked has given up

        def log_message(self, *arguments: Any) -> None:
            pass

    return Handler


class SearchApi:
    """Tavily's search as far as clients can tell."""

    def __init__(self) -> None:
        self.otherwise = Answer()
        """The answer to queries that nothing is said about."""
        self._script: dict[str, Sequence[Answer]] = {}
        self._asked: Counter[str] = Counter()
        self.server = Loopback(self._answer)
        self.url = self.server.url

    def on(self, query: str, *answers: Answer) -> None:
        """Give these answers to the query in turn, and the last one ever after."""
        self._script[query] = answers

    @property
    def requests(self) -> list[Request]:
        """What was asked, in order."""
        return self.server.requests

    @property
    def queries(self) -> list[str]:
        """The queries alone, in order."""
        return [request.json["query"] for request in self.requests]

    def environment(self) -> dict[str, str]:
        """The variables that lead a client here."""
        return {"TAVILY_API_KEY": KEY, "TAVILY_BASE_URL": self.url}

    def _answer(self, request: Request) -> Answer:
        if (request.method, request.path) != ("POST", "/search"):
            return Answer(status=404, body="Not Found")
        if request.headers.get("Authorization") != f"Bearer {KEY}":
            return refused(401)
        asked = request.json
        query = asked["query"]
        script = self._script.get(query, (self.otherwise,))
        answer = script[min(self._asked[query], len(script) - 1)]
        self._asked[query] += 1
        if answer.body is not None or answer.hangs_up:
            return answer
        content = {
            "query": query,
            "follow_up_questions": None,
            "answer": None,
            "images": [],
            "results": list(answer.results)[: asked.get("max_results", 5)],
            "response_time": 0.01,
            "request_id": "123e4567-e89b-12d3-a456-426614174111",
        }
        return replace(answer, results=(), body=json.dumps(content))


@contextmanager
def serving(answer: Callable[[Request], Answer]) -> Iterator[Loopback]:
    """A server with answers of one's own."""
    server = Loopback(answer)
    server.start()
    try:
        yield server
    finally:
        server.close()


@contextmanager
def search_api() -> Iterator[SearchApi]:
    """A server that speaks Tavily's API."""
    api = SearchApi()
    api.server.start()
    try:
        yield api
    finally:
        api.server.close()


def closed_port() -> str:
    """An address at which nobody listens."""
    with socket.create_server(("127.0.0.1", 0)) as free:
        return f"http://127.0.0.1:{free.getsockname()[1]}"
