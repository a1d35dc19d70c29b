"""Has a model say what was found since a report was written adds to it."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

from ...prompts import fenced_knowledge
from ..records.sources import Source
from .fill_in import Filler
from .forms import RecordAdditions

MOST = 12
"""Things of which a model is asked."""
CHARACTERS = 1500
"""Characters that are shown of each."""


class Found(NamedTuple):
    """Something that was found since."""

    source: Source
    passages: tuple[str, ...]
    """What it says that was not there before."""


async def ask_additions(question: str, report: str, found: Sequence[Found], filler: Filler) -> dict[int, str] | None:
    """Return what each of the first `MOST` adds, in a sentence, by its place; what adds nothing is left out.

    None means that the model did not answer.
    """
    shown = [
        {
            "number": number,
            "title": one.source.title,
            **({"date": one.source.date} if one.source.date else {}),
            "passages": "\n".join(one.passages)[:CHARACTERS],
        }
        for number, one in enumerate(found[:MOST], 1)
    ]
    knowledge = fenced_knowledge(question=question, report=report, found=shown)
    form = await filler.ask_if_possible(
        RecordAdditions, "verifier", "verify_report", (), asked="additions", knowledge=knowledge
    )
    if form is None:
        return None
    return {
        one.number - 1: " ".join(one.adds.split())
        for one in form.additions
        if 0 < one.number <= len(shown) and one.adds.strip()
    }
