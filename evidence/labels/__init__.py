"""The words that a report needs beside its text: headings, verdicts, names of figures."""

from __future__ import annotations

from .arabic import ARABIC
from .chinese import CHINESE
from .dutch import DUTCH
from .english import ENGLISH
from .french import FRENCH
from .german import GERMAN
from .italian import ITALIAN
from .japanese import JAPANESE
from .korean import KOREAN
from .polish import POLISH
from .portuguese import PORTUGUESE
from .russian import RUSSIAN
from .spanish import SPANISH
from .words import Labels

LANGUAGES = {
    "ar": ARABIC,
    "de": GERMAN,
    "en": ENGLISH,
    "es": SPANISH,
    "fr": FRENCH,
    "it": ITALIAN,
    "ja": JAPANESE,
    "ko": KOREAN,
    "nl": DUTCH,
    "pl": POLISH,
    "pt": PORTUGUESE,
    "ru": RUSSIAN,
    "zh": CHINESE,
}
"""The labels by ISO 639-1 code."""
_CODES = {
    "Arabic": "ar",
    "Chinese": "zh",
    "Dutch": "nl",
    "French": "fr",
    "German": "de",
    "Italian": "it",
    "Japanese": "ja",
    "Korean": "ko",
    "Polish": "pl",
    "Portuguese": "pt",
    "Russian": "ru",
    "Spanish": "es",
}
_RIGHT_TO_LEFT = {"ar", "fa", "he"}


def labels(language_code: str) -> Labels:
    """The labels in a language by its ISO 639-1 code, of which a region is ignored; English where there are none."""
    return LANGUAGES.get(_base(language_code), ENGLISH)


def labels_of_named(language: str) -> Labels:
    """The labels in a language by its English name, such as "German" or "Brazilian Portuguese"; else English."""
    return labels(next((code for name, code in _CODES.items() if name in language), ""))


def is_right_to_left(language_code: str) -> bool:
    """Whether text in this language runs from the right."""
    return _base(language_code) in _RIGHT_TO_LEFT


def _base(language_code: str) -> str:
    return language_code.lower().replace("_", "-").split("-")[0]
