"""Words of which a single one turns a statement round, or makes it a doubtful one to compare with another."""

from __future__ import annotations

from .words import FAMILIES, stem, tokens, word_tables

_WORDS = word_tables(__package__)


def _set(words: str) -> frozenset[str]:
    return frozenset(tokens(words))


_NUMBERS = "one two three four five six seven eight nine ten eleven twelve"
NUMBER_WORDS = {word: number for number, word in enumerate(_NUMBERS.split(), 1)}
"""Small numbers in words."""

NEGATIONS = _set(_WORDS["negations"])
"""Words that negate."""

QUESTION_WORDS = _set(_WORDS["question_words"])
"""Words that say what is asked for."""

UNSURE = _set(_WORDS["unsure"])
"""Words of statements that are not meant as certain, or not of all."""

THIRD_PERSONS = _set(_WORDS["third_persons"])
"""Words for somebody or something that was named before."""

PRONOUNS = THIRD_PERSONS | _set("several various that we i you our my one both all such here el")
"""Words that at the head of a sentence point to something outside it."""

INDEFINITE = _set("a an another new again also ein eine einen einem einer un une una uno")
"""Words that let a statement hold of more than one thing, or more than once."""

ANAPHORS = _set("it its he him his she her hers they them their theirs this these that those such")
"""Words that anywhere in a sentence without a name point to something outside it."""

PAST = _set("was were had did war waren hatte etait avait era")
PRESENT = _set("is are has have does ist sind hat est sont es son")

_MEASURES = _WORDS["measures"]
UNITS = {unit: line.split()[0] for line in _MEASURES.strip().splitlines() for unit in line.split()}
"""Units as they are written, each with the one that stands for it."""
SIGNS = {"%": "percent", "$": "dollar", "€": "euro", "£": "pound", "°": "degree"}
"""Signs of units."""

_SAME = _WORDS["same"]
SAME = FAMILIES | {stem(word): line.split()[0] for line in _SAME.strip().splitlines() for word in line.split()}
"""Stems of words that say the same of a thing, families included, each with the one that stands for them."""

FILLERS = _set(_WORDS["fillers"])
"""Words that can be left out."""

VAGUE = _set(_WORDS["vague"])
"""Words before a number that make it a rough one."""
ROUGH_DATES = VAGUE | _set("before after by early late mid vor nach avant apres antes")
"""Words before a date that make it a rough one."""

DATING = _set(_WORDS["dating"])
"""Words before a year that make it a date and not a name."""
SINCE = {
    **dict.fromkeys(_set("since from seit depuis desde"), "since"),
    **dict.fromkeys(_set("until till bis hasta"), "until"),
}
"""Words before a date that make it the begin or the end of something that lasts."""

RELATIONS = _set("by to from for after before within every per at in on pro par um")
"""Words before a number that say what it does."""

LABELLED = _set(_WORDS["labelled"])
"""Words behind which a number is a name."""

EVENTS = frozenset(SAME.get(stem(word), stem(word)) for word in _set(_WORDS["events"]))
"""What as a rule happens to a thing once."""
LIFE = _set("birth death geboren gestorben nacio murio")
"""What happens to nobody twice."""

CHANGING = frozenset(stem(word) for word in _set(_WORDS["changing"]))
"""What has another number every year."""

RESTRICTING = _set(_WORDS["restricting"])
"""Words that narrow down what a statement is about; with one of them it is another statement."""
RESTRICTING_STEMS = frozenset(map(stem, RESTRICTING))
"""Their stems."""
