"""Finds documents that a question or text mentions, by their titles or the names in them."""

from __future__ import annotations

import re

from .words import STOP_WORDS, stem_run

WHOLE_TITLE = 1.0
SUBJECT_ONLY = 0.7
"""For a question that contains the title without its remark: "Velm" for "Velm (river)"."""
_REMARK = re.compile(r"\s*(?:\([^)]*\)|,.*)$")


def subject_of(title: str) -> str:
    """Return the title without a remark in brackets or after a comma."""
    return _REMARK.sub("", title) or title


def title_match(title: str, question: str, run: str) -> float:
    """Return how well a question mentions a title: 1 for all of it, less for its main part, else 0.

    Args:
        title: A document's title.
        question: A question; a title's main part counts only with the same capitals, and in any form of its last word.
        run: The question as `stem_run` reads it.
    """
    if _is_in(stem_run(title), run):
        return WHOLE_TITLE
    subject = subject_of(title)
    found = _is_in(stem_run(subject), run) and re.search(rf"(?<!\w){re.escape(subject)}", question)
    return SUBJECT_ONLY if found else 0.0


def mentions(text: str, name: str) -> bool:
    """Whether the text contains the name as whole words, with its capitals."""
    return len(name) > 2 and name in text and re.search(rf"(?<!\w){re.escape(name)}(?!\w)", text) is not None


def _is_in(title: str, question: str) -> bool:
    return len(title) > 3 and title in question and not STOP_WORDS.issuperset(title.split())
