"""Example questions for the first view that a model words from the documents' titles, headings and
figures."""

from __future__ import annotations

import asyncio
import json
from collections.abc import Sequence

from langchain_core.messages import HumanMessage

from ...core.errors import DeepResearchError, log_failure
from ...core.events.call import SilentEvents
from ...core.events.log import Emitter
from ...core.events.packets import Placement
from ...core.evidence.text.language import detect_language
from ...core.library.library import DocumentOutline, Library
from ...core.models.resolve import RoleModels
from ...core.records.research import Run
from ...core.records.sources import short_hash
from ...core.settings.context import Context
from ...core.store.pages import Pages
from ...core.writing.forms import Filler, Form
from ...core.writing.language import Language
from ...prompts import fenced_knowledge

_CHARACTERS = 4_500
"""Most characters of the documents that the model is shown."""
_HEADINGS = 6
"""Maximum number of headings shown of a document."""
_QUESTIONS = 3
_LONGEST = 200
"""Maximum length of a question in characters."""
_asking = asyncio.Lock()
"""Held while a model is asked, so that several pages that open at once ask it once."""


class SuggestQuestions(Form):
    """Hand in the questions."""

    questions: list[str]
    """Three questions, each a sentence with a question mark."""


async def model_examples(pages: Pages, context: Context) -> list[str]:
    """Return example questions about the user's documents; empty without a model or documents, or
    if the model fails.

    They are kept until the documents or the model change. `pages` are those of the user.
    """
    models = RoleModels(context)
    try:
        if models.is_extractive("clarifier"):
            return []
        shown = await asyncio.to_thread(_shown_documents, context)
        if not shown:
            return []
        name = f"examples {short_hash(*models.names(), json.dumps(shown))}"
        async with _asking:
            note = await pages.read_note(name)
            if note is None:
                note = {"questions": await _asked(shown, context)}
                await pages.note({name: note})
    except (OSError, DeepResearchError) as error:
        log_failure(__name__, error, "No example questions were worded")
        return []
    questions: list[str] = note["questions"]
    return questions


def _shown_documents(context: Context) -> list[dict[str, Sequence[str] | str]]:
    """Return what the model is shown of the documents; blocks."""
    documents = list[DocumentOutline]()
    for root in Library(context).outlines():
        documents += root.documents
    shown = list[dict[str, Sequence[str] | str]]()
    length = 0
    for document in documents:
        entry: dict[str, Sequence[str] | str] = {"title": document.title}
        if document.headings:
            entry["headings"] = document.headings[:_HEADINGS]
        if document.figures:
            entry["figures"] = document.figures
        length += len(json.dumps(entry, ensure_ascii=False))
        if length > _CHARACTERS:
            break
        shown.append(entry)
    return shown


async def _asked(shown: Sequence[dict[str, Sequence[str] | str]], context: Context) -> list[str]:
    """Have the model word questions; empty if it words too few."""
    await RoleModels(context).load()
    fitted = RoleModels(context).fitted_settings()
    words = [str(words) for entry in shown for words in entry.values()]
    language = Language.named(detect_language("\n".join(words)) or "en")
    run = Run(
        id="examples",
        question="",
        date=fitted.clock.now().strftime("%A, %d %B %Y"),
        language=language.name,
        language_code=language.code,
        is_resumable=True,
        version="",
    )
    events = SilentEvents(Emitter(lambda _: None), Placement(turn_index=0))
    filler = Filler(fitted, run, events, events.placement)
    documents = HumanMessage(fenced_knowledge(documents=shown))
    form = await filler.ask(SuggestQuestions, "clarifier", "_suggest_questions", [documents])
    questions = list[str]()
    for question in form.questions:
        line = " ".join(question.split())
        if 0 < len(line) <= _LONGEST:
            questions.append(line)
    distinct = list(dict.fromkeys(questions))[:_QUESTIONS]
    return distinct if len(distinct) == _QUESTIONS else []
