"""Decides which language a question is answered in."""

from __future__ import annotations

import asyncio
from collections.abc import Sequence

from langchain_core.messages import AnyMessage

from ..evidence.text.language import language_of
from ..reading.language_names import Language, named_language
from ..run.conversation import words_since_report
from ..state import Entry, Run

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
    code = next((code for text in texts if (code := language_of(text))), "")
    return named_language(code) if code else None
