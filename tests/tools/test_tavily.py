"""Tavily's own client against a server on loopback that speaks its API."""

from __future__ import annotations

from datetime import date

import pytest
from kit.engines import KEY, Answer, SearchApi, closed_port, failure_of, found, refused

from deep_research.core.run.context import Context
from deep_research.tools.engine import EngineBusy, Found, seconds_to_wait
from deep_research.tools.engines.tavily import Tavily


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
    api.otherwise = Answer([found("https://a.example/"), {"url": None, "title": 3}, {}, "no result"])  # type: ignore[list-item]  # what a server may send
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
        (refused(429, "You exceeded the usage limit of your plan."), "used up (status 429)", "TAVILY_API_KEY"),
        (Answer(status=302, headers={"Location": "/login"}, body=""), "not one of its search API", "TAVILY_BASE_URL"),
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
