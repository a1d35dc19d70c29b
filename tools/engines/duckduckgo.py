"""Search by DuckDuckGo, which needs no key, through the library ddgs."""

from __future__ import annotations

import math
from collections.abc import Callable
from functools import partial
from typing import Any, Protocol

from ...core.reading.policy import domains_of
from ...core.run.concurrency import in_thread
from ...core.run.context import Context
from ..engine import DEFAULT_WAIT, EngineBusy, EngineFailed, Found, broke_off, too_slow, unreachable
from .tavily import KEY

BACKEND = "duckduckgo"
ALL_REGIONS = "wt-wt"
MOST_CHARACTERS = 490


class Client(Protocol):
    """The part of `ddgs.DDGS` that is used."""

    def text(self, query: str, **options: Any) -> list[dict[str, Any]]:
        """Search for pages; raises `DDGSException`."""


class DuckDuckGo:
    """Asks DuckDuckGo, and none of the other engines that ddgs knows."""

    name, title = "duckduckgo", "DuckDuckGo"
    # It turns away who asks often, and then for long.
    parallel, gap = 1, 1.0

    def __init__(self, context: Context, open_client: Callable[[float], Client] | None = None) -> None:
        """`open_client` makes the library's client with a timeout in seconds."""
        self._context = context
        self._open = open_client or _open

    async def search(self, query: str, count: int) -> list[Found]:
        """Results of DuckDuckGo's page without scripts; raises `EngineFailed`."""
        return await in_thread(partial(self._search, query, count))

    def _search(self, query: str, count: int) -> list[Found]:
        from ddgs.exceptions import DDGSException

        after = self._context.published_after
        try:
            results = self._open(self._context.limits.search_seconds).text(
                self._with_domains(query),
                backend=BACKEND,
                region=ALL_REGIONS,
                max_results=count,
                timelimit=after and f"{after.isoformat()}..{self._context.clock.now().date().isoformat()}",
            )
        except DDGSException as error:
            raise _failure(error) from None
        named = ([str(result.get(name) or "") for name in ("title", "href", "body")] for result in results)
        return [Found(title, address, excerpt) for title, address, excerpt in named]

    def _with_domains(self, query: str) -> str:
        """Return the query with its domains, as far as DuckDuckGo takes so long a query; results are checked anyway."""
        only = " OR ".join(f"site:{name}" for name in domains_of("domains_allow", self._context.domains_allow))
        denied = [f"-site:{name}" for name in domains_of("domains_deny", self._context.domains_deny)]
        longer = " ".join([query, *([only] if only else []), *denied])
        return longer if len(longer) <= MOST_CHARACTERS else query


def _open(seconds: float) -> Client:
    from ddgs import DDGS
    from ddgs.engines import ENGINES

    # Without this engine the library would ask all others, unbidden.
    if BACKEND not in ENGINES["text"]:
        words = f"The installed ddgs no longer searches by {DuckDuckGo.title}: choose other engines by engines."
        raise EngineFailed(words, is_lasting=True)
    client: Client = DDGS(timeout=math.ceil(seconds))
    return client


def _failure(error: Exception) -> EngineFailed:
    from ddgs.exceptions import RatelimitException, TimeoutException

    title, kind = DuckDuckGo.title, str(error).partition(":")[0]
    if isinstance(error, TimeoutException):
        return too_slow(title)
    if isinstance(error, RatelimitException):
        return EngineBusy(f"{title} asks for fewer requests.", DEFAULT_WAIT)
    if kind.startswith("No results"):
        words = f"{title} shows no results, as it also does when it turns automatic queries away: use other words"
        return EngineFailed(f"{words}, or a search engine with a key ({KEY}).")
    if kind in ("ConnectError", "DNSError"):
        return unreachable(title, error)
    return broke_off(title)
