"""Has a part of the report that is in another language written anew in the language of the run."""

from __future__ import annotations

import asyncio
import re

from langchain_core.messages import HumanMessage, SystemMessage
from langgraph.errors import GraphBubbleUp

from ..evidence.citations.markers import Marker
from ..evidence.citations.protected import settle_fences
from ..evidence.citations.sanitizing import sanitized
from ..evidence.citations.scanner import scan
from ..evidence.text.language import is_written_in
from ..models.request import Request
from ..models.resolve import is_extractive
from ..prompts import render
from ..run.context import Context
from ..run.telling import Teller
from ..state import Run
from .write_unheard import write_unheard

_FIGURE = re.compile(r"(?<![^\W\d])\d+(?:[.,'’\u00a0\u202f]\d+)*(?!\w)")


async def rewrite_section(section: str, run: Run, context: Context, teller: Teller) -> str | None:
    """The section in the run's language; none if that cannot be had, so that the draft stays.

    It is asked for once, and nothing is shown while it is written; the teller bears the costs. What comes is taken only
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
        text, was_cut = await write_unheard(request, context, teller)
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
