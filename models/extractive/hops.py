"""Names that what was read brings up, and that are worth a search of their own."""

from __future__ import annotations

from collections.abc import Sequence

from ...evidence.text.months import sure_month_names
from ...evidence.text.vocabulary import STOP_WORDS
from ...evidence.text.words import names, tokens
from .choosing import Chooser
from .pool import Pool

MOST_READ = 12
"""Units that are looked at for names, the ones that hold most of what is asked."""
OPEN_WORDS = 6
"""Words of the question that go into a query beside the name: more would drown it."""
IN_CHAIN = 0.3
"""What it counts, as a share of the question, that the name stands in the chain that answers best so far."""
SEVERAL_WORDS = 0.3
"""By what share a name of several words is worth more: it finds one thing, where a single word finds many."""
SHORTEST = 4
"""Characters of the shortest name that is followed."""


def leads(pool: Pool, asked: Sequence[str], count: int) -> list[str]:
    """Return queries: a name that the question does not hold, and the words that its unit leaves open."""
    chain = set(Chooser(pool).chain)
    best: dict[str, tuple[float, str]] = {}
    known = set(tokens(pool.asked)) | STOP_WORDS | sure_month_names()
    worth = {one: pool.weight(one.held) + IN_CHAIN * (one in chain) for one in pool.sentences}
    for one in sorted(worth, key=lambda one: -worth[one])[:MOST_READ]:
        for name in names(f"{pool.documents[one.number].title}\n{one.text}"):
            fresh = [word for word in tokens(name) if word not in known]
            if len(name) < SHORTEST or not fresh or all(map(str.isdigit, fresh)):
                continue
            value = worth[one] * (1 + SEVERAL_WORDS * (" " in name))
            rest = [word for place, word in enumerate(pool.words[: pool.own_count]) if place not in one.held]
            if value > best.get(name, (0.0, ""))[0]:
                best[name] = value, " ".join([name, *rest[:OPEN_WORDS]])
    ranked = sorted(best, key=lambda name: -best[name][0])
    return [best[name][1] for name in ranked if not any(query.startswith(name) for query in asked)][:count]
