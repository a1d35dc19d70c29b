"""Results are shown short, clean and from the public web only, whatever engines answer; a bad one
loses no other."""

from __future__ import annotations

import time
from typing import Any, cast

import pytest
from kit.runs import Shelf, web_search

from deep_research.tools.engine import Found
from deep_research.tools.tool import Outcome

GOOD = Found("Good", "https://good.example/", "x")


async def search(*engines: Shelf, **values: Any) -> Outcome:
    return await web_search(engines, "q", **values)


def addresses(outcome: Outcome) -> list[str]:
    return [hit.source.address for hit in outcome.hits]


@pytest.mark.parametrize(
    "address",
    [
        "",
        "ftp://a.example/",
        "http://0x7f.1/",
        "http://10.0.0.1/",
        "https://bank.example@evil.example/",
    ],
)
async def test_a_result_that_open_url_would_refuse_is_not_shown(address: str) -> None:
    assert addresses(await search(Shelf("shelf", Found("T", address, "x"), GOOD))) == [GOOD.address]


async def test_a_private_address_that_the_settings_allow_may_be_found() -> None:
    found = Found("T", "http://127.0.0.1:8080/x", "x")
    assert addresses(await search(Shelf("shelf", found), allow_private=("127.0.0.1:8080",))) == [
        found.address
    ]
    assert addresses(await search(Shelf("shelf", found), allow_private=("127.0.0.1:8081",))) == []


async def test_invisible_characters_are_removed_from_titles_and_excerpts() -> None:
    hidden = "\u202eevil\u2066\u200b\U000e0041\ufeff" * 3
    hit = (
        await search(Shelf("shelf", Found(f"A{hidden} title", GOOD.address, f"An{hidden} excerpt")))
    ).hits[0]
    assert (hit.source.title, hit.excerpt) == (
        "A" + "evil" * 3 + " title",
        "An" + "evil" * 3 + " excerpt",
    )


async def test_huge_tool_results_are_read_only_as_far_as_they_are_shown() -> None:
    huge = Found("t" * 5_000_000, GOOD.address, "\u202e x" * 2_000_000)
    many = [Found("T", f"ftp://a.example/{number}", "x") for number in range(8)]
    start = time.process_time()
    outcome = await search(
        Shelf("shelf", huge, *many, GOOD._replace(address="https://late.example/")),
        limits={"max_results": 2},
    )
    assert time.process_time() - start < 0.5
    [hit] = outcome.hits
    assert len(hit.source.title) == 200
    assert 1990 < len(hit.excerpt) <= 2000


@pytest.mark.behaviour("O-63")
@pytest.mark.parametrize(
    "bad",
    [
        Found(cast("str", None), cast("str", None), cast("str", None), cast("str", None)),
        Found("T", "https://a.example/", cast("str", {"x": 1}), cast("str", 2020)),
        None,
        "https://a.example/",
        {"title": "T"},
    ],
)
async def test_one_bad_result_loses_no_other(bad: Any) -> None:
    outcome = await search(
        Shelf("bad", bad, GOOD), Shelf("good", GOOD._replace(address="https://b.example/"))
    )
    assert {GOOD.address, "https://b.example/"} <= set(addresses(outcome))
