"""Searching and opening documents, as a model calls it."""

from __future__ import annotations

import re

import pytest
from kit.files import BRIDGE, HARBOUR, LONG, Papers
from kit.runs import new_tool_context

from deep_research.core.library.library import Library
from deep_research.tools._internal_search import InternalSearch, InternalSearchArguments
from deep_research.tools._open_url import OpenUrl, OpenUrlArguments
from deep_research.tools.tool import Meter, ToolContext, ToolFailed


@pytest.mark.behaviour("O-59")
@pytest.mark.parametrize(
    ("given", "cleaned"),
    [
        ("harbour", ["harbour"]),
        (["harbour", None, " ", "\x00\n", "old\x00  bridge\n"], ["harbour", "old bridge"]),
        ([1893], ["1893"]),
        (None, []),
        ([], []),
    ],
)
def test_queries_come_in_many_forms_and_are_cleaned(given: object, cleaned: list[str]) -> None:
    assert InternalSearchArguments.model_validate({"queries": given}).queries == cleaned
    assert OpenUrlArguments.model_validate({"urls": given}).urls == cleaned


@pytest.mark.behaviour("O-59")
async def test_a_call_without_queries_or_addresses_is_an_error(papers: Papers) -> None:
    context = papers.context()
    with pytest.raises(ToolFailed, match="at least one query"):
        await InternalSearch(Library(context), context, new_tool_context()).run(
            InternalSearchArguments(queries=[" "])
        )
    with pytest.raises(ToolFailed, match="at least one address"):
        await OpenUrl(Library(context), context, new_tool_context()).run(OpenUrlArguments(urls=[]))


def search_tool(
    papers: Papers, tool_context: ToolContext | None = None, **limits: float
) -> InternalSearch:
    return InternalSearch(
        papers.indexed(**limits), papers.context(**limits), tool_context or new_tool_context()
    )


async def test_results_of_several_queries_are_mixed_once_each_and_grouped_by_document(
    papers: Papers,
) -> None:
    (papers.docs / "long.txt").write_text(LONG)
    tool_context = new_tool_context()
    tool = search_tool(papers, tool_context, max_results=6)
    outcome = await tool.run(
        InternalSearchArguments(queries=["chapter ship cargo", "Velm bridge", "velm BRIDGE"])
    )
    titles = [hit.source.address.rpartition("/")[2] for hit in outcome.hits]
    assert titles == ["long.txt"] * 5 + ["Velm bridge.txt"]
    assert len({hit.excerpt for hit in outcome.hits}) == 6
    assert (tool_context.meter, outcome.problems) == (Meter(searches=2), ())
    assert all(hit.excerpt in hit.text for hit in outcome.hits)
    assert outcome.hits[-1].text == BRIDGE.strip()


async def test_failed_and_empty_searches_are_reported_with_the_next_step(papers: Papers) -> None:
    outcome = await search_tool(papers).run(
        InternalSearchArguments(queries=["a1", "salt", "b2", "bridge"])
    )
    assert outcome.hits[0].source.title == "Salt"
    assert outcome.problems == (
        "Only the first 3 of 4 queries were searched (max_queries).",
        "No document holds the words 'a1', 'b2'.",
    )
    outcome = await search_tool(papers).run(InternalSearchArguments(queries=["zeppelin", "🚢"]))
    assert outcome.hits == ()
    assert outcome.problems == (
        "Nothing in the documents matches 'zeppelin', '🚢'; try other words, or fewer and more general ones.",
    )


def open_tool(papers: Papers, excerpts: dict[str, str] | None = None, **limits: float) -> OpenUrl:
    return OpenUrl(
        papers.indexed(**limits),
        papers.context(**limits),
        new_tool_context(excerpts=excerpts or {}),
    )


@pytest.mark.fault("58")
async def test_a_long_query_is_cut_and_the_model_is_told(papers: Papers) -> None:
    tool = search_tool(papers)
    words = "Velm bridge " + "a" * 1_000_000
    outcome = await tool.run(InternalSearchArguments(queries=[words]))
    assert any("bridge" in hit.excerpt for hit in outcome.hits)
    assert outcome.problems[0] == "Queries were cut to 4000 characters."


async def test_an_opened_document_is_shown_whole_and_an_unknown_address_is_named(
    papers: Papers,
) -> None:
    tool, uri = open_tool(papers), (papers.docs / "harbour.md").as_uri()
    outcome = await tool.run(
        OpenUrlArguments(urls=["docs:papers/harbour.md", "docs:papers/../x", uri])
    )
    (hit,) = outcome.hits
    assert hit.excerpt == hit.text == HARBOUR.strip()
    assert (hit.source.address, hit.source.key) == ("docs:papers/harbour.md", uri)
    [problem] = outcome.problems
    assert problem.startswith("No document has the address 'docs:papers/../x'")
    with pytest.raises(ToolFailed, match=r"https://example\.org"):
        await tool.run(OpenUrlArguments(urls=["https://example.org/"]))


@pytest.mark.behaviour("O-61")
async def test_a_long_document_is_opened_at_what_the_search_showed(papers: Papers) -> None:
    (papers.docs / "long.txt").write_text(LONG)
    address, excerpt = "docs:papers/long.txt", "Chapter 500 tells of ship 500"
    (hit,) = (
        await open_tool(papers, {address: excerpt}).run(OpenUrlArguments(urls=[address]))
    ).hits
    assert len(hit.excerpt) <= 3_200
    assert excerpt in hit.excerpt and hit.excerpt.startswith("Chapter 0 ")
    start = int(re.findall(r"\[… (\d+)\]", hit.excerpt)[-1])
    (hit,) = (await open_tool(papers).run(OpenUrlArguments(urls=[address], start=start))).hits
    assert hit.excerpt.startswith(
        f"[… {start}] {LONG[start : start + 50]}"
    ) and hit.excerpt.endswith(" […]")
    (hit,) = (await open_tool(papers).run(OpenUrlArguments(urls=[address]))).hits
    assert hit.excerpt.startswith("Chapter 0 ")


@pytest.mark.behaviour("O-61")
async def test_one_call_opens_ten_documents_and_shows_so_much_of_all(papers: Papers) -> None:
    for number in range(12):
        (papers.docs / f"{number}.txt").write_text(f"Volume {number}\n\n{LONG[:700]}")
    urls = [f"docs:papers/{number}.txt" for number in range(12)]
    outcome = await open_tool(papers).run(OpenUrlArguments(urls=urls))
    assert [hit.source.address for hit in outcome.hits] == urls[:10]
    assert outcome.problems == ("Only the first 10 of 12 addresses were opened (max_open).",)
    outcome = await open_tool(papers, pages_characters=2500).run(OpenUrlArguments(urls=urls[:6]))
    assert [len(hit.excerpt) > 200 for hit in outcome.hits] == [True] * 4
    assert sum(len(hit.excerpt) for hit in outcome.hits) <= 2500
    assert [problem.split()[0] for problem in outcome.problems] == [repr(url) for url in urls[4:6]]
