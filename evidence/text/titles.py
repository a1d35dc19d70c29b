"""How texts and questions mention a document: by its title, or by the name that the title begins with."""

from __future__ import annotations

import re

from .words import STOP_WORDS, stem_run

WHOLE_TITLE = 1.0
SUBJECT_ONLY = 0.7
"""What it counts if the question holds the title without its remark, as in "Velm" for "Velm (river)"."""
_REMARK = re.compile(r"\s*(?:\([^)]*\)|,.*)$")


def subject_of(title: str) -> str:
    """The title without a remark in brackets or after a comma: the name under which others mention the document."""
    return _REMARK.sub("", title) or title


def title_match(title: str, question: str, run: str) -> float:
    """1 if the question holds the title, less if only its main part, else 0.

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
    """Whether the text holds the name as whole words, capitals included."""
    return len(name) > 2 and name in text and re.search(rf"(?<!\w){re.escape(name)}(?!\w)", text) is not None


def _is_in(title: str, question: str) -> bool:
    return len(title) > 3 and title in question and not STOP_WORDS.issuperset(title.split())
