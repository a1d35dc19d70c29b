"""A web on loopback with the pages of requests, and the engine that searches it."""

from __future__ import annotations

import html
import math
import re
import threading
from collections import Counter
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any

from typing_extensions import override

from deep_research.tools.engine import Found
from deep_research_evaluation.tables.facts import Page

_TAG = re.compile(r"<[^>]+>")
_WORD = re.compile(r"\w+")
_EXCERPT = 200
"""Maximum characters of an excerpt."""
_IN_TITLE = 3
"""How many times more a word counts in a title."""


class LoopbackWeb:
    """Pages at an address of this machine; as an engine, it ranks them by their rare words."""

    name = "loopback"
    title = "Loopback"
    parallel = 3
    gap = 0.0

    def __init__(self, pages: Sequence[Page], netloc: str) -> None:
        self.netloc = netloc
        self._pages = pages
        self._texts = [html.unescape(_TAG.sub(" ", page.body)) for page in pages]
        self._words = list[Counter[str]]()
        for page, text in zip(pages, self._texts, strict=True):
            words = Counter(_words_of(text))
            for word in _words_of(page.title):
                words[word] += _IN_TITLE
            self._words.append(words)
        self._pages_with = Counter(word for words in self._words for word in words)

    async def search(self, query: str, count: int) -> list[Found]:
        """Return the pages that have the rarest words of a query."""
        scores = dict[int, float]()
        for number, words in enumerate(self._words):
            score = 0.0
            for word in set(_words_of(query)):
                if words[word]:
                    rarity = math.log(1 + len(self._pages) / self._pages_with[word])
                    score += rarity * min(words[word], _IN_TITLE + 1)
            if score:
                scores[number] = score
        best = sorted(scores, key=lambda number: -scores[number])[:count]
        found = list[Found]()
        for number in best:
            page = self._pages[number]
            address = f"http://{self.netloc}{page.path}"
            found.append(Found(page.title, address, self._texts[number][:_EXCERPT]))
        return found


def _words_of(text: str) -> list[str]:
    return _WORD.findall(text.casefold())


@contextmanager
def served(pages: Sequence[Page]) -> Iterator[LoopbackWeb]:
    """Serve pages at a free port of this machine."""
    by_path = {page.path: page for page in pages}

    class Handler(BaseHTTPRequestHandler):
        def do_GET(self) -> None:
            page = by_path.get(self.path)
            status = page.status if page else 404
            body = b"Not here."
            if page and status == 200:
                title = html.escape(page.title)
                body = (
                    f"<!doctype html><html><head><meta charset=utf-8><title>{title}</title></head>"
                    f"<body><main><h1>{title}</h1>{page.body}</main></body></html>"
                ).encode()
            self.send_response(status)
            self.send_header("Content-Type", "text/html; charset=utf-8")
            self.send_header("Content-Length", str(len(body)))
            self.end_headers()
            self.wfile.write(body)

        @override
        def log_message(self, format: str, *args: Any) -> None:
            pass

    server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    serving = threading.Thread(target=server.serve_forever, daemon=True)
    serving.start()
    try:
        yield LoopbackWeb(pages, f"127.0.0.1:{server.server_port}")
    finally:
        server.shutdown()
        server.server_close()
        serving.join()
