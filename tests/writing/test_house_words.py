"""Words of the publisher in a draft are shown as theirs, and are not judged as statements."""

from __future__ import annotations

from io import BytesIO
from pathlib import Path
from typing import Any

import docx
import lxml.html
import pytest
from kit.planned import planned_lab
from kit.reports import finished
from kit.runs import QUESTION, Lab, lab
from langchain_core.messages import HumanMessage

from deep_research.app.embed import thread_config
from deep_research.app.exports._page import report_page
from deep_research.app.exports._word import report_docx
from deep_research.app.exports.finished import Finished
from deep_research.core.evidence.citations.labels import all_labels, labels
from deep_research.core.records.report import Draft
from deep_research.core.writing.report import house_block, with_house_words
from deep_research.state import ResearchState

ABOVE = "For members only."
BELOW = "No advice: in 2025, 3 of 5 readers were wrong.\nSee <b>terms</b> [1]."


def noted(foreword: str = ABOVE, afterword: str = BELOW) -> Draft:
    """A draft to which a node has added these words."""
    fields: dict[str, Any] = {"streamed": "", "streamed_sources": ()}
    return Draft(
        text="",
        sources=(),
        numbers=(),
        removed_markers=0,
        foreword=foreword,
        afterword=afterword,
        **fields,
    )


async def delivered(run: Lab, **words: str) -> ResearchState:
    """The state of a run in which a node before the check adds these words to the draft."""
    config = thread_config(run.thread)
    given: Any = {"messages": [HumanMessage(QUESTION)]}
    ways: Any = {"context": run.context, "interrupt_before": ["verify_report"]}
    await run.graph.ainvoke(given, config, **ways)
    draft = (await run.state()).draft
    assert draft
    await run.graph.aupdate_state(config, {"draft": draft.model_copy(update=words)})
    await run.graph.ainvoke(None, config, context=run.context)
    return await run.state()


@pytest.mark.sweep
@pytest.mark.parametrize("strategy", ["orchestrated", "planned"])
@pytest.mark.parametrize("verify", ["repair", "off"])
async def test_words_of_the_publisher_are_in_the_report_and_the_verifier_never_sees_them(
    tmp_path: Path, strategy: str, verify: str
) -> None:
    make: Any = lab if strategy == "orchestrated" else planned_lab
    run = make(tmp_path, verify=verify)
    state = await delivered(run, foreword=ABOVE, afterword=BELOW)
    report = state.report
    assert report and len(report.house_words) == 2
    above, *body, below = report.text.split("\n\n")
    assert (above, below) == report.house_words
    assert above == f"> **Note by the publisher:** {ABOVE}"
    assert report.checked_text == "\n\n".join(body)
    assert above in state.messages[-1].text and below in state.messages[-1].text
    models = {id(model): model for model in run.models.values()}.values()
    prompts = [
        message.text for model in models for call in model.calls for message in call.messages
    ]
    judged = [*prompts, *(verdict.text for verdict in report.verdicts)]
    assert prompts and not any("readers were" in text or "members only" in text for text in judged)
    for claim in report.claims:
        assert report.text[claim.start : claim.end] in report.checked_text


def test_the_claims_of_a_report_move_with_a_foreword() -> None:
    report = finished().report
    moved = with_house_words(report, noted(), labels("de"))
    assert moved.text.startswith(f"> **Hinweis des Herausgebers:** {ABOVE}\n\n")
    assert [moved.text[claim.start : claim.end] for claim in moved.claims] == [
        report.text[claim.start : claim.end] for claim in report.claims
    ]
    assert with_house_words(report, noted("", " "), labels("de")) is report


def test_words_of_the_publisher_are_plain_text() -> None:
    block = house_block("Read <b>this</b> [1].\n\n# Not a heading", labels("en"))
    lines = block.split("\n")
    assert lines[0] == r"> **Note by the publisher:** Read \<b\>this\</b\> \[1\]."
    assert all(line.startswith(">") for line in lines)
    assert house_block(" \n", labels("en")) == ""


def test_each_language_says_whose_words_they_are() -> None:
    assert len({words.house_words for words in all_labels().values()}) == len(all_labels())


def published() -> Finished:
    """A report with a foreword and an afterword."""
    whole = finished()
    report = with_house_words(whole.report, noted(), labels("en"))
    return whole._replace(report=report)


def test_a_page_shows_words_of_the_publisher_as_theirs_without_evidence() -> None:
    page = lxml.html.fromstring(report_page(published(), "full"))
    above, below = page.xpath("//main//blockquote[.//strong[starts-with(., 'Note by')]]")
    assert above.text_content().split() == f"Note by the publisher: {ABOVE}".split()
    assert "3 of 5 readers were wrong" in below.text_content()
    assert not above.xpath(".//a") and not below.xpath(".//a")


def test_a_word_file_shows_words_of_the_publisher_as_theirs() -> None:
    document = docx.Document(BytesIO(report_docx(published(), "short")))
    quoted = [
        part.text for part in document.paragraphs if part.style and part.style.name == "Quote"
    ]
    assert f"Note by the publisher: {ABOVE}" in quoted
