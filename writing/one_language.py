"""Brings a report into the one language of its run."""

from __future__ import annotations

import asyncio
import re
from typing import NamedTuple

from langchain_core.messages import HumanMessage, SystemMessage
from langgraph.errors import GraphBubbleUp

from ..evidence.citations.citing import Edit, with_edits
from ..evidence.citations.markers import Marker, settle_fences
from ..evidence.citations.sanitizing import sanitized
from ..evidence.citations.scanner import scan
from ..evidence.language import foreign_sections, is_written_in
from ..evidence.text.prose import Section
from ..models.request import Request
from ..models.resolve import is_extractive
from ..prompts import render
from ..records.research import Run
from ..run.context import Context
from ..run.events.call import CallEvents
from ..run.store.pages import Pages, text_hash
from .write import write_unheard

_FIGURE = re.compile(r"(?<![^\W\d])\d+(?:[.,'’\u00a0\u202f]\d+)*(?!\w)")


async def rewrite_section(section: str, run: Run, context: Context, events: CallEvents) -> str | None:
    """The section in the run's language; none if that cannot be had, so that the draft stays.

    It is asked for once, and nothing is shown while it is written; the events bears the costs. What comes is taken only
    if it is in the language, and has the same citations and all figures of the draft. A model that only quotes is not
    asked.
    """
    if is_extractive("writer", context):
        return None
    most = context.limits.report_tokens
    system, reminder = (
        render("_rewrite_section", block, language=run.language, section=section.strip())
        for block in ("system", "reminder")
    )
    request = Request("writer", run.id, [SystemMessage(system), HumanMessage(reminder)], max_tokens=most, is_long=True)
    try:
        text, was_cut = await write_unheard(request, context, events)
    except GraphBubbleUp:
        raise
    except Exception:  # noqa: BLE001 - whatever a model raises costs this section alone
        return None
    text = text.strip()
    if was_cut or _citations(text) != _citations(section) or not _figures(text) >= _figures(section):
        return None
    if settle_fences(text) != text or await asyncio.to_thread(sanitized, text) != text:
        return None
    is_ours = await asyncio.to_thread(is_written_in, text, run.language_code)
    # What stands around it is set apart as it was.
    return section.replace(section.strip(), text) if is_ours else None


def _citations(text: str) -> set[int]:
    return {number for part in scan(text) if isinstance(part, Marker) for number in part.numbers}


def _figures(text: str) -> set[str]:
    """The numbers of a text in digits, without what parts thousands and decimals."""
    words = "".join(part for part in scan(text) if isinstance(part, str))
    return {"".join(filter(str.isdigit, figure)) for figure in _FIGURE.findall(words)}


LONGEST = 80
"""Characters of a heading, or of a beginning, that name a part in a notice."""


class InOneLanguage(NamedTuple):
    """A text, as far as it could be brought into one language."""

    text: str
    notices: tuple[str, ...]
    """Which parts are in another, in words for the reader."""


async def in_one_language(text: str, run: Run, context: Context, events: CallEvents, pages: Pages) -> InOneLanguage:
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
        new = await _written_anew(section.text, run, context, events, pages) if is_asked else None
        if new is None:
            notices.append(f"This part is not in {run.language}: {_name(section)}")
        else:
            edits.append(Edit(section.start, section.end, new))
    return InOneLanguage(with_edits(text, edits), tuple(notices))


async def _written_anew(section: str, run: Run, context: Context, events: CallEvents, pages: Pages) -> str | None:
    name = f"section {text_hash(f'{run.language}: {section}')}"
    if noted := await pages.read_note(name):
        return str(noted["text"])
    text = await rewrite_section(section, run, context, events)
    if text is not None:
        await pages.note({name: {"text": text}})
    return text


def _name(section: Section) -> str:
    words = " ".join((section.heading or section.text).split()).lstrip("# ")
    return words if len(words) <= LONGEST else f"{words[: LONGEST - 1].rstrip()}…"
