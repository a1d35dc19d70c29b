"""Queries and questions to made-up documents: of rare words and of common ones, short and long."""

from __future__ import annotations

from collections.abc import Iterator
from random import Random

from deep_research.bench.tongues import TONGUES, Words

KINDS = {
    "one word": (range(50, 5_000),),
    "rare words": (range(20_000, 60_000),) * 3,
    "common words": (range(40, 400),) * 4,
    "common and rare": (*((range(40, 400),) * 4), range(20_000, 60_000)),
    "a long sentence": (),
}
"""From which ranks the words of a question of each kind are taken."""
NAMES = range(2_000, 40_000)
"""From which ranks the names in whole questions are taken."""
LONG = 25
"""Words of a long sentence, which are drawn as those of documents are."""


def queries(count: int, seed: int) -> Iterator[tuple[str, str]]:
    """So many questions, in turn of each kind, with the name of that."""
    random = Random(seed)  # noqa: S311 - no secret
    codes = random.choices(list(TONGUES), [tongue.share for tongue in TONGUES.values()], k=count)
    words = {code: Words(code) for code in dict.fromkeys(codes)}
    for number, code in enumerate(codes):
        kind = list(KINDS)[number % len(KINDS)]
        ranked = words[code].ranked
        chosen = [ranked[random.choice(ranks) % len(ranked)] for ranks in KINDS[kind]]
        yield kind, TONGUES[code].gap.join(chosen or words[code].draw(LONG))


def questions(count: int, seed: int) -> Iterator[str]:
    """So many whole questions in English, each with a name of two words and with words common and rare."""
    random = Random(seed)  # noqa: S311 - no secret
    ranked = Words("en").ranked
    for _ in range(count):
        first, second, rare = (ranked[random.choice(NAMES)] for _ in range(3))
        common = ranked[random.choice(KINDS["common words"][0])]
        yield f"Which {common} did {first.capitalize()} {second.capitalize()} bring to the {rare}?"
