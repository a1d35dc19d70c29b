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
from deep_research.tools.engine import EngineBusy, EngineFailed, Found, PartialResults, Reported
from deep_research.tools.engines.arxiv import Arxiv
from deep_research.tools.engines.brave import Brave
from deep_research.tools.engines.crossref import Crossref
from deep_research.tools.engines.europepmc import EuropePMC
from deep_research.tools.engines.exa import Exa
from deep_research.tools.engines.openalex import OpenAlex
from deep_research.tools.engines.searxng import SearXNG
from deep_research.tools.engines.serper import Serper
from deep_research.tools.run_engines import ask_engine
from deep_research.tools.tool import Meter

Patch = pytest.MonkeyPatch
NAMES = {found.name for found in iter_modules(engines.__path__) if not found.name.startswith("_")}
KIT_OF = {kit.engine: kit for kit in KITS}
DOWN = [["duckduckgo", "CAPTCHA"], ["google", "Suspended: access denied"], ["mojeek", "timeout"]]
ARXIV_ERROR = """<feed xmlns="http://www.w3.org/2005/Atom"><entry>
<id>http://arxiv.org/api/errors#backend</id><title>Error</title>
<summary>the search backend is down</summary><updated>2025-02-03T04:05:06Z</updated>
<published>2025-02-03T04:05:06Z</published><author><name>arXiv api core</name></author>
</entry></feed>"""
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


@pytest.mark.sweep(first=8)
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


@pytest.mark.sweep(first=8)
@ALL
@pytest.mark.parametrize(
    ("field", "value", "words"),
    [
        ("error", "Upstream timed out.", "error: Upstream timed out."),
        ("errors", [{"message": "Index is rebuilt", "locations": ["x"]}], "errors: Index is rebuilt."),
        ("warnings", {"main": {"warnings": "Search is busy"}}, "warnings: Search is busy."),
        ("unresponsive_engines", [["bing", "CAPTCHA"]], "unresponsive engines: bing (CAPTCHA)."),
        ("errMsg", "The query could not be parsed", "errMsg: The query could not be parsed."),
    ],
)  # fmt: skip
async def test_an_empty_answer_that_says_why_it_is_empty_is_a_failed_search(
    kit: Kit, monkeypatch: Patch, field: str, value: Any, words: str
) -> None:
    with answering({**kit.empty, field: value}) as server:
        failed = await failure(kit, server, monkeypatch)
    assert failed.words == f"{kit.engine.title} found nothing and reports {words}"
    assert not failed.is_lasting
    with answering({**kit.answer, field: value}) as server:
        found = await searched(kit, server.url, monkeypatch)
    assert isinstance(found, PartialResults) and kit.found in found
    assert found.words == f"{kit.engine.title} found results, but also reports {words}"


async def test_searxng_names_the_engines_behind_it_that_did_not_answer(monkeypatch: Patch) -> None:
    kit = KIT_OF[SearXNG]
    with answering({**kit.empty, "unresponsive_engines": DOWN}) as server:
        failed = await failure(kit, server, monkeypatch)
    assert failed.words == (
        "SearXNG found nothing and reports unresponsive engines: duckduckgo (CAPTCHA), "
        "google (Suspended: access denied), mojeek (timeout)."
    )
    with answering({**kit.empty, "unresponsive_engines": []}) as server:
        assert await searched(kit, server.url, monkeypatch) == []


async def test_arxivs_own_error_is_no_paper() -> None:
    pytest.importorskip("arxiv")
    with answering(ARXIV_ERROR) as server, pytest.raises(EngineFailed) as failed:
        await Arxiv(Context(), server.url).search("deep sea", 5)
    words = "arXiv found nothing and reports error: the search backend is down."
    assert failed.value.words == words


@pytest.mark.parametrize(
    "answer",
    [
        {"message": "OK"},
        {"message": {"items": [], "query": {"search-terms": "a failure"}}},
        {"error": None, "errors": [], "warnings": {}, "detail": ""},
        {"status": "success", "code": 200, "query": {"original": "error message"}},
    ],
)
def test_a_success_and_a_repeated_query_are_no_report(answer: Any) -> None:
    assert not Reported.of(answer, ("message",) if "items" in str(answer) else ()).words


def test_what_a_service_reports_is_short_and_without_markup_and_keys(monkeypatch: Patch) -> None:
    monkeypatch.setenv("BRAVE_API_KEY", SECRET)
    answer = {
        "errors": [
            f"Key {SECRET} is <b>blocked</b>\n[here](https://a.example/)",
            "x" * 1000,
            *[f"Server {number} is down" for number in range(9)],
        ]
    }
    reported = Reported.of(answer)
    assert SECRET not in reported.words and "x" * 200 not in reported.words
    assert reported.words.startswith("errors: Key … is b blocked /b here (https://a.example/), x")
    assert reported.words.endswith("Server 5 is down and 3 more")


@pytest.mark.fault(24, 25)
@pytest.mark.parametrize(
    ("engine", "status", "body", "headers", "words"),
    [
        (
            Brave,
            422,
            {"type": "ErrorResponse", "error": {"code": "SUBSCRIPTION_TOKEN_INVALID", "status": 422}},
            {},
            "Brave rejects the key (status 422): check BRAVE_API_KEY.",
        ),
        (
            Brave,
            429,
            {"error": {"code": "RATE_LIMITED", "detail": "Request rate limit exceeded for plan."}},
            {"X-RateLimit-Remaining": "1, 0", "X-RateLimit-Reset": "1, 864000"},
            "The quota of the key for Brave is used up (status 429): raise it, or change BRAVE_API_KEY, or wait 240 h.",
        ),
        (
            Serper,
            400,
            {"message": "Invalid API key.", "statusCode": 400},
            {},
            "Serper rejects the key (status 400): check SERPER_API_KEY.",
        ),
        (
            Exa,
            200,
            {"error": "Invalid API key", "tag": "INVALID_API_KEY"},
            {},
            "Exa rejects the key (status 200): check EXA_API_KEY.",
        ),
        (
            OpenAlex,
            429,
            {"error": "Rate limit exceeded", "message": "Insufficient budget. You have $0 left."},
            {"Retry-After": "54000", "X-RateLimit-Remaining": "0"},
            "The quota of the key for OpenAlex is used up (status 429): raise it, or change OPENALEX_API_KEY, or wait 15 h.",
        ),
    ],
)  # fmt: skip
async def test_a_key_or_quota_is_named_whatever_the_status(
    monkeypatch: Patch, engine: type, status: int, body: Any, headers: dict[str, str], words: str
) -> None:
    with answering(body, status, headers=headers) as server:
        failed = await failure(KIT_OF[engine], server, monkeypatch)
    assert (failed.words, failed.is_lasting, len(server.requests)) == (words, True, 1)


@pytest.mark.parametrize(
    ("status", "body", "words"),
    [
        (429, {"message": "Insufficient budget."},
         "OpenAlex allows no more searches without a key (status 429): set OPENALEX_API_KEY, or wait 15 h."),
        (401, {"error": "Unauthorized"},
         "OpenAlex refuses searches without a key (status 401): set OPENALEX_API_KEY."),
    ],
)  # fmt: skip
async def test_without_a_key_openalex_asks_for_one(
    monkeypatch: Patch, status: int, body: Any, words: str
) -> None:
    headers = {"Retry-After": "54000"} if status == 429 else {}
    with answering(body, status, headers=headers) as server:
        monkeypatch.setenv("OPENALEX_URL", server.url)
        with pytest.raises(EngineFailed) as failed:
            await OpenAlex(Context()).search("deep sea", 5)
    assert failed.value.words == words


async def test_a_refusal_that_repeats_a_query_on_keys_is_no_refusal_of_the_key(
    monkeypatch: Patch,
) -> None:
    invalid = [{"type": "too_long", "loc": ["query", "q"], "msg": "too long", "input": "API key"}]
    with answering({"error": {"code": "VALIDATION", "meta": invalid}}, 422) as server:
        failed = await failure(KIT_OF[Brave], server, monkeypatch)
    assert failed.words == "Brave refused the search (status 422)."


def updated_by(*kinds: str) -> dict[str, Any]:
    """What Crossref says of a paper that notices of these kinds are about."""
    return {"updated-by": [{"DOI": "10.1000/n", "type": kind, "label": kind} for kind in kinds]}


def corrected(*kinds: str) -> dict[str, Any]:
    """What Europe PMC says of a paper that notices of these kinds are about."""
    notices = [{"id": "1", "source": "MED", "type": kind} for kind in kinds]
    return {"commentCorrectionList": {"commentCorrection": notices}}


@pytest.mark.parametrize(
    ("engine", "fields", "standing"),
    [
        (Crossref, updated_by("correction", "retraction"), (True, False)),
        (Crossref, updated_by("withdrawal"), (True, False)),
        (Crossref, updated_by("removal"), (True, False)),
        (Crossref, updated_by("expression_of_concern"), (False, True)),
        (Crossref, updated_by("erratum", "new_version"), (False, False)),
        (Crossref, {"update-to": [{"DOI": "10.1000/x", "type": "retraction"}]}, (False, False)),
        (Crossref, {"updated-by": "unknown"}, (False, False)),
        (OpenAlex, {"is_retracted": True}, (True, False)),
        (OpenAlex, {"is_retracted": False}, (False, False)),
        (EuropePMC, {"pubTypeList": {"pubType": ["Journal Article", "Retracted Publication"]}}, (True, False)),
        (EuropePMC, {"pubTypeList": {"pubType": ["Retraction of Publication"]}}, (False, False)),
        (EuropePMC, corrected("Retraction in"), (True, False)),
        (EuropePMC, corrected("Retraction of"), (False, False)),
        (EuropePMC, {"commentCorrectionList": [], "pubTypeList": 7}, (False, False)),
        (EuropePMC, corrected("Expression of concern in"), (False, True)),
    ],
)  # fmt: skip
async def test_what_an_engine_lists_on_a_paper_comes_with_the_paper(
    monkeypatch: Patch, engine: type, fields: dict[str, Any], standing: tuple[bool, bool]
) -> None:
    kit = KIT_OF[engine]
    first = json.dumps(fields)[1:-1]
    odd = json.dumps(kit.answer).replace('[{"', f'[{{{first}, "', 1)
    with answering(odd) as server:
        [found, *_] = await searched(kit, server.url, monkeypatch)
    assert (found.address, found.is_retracted, found.has_concern) == (kit.found.address, *standing)


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
