"""Search with DuckDuckGo, which needs no key, through the library ddgs: DUCKDUCKGO_URL."""

from __future__ import annotations

import math
import os
import re
from collections.abc import Callable
from types import SimpleNamespace
from typing import Any

from ...core.concurrency import in_thread
from ...core.settings.context import Context
from ...core.settings.network import AnswerTooLarge
from ..engine import ANSWER_BYTES, EngineBlocked, EngineFailed, Found
from ._api import connection_broke_off, unreachable, with_domains
from .tavily import Tavily

_ALL_REGIONS = "wt-wt"
_CHUNK_BYTES = 65_536
_MOST_CHARACTERS = 490
"""Maximum characters of a query with its domains."""
_WAY_OUT = f"Wait some minutes, or use an engine with a key ({Tavily.key_name})."
# Only in attributes, because the page repeats the query.
_CHALLENGE = re.compile(
    r"""\b(?:class|id|action)\s*=\s*["'][^"']*(?:anomaly|challenge-form)""", re.IGNORECASE
)
_NO_RESULTS = re.compile(r"""\bclass\s*=\s*["'][^"']*\bno-results?\b""", re.IGNORECASE)


class DuckDuckGo:
    """Searches DuckDuckGo only, not the other engines of ddgs."""

    name, title = "duckduckgo", "DuckDuckGo"
    # It blocks clients that send many requests, and for a long time.
    parallel, gap = 1, 1.0

    def __init__(self, context: Context, open_client: Callable[[float], Any] | None = None) -> None:
        """`open_client` returns a client with the method `text` of ddgs; its argument is the
        timeout in seconds."""
        self._context, self._open = context, open_client or _open

    async def search(self, query: str, count: int) -> list[Found]:
        """Return results from the HTML page that needs no JavaScript; raises `EngineFailed`."""
        return await in_thread(self._search, query, count)

    def _search(self, query: str, count: int) -> list[Found]:
        from ddgs.exceptions import DDGSException

        dates = None
        after = self._context.published_after
        if after:
            dates = f"{after.isoformat()}..{self._context.clock.now().date().isoformat()}"
        try:
            results = self._open(self._context.limits.search_seconds).text(
                with_domains(query, self._context, _MOST_CHARACTERS),
                region=_ALL_REGIONS,
                max_results=count,
                timelimit=dates,
            )
        except DDGSException as error:
            raise _failure(error) from None
        found: list[Found] = []
        for result in results:
            title, address, excerpt = (
                str(result.get(name) or "") for name in ("title", "href", "body")
            )
            found.append(Found(title, address, excerpt))
        return found


def _open(seconds: float) -> Any:
    from ddgs.engines.duckduckgo import Duckduckgo
    from ddgs.exceptions import DDGSException

    class LimitedClient:
        """The client of ddgs, with a limit on answers."""

        def __init__(self, client: Any) -> None:
            self._client = client

        def request(self, *arguments: Any, **options: Any) -> SimpleNamespace:
            response = self._client.request(*arguments, **options, stream=True)
            body = bytearray()
            with response:
                for piece in response.iter_bytes(_CHUNK_BYTES):
                    body += piece
                    if len(body) > ANSWER_BYTES:
                        raise AnswerTooLarge(ANSWER_BYTES)
            text = body.decode(errors="replace")
            return SimpleNamespace(status_code=response.status_code, content=bytes(body), text=text)

    class Page(Duckduckgo):
        """The page as ddgs requests and parses it; keeps status and text, which show why there are
        no results."""

        search_url = os.environ.get("DUCKDUCKGO_URL") or Duckduckgo.search_url

        def request(self, *arguments: Any, **options: Any) -> str | None:
            client: Any = LimitedClient(self.http_client.client)
            self.http_client.client = client
            response = self.http_client.request(*arguments, **options)
            self.status, self.content = response.status_code, response.text
            return response.text if "<a" in response.text else None

        def text(self, query: str, **options: Any) -> list[dict[str, Any]]:
            found = [vars(result) for result in self.search(query, **options) or () if result.href]
            challenge = ", a challenge" if _CHALLENGE.search(self.content) else ""
            if not challenge and (found or _NO_RESULTS.search(self.content)):
                return found[: options["max_results"]]
            if challenge or self.status != 200:
                how = f"status {self.status}{challenge}"
                raise EngineBlocked(
                    f"{DuckDuckGo.title} turns automated queries away ({how}). {_WAY_OUT}"
                )
            raise DDGSException("No results found.")

    return Page(timeout=math.ceil(seconds))


def _failure(error: Exception) -> EngineFailed:
    from ddgs.exceptions import RatelimitException, TimeoutException

    title, kind = DuckDuckGo.title, str(error).partition(":")[0]
    if isinstance(error, TimeoutException):
        return EngineFailed.too_slow(title)
    if kind == "AnswerTooLarge":
        return EngineFailed.too_large(title)
    if isinstance(error, RatelimitException):
        return EngineBlocked(f"{title} asks for fewer requests. {_WAY_OUT}")
    if kind.startswith("No results"):
        return EngineBlocked(
            f"{title} shows an empty page, as when it turns automated queries away. {_WAY_OUT}"
        )
    if kind in ("ConnectError", "DNSError"):
        return unreachable(title, error)
    return connection_broke_off(title)
