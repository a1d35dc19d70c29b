"""Search engines that need no key, on loopback: DuckDuckGo as it answers well or turns programs away, and others."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from contextlib import ExitStack, contextmanager
from typing import NamedTuple
from urllib.parse import parse_qs, urlsplit

from search_api import Answer, Loopback, Request, serving

CHALLENGE = """<html><body><form id="challenge-form" action="//duckduckgo.com/anomaly.js?sv=html" method="POST">
<div class="anomaly-modal__title">Unfortunately, bots use DuckDuckGo too.</div><div class="modal__body">Select all
squares with a duck. <a href="https://duckduckgo.com/help">Help</a></div></form></body></html>"""
RESULT = """<div class="result"><div class="links_main result__body"><h2 class="result__title">
<a class="result__a" href="{0}">{1}</a></h2><a class="result__snippet" href="{0}">{2}</a></div></div>"""
NO_RESULTS = """<html><input name="q" value="class=&quot;anomaly&quot;"><a href="/html/">DuckDuckGo</a>
<div class="result result--no-result"><div class="result__body"><div class="no-results">No results.</div></div></div>"""
BLOCKS = {
    "shows an empty page": Answer(body=" "),
    "(status 200, a challenge)": Answer(body=CHALLENGE),
    "(status 202, a challenge)": Answer(status=202, body=CHALLENGE),
    "(status 202)": Answer(status=202),
    "(status 403)": Answer(status=403, body="<html>Forbidden</html>"),
    "(status 429)": Answer(status=429, body="Too many requests"),
}
"""How DuckDuckGo turns programs away, by how we call it."""
NOTHING = '<?xml version="1.0"?><feed xmlns="http://www.w3.org/2005/Atom"></feed>'
DOWN = Answer(status=503)


def shown(address: str, title: str, excerpt: str) -> Answer:
    """DuckDuckGo's page with one result."""
    return Answer(body=f"<html>{RESULT.format(address, title, excerpt)}</html>")


class FreeWeb(NamedTuple):
    """The three servers."""

    duckduckgo: Loopback
    wikipedia: Loopback
    arxiv: Loopback

    def environment(self) -> dict[str, str]:
        """The variables that lead a client here, without a key for any other engine."""
        named = zip(("DUCKDUCKGO_URL", "WIKIPEDIA_URL", "ARXIV_URL"), self, strict=True)
        return {"TAVILY_API_KEY": "", **{name: server.url for name, server in named}}

    def counts(self) -> tuple[int, ...]:
        """How many requests each server has got."""
        return tuple(len(server.requests) for server in self)


@contextmanager
def free_web(
    duckduckgo: Answer, articles: Mapping[str, tuple[str, str]] | None, arxiv: Answer | None = None
) -> Iterator[FreeWeb]:
    """Serve this answer of DuckDuckGo's; Wikipedia has articles by query, as address and text, or is out of order."""

    def of_wikipedia(request: Request) -> Answer:
        if articles is None:
            return DOWN
        [query] = parse_qs(urlsplit(request.path).query)["gsrsearch"]
        found = [articles[query]] if query in articles else []
        pages = [{"title": query.title(), "index": 1, "fullurl": one[0], "extract": one[1]} for one in found]
        return Answer(body=json.dumps({"query": {"pages": pages}} if pages else {"batchcomplete": True}))

    with ExitStack() as servers:
        answers = (lambda _: duckduckgo), of_wikipedia, (lambda _: arxiv or Answer(body=NOTHING))
        yield FreeWeb(*(servers.enter_context(serving(answer)) for answer in answers))
