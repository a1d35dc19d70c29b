"""Questions that compare: what is compared, and what is said of each side."""

from __future__ import annotations

import re
from collections.abc import Sequence

from ...evidence.months import sure_month_names
from ...evidence.words import names, stems, tokens
from .pool import Pool, Sentence

PER_SIDE = 2
OF_SIDE = 0.6
"""Share of the words of a side that a sentence and its title must hold to speak of it."""
_AND = r"\s+(?:and|with|to|und|mit|et|avec|à|y|con|versus|vs\.?|or|oder|ou|o)\s+"
_END = r"(?=\s+(?:for|in|on|as|with|regarding|für|hinsichtlich|bei|pour|para|en)\s|\s*[,.;:?!]|\s*$)"
_SIDE = r"([^，,。：:？?、\s][^，,。：:？?]{0,20}?)"
# These characters are parts of words, too, as in 共和国 (republic).
_CHINESE_AND = r"\s*(?:(?<![共总總饱温缓])和(?![国國平谐諧睦田解])|(?<![参參给給])[与與]|跟|同)\s*"
_SIDES = (
    re.compile(
        r"\b(?:compar(?:e|ing)|comparison (?:of|between)|differences? between|between|"
        r"vergleiche?|unterschiede? zwischen|zwischen|"
        rf"compare[rz]?|différences? entre|entre|compara(?:r)?|diferencias? entre)\s+(.+?){_AND}(.+?){_END}",
        re.IGNORECASE,
    ),
    re.compile(r"(?:^|[,:]\s*)([^,:?]+?)\s+(?:versus|vs\.?)\s+([^,?]+)", re.IGNORECASE),
    re.compile(r"[,:]\s*([^,:?]+?)\s+(?:or|oder|ou|o)\s+([^,?]+?)\s*\?", re.IGNORECASE),
    re.compile(rf"(?:比较|比較|对比|對比)(?:一下)?{_SIDE}{_CHINESE_AND}{_SIDE}(?=的|[，,。？?]|$)"),
    re.compile(
        rf"{_SIDE}{_CHINESE_AND}{_SIDE}(?=之?[间間]?的?(?:区别|區別|差[异異别別]|不同|比较|比較)|"
        r"相比|有[什何]|(?<!在)哪[个個一座艘家种種]|(?<!是)[谁誰])"
    ),
    re.compile(rf"[，,：:]{_SIDE}(?:还是|還是){_SIDE}(?=[？?]|$)"),
    re.compile(
        rf"{_SIDE}(?<![ひこも])と{_SIDE}(?=を(?:比較|比べ)|の(?:違い|差|比較)|と?では?、?どちら|は、?どちら|とを)"
    ),
)
_DATING = "the of year years jahr jahren annee annees ano anos de bc ad 年 月 日"


def sides_of(question: str) -> tuple[str, ...]:
    """What a question compares, two or more names or phrases; empty if it compares nothing."""
    matches = (match.groups() for pattern in _SIDES for match in pattern.finditer(question))
    compared = next((sides for sides in matches if not all(map(_is_date, sides))), ())
    found = tuple(side for several in compared for side in several.split("、"))
    named = [name for side in found for name in names(side)]
    return tuple(named) if len(named) > 1 else found


def _is_date(side: str) -> bool:
    """Whether it is only a date: "between 1900 and 1910" tells a time and compares nothing."""
    return all(word.isdigit() or word in sure_month_names() or word in _DATING.split() for word in tokens(side))


def said_of_sides(pool: Pool, sides: Sequence[str]) -> list[Sentence]:
    """The sentences of each side that hold most of what is compared; empty unless there are some of two sides."""
    of_sides = frozenset(stem for side in sides for stem in stems(side))
    found = [_said_of(pool, frozenset(stems(side)), of_sides) for side in sides]
    return [one for said in found for one in said] if sum(map(bool, found)) > 1 else []


def _said_of(pool: Pool, side: frozenset[str], of_sides: frozenset[str]) -> list[Sentence]:
    own = [one for one in pool.sentences if len(side & one.held) >= OF_SIDE * len(side)]
    others = of_sides - side
    ranked = sorted(
        own,
        key=lambda one: (
            -pool.weight(one.held - of_sides),
            len(others & one.held),
            not one.is_right,
            one.place,
        ),
    )
    return sorted(ranked[:PER_SIDE], key=lambda one: (one.number, one.place))
