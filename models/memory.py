"""What was found out about models, kept in a file of the data folder."""

from __future__ import annotations

import asyncio
import contextlib
import json
import tempfile
import threading
from pathlib import Path
from typing import Any, NamedTuple, get_args

from .ladder import RungName


class Ability(NamedTuple):
    """How a model takes part."""

    rung: RungName = "native"
    """How it calls tools."""
    begins_inside: bool = False
    """Whether its answers begin within a thought, without a tag that opens it."""


class Place(NamedTuple):
    """Where the ability of a model is kept."""

    path: Path
    model: str


_known: dict[Place, Ability | None] = {}
_writing = threading.Lock()


async def recall(place: Place) -> Ability | None:
    """What is known of the model; none if nothing is."""
    if place not in _known:
        _known[place] = await asyncio.to_thread(_read, place)
    return _known[place]


async def write_down(place: Place, ability: Ability) -> None:
    """Keep what was found out; where the file cannot be written, as long as the process lasts."""
    _known[place] = ability
    await asyncio.to_thread(_write, place, ability)


def _read(place: Place) -> Ability | None:
    kept = _contents(place.path).get(place.model)
    try:
        return Ability(**kept) if kept and kept["rung"] in get_args(RungName) else None
    except (KeyError, TypeError):
        return None


def _write(place: Place, ability: Ability) -> None:
    folder = place.path.parent
    with contextlib.suppress(OSError), _writing:
        folder.mkdir(mode=0o700, parents=True, exist_ok=True)
        kept = {**_contents(place.path), place.model: ability._asdict()}
        # A temporary file is readable by its owner alone, and nobody sees the real one half written.
        with tempfile.NamedTemporaryFile(dir=folder, prefix=place.path.stem, delete=False) as file:
            written = Path(file.name)
        try:
            written.write_text(json.dumps(kept, indent=2), "utf-8")
            written.replace(place.path)
        finally:
            written.unlink(missing_ok=True)


def _contents(path: Path) -> dict[str, Any]:
    try:
        return dict(json.loads(path.read_text("utf-8")))
    except (OSError, ValueError, TypeError):
        return {}
