"""Fake Tavily and page servers: `python -m deep_research_bench.wire.search_server PORT FOLDER
CHARACTERS`.

There are a hundred thousand generated pages; a query always finds the same ones, regardless of
markers. Each request is a line in `search.jsonl`. It listens locally.
"""

from __future__ import annotations

import hashlib
import html
import json
import random
import sys
import time
from pathlib import Path

from aiohttp import web

from deep_research_bench.wire.policy import MARKER, Json, filler

PAGES = 100_000
SHOWN = 400
"""Characters of a page in a search result."""
TOPICS = (
    "storage",
    "battery",
    "energy",
    "policy",
    "market",
    "network",
    "climate",
    "protein",
    "compiler",
    "satellite",
)
FACTS = 5


class SearchServer:
    """Finds and serves pages."""

    def __init__(self, folder: Path, address: str, page_characters: int) -> None:
        self._address, self._characters = address, page_characters
        self._log = (folder / "search.jsonl").open("a", buffering=1)
        self._calls = 0

    async def search(self, request: web.Request) -> web.Response:
        """POST /search, as Tavily answers."""
        arrived, body = time.time(), await request.json()
        pages = _found(body["query"], body.get("max_results") or 5)
        results = [self._result(rank, page, body) for rank, page in enumerate(pages)]
        self._note("search", arrived, sorted(set(MARKER.findall(body["query"]))), pages)
        return web.json_response(
            {"query": body["query"], "answer": None, "images": [], "results": results}
        )

    def _result(self, rank: int, page: int, body: Json) -> Json:
        text = self._text(page)
        raw = text if body.get("include_raw_content") else None
        where = {"title": _title(page), "url": f"{self._address}/page/{page}"}
        return {
            **where,
            "content": text[:SHOWN],
            "score": round(0.95 - rank * 0.05, 3),
            "raw_content": raw,
        }

    async def page(self, request: web.Request) -> web.Response:
        """GET /page/N: the same text as a web page."""
        arrived, page = time.time(), int(request.match_info["page"])
        body = f"<title>{_title(page)}</title><h1>{_title(page)}</h1><p>{html.escape(self._text(page))}</p>"
        self._note("page", arrived, [_marker(page)], [page])
        return web.Response(text=f"<!doctype html>{body}", content_type="text/html")

    def _text(self, page: int) -> str:
        return text_of_page(page, self._characters)

    def _note(self, kind: str, arrived: float, depends_on: list[str], pages: list[int]) -> None:
        self._calls += 1
        entry = {
            "call": self._calls,
            "kind": kind,
            "arrived": arrived,
            "finished": time.time(),
            "nominal": 0.0,
        }
        made = {
            "depends_on": depends_on,
            "makes": [_marker(page) for page in pages],
            "is_complete": True,
        }
        self._log.write(json.dumps({**entry, **made}) + "\n")


def text_of_page(page: int, characters: int) -> str:
    """Return a few facts that can be checked, then filler."""
    facts = " ".join(
        f"Fact {n} of page {page}: the {TOPICS[(page + n) % len(TOPICS)]} index was {(page * 37 + n * 11) % 997} "
        f"in {2000 + (page + n) % 25}."
        for n in range(FACTS)
    )
    text = f"{_marker(page)} {_title(page)}. {facts} "
    return (text + filler(characters // 4, page))[: max(characters, len(text))]


def _found(query: str, count: int) -> list[int]:
    seed = hashlib.sha256(" ".join(MARKER.sub("", query).split()).encode()).digest()
    return random.Random(seed).sample(range(1, PAGES + 1), count)  # noqa: S311 - pages, not secrets


def _title(page: int) -> str:
    return f"Page {page} on {TOPICS[page % len(TOPICS)]}"


def _marker(page: int) -> str:
    return f"mk-p{page:06d}"


def main(port: str, folder: str, page_characters: str) -> None:
    """Serve until the process is ended."""
    server = SearchServer(Path(folder), f"http://127.0.0.1:{port}", int(page_characters))
    app = web.Application()
    app.add_routes([web.post("/search", server.search), web.get(r"/page/{page:\d+}", server.page)])
    web.run_app(
        app,
        host="127.0.0.1",
        port=int(port),
        print=None,
        access_log=None,
        handler_cancellation=True,
    )


if __name__ == "__main__":
    main(*sys.argv[1:])
