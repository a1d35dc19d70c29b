"""Words as the index counts them: one way for texts and for questions."""

from __future__ import annotations

import re
import unicodedata

# Scripts that put no spaces between words are indexed as pairs of neighbouring characters.
_UNSPACED = re.compile(r"[\u3040-\u30ff\u3400-\u4dbf\u4e00-\u9fff\uf900-\ufaff\uac00-\ud7af\U00020000-\U0003134f]+")
_WORD = re.compile(r"[^\W_]+")
_IN_BRACKETS = re.compile(r"\s*\([^()]*\)\s*$")
_STOP_WORDS = """
a about all also am an and any are as at be been being both but by can could did do does doing each for from had has
have having he her here him his how i if in into is it its itself just many me more most much my no nor not of on one or
other our out s same she should so some such t than that the their them then there these they this those to too up us
very was we were what when where which while who whom whose why will with would you your find tell give list name
following d ll m re ve
"""


def spaced(text: str) -> str:
    """The text with the words of unspaced scripts written as overlapping pairs."""
    return _UNSPACED.sub(lambda run: f" {' '.join(_pairs(run.group()))} ", text)


def words_of(text: str) -> list[str]:
    """The words of a text in order: lower case, without accents and punctuation."""
    plain = unicodedata.normalize("NFKD", spaced(text).casefold())
    bare = "".join(character for character in plain if not unicodedata.combining(character))
    return _WORD.findall(unicodedata.normalize("NFC", bare))


def terms_of(question: str) -> list[str]:
    """The different words of a question that are worth searching for; all of them if none is."""
    stop_words = frozenset(_STOP_WORDS.split())
    words = list(dict.fromkeys(_WORD.findall(spaced(unicodedata.normalize("NFC", question)).lower())))
    return [word for word in words if word not in stop_words] or words


def title_key(title: str) -> str:
    """What a question must contain to mention this title: its words, without a remark in brackets at the end."""
    return " ".join(words_of(_IN_BRACKETS.sub("", title)) or words_of(title))


def mentions(question: str, longest: int = 10) -> list[str]:
    """Every run of words in a question that might be a title, as `title_key` would write it."""
    stop_words = frozenset(_STOP_WORDS.split())
    words = words_of(question)
    runs = (words[start:end] for start in range(len(words)) for end in range(start + 1, start + longest + 1))
    return list(dict.fromkeys(" ".join(run) for run in runs if not stop_words.issuperset(run)))


def _pairs(run: str) -> list[str]:
    return [run[place : place + 2] for place in range(len(run) - 1)] or [run]
