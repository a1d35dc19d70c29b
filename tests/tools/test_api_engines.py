"""Each engine with a JSON API against a server on loopback that answers as the engine's
documentation says."""

from __future__ import annotations

import json
from contextlib import AbstractContextManager
from datetime import date
from pkgutil import iter_modules
from typing import Any
from urllib.parse import urlsplit

import pytest
from kit.engines import KITS, SECRET, Answer, Kit, Loopback, closed_port, sent_to, serving
from kit.files import FixedClock

from deep_research.core.errors import SearchRefused
from deep_research.core.settings.context import Context
from deep_research.core.settings.limits import Limits
from deep_research.tools import engines
from deep_research.tools.engine import EngineBusy, EngineFailed, Found
from deep_research.tools.engines.openalex import OpenAlex
from deep_research.tools.engines.searxng import SearXNG
from deep_research.tools.run_engines import ask_engine
from deep_research.tools.tool import Meter

Patch = pytest.MonkeyPatch
NAMES = {found.name for found in iter_modules(engines.__path__) if not found.name.startswith("_")}
ALL = pytest.mark.parametrize("kit", KITS, ids=lambda kit: kit.name)


def answering(answer: Any, status: int = 200, **more: Any) -> AbstractContextManager[Loopback]:
    body = answer if isinstance(answer, str) else json.dumps(answer)
    return serving(lambda _: Answer(status=status, body=body, **more))


async def searched(
    kit: Kit, address: str, monkeypatch: Patch, count: int = 30, **settings: Any
) -> list[Found]:
    for name, value in kit.environment(address).items():
        monkeypatch.setenv(name, value)
    context = Context(clock=FixedClock(), **settings)
    return await ask_engine(
        kit.engine(context), "deep sea", count, context.limits.search_seconds, Meter()
    )


async def failure(kit: Kit, server: Loopback, monkeypatch: Patch, **settings: Any) -> EngineFailed:
    with pytest.raises(EngineFailed) as failed:
        await searched(kit, server.url, monkeypatch, **settings)
    assert SECRET not in str(failed.value)
    return failed.value


def test_the_kit_has_every_engine_but_those_with_tests_of_their_own() -> None:
    assert {kit.name for kit in KITS} == NAMES - {"tavily", "duckduckgo", "arxiv"}


@ALL
async def test_a_documented_answer_is_read_and_what_was_asked_is_what_the_documentation_says(
    kit: Kit, monkeypatch: Patch
) -> None:
    for name in ("HTTP_PROXY", "ALL_PROXY"):
        monkeypatch.setenv(name, closed_port())
    with answering(kit.answer) as server:
        first = (
            await searched(
                kit,
                f"{server.url}/",
                monkeypatch,
                domains_allow=("a.example",),
                published_after=date(2025, 1, 2),
            )
        )[0]
    assert first == kit.found, kit.documentation
    [request] = server.requests
    assert urlsplit(request.target).path == (kit.path or "/"), kit.documentation
    assert sent_to(request) == kit.sent, kit.documentation
    assert request.headers["user-agent"].startswith("deep-research")


@ALL
async def test_an_answer_without_results_is_no_failure_and_results_that_lack_something_lose_no_other(
    kit: Kit, monkeypatch: Patch
) -> None:
    with answering(kit.empty) as server:
        assert await searched(kit, server.url, monkeypatch) == []
    odd = json.dumps(kit.answer).replace('[{"', '[null, 7, "x", {"title": 3}, [], {"', 1)
    with answering(odd) as server:
        assert kit.found in await searched(kit, server.url, monkeypatch)


@ALL
@pytest.mark.fault(26)
@pytest.mark.parametrize(
    "body", ["<html>Please log in</html>", "[]", '{"x": 1}', "null", "[" * 100_000]
)
async def test_an_unreadable_answer_names_the_setting_of_the_address(
    kit: Kit, monkeypatch: Patch, body: str
) -> None:
    with answering(body) as server:
        failed = await failure(kit, server, monkeypatch)
    assert f"not one of its search API: check {kit.name.upper()}_URL" in failed.words
    assert failed.is_lasting and len(server.requests) == 1


@ALL
@pytest.mark.fault(28)
async def test_a_busy_engine_is_asked_once_more_after_the_wait_that_it_names(
    kit: Kit, monkeypatch: Patch
) -> None:
    answers = [
        Answer(status=429, headers={"Retry-After": "0"}),
        Answer(body=json.dumps(kit.answer)),
    ]
    with serving(lambda _: answers.pop(0)) as server:
        assert kit.found in await searched(kit, server.url, monkeypatch)
    assert len(server.requests) == 2
    with answering("", 429, headers={"Retry-After": "3600"}) as server:
        assert "asks to wait" in (await failure(kit, server, monkeypatch)).words
    assert len(server.requests) == 1


@ALL
@pytest.mark.fault(26, 28)
async def test_an_engine_out_of_order_slow_or_away_says_so(kit: Kit, monkeypatch: Patch) -> None:
    with answering("", 503, headers={"Retry-After": "0"}) as server:
        failed = await failure(kit, server, monkeypatch)
        assert (type(failed), failed.words) == (
            EngineBusy,
            f"{kit.engine.title} reports an error of its own (status 503).",
        )
    with answering(kit.answer, delay=5) as server:
        assert (
            "did not answer"
            in (await failure(kit, server, monkeypatch, limits=Limits(search_seconds=0.2))).words
        )
    with answering("", 302, headers={"Location": server.url}) as outer:
        assert "status 302" in (await failure(kit, outer, monkeypatch)).words
    with pytest.raises(
        EngineFailed, match=f"cannot be reached: check the network and {kit.name.upper()}_URL"
    ):
        await searched(kit, closed_port(), monkeypatch)


@ALL
@pytest.mark.fault(24, 25)
async def test_a_key_that_is_missing_malformed_refused_or_used_up_is_named(
    kit: Kit, monkeypatch: Patch
) -> None:
    key = kit.engine.key_name
    with answering("", 403) as server:
        failed = await failure(kit, server, monkeypatch)
    assert (
        failed.is_lasting
        and (f"check {key}" if key else "refuses searches (status 403)") in failed.words
    )
    if kit.used_up:
        with serving(lambda _: kit.used_up or Answer()) as server:
            failed = await failure(kit, server, monkeypatch)
        assert failed.is_lasting and "used up" in failed.words and key in failed.words
    for wrong in ["kéy", "a b", *([""] if key and kit.engine.needs_key else [])]:
        if key:
            monkeypatch.setenv(key, wrong)
            with pytest.raises(SearchRefused, match=key):
                kit.engine(Context())


def test_addresses_are_checked_and_searxng_has_none_without_its_user(monkeypatch: Patch) -> None:
    for address in ("", "localhost:8888", "http://me:secret@localhost"):
        monkeypatch.setenv("SEARXNG_URL", address)
        with pytest.raises(SearchRefused, match="SEARXNG_URL") as refused:
            SearXNG(Context())
        assert "secret" not in str(refused.value)


async def test_openalex_is_asked_without_a_key_too(monkeypatch: Patch) -> None:
    [kit] = [kit for kit in KITS if kit.engine is OpenAlex]
    with answering(kit.answer) as server:
        monkeypatch.setenv("OPENALEX_URL", server.url)
        assert await OpenAlex(Context()).search("what? *", 5) == [kit.found]
    assert (
        "api_key" not in server.requests[0].target
        and sent_to(server.requests[0])["search"].strip() == "what"
    )
