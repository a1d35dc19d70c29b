"""Engines that have a library of their own: DuckDuckGo and arXiv at its edge, Tavily at a server on
loopback."""

from __future__ import annotations

import asyncio
import json
import subprocess
import sys
import threading
import tracemalloc
import zlib
from collections.abc import Callable
from contextlib import closing, suppress
from datetime import date
from functools import cache
from pathlib import Path
from typing import Any

import pytest
from ddgs.exceptions import DDGSException, RatelimitException, TimeoutException
from kit.engines import (
    KEY,
    KITS,
    PAPERS,
    Answer,
    SearchApi,
    closed_port,
    failure_of,
    found,
    refused,
    sent_to,
    serving,
)
from kit.files import FixedClock
from kit.web import Exchange, listening, request_in

from deep_research.core.settings.context import Context
from deep_research.core.settings.limits import Limits
from deep_research.tools.engine import ANSWER_BYTES, EngineBusy, EngineFailed, Found
from deep_research.tools.engines._api import seconds_to_wait
from deep_research.tools.engines.arxiv import Arxiv
from deep_research.tools.engines.duckduckgo import DuckDuckGo
from deep_research.tools.engines.tavily import Tavily
from deep_research.tools.engines.wikipedia import Wikipedia
from deep_research.tools.run_engines import ask_engine
from deep_research.tools.tool import Meter

ROOT = Path(__file__).resolve().parents[2]


class Duck:
    """Replaces ddgs' client, which bypasses Python's own sockets."""

    def __init__(
        self, results: list[dict[str, str]] | None = None, error: Exception | None = None
    ) -> None:
        self.results, self.error, self.asked = results or [], error, list[dict[str, Any]]()

    def __call__(self, seconds: float) -> Duck:
        self.seconds = seconds
        return self

    def text(self, query: str, **options: Any) -> list[dict[str, Any]]:
        self.asked.append({"query": query, **options})
        if self.error:
            raise self.error
        return self.results


async def test_duckduckgo_alone_is_asked_with_dates_and_with_domains_unless_the_query_becomes_too_long() -> (
    None
):
    duck = Duck([{"title": "A", "href": "https://a.example/", "body": "Words."}])
    context = Context(
        domains_allow=("a.example", "b.example"),
        domains_deny=("c.example",),
        published_after=date(2030, 1, 2),
        clock=FixedClock(),
        limits=Limits(search_seconds=7),
    )
    assert await DuckDuckGo(context, duck).search("tides", 9) == [
        Found("A", "https://a.example/", "Words.")
    ]
    assert duck.asked == [
        {
            "query": "tides site:a.example OR site:b.example -site:c.example",
            "region": "wt-wt",
            "max_results": 9,
            "timelimit": "2030-01-02..2031-05-06",
        }
    ]
    assert duck.seconds == 7
    await DuckDuckGo(
        Context(domains_deny=tuple(f"site{n}.example" for n in range(99))), duck
    ).search("tides", 9)
    assert (duck.asked[1]["query"], duck.asked[1]["timelimit"]) == ("tides", None)


@pytest.mark.fault(26, 28)
@pytest.mark.parametrize(
    ("error", "words", "is_lasting"),
    [
        (TimeoutException("operation timed out"), "did not answer", False),
        (RatelimitException("202 Ratelimit"), "fewer requests", False),
        (DDGSException("No results found."), "turns automated queries away", False),
        (
            DDGSException("ConnectError: ConnectError('https://secret.example refused')"),
            "cannot be reached",
            True,
        ),
        (DDGSException("BodyError: BodyError('x')"), "broke off", True),
    ],
)
async def test_failures_of_duckduckgo_are_reported_without_its_own_text(
    error: Exception, words: str, is_lasting: bool
) -> None:
    failed = await failure_of(DuckDuckGo(Context(), Duck(error=error)))
    assert words in failed.words
    assert "secret" not in failed.words
    assert failed.is_lasting == is_lasting


@pytest.mark.fault(28)
async def test_a_hanging_library_blocks_no_other_work() -> None:
    release = threading.Event()

    class Hanging(Duck):
        def text(self, query: str, **options: Any) -> list[dict[str, Any]]:
            release.wait(60)
            return []

    with pytest.raises(EngineFailed, match=r"did not answer within 0\.1 s"):
        await ask_engine(DuckDuckGo(Context(), Hanging()), "q", 5, 0.1, Meter())
    left = [thread for thread in threading.enumerate() if thread.name == "work"]
    assert left and all(thread.daemon for thread in left)
    release.set()


def answering(**answer: Any) -> Any:
    return serving(lambda request: Answer(**answer))


async def test_the_words_of_wikipedia_for_a_failure_are_one_line_without_its_links() -> None:
    error = {"code": "busy", "info": "Search is\nbusy.", "docref": "See <a> for API usage."}
    with answering(body=json.dumps({"error": error})) as server:
        failed = await failure_of(Wikipedia(Context(), server.url))
    assert failed.words == "Wikipedia found nothing and reports error: busy, Search is busy."


async def test_arxiv_shows_abstracts_and_finds_papers_by_words_or_number(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setenv("HTTP_PROXY", closed_port())
    with answering(body=PAPERS) as server:
        papers = await Arxiv(Context(), server.url).search("tides: north-sea", 5)
        await Arxiv(Context(), server.url).search("2501.00001 2501.00002v1", 5)
    assert papers == [
        Found("Light", "https://arxiv.org/abs/1234.5678v1", "Lit in 1844.", "2025-02-03")
    ]
    by_words, by_number = map(sent_to, server.requests)
    assert (by_words["search_query"], by_words["max_results"]) == ("tides  north sea", "5")
    assert by_number["id_list"] == "2501.00001,2501.00002v1" and "search_query" not in by_number


@pytest.mark.fault(26, 28)
async def test_failures_of_arxiv_are_reported_without_the_words_of_its_library() -> None:
    def failure_at(address: str) -> Any:
        return failure_of(Arxiv(Context(limits=Limits(search_seconds=0.3)), address))

    with answering(status=503) as server:
        busy = await failure_at(server.url)
    assert (type(busy), busy.words) == (
        EngineBusy,
        "arXiv reports an error of its own (status 503).",
    )
    assert len(server.requests) == 1
    with answering(delay=5) as server:
        assert "did not answer in time" in (await failure_at(server.url)).words
    down = await failure_at(closed_port())
    assert (down.words, down.is_lasting) == ("arXiv cannot be reached: check the network.", True)


@cache
def bomb() -> bytes:
    """100 MB of spaces before an answer, in 100 kB."""
    packer = zlib.compressobj(wbits=31)
    parts = [packer.compress(b" " * 1_000_000) for _ in range(100)]
    return b"".join([*parts, packer.compress(b'{"results": []}'), packer.flush()])


EngineAt = Callable[..., Any]
EVERY: tuple[tuple[type[Any], str], ...] = (
    *((kit.engine, f"{kit.name.upper()}_URL") for kit in KITS),
    (Tavily, "TAVILY_BASE_URL"),
    (Arxiv, "ARXIV_URL"),
    (DuckDuckGo, "DUCKDUCKGO_URL"),
)


@pytest.fixture(params=EVERY, ids=lambda pair: str(pair[0].name))
def engine_at(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> EngineAt:
    """Makes one of the engines, for a server at an address."""
    engine, variable = request.param

    def made(address: str, **limits: Any) -> Any:
        monkeypatch.setenv(getattr(engine, "key_name", "") or "UNUSED", KEY)
        monkeypatch.setenv(variable, address)
        return engine(Context(limits=Limits(**limits)))

    return made


@pytest.mark.sweep(first=3)
@pytest.mark.fault(62)
async def test_an_answer_is_read_up_to_a_limit_of_decompressed_bytes(engine_at: EngineAt) -> None:
    answers = [
        Answer(body=bomb(), headers={"Content-Encoding": "gzip"}),
        Answer(body=b" " * (2 * ANSWER_BYTES)),
    ]
    for answer in answers:
        with serving(lambda _, answer=answer: answer) as server:  # type: ignore[misc]
            engine = engine_at(server.url)
            tracemalloc.start()
            failed = await failure_of(engine)
            _, peak = tracemalloc.get_traced_memory()
            tracemalloc.stop()
        assert (failed.words, failed.is_lasting) == (
            f"{engine.title} sent more than {ANSWER_BYTES} bytes, the most that is read of an "
            "answer: use another engine (engines).",
            False,
        )
        assert peak < 10 * ANSWER_BYTES


@pytest.mark.sweep(first=3)
@pytest.mark.fault(62)
async def test_an_answer_that_arrives_very_slowly_is_given_up(engine_at: EngineAt) -> None:
    async def drip(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        with closing(writer), suppress(ConnectionError, asyncio.IncompleteReadError):
            exchange = Exchange(await request_in(reader), writer)
            await exchange.begin(content_length="100000")
            while True:
                await exchange.send(b" ")
                await asyncio.sleep(0.01)

    with listening(drip) as port:
        engine = engine_at(f"http://127.0.0.1:{port}", search_seconds=0.3)
        async with asyncio.timeout(60):
            failed = await failure_of(engine)
    assert "did not answer" in failed.words


# A process of its own, where nothing is imported yet, every warning is an error, and what blocks
# the loop raises.
SEARCH = """
import asyncio, sys, threading
from blockbuster import blockbuster_ctx
from langgraph.store.memory import InMemoryStore
from deep_research.core.settings.context import Context
from deep_research.core.store.pages import Pages
from deep_research.tools.tool import ToolContext
from deep_research.tools.tool import Meter
from deep_research.tools.engines.arxiv import Arxiv
from deep_research.tools.engines.tavily import Tavily
from deep_research.tools._web_search import WebSearch, WebSearchArguments

def watch(event, arguments):
    if event == "import" and arguments[0] in HEAVY and threading.current_thread() is threading.main_thread():
        print("imported in the loop:", arguments[0])

async def main(address):
    tool_context = ToolContext(Pages(InMemoryStore(), "thread"), "question", Meter())
    search = WebSearch(context, [Tavily(context), Arxiv(context, address)], tool_context)
    with blockbuster_ctx():
        outcome = await search.run(WebSearchArguments(queries=["tides"]))
    print(len(outcome.hits), *outcome.problems)

HEAVY = {"arxiv", "httpx", "langchain_community", "requests", "tavily"}
context = Context()
sys.addaudithook(watch)
asyncio.run(main(*sys.argv[1:]))
"""


@pytest.mark.slow
@pytest.mark.fault(54)
def test_a_search_raises_no_warning_and_never_blocks_the_event_loop(api: SearchApi) -> None:
    api.otherwise = Answer([found("https://a.example/")])
    with answering(body=PAPERS) as server:
        script = [sys.executable, "-W", "error", "-c", SEARCH, server.url]
        ended = subprocess.run(script, cwd=ROOT.parent, capture_output=True, text=True, check=False)
    assert (ended.stdout, ended.stderr) == ("2\n", "")


async def test_tavily_is_sent_query_key_and_settings_alone_and_a_list_of_domains_whole_or_not_at_all(
    monkeypatch: pytest.MonkeyPatch, api: SearchApi
) -> None:
    for name in ("HTTP_PROXY", "http_proxy", "ALL_PROXY", "TAVILY_HTTP_PROXY"):
        monkeypatch.setenv(name, closed_port())
    context = Context(
        domains_allow=("Bücher.example", "*.org.example"),
        domains_deny=("bad.example",),
        published_after=date(2025, 1, 2),
    )
    await Tavily(context).search("tides", 50)
    many = tuple(f"site{number}.example" for number in range(301))
    await Tavily(Context(domains_allow=many, domains_deny=("org",))).search("tides", 5)
    request, without_domains = api.requests
    assert without_domains.json == {"query": "tides", "max_results": 5}
    assert request.json == {
        "query": "tides",
        "max_results": 20,
        "include_domains": ["xn--bcher-kva.example", "org.example"],
        "exclude_domains": ["bad.example"],
        "start_date": "2025-01-02",
    }
    usual = {"host", "accept", "accept-encoding", "connection", "content-length", "content-type"}
    assert {name: value for name, value in request.headers.items() if name not in usual} == {
        "authorization": f"Bearer {KEY}",
        "user-agent": "deep-research (research assistant, run by its user)",
        "x-client-source": "tavily-python",
    }


async def test_results_of_tavily_may_lack_anything(api: SearchApi) -> None:
    sent: list[Any] = [found("https://a.example/"), {"url": None, "title": 3}, {}, "no result"]
    api.otherwise = Answer(sent)
    assert await Tavily(Context()).search("q", 5) == [
        Found("A page", "https://a.example/", "What it says.", score=0.9),
        Found("", "", ""),
        Found("", "", ""),
    ]


@pytest.mark.fault(24)
@pytest.mark.parametrize(
    ("answer", "words", "setting"),
    [
        (refused(401), "rejects the key (status 401)", "TAVILY_API_KEY"),
        (refused(432), "used up (status 432)", "TAVILY_API_KEY"),
        (
            refused(429, "You exceeded the usage limit of your plan."),
            "used up (status 429)",
            "TAVILY_API_KEY",
        ),
        (
            Answer(status=302, headers={"Location": "/login"}, body=""),
            "not one of its search API",
            "TAVILY_BASE_URL",
        ),
        (Answer(body="<html>Please log in</html>"), "not one of its search API", "TAVILY_BASE_URL"),
        (Answer(body='{"results": null}'), "not one of its search API", "TAVILY_BASE_URL"),
    ],
)
async def test_a_lasting_failure_of_tavily_names_the_setting_to_change(
    api: SearchApi, answer: Answer, words: str, setting: str
) -> None:
    api.otherwise = answer
    failed = await failure_of(Tavily(Context()))
    assert words in failed.words
    assert failed.is_lasting
    assert setting in failed.words
    assert len(api.requests) == 1


@pytest.mark.fault(28)
@pytest.mark.parametrize(
    ("answer", "seconds", "is_lasting"),
    [
        (refused(429), 1, False),
        (refused(429, Retry_After="7"), 7, False),
        (refused(503, Retry_After="2"), 2, True),
        (Answer(hangs_up=True), 1, True),
        (Answer(body="not gzip", headers={"Content-Encoding": "gzip"}), 1, True),
    ],
)
async def test_a_temporary_failure_may_be_tried_again(
    api: SearchApi, answer: Answer, seconds: float, is_lasting: bool
) -> None:
    api.otherwise = answer
    failed = await failure_of(Tavily(Context()))
    assert isinstance(failed, EngineBusy)
    assert (failed.seconds, failed.is_lasting) == (seconds, is_lasting)


@pytest.mark.parametrize(
    ("header", "seconds"),
    [("7", 7), (" 0 ", 0), ("", 1), ("soon", 1), ("-3", 1), ("Wed, 21 Oct 2015 07:28:00 GMT", 0)],
)
def test_a_retry_after_header_is_parsed_into_seconds(header: str, seconds: float) -> None:
    assert seconds_to_wait(header) == seconds
