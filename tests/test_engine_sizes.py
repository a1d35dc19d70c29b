"""However much an engine answers, and wherever it points, a search stays small and holds up nobody."""

from __future__ import annotations

import gzip
import json
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any

import pytest

from deep_research.run.context import Context
from deep_research.tools.engines.arxiv import Arxiv
from deep_research.tools.engines.engine import EngineFailed, Found, SearchEngine
from deep_research.tools.engines.tavily import Tavily
from deep_research.tools.engines.wikipedia import Wikipedia

RESULT = {"url": "https://a.example/", "title": "T", "content": "x"}
PAGE = {"title": "T", "index": 1, "extract": "x", "fullurl": "https://a.example/"}


@contextmanager
def serving(body: bytes, status: int = 200, **headers: str) -> Iterator[tuple[str, list[str]]]:
    """A server with one answer; its address and what it was asked for."""
    asked: list[str] = []

    class Handler(BaseHTTPRequestHandler):
        def do_POST(self) -> None:
            self.do_GET()

        def do_GET(self) -> None:
            asked.append(self.path)
            self.rfile.read(int(self.headers.get("Content-Length", 0)))
            self.send_response(status)
            for name, value in {"Content-Length": str(len(body)), **headers}.items():
                self.send_header(name.replace("_", "-"), value)
            self.end_headers()
            try:
                self.wfile.write(body)
            except ConnectionError:
                return  # the client has seen enough

        def log_message(self, *arguments: Any) -> None:
            pass

    server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    thread = threading.Thread(target=server.serve_forever, args=(0.01,), daemon=True)
    thread.start()
    try:
        yield f"http://127.0.0.1:{server.server_port}", asked
    finally:
        server.shutdown()
        thread.join()
        server.server_close()


def engine_at(kind: type[SearchEngine], address: str, monkeypatch: pytest.MonkeyPatch) -> SearchEngine:
    monkeypatch.setenv("TAVILY_API_KEY", "tvly-test")
    monkeypatch.setenv("TAVILY_BASE_URL", address)
    if kind is Tavily:
        return Tavily(Context())
    return kind(Context(), address)  # type: ignore[call-arg] # Wikipedia and Arxiv take an address


@pytest.mark.fault(29)
@pytest.mark.parametrize("kind", [Tavily, Wikipedia, Arxiv])
@pytest.mark.parametrize("is_packed", [False, True])
async def test_an_answer_without_end_is_refused(
    kind: type[SearchEngine], is_packed: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    body = b'{"results": [' + b" " * 20_000_000
    sent, encoding = (gzip.compress(body), "gzip") if is_packed else (body, "identity")
    with serving(sent, Content_Encoding=encoding) as (address, _):
        engine = engine_at(kind, address, monkeypatch)
        with pytest.raises(EngineFailed, match="longer than 5000000 bytes"):
            await engine.search("q", 5)


@pytest.mark.parametrize("kind", [Tavily, Wikipedia])
async def test_a_packed_answer_is_read(kind: type[SearchEngine], monkeypatch: pytest.MonkeyPatch) -> None:
    body = json.dumps({"results": [RESULT], "query": {"pages": [PAGE]}}).encode()
    with serving(gzip.compress(body), Content_Encoding="gzip") as (address, _):
        found = await engine_at(kind, address, monkeypatch).search("q", 5)
    assert found == [Found("T", "https://a.example/", "x")]
    for encoding in ("br", "gzip"):
        with serving(body, Content_Encoding=encoding) as (address, _), pytest.raises(EngineFailed, match="damaged"):
            await engine_at(kind, address, monkeypatch).search("q", 5)


async def test_of_many_and_long_results_only_so_much_is_taken(monkeypatch: pytest.MonkeyPatch) -> None:
    results = [{**RESULT, "title": "T" * 20_000, "more": [[number]] * 100} for number in range(100)]
    with serving(json.dumps({"results": [None, 7, *results]}).encode()) as (address, _):
        found = await engine_at(Tavily, address, monkeypatch).search("q", 5)
    assert (len(found), {len(one.title) for one in found}) == (80, {10_000})


@pytest.mark.parametrize("kind", [Tavily, Wikipedia, Arxiv])
async def test_an_engine_that_points_elsewhere_is_not_followed(
    kind: type[SearchEngine], monkeypatch: pytest.MonkeyPatch
) -> None:
    with serving(b"<feed/>") as (inner, asked_inside), serving(b"", 302, Location=f"{inner}/x") as (address, asked):
        engine = engine_at(kind, address, monkeypatch)
        with pytest.raises(EngineFailed, match="status 302"):
            await engine.search("q", 5)
    assert (asked_inside, len(asked)) == ([], 1)


async def test_one_article_without_its_parts_loses_no_other() -> None:
    pages = [{"title": "Odd"}, PAGE, {"index": "x", "title": 5, "fullurl": None}, 7]
    with serving(json.dumps({"query": {"pages": pages}}).encode()) as (address, _):
        assert await Wikipedia(Context(), address).search("q", 5) == [Found("T", "https://a.example/", "x")]
    odd: list[dict[str, Any]] = [{"query": []}, {"query": {"pages": {"1": PAGE}}}]
    for answer in odd:
        with serving(json.dumps(answer).encode()) as (address, _):
            assert await Wikipedia(Context(), address).search("q", 5) == []
