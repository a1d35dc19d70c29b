"""Which of an engine's results may be shown: they are strangers' words, and may be anything."""

from __future__ import annotations

from collections.abc import Sequence

from ..reading.addresses import parse_address
from ..reading.decode import clean, without_controls
from ..reading.policy import Policy
from ..reading.records import Unread
from ..run.context import Context
from .engines.engine import Found

TITLE_CHARACTERS = 200
EXCERPT_CHARACTERS = 2000
DAY_CHARACTERS = 10
LOOKED_AT = 4
"""Results that are looked at for each that may be shown, and characters for each of a title or an excerpt."""


def cleaned(found: Sequence[object], most: int) -> list[Found]:
    """The first results, short and without what nobody sees: some for each of the `most` that may be shown."""
    return [_cleaned(one) for one in found[: LOOKED_AT * most] if isinstance(one, Found)]


def usable(found: Sequence[Found], context: Context) -> list[Found]:
    """The cleaned results that may be shown; denial wins. Raises `UnknownSetting`."""
    policy, after = Policy(context), context.published_after
    return [
        one
        for one in found
        if (one.title or one.excerpt)
        and _is_open(one.address, policy)
        and not (after and one.date and one.date < after.isoformat())
    ]


def _is_open(address: str, policy: Policy) -> bool:
    """Whether the settings let an address through, as far as it can be told without looking up its host."""
    try:
        parts = parse_address(address)
        policy.check_domain(parts)
        if parts.number:
            policy.check_numbers(parts, [parts.number])
    except Unread:
        return False
    return True


def _cleaned(one: Found) -> Found:
    return Found(
        _clean(one.title, TITLE_CHARACTERS),
        one.address if isinstance(one.address, str) else "",
        _clean(one.excerpt, EXCERPT_CHARACTERS),
        _clean(one.date, DAY_CHARACTERS),
        one.score,
    )


def _clean(text: object, characters: int) -> str:
    if not isinstance(text, str):
        return ""
    visible = clean(without_controls(text[: LOOKED_AT * characters]))
    return " ".join(visible.split())[:characters].rstrip()
