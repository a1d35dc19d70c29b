"""Serializes the values in checkpoints; refuses to load what is damaged, of foreign types, or of a
newer version."""

from __future__ import annotations

import importlib
import re
from collections.abc import Iterable, Mapping
from typing import Any

import ormsgpack
from langgraph.checkpoint.serde import jsonplus
from langgraph.checkpoint.serde.jsonplus import JsonPlusSerializer
from langgraph.types import Send
from pydantic import ValidationError

from ..errors import NewerVersion, StateUnreadable, failure_of
from ..records.langgraph_private import SAFE_MSGPACK_METHODS, SAFE_MSGPACK_TYPES, DeltaSnapshot
from ..records.research import Run
from ..records.sources import Record
from ..settings.installed import code_version
from ._packing import checked, decompressed, has_checksum, is_intact
from ._upgrade import UPGRADES, Upgrade

_RAW = ("null", "bytes", "bytearray")
"""Types of values that LangGraph stores without serializing them."""


def _minor(name: str) -> tuple[int, ...]:
    """Return the first two numbers of a version: (1, 2) for `1.2.3`. Patch releases do not change
    the format."""
    return tuple(map(int, re.findall(r"\d+", name)[:2]))


class StrictSerializer(JsonPlusSerializer):
    """LangGraph's serializer, without pickle, for our records and LangGraph's safe types only.

    LangGraph loads a value of any other type as a plain one, such as a dict. Here that is an error,
    because a run with a dict instead of a record would fail later, with a worse message.
    """

    def __init__(
        self, *, has_checksums: bool = False, upgrades: Mapping[str, Upgrade] = UPGRADES
    ) -> None:
        """`has_checksums`: write values with a checksum, and long ones compressed; then only this
        serializer can read them.

        `upgrades`: conversions of records that an earlier version stored, by class name.
        """
        super().__init__(pickle_fallback=False, allowed_msgpack_modules=record_types())
        self._has_checksums = has_checksums
        self._records = {record.__name__: record for record in record_types()}
        self._upgrades = upgrades

    def dumps_typed(self, obj: Any) -> tuple[str, bytes]:
        """Serialize a value; of an exception only `failure_of` is stored, since its text may quote
        a key."""
        if isinstance(obj, BaseException):
            obj = failure_of(obj)
        kind, data = super().dumps_typed(obj)
        if self._has_checksums and kind == "msgpack":
            return checked(data)
        return kind, data

    def loads_typed(self, data: tuple[str, bytes]) -> Any:
        """Deserialize a value; raises `StateUnreadable` if it is damaged or contains a foreign
        type."""
        kind, packed = data
        if kind in _RAW:
            return super().loads_typed(data)
        if has_checksum(str(kind)):
            if not is_intact(kind, packed):
                raise StateUnreadable("its bytes were changed")
            packed = decompressed(kind, packed)
        elif kind != "msgpack":
            raise StateUnreadable(f"it is written as {kind!r}")
        return _Reader(self._records, self._upgrades).read(packed)

    def with_msgpack_allowlist(
        self,
        extra_allowlist: Iterable[tuple[str, ...] | type],  # noqa: ARG002 - the signature is LangGraph's
    ) -> StrictSerializer:
        """Return this serializer itself: its list of types is complete.

        If another object were returned, LangGraph would copy the saver, and its server wraps savers
        in objects that cannot be copied.
        """
        return self


class _Reader:
    """Deserializes one value; keeps the first error of its msgpack hook, since msgpack hides it
    behind its own."""

    def __init__(self, records: Mapping[str, type], upgrades: Mapping[str, Upgrade]) -> None:
        self._records, self._upgrades = records, upgrades
        self._fault: StateUnreadable | None = None

    def read(self, packed: bytes) -> Any:
        try:
            return self._unpacked(packed)
        except Exception as error:
            raise self._fault or StateUnreadable("its bytes were changed") from error

    def _unpacked(self, packed: bytes) -> Any:
        return ormsgpack.unpackb(packed, ext_hook=self._restored, option=ormsgpack.OPT_NON_STR_KEYS)

    def _restored(self, code: int, packed: bytes) -> Any:
        """Hook for objects: return the object that this msgpack extension stands for."""
        try:
            value = self._unpacked(packed)
            if code == jsonplus.EXT_DELTA_SNAPSHOT:
                return DeltaSnapshot(value)
            return self._object(code, *value)
        except Exception as error:
            if self._fault is None and isinstance(error, StateUnreadable):
                self._fault = error
            elif self._fault is None:
                kind = type(error).__name__
                self._fault = StateUnreadable(f"a value cannot be restored ({kind})")
            raise

    def _object(self, code: int, module: str, name: str, given: Any, *method: str) -> Any:
        """Return the object of this class; `given`: arguments of its constructor or `method`,
        depending on `code`."""
        is_ours = module.partition(".")[0] == __name__.partition(".")[0]
        if code == jsonplus.EXT_METHOD_SINGLE_ARG:
            if (module, name, *method[:1]) not in SAFE_MSGPACK_METHODS:
                raise _foreign_type(module, name)
            make = getattr(importlib.import_module(module), name)
            return getattr(make, *method)(given)
        # Our records are found by name alone: their module may have moved since they were stored.
        make, upgrade = None, None
        if is_ours:
            make, upgrade = self._records.get(name), self._upgrades.get(name)
        if not make and not upgrade:
            if (module, name) not in SAFE_MSGPACK_TYPES:
                raise _foreign_type(module, name)
            make = getattr(importlib.import_module(module), name)
        if code == jsonplus.EXT_CONSTRUCTOR_SINGLE_ARG:
            return make(given)
        if code == jsonplus.EXT_CONSTRUCTOR_POS_ARGS:
            if make is Send and len(given) > 2:
                return make(given[0], given[1], timeout=given[2])
            return make(*given)
        if code not in (jsonplus.EXT_CONSTRUCTOR_KW_ARGS, jsonplus.EXT_PYDANTIC_V2):
            raise StateUnreadable(f"it contains an unknown msgpack extension ({code})")
        if make is Run and _minor(str(given.get("version", ""))) > _minor(code_version()):
            raise NewerVersion(
                f"was written by version {given['version']}, which is newer than this one "
                f"({code_version()})"
            )
        if upgrade:
            make, given = upgrade(given)
        try:
            return make(**given)
        except ValidationError as error:
            raise _misfit(make.__name__, error) from error


def record_types() -> list[type]:
    """Return all record types, which are the direct and indirect subclasses of `Record`."""
    types = list[type]()
    new: list[type] = Record.__subclasses__()
    while new:
        types += new
        subclasses = list[type]()
        for record in new:
            subclasses += record.__subclasses__()
        new = subclasses
    return types


def _foreign_type(module: str, name: str) -> StateUnreadable:
    return StateUnreadable(f"it contains the foreign type {f'{module}.{name}'!r}")


def _misfit(name: str, error: ValidationError) -> StateUnreadable:
    """Return the error for a stored record that this version does not accept."""
    faults = dict[str, str]()
    for fault in error.errors(include_input=False):
        field = ".".join(map(str, fault["loc"]))
        faults[field] = f"{field}: {fault['msg']}"
    listed = "; ".join([*faults.values()][:3])
    return StateUnreadable(f"a record {name!r} does not fit version {code_version()} ({listed})")
