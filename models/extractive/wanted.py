"""What kind of thing a question wants, by the word that it asks with, and whether a unit holds such a thing."""

from __future__ import annotations

import re
from typing import Literal

from ...evidence.text.months import sure_month_names
from ...evidence.text.words import names, tokens

Kind = Literal["number", "date", "person", "place", "any"]
_ASKED: dict[Kind, str] = {
    "number": "how many|how much|how (?:long|old|high|large|big|far|tall|often|fast|deep|wide|heavy|loud)|"
    "wie ?viele?|wie (?:lange?|hoch|groß|oft|teuer|schnell|weit|alt)|combien|cu[aá]nt[oa]s?|quant[oaie]|hoeveel|"
    "сколько",
    "date": "when|(?:what|which) (?:year|date|day|month)|wann|quand|cu[aá]ndo|quando|wanneer|когда",
    "person": "who|whom|whose|wer|wem|wen|wessen|qui|qui[eé]n(?:es)?|chi|quem|кто|кого",
    "place": "where|woher|wohin|wo|où|d[oó]nde|dove|onde|waar|где|куда",
}
# Left out is what is a common word of another language: "was", "que", "come".
_OTHER = (
    "what|which|why|how|welche[mnrs]?|warum|weshalb|wieso|wie|quel(?:le)?s?|pourquoi|comment|qué|cu[aá]l(?:es)?|cómo|"
    "quale|quali|perch[eé]|quais|wat|welke?|waarom|hoe|что|какой|почему|как"
)
_KINDS = [(kind, re.compile(rf"(?<!\w)(?:{words})(?!\w)", re.IGNORECASE)) for kind, words in _ASKED.items()]
QUESTION_WORDS = "|".join([*_ASKED.values(), _OTHER])
"""A pattern for the words with which some languages ask."""
_ASKING = re.compile(rf"(?<!\w)(?:{QUESTION_WORDS})(?!\w)", re.IGNORECASE)
QUANTITIES = frozenset({"many", "much", "long", "often", "viele", "viel", "lange"})
"""Words that only say that an amount is wanted."""
EARLY = 30
"""Characters at the beginning of a request among which the word stands that makes it a question."""
_COUNTED = re.compile(r"\b(?:how many|wie ?viele|combien de|cu[aá]nt[oa]s|quant[ei]|hoeveel)\s+(\w+)", re.IGNORECASE)
_UNSPACED = re.compile("什么|什麼|哪|谁|誰|为何|为什么|几|多少|何|なぜ|どこ|いつ|いくつ")
_DATED = re.compile(r"\b(?:1\d|20)\d\d\b|\b\d{1,2}[./]\d{1,2}\b|\d年|\b\d{1,2}[:.h]\d\d\b")
_QUANTITY = re.compile(
    r"\d|\b(?:one|two|three|four|five|six|seven|eight|nine|ten|eleven|twelve|half|dozen|hundred|thousand|once|twice)\b",
    re.IGNORECASE,
)


def asks(text: str) -> bool:
    """Return whether a sentence is worded as a question."""
    is_marked = text.rstrip("\"'”’») ").endswith(("?", "？"))
    return bool(_ASKING.search(text if is_marked else text[:EARLY]) or _UNSPACED.search(text))


def kind_of(question: str) -> Kind:
    """Return the kind of thing that a question wants; the word that stands first decides."""
    found = [(match.start(), kind) for kind, cue in _KINDS if (match := cue.search(question))]
    other = _ASKING.search(question)
    first = min(found, default=None)
    return first[1] if first and (other is None or first[0] <= other.start()) else "any"


def counted_in(question: str) -> str:
    """Return the word for what a question wants counted, as in "how many people"; empty if it counts nothing."""
    found = _COUNTED.search(question)
    return found[1].lower() if found else ""


def holds(kind: Kind, text: str, question: str) -> bool:
    """Return whether a text holds a thing of this kind that the question does not name itself."""
    if kind == "number":
        return _QUANTITY.search(text) is not None
    if kind == "date":
        return any(
            found.group() not in question for found in _DATED.finditer(text)
        ) or not sure_month_names().isdisjoint(tokens(text))
    if kind in ("person", "place"):
        known = set(tokens(question))
        return any(
            (not known.issuperset(tokens(name)) and not text.startswith(name))
            or (" " in name and not known.issuperset(tokens(name)))
            for name in names(text)
        )
    return False
