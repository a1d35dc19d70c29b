"""Turns checkpoints into bytes and back, and refuses whatever is damaged or not ours."""

from __future__ import annotations

import importlib
import re
import zlib
from collections.abc import Iterable
from functools import cache
from importlib.metadata import version
from typing import Any

import ormsgpack
from langgraph.checkpoint.serde import jsonplus
from langgraph.checkpoint.serde._msgpack import SAFE_MSGPACK_METHODS, SAFE_MSGPACK_TYPES
from langgraph.checkpoint.serde.jsonplus import JsonPlusSerializer
from langgraph.checkpoint.serde.types import _DeltaSnapshot
from langgraph.types import Send
from pydantic import ValidationError

from ...records.research import ConflictingClaims, Run
from ...records.sources import Record
from ..errors import NewerVersion, StateUnreadable, failure_of

_CHECKED = "msgpack:"
"""Beginning of the type under which a value stands that has a checksum."""
_RAW = ("null", "bytes", "bytearray")
_RENAMED: dict[str, type] = {"Contradiction": ConflictingClaims}
"""Records by the names under which earlier versions stored them."""


@cache
def code_version() -> str:
    """Return the version of this code; reads a file the first time."""
    return version("deep-research")


def _parts(name: str) -> tuple[int, ...]:
    return tuple(map(int, re.findall(r"\d+", name)[:2]))


class StrictSerializer(JsonPlusSerializer):
    """LangGraph's serializer for our own records and LangGraph's safe types, without pickle.

    LangGraph hands back what it cannot or must not restore as a plain value; here it is an error, because a run that
    goes on with a dict in the place of a record fails later and in a worse place.
    """

    def __init__(self, *, has_checksums: bool = False) -> None:
        """`has_checksums`: values are written with a checksum, which only this serializer reads."""
        super().__init__(pickle_fallback=False, allowed_msgpack_modules=record_types())
        self._has_checksums = has_checksums
        self._records = _RENAMED | {record.__name__: record for record in record_types()}

    def dumps_typed(self, obj: Any) -> tuple[str, bytes]:
        """Serialize a value; of an error only its reason: its text may quote a key."""
        kind, data = super().dumps_typed(failure_of(obj) if isinstance(obj, BaseException) else obj)
        is_checked = self._has_checksums and kind == "msgpack"
        return (f"{_CHECKED}{zlib.crc32(data):08x}" if is_checked else kind), data

    def loads_typed(self, data: tuple[str, bytes]) -> Any:
        """Read a value; raises `StateUnreadable` if it is damaged or holds anything that is not allowed."""
        kind, packed = data
        if kind in _RAW:
            return super().loads_typed(data)
        if kind != "msgpack" and kind != f"{_CHECKED}{zlib.crc32(packed):08x}":
            is_ours = str(kind).startswith(_CHECKED)
            raise StateUnreadable("its bytes were changed" if is_ours else f"it is written as {kind!r}")
        return _Reader(self._records).read(packed)

    def with_msgpack_allowlist(
        self,
        extra_allowlist: Iterable[tuple[str, ...] | type],  # noqa: ARG002 - the signature is LangGraph's
    ) -> StrictSerializer:
        """Return the same serializer: its list is complete, whatever a graph would add to it.

        The server's wrapper of a saver cannot be copied, which LangGraph would do for a serializer that changes.
        """
        return self


class _Reader:
    """Reads one value; msgpack passes on no error of its hook, so that the first one is kept here."""

    def __init__(self, records: dict[str, type]) -> None:
        self._records = records
        self._fault: StateUnreadable | None = None

    def read(self, packed: bytes) -> Any:
        try:
            return self._unpacked(packed)
        except Exception as error:
            raise self._fault or StateUnreadable("its bytes were changed") from error

    def _unpacked(self, packed: bytes) -> Any:
        return ormsgpack.unpackb(packed, ext_hook=self._restored, option=ormsgpack.OPT_NON_STR_KEYS)

    def _restored(self, code: int, packed: bytes) -> Any:
        try:
            value = self._unpacked(packed)
            return _DeltaSnapshot(value) if code == jsonplus.EXT_DELTA_SNAPSHOT else self._object(code, *value)
        except Exception as error:
            kept = error if isinstance(error, StateUnreadable) else None
            self._fault = self._fault or kept or StateUnreadable(f"a value cannot be restored ({type(error).__name__})")
            raise

    def _object(self, code: int, module: str, name: str, given: Any, *method: str) -> Any:
        is_method = code == jsonplus.EXT_METHOD_SINGLE_ARG
        # A record of ours goes by its name alone: the module in which it stood when it was stored may be gone.
        is_ours = module.partition(".")[0] == __name__.partition(".")[0] and not is_method
        make: Any = self._records.get(name) if is_ours else None
        allowed = SAFE_MSGPACK_METHODS if is_method else SAFE_MSGPACK_TYPES
        if not make and (module, name, *method[:is_method]) not in allowed:
            raise StateUnreadable(f"it holds the foreign type {f'{module}.{name}'!r}")
        make = make or getattr(importlib.import_module(module), name)
        if is_method:
            return getattr(make, *method)(given)
        if code == jsonplus.EXT_CONSTRUCTOR_SINGLE_ARG:
            return make(given)
        if code == jsonplus.EXT_CONSTRUCTOR_POS_ARGS:
            return make(given[0], given[1], timeout=given[2]) if make is Send and len(given) > 2 else make(*given)
        if code in (jsonplus.EXT_CONSTRUCTOR_KW_ARGS, jsonplus.EXT_PYDANTIC_V2):
            return _record(make, given)
        raise StateUnreadable(f"it holds an unknown extension ({code})")


def _record(make: Any, given: dict[str, Any]) -> Any:
    # Newer by more than bug fixes.
    if make is Run and _parts(str(given.get("version", ""))) > _parts(code_version()):
        raise NewerVersion(
            f"was written by version {given['version']}, which is newer than this one ({code_version()})"
        )
    try:
        return make(**given)
    except ValidationError as error:
        places = {".".join(map(str, fault["loc"])): fault["msg"] for fault in error.errors(include_input=False)}
        misfits = "; ".join(f"{place}: {words}" for place, words in [*places.items()][:3])
        words = f"a record {make.__name__!r} does not fit version {code_version()} ({misfits})"
        raise StateUnreadable(words) from error


def record_types() -> list[type]:
    """Return all record types."""
    types, new = list[type](), [*Record.__subclasses__()]
    while new:
        types += new
        new = [below for above in new for below in above.__subclasses__()]
    return types
