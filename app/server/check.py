"""Reports from elsewhere that users of the server have checked, one at a time for each user."""

from __future__ import annotations

import asyncio
import base64
import json
from collections.abc import AsyncIterator, Callable

from starlette.exceptions import HTTPException
from starlette.requests import Request
from starlette.responses import Response, StreamingResponse

from ...core.run.errors import DeepResearchError
from ...core.run.spending import check_account
from ...core.run.store.pages import LOCAL_USER, Pages
from ...core.run.user_settings import UserSettings
from ..check_file import CheckedFile, check_file, html_of
from ..runs import RunBook
from .users import user_of

ENDINGS = (".md", ".markdown", ".txt", ".html", ".htm", ".docx")
HEARTBEAT_SECONDS = 15.0
"""Seconds after which a comment keeps a silent stream open."""


async def check_report(request: Request) -> Response:
    """Stream the check of a report, with an event `notice` for what happens, then `checked` or `refused`.

    The body is JSON with the `name` of the file, whose ending says its form, and its content in `base64`.
    """
    try:
        sent = await request.json()
        name, data = str(sent["name"]), base64.b64decode(sent["base64"], validate=True)
    except (ValueError, TypeError, KeyError):
        raise HTTPException(422, 'Send {"name": "report.md", "base64": "..."}.') from None
    if not name.lower().endswith(ENDINGS):
        raise HTTPException(422, f"{name}: a report is Markdown, HTML or Word ({', '.join(ENDINGS)}).")
    user = user_of(request.headers, request.client.host if request.client else "") or LOCAL_USER
    events = _events(request.app.state.book, user, data, name)
    return StreamingResponse(events, media_type="text/event-stream", headers={"Cache-Control": "no-store"})


async def check_for(
    user: str, book: RunBook, report: bytes, name: str, on_notice: Callable[[str], None]
) -> CheckedFile:
    """Check a report under a user's settings; what it costs goes to their account. See `check_file`."""
    settings = await asyncio.to_thread(UserSettings().context_of, user)
    account = Pages(book.database.store, "", user)
    # It is no run, of which a user may have some at work.
    async with account.alone(f"check of {user}"):
        await check_account(account, settings)
        return await check_file(report, name, settings.model_copy(update={"verify": "check"}), on_notice, account)


async def _events(book: RunBook, user: str, data: bytes, name: str) -> AsyncIterator[str]:
    notices = asyncio.Queue[str]()
    check = asyncio.create_task(check_for(user, book, data, name, notices.put_nowait))
    check.add_done_callback(lambda _: notices.put_nowait(""))
    try:
        while not check.done():
            try:
                async with asyncio.timeout(HEARTBEAT_SECONDS):
                    words = await notices.get()
            except TimeoutError:
                yield ": still checking\n\n"
            else:
                yield _event("notice", {"words": words}) if words else ""
        found = await check
        yield _event("checked", {"summary": found.summary, "html": await asyncio.to_thread(html_of, found, name)})
    except DeepResearchError as error:
        yield _event("refused", {"detail": " ".join(str(error).split())})
    finally:
        # Whoever has left waits for nothing any more.
        check.cancel()


def _event(name: str, data: dict[str, str]) -> str:
    return f"event: {name}\ndata: {json.dumps(data)}\n\n"
