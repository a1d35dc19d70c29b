"""What in a web page speaks for its text being no content; runs in the child process only."""

from __future__ import annotations

import re
from itertools import islice

import lxml.html

from .records import Sign

WORDS_CHARACTERS = 20_000
PIECES = 2000

_TEXTS = "//text()[not(parent::script or parent::style)]"
_IN_WORDS: dict[Sign, tuple[str, ...]] = {
    "challenge words": (
        r"just a moment\b",
        r"checking (?:your browser|if the site connection)",
        r"(?:verify(?:ing)?|confirm|prove) (?:that )?you(?:'re| are) (?:a )?human",
        r"are you a (?:human|robot)",
        r"you are not a (?:ro)?bot",
        r"unusual traffic",
        r"automated (?:access|requests|queries)",
        r"attention required",
        r"pardon our interruption",
        r"security check",
        r"ddos protection",
        r"enable javascript and cookies",
        r"(?:complete|solve) the captcha",
    ),
    "paywall words": (
        r"(?:subscribe|sign up|register|log in|become a member) (?:now )?to (?:continue|keep|read|unlock)",
        r"to (?:continue|keep) reading",
        r"(?:read|unlock) the (?:full|rest of (?:the|this)) (?:article|story)",
        r"(?:only (?:available )?(?:to|for)|exclusive(?:ly)? (?:to|for)|reserved for) (?:\w+ )?(?:subscribers|members)",
        r"(?:subscribers|members)[ -]only",
        r"subscribe (?:today )?for full access",
    ),
    "script only": (
        r"(?:enable|requires?|needs?|turn on|activate|without) javascript",
        r"javascript (?:is|to be|must be) (?:\w+ )?(?:disabled|required|enabled|not available)",
    ),
}
_IN_SOURCE: dict[Sign, tuple[str, ...]] = {
    "challenge script": (
        r"/cdn-cgi/challenge-platform",
        r"challenges\.cloudflare\.com",
        r"_cf_chl_|cf-chl-|cf-browser-verification",
        r"captcha",
        r"px-cloud\.net",
        r"_incapsula_resource",
        r"awswaf",
        r"/_sec/cp_challenge",
        r"ddos-guard",
    ),
    "paywall mark": (
        r"""\\?["']isAccessibleForFree\\?["']\s*:\s*\\?["']?false""",
        r"""itemprop=["']isAccessibleForFree["'][^>]{0,200}false""",
    ),
}


def signs_of(html: str, root: lxml.html.HtmlElement) -> tuple[Sign, ...]:
    """The signs in the source of a page, and in its words, those for readers without scripts included."""
    words = " ".join(" ".join(map(str, islice(root.xpath(_TEXTS), PIECES))).split())[:WORDS_CHARACTERS]
    in_words = [sign for sign, patterns in _IN_WORDS.items() if _any(patterns, words)]
    return (*in_words, *(sign for sign, patterns in _IN_SOURCE.items() if _any(patterns, html)))


def _any(patterns: tuple[str, ...], text: str) -> bool:
    return re.search("|".join(patterns), text, re.IGNORECASE) is not None
