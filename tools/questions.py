"""What a question has to say to an index: the words that are worth searching for, and the titles it may mention."""

from __future__ import annotations

from ..evidence.text.inflection.common_words import IN_QUESTION, common_words, evident
from ..evidence.text.inflection.wording import sought_words, words_of
from ..evidence.text.vocabulary import FUNCTION_WORDS

LONGEST_TITLE = 10
"""Words of a title that a question may mention: longer runs cost look-ups and hardly ever are one."""
_ASKING = frozenset({"find", "following", "give", "here", "list", "many", "much", "name", "one", "tell"})
_CONTRACTED = frozenset({"d", "ll", "m", "re", "ve"})
_STOP_WORDS = FUNCTION_WORDS["en"] | _ASKING | _CONTRACTED
"""What an English question is worded with, and what contractions leave behind."""


def terms_of(question: str) -> list[str]:
    """The different words of a question that are worth searching for; all of them if none is."""
    words = sought_words(question)
    stop_words = _STOP_WORDS | common_words().get(evident(words, IN_QUESTION), frozenset())
    terms = list(dict.fromkeys(words))
    return [word for word in terms if word not in stop_words] or terms


def mentions(question: str) -> list[str]:
    """Every run of words in a question that might be a title, as `title_key` would write it."""
    words = words_of(question)
    runs = (words[start:end] for start in range(len(words)) for end in range(start + 1, start + LONGEST_TITLE + 1))
    return list(dict.fromkeys(" ".join(run) for run in runs if not _STOP_WORDS.issuperset(run)))
