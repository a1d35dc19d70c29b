"""Pronouns, and sentences that begin with one."""

from __future__ import annotations

import re

from deep_research.evidence.cues import THIRD_PERSONS
from deep_research.evidence.words import tokens

_OPENING = ("他", "她", "它", "其", "彼", "それ", "この", "その")
# 其他 is "other".
_ANYWHERE = re.compile("(?<!其)[他她它]|彼")


def points_back(sentence: str) -> bool:
    """Whether a sentence begins with a pronoun, so that alone it does not say of whom or what it speaks."""
    return not THIRD_PERSONS.isdisjoint(tokens(sentence)[:1]) or sentence.startswith(_OPENING)


def has_pronoun(text: str) -> bool:
    """Whether somebody or something in a text is told by a pronoun."""
    return not THIRD_PERSONS.isdisjoint(tokens(text)) or _ANYWHERE.search(text) is not None
