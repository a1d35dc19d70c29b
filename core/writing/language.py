"""The language of a report: decided before it is written, and restored in sections that have drifted from it."""

from __future__ import annotations

import asyncio
import re
from collections.abc import Sequence
from functools import cache
from typing import NamedTuple

from babel import Locale, localedata
from babel.core import get_global, parse_locale
from langchain_core.messages import AnyMessage, HumanMessage, SystemMessage
from langgraph.errors import GraphBubbleUp

from ...prompts import render
from ..evidence.citations.citing import Edit, with_edits
from ..evidence.citations.markers import Marker, settle_fences
from ..evidence.citations.sanitizing import sanitized
from ..evidence.citations.scanner import scan
from ..evidence.language import detect_language, foreign_sections, is_written_in
from ..evidence.text.sentences import Section
from ..evidence.text.words import UNSPACED
from ..models.request import Request
from ..models.resolve import is_extractive
from ..records.research import Entry, Run
from ..run.context import Context
from ..run.conversation import words_since_report
from ..run.errors import UnknownSetting
from ..run.events.call import CallEvents
from ..run.logs import log_failure
from .write import write_silently

COVERING = {"nb": "no", "fil": "tl"}
"""Codes that another one stands for."""
FURTHER_NAMES = {"bahasa": "id", "castellano": "es", "farsi": "fa", "hochdeutsch": "de", "mandarin": "zh"}
"""Names in use that babel does not have."""
NO_LANGUAGE = {"mul", "und", "zxx"}
"""Codes for several languages, for an unknown one and for none."""
_UNSPACED = re.compile(f"[{UNSPACED}]")
_FIGURE = re.compile(r"(?<![^\W\d])\d+(?:[.,'’\u00a0\u202f]\d+)*(?!\w)")
LONGEST = 80
"""Characters of a heading, or of a beginning, that name a part in a notice."""


class Language(NamedTuple):
    """A language, as prompts and checks know it."""

    name: str
    """In English, where it is known: "German"."""
    code: str
    """ISO 639-1: "de"; empty if the language has none, or is not known."""


def named_language(words: str) -> Language:
    """Return the language of a code ("de", "zh-Hans") or of a name in any language; raises `UnknownSetting`.

    Several words that name no language ("plain English for children") are taken as they are, without a code: a prompt
    can carry them, a check cannot. A single word has to be a code or a name. The first name that is not English takes a
    second or two.
    """
    wanted = " ".join(words.split())
    language = _by_code(wanted) or _by_name(wanted.casefold())
    # Scripts without spaces do not tell whether these are several words.
    if language is None and " " not in wanted and not _UNSPACED.search(wanted):
        raise UnknownSetting(
            f"{wanted!r} is no language that is known (setting language): give a code or a name, such as 'de' or "
            "'German', or say in several words what is wanted, such as 'plain English for children'."
        )
    return language or Language(wanted, "")


def _by_code(tag: str) -> Language | None:
    try:
        given, territory, script, *_ = parse_locale(tag.replace("_", "-"), sep="-")
    except ValueError:
        return None
    language = get_global("language_aliases").get(given, given)
    code = COVERING.get(language, language)
    script = script or ("Hant" if language == "zh" and territory in ("TW", "HK", "MO") else None)
    narrower = (f"{language}_{part}" for part in (script, territory) if part)
    name = next((_english()[key] for key in (*narrower, language) if key in _english()), "")
    if not name or language in NO_LANGUAGE:
        return None
    return Language(name, code if len(code) == 2 else "")


def _by_name(name: str) -> Language | None:
    english = {known.casefold(): tag for tag, known in reversed(_english().items())}
    tag = english.get(name) or FURTHER_NAMES.get(name) or _names().get(name)
    return _by_code(tag) if tag else None


@cache
def _english() -> dict[str, str]:
    return dict(Locale("en").languages)


@cache
def _names() -> dict[str, str]:
    """Return codes by the names that languages have in any language; of two with one name, its speakers' own wins."""
    names, own = dict[str, str](), dict[str, str]()
    for code in (known for known in localedata.locale_identifiers() if len(known) == 2):
        languages = Locale(code).languages
        for tag, name in languages.items():
            names.setdefault(name.casefold(), tag)
        if code in languages:
            own[languages[code].casefold()] = code
    return names | own


UNDECIDED = Language("the language of the request", "")
"""Where names alone, or too few words, tell no language: a model reads the request itself."""


def check_language(wanted: str) -> tuple[str, ...]:
    """Refuse a setting that names no language, before any model is called; returns what the reader should know.

    Raises `UnknownSetting`.
    """
    language = named_language(wanted) if wanted.strip() else None
    if language is None or language.code:
        return ()
    return (
        f"The models are told to write in {language.name!r}; nothing checks that they do, and headings such as that of "
        "the sources are in English.",
    )


async def decide_language(wanted: str, messages: Sequence[AnyMessage], entry: Entry, before: Run) -> Language:
    """Return the `wanted` language; without one, that of the question, if its words show it.

    Else it is that of all that the user said since the last report, or that of the thread's run `before`.
    """
    said = words_since_report(messages)
    # A message that answers a question back belongs to the question before it.
    texts = [said[0 if entry == "answer" else -1], "\n".join(said)]
    # Both libraries read their data from the disk.
    language = await asyncio.to_thread(_language, wanted, texts)
    return language or (Language(before.language, before.language_code) if before.id else UNDECIDED)


def _language(wanted: str, texts: Sequence[str]) -> Language | None:
    if wanted.strip():
        return named_language(wanted)
    code = next((code for text in texts if (code := detect_language(text))), "")
    return named_language(code) if code else None


async def rewrite_section(section: str, run: Run, context: Context, events: CallEvents) -> str | None:
    """Return the section in the run's language; none if that cannot be had, so that the draft stays.

    It is asked for once, and nothing is shown while it is written; its costs go on the bill of `events`. The result is
    taken only if it is in the language and has the citations and all figures of the draft. A model that only quotes is
    not asked.
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
        text, was_cut = await write_silently(request, context, events)
    except GraphBubbleUp:
        raise
    except Exception as error:  # noqa: BLE001 - whatever a model raises costs this section alone
        log_failure(__name__, error, "A section could not be rewritten in %s and stays as it is", run.language)
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
    """Return the numbers of a text as digits, without separators of thousands and decimals."""
    words = "".join(part for part in scan(text) if isinstance(part, str))
    return {"".join(filter(str.isdigit, figure)) for figure in _FIGURE.findall(words)}


class Unified(NamedTuple):
    """A text, as far as it could be brought into one language."""

    text: str
    notices: tuple[str, ...]
    """Which parts are in another, in words for the reader."""


async def into_one_language(text: str, run: Run, context: Context, events: CallEvents) -> Unified:
    """Have at most `max_rewrites` sections that are in another language than the run's rewritten, if that is wanted.

    A report that only quotes stays as it is without a notice: its sentences are in the languages of the documents.
    """
    if is_extractive("writer", context):
        return Unified(text, ())
    edits, notices = list[Edit](), list[str]()
    foreign = await asyncio.to_thread(foreign_sections, text, run.language_code)
    for place, section in enumerate(foreign):
        is_asked = context.verify == "repair" and place < context.limits.max_rewrites
        new = await rewrite_section(section.text, run, context, events) if is_asked else None
        if new is None:
            notices.append(f"This part is not in {run.language}: {_name(section)}")
        else:
            edits.append(Edit(section.start, section.end, new))
    return Unified(with_edits(text, edits), tuple(notices))


def _name(section: Section) -> str:
    words = " ".join((section.heading or section.text).split()).lstrip("# ")
    return words if len(words) <= LONGEST else f"{words[: LONGEST - 1].rstrip()}…"
