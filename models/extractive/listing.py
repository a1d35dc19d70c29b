"""Questions that want a list, and the sentences that are its items."""

from __future__ import annotations

import re

from .answers import ORDERS_LIST
from .pool import Pool, Sentence

MOST_ITEMS = 10
NEAR_BEST = 0.6
"""Share of the best item's weight that the others must have."""
_PLURAL = r"(?:(?!(?:was|has|does)\b)[\w-]+[^\Wsui_]s|people|men|women|children)\b(?!['’])"
_NO_PREPOSITION = r"(?:(?!(?:of|in|on|at|to|for|from|by|with|that|who|is|was|has|does)\b)[\w-]+ )"
_COUNT = r"(?:\d+|two|three|four|five|six|seven|eight|nine|ten|all|some)\b"
# Of some words in "s" only the verb tells that they are plurals: "which ships sail", but "what causes tides".
_PLURAL_VERB = (
    r"(?:are|were|have|had|do|did|can|could|will|would|must|should|may|exist|belong|live|lie|stand|come|came|contain|"
    r"carry|run|ran|serve|make|made|sail|sank|won|lost|took|held|stood|left|went|built|sold|bought|wrote|[\w-]+ed|and|or)\b"
)
_ASKS = re.compile(
    "|".join(
        (
            ORDERS_LIST,
            rf"^\W*(?:please\s+)?name (?:me )?(?:{_COUNT}|{_NO_PREPOSITION}{{0,3}}?{_PLURAL})",
            rf"\b(?:which|what) {_NO_PREPOSITION}{{0,2}}?{_PLURAL} {_PLURAL_VERB}",
            r"^\W*(?:liste|zähle)\b",
            r"^\W*nenne?(?:n sie)? (?:mir )?(?:bitte )?(?:\d+|alle|einige|zwei|drei|vier|fünf|sechs|zehn)\b",
            r"^\W*nenne?(?:n sie)? (?:mir )?(?:bitte )?die (?:[\w-]+en )?[\w-]+(?:en|ern|eln|[^\Wsui_]s)\b",
            r"\bwelche (?:[\w-]+en )?[\w-]+ (?:gibt|gab|sind|\w{2,}en)\b",
            r"^\W*(?:énumère[rz]?|liste[rz]?)\b|\bquel(?:le)?s\b",
            r"^\W*(?:nomme|cite)[rz]? (?:\d+|les|tou(?:te)?s|deux|trois|quatre|cinq)\b",
            r"^\W*(?:enumera|lista)\b|\bcu[aá]les\b|\bqué (?!más|menos|tales)[\w-]{2,}[aeoiu]s\b",
            r"^\W*nombr[ae] (?:\d+|l[oa]s|tod[oa]s|dos|tres|cuatro|cinco)\b",
            r"^\W*(?:enumere|elenca)\b|^\W*(?:\w+ )?(?:quali|quais)\b",
            r"^\W*noem (?:\d+|alle|de [\w-]+(?:en|s))\b|\bwelke (?:[\w-]+e )?[\w-]+(?:en|s) \w{2,}n\b",
            r"\bкакие\b|^\W*(?:перечисли|назови)(?:те)? (?:\d+|все|\w+[иы]\b)",
            r"列出|哪些|列举|すべて挙げ|どんな.*がありますか",
        )
    ),
    re.IGNORECASE,
)
_WHAT_ARE = re.compile(
    rf"\bwhat (?:are|were) (?:all\b|{_NO_PREPOSITION}{{0,3}}?{_PLURAL})|\bwas (?:sind|waren) (?:die|alle)\b",
    re.IGNORECASE,
)
_OF_ALL = re.compile(
    r"\b(?:of|in|on|at|to|for|from|by|with|about|like|called|named|made|worth|gemacht|gebaut|genannt)\W*$",
    re.IGNORECASE,
)
"""At the end of a question for one thing of many: "What are the pillars made of?"."""


def asks_for_list(question: str) -> bool:
    """Whether a question wants all things of a kind."""
    wants_what_they_are = _WHAT_ARE.search(question) is not None and _OF_ALL.search(question) is None
    return wants_what_they_are or _ASKS.search(question) is not None


def items(pool: Pool) -> list[Sentence]:
    """The sentences that fit about as well as the best one, by their words and titles, in the documents' order.

    None if only one does: it alone is no list.
    """
    weights = {one: pool.weight(one.held) for one in pool.sentences}
    least = NEAR_BEST * max(weights.values(), default=0.0)
    fitting = sorted((one for one in weights if weights[one] >= least > 0), key=lambda one: -weights[one])
    kept = fitting[:MOST_ITEMS]
    return [one for one in pool.sentences if one in kept] if len(kept) > 1 else []
