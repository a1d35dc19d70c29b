"""Full-text search of runs: in their names, questions, answers and reports."""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import Any

from ...core.dialogue.conversation import mark_of, safe_text
from ...core.errors import log_failure
from ..runs import RunBook, ThreadNotes

_KEPT_CHARACTERS = 30_000_000
"""Maximum length of all texts that are kept in memory."""
_BEFORE, _AFTER = 40, 100
"""Characters of an excerpt before and after the word that was found."""
_SIGNS = re.compile(r"\[(?:calc )?\d+(?:, ?\d+)*\]|\]\([^)\s]*\)|[#*|`\[\]]+|:?-{3,}:?")
"""Matches what Markdown adds to the words of a report."""


class RunTexts:
    """The texts of runs; a text is read again only after its run has changed."""

    def __init__(self) -> None:
        self._kept: dict[str, tuple[Any, str]] = {}
        """Version and text by thread; the thread that was asked for last is the last."""
        self._characters = 0
        """Length of the texts in `_kept`."""

    async def read(self, book: RunBook, thread: str, version: Any) -> str:
        """Return the name of a run and all its messages, such as questions and reports."""
        kept_version, text = self._kept.get(thread, (None, ""))
        if kept_version != version:
            text = await _messages(book, thread)
        self.forget(thread)
        self._kept[thread] = (version, text)
        self._characters += len(text)
        while self._characters > _KEPT_CHARACTERS:
            self.forget(next(iter(self._kept)))
        notes = await ThreadNotes(book.database.store, thread).read()
        return f"{notes.get('label', '')} {text}"

    def forget(self, thread: str) -> None:
        """Drop the text of a run, if it is kept."""
        _, text = self._kept.pop(thread, (None, ""))
        self._characters -= len(text)


async def _messages(book: RunBook, thread: str) -> str:
    """Return the title and the messages of a run on one line; empty if it cannot be read."""
    try:
        stored = await book.read(thread)
    except Exception as error:  # noqa: BLE001 - an unreadable run must not hide others
        log_failure(__name__, error, "The run %s cannot be read", thread)
        return ""
    texts = [stored.title]
    for message in stored.state.messages:
        if mark_of(message) != "draft":
            texts.append(message.text)
    plain = _SIGNS.sub(" ", safe_text("\n".join(texts)))
    return " ".join(plain.split())


def contains(text: str, words: Sequence[str]) -> bool:
    """Whether a text contains all words, which are casefolded."""
    folded = text.casefold()
    return all(word in folded for word in words)


def excerpt(text: str, words: Sequence[str], names: Sequence[str]) -> str:
    """Return the text around the first word that is in none of a run's names; empty if all are."""
    shown = " ".join(names)
    for word in words:
        found = re.search(re.escape(word), text, re.IGNORECASE)
        if contains(shown, [word]) or not found:
            continue
        before = text[: found.start()][-_BEFORE:]
        after = text[found.start() :][:_AFTER]
        return f"…{before.partition(' ')[2]}{after.rpartition(' ')[0] or after}…"
    return ""


run_texts = RunTexts()
"""The texts of this process's runs."""
