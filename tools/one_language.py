"""Brings a report into the one language of its run."""

from __future__ import annotations

import asyncio
from typing import NamedTuple

from ..evidence.citations.citing import Edit, with_edits
from ..evidence.text.language import foreign_sections
from ..evidence.text.prose import Section
from ..models.resolve import is_extractive
from ..run.context import Context
from ..run.pages import Pages, text_hash
from ..run.telling import Teller
from ..state import Run
from .rewrite_section import rewrite_section

LONGEST = 80
"""Characters of a heading, or of a beginning, that name a part in a notice."""


class InOneLanguage(NamedTuple):
    """A text, as far as it could be brought into one language."""

    text: str
    notices: tuple[str, ...]
    """Which parts are in another, in words for the reader."""


async def in_one_language(text: str, run: Run, context: Context, teller: Teller, pages: Pages) -> InOneLanguage:
    """Have the sections that are in another language than the run's written anew, if that is wanted; at most
    `max_rewrites` of them.

    What was written anew is kept beside the texts of the thread, so that it is not paid again after a stop. A report
    that only quotes stays as it is, and nothing is said of it: its sentences are in the languages of the documents.
    """
    if is_extractive("writer", context):
        return InOneLanguage(text, ())
    edits, notices = list[Edit](), list[str]()
    foreign = await asyncio.to_thread(foreign_sections, text, run.language_code)
    for place, section in enumerate(foreign):
        is_asked = context.verify == "repair" and place < context.limits.max_rewrites
        new = await _written_anew(section.text, run, context, teller, pages) if is_asked else None
        if new is None:
            notices.append(f"This part is not in {run.language}: {_name(section)}")
        else:
            edits.append(Edit(section.start, section.end, new))
    return InOneLanguage(with_edits(text, edits), tuple(notices))


async def _written_anew(section: str, run: Run, context: Context, teller: Teller, pages: Pages) -> str | None:
    name = f"section {text_hash(f'{run.language}: {section}')}"
    if noted := await pages.noted(name):
        return str(noted["text"])
    text = await rewrite_section(section, run, context, teller)
    if text is not None:
        await pages.note({name: {"text": text}})
    return text


def _name(section: Section) -> str:
    words = " ".join((section.heading or section.text).split()).lstrip("# ")
    return words if len(words) <= LONGEST else f"{words[: LONGEST - 1].rstrip()}…"
