"""Pronouns, and sentences that begin with one."""

from __future__ import annotations

import re

from ...evidence.text.cues import THIRD_PERSONS
from ...evidence.text.inflection.common_words import IN_QUESTION, evident
from ...evidence.text.inflection.wording import sought_words
from ...evidence.text.words import tokens

_OPENING = ("他", "她", "它", "其", "该", "該", "此", "这", "這", "那", "彼", "それ", "これ", "この", "その")
# 其他 is "other".
_ANYWHERE = re.compile("(?<!其)[他她它]|彼")


def points_back(sentence: str) -> bool:
    """Whether a sentence begins with a pronoun, so that alone it does not say of whom or what it speaks."""
    first = tokens(sentence)[:1]
    # What is a pronoun in French is an article in Italian.
    if first == ["il"] and evident(sought_words(sentence), IN_QUESTION) == "it":
        return False
    return not THIRD_PERSONS.isdisjoint(first) or sentence.startswith(_OPENING)


def has_pronoun(text: str) -> bool:
    """Whether somebody or something in a text is told by a pronoun."""
    return not THIRD_PERSONS.isdisjoint(tokens(text)) or _ANYWHERE.search(text) is not None
