"""What kind of answer a question wants, and whether a sentence holds one."""

from __future__ import annotations

import re
from collections.abc import Callable
from typing import Literal

from deep_research.evidence.words import names

Kind = Literal["person", "date", "place", "number", "any"]

CUES: tuple[tuple[Kind, str], ...] = (
    (
        "number",
        r"how (?:many|much|old|long|far|tall|high|large|big|deep|often)|what (?:number|percentage|population|share)",
    ),
    ("number", r"wie ?viele?|combien|cu[aá]nt[oa]s?"),
    (
        "date",
        r"when|(?:what|which) (?:\w+ )?(?:year|date|day|month|decade|century)|date of|birthday|wann|quand|cu[aá]ndo",
    ),
    (
        "place",
        r"where|(?:what|which) (?:\w+ )?(?:city|town|country|state|county|place|region|area|continent|river|province)",
    ),
    ("place", r"place of|birthplace|\bwo\b|\boù\b|d[oó]nde"),
    ("person", r"who|whom|whose|\bwer\b|\bqui\b|qui[eé]n"),
)
BROAD = re.compile(
    r"\b(?:compar\w+|differ\w*|versus|vs|overview|list|pros|cons|advantages?|disadvantages?|trends?|history of|"
    r"vergleich\w*|unterschied\w*|überblick|différences?|diferencias?)\b|[?？].*[?？]|比较|区别",
    re.IGNORECASE | re.DOTALL,
)
ASKING = re.compile(
    r"\b(?:what|who|whom|whose|when|where|which|why|how|was|wer|wann|wo|wie|warum|welche[rns]?|qui|que|quel(?:le)?s?|quand|"
    r"où|comment|pourquoi|qué|quién|cuándo|dónde|cómo|cuál)\b",
    re.IGNORECASE,
)
NUMBER = re.compile(
    r"\d|\b(?:one|two|three|four|five|six|seven|eight|nine|ten|eleven|twelve|dozen|hundred|thousand|million|billion|"
    r"once|twice|half|quarter)\b",
    re.IGNORECASE,
)
DATE = re.compile(r"\b1\d{3}\b|\b20\d{2}\b|\b\d{1,4} (?:BC|AD)\b|\d年")
PLACE = re.compile(r"\b(?:in|at|from|near|of|to) (?:the )?(?:[\w-]+ of )?([A-Z][\w’'-]+)")


def is_broad(question: str) -> bool:
    """Whether more than one answer is wanted: by a comparison, a list, several questions, or a subject without one."""
    is_subject = not question.rstrip().endswith(("?", "？")) and not ASKING.search(question)
    return is_subject or BROAD.search(question) is not None


def kind_of(question: str) -> Kind:
    """The kind of answer that the question asks for; the cue that stands first decides."""
    found = [
        (match.start(), place, kind)
        for place, (kind, cue) in enumerate(CUES)
        if (match := re.search(rf"\b(?:{cue})\b", question, re.IGNORECASE))
    ]
    return min(found)[2] if found else "any"


def without_cues(question: str) -> str:
    """The question without the words that tell the kind of answer: they need not stand where the answer does."""
    return re.sub(rf"\b(?:{'|'.join(cue for _, cue in CUES)})\b", " ", question, flags=re.IGNORECASE)


def holds(kind: Kind, sentence: str, known: str) -> bool:
    """Whether the sentence holds something of that kind that the text `known`, the question, does not."""
    checks: dict[Kind, Callable[[], bool]] = {
        "any": lambda: False,
        "number": lambda: bool(NUMBER.search(sentence)),
        "date": lambda: any(match.group() not in known for match in DATE.finditer(sentence)),
        "place": lambda: any(match.group(1) not in known for match in PLACE.finditer(sentence)),
        "person": lambda: any(" " in name and name.lower() not in known.lower() for name in names(sentence)),
    }
    return checks[kind]()
