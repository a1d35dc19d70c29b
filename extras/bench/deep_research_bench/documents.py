"""Generates documents in artificial languages with common words, sounds and endings of real ones.

The same seed gives the same documents.
"""

from __future__ import annotations

from functools import cache
from html import escape
from itertools import accumulate
from pathlib import Path
from random import Random
from typing import NamedTuple

IN_FOLDER = 500
USUAL_WORDS = 300
SPREAD = 0.9
FEWEST, MOST = 30, 20_000
SUFFIXES = (".md", ".md", ".md", ".md", ".md", ".txt", ".txt", ".txt", ".txt", ".html")
VOCABULARY = 100_000
FLATTENING, STEEPNESS = 2.7, 1.05
"""Parameters of Zipf's law for word frequencies."""


class Language(NamedTuple):
    """The building blocks of a language's words."""

    share: float
    """Share of the documents."""
    common: str
    """The most frequent words, most frequent first."""
    starts: str
    middles: str
    endings: str
    """Endings of inflected forms."""
    gap: str = " "
    """Separator between words."""


LANGUAGES = {
    "en": Language(
        0.65,
        "the of and to in a is that for it was on are as with be by at this have from or had not but which they",
        "b br c ch d f fl g gr h j k l m n p pl r s sh st t tr v w",
        "ack all an ar ast at ead eal ear end er est ick ight ill in ing ink old on one ook ore ound ump under",
        "s ed ing er ly",
    ),
    "de": Language(
        0.2,
        "der die und in den von zu das mit sich des auf ist im dem nicht ein eine als auch es an werden aus er wird",
        "b bl d f g gr h k kl l m n pf r s sch spr st tr v w z",
        "ach aft and ang aus eben eck eil ein eit elt er ich ier ind ock ohn old orm und ung ur",
        "e en er es n s",
    ),
    "ru": Language(
        0.1,
        "и в не на что с он как это по к но из у за от так же для его все она был бы они мы о до",
        "б в г гр д ж з к кр л м н п пр р с ст т ф х ц ч ш",
        "ад ал ан ар ел ен ер ик ин ист ов ой ок ол он ор от ств уд ук ун ыт",
        "а у ом ы ов ами е",
    ),
    "zh": Language(
        0.05,
        "的 了 在 是 我 有 和 就 不 人 都 一 一个 上 也 很 到 说 要 去",
        "城 港 船 桥 河 灯 年 山 海 路 书 学 国 市 史 木 石 水 火 风 东 西 南 北",
        "市 口 长 梁 流 塔 代 脉 岸 线 籍 校 家 场 料 材 头 平 车 景 方 部 边 门",
        "们",
        "",
    ),
}


class Words:
    """The words of a language, drawn by frequency; the sequence is the same in each run."""

    def __init__(self, code: str) -> None:
        self.ranked, self._weights = _vocabulary(code)
        self._random = Random(f"words drawn of {code}")  # noqa: S311 - no secret
        self._common = len(LANGUAGES[code].common.split())
        self._endings = LANGUAGES[code].endings.split()

    def draw(self, count: int) -> list[str]:
        """Return words of a running text, some of them inflected."""
        ranks = self._random.choices(range(len(self.ranked)), cum_weights=self._weights, k=count)
        return [self._formed(rank) for rank in ranks]

    def _formed(self, rank: int) -> str:
        is_bare = rank < self._common or self._random.random() < 0.6
        return (
            self.ranked[rank] if is_bare else self.ranked[rank] + self._random.choice(self._endings)
        )


@cache
def _vocabulary(code: str) -> tuple[list[str], list[float]]:
    """Return the words of a language, most frequent first, and their cumulative frequencies."""
    language, random = LANGUAGES[code], Random(code)  # noqa: S311 - no secret
    starts, middles = language.starts.split(), language.middles.split()
    made = (
        "".join(
            random.choice(starts) + random.choice(middles)
            for _ in range(random.choice((1, 2, 2, 3)))
        )
        for _ in range(VOCABULARY)
    )
    ranked = list(dict.fromkeys([*language.common.split(), *made]))
    return ranked, list(
        accumulate((rank + FLATTENING) ** -STEEPNESS for rank in range(len(ranked)))
    )


def draw_languages(random: Random, count: int) -> list[str]:
    """Draw the language codes of this many documents."""
    return random.choices(
        list(LANGUAGES), [language.share for language in LANGUAGES.values()], k=count
    )


def write_documents(folder: Path, count: int, seed: int, each: int = 1) -> None:
    """Write `count` documents, or every `each`-th of them."""
    random = Random(seed)  # noqa: S311 - no secret
    # Generating the words of a language takes a moment.
    words = {code: Words(code) for code in LANGUAGES}
    for number in range(0, count, each):
        suffix = SUFFIXES[number % len(SUFFIXES)]
        file = folder / f"{number // IN_FOLDER:04}" / f"{number:06}{suffix}"
        file.parent.mkdir(parents=True, exist_ok=True)
        (code,) = draw_languages(random, 1)
        length = int(min(MOST, max(FEWEST, random.lognormvariate(0, SPREAD) * USUAL_WORDS)))
        file.write_text(
            _document(words[code], LANGUAGES[code].gap, number, length, suffix), "utf-8"
        )


def _document(words: Words, gap: str, number: int, length: int, suffix: str) -> str:
    """Return a document of three parts in the markup of its suffix."""
    title = f"{gap.join(words.draw(4)).capitalize()} {number}"
    blocks = [("h1", title)]
    for _ in range(3):
        blocks.append(("h2", gap.join(words.draw(3))))
        drawn = words.draw(length // 3)
        sentences = [
            gap.join(drawn[at : at + 15]).capitalize() + "." for at in range(0, len(drawn), 15)
        ]
        blocks += [("p", " ".join(sentences[at : at + 5])) for at in range(0, len(sentences), 5)]
    if suffix == ".html":
        body = "\n".join(f"<{tag}>{escape(text)}</{tag}>" for tag, text in blocks)
        return f"<!DOCTYPE html><html><head><title>{escape(title)}</title></head><body><main>{body}</main></body></html>\n"
    marks = {"h1": "# ", "h2": "## "} if suffix == ".md" else {}
    return "\n\n".join(f"{marks.get(tag, '')}{text}" for tag, text in blocks) + "\n"
