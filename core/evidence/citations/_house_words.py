"""Finds the parts of a report that its publisher or this program wrote above and below it: they
state nothing about its subject."""

from __future__ import annotations

import re
from functools import cache
from typing import NamedTuple

from .labels import Labels, all_labels

_BLOCK = re.compile(r"\n{2,}")
_LINE_OF_HEAD = 60
"""Maximum length of a line above the text, such as a date or a name, in characters."""


class HouseWords(NamedTuple):
    """A report without the words of its publisher, and these."""

    text: str
    above: str = ""
    """Markdown; empty if there are none, as below."""
    below: str = ""


class _Patterns(NamedTuple):
    """What the words of the house look like, in all languages."""

    note: re.Pattern[str]
    """A note by the publisher."""
    warning: re.Pattern[str]
    """A warning that we put above a report."""
    notes: re.Pattern[str]
    """The heading of our notes."""
    document: re.Pattern[str]
    """The list of sources in a document by us, with the notes below it."""


def is_our_document(markdown: str) -> bool:
    """Whether a Markdown text ends with a list of sources and notes as we write them."""
    return _patterns().document.search(markdown) is not None


def split_house_words(text: str, *, is_ours: bool) -> HouseWords:
    """Return a report without the words of the house.

    These are paragraphs that say to be a note by the publisher and, in a document that we wrote
    (`is_ours`), the warnings above and the notes at the end.
    """
    patterns = _patterns()
    above = list[str]()
    below = list[str]()
    kept = list[str]()
    is_in_head = True
    is_in_notes = False
    for block in _BLOCK.split(text.strip()):
        is_in_notes = is_ours and (is_in_notes or patterns.notes.fullmatch(block) is not None)
        is_warning = is_ours and is_in_head and patterns.warning.fullmatch(block) is not None
        if is_warning or patterns.note.match(block) or is_in_notes:
            (above if is_in_head else below).append(_as_block(block, patterns))
        else:
            kept.append(block)
            is_in_head = is_in_head and _may_be_above(block)
    return HouseWords("\n\n".join(kept), "\n\n".join(above), "\n\n".join(below))


def _may_be_above(block: str) -> bool:
    """Whether a block, such as a title or a date, may be above the words of the house."""
    is_line = "\n" not in block and len(block) <= _LINE_OF_HEAD
    return block.startswith("#") or (is_line and not block.endswith((".", "]")))


def _as_block(block: str, patterns: _Patterns) -> str:
    """Return words of the house as they are in a report: a note is a quotation."""
    if block.startswith(">") or not patterns.note.match(block):
        return block
    return "\n".join(f"> {line}" for line in block.splitlines())


@cache
def _patterns() -> _Patterns:
    known = [*all_labels().values()]
    names = "|".join(re.escape(labels.house_words) for labels in known)
    notes = "|".join(re.escape(labels.notes) for labels in known)
    sources = "|".join(re.escape(labels.sources) for labels in known)
    warnings = "|".join(re.escape(words) for labels in known for words in _warnings(labels))
    return _Patterns(
        note=re.compile(rf"(?:>\s?)?(?:\*\*)?(?:{names})\s?[:：]"),
        warning=re.compile(rf"\*(?:{warnings})[^\n]*\*"),
        notes=re.compile(rf"## (?:{notes})"),
        document=re.compile(
            rf"^## (?:{sources})\n\n(?:- \[\d+\] .*\n)+\n(?:\[\d+\]: <.*>\n)*\n?## (?:{notes})\n\n"
            r"(?:- .*(?:\n|\Z))+\s*\Z",
            re.MULTILINE,
        ),
    )


def _warnings(labels: Labels) -> list[str]:
    """Return how our warnings begin in a language."""
    left_out = labels.left_out.partition("{parts}")[0]
    return [labels.not_judged, labels.no_source, labels.no_citation, left_out]
