"""What a question has to say to an index: the words that are worth searching for, and the titles it may mention."""

from __future__ import annotations

from deep_research.evidence.inflection.common_words import IN_QUESTION, common_words, evident
from deep_research.evidence.inflection.wording import sought_words, words_of

_STOP_WORDS = """
a about all also am an and any are as at be been being both but by can could did do does doing each for from had has
have having he her here him his how i if in into is it its itself just many me more most much my no nor not of on one or
other our out s same she should so some such t than that the their them then there these they this those to too up us
very was we were what when where which while who whom whose why will with would you your find tell give list name
following d ll m re ve
"""


def terms_of(question: str) -> list[str]:
    """The different words of a question that are worth searching for; all of them if none is."""
    words = sought_words(question)
    stop_words = frozenset(_STOP_WORDS.split()) | common_words().get(evident(words, IN_QUESTION), frozenset())
    terms = list(dict.fromkeys(words))
    return [word for word in terms if word not in stop_words] or terms


def mentions(question: str, longest: int = 10) -> list[str]:
    """Every run of words in a question that might be a title, as `title_key` would write it."""
    stop_words = frozenset(_STOP_WORDS.split())
    words = words_of(question)
    runs = (words[start:end] for start in range(len(words)) for end in range(start + 1, start + longest + 1))
    return list(dict.fromkeys(" ".join(run) for run in runs if not stop_words.issuperset(run)))
