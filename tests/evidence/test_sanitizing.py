"""Whatever a model writes and a page calls itself, nothing in a report acts: checked with a parser that is not ours."""

from __future__ import annotations

import re
import zipfile
from io import BytesIO
from pathlib import Path
from typing import Any

import pytest
from exported import standing
from hypothesis import given, settings
from hypothesis import strategies as st
from injections import INJECTIONS, active
from lab import lab
from page_check import faults

from deep_research.app.export import export_content
from deep_research.app.run_name import RunName
from deep_research.core.evidence.citations.labels import labels
from deep_research.core.evidence.citations.rendering import plain_citations, safe_link, write_document
from deep_research.core.evidence.citations.sanitizing import sanitized, sanitized_at
from deep_research.core.records.report import Report
from deep_research.core.records.sources import Source
from deep_research.state import ResearchState

NAME = RunName("0", None)
PLACES = (
    "# {line}\n\n{text}\n\nThe Skerry Light was lit in 1844. [1]\n\n- {line} [1]\n\n| {line} | b |\n|---|---|\n"
    "| c {line} | [1] |\n\n> {line}\n\n**{line}** [1]\n\n## {line}\n\nIt was lit in 1844. {text} [1]\n\n{text}"
)
INERT = (
    "# A *b* **c** `d` ~~e~~\n\nf\n===\n\n- g\n  1. h [1]\n\n> i [2]\n\n***\n\nj  \nk\\\nl",
    "| a | `b` |\n|:--|--:|\n| 1 \\| 2 [1] | $x_1 < y^2$ |",
    "```html\n<img src=x> ![a](//evil.test) [a]: b\n```\n\n    <b>\n\n`<b>` and `` ` <i> ` ``",
    "$a<b$, x<y, 1 < 2 > 0, a & b, AT&T, &amp; [see] (there) [2016] {x} f[i](j k)",
    "光は1844年に灯った。[1]「引用」 نور [2] 2026 \u200f(שלום)\u200c",
    "Note 1) see [^1] and [^2], 10:30, a//b, C:\\dir, 5 // 6, user@host, @name, and/or, Amazon.com.",
)


def external(document: bytes) -> set[str]:
    """Where a Word document leads."""
    with zipfile.ZipFile(BytesIO(document)) as parts:
        relations = [parts.read(name).decode() for name in parts.namelist() if name.endswith(".rels")]
        assert not [name for name in parts.namelist() if "media" in name]
    return {found[1] for text in relations for found in re.finditer(r'Target="([^"]*)" TargetMode="External"', text)}


async def run_with(tmp_path: Path, text: str, **settings: Any) -> ResearchState:
    """A run whose writer and whose document say this everywhere."""
    line = " ".join(text.split())
    folder = tmp_path / "docs"
    folder.mkdir()
    (folder / "light.md").write_text(f"# {line}\n\nThe Skerry Light was lit in 1844. {text}\n", errors="replace")
    made = lab(tmp_path, writer=[PLACES.format(line=line, text=text)] * 2, **settings)
    made.folder = folder
    # A number in a link is streamed as it is written.
    made.expected = "are cited before they are announced"
    return await made.ask()


def check_ways_out(state: ResearchState) -> None:
    """Assert that nothing acts in any form of the report."""
    assert state.report and state.report.text
    links = {safe_link(state.sources[key].location) for key in state.report.sources}
    assert not [*active(state.report.text)]
    assert not [*active(state.messages[-1].text, links)]
    shown = standing(state.report)._replace(state=state)
    assert not [*active(str(export_content(shown, "md", NAME)), links)]
    page = str(export_content(shown, "html", NAME))
    assert not [one for one in faults(page) if one not in {f"leads to {link}" for link in links}]
    document = export_content(shown, "docx", NAME)
    assert isinstance(document, bytes) and external(document) <= links


# Each alone is sanitized by the tests of any text below; in whole runs, a few stand for all.
FEW = [
    number if number % 12 == 0 else pytest.param(number, marks=pytest.mark.slow) for number in range(len(INJECTIONS))
]


@pytest.mark.fault("R15", "R16")
@pytest.mark.parametrize("number", FEW)
async def test_nothing_that_a_model_or_a_document_injects_acts_in_any_form_of_the_report(
    tmp_path: Path, number: int
) -> None:
    check_ways_out(await run_with(tmp_path, INJECTIONS[number], verify="off" if number % 3 else "repair"))


@pytest.mark.parametrize("text", INERT)
def test_what_does_not_act_stays_byte_for_byte(text: str) -> None:
    assert sanitized(text) == text
    assert not [*active(text)]


@pytest.mark.parametrize(
    ("text", "inert"),
    [
        ("<img src=x> `<b>` <b>c</b>", "\\<img src=x> `<b>` \\<b>c\\</b>"),
        ('See ![a *b*](//evil.test "t\nt2") and [c](d).', "See a *b* and c."),
        ("> - [a](b)\n>   https://evil.test", "> - a\n>   https\\://evil.test"),
        ("| [a\\|b](//c) | `d\\|<e>` <f> |\n|---|---|", "| a\\|b | `d\\|<e>` \\<f> |\n|---|---|"),
        ("[a]: //evil.test\n\n[a]", "\\[a]: \\//evil.test\n\na"),
        ("info@harbour.test, www.harbour.test", "info`@`harbour.test, www\\.harbour.test"),
    ],
)
def test_only_what_acts_is_written_anew(text: str, inert: str) -> None:
    assert sanitized(text) == inert


def test_of_all_links_only_the_numbers_of_sources_stay() -> None:
    links = {"1": "file:///a.md", "2": "https://b.test"}
    assert sanitized("[1] [2], `[1]` [3] [a][2] ![1] [1][2]", links) == "[1] [2], `[1]` [3] a 1 1"


def test_places_of_a_text_are_found_again_in_it() -> None:
    text = "One <b>. Two [three](//evil.test). Four."
    starts = [text.index(word) for word in ("One", "Two", "three", "Four")]
    inert = sanitized_at(text, starts)
    assert [inert.text[place : place + 3] for place in inert.places] == ["One", "Two", "thr", "Fou"]


@pytest.mark.slow
@pytest.mark.parametrize(
    "piece", ["[a](b) ", "<a>", "<!--\n", "[x]: a\n", "> <div>\n\n", "a@b.cd ", "\\", "![a](", "`"]
)
@pytest.mark.timeout(20)
def test_no_text_takes_long(piece: str) -> None:
    # What takes the square of the length is cut off by the limit of the test.
    assert sanitized(piece * (20_000 // len(piece)))


PIECES = [
    *(piece for text in INJECTIONS for piece in re.findall(r"\s+|[\w.]+|[^\w\s]+", text)),
    *("<", ">", "[", "]", "(", ")", "!", "`", "\\", "&", "@", ":", "//", "\n", "\n\n", "|", "    ", "> ", "- ", "[1]"),
    *("<img src=//e.co>", "![", "](", "](//e.co)", "a@e.co", "www.e.co", "https://e.co", "[x]: //e.co", "<!--", "-->"),
    *("| a | b |\n|---|---|\n", "```", "~~~", "<div>", "</div>", "[^1]:", "\\href", "<b>", "&lt;", "&#64;", "===\n"),
]
# Behind backticks of several lengths GitHub's parser takes some code for text; see docs/decisions/rendering.md.
MIXED = [text for text in INJECTIONS if not ("@" in text and "``" in text)]
TEXTS = st.lists(st.sampled_from(PIECES) | st.sampled_from(MIXED) | st.text(max_size=3), max_size=14).map("".join)


@pytest.mark.fault("R15")
@settings(derandomize=True)
@given(TEXTS)
def test_no_text_acts_when_it_is_sanitized_and_once_is_enough(text: str) -> None:
    inert = sanitized(text)
    assert not [*active(inert)] and not [*active(plain_citations(inert))]
    assert sanitized(inert) == inert


@pytest.mark.fault("R15")
@settings(derandomize=True)
@given(TEXTS, TEXTS, TEXTS, TEXTS)
def test_no_text_title_address_or_note_acts_in_a_document(text: str, title: str, rest: str, note: str) -> None:
    location = f"https://host.test/{rest}"
    cited = [
        Source(key=place, title=title, location=place, address=place, kind="web", content_hash="c", date=rest[:9])
        for place in (location, rest or "x")
    ]
    report = Report(text=text, sources=tuple(source.key for source in cited))
    document = write_document(report, cited, [note], labels("en"), was_researched=True)
    assert not [*active(document, {safe_link(source.location) for source in cited})]
