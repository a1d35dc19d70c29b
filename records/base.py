"""What every record is, and the short hashes that name things."""

from __future__ import annotations

import hashlib

from pydantic import BaseModel, ConfigDict


class Record(BaseModel):
    """A frozen piece of a run; two records with equal fields are the same record."""

    model_config = ConfigDict(frozen=True, extra="forbid", use_attribute_docstrings=True)


def short_hash(*parts: str) -> str:
    """The first 16 hex digits of the SHA-256 of some texts."""
    return hashlib.sha256("\0".join(parts).encode("utf-8", "surrogatepass")).hexdigest()[:16]
