"""Serves the files of the web page, which loads nothing from other sites."""

from __future__ import annotations

import asyncio
from functools import cache
from importlib import resources

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


async def serve_page(scope: Scope, receive: Receive, send: Send) -> None:
    """Answer a request for a file of the web page."""
    name = scope["path"].rpartition("/")[2] or "index.html"
    content = (await asyncio.to_thread(_files)).get(name)
    headers = {
        "Content-Security-Policy": _POLICY,
        "X-Content-Type-Options": "nosniff",
        "Referrer-Policy": "no-referrer",
        "Cross-Origin-Opener-Policy": "same-origin",
        "Cache-Control": "no-cache",
    }
    if content is None:
        response = Response("Nothing is served here.", status_code=404, media_type="text/plain")
    else:
        media_type = _MEDIA_TYPES[name.rpartition(".")[2]]
        response = Response(content, headers=headers, media_type=media_type)
    await response(scope, receive, send)


@cache
def _files() -> dict[str, bytes]:
    files = dict[str, bytes]()
    for file in resources.files("deep_research.app.server.page").iterdir():
        if file.name.rpartition(".")[2] in _MEDIA_TYPES:
            files[file.name] = file.read_bytes()
    # The page shows reports as they are exported.
    style = resources.files("deep_research.app.exports").joinpath("templates", "page.css")
    files["report.css"] = style.read_bytes()
    return files
