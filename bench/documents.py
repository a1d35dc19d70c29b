"""Writes a folder of made-up documents: the same ones for the same seed.

`python -m deep_research.bench.documents FOLDER COUNT SEED` writes all of them, with a further argument each so many-th.
"""

from __future__ import annotations

import sys
from collections.abc import Iterator
from html import escape
from pathlib import Path
from random import Random

from deep_research.bench.tongues import TONGUES, Words

IN_FOLDER = 500
USUAL_WORDS = 300
SPREAD = 0.9
FEWEST, MOST = 30, 20_000
SUFFIXES = (".md", ".md", ".md", ".md", ".md", ".txt", ".txt", ".txt", ".txt", ".html")


class Author:
    """Writes documents in several languages."""

    def __init__(self, seed: int) -> None:
        self._random = Random(seed)  # noqa: S311 - no secret
        self._words: dict[str, Words] = {}

    def document(self, number: int, suffix: str) -> str:
        """One document, of a kind."""
        (code,) = self._random.choices(list(TONGUES), [tongue.share for tongue in TONGUES.values()])
        # The words of a language take a moment to make up, and a few documents are not of all languages.
        words = self._words.get(code) or self._words.setdefault(code, Words(code))
        gap = TONGUES[code].gap
        title = f"{gap.join(words.draw(4)).capitalize()} {number}"
        left = int(min(MOST, max(FEWEST, self._random.lognormvariate(0, SPREAD) * USUAL_WORDS)))
        parts = [(gap.join(words.draw(3)), list(_sentences(words, gap, left // 3))) for _ in range(3)]
        return _MARKED[suffix](title, parts)


def _sentences(words: Words, gap: str, count: int) -> Iterator[str]:
    drawn = words.draw(count)
    for start in range(0, count, 15):
        yield gap.join(drawn[start : start + 15]).capitalize() + "."


def _paragraphs(sentences: list[str]) -> list[str]:
    return [" ".join(sentences[start : start + 5]) for start in range(0, len(sentences), 5)]


def _markdown(title: str, parts: list[tuple[str, list[str]]]) -> str:
    blocks = [f"# {title}"]
    for heading, sentences in parts:
        blocks += [f"## {heading}", *_paragraphs(sentences)]
    return "\n\n".join(blocks) + "\n"


def _plain(title: str, parts: list[tuple[str, list[str]]]) -> str:
    return "\n\n".join([title, *(block for _, sentences in parts for block in _paragraphs(sentences))]) + "\n"


def _html(title: str, parts: list[tuple[str, list[str]]]) -> str:
    blocks = [f"<h1>{escape(title)}</h1>"]
    for heading, sentences in parts:
        blocks += [f"<h2>{escape(heading)}</h2>", *(f"<p>{escape(block)}</p>" for block in _paragraphs(sentences))]
    body = "\n".join(blocks)
    return f"<!DOCTYPE html><html><head><title>{escape(title)}</title></head><body><main>{body}</main></body></html>\n"


_MARKED = {".md": _markdown, ".txt": _plain, ".html": _html}


def write(folder: Path, count: int, seed: int, each: int = 1) -> None:
    """Write the documents, or each so many-th of them."""
    author = Author(seed)
    for number in range(0, count, each):
        suffix = SUFFIXES[number % len(SUFFIXES)]
        file = folder / f"{number // IN_FOLDER:04}" / f"{number:06}{suffix}"
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_text(author.document(number, suffix), "utf-8")


if __name__ == "__main__":
    write(Path(sys.argv[1]), *map(int, sys.argv[2:]))
