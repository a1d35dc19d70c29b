"""Decides the report's language before the run, and has sections in another language rewritten."""

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

from ...prompts import render_prompt
from ..dialogue.conversation import Conversation
from ..errors import UnknownSetting, log_failure
from ..events.call import CallEvents
from ..evidence.citations.citing import Edit, with_edits
from ..evidence.citations.markers import marker_numbers, replace_markers, settle_fences
from ..evidence.citations.sanitizing import sanitized
from ..evidence.text.language import detect_language, foreign_sections, is_written_in
from ..evidence.text.words import UNSPACED
from ..models.request import Request
from ..models.resolve import RoleModels
from ..records.research import Entry, Run
from ..settings.context import Context
from ._outline import Outline
from .write import write_silently

_MAIN_CODES = {"nb": "no", "fil": "tl"}
"""Language codes of variants, with the codes that we use instead."""
_FURTHER_NAMES = {
    "bahasa": "id",
    "castellano": "es",
    "farsi": "fa",
    "hochdeutsch": "de",
    "mandarin": "zh",
}
"""Common language names that babel lacks."""
_NO_LANGUAGE = {"mul", "und", "zxx"}
"""Codes that mean several languages, an unknown one, or none."""
_UNSPACED = re.compile(f"[{UNSPACED}]")
_FIGURE = re.compile(r"(?<![^\W\d])\d+(?:[.,'’\u00a0\u202f]\d+)*(?!\w)")
HEADING_IN_NOTICE = 80
"""Maximum characters of a section's heading (or first words) in the notice on a section in another
language."""


class Language(NamedTuple):
    """A language, for prompts and checks."""

    name: str
    """English name if known, such as "German"."""
    code: str
    """ISO 639-1 code such as "de"; empty if the language has none or is unknown."""

    @classmethod
    def named(cls, words: str) -> Language:
        """Find a language by code ("de", "zh-Hans") or by name in any language.

        Raises `UnknownSetting`. A single word must be a code or a name; several words ("plain
        English for children") may also be free text for the prompts, which has no code. The first
        lookup of a non-English name takes a second or two.
        """
        wanted = " ".join(words.split())
        language = _by_code(wanted) or _by_name(wanted.casefold())
        if language is not None:
            return language
        # Words cannot be counted in scripts without spaces.
        if " " not in wanted and not _UNSPACED.search(wanted):
            raise UnknownSetting(
                f"{wanted!r} is not a known language (setting language): give a code or a name, "
                "such as 'de' or 'German', or describe the language in several words, such as "
                "'plain English for children'."
            )
        return cls(wanted, "")

    @classmethod
    async def decide(
        cls, wanted: str, messages: Sequence[AnyMessage], entry: Entry, before: Run
    ) -> Language:
        """Return the `wanted` language, or else the question's language if it can be detected.

        Fallbacks: the language of the user's text since the last report, that of the thread's last
        run, `_UNDECIDED`.
        """
        # In a thread, because both libraries read data from disk.
        texts = Conversation(messages).question_texts
        language = await asyncio.to_thread(_find_language, wanted, texts, entry)
        if language is not None:
            return language
        if before.id:
            return cls(before.language, before.language_code)
        return _UNDECIDED

    @classmethod
    async def of_report(cls, text: str, run: Run) -> Language:
        """Return the language of a report; if it cannot be detected, that of the run."""
        code = await asyncio.to_thread(detect_language, text)
        return cls.named(code) if code else cls(run.language, run.language_code)

    @staticmethod
    def check(wanted: str) -> tuple[str, ...]:
        """Return warnings about the setting `language`; raise `UnknownSetting` if it is invalid."""
        if not wanted.strip():
            return ()
        language = Language.named(wanted)
        if language.code:
            return ()
        return (
            f"The models are asked to write in {language.name!r}, but the result is not checked, "
            "and fixed headings (such as that of the list of sources) are in English.",
        )


def check_writing(context: Context) -> tuple[str, ...]:
    """Return notices on the settings `language` and `outline`; raises `UnknownSetting`."""
    return (*Language.check(context.language), *Outline.check(context))


def _by_name(name: str) -> Language | None:
    """Return the language with this name in any language, in lower case; None if there is none."""
    english = {known.casefold(): code for code, known in reversed(_english().items())}
    code = english.get(name) or _FURTHER_NAMES.get(name) or _names().get(name)
    if not code:
        return None
    return _by_code(code)


def _by_code(tag: str) -> Language | None:
    """Return the language of a code such as "de" or "zh_TW"; None if there is none."""
    try:
        given, territory, script, *_ = parse_locale(tag.replace("_", "-"), sep="-")
    except ValueError:
        return None
    language = get_global("language_aliases").get(given, given)
    if language == "zh" and territory in ("TW", "HK", "MO"):
        script = script or "Hant"
    # The narrowest name: "zh_Hant" before "zh".
    name = ""
    for part in (script, territory):
        if part and not name:
            name = _english().get(f"{language}_{part}", "")
    name = name or _english().get(language, "")
    if not name or language in _NO_LANGUAGE:
        return None
    code = _MAIN_CODES.get(language, language)
    if len(code) != 2:
        code = ""
    return Language(name, code)


@cache
def _english() -> dict[str, str]:
    """Return the English names of languages by code."""
    return dict(Locale("en").languages)


@cache
def _names() -> dict[str, str]:
    """Return language codes by name in any language; native names (*Deutsch*) take precedence."""
    names = dict[str, str]()
    native = dict[str, str]()
    for code in localedata.locale_identifiers():
        if len(code) != 2:
            continue
        languages = Locale(code).languages
        for tag, name in languages.items():
            names.setdefault(name.casefold(), tag)
        if code in languages:
            native[languages[code].casefold()] = code
    return names | native


_UNDECIDED = Language("the language of the request", "")
"""Used if the request is too short to detect its language, so the model decides."""


def _find_language(wanted: str, said: Sequence[str], entry: Entry) -> Language | None:
    """Return the `wanted` language, or else the language of the user's text; None if unknown."""
    if wanted.strip():
        return Language.named(wanted)
    question = said[-1]
    if entry == "answer":
        # A reply to a clarifying question is in the language of the user's first message.
        question = said[0]
    code = detect_language(question) or detect_language("\n".join(said))
    if not code:
        return None
    return Language.named(code)


async def rewrite_section(
    section: str, run: Run, context: Context, events: CallEvents
) -> str | None:
    """Ask the writer's model once to rewrite a section in the run's language.

    Returns None if that fails: the result must be in that language and have the same citations and
    all figures. It is not emitted; adds costs to the bill of `events`.
    """
    values = {"language": run.language, "section": section.strip()}
    messages: list[AnyMessage] = [
        SystemMessage(render_prompt("_rewrite_section", "system", **values)),
        HumanMessage(render_prompt("_rewrite_section", "reminder", **values)),
    ]
    max_tokens = context.limits.report_tokens
    request = Request("writer", run.id, messages, max_tokens=max_tokens, is_long=True)
    try:
        text, was_cut = await write_silently(request, context, events)
    except GraphBubbleUp:
        raise
    except Exception as error:  # noqa: BLE001 - any error of a model costs only this section
        log_failure(
            __name__,
            error,
            "A section could not be rewritten in %s and is left unchanged",
            run.language,
        )
        return None
    text = text.strip()
    has_same_citations = {*marker_numbers(text)} == {*marker_numbers(section)}
    if was_cut or not has_same_citations or not _figures(text) >= _figures(section):
        return None
    if settle_fences(text) != text or await asyncio.to_thread(sanitized, text) != text:
        return None
    if not await asyncio.to_thread(is_written_in, text, run.language_code):
        return None
    # Keep the blank lines around the section.
    return section.replace(section.strip(), text)


def _figures(text: str) -> set[str]:
    """Return the numbers in a text as digits only, without separators."""
    return {
        "".join(filter(str.isdigit, figure))
        for figure in _FIGURE.findall(replace_markers(text, ""))
    }


async def into_one_language(
    text: str, run: Run, context: Context, events: CallEvents
) -> tuple[str, tuple[str, ...]]:
    """With `verify="repair"`, rewrite sections that are not in the run's language.

    At most `max_rewrites` are rewritten. Returns the text, and notices for the reader about
    sections that are still in another language. Reports by the extractive model are not changed,
    since they quote documents in their own languages.
    """
    if RoleModels(context).is_extractive("writer"):
        return text, ()
    rewrites_left = 0
    if context.verify == "repair":
        rewrites_left = context.limits.max_rewrites
    edits = list[Edit]()
    notices = list[str]()
    for section in await asyncio.to_thread(foreign_sections, text, run.language_code):
        new = None
        if rewrites_left > 0:
            rewrites_left -= 1
            new = await rewrite_section(section.text, run, context, events)
        if new is None:
            name = _shortened_heading(section.heading or section.text)
            notices.append(f"This part is not in {run.language}: {name}")
        else:
            edits.append(Edit(section.start, section.end, new))
    return with_edits(text, edits), tuple(notices)


def _shortened_heading(text: str) -> str:
    """Return a section's heading, or its first words, as shown in a notice."""
    words = " ".join(text.split()).lstrip("# ")
    if len(words) <= HEADING_IN_NOTICE:
        return words
    return f"{words[: HEADING_IN_NOTICE - 1].rstrip()}…"
