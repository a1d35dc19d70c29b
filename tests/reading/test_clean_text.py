"""Characters that nobody sees are no way to hide words in a text; those that writing needs stay."""

from __future__ import annotations

import pytest

from deep_research.core.reading.documents.decode import clean

HIDDEN = [
    *("\u034f", "\u061c", "\u115f", "\u1160", "\u17b4", "\u17b5", "\u180b", "\u180e", "\u180f", "\u200b", "\u200e"),
    *("\u2060", "\u2061", "\u2063", "\u2065", "\u206f", "\u3164", "\uffa0", "\ufe00", "\ufe01", "\ufe0f", "\ufeff"),
    *("\U0001d173", "\U0001d17a", "\U000e0000", "\U000e0041", "\U000e0100", "\U000e01ef", "\U000e0fff"),
]
NEEDED = [
    *("❤\ufe0f", "☎\ufe0e", "1\ufe0f\u20e3", "👩\u200d💻", "🏳\ufe0f\u200d🌈", "می\u200cخواهم", "क्\u200dष", "™\ufe0f"),
    *("ångström", "deep\u00a0water", "한글", "ᠮᠣᠩᠭᠣᠯ"),
]


@pytest.mark.fault("R11")
@pytest.mark.parametrize("character", HIDDEN, ids=lambda one: f"U+{ord(one):04X}")
def test_what_nobody_sees_is_taken_out(character: str) -> None:
    assert clean(f"deep{character}water {character * 3}") == "deepwater "


def test_an_emoji_carries_no_more_than_one_mark() -> None:
    assert clean("❤" + "\ufe0f" * 5 + "\ufe00\ufe05\U000e0100") == "❤\ufe0f"


@pytest.mark.parametrize("text", NEEDED)
def test_what_writing_needs_stays(text: str) -> None:
    assert clean(text) == text
