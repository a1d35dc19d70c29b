"""One measurement in a process of its own, as a user's run is one; the result is a line of JSON.

`python -m deep_research.bench.measure refresh|search DOCUMENTS DATA [QUERIES SEED]`
"""

from __future__ import annotations

import json
import sys
from pathlib import Path
from time import perf_counter
from typing import Any

from deep_research import Context, Library
from deep_research.bench.queries import queries

RESULTS = 25


def refresh(library: Library) -> dict[str, Any]:
    """How long it takes to bring the index up to date."""
    begun = perf_counter()
    status = library.refresh()
    return {"seconds": perf_counter() - begun, "documents": status.documents, "left_out": len(status.left_out)}


def search(library: Library, count: int, seed: int) -> dict[str, Any]:
    """How long each query takes, in milliseconds, and how many of them find something."""
    kinds: list[str] = []
    times: list[float] = []
    found = 0
    for kind, query in queries(count, seed):
        begun = perf_counter()
        found += bool(library.search(query, RESULTS))
        times.append((perf_counter() - begun) * 1000)
        kinds.append(kind)
    return {"kinds": kinds, "times": times, "found": found}


def peaks() -> dict[str, float]:
    """The most memory, in megabytes, that this process has held, and the largest of its children."""
    import resource

    unit = 1e6 if sys.platform == "darwin" else 1e3
    own, child = (resource.getrusage(who).ru_maxrss for who in (resource.RUSAGE_SELF, resource.RUSAGE_CHILDREN))
    return {"own_megabytes": own / unit, "child_megabytes": child / unit}


def main(what: str, documents: str, data: str, *numbers: str) -> None:
    """Measure, and write what was seen."""
    library = Library(Context(docs=(Path(documents),), data_dir=Path(data)))
    seen = refresh(library) if what == "refresh" else search(library, *map(int, numbers))
    sys.stdout.write(json.dumps(seen | peaks()) + "\n")


if __name__ == "__main__":
    main(*sys.argv[1:])
