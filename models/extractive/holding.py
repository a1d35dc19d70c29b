"""Whether a sentence holds the kind of thing that a question asks for."""

from __future__ import annotations

import re
from collections.abc import Callable
from functools import cache, lru_cache

from ...evidence.cues import DATING, NUMBER_WORDS
from ...evidence.inflection.common_words import IN_QUESTION, evident
from ...evidence.inflection.wording import sought_words
from ...evidence.months import sure_month_names
from ...evidence.support.number_words import POWERS, SMALL
from ...evidence.support.spelling import NOTHING, pieces_of
from ...evidence.support.units import unit_of
from ...evidence.words import names, tokens
from .cues import Kind

_WORDS_FOR_NUMBERS = frozenset({"once", "twice", "half", "quarter", *NUMBER_WORDS, *SMALL, *POWERS})
# One letter may be a name, and with a number before it the number tells.
_NUMBERS_IN_WORDS = frozenset(word for word in _WORDS_FOR_NUMBERS if len(word) > 2)
_DIGITS = re.compile(r"(?:\b([^\W\d_]+)[.,]?\s+(?:del?\s+)?)?(?<![\w.,])(\d[\d.,]*)(?!\d|\s*(?:году|года|г\.|年))")
_YEAR = re.compile(r"(?:1\d|20)\d{2}")
_BEFORE_AMOUNTS = frozenset({"of", "from", "on", "until", "till", "bis"})
"""Of the words before a year those that stand before an amount as well."""
UNIT_CHARACTERS = 40
"""As many as a unit has at most."""
_CHINESE_NUMBER = re.compile(
    r"[〇零一二两三四五六七八九十百千万亿萬億]{2,}|"
    r"[二两三四五六七八九十百千万亿](?=[个個人名座米年岁歳天次艘条本円元])"
)
DATE = re.compile(
    r"\b1\d{3}\b|\b20\d{2}\b|\b\d{1,4} (?:BCE?|AD|CE|v\. ?Chr|n\. ?Chr|av\. ?J|a\. ?C|до н)\b|\d年|"
    r"[〇零一二三四五六七八九]{4}年"
)
_PREPOSITIONS = {
    "en": "in at from near of to",
    "de": "in im am an aus auf bei nach von vor",
    "fr": "à au aux en dans de du chez vers",
    "es": "en a de desde hacia",
    "it": "a ad in di da nel nella presso",
    "pt": "em no na de do da",
    "nl": "in te uit van bij naar",
    "sv": "i på från till vid",
    "da": "i på fra til ved",
    "no": "i på fra til ved",
    "ru": "в во на из под у около близ",
}
_ARTICLE = r"(?:(?:the|der|den|dem|die|la|le|les|el|los|las|il|lo|o|a|os|as|het)\s+)?"
_CHINESE_PLACE = re.compile(r"(?:位于|位於|坐落于|出生于|生于|出生在|来自|在)(?P<name>[\u4e00-\u9fff]{2,4})")
_JAPANESE_PLACE = re.compile(
    r"(?P<name>[\u4e00-\u9fff\u30a1-\u30fa\u30fc]{2,12})(?:に(?:ある|あり|位置)|で(?:生ま|開|行)|出身)"
)
_CHINESE_PERSON = re.compile(
    r"[\u4e00-\u9fff]·[\u4e00-\u9fff]|由[\u4e00-\u9fff]{2,4}|[\u4e00-\u9fff]{2,4}(?:氏|さん|先生|女士)"
)
REASON = re.compile(
    r"\b(?:because|due to|owing to|thanks to|as a result of|in order to|so that|(?:caus|driv)ed by|(?:reason|"
    r"cause)s?|"
    rf"since (?!\d|then\b|the \d|(?:{'|'.join(sorted(sure_month_names()))})\b)|"
    r"weil|wegen|aufgrund|auf Grund|damit|deshalb|daher|grund|ursache|"
    r"parce qu\w*|à cause d\w*|en raison d\w*|grâce (?:à|aux?)|puisqu\w*|afin d\w*|raison|"
    r"porque|debido a|ya que|a causa de|puesto que|gracias a|por culpa de|"
    r"perch[éè]|poich[éè]|a causa d\w*|grazie a\w*|dato che|siccome|por causa d\w*|já que|"
    r"omdat|doordat|vanwege|wegens|eftersom|därför|på grund av|fordi|på grunn av|"
    r"потому что|из-за|так как|поскольку|благодаря|причин\w*)\b|"
    r", (?:da|denn|car|pois|want)\b|因为|因為|由于|由於|因此|所以|为了|為了|原因|ため|ので|おかげ|理由",
    re.IGNORECASE,
)


def holds(kind: Kind, sentence: str, known: str) -> bool:
    """Whether the sentence holds something of that kind that the text `known`, the question, does not."""
    checks: dict[Kind, Callable[[], bool]] = {
        "any": lambda: False,
        "number": lambda: bool(_numbers(sentence) - _numbers(known)),
        "date": lambda: any(match.group() not in known for match in DATE.finditer(sentence)),
        "place": lambda: any(place not in known for place in _places(sentence, _language_of(sentence, known))),
        "person": lambda: (
            any(" " in name and name.lower() not in known.lower() for name in names(sentence))
            or _CHINESE_PERSON.search(sentence) is not None
        ),
        "reason": lambda: REASON.search(sentence) is not None,
    }
    return checks[kind]()


@lru_cache(maxsize=8)
def _numbers(text: str) -> frozenset[str]:
    """The numbers of a text, in digits and in words; a year behind a word that makes it a date is none."""
    digits = {match.group(2).rstrip(".,") for match in _DIGITS.finditer(text) if not _is_dated(match)}
    return frozenset((*digits, *_NUMBERS_IN_WORDS.intersection(tokens(text)), *_CHINESE_NUMBER.findall(text)))


def _is_dated(match: re.Match[str]) -> bool:
    before, number = frozenset(tokens(match.group(1) or "")), match.group(2).rstrip(".,")
    if before.isdisjoint(DATING | sure_month_names()) or not _YEAR.fullmatch(number):
        return False
    return not (before <= _BEFORE_AMOUNTS and _has_unit(match.string[match.start(2) + len(number) :]))


def _has_unit(behind: str) -> bool:
    """Whether a unit stands right behind a number."""
    first, second = [*pieces_of(behind[:UNIT_CHARACTERS]), NOTHING, NOTHING][:2]
    return first.start <= 1 and bool(unit_of(first, second))


def _places(text: str, language: str) -> list[str]:
    found = [match.group("name") for match in _behind_prepositions(language).finditer(text)]
    named = [name for name in found if name[0].isupper() and name.lower() not in sure_month_names()]
    unspaced = (*_CHINESE_PLACE.finditer(text), *_JAPANESE_PLACE.finditer(text))
    return [*named, *(match.group("name") for match in unspaced)]


@cache
def _behind_prepositions(language: str) -> re.Pattern[str]:
    """The word behind a preposition of the language, or of any; a number after it makes it a date."""
    known = _PREPOSITIONS[language].split() if language in _PREPOSITIONS else _telling_prepositions()
    words = "|".join(dict.fromkeys(form for word in known for form in (word, word.capitalize())))
    # Which letters are capitals Unicode knows, and Python's patterns do not.
    name = r"(?P<name>\w[\w’'-]*)(?![\w’'-])(?!\s+\d)"
    return re.compile(rf"(?:\b(?:{words})\s+{_ARTICLE}(?:[\w-]+ of )?|\b[dl]['’]){name}")


def _telling_prepositions() -> list[str]:
    """Those of all languages that are not the article or the pronoun of another, as "a" and "i" are in English."""
    return [word for words in _PREPOSITIONS.values() for word in words.split() if word not in ("a", "i")]


def _language_of(sentence: str, known: str) -> str:
    return evident(sought_words(sentence), IN_QUESTION) or evident(sought_words(known), IN_QUESTION)
