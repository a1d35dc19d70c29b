"""Faults put into a true report are seen by rules alone, whatever their kind and the seed."""

from __future__ import annotations

import asyncio
from random import Random
from typing import get_args

import pytest
from mutations import Kind, mutate, names_in

from deep_research.core.evidence.checking.source_text import SourceText
from deep_research.core.evidence.citations.citing import numbered_draft
from deep_research.core.evidence.citations.drafts.fix import clean_draft
from deep_research.core.evidence.citations.labels import labels
from deep_research.core.evidence.citations.rendering import with_marks
from deep_research.core.records.report import ClaimCheck
from deep_research.core.records.research import Run
from deep_research.core.records.sources import Source
from deep_research.core.run.context import Context
from deep_research.core.run.events.call import SilentEvents
from deep_research.core.run.events.log import Emitter
from deep_research.core.run.events.packets import Placement
from deep_research.core.writing.examination import Examination
from deep_research.core.writing.fill_in import Filler

TEXTS = {
    "light": "The Skerry Light was lit for the first time on 3 May 1844. The tower stands 38 metres above the rock. "
    "Its lamp could be seen from a distance of 29 kilometres in clear weather. The builders were not allowed to blast "
    "the rock near the harbour.",
    "keeper": "Ada Moran kept the Skerry Light from 1901 to 1932. She was born in Tralee and had trained as a nurse in "
    "Dublin. Her brother Fergus Moran was drowned in 1911 while he was fishing off Port Anlow. She earned 84 pounds a "
    "year.",
    "harbour": "The harbour of Port Anlow was dredged in 1956 to a depth of 7 metres. About 2,400 people live in the "
    "town today. The ferry to the mainland sails twice a day and takes 45 minutes. Hugh Tiernan designed the new pier.",
}
KEYS = tuple(TEXTS)
SENTENCES = [
    (number, f"{sentence.rstrip('.')}.")
    for number, text in enumerate(TEXTS.values(), 1)
    for sentence in text.split(". ")
]
REPORT = " ".join(f"{sentence} [{number}]" for number, sentence in SENTENCES)
LEAST = 0.8
"""Share of the faults of each kind that have to be found."""


def examined(text: str) -> tuple[str, tuple[ClaimCheck, ...]]:
    """A report as it is handed over, and what was found; no model is asked."""
    numbered = {
        number: Source(key=key, title=key, location=key, address=key, kind="document", number=number)
        for number, key in enumerate(KEYS, 1)
    }
    cleaned = clean_draft(text, numbered)
    words, sources = numbered_draft(cleaned.text, dict(enumerate(KEYS, 1)))
    context, place = Context(models="extractive"), Placement(turn_index=0)
    run = Run(id="q", question="q", date="", language="", is_resumable=False, version="0")
    filler = Filler(context, run, SilentEvents(Emitter(lambda _: None), place), place)
    texts = {key: [SourceText(key, own)] for key, own in TEXTS.items()}
    known = {one.key: one for one in numbered.values()}
    found = asyncio.run(Examination(words, sources, texts, known, context, filler, "en").examine())
    return with_marks(found.text, found.claims, labels("en"))


def spoilt(kind: str, number: int, sentence: str, random: Random) -> str | None:
    """A sentence of the report with a fault of this kind; none if it cannot have one."""
    if kind == "source":
        return f"{sentence} [{random.choice([other for other in (1, 2, 3) if other != number])}]"
    changed = mutate(kind, sentence, random, names_in(" ".join(TEXTS.values())))  # type: ignore[arg-type] # told apart above
    return changed and f"{changed} [{number}]"


def is_found(number: int, sentence: str, new: str) -> bool:
    """Whether the sentence with the fault is not taken for supported."""
    text, claims = examined(REPORT.replace(f"{sentence} [{number}]", new))
    words = new.split(" [")[0]
    hits = [one for one in claims if text[one.start : one.end].startswith(words)]
    return any(one.verdict != "supported" for one in hits)


@pytest.mark.parametrize("seed", [1, 2])
@pytest.mark.parametrize("kind", get_args(Kind))
def test_faults_of_every_kind_are_found(kind: str, seed: int) -> None:
    random = Random(seed)
    faults = [(number, sentence, spoilt(kind, number, sentence, random)) for number, sentence in SENTENCES]
    results = [is_found(number, sentence, new) for number, sentence, new in faults if new]
    assert len(results) >= 3
    assert sum(results) / len(results) >= LEAST


def test_what_is_true_is_not_touched() -> None:
    text, claims = examined(REPORT)
    assert text == REPORT
    assert {one.verdict for one in claims} == {"supported"}
