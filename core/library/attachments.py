"""Files attached to messages: moved out of the messages and stored as documents of the thread."""

from __future__ import annotations

import base64
import hashlib
import mimetypes
import re
from collections.abc import Sequence
from functools import partial
from itertools import count
from pathlib import Path, PurePath
from typing import Any, NamedTuple

from langchain_core.messages import AnyMessage, HumanMessage, convert_to_messages

from ..concurrency import decode_base64, in_thread
from ..dialogue.conversation import attached_to, safe_text, with_attached
from ..reading.documents.records import how_to_convert, kind_of_file
from ..records.sources import Attached
from ..settings.context import Context
from ..settings.limits import Limits
from ..store.pages import AttachedFiles, Pages
from ._folder import NOT_IN_NAMES

INCOMING = "new"
"""`Attached.code` of a file that is stored, but not indexed yet."""
_WAITING = "it arrived during the research; the next question can search it"
"""`Attached.reason` of such a file."""
_NAME_CHARACTERS = 60
"""Maximum length of a file name; longer names lose their first characters."""
MOST_ATTACHMENTS = 20
"""Maximum number of files attached to the messages of one thread."""
_MEDIA = {
    "image": "picture",
    "image_url": "picture",
    "input_image": "picture",
    "input_audio": "recording",
}
"""Default names of unnamed attachments by block type; others are called `file`."""
_NOT_IN_FILES = re.compile(rf'[\\/:*?"<>|]|{NOT_IN_NAMES.pattern}')
"""Matches characters that are replaced in file names."""


def messages_with_files(given: Any) -> list[AnyMessage]:
    """Return the messages in a graph's input or state update; empty if none of them contains a
    file."""
    sent: Any = None
    if isinstance(given, dict):
        sent = given.get("messages")
    if not isinstance(sent, list):
        sent = [sent]
    try:
        messages: list[Any] = convert_to_messages(sent)
    except (ValueError, TypeError, KeyError, AttributeError, NotImplementedError):
        # LangGraph itself rejects invalid messages.
        return []
    return messages if any(map(_file_blocks, messages)) else []


async def take_files(
    messages: Sequence[AnyMessage], pages: Pages, context: Context
) -> list[AnyMessage]:
    """Store the files in messages in the thread's folder.

    Return the messages with an entry in place of each file.
    """
    if not (pages.thread and any(map(_file_blocks, messages))):
        return list(messages)
    files = await in_thread(AttachedFiles.below, context.data_dir)
    # Record the folder before writing the files, so that they are always deleted with the thread.
    await pages.note(files.note)
    own_folder = files.of_thread(pages.thread)
    taken = list[AnyMessage]()
    for message in messages:
        blocks = _file_blocks(message)
        if not blocks:
            taken.append(message)
            continue
        attached = list(attached_to(message))
        for block in blocks:
            if not block.link:
                attached.append(await in_thread(_store, block, own_folder, context.limits))
        taken.append(with_attached(message, message_words(message), attached))
    return taken


def message_words(message: AnyMessage) -> str:
    """Return the text of a message, followed by the links in its other blocks, one per line."""
    lines: list[str] = [message.text]
    lines += [block.link for block in _file_blocks(message)]
    return "\n".join(filter(None, lines))


class _FileBlock(NamedTuple):
    """A content block other than text: a file, or a link to one."""

    name: str
    mime_type: str
    """Empty if the client did not send it."""
    data: str
    """Content in base64; empty if there is only a link."""
    link: str
    """Web address; empty if the content was sent."""


def _file_blocks(message: AnyMessage) -> list[_FileBlock]:
    """Return the files and links in a user's message; formats of LangChain, OpenAI and chat clients
    are accepted."""
    if not isinstance(message, HumanMessage) or not isinstance(message.content, list):
        return []
    files: list[_FileBlock] = []
    for block in message.content:
        if isinstance(block, dict) and block.get("type") != "text":
            files.append(_block_of(block))
    return files


def _block_of(block: dict[str, Any]) -> _FileBlock:
    """Convert a content block; its values are in the block itself or in a dict inside it."""
    kind = str(block.get("type"))
    holders = [block]
    for key in ("metadata", "extras", "source", kind):
        inner = block.get(key)
        if isinstance(inner, dict):
            holders.append(inner)

    def first(*keys: str) -> str:
        for key in keys:
            for holder in holders:
                value = holder.get(key)
                if isinstance(value, str) and value:
                    return value
        return ""

    mime_type = first("mime_type", "mimeType", "media_type")
    data = first("base64", "data", "file_data")
    address = first("url", "file_url", "image_url")
    data_url = data or address
    if data_url.startswith("data:"):
        header, _, data = data_url.partition(",")
        mime_type = mime_type or header.removeprefix("data:").partition(";")[0]
    link = ""
    if not data and address.startswith(("http://", "https://")):
        link = safe_text(address).strip()
    if not data:
        data = base64.b64encode(safe_text(first("text")).encode()).decode()
    name = first("filename", "name", "title")
    if not name:
        name = _MEDIA.get(kind, "file")
        suffix = first("format")
        if suffix:
            name += f".{suffix}"
    return _FileBlock(name, mime_type, data, link)


def _store(block: _FileBlock, folder: Path, limits: Limits) -> Attached:
    """Store a file under a valid name and return its entry.

    If it is refused, the entry says why.
    """
    name = _valid_name(block)
    try:
        data = decode_base64("".join(block.data.split()))
    except ValueError:
        return Attached(name=name, reason="its content is not base64", code="broken")
    attached = partial(Attached, name=name, sha256=hashlib.sha256(data).hexdigest(), size=len(data))
    if not data:
        return attached(
            reason="the message contains neither its content nor a link to it", code="empty"
        )
    advice = how_to_convert(name)
    if advice:
        return attached(reason=advice, code="convertible")
    if kind_of_file(name) is None:
        return attached(reason="its format is not supported", code="unknown format")
    most = limits.max_document_bytes
    if len(data) > most:
        reason = f"{len(data)} bytes are more than {most} (limit max_document_bytes)"
        return attached(reason=reason, code="too large")
    path = _path_for(folder, name, data)
    if not path.exists():
        stored = _count_files(folder)
        if stored >= MOST_ATTACHMENTS:
            reason = f"the thread already has {stored} files, the most that are allowed"
            return attached(reason=reason, code="too many")
        folder.mkdir(mode=0o700, parents=True, exist_ok=True)
        # Write under a temporary name first, since the folder may be indexed meanwhile.
        new = folder / f".{path.name}"
        new.write_bytes(data)
        new.replace(path)
    return attached(name=path.name, reason=_WAITING, code=INCOMING)


def _valid_name(block: _FileBlock) -> str:
    """Return a valid name for a file, with the extension of its type if it has none."""
    given = re.split(r"[\\/]", block.name)[-1]
    name = _NOT_IN_FILES.sub("_", given).strip(" .") or "file"
    extension = mimetypes.guess_extension(block.mime_type) or ""
    is_known = bool(PurePath(name).suffix) and kind_of_file(name) is not None
    if not is_known and not name.lower().endswith(extension):
        name += extension
    # Cut, a name may begin with a dot again, and hidden files are never read.
    return name[-_NAME_CHARACTERS:].lstrip(" .")


def _count_files(folder: Path) -> int:
    """Return the number of files in a folder, which may not exist."""
    try:
        return len([*folder.iterdir()])
    except FileNotFoundError:
        return 0


def _path_for(folder: Path, name: str, data: bytes) -> Path:
    """Return the path of the file with this content, else a free one: name, name (2), ..."""
    path = folder / name
    for number in count(2):
        if not path.exists() or path.read_bytes() == data:
            break
        path = folder / f"{PurePath(name).stem} ({number}){PurePath(name).suffix}"
    return path
