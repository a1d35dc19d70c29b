"""Decides which language a question is answered in, and knows languages by their names."""

from __future__ import annotations

import asyncio
import re
from collections.abc import Sequence
from functools import cache
from typing import NamedTuple

from babel import Locale, localedata
from babel.core import get_global, parse_locale
from langchain_core.messages import AnyMessage

from ..evidence.language import detect_language
from ..evidence.text.words import UNSPACED
from ..records.research import Entry, Run
from ..run.conversation import words_since_report
from ..run.errors import UnknownSetting

COVERING = {"nb": "no", "fil": "tl"}
"""Codes that are told by another one."""
FURTHER_NAMES = {"bahasa": "id", "castellano": "es", "farsi": "fa", "hochdeutsch": "de", "mandarin": "zh"}
"""Names in use that babel does not have."""
NO_LANGUAGE = {"mul", "und", "zxx"}
"""Codes for several languages, for an unknown one and for none."""
_UNSPACED = re.compile(f"[{UNSPACED}]")


class Language(NamedTuple):
    """A language, as prompts and checks know it."""

    name: str
    """In English, where it is known: "German"."""
    code: str
    """ISO 639-1: "de"; empty if the language has none, or is not known."""


def named_language(words: str) -> Language:
    """The language that is meant by a code ("de", "zh-Hans") or by its name in any language; raises `UnknownSetting`.

    Several words that name no language ("plain English for children") are taken as they are, without a code: a prompt
    can carry them, a check cannot. A single word has to be a code or a name. The first name that is not English takes a
    second or two.
    """
    wanted = " ".join(words.split())
    language = _by_code(wanted) or _by_name(wanted.casefold())
    if language is None and not _is_wording(wanted):
        raise UnknownSetting(
            f"{wanted!r} is no language that is known (setting language): give a code or a name, such as 'de' or "
            "'German', or say in several words what is wanted, such as 'plain English for children'."
        )
    return language or Language(wanted, "")


def _is_wording(wanted: str) -> bool:
    """Whether these may be several words; scripts without spaces do not tell."""
    return " " in wanted or bool(_UNSPACED.search(wanted))


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
    """Codes by the names that languages have in any language; of two with one name, that which says it itself."""
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


async def decide_language(wanted: str, messages: Sequence[AnyMessage], entry: Entry, before: Run | None) -> Language:
    """The language that is `wanted`; if none is, that of the question's own words, if these tell it.

    Else what the user said since the last report tells it together, or the thread's run `before` had it.
    """
    said = words_since_report(messages)
    # A message that answers a question back belongs to the question before it.
    texts = [said[0 if entry == "answer" else -1], "\n".join(said)]
    # Both libraries read their data from the disk.
    language = await asyncio.to_thread(_language, wanted, texts)
    return language or (Language(before.language, before.language_code) if before else UNDECIDED)


def _language(wanted: str, texts: Sequence[str]) -> Language | None:
    if wanted.strip():
        return named_language(wanted)
    code = next((code for text in texts if (code := detect_language(text))), "")
    return named_language(code) if code else None
