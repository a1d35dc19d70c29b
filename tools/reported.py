"""Finds what a search service reports in its answer: errors, warnings and messages."""

from __future__ import annotations

import re
from collections.abc import Collection, Iterator, Mapping
from typing import Any, NamedTuple

from ..core.masking import MASK, masked
from ..core.reading.documents.decode import clean_text, without_controls

_FAULTS = frozenset((
    "error", "errors", "errormessage", "errmsg", "exception", "exceptions", "failure", "failures",
    "fault", "faults", "unresponsiveengines", "warning", "warnings",
))  # fmt: skip
"""Normalized names of fields (see `_field`) that only hold what went wrong."""
_WORDS = frozenset(("message", "messages", "msg", "detail", "details", "reason", "notice"))
"""Normalized names of fields that say in words how a request went, well or badly."""
_PARTS = _FAULTS | _WORDS | {"code", "description", "info", "tag", "text", "value"}
"""Normalized names of the texts within such a field; others may repeat the request."""
_SUCCESS = frozenset(("ok", "success"))
_DEEPEST = 5
"""Maximum depth of nested lists and records."""
_MOST_TEXTS = 8
"""Maximum number of texts shown of one field."""
_CHARACTERS = 120
"""Maximum length of a text that is shown."""
_MARKUP = re.compile(r"[\[\]<>{}`*_|\\#]+")


class Reported(NamedTuple):
    """What a service reports in an answer, as words for the user; both empty if nothing."""

    faults: str = ""
    """Errors and warnings, with the name of their field: `unresponsive engines: a (timeout)`."""
    words: str = ""
    """Errors, warnings and messages, with the names of their fields."""
    text: str = ""
    """The texts as they were sent, for programs; empty if there are none."""

    @classmethod
    def of(cls, answer: Any, skip: Collection[str] = ()) -> Reported:
        """Return what a parsed JSON answer reports at its top level; `skip`: fields that hold
        results.

        The texts are the service's own: shortened, in one line, without markup and secrets.
        """
        if not isinstance(answer, Mapping):
            return cls()
        faults: list[str] = []
        words: list[str] = []
        sent: list[str] = []
        for key, value in answer.items():
            name = _field(key)
            if key in skip or name not in _FAULTS | _WORDS:
                continue
            texts = list(dict.fromkeys(_texts(value, _DEEPEST)))
            if not texts:
                continue
            sent += texts
            shown = ", ".join(map(_shown, texts[:_MOST_TEXTS]))
            if len(texts) > _MOST_TEXTS:
                shown += f" and {len(texts) - _MOST_TEXTS} more"
            words.append(f"{_shown(str(key))}: {shown}")
            if name in _FAULTS:
                faults.append(words[-1])
        return cls("; ".join(faults), "; ".join(words), "\n".join(sent))


def _texts(value: Any, depth: int) -> Iterator[str]:
    """Yield the texts in a field; a pair of a name and a reason is one text."""
    if not depth:
        return
    if isinstance(value, str):
        plain = value.strip()
        if plain and plain.lower() not in _SUCCESS:
            yield plain
    elif isinstance(value, list | tuple):
        is_pair = depth < _DEEPEST and len(value) == 2
        if is_pair and all(isinstance(part, str) and part for part in value):
            yield f"{value[0]} ({value[1]})"
            return
        for item in value:
            yield from _texts(item, depth - 1)
    elif isinstance(value, Mapping):
        for key, part in value.items():
            if isinstance(part, Mapping) or _field(key) in _PARTS:
                yield from _texts(part, depth - 1)


def _shown(text: str) -> str:
    """Return a text of a service as one short line without markup and secrets."""
    # Secrets are masked before the text is cut, which could leave a part of one.
    safe = masked(clean_text(without_controls(text[: 10 * _CHARACTERS])))
    plain = _MARKUP.sub(" ", safe.replace(MASK, "…"))
    line = " ".join(plain.split()).rstrip(".;,")
    if len(line) > _CHARACTERS:
        line = f"{line[: _CHARACTERS - 1].rstrip()}…"
    return line


def _field(name: object) -> str:
    """Return the normalized name of a field: the same for `error_message` and `errorMessage`."""
    return re.sub(r"[\W_]", "", str(name)).lower()
