"""Search by Tavily, or a server that speaks its API: TAVILY_API_KEY, TAVILY_BASE_URL."""

from __future__ import annotations

import asyncio
import os
from typing import TYPE_CHECKING, Any

from ...core.run.context import Context
from ..engine import USER_AGENT, Found, failed_request, way_to
from ..engine_client import address_in, day_of, key_in, refusal, sent_domains, text_of

if TYPE_CHECKING:
    import httpx

KEY, BASE = "TAVILY_API_KEY", "TAVILY_BASE_URL"
OWN_ADDRESS = "https://api.tavily.com"
# What the API accepts in one request.
MOST_RESULTS, MOST_ALLOWED, MOST_DENIED = 20, 300, 150
_FIELDS = ("title", "url", "content", "published_date")
USED_UP = r"usage limit|quota|credits?\b|\bplan\b"
"""Words in a refusal that say that the quota of the key is used up."""


class Tavily:
    """Asks Tavily's search API."""

    name, title = "tavily", "Tavily"
    parallel, gap = 4, 0.0

    def __init__(self, context: Context) -> None:
        """Raise `SearchRefused` if the key is missing, or cannot be one."""
        self.key, self._base = key_in(KEY, self.title), address_in(BASE, OWN_ADDRESS, self.title)
        self._context = context

    @staticmethod
    def is_set_up() -> bool:
        """Return whether the environment holds a key."""
        return bool(os.environ.get(KEY, "").strip())

    async def search(self, query: str, count: int) -> list[Found]:
        """Results of Tavily's basic search; raises `EngineFailed`."""
        # Importing and reading certificates block, which the server's event loop refuses.
        http = await asyncio.to_thread(_open, self._base, self._context.limits.connect_seconds)
        async with http:
            return await self._search(http, query, count)

    async def _search(self, http: httpx.AsyncClient, query: str, count: int) -> list[Found]:
        import httpx
        from tavily import AsyncTavilyClient
        from tavily.errors import TimeoutError as TavilyTimeout

        context, setting = self._context, BASE if self._base != OWN_ADDRESS else ""
        try:
            answer = await AsyncTavilyClient(self.key, client=http).search(
                query,
                max_results=min(count, MOST_RESULTS),
                include_domains=sent_domains("domains_allow", context.domains_allow, MOST_ALLOWED),
                exclude_domains=sent_domains("domains_deny", context.domains_deny, MOST_DENIED),
                start_date=context.published_after and context.published_after.isoformat(),
                timeout=context.limits.search_seconds,
            )
        except TavilyTimeout as error:
            # The library hides which of its timeouts it was.
            cause = error.__context__
            assert isinstance(cause, httpx.TimeoutException)
            raise failed_request(self.title, cause, setting) from None
        except httpx.HTTPError as error:
            raise failed_request(self.title, error, setting) from None
        return [_found(result) for result in answer["results"] if isinstance(result, dict)]


def _open(base: str, connect_seconds: float) -> httpx.AsyncClient:
    """Return a client whose answers are checked before the library sees them."""
    import httpx
    import tavily  # noqa: F401 - it takes long, so it has to be done by the thread that runs this

    async def limit_connecting(request: httpx.Request) -> None:
        request.extensions["timeout"]["connect"] = connect_seconds

    return httpx.AsyncClient(
        base_url=base,
        headers={"User-Agent": USER_AGENT},
        **way_to(base),
        event_hooks={"request": [limit_connecting], "response": [_check]},
    )


async def _check(response: httpx.Response) -> None:
    """Raise for everything but an answer with results: the library drops status and headers, and hides their lack."""
    await response.aread()
    if response.status_code == 200 and _results(response) is not None:
        return
    raise refusal(response, Tavily.title, KEY, BASE, USED_UP)


def _results(response: httpx.Response) -> list[Any] | None:
    """Return the results of an answer; none if it is not one of the API."""
    try:
        answer = response.json()
    except (ValueError, RecursionError):
        return None
    results = answer.get("results") if isinstance(answer, dict) else None
    return results if isinstance(results, list) else None


def _found(result: dict[str, Any]) -> Found:
    title, address, excerpt, date = (text_of(result.get(name)) for name in _FIELDS)
    return Found(title, address, excerpt, day_of(date), _share(result.get("score")))


def _share(value: object) -> float:
    return round(float(value), 2) if isinstance(value, int | float) and 0 <= value <= 1 else 0.0
