"""What the planned strategy is about, in friendly words that vary; they stand in `activities.toml`."""

from __future__ import annotations

import tomllib
from functools import cache
from importlib import resources
from typing import Literal, cast

from ...records.sources import short_hash
from .packets import Activity, Icon, Placement

ActivityKind = Literal[
    "understand",
    "clarify",
    "summarize",
    "plan",
    "search",
    "analyze",
    "adapt",
    "cross_check",
    "frame",
    "grade",
    "verify",
]


def activity(kind: ActivityKind, seed: str, placement: Placement, step_title: str = "") -> Activity:
    """Return a wording of this kind at this place; the same seed has the same wording there, so runs can be repeated.

    The seed is the question; `step_title` names the step that it is an activity of.
    """
    wordings = wordings_of(kind)
    choice = int(short_hash(seed, kind, placement.model_dump_json()), 16) % len(wordings)
    icon = cast(Icon, _table()["icons"][kind])
    return Activity(placement=placement, text=wordings[choice], icon=icon, step_title=step_title)


def wordings_of(kind: ActivityKind) -> list[str]:
    """Return the wordings of this kind."""
    return _table()["wordings"][kind].splitlines()


@cache
def _table() -> dict[str, dict[str, str]]:
    return tomllib.loads(resources.files(__package__).joinpath("activities.toml").read_text("utf-8"))
