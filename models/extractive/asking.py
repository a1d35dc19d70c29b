"""The words with which languages ask, told once."""

from __future__ import annotations

from ...evidence.words import tokens

_WORDS = {
    "en": "what who whom whose when where which why how",
    "de": "was wer wem wen wessen wann wo woher wohin wie wieviel wieviele warum weshalb weswegen wieso womit wofür "
    "wovon woraus wozu welche welchem welchen welcher welches",
    "fr": "qui quel quelle quels quelles quand où comment combien pourquoi",
    "es": "qué quién quiénes cuándo dónde adónde cómo cuál cuáles cuánto cuánta cuántos cuántas",
    "it": "chi quale quali dove perché quanto quanta quanti quante",
    "pt": "quem qual quais onde quanto quanta quantos quantas",
    "nl": "waar waarom waarheen wanneer welk welke hoe hoeveel",
    "sv": "vad vem vilka vilken vilket varför varifrån hur",
    "da": "hvad hvem hvilke hvilken hvilket hvor hvorfor hvornår",
    "no": "hva hvem hvilke hvilken hvilket hvor hvorfor",
    "ru": "кто кого кому что где куда откуда когда почему зачем как какой какая какое какие каком каких сколько",
}
QUESTION_WORDS = " ".join(_WORDS.values()).split()
"""Those of all languages, as they are written."""
QUESTION_WORDS_OF = {code: frozenset(tokens(words)) for code, words in _WORDS.items()}
"""Those of each language, as `tokens` gives them."""
QUESTION_TOKENS = frozenset[str]().union(*QUESTION_WORDS_OF.values())
"""Those of all languages in the same form."""
