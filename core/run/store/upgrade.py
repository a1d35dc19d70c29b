"""Converts records that an earlier version stored, so that its runs can be opened and resumed."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

Upgrade = Callable[[dict[str, Any]], tuple[type, dict[str, Any]]]
"""Takes the stored fields of a record; returns its class and fields in this version."""

UPGRADES: dict[str, Upgrade] = {}
"""Conversions of records stored by commit bad86816, by the class name at that commit.

Records of this version with the same class name pass through as well, so a conversion must leave their fields as they
are. A record inside another is stored as a plain dict: the conversion of the outer record has to convert it.
"""
