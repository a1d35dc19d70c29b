"""Which language a text is in, and what its lists of sources are called there."""

from __future__ import annotations

import re
from collections import Counter
from typing import NamedTuple


class Headings(NamedTuple):
    """The headings of a report's lists in one language."""

    sources: str
    further: str
    """Of what was listed, but not cited."""


HEADINGS = {
    "ar": Headings("المصادر", "قراءات إضافية"),
    "de": Headings("Quellen", "Weiterführende Literatur"),
    "en": Headings("Sources", "Further reading"),
    "es": Headings("Fuentes", "Lecturas adicionales"),
    "fr": Headings("Sources", "Pour aller plus loin"),
    "it": Headings("Fonti", "Letture di approfondimento"),
    "ja": Headings("出典", "関連資料"),
    "ko": Headings("출처", "더 읽을거리"),
    "nl": Headings("Bronnen", "Verder lezen"),
    "pl": Headings("Źródła", "Dalsza lektura"),
    "pt": Headings("Fontes", "Leituras adicionais"),
    "ru": Headings("Источники", "Дополнительные материалы"),
    "sv": Headings("Källor", "Vidare läsning"),
    "zh": Headings("参考来源", "延伸阅读"),
}

_FUNCTION_WORDS = {
    "de": "der die das und ist nicht mit ein eine auf von den im für wurde",
    "en": "the and of to in is that for with was are on by from",
    "es": "el los las y del una para en con por es que se la",
    "fr": "le les et des est une dans pour du la que sur au par",
    "it": "il di che della gli una per con sono del nel la è e",
    "nl": "de het een en van niet met is op voor zijn dat te",
    "pl": "i w na z się że do jest nie przez oraz jako",
    "pt": "o os uma para não com do da dos em é e que ao",
    "sv": "och att är för den som på av ett inte med till",
}
_LANGUAGES = {
    word: [code for code, words in _FUNCTION_WORDS.items() if word in words.split()]
    for word in " ".join(_FUNCTION_WORDS.values()).split()
}
_SCRIPTS = {
    "ja": re.compile(r"[\u3041-\u30ff]"),
    "zh": re.compile(r"[\u4e00-\u9fff]"),
    "ko": re.compile(r"[\uac00-\ud7af]"),
    "ru": re.compile(r"[\u0400-\u04ff]"),
    "ar": re.compile(r"[\u0600-\u06ff]"),
}
_ADDRESS = re.compile(r"https?://\S+")
_LEAST_VOTES = 3
_SAMPLE = 20_000
_LEAST_SHARE = 0.15
"""Share of a script among the letters above which a text is in its language; names and titles may be Latin."""


def language_of(text: str) -> str:
    """The language of a text as a code of `HEADINGS`, told by its script or its function words; English in doubt."""
    sample = _ADDRESS.sub(" ", text[:_SAMPLE])
    letters = sum(map(str.isalpha, sample))
    for code, script in _SCRIPTS.items():
        if len(script.findall(sample)) > letters * _LEAST_SHARE:
            return code
    votes: Counter[str] = Counter({"en": 0})
    for word in re.findall(r"[^\W\d_]+", sample.lower()):
        votes.update(_LANGUAGES.get(word, ()))
    code = max(votes, key=lambda code: (votes[code], code == "en"))
    return code if votes[code] >= _LEAST_VOTES else "en"
