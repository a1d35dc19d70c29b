"""Search by Tavily, or a server that speaks its API: TAVILY_API_KEY, TAVILY_BASE_URL."""

from __future__ import annotations

import asyncio
import os
import re
from datetime import datetime
from email.utils import parsedate_to_datetime
from typing import TYPE_CHECKING, Any

from ...core.reading.policy import domains_of
from ...core.run.context import Context
from ...core.run.errors import SearchRefused
from ..engine import USER_AGENT, EngineFailed, Found, failed_request, failed_status, way_to

if TYPE_CHECKING:
    import httpx

KEY, BASE = "TAVILY_API_KEY", "TAVILY_BASE_URL"
OWN_ADDRESS = "https://api.tavily.com"
# What the API accepts in one request.
MOST_RESULTS, MOST_ALLOWED, MOST_DENIED = 20, 300, 150
_FIELDS = ("title", "url", "content", "published_date")
_USED_UP = re.compile(r"usage limit|quota|credits?\b|\bplan\b", re.IGNORECASE)


class Tavily:
    """Asks Tavily's search API."""

    name, title = "tavily", "Tavily"
    parallel, gap = 4, 0.0

    def __init__(self, context: Context) -> None:
        """Raise `SearchRefused` if the key is missing, or cannot be one."""
        check_settings()
        self._context = context

    async def search(self, query: str, count: int) -> list[Found]:
        """Results of Tavily's basic search; raises `EngineFailed`."""
        # Importing and reading certificates block, which the server's event loop refuses.
        http = await asyncio.to_thread(_open, self._context.limits.connect_seconds)
        async with http:
            return await self._search(http, query, count)

    async def _search(self, http: httpx.AsyncClient, query: str, count: int) -> list[Found]:
        import httpx
        from tavily import AsyncTavilyClient
        from tavily.errors import TimeoutError as TavilyTimeout

        context = self._context
        try:
            answer = await AsyncTavilyClient(key(), client=http).search(
                query,
                max_results=min(count, MOST_RESULTS),
                include_domains=_sent(domains_of("domains_allow", context.domains_allow), MOST_ALLOWED),
                exclude_domains=_sent(domains_of("domains_deny", context.domains_deny), MOST_DENIED),
                start_date=context.published_after and context.published_after.isoformat(),
                timeout=context.limits.search_seconds,
            )
        except TavilyTimeout as error:
            # The library hides which of its timeouts it was.
            cause = error.__context__
            assert isinstance(cause, httpx.TimeoutException)
            raise failed_request(self.title, cause, _base_setting()) from None
        except httpx.HTTPError as error:
            raise failed_request(self.title, error, _base_setting()) from None
        return [_found(result) for result in answer["results"] if isinstance(result, dict)]


def key() -> str:
    """Return the key of the environment; empty if there is none."""
    return os.environ.get(KEY, "").strip()


def check_settings() -> None:
    """Refuse settings that cannot work; raises `SearchRefused`."""
    if not key():
        raise SearchRefused(
            f"Searching by Tavily needs a key: set {KEY}, or begin the question with other engines (engines)."
        )
    if not key().isascii() or not key().isprintable() or " " in key():
        raise SearchRefused(f"{KEY} holds characters that no key has: copy the key once more.")
    if not re.fullmatch(r"https?://[^\s/@]+(/\S*)?", _base()):
        raise SearchRefused(f"{BASE} must be an address such as {OWN_ADDRESS}, without a password in it.")


def _base() -> str:
    return os.environ.get(BASE, "").strip() or OWN_ADDRESS


def _base_setting() -> str:
    return BASE if _base() != OWN_ADDRESS else ""


def _open(connect_seconds: float) -> httpx.AsyncClient:
    """Return a client whose answers are checked before the library sees them."""
    import httpx
    import tavily  # noqa: F401 - it takes long, so it has to be done by the thread that runs this

    async def limit_connecting(request: httpx.Request) -> None:
        request.extensions["timeout"]["connect"] = connect_seconds

    return httpx.AsyncClient(
        base_url=_base(),
        headers={"User-Agent": USER_AGENT},
        **way_to(_base()),
        event_hooks={"request": [limit_connecting], "response": [_check]},
    )


async def _check(response: httpx.Response) -> None:
    """Raise for everything but an answer with results: the library drops status and headers, and hides their lack."""
    await response.aread()
    status, title = response.status_code, Tavily.title
    if status == 200 and _results(response) is not None:
        return
    if status in (401, 403):
        raise EngineFailed(f"{title} does not take the key (status {status}): check {KEY}.", is_lasting=True)
    if status in (432, 433) or (status == 429 and _USED_UP.search(response.text)):
        words = f"The quota of the key for {title} is used up (status {status}): raise it, or change {KEY}."
        raise EngineFailed(words, is_lasting=True)
    if status in (400, 422, 429) or status >= 500:
        raise failed_status(title, status, response.headers.get("Retry-After", ""))
    words = f"{title}'s answer (status {status}) is not one of its search API: check {BASE}."
    raise EngineFailed(words, is_lasting=True)


def _results(response: httpx.Response) -> list[Any] | None:
    """Return the results of an answer; none if it is not one of the API."""
    try:
        answer = response.json()
    except (ValueError, RecursionError):
        return None
    results = answer.get("results") if isinstance(answer, dict) else None
    return results if isinstance(results, list) else None


def _sent(names: tuple[str, ...], most: int) -> list[str] | None:
    """Return the domains, if the API takes them all; a part of them would be another question."""
    return list(names) if 0 < len(names) <= most and all("." in name for name in names) else None


def _found(result: dict[str, Any]) -> Found:
    title, address, excerpt, date = (_text(result.get(name)) for name in _FIELDS)
    return Found(title, address, excerpt, _day(date), _share(result.get("score")))


def _share(value: object) -> float:
    return round(float(value), 2) if isinstance(value, int | float) and 0 <= value <= 1 else 0.0


def _text(value: object) -> str:
    return value if isinstance(value, str) else ""


def _day(date: str) -> str:
    for read in (datetime.fromisoformat, parsedate_to_datetime):
        try:
            return read(date).date().isoformat()
        except (ValueError, OverflowError):
            continue
    return ""
