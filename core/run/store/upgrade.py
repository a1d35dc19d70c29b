"""Converts records and logged packets stored at commit bad86816 to today's."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from typing import Any

from ...records.research import Run


def _run(fields: dict[str, Any]) -> tuple[type, dict[str, Any]]:
    """Drop the estimate: it was a range per plan step and the limits, not what earlier runs cost."""
    return Run, {name: value for name, value in fields.items() if name != "estimate"}


UPGRADES: dict[str, Callable[[dict[str, Any]], tuple[type, dict[str, Any]]]] = {"Run": _run}
"""By a record's class name: takes the stored fields, and returns today's class and fields.

A record within another record is stored as a part of its fields. Fields that are stored today are returned unchanged.
"""


def upgraded_packets(logged: Iterable[Mapping[str, Any]]) -> list[Mapping[str, Any]]:
    """Return logged packets without the estimates of bad86816, which `estimate_made` no longer holds."""
    return [packet for packet in logged if not _is_old_estimate(packet)]


def _is_old_estimate(packet: Mapping[str, Any]) -> bool:
    return packet["type"] == "estimate_made" and "median_seconds" not in packet["estimate"]
