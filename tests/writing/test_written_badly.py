"""Reports with sections in another language, foreign citation styles or invented addresses, or in
many answers."""

from __future__ import annotations

import json
import re
from itertools import product
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from kit.models import ScriptedChatModel, calls
from kit.reports import BOTH, audited
from kit.runs import REPORT, Lab, report_of, research, researched, search, simple_research, written
from langchain_core.messages import AIMessage, BaseMessage

from deep_research.core.errors import ModelFailed
from deep_research.core.events.call import CallEvents
from deep_research.core.events.log import Emitter
from deep_research.core.events.packets import Placement
from deep_research.core.evidence.text.language import foreign_sections, is_written_in
from deep_research.core.evidence.text.sentences import paragraphs_of, sections_of
from deep_research.core.records.research import Finding, Run
from deep_research.core.records.sources import Source
from deep_research.core.settings.context import Context
from deep_research.core.writing._fact_lists import facts_by_topic
from deep_research.core.writing.basis import ReportBasis
from deep_research.core.writing.language import HEADING_IN_NOTICE, rewrite_section
from deep_research.state import ResearchState

GERMAN = (
    "## Der Turm\n\nDer Leuchtturm wurde 1844 zum ersten Mal angezündet und ist 38 Meter hoch. [1] Er steht auf dem "
    "äußersten Felsen der Insel und ist von Westen her weit zu sehen. [2]\n\n"
)
ENGLISH = (
    "## The keeper\n\nAda Moran kept the light from 1901 to 1932, longer than anybody else on the coast. [2] She had "
    "been born in Tralee and wrote down the weather of 1,844 days. [3]\n"
)
MENDED = (
    "## Die Wärterin\n\nAda Moran hütete das Licht von 1901 bis 1932, länger als alle anderen an der Küste. [2] Sie "
    "war in Tralee geboren und schrieb das Wetter von 1.844 Tagen auf. [3]"
)
IN_OTHER_WORDS = {
    "de": "Der Turm wurde aus Granit gebaut, der aus dem Steinbruch der Insel kam und auf Schlitten gezogen wurde.",
    "fr": "La tour fut construite en granit, que l'on tirait sur des traîneaux depuis la carrière de l'île.",
    "nl": "De toren werd gebouwd van graniet, dat op sleden uit de groeve van het eiland werd getrokken.",
    "pl": "Wieżę zbudowano z granitu, który ciągnięto na saniach z kamieniołomu znajdującego się na wyspie.",
    "ru": "Башня была построена из гранита, который привозили на санях из каменоломни, находившейся на острове.",
    "zh": "这座塔是用花岗岩建造的，石料从岛上的采石场用雪橇运来，每年冬天都要修缮。",
    "en": "The tower was built of granite, which was dragged on sledges from the quarry of the island to the sea.",
}


def test_a_section_or_a_paragraph_in_another_language_is_detected_with_its_heading() -> None:
    assert [(part.text, part.heading) for part in foreign_sections(GERMAN + ENGLISH, "de")] == [
        (ENGLISH, "The keeper")
    ]
    assert [part.text for part in foreign_sections(GERMAN + ENGLISH, "en")] == [GERMAN]
    body = ENGLISH.partition("\n\n")[2]
    long = GERMAN + "".join(
        f"{IN_OTHER_WORDS['de']} Noch einmal, zum {count}. Mal.\n\n" for count in range(5)
    )
    [part] = foreign_sections(long + body, "de")
    assert (part.text, part.heading) == (body, "Der Turm")
    assert (long + body)[part.start : part.end] == body


def test_each_language_is_distinguished_from_the_others() -> None:
    for code, (other, text) in product(IN_OTHER_WORDS, IN_OTHER_WORDS.items()):
        assert (is_written_in(text, code) is False) == (other != code), (code, other)


@pytest.mark.parametrize(
    "passage",
    [
        "“Ada Moran kept the light from 1901 to 1932, longer than anybody else on the whole of the coast of the isle.”",
        "> Ada Moran kept the light from 1901 to 1932, longer than anybody else on the whole of the coast of the isle.",
        "```\nfor keeper in the_keepers_of_the_light: print(keeper.name, keeper.years_of_service, keeper.born)\n```",
        "| keeper | from | until |\n|---|---|---|\n| the one who kept the light for longer | 1901 | 1932 |",
        "[1] The keepers of the lights of the western coast and what they wrote down: https://example.com/the-keepers",
        "It has been like this ever since the war was over.",
        "## The keepers of the lights of the western coast and what they have written down of the weather of the years",
    ],
)
def test_quotations_code_tables_sources_and_short_passages_do_not_count(passage: str) -> None:
    assert foreign_sections(f"{GERMAN}{passage}\n", "de") == []


def test_english_documents_full_of_names_have_no_foreign_sections(shared_data: Path) -> None:
    lines = (shared_data / "multihop" / "docs.jsonl").read_text("utf-8").splitlines()
    texts = [json.loads(line)["text"] for line in lines[:200]]
    assert [part.text for text in texts for part in foreign_sections(text, "en")] == []


@given(st.text("ab# \n`|>[1]", max_size=60))
def test_sections_put_together_are_the_text(text: str) -> None:
    parts = sections_of(text)
    assert all(text[part.start : part.end] == part.text for part in parts)
    assert "".join(part.text for part in parts).split() == text.split()
    paragraphs = [paragraph for part in parts for paragraph in paragraphs_of(part)]
    assert all(text[paragraph.start : paragraph.end] == paragraph.text for paragraph in paragraphs)


@pytest.mark.parametrize(
    "reply",
    [
        ENGLISH,
        MENDED.replace("[3]", ""),
        MENDED.replace("1932", "1933"),
        f"{MENDED} [Mehr](https://evil.example/)",
        f"{MENDED}\n\n```",
        MENDED.replace("1.844", "vielen"),
        "",
        ModelFailed("it fell silent"),
        calls(text=MENDED, finish_reason="length"),
    ],
)
async def test_a_rewritten_section_must_be_in_the_language_and_keep_citations_and_figures(
    reply: Any,
) -> None:
    context = Context(models=ScriptedChatModel(replies=[reply] * 5))
    events = CallEvents(Emitter(lambda _: None), Placement(turn_index=3))
    run = Run(
        id="q",
        question="?",
        date="",
        language="German",
        language_code="de",
        is_resumable=False,
        version="0",
    )
    assert await rewrite_section(ENGLISH, run, context, events) is None


TRUE = "The Skerry Light was lit for the first time in 1844. [1] Ada Moran kept the Skerry Light from 1901 to 1932. [2]"
FOOTNOTES = (
    TRUE.replace("[1]", "[^1]").replace("[2]", "[^2] ![chart](https://e.example/p.png)")
    + "\n\n[^1]: Skerry Light, lighthouse.md\n[^2]: Ada Moran, keeper.md"
)
BRACKETS_AND_A_LIST = (
    TRUE.replace("[1]", "【1】").replace("[2]", "【2†L1-L3】 ![chart](https://e.example/p.png)")
    + "\n\n## Sources\n\n[1] Skerry Light\n[2] Ada Moran\n[3] An invented page, https://e.example/x"
)


SETTLED = (f"{TRUE} chart", ["Skerry Light", "Ada Moran"])
MARKED = (TRUE.replace("[1]", "*(not verified)*"), ["Ada Moran"])


@pytest.mark.sweep(first=2)
@pytest.mark.parametrize(
    ("text", "settled"),
    [
        (FOOTNOTES, SETTLED),
        (BRACKETS_AND_A_LIST, SETTLED),
        # An address that is no source is taken out, and its sentence marked.
        (TRUE.replace("[1]", "[1](https://e.example/x)"), MARKED),
        (TRUE.replace("[1]", "https://e.example/x"), MARKED),
    ],
)
async def test_the_report_of_a_writer_with_bad_habits_is_right(
    tmp_path: Path, text: str, settled: Any
) -> None:
    limits = {"max_opinions": 0, "max_rewrites": 0}
    run = await researched(tmp_path, researcher=BOTH, writer=[text], limits=limits)
    # The draft is streamed as it is written.
    run.expected = "cited before they are announced"
    state = await run.ask(None)
    assert state.report
    assert (
        state.report.text,
        [state.sources[key].title for key in state.report.sources],
    ) == settled
    # One sentence is a quote: the word of the image belongs to the last one.
    assert audited(state).supported == 1
    assert "e.example" not in state.messages[-1].text


FIRST, DRIFTED = GERMAN.replace("[2]", "[1]").strip(), ENGLISH.replace("[3]", "[2]").strip()
REWRITTEN = MENDED.replace("[3]", "[2]")
ASKED = "Wann wurde der Leuchtturm von Skerry zum ersten Mal angezündet, und wer hat ihn gehütet?"


async def german_lab(tmp_path: Path, *replies: object, rewrites: int = 2, **settings: Any) -> Lab:
    """A researched lab over German documents, whose writer says this."""
    found = "Der Leuchtturm wurde 1844 angezündet. [1] Ada Moran hütete ihn. [2]"
    texts = (re.sub(r" \[\d\]", "", text) for text in (FIRST, REWRITTEN))
    folder = written(
        tmp_path.parent / "german", dict(zip(("turm_md", "waerterin_md"), texts, strict=True))
    )
    return await researched(
        tmp_path,
        ASKED,
        folder,
        planner=["1. Der Turm"],
        orchestrator=[research("Der Leuchtturm von Skerry"), REPORT],
        researcher=[search("Leuchtturm Skerry angezündet", "Ada Moran"), REPORT, found],
        writer=[*replies],
        limits={"max_opinions": 0, "max_rewrites": rewrites},
        **settings,
    )


async def test_a_section_in_another_language_is_rewritten(tmp_path: Path) -> None:
    run = await german_lab(tmp_path, f"{FIRST}\n\n{DRIFTED}", REWRITTEN)
    state = await run.ask(None)
    assert state.run and (state.run.language, state.run.language_code) == ("German", "de")
    assert state.report and state.report.text == f"{FIRST}\n\n{REWRITTEN}"
    assert "## Quellen" in state.messages[-1].text
    assert all("German" in call.text for call in run.calls("writer"))


@pytest.mark.parametrize(("verify", "rewrites"), [("repair", 0), ("check", 2)])
async def test_a_foreign_section_that_is_not_rewritten_is_named(
    tmp_path: Path, verify: str, rewrites: int
) -> None:
    heading = "The keeper who looked after the light for longer than anybody before her or after her on the island"
    drifted = DRIFTED.replace("The keeper", heading)
    run = await german_lab(tmp_path, f"{FIRST}\n\n{drifted}", rewrites=rewrites, verify=verify)
    state = await run.ask(None)
    assert state.report and heading in state.report.text
    assert len(run.calls("writer")) == 1
    [notice] = (
        [note for note in state.run.notices if note.startswith("This part")] if state.run else []
    )
    assert notice == f"This part is not in German: {heading[: HEADING_IN_NOTICE - 1].rstrip()}…"


WHOLE = (
    "The Skerry Light was lit in 1844, and Ada Moran was its best known keeper. [1]\n\n## A light\n\nIt has burned in "
    "every night of the year since then. [1] It stands 38 metres tall on the outermost rock. [1]\n\n## Its keepers\n\n"
    "- She was born in Tralee and came to the isle as a child. [1]\n- She wrote down the weather of each day. [1]\n\n"
    "When she left, the light was given to two men who took turns, until the last of them went ashore. [1]"
)
FINDING = WHOLE.replace("#", "").replace("\n", " ")
"""What was found: the words of the report are known from it."""
PIECE = 120
"""Characters of an answer."""
LINK = re.compile(r"(\[\d+\])\([^)]*\)")


class CappedWriter:
    """Writes the report, a piece a call, and begins each piece with the last words of the one
    before."""

    def __init__(self, piece: int = PIECE) -> None:
        self.piece, self.position = piece, 0
        self.asked: list[str] = []
        """What was asked for, in words of its own."""

    def reply(self, messages: list[BaseMessage], _: dict[str, Any]) -> AIMessage:
        is_continued = "last words once more" in messages[-1].text
        self.asked.append("continuation" if is_continued else "report")
        before = WHOLE[: self.position if is_continued else 0]
        self.position = len(before) + self.piece
        repeated = " ".join(before.rsplit(" ", 4)[1:])
        text = repeated + WHOLE[len(before) : self.position]
        return calls(text=text, finish_reason="length" if self.position < len(WHOLE) else "stop")


async def test_a_report_joined_from_short_answers_reads_as_one_text_and_is_replayed_as_stored(
    tmp_path: Path,
) -> None:
    writer = CappedWriter()
    run, state = await report_of(
        tmp_path, researcher=simple_research(FINDING), writer=[writer.reply] * 60, verify="off"
    )
    assert state.report and state.report.text == WHOLE
    assert state.run and state.run.status == "completed"
    assert writer.asked == ["report", *["continuation"] * (len(WHOLE) // PIECE)]
    streamed = "".join(
        packet.content for packet in await run.replayed() if packet.type == "message_delta"
    )
    assert LINK.sub(r"\1", streamed).strip() == state.report.text
    assert run.words("message_delta") == streamed and run.types().count("message_start") == 1


async def test_calls_for_a_report_are_bounded_and_what_there_is_is_kept(tmp_path: Path) -> None:
    writer = [CappedWriter(30).reply] * 60
    run, state = await report_of(
        tmp_path, researcher=simple_research(FINDING), writer=writer, verify="off"
    )
    assert (
        state.report
        and state.report.text
        and WHOLE.startswith(state.report.text.removesuffix("..."))
    )
    assert state.run and state.run.status == "completed_with_gaps"
    assert "report_tokens" in state.run.stop_reason and "report_tokens" in state.messages[-1].text
    assert len(run.calls("writer")) == 1 + 4


def test_a_small_writer_gets_all_facts_of_tasks_that_begin_alike() -> None:
    task = f"Find out in the records of the harbour office and of the parish what is known about {'the light ' * 3}"
    source = Source(key="a", title="A", location="a", address="a", kind="document", number=1)
    usual: dict[str, Any] = {
        "question_id": "",
        "cycle": 0,
        "position": 0,
        "text": "",
        "ended": "done",
    }
    findings = {
        year: Finding(
            id=year, task=f"{task} in {year}", numbered=f"- It was lit in {year}. [1]", **usual
        )
        for year in ("1844", "1901")
    }
    facts = facts_by_topic(ReportBasis(ResearchState(findings=findings, sources={"a": source})))
    assert list(facts.values()) == [["- It was lit in 1844. [1]", "- It was lit in 1901. [1]"]]
