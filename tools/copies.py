"""Tells by its name that a file is somebody's copy of another."""

from __future__ import annotations

import re
import unicodedata
from functools import lru_cache
from pathlib import PurePosixPath

from ..knowledge import Source

_WORD = "cop(?:y|ie|ia)|cópia|kopi[aeo]?|копия|копія"
_SIGNS = "コピー|副本|복사본|사본"
_OF = "of|von|van|av|af|de|di|do|da"
_MARK = re.compile(
    rf"^(?:{_WORD})(?: \(\d+\))? (?:{_OF})\b|^(?:kopia|копия|копія) "
    rf"|(?:[\s_(–—-](?:{_WORD})|{_SIGNS})(?: ?\(?\d+\)?)?\)?$|\(\d{{1,2}}\)$",
    re.IGNORECASE,
)
"""What Windows, macOS, Linux and browsers write: "Copy of x", "x - Copy (2)", "x copy 2", "x (1)"."""


@lru_cache(maxsize=50_000)
def is_copy(path: str) -> bool:
    """Whether the name of a file has the mark of a copy.

    It tells which of equal, or equally good, documents comes first, and nothing else: a name may end so for other
    reasons.
    """
    # macOS takes letters apart.
    return bool(_MARK.search(unicodedata.normalize("NFC", PurePosixPath(path).stem)))


def originals_first(source: Source) -> str:
    """By what sources that serve equally well are put in order."""
    return f"{int(is_copy(source.address))}{source.key}"
