"""Search with Tavily, or a server with the same API: TAVILY_API_KEY, TAVILY_BASE_URL."""

from __future__ import annotations

import asyncio
from typing import TYPE_CHECKING, Any

from ...core.reading.policy import Policy
from ...core.settings.network import CONNECT_SHARE, ENCODING, AnswerTooLarge, limit_answer
from ..engine import ANSWER_BYTES, EngineFailed, Found, Reported
from ._api import (
    USER_AGENT,
    ApiEngine,
    connection_options,
    day_of,
    failed_request,
    sent_domains,
    text_of,
)

if TYPE_CHECKING:
    import httpx

# What the API accepts in one request.
_MOST_RESULTS, _MOST_ALLOWED, _MOST_DENIED = 20, 300, 150
_FIELDS = ("title", "url", "content", "published_date")


class Tavily(ApiEngine):
    """Calls Tavily's basic search through its own library, tavily-python."""

    name, title = "tavily", "Tavily"
    parallel = 4
    address, address_name, key_name = "https://api.tavily.com", "TAVILY_BASE_URL", "TAVILY_API_KEY"
    used_up = r"usage limit|quota|credits?\b|\bplan\b"

    def _search(self, query: str, count: int) -> list[Found]:
        # The library parses an answer where it was received: not on the run's event loop.
        return asyncio.run(self._search_by(self._open(), query, count))

    async def _search_by(self, http: httpx.AsyncClient, query: str, count: int) -> list[Found]:
        async with http:
            answer = await self._answer(http, query, count)
        results = answer["results"][:_MOST_RESULTS]
        found = [self.found(result) for result in results if isinstance(result, dict)]
        return self._with_faults(found, Reported.of(answer, self.results_at))

    async def _answer(self, http: httpx.AsyncClient, query: str, count: int) -> dict[str, Any]:
        import httpx
        from tavily import AsyncTavilyClient
        from tavily.errors import TimeoutError as TavilyTimeout

        context = self.context
        policy = Policy(context)
        try:
            answer: dict[str, Any] = await AsyncTavilyClient(self.key, client=http).search(
                query,
                max_results=min(count, _MOST_RESULTS),
                include_domains=sent_domains(policy.allowed, _MOST_ALLOWED),
                exclude_domains=sent_domains(policy.denied, _MOST_DENIED),
                start_date=context.published_after and context.published_after.isoformat(),
                timeout=context.limits.search_seconds,
            )
        except TavilyTimeout as error:
            # The library hides which of its timeouts occurred.
            cause = error.__context__
            assert isinstance(cause, httpx.TimeoutException)
            raise failed_request(self.title, cause, self._setting) from None
        except AnswerTooLarge:
            raise EngineFailed.too_large(self.title) from None
        except TimeoutError:
            raise EngineFailed.too_slow(self.title) from None
        except httpx.HTTPError as error:
            raise failed_request(self.title, error, self._setting) from None
        return answer

    def _open(self) -> httpx.AsyncClient:
        """Return an HTTP client that checks answers before the library sees them."""
        import httpx
        import tavily  # noqa: F401 - slow, and event loops may not wait for it

        async def limit_connecting(request: httpx.Request) -> None:
            request.extensions["timeout"]["connect"] = (
                CONNECT_SHARE * self.context.limits.search_seconds
            )

        async def check(response: httpx.Response) -> None:
            limit_answer(response, ANSWER_BYTES, seconds=self.context.limits.search_seconds)
            # The library drops status and headers of a refusal, and does not notice if results are
            # missing.
            await response.aread()
            self._read(response)

        return httpx.AsyncClient(
            base_url=self._address,
            headers={"User-Agent": USER_AGENT, "Accept-Encoding": ENCODING},
            **connection_options(self._address),
            event_hooks={"request": [limit_connecting], "response": [check]},
        )

    def found(self, result: Any) -> Found:
        """Return a page; any of its fields may be missing."""
        title, address, excerpt, date = (text_of(result.get(name)) for name in _FIELDS)
        score = 0.0
        stated = result.get("score")
        if isinstance(stated, int | float) and 0 <= stated <= 1:
            score = round(float(stated), 2)
        return Found(title, address, excerpt, day_of(date), score)
