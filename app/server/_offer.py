"""Choices and example questions for the first view of the web page."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Sequence
from contextlib import suppress
from itertools import combinations
from pathlib import Path
from typing import Any, get_args

from ...core.accounts.ledger import FinishedRuns
from ...core.errors import DeepResearchError, UserMistake
from ...core.events.tracing import traced_to
from ...core.library.attachments import MOST_ATTACHMENTS
from ...core.library.library import DocumentOutline, Library
from ...core.models.resolve import RoleModels, profile_of
from ...core.reading.documents.records import SAVED_AS, readable_suffixes
from ...core.records.research import Depth, Strategy
from ...core.settings.context import ROLES, Context, engine_name
from ...core.store.pages import Pages
from ...tools.run_engines import SearchEngines
from ..exports.formats import export_formats
from ..words import GRAPHS, in_words, usual_cost_words
from .users import server_settings

_FOLDERS = 200
"""Maximum number of subfolders offered for selection."""
_EXAMPLES = 3
"""Maximum number of example questions."""
_GENERAL = (
    "What are the main points of “{}”?",
    "Which figures does “{}” state, and what for?",
    "What does “{}” leave open?",
)
"""Example questions about any document, asked about one after the other."""
_LIKE = 0.3
"""Title similarity (`_likeness`) above which an example question compares two documents."""
_DEPTHS: tuple[Depth, ...] = ("quick", "standard", "deep")
_STRATEGY: Strategy = "orchestrated"
"""Depths and strategy for which usual costs are shown."""


def offer_to(user: str, context: Context) -> dict[str, Any]:
    """Return what a user may choose within the operator's settings, and what a run would use;
    blocks."""
    files = 0
    outlines = list[DocumentOutline]()
    engines = list[str]()
    has_model = may_edit = True
    fault = model = ""
    try:
        for root in Library(context).outlines():
            files += root.files
            outlines += root.documents
        chosen = (*SearchEngines(context).chosen(), *SearchEngines(context).fallback())
        has_model = not all(RoleModels(context).is_extractive(role) for role in ROLES)
        may_edit = not RoleModels(context).is_extractive("writer")
        if may_edit:
            model = profile_of("writer", context).name
        engines = [engine.title for engine in chosen]
    except (OSError, DeepResearchError) as error:
        fault = str(error)
    formats = list[dict[str, str]]()
    for name, export_format in export_formats().items():
        formats.append({"name": name, "label": export_format.label})
    return {
        "user": user,
        "graphs": GRAPHS,
        "docs": [_folder(path) for path in context.docs],
        "engines": [engine_name(engine) for engine in context.engines or ()],
        "models": list(context.allow_models),
        "depths": get_args(Depth),
        "depth": context.depth,
        "tracing": traced_to() if context.tracing else "",
        "formats": formats,
        "uses": {
            "files": files,
            "engines": engines,
            "model": model,
            "has_model": has_model,
            "fault": fault,
        },
        "may_edit": may_edit,
        "attach": _attachable(context),
        "examples": _examples(outlines),
    }


async def usual_costs(pages: Pages, context: Context) -> dict[str, dict[Depth, str]]:
    """Return what the user's runs usually cost (`costs`) and how long they take (`times`), in
    words, by depth; without depths at which too few have finished.

    Both are empty if no usable model is configured.
    """
    costs = dict[Depth, str]()
    times = dict[Depth, str]()
    with suppress(UserMistake):
        models = RoleModels(context).names()
        for depth in _DEPTHS:
            cost = await FinishedRuns(pages, _STRATEGY, depth, models).usual_cost()
            if cost:
                costs[depth] = usual_cost_words(cost)
                times[depth] = in_words(cost.median_seconds)
    return {"costs": costs, "times": times}


def _attachable(context: Context) -> dict[str, Any]:
    """Return which files can be attached, so that clients can refuse others before they are
    sent."""
    return {
        "suffixes": sorted(readable_suffixes()),
        "saved_as": SAVED_AS,
        "file_bytes": context.limits.max_document_bytes,
        "request_bytes": server_settings().body_bytes,
        "files": MOST_ATTACHMENTS,
    }


def _examples(documents: Sequence[DocumentOutline]) -> list[str]:
    """Return up to `_EXAMPLES` questions: how the two documents with the most similar titles
    differ, then others."""
    questions = list[str]()
    compared: Sequence[DocumentOutline] = ()
    pair = max(combinations(documents, 2), key=lambda pair: _likeness(*pair), default=None)
    if pair and _likeness(*pair) > _LIKE:
        compared = pair
        questions.append(f"How do “{pair[0].title}” and “{pair[1].title}” differ?")
    documents_with = Counter[str]()
    for document in documents:
        documents_with.update(set(document.headings))
    general = list[str]()
    about_headings = list[str]()
    for document in dict.fromkeys(documents):
        any_question = _GENERAL[len(general) % len(_GENERAL)].format(document.title)
        general.append(any_question)
        about = list[str]()
        for heading in document.headings:
            # Headings found in several documents, such as "Notes", do not name a subject.
            if documents_with[heading] == 1:
                about.append(f"What does “{document.title}” say about {heading}?")
        about_headings += about
        if document not in compared:
            # A document's only heading is often just "Remarks".
            questions.append(about[0] if len(about) > 1 else any_question)
    return list(dict.fromkeys([*questions, *general, *about_headings]))[:_EXAMPLES]


def _likeness(first: DocumentOutline, second: DocumentOutline) -> float:
    """Return the share of words that two titles have in common, from 0 to 1; 0 for equal titles."""
    words = set(re.findall(r"\w+", first.title.casefold()))
    others = set(re.findall(r"\w+", second.title.casefold()))
    if words == others:
        return 0.0
    return len(words & others) / len(words | others)


def _folder(path: Path) -> dict[str, Any]:
    """Return the name of one of the operator's folders or files, and the names of its visible
    subfolders."""
    folders = list[str]()
    for folder in path.iterdir() if path.is_dir() else ():
        if folder.is_dir() and not folder.name.startswith("."):
            folders.append(folder.name)
    return {"name": path.name, "folders": sorted(folders)[:_FOLDERS]}
