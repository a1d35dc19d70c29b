"""Wherever an engine points, and however odd its answer is, a search stays where it is and loses no other result."""

from __future__ import annotations

import json
from contextlib import AbstractContextManager

import pytest
from search_api import Answer, Loopback, serving

from deep_research.core.run.context import Context
from deep_research.tools.engine import EngineFailed, Found, SearchEngine
from deep_research.tools.engines.arxiv import Arxiv
from deep_research.tools.engines.tavily import Tavily
from deep_research.tools.engines.wikipedia import Wikipedia

PAGE = {"title": "T", "index": 1, "extract": "x", "fullurl": "https://a.example/"}


def answering(body: bytes, status: int = 200, **headers: str) -> AbstractContextManager[Loopback]:
    """A server with one answer; a header's name has `_` for `-`."""
    named = {name.replace("_", "-"): value for name, value in headers.items()}
    return serving(lambda _: Answer(status=status, body=body, headers=named))


def engine_at(kind: type[SearchEngine], address: str, monkeypatch: pytest.MonkeyPatch) -> SearchEngine:
    monkeypatch.setenv("TAVILY_API_KEY", "tvly-test")
    monkeypatch.setenv("TAVILY_BASE_URL", address)
    if kind is Tavily:
        return Tavily(Context())
    return kind(Context(), address)  # type: ignore[call-arg] # Wikipedia and Arxiv take an address


@pytest.mark.parametrize("kind", [Tavily, Wikipedia, Arxiv])
async def test_an_engine_that_points_elsewhere_is_not_followed(
    kind: type[SearchEngine], monkeypatch: pytest.MonkeyPatch
) -> None:
    with answering(b"<feed/>") as inner, answering(b"", 302, Location=f"{inner.url}/x") as outer:
        engine = engine_at(kind, outer.url, monkeypatch)
        with pytest.raises(EngineFailed, match="status 302"):
            await engine.search("q", 5)
    assert (inner.requests, len(outer.requests)) == ([], 1)


async def test_one_article_without_its_parts_loses_no_other() -> None:
    pages = [{"title": "Odd"}, PAGE, {"index": "x", "title": 5, "fullurl": None}, 7]
    with answering(json.dumps({"query": {"pages": pages}}).encode()) as server:
        assert await Wikipedia(Context(), server.url).search("q", 5) == [Found("T", "https://a.example/", "x")]
    with answering(json.dumps({"query": {"pages": {"1": PAGE}}}).encode()) as server:
        assert await Wikipedia(Context(), server.url).search("q", 5) == []
