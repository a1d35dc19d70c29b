"""Pronouns, and sentences that begin with one."""

from __future__ import annotations

from deep_research.evidence.words import tokens

_WORDS = """
he she it they his her its their him them this these those
er sie es sein seine seinem seinen seiner ihr ihre ihrem ihren ihrer dieser diese dieses diesem diesen
il elle ils elles son sa ses leur leurs celui celle ceci
ella ellos ellas su sus este esta estos estas
egli essa essi suo sua suoi sue ele eles elas seu seus hij zij ze zijn haar hun
"""
_PRONOUNS = frozenset(_WORDS.split())
_UNSPACED = ("他", "她", "它", "其", "彼", "それ", "この", "その")


def is_pronoun(word: str) -> bool:
    """Whether a word, as `evidence.words.tokens` gives it, stands for somebody or something."""
    return word in _PRONOUNS


def points_back(sentence: str) -> bool:
    """Whether a sentence begins with a pronoun, so that alone it does not say of whom or what it speaks."""
    return not _PRONOUNS.isdisjoint(tokens(sentence)[:1]) or sentence.startswith(_UNSPACED)
