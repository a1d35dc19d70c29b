"""One measurement in a process of its own, as a user's run is one; the result is a line of JSON.

`python -m deep_research.bench.measure refresh|search|follow DOCUMENTS DATA [COUNT SEED]`
"""

from __future__ import annotations

import json
import sys
from collections.abc import Callable, Iterable, Iterator
from pathlib import Path
from random import Random
from time import perf_counter, process_time
from typing import Any

from deep_research import Context, Library
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


RESULTS = 25


def refresh(library: Library) -> dict[str, Any]:
    """How long it takes to bring the index up to date."""
    begun = perf_counter()
    library.refresh()
    return {"seconds": perf_counter() - begun}


def search(library: Library, count: int, seed: int) -> dict[str, Any]:
    """How long each query takes; and how many find something."""
    kinds, asked = zip(*queries(count, seed), strict=True)
    return {"kinds": kinds} | _each(asked, lambda query: library.search(query, RESULTS))


def follow(library: Library, count: int, seed: int) -> dict[str, Any]:
    """How long it takes to follow the names in each whole question; and how many find something."""
    return _each(questions(count, seed), lambda question: library.follow(question, RESULTS))


def _each(asked: Iterable[str], find: Callable[[str], object]) -> dict[str, Any]:
    """How long each takes, on the clock and on the processor, in milliseconds; and how many find something."""
    times: list[float] = []
    worked: list[float] = []
    found = 0
    for query in asked:
        begun, worked_before = perf_counter(), process_time()
        found += bool(find(query))
        worked.append((process_time() - worked_before) * 1000)
        times.append((perf_counter() - begun) * 1000)
    return {"times": times, "worked": worked, "found": found}


def used() -> dict[str, float]:
    """The most memory, in megabytes, that this process and the largest of its children held; and their work."""
    import resource

    unit = 1e6 if sys.platform == "darwin" else 1e3
    own, children = (resource.getrusage(who) for who in (resource.RUSAGE_SELF, resource.RUSAGE_CHILDREN))
    worked = sum(one.ru_utime + one.ru_stime for one in (own, children))
    return {"own_megabytes": own.ru_maxrss / unit, "child_megabytes": children.ru_maxrss / unit, "processor": worked}


MEASURES: dict[str, Callable[..., dict[str, Any]]] = {"refresh": refresh, "search": search, "follow": follow}


def main(what: str, documents: str, data: str, *numbers: str) -> None:
    """Measure, and write what was seen."""
    library = Library(Context(docs=(Path(documents),), data_dir=Path(data)))
    seen = MEASURES[what](library, *map(int, numbers))
    sys.stdout.write(json.dumps(seen | used()) + "\n")


if __name__ == "__main__":
    main(*sys.argv[1:])
