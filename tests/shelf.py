"""A small folder of documents, and the settings to index it."""

from __future__ import annotations

import asyncio
from datetime import datetime
from pathlib import Path
from typing import NamedTuple

from deep_research.core.library.library import Library
from deep_research.core.run.context import Context
from deep_research.core.run.limits import Limits

HARBOUR = "# Porto Alto harbour\n\nThe harbour of Porto Alto was deepened in 1893 by Ada Lindqvist.\n"
BRIDGE = "Velm bridge\n\nThe bridge over the Velm was opened in 1911. Its builder was Ada Lindqvist.\n"
LONG = "\n\n".join(
    f"Chapter {number} tells of ship {number} and of its cargo of salt and tin." for number in range(900)
)


class FixedClock:
    def now(self) -> datetime:
        return datetime(2031, 5, 6, 7, 8)

    def seconds(self) -> float:
        return 0.0

    async def sleep(self, seconds: float) -> None:
        await asyncio.Event().wait()


class Place(NamedTuple):
    """A folder of documents and a data folder."""

    docs: Path
    data: Path

    def context(self, *docs: Path, **limits: float) -> Context:
        values = Limits.model_validate(limits)
        return Context(docs=docs or (self.docs,), data_dir=self.data, limits=values, clock=FixedClock())

    def library(self, *docs: Path, **limits: float) -> Library:
        return Library(self.context(*docs, **limits))

    def indexed(self, *docs: Path, **limits: float) -> Library:
        library = self.library(*docs, **limits)
        library.refresh()
        return library

    def index_file(self) -> Path:
        (file,) = (self.data / "indexes").glob("*.sqlite")
        return file

    @classmethod
    def filled(cls, tmp_path: Path) -> Place:
        """Three short documents, none of a kind whose parser takes long to load."""
        docs = tmp_path / "papers"
        (docs / "old").mkdir(parents=True)
        (docs / "harbour.md").write_text(HARBOUR)
        (docs / "old" / "Velm bridge.txt").write_text(BRIDGE)
        (docs / "salt.txt").write_text("Salt\n\nSalt was traded at Porto Alto until 1950.\n")
        return cls(docs, tmp_path / "data")
