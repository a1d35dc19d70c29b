"""Files that come in messages: taken out of them, and kept as documents of their thread."""

from __future__ import annotations

import base64
import hashlib
import mimetypes
import re
from collections.abc import Sequence
from functools import partial
from itertools import chain, count
from pathlib import Path, PurePath
from typing import Any

from langchain_core.messages import AnyMessage, convert_to_messages

from ..reading.records import kind_of_file
from ..records.sources import Attached
from ..run.concurrency import in_thread
from ..run.context import Context
from ..run.conversation import FileBlock, attached_to, blocks_of, with_attached
from ..run.limits import Limits
from ..run.store.attachments import ATTACHMENTS, attachments_folder, thread_folder
from ..run.store.pages import Pages
from .folder import NOT_IN_NAMES

NEW = "new"
"""Code of a file that is not indexed yet."""
WAITING = "it came while research was under way; the next question finds it"
"""Why such a file is not searched."""
NAME_CHARACTERS = 60
"""Of a file's name, the last ones."""
_NOT_IN_FILES = re.compile(rf'[\\/:*?"<>|]|{NOT_IN_NAMES.pattern}')


def messages_with_files(given: Any) -> list[AnyMessage]:
    """Return the messages of an input or update if any of them holds more than text; else none."""
    sent: Any = given.get("messages") if isinstance(given, dict) else None
    try:
        messages: list[Any] = convert_to_messages(sent if isinstance(sent, list) else [sent])
    except (ValueError, TypeError, KeyError, AttributeError, NotImplementedError):
        # What is no conversation is for LangGraph to refuse.
        return []
    return messages if any(map(blocks_of, messages)) else []


async def take_files(messages: Sequence[AnyMessage], pages: Pages, context: Context) -> list[AnyMessage]:
    """Keep the files of messages in the folder of their thread, and return the messages with a list of them instead."""
    if not (pages.thread and any(map(blocks_of, messages))):
        return list(messages)
    folder = await in_thread(partial(attachments_folder, context.data_dir))
    # Before the files, so that whatever was kept is deleted with the thread.
    await pages.note({ATTACHMENTS: {"folder": str(folder)}})
    kept = thread_folder(folder, pages.thread)
    return [await in_thread(partial(_taken, message, kept, context.limits)) for message in messages]


def _taken(message: AnyMessage, folder: Path, limits: Limits) -> AnyMessage:
    if not (blocks := blocks_of(message)):
        return message
    files = [_kept(block, folder, limits) for block in blocks if not block.link]
    return with_attached(message, [*attached_to(message), *files])


def _kept(block: FileBlock, folder: Path, limits: Limits) -> Attached:
    """Keep one file unless it has no bytes, is of no kind that is read, or exceeds a limit."""
    name = _name_of(block)
    try:
        data = base64.b64decode("".join(block.data.split()), validate=True)
    except ValueError:
        return Attached(name=name, reason="its bytes are not in base64", code="broken")
    attached = partial(Attached, name=name, sha256=hashlib.sha256(data).hexdigest(), size=len(data))
    if not data:
        return attached(reason="the message holds neither its bytes nor a link to it", code="empty")
    if kind_of_file(name) is None:
        return attached(reason="its format is not one that is read", code="unknown format")
    if len(data) > (most := limits.max_attachment_bytes):
        return attached(reason=f"{len(data)} bytes are more than {most} (limit max_attachment_bytes)", code="too large")
    stem, ending = PurePath(name).stem, PurePath(name).suffix
    names = chain([name], (f"{stem} ({number}){ending}" for number in count(2)))
    path = next(one for one in map(folder.joinpath, names) if not one.exists() or one.read_bytes() == data)
    if not path.exists():
        if (held := len([*folder.glob("[!.]*")])) >= limits.max_attachments:
            return attached(reason=f"the thread has {held} files already (limit max_attachments)", code="too many")
        folder.mkdir(mode=0o700, parents=True, exist_ok=True)
        # Whoever indexes the folder meanwhile must not meet half a file.
        new = folder / f".{path.name}"
        new.write_bytes(data)
        new.replace(path)
    return attached(name=path.name, reason=WAITING, code=NEW)


def _name_of(block: FileBlock) -> str:
    """Return a file name that is valid on every system, with the extension of the file's type."""
    name = _NOT_IN_FILES.sub("_", re.split(r"[\\/]", block.name)[-1]).strip(" .") or "file"
    guessed = mimetypes.guess_extension(block.mime_type) or ""
    is_known = (PurePath(name).suffix and kind_of_file(name)) or name.lower().endswith(guessed)
    return (name if is_known else name + guessed)[-NAME_CHARACTERS:]
