"""Sections of a report that are in another language: how they are detected and rewritten."""

from __future__ import annotations

import json
from itertools import product
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from kit.models import ScriptedChatModel, calls

from deep_research.core.evidence.language import foreign_sections, is_written_in
from deep_research.core.evidence.text.sentences import paragraphs_of, sections_of
from deep_research.core.records.research import Run
from deep_research.core.run.context import Context
from deep_research.core.run.errors import ModelFailed
from deep_research.core.run.events.call import CallEvents
from deep_research.core.run.events.log import Emitter
from deep_research.core.run.events.packets import Placement
from deep_research.core.run.limits import Limits
from deep_research.core.writing.language import rewrite_section

DATA = Path(__file__).parents[3] / "shared" / "data" / "multihop" / "docs.jsonl"
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
    assert [(part.text, part.heading) for part in foreign_sections(GERMAN + ENGLISH, "de")] == [(ENGLISH, "The keeper")]
    assert [part.text for part in foreign_sections(GERMAN + ENGLISH, "en")] == [GERMAN]
    body = ENGLISH.partition("\n\n")[2]
    long = GERMAN + "".join(f"{IN_OTHER_WORDS['de']} Noch einmal, zum {count}. Mal.\n\n" for count in range(5))
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


def test_english_documents_full_of_names_have_no_foreign_sections() -> None:
    if not DATA.exists():
        pytest.skip("the shared documents are not there")
    texts = [json.loads(line)["text"] for line in DATA.read_text("utf-8").splitlines()[:200]]
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
async def test_a_rewritten_section_must_be_in_the_language_and_keep_citations_and_figures(reply: Any) -> None:
    context = Context(models=ScriptedChatModel(replies=[reply]), limits=Limits(max_continuations=0))
    events = CallEvents(Emitter(lambda _: None), Placement(turn_index=3))
    run = Run(id="q", question="?", date="", language="German", language_code="de", is_resumable=False, version="0")
    assert await rewrite_section(ENGLISH, run, context, events) is None
