"""Documents of retrievers: found by the internal search, cited like files, read in full, and as
private as files."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from kit.runs import REPORT, Shelf, keep_results, lab, new_tool_context, results, search, used
from kit.vectors import BUCKET, KEPT, LIT, TALL, WIKI, filled, in_memory
from langchain_core.documents import Document
from langgraph.store.memory import InMemoryStore

from deep_research.app.embed import aresearch
from deep_research.app.exports._bibliography import bibtex
from deep_research.core.errors import UnknownSetting
from deep_research.core.settings.context import Context
from deep_research.core.writing._judging import Evidence
from deep_research.core.writing.basis import ReportBasis
from deep_research.state import ResearchState, merge_sources
from deep_research.tools._passed import records_of
from deep_research.tools.engine import Found
from deep_research.tools.offer import ToolOffer
from deep_research.tools.tool import Outcome, ToolContext

WRITTEN = f"{LIT} [1] {TALL} [1] {KEPT} [2]"


async def found(
    context: Context, tool_context: ToolContext, *queries: str, name: str = "internal_search"
) -> Outcome:
    """Search and keep the results."""
    arguments: dict[str, Any] = {"urls" if name == "open_url" else "queries": list(queries)}
    outcome = await used(name, context, tool_context, **arguments)
    await keep_results(outcome, tool_context)
    return outcome


@pytest.mark.parametrize("kind", ["in memory", "chroma", "pgvector"])
async def test_a_report_cites_documents_of_a_vector_store_by_title_address_and_date(
    tmp_path: Path, kind: str
) -> None:
    with filled(kind) as store:
        thread = lab(
            tmp_path,
            researcher=[search("Skerry Light tower", "keeper Ada Moran"), REPORT, WRITTEN],
            writer=[WRITTEN],
            docs=(),
            retrievers=[store.as_retriever(name="letters")],
        )
        state = await thread.ask()
    assert "internal_search" in thread.calls("researcher")[0].tools
    assert "web_search" not in thread.calls("researcher")[0].tools
    assert state.report is not None
    wiki, keepers = (state.sources[key] for key in state.report.sources)
    assert (wiki.title, wiki.location, wiki.date) == ("The Light", WIKI["source"], "2024-03-05")
    assert (keepers.title, keepers.location, keepers.date) == (
        "keepers of 1901",
        BUCKET["source"],
        "",
    )
    assert {
        (source.kind, source.extent, source.origin, source.engines) for source in (wiki, keepers)
    } == {("document", "whole", "own", ("letters",))}
    assert [claim.verdict for claim in state.report.claims] == ["supported"] * 3
    report = state.messages[-1].text
    assert "- [1] The Light — wiki.lights.example, your document, 2024-03-05" in report
    assert "[1]: <https://wiki.lights.example/pages/7>" in report
    assert "- [2] keepers of 1901 — s3\\://lights/people/keepers of 1901.txt" in report
    assert "url = {https://wiki.lights.example/pages/7}" in bibtex([wiki])
    assert "note = {s3://lights/people/keepers of 1901.txt}" in bibtex([keepers])


async def test_a_document_is_read_in_full_from_what_was_returned_and_not_from_its_address() -> None:
    long = "\n\n".join(f"Entry {number} of the log says little." for number in range(500))
    context = Context(
        retrievers=[in_memory([Document(long, metadata=WIKI)]).as_retriever()], engines=()
    )
    tool_context = new_tool_context()
    [hit] = (await found(context, tool_context, "log entry")).hits
    assert len(hit.excerpt) < 4000 < len(hit.text)
    [read] = (
        await used("open_url", context, tool_context, urls=[hit.source.address], start=9000)
    ).hits
    assert read.excerpt.startswith(f"[… 9000] {long[9000:9050]}")
    for address, words in (
        (WIKI["source"], "was not opened"),
        ("retrieved:0/x", "No result has the address"),
    ):
        refused = await found(context, tool_context, address, name="open_url")
        assert refused.hits == () and words in refused.problems[0]


async def test_parts_of_a_document_are_one_source_and_each_is_evidence() -> None:
    store = in_memory()
    context = Context(retrievers=[store.as_retriever(search_kwargs={"k": 1})], engines=())
    tool_context = new_tool_context(InMemoryStore())
    # Two researchers search at the same time, a third one later.
    light, tower = [
        await used("internal_search", context, tool_context, queries=[query])
        for query in ("lit first time 1844", "tower stands metres tall")
    ]
    for outcome in (light, tower):
        await keep_results(outcome, tool_context)
    assert [outcome.hits[0].excerpt for outcome in (light, tower)] == [LIT, TALL]
    later = await found(context, tool_context, "the light was lit")
    assert later.hits[0].text == f"{TALL}\n[…]\n{LIT}"
    sources: dict[str, Any] = {}
    for outcome in (later, light, tower):
        sources = merge_sources(sources, outcome.sources)
    [key] = sources
    texts = await ReportBasis(ResearchState(sources=sources)).texts(tool_context.pages, [key])
    [shown] = Evidence(texts, sources, {}).known([key]).values()
    assert all(any(words in text.text for text in shown.texts) for words in (LIT, TALL))


@pytest.mark.parametrize(
    ("metadata", "title", "location", "date"),
    [
        ({"source": "https://docs.google.com/document/d/1/edit", "title": "Log", "when": "2024-05-01T08:00:00Z"},
         "Log", "https://docs.google.com/document/d/1/edit", "2024-05-01"),
        ({"source": "https://drive.google.com/file/d/1/view", "title": "Log.pdf", "when": "None"},
         "Log.pdf", "https://drive.google.com/file/d/1/view", ""),
        ({"id": "8f2c", "name": "Log", "last edited time": "2024-05-01"}, "Log", "", "2024-05-01"),
        ({"source": "export/Log 8f2c.md"}, "Log 8f2c", "export/Log 8f2c.md", ""),
        ({"source": "s3://bucket/reports/log.pdf"}, "log", "s3://bucket/reports/log.pdf", ""),
        ({"source": "C:\\logs\\log 7.pdf", "page": 3, "moddate": "2024-05-01T00:00:00+00:00"},
         "log 7", "C:\\logs\\log 7.pdf", "2024-05-01"),
        ({"source": "/srv/a.pdf", "filename": "log.pdf", "last_modified": "2024-05-01T10:00:00"},
         "log", "/srv/a.pdf", "2024-05-01"),
        ({"file_name": "log.pdf", "web_url": "https://x.example/1", "lastModifiedDate": "2024"},
         "log", "https://x.example/1", "2024"),
        ({"source": "tweet"}, "fallback", "", ""),
        ({"source": "file:///etc/passwd", "date": "Monday"}, "passwd", "/etc/passwd", ""),
    ],
)  # fmt: skip
def test_title_address_and_date_are_taken_from_the_names_that_integrations_use(
    metadata: dict[str, Any], title: str, location: str, date: str
) -> None:
    [record] = records_of(
        [Document(LIT, metadata=metadata)], "letters", "fallback", 5, are_own=True
    )
    assert (record.title, record.location, record.date, record.is_page) == (
        title,
        location,
        date,
        False,
    )
    assert record.address.startswith("retrieved:") and record.address.endswith("/letters")


async def test_documents_of_folders_and_of_retrievers_are_searched_together(tmp_path: Path) -> None:
    folder = tmp_path / "papers"
    folder.mkdir()
    (folder / "harbour.md").write_text(
        "# Port Anlow\n\nPort Anlow is the harbour of the Skerry Light.\n"
    )
    context = Context(
        docs=(folder,), data_dir=tmp_path, retrievers=[in_memory().as_retriever()], engines=()
    )
    outcome = await found(context, new_tool_context(), "Skerry Light", "zeppelin")
    assert {hit.source.address.partition(":")[0] for hit in outcome.hits} == {"docs", "retrieved"}
    assert outcome.problems == ()


async def test_the_planned_strategy_searches_them_too_and_a_quick_answer_does(
    tmp_path: Path,
) -> None:
    given: dict[str, Any] = {"models": "extractive", "data_dir": tmp_path, "clarify": "off"}
    ways: tuple[dict[str, Any], ...] = ({"strategy": "planned"}, {"depth": "quick"})
    for settings in ways:
        answer = await aresearch(
            "When was the Skerry Light lit?",
            retrievers=[in_memory().as_retriever()],
            **settings,
            **given,
        )
        assert "1844" in answer.report.text
        assert answer.report.sources[0].startswith("retrieved:")


async def test_retrieved_words_reach_no_search_engine_and_retrievers_may_get_words_of_files() -> (
    None
):
    store = in_memory(
        [Document("The project is called Zanzibarella.", metadata={"title": "Quimbledon"})]
    )
    web = Shelf("web", Found("A", "https://a.example/", "x"))
    context, tool_context = (
        Context(engines=(web,), retrievers=[store.as_retriever()]),
        new_tool_context(InMemoryStore()),
    )
    await found(context, tool_context, "project")
    outcome = await found(
        context, tool_context, "Zanzibarella Quimbledon budget", name="web_search"
    )
    assert web.asked == ["budget"]
    assert outcome.redacted == ("Zanzibarella", "Quimbledon")


async def test_a_question_goes_on_without_a_retriever_that_is_not_passed_again(
    tmp_path: Path,
) -> None:
    thread = lab(
        tmp_path,
        researcher=[search("Skerry Light"), REPORT, "Nothing was found."],
        writer=["Nothing was found."],
        docs=(),
        retrievers=[in_memory().as_retriever(name="letters")],
        review_plan=True,
    )
    await thread.ask()
    thread.settings["retrievers"] = ()
    state = await thread.ask("yes")
    assert state.run.scope.retrievers == ("letters",)
    failure = (
        "The retriever 'letters' was not passed again (retrievers). Not searched: 'Skerry Light'."
    )
    [result] = results(thread.calls("researcher")[1].messages).values()
    assert failure in result
    assert failure in state.messages[-1].text.replace("\\", "")


@pytest.mark.parametrize(
    ("settings", "words"),
    [
        (
            {"retrievers": [in_memory().as_retriever()] * 2},
            "two sources are named 'VectorStoreRetriever'",
        ),
        (
            {"engines": [in_memory().as_retriever()], "retrievers": [in_memory().as_retriever()]},
            "two sources",
        ),
        (
            {"retrievers": "kit.vectors:PARTS"},
            r"retrievers: 'kit.vectors:PARTS' could not be loaded \(TypeError\)",
        ),
    ],
)
def test_an_invalid_retriever_is_refused_before_the_run_starts(
    settings: dict[str, Any], words: str
) -> None:
    with pytest.raises(UnknownSetting, match=words):
        ToolOffer(Context(**{"engines": (), **settings})).check()
