"""Serves the files of the web page, which loads nothing from other sites."""

from __future__ import annotations

import asyncio
import gzip
import hashlib
import re
from functools import cache
from importlib import resources
from typing import NamedTuple

from starlette.requests import Request
from starlette.responses import Response
from starlette.types import Receive, Scope, Send

_POLICY = (
    "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self' data:; connect-src "
    "'self'; base-uri 'none'; form-action 'none'; frame-ancestors 'none'; trusted-types report; "
    "require-trusted-types-for 'script'"
)
"""Content security policy of the web page."""
_MEDIA_TYPES = {
    "html": "text/html",
    "css": "text/css",
    "js": "text/javascript",
    "svg": "image/svg+xml",
}


_COMMENT = re.compile(rb"^[ \t]*(?://.*)?", re.MULTILINE)
"""Indentation, and comments on lines of their own; each line keeps its number."""


class PageFile(NamedTuple):
    """A file of the page, as it is sent."""

    content: bytes
    compressed: bytes
    """The content in gzip."""
    tag: str
    """Changes with the content."""


async def serve_page(scope: Scope, receive: Receive, send: Send) -> None:
    """Answer a request for a file of the web page."""
    name = scope["path"].rpartition("/")[2] or "index.html"
    file = (await asyncio.to_thread(page_files)).get(name)
    headers = {
        "Content-Security-Policy": _POLICY,
        "X-Content-Type-Options": "nosniff",
        "Referrer-Policy": "no-referrer",
        "Cross-Origin-Opener-Policy": "same-origin",
        "Cache-Control": "no-cache",
        "Vary": "Accept-Encoding",
    }
    if file is None:
        response = Response("Nothing is served here.", status_code=404, media_type="text/plain")
        return await response(scope, receive, send)
    asked = Request(scope).headers
    headers["ETag"] = file.tag
    if asked.get("if-none-match") == file.tag:
        response = Response(status_code=304, headers=headers)
        return await response(scope, receive, send)
    content = file.content
    if "gzip" in asked.get("accept-encoding", ""):
        content = file.compressed
        headers["Content-Encoding"] = "gzip"
    media_type = _MEDIA_TYPES[name.rpartition(".")[2]]
    response = Response(content, headers=headers, media_type=media_type)
    return await response(scope, receive, send)


@cache
def page_files() -> dict[str, PageFile]:
    """Return the files of the page by name; blocks."""
    files = dict[str, bytes]()
    for file in resources.files("deep_research.app.server.page").iterdir():
        if file.name.rpartition(".")[2] in _MEDIA_TYPES:
            files[file.name] = file.read_bytes()
    # The page shows reports as they are exported.
    style = resources.files("deep_research.app.exports").joinpath("templates", "page.css")
    files["report.css"] = style.read_bytes()
    return {name: _sent(name, content) for name, content in files.items()}


def _sent(name: str, content: bytes) -> PageFile:
    """Return a file as it is sent: scripts without comments and indentation."""
    if name.endswith(".js"):
        content = _COMMENT.sub(b"", content)
    digest = hashlib.sha256(content).hexdigest()
    return PageFile(content, gzip.compress(content, mtime=0), f'"{digest[:32]}"')
