"""What is known about models from their trials and answers; kept in `models.json`."""

from __future__ import annotations

import asyncio
import contextlib
import json
import tempfile
import threading
from pathlib import Path
from typing import Any, NamedTuple, Protocol, get_args

from langchain_core.language_models import BaseChatModel

from ..concurrency import Locks
from ..records.report import JudgeGrade
from ._rungs import RungName
from .resolve import notes

_known: dict[ModelMemory, Ability | None] = {}
"""The abilities that this process has read or found; None: not stored."""
_writing = threading.Lock()
_FILE_NAME = "models.json"
_locks = Locks()
"""A lock for each memory, so that parallel calls test a model only once."""


class Traits(Protocol):
    """What a wrapped model has learned about its server."""

    @property
    def quirks(self) -> frozenset[str]:
        """Names of the ways in which the server differs from OpenAI."""

    @property
    def output_tokens(self) -> int | None:
        """Largest output limit that the server accepts, in tokens; None: not known."""


class Ability(NamedTuple):
    """What was learned about a model from trial calls and from its answers; stored in
    `models.json`."""

    rung: RungName = "native"
    """The way in which it calls tools."""
    begins_inside: bool = False
    """Whether its answers begin with a thought that has only a closing tag."""
    reasons: bool = False
    """Whether it sent a thought in its trial."""
    quirks: tuple[str, ...] = ()
    """Names of the ways in which its server differs from OpenAI; see `Traits`."""
    output_tokens: int | None = None
    """The largest output limit that its server accepts; None: not known."""
    judge_grade: JudgeGrade | None = None
    """How far it can be trusted as a verifier, by its trial; None: not tried."""
    window: int | None = None
    """Context window in tokens, as last stated by its server; None: not stated."""
    calls_tools: bool = True
    """Whether it can call tools at all; if not, the rung only decides how tool results are shown to
    it."""
    has_plain_history: bool = False
    """Whether its server refuses earlier calls and results in a request without tools, so that they
    are written as text."""

    def with_learned(self, model: BaseChatModel) -> Ability:
        """Return the ability with the traits that this process has learned about the model's
        server."""
        learned: Traits | None = getattr(model, "learned", None)
        if learned is None:
            return self._replace(quirks=(), output_tokens=None)
        quirks = tuple(sorted(learned.quirks))
        return self._replace(quirks=quirks, output_tokens=learned.output_tokens)


class ModelMemory(NamedTuple):
    """Where a model's ability is stored: a JSON file and the key in it."""

    folder: Path
    """The data folder."""
    at_server: str
    """The model; see `Profile`."""
    tool_calls: str = "auto"
    """The user's setting. What is learned with a way set by the user must not be taken for the best
    way."""

    @property
    def key(self) -> str:
        """The key in the file."""
        if self.tool_calls == "auto":
            return self.at_server
        return f"{self.at_server} by {self.tool_calls}"

    @property
    def lock(self) -> asyncio.Lock:
        """The lock to hold while the ability is found out."""
        return _locks.lock(self)

    async def load(self) -> Ability | None:
        """Return the stored ability; None if there is none, or if it cannot be read."""
        if self not in _known:
            stored = await asyncio.to_thread(_read_file, self._path)
            _known[self] = _ability_from(stored.get(self.key))
        known = _known[self]
        if known:
            self._note(known)
        return known

    async def save(self, ability: Ability) -> None:
        """Store an ability; if the file cannot be written, only in memory."""
        window = notes.windows.get(self.at_server, ability.window)
        ability = ability._replace(window=window)
        _known[self] = ability
        self._note(ability)
        await asyncio.to_thread(self._write, ability)

    @property
    def _path(self) -> Path:
        return self.folder / _FILE_NAME

    def _note(self, ability: Ability) -> None:
        if ability.reasons:
            notes.reasoning.add(self.at_server)
        if ability.rung != "native" and self.tool_calls == "auto":
            notes.helped.add(self.at_server)
        if ability.window and not notes.windows.get(self.at_server):
            notes.windows[self.at_server] = ability.window

    def _write(self, ability: Ability) -> None:
        """Write the ability to the file, which keeps its other entries; do nothing if the file
        cannot be written."""
        path = self._path
        with contextlib.suppress(OSError), _writing:
            self.folder.mkdir(mode=0o700, parents=True, exist_ok=True)
            stored = {**_read_file(path), self.key: ability._asdict()}
            # A temporary file can only be read by its owner, and replaces the old one in a single
            # step.
            with tempfile.NamedTemporaryFile(
                dir=self.folder, prefix=path.stem, delete=False
            ) as file:
                written = Path(file.name)
            try:
                written.write_text(json.dumps(stored, indent=2), "utf-8")
                written.replace(path)
            finally:
                written.unlink(missing_ok=True)


def _ability_from(fields: Any) -> Ability | None:
    """Return the ability with these stored fields; None if there are none, or they are invalid.

    Fields that this version does not know are left out.
    """
    if not fields:
        return None
    try:
        known = {name: fields[name] for name in Ability._fields if name in fields}
        ability = Ability(**{**known, "quirks": tuple(fields.get("quirks", ()))})
    except (AttributeError, TypeError):
        return None
    return ability if ability.rung in get_args(RungName) else None


def _read_file(path: Path) -> dict[str, Any]:
    try:
        return dict(json.loads(path.read_text("utf-8")))
    except (OSError, ValueError, TypeError):
        return {}
