"""Evaluates the servers' logs of a run: calls, tokens, and the critical path of calls."""

from __future__ import annotations

import json
from collections.abc import Sequence
from pathlib import Path
from typing import Any

CACHED_PRICE = 0.1
"""Price of a cached token, as a share of the usual price."""
SLOTS = 3
"""Scouts, or researchers of rows, of a table that work at the same time."""
_CELLS = "generate_report cells"
_IN_SLOTS = ("web_search queries", "generate_report rows", _CELLS)
"""Kinds of calls that they make."""
SLACK = 0.005
"""Maximum clock difference between two processes in seconds."""

Entry = dict[str, Any]


def read(path: Path) -> list[Entry]:
    """Return the entries of a log; empty without a log."""
    return (
        [json.loads(line) for line in path.read_text(encoding="utf-8").splitlines()]
        if path.exists()
        else []
    )


def figures(folder: Path) -> dict[str, Any]:
    """Return the figures of the run with its logs in this folder."""
    model, search = read(folder / "model.jsonl"), read(folder / "search.jsonl")
    prompt, cached = (
        sum(entry[key] for entry in model) for key in ("prompt_tokens", "cached_tokens")
    )
    rows = {entry["request"] for entry in model if entry["kind"] == _CELLS}
    return {
        "calls": len(model),
        "rows": len(rows),
        "calls_broken": sum(not entry["is_complete"] for entry in model),
        "prompt_tokens": prompt,
        "cached_tokens": cached,
        "billable_tokens": round(prompt - (1 - CACHED_PRICE) * cached),
        "output_tokens": sum(entry["output_tokens"] for entry in model),
        "searches": sum(entry["kind"] == "search" for entry in search),
        "pages": sum(entry["kind"] == "page" for entry in search),
        "ideal_s": round(table_chain(model) if rows else ideal([*model, *search]), 3),
    }


def ideal(entries: Sequence[Entry]) -> float:
    """Return the seconds of the longest chain of dependent calls, at their nominal times.

    A call depends on an earlier one if its prompt contains that one's output (a marker, see
    `policy`). Calls that are needlessly sequential do not lengthen the chain.
    """
    done = [
        entry
        for entry in sorted(entries, key=lambda entry: entry["arrived"])
        if entry["is_complete"]
    ]
    first: dict[str, Entry] = {}
    for entry in sorted(done, key=lambda entry: entry["finished"]):
        for marker in entry["makes"]:
            first.setdefault(marker, entry)
    ends: dict[int, float] = {}
    for entry in done:
        needed = (first[marker] for marker in entry["depends_on"] if marker in first)
        before = [
            ends.get(id(call), 0.0)
            for call in needed
            if call["finished"] <= entry["arrived"] + SLACK
        ]
        ends[id(entry)] = max(before, default=0.0) + entry["nominal"]
    return max(ends.values(), default=0.0)


def table_chain(entries: Sequence[Entry]) -> float:
    """Return the seconds that the calls of a table take, at their nominal times: kind after kind,
    since each needs all results of the one before, and side by side within a kind."""
    by_kind: dict[str, list[float]] = {}
    for entry in entries:
        by_kind.setdefault(entry["kind"], []).append(entry["nominal"])
    chain = 0.0
    for kind, seconds in by_kind.items():
        longest = max(seconds)
        if kind in _IN_SLOTS:
            longest = max(longest, sum(seconds) / SLOTS)
        chain += longest
    return chain
