"""Which of an engine's results may be shown: they are strangers' words, and may be anything."""

from __future__ import annotations

import re
from collections.abc import Sequence

from deep_research.reading.addresses import parse_address
from deep_research.reading.decode import clean
from deep_research.reading.domains import domains_of, is_within
from deep_research.reading.policy import Policy
from deep_research.reading.records import Unread
from deep_research.run.context import Context
from deep_research.tools.engines.engine import Found

TITLE_CHARACTERS = 200
EXCERPT_CHARACTERS = 2000
DAY_CHARACTERS = 10
LOOKED_AT = 4
"""Results that are looked at for each that may be shown, and characters for each of a title or an excerpt."""
_CONTROL = re.compile(r"[\x00-\x1f\x7f-\x9f\ud800-\udfff]")


def usable(found: Sequence[object], context: Context) -> list[Found]:
    """The results, cleaned, that may be shown; denial wins. Raises `UnknownSetting`."""
    places = _Places(context)
    first = found[: LOOKED_AT * context.limits.max_web_results]
    cleaned = [_cleaned(one) for one in first if isinstance(one, Found)]
    after = context.published_after
    return [
        one
        for one in cleaned
        if (one.title or one.excerpt)
        and places.hold(one.address)
        and not (after and one.date and one.date < after.isoformat())
    ]


class _Places:
    """What the settings let through, as far as it can be told without looking up hosts. Raises `UnknownSetting`."""

    def __init__(self, context: Context) -> None:
        self._policy = Policy(context)
        self._allowed = domains_of("domains_allow", context.domains_allow)
        self._denied = domains_of("domains_deny", context.domains_deny)

    def hold(self, address: str) -> bool:
        try:
            parts = parse_address(address)
            if parts.number:
                self._policy.check_numbers(parts, [parts.number])
        except Unread:
            return False
        if is_within(parts.host, self._denied):
            return False
        return not self._allowed or is_within(parts.host, self._allowed)


def _cleaned(one: Found) -> Found:
    return Found(
        _clean(one.title, TITLE_CHARACTERS),
        one.address if isinstance(one.address, str) else "",
        _clean(one.excerpt, EXCERPT_CHARACTERS),
        _clean(one.date, DAY_CHARACTERS),
    )


def _clean(text: object, characters: int) -> str:
    if not isinstance(text, str):
        return ""
    visible = clean(_CONTROL.sub(" ", text[: LOOKED_AT * characters]))
    return " ".join(visible.split())[:characters].rstrip()
