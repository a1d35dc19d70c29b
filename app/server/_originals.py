"""Serves the user's own files that a report cites, as they are now."""

from __future__ import annotations

from pathlib import PurePath
from urllib.parse import quote

from starlette.exceptions import HTTPException
from starlette.responses import Response

from ...core.errors import DeepResearchError
from ...core.library.library import Library
from ...core.reading.documents.records import Unreadable
from ...core.records.sources import Source
from ...core.settings.server_settings import UserSettings
from ...core.store.pages import AttachedFiles

_PLAIN = (".txt", ".text", ".log", ".md", ".markdown", ".rst", ".csv", ".tsv")
_SHOWN_TYPES = {
    ".pdf": "application/pdf",
    ".png": "image/png",
    ".jpg": "image/jpeg",
    ".jpeg": "image/jpeg",
    ".webp": "image/webp",
    **dict.fromkeys(_PLAIN, "text/plain"),
}
"""Types of the files that browsers may show, by suffix; all others, which could contain scripts,
are downloaded."""


def file_name(source: Source) -> str:
    """Return the name of the file of a source; empty if it is not a file."""
    if source.kind != "document" or not source.location.lower().startswith("file:"):
        return ""
    return PurePath(source.short_location).name


def original_of(source: Source, user: str, thread: str) -> Response:
    """Return the file of a source, if it is in a folder that the user may search or attached to the
    thread; blocks. Raises status 404."""
    name = file_name(source)
    settings = UserSettings().context_of(user)
    attached = AttachedFiles.below(settings.data_dir).of_thread(thread)
    searched = settings.model_copy(update={"docs": (*settings.docs, attached)})
    try:
        content = Library(searched).content(source.location)
    except Unreadable as error:
        raise HTTPException(404, f"{name or 'This source'} cannot be opened: {error}.") from error
    except DeepResearchError as error:
        # The error names a folder of the operator.
        raise HTTPException(404, f"{name} cannot be opened: a folder is missing.") from error
    headers = {
        "Content-Disposition": f"attachment; filename*=UTF-8''{quote(name)}",
        "Content-Security-Policy": "sandbox",
        "X-Content-Type-Options": "nosniff",
        "Cache-Control": "no-store",
    }
    media_type = _SHOWN_TYPES.get(PurePath(name).suffix.lower(), "application/octet-stream")
    return Response(content, media_type=media_type, headers=headers)
