"""Names of languages: from what a user writes to the language that is meant."""

from __future__ import annotations

from functools import cache
from typing import NamedTuple

from babel import Locale, localedata
from babel.core import get_global, parse_locale

COVERING = {"nb": "no", "fil": "tl"}
"""Codes that are told by another one."""


class Language(NamedTuple):
    """A language, as prompts and checks know it."""

    name: str
    """In English, where it is known: "German"."""
    code: str
    """ISO 639-1: "de"; empty if the language is not known."""


def named_language(words: str) -> Language:
    """The language that is meant by a code ("de", "zh-Hans") or by its name, in English or in the language itself.

    What names no language is taken as it is, without a code: a prompt can carry it, a check cannot. The first name that
    is not English takes a second or two.
    """
    wanted = " ".join(words.split())
    return _by_code(wanted) or _by_name(wanted.casefold()) or Language(wanted, "")


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
    return Language(name, code) if name and len(code) == 2 else None


def _by_name(name: str) -> Language | None:
    english = {known.casefold(): tag for tag, known in reversed(_english().items())}
    tag = english.get(name) or _own_names().get(name)
    return _by_code(tag) if tag else None


@cache
def _english() -> dict[str, str]:
    return dict(Locale("en").languages)


@cache
def _own_names() -> dict[str, str]:
    """Codes by the names that languages have for themselves."""
    own = {}
    for code in localedata.locale_identifiers():
        if len(code) == 2 and (name := Locale(code).languages.get(code)):
            own[name.casefold()] = code
    return own
