"""What is stored for a thread besides its checkpoints: texts and notes in the store (`Pages`), the
user's messages to a run at work (`Inbox`), and files in a folder (`AttachedFiles`).

A text (of a page, or a tool result) is stored under its SHA-256, which is all that the state holds
of it, and so is a finished report, as JSON. A note is a JSON object under a name, such as a part of
the log. Clients that follow a thread are woken when something is stored (`thread_changes`).
"""

from __future__ import annotations

import asyncio
import json
import shutil
import uuid
from collections.abc import Mapping, Sequence
from contextlib import AbstractAsyncContextManager, suppress
from pathlib import Path
from typing import Any, NamedTuple
from weakref import WeakValueDictionary

from langchain_core.messages import AnyMessage, BaseMessage, HumanMessage, ToolMessage
from langgraph.config import get_config
from langgraph.store.base import BaseStore, GetOp, Item, PutOp
from langgraph.store.memory import InMemoryStore

from ..concurrency import Locks, PerLoop
from ..errors import DatabaseUnusable, QuestionRefused, StateUnreadable
from ..records.report import FinishedReport
from ..records.sources import text_hash
from ._packing import DAMAGED, TEXT, page_namespace
from ._upgrade import UPGRADES

OWNER = "langgraph_auth_user_id"
"""Key in `configurable`, and in the metadata of checkpoints, for the user of LangGraph's server."""
LOCAL_USER = "local"
"""Owner of runs outside a server."""
_REFERENCE = "text_hash"
"""Key, in the artifact of a tool result, of the hash of the text that it refers to."""
ATTACHMENTS = "attachments"
"""Name of the folder for the attachments of all threads, and of the note in a thread's store with
its path."""
_INDEX_FILE = "index.sqlite"
"""File name of the search index of a thread's files; it is next to their folder, so that both are
deleted together."""
_MOST_SENT = 20
"""Maximum number of messages to the run of one question; each is in the prompts of all
researchers."""
_locks = Locks()
_UNKEPT = InMemoryStore()
"""Store of graphs that were compiled without one; its texts are lost with the process."""


class Pages:
    """Reads and writes the texts and notes of one thread."""

    def __init__(self, store: BaseStore, thread_id: str, user: str = "") -> None:
        self._store = store
        self.user = user
        """The server's user whose run it is; empty without a server."""
        self.thread = thread_id
        self.namespace = page_namespace(thread_id)
        """The thread's namespace in the store."""

    @classmethod
    def of_node(cls, store: BaseStore | None, question_id: str) -> Pages:
        """Return the `Pages` of the calling node's thread; without a thread id, the question's id
        replaces it."""
        # From the config, not from the state: a copied thread has its own texts.
        configurable = get_config().get("configurable", {})
        thread_id = str(configurable.get("thread_id") or question_id)
        return cls(store or _UNKEPT, thread_id, str(configurable.get(OWNER) or ""))

    def of_thread(self, thread_id: str) -> Pages:
        """Return the `Pages` of another thread in the same store, without a user."""
        return Pages(self._store, thread_id)

    async def keep(self, text: str) -> str:
        """Store a text under its SHA-256 and return the hash."""
        key = text_hash(text)
        await self.write({key: text})
        return key

    async def write(
        self, texts: Mapping[str, str], notes: Mapping[str, dict[str, Any]] | None = None
    ) -> None:
        """Store texts by their SHA-256 and notes by their names, atomically."""
        values: dict[str, dict[str, Any]] = {key: {TEXT: text} for key, text in texts.items()}
        values.update(notes or {})
        if values:
            puts: list[PutOp] = []
            for name, value in values.items():
                puts.append(PutOp(self.namespace, name, value, index=False))
            await self._store.abatch(puts)

    async def text(self, content_hash: str) -> str | None:
        """Return the text with this hash; None if it is not stored."""
        [text] = await self.texts([content_hash])
        return text

    async def texts(self, hashes: Sequence[str]) -> list[str | None]:
        """Return the texts with these hashes; None for each that is not stored."""
        texts: list[str | None] = []
        for item in await self._items(hashes):
            text = item.value.get(TEXT) if item else None
            texts.append(text if isinstance(text, str) else None)
        return texts

    async def keep_finished(self, finished: FinishedReport) -> str:
        """Store a finished report and return its SHA-256; the same report is stored once."""
        return await self.keep(finished.model_dump_json(exclude_defaults=True))

    async def finished(self, content: str) -> FinishedReport | None:
        """Return the finished report with this SHA-256; None if it is not stored.

        Raises `DatabaseUnusable` if it is damaged, and `StateUnreadable` if another version of the
        code has written it.
        """
        stored = await self.read_note(content)
        if stored is None:
            return None
        try:
            fields = json.loads(stored[TEXT])
            _, fields["report"] = UPGRADES["Report"](fields["report"])
            _, fields["run"] = UPGRADES["Run"](fields["run"])
            return FinishedReport.model_validate(fields)
        except (ValueError, TypeError, KeyError) as error:
            raise StateUnreadable(
                f"The stored report {content[:8]} of the run {self.thread} cannot be read."
            ) from error

    async def note(self, notes: Mapping[str, dict[str, Any]]) -> None:
        """Store notes by their names."""
        await self.write({}, notes)

    async def read_note(self, name: str) -> dict[str, Any] | None:
        """Return the note with this name, or None; raises `DatabaseUnusable` if it is damaged."""
        [note] = await self.read_notes([name])
        return note

    async def read_notes(self, names: Sequence[str]) -> list[dict[str, Any] | None]:
        """Return the notes with these names, in their order, like `read_note`."""
        return [_note_value(item) for item in await self._items(names)]

    async def _items(self, names: Sequence[str]) -> list[Item | None]:
        """Return what is stored under these names, in their order."""
        results = await self._store.abatch([GetOp(self.namespace, name) for name in names])
        items: list[Item | None] = []
        for result in results:
            items.append(result if isinstance(result, Item) else None)
        return items

    async def names(self) -> list[str]:
        """Return the names of all texts and notes, latest first."""
        items = await self._store.asearch(self.namespace, limit=100_000)
        latest_first = sorted(items, key=lambda item: item.updated_at, reverse=True)
        return [item.key for item in latest_first]

    def lock(self, name: str) -> AbstractAsyncContextManager[None]:
        """Return the lock with this name, for code on this event loop that reads and then writes a
        note."""
        return _locks.lock((self.namespace, name))

    @staticmethod
    def reference(call_id: str, content_hash: str) -> ToolMessage:
        """Return a tool result that refers to a text in the store."""
        return ToolMessage("", tool_call_id=call_id, artifact={_REFERENCE: content_hash})

    async def fill_in(self, messages: Sequence[AnyMessage]) -> list[AnyMessage]:
        """Return the messages with the stored text in each tool result that only refers to it
        (`reference`)."""
        # The call ids of the references, by their index in `messages`.
        call_ids: dict[int, str] = {}
        hashes: list[str] = []
        for index, message in enumerate(messages):
            if isinstance(message, ToolMessage) and isinstance(message.artifact, dict):
                content_hash = str(message.artifact.get(_REFERENCE, ""))
                if content_hash:
                    call_ids[index] = message.tool_call_id
                    hashes.append(content_hash)
        texts = await self.texts(hashes)
        filled = list(messages)
        for (index, call_id), text in zip(call_ids.items(), texts, strict=True):
            content = text or "The text is no longer kept."
            filled[index] = ToolMessage(content, tool_call_id=call_id)
        return filled


def _note_value(item: Item | None) -> dict[str, Any] | None:
    """Return the value of a note as stored, None if it is not stored; raises `DatabaseUnusable` if
    it is damaged."""
    if item is None:
        return None
    if DAMAGED in item.value:
        raise DatabaseUnusable(
            f"The database{item.value[DAMAGED]} is damaged: its entry {item.key!r} of the run "
            f"{item.namespace[0]} cannot be read."
        )
    return dict(item.value)


class Sent(NamedTuple):
    """What the user has sent to a run at work."""

    messages: Sequence[HumanMessage] = ()
    """The messages, oldest first; their ids are those that they have in the conversation."""
    is_finishing: bool = False
    """Whether the report is to be written from what has been found."""

    def new(self, known: Sequence[BaseMessage]) -> list[HumanMessage]:
        """Return the messages that are not among the known ones, which is told by their ids."""
        ids = {message.id for message in known}
        return [message for message in self.messages if message.id not in ids]


class Inbox:
    """What the user sends to the run of a question while it is at work.

    It is a note of the thread, which nodes read before they ask a model: nothing is interrupted,
    and after a kill the same messages are read again.
    """

    def __init__(self, pages: Pages, question_id: str) -> None:
        self._pages = pages
        self._name = f"inbox-{question_id}"

    async def read(self) -> Sent:
        """Return everything that was sent so far."""
        note = await self._pages.read_note(self._name) or {}
        messages = list[HumanMessage]()
        for message in note.get("messages", ()):
            messages.append(HumanMessage(message["text"], id=message["id"]))
        return Sent(messages, bool(note.get("is_finishing")))

    async def send(self, text: str) -> str:
        """Add a message, and return its id; raises `QuestionRefused` if there are too many."""
        async with self._pages.lock(self._name):
            sent = await self.read()
            if len(sent.messages) >= _MOST_SENT:
                raise QuestionRefused(
                    f"This question has had {_MOST_SENT} messages during its research, the "
                    "maximum: wait for the report, and then ask on."
                )
            name = str(uuid.uuid4())
            message = HumanMessage(text, id=name)
            await self._write(sent._replace(messages=[*sent.messages, message]))
        return name

    async def finish(self) -> None:
        """Have the report written from what has been found."""
        async with self._pages.lock(self._name):
            sent = await self.read()
            await self._write(sent._replace(is_finishing=True))

    async def _write(self, sent: Sent) -> None:
        messages = [{"id": message.id, "text": message.text} for message in sent.messages]
        note = {"messages": messages, "is_finishing": sent.is_finishing}
        await self._pages.note({self._name: note})
        thread_changes.announce(self._pages.thread)


class AttachedFiles(NamedTuple):
    """The files attached to messages, in a folder for each thread."""

    folder: Path
    """Absolute path of the folder of all threads; it may not exist."""

    @classmethod
    def below(cls, data_dir: Path) -> AttachedFiles:
        """Return the attached files of a data folder; blocks, since it accesses files."""
        return cls(data_dir.expanduser().resolve() / ATTACHMENTS)

    @property
    def note(self) -> dict[str, dict[str, str]]:
        """The note by which a thread's files are found when the thread is deleted or copied."""
        return {ATTACHMENTS: {"folder": str(self.folder)}}

    def of_thread(self, thread_id: str) -> Path:
        """Return the path of the folder of a thread's files; it may not exist."""
        return self.folder / text_hash(thread_id)[:32] / "attached"

    def index_of(self, path: Path) -> Path | None:
        """Return the file of the search index for the folder of a thread's files; None for any
        other path."""
        if path.parent.parent != self.folder:
            return None
        return path.parent / _INDEX_FILE

    def delete(self, thread_id: str) -> None:
        """Delete a thread's files and their index; blocks, since it accesses files."""
        with suppress(FileNotFoundError):
            shutil.rmtree(self.of_thread(thread_id).parent)


class ThreadChanges:
    """Wakes clients that follow a thread when something is stored for it; only on one event
    loop."""

    def __init__(self) -> None:
        self._events = PerLoop(WeakValueDictionary[str, asyncio.Event])
        """The event that is set by the next change of a thread, by thread id; only of threads that
        are followed."""

    def next(self, thread_id: str) -> asyncio.Event:
        """Return the event that is set by the thread's next change; get it before you read, and
        wait for it afterwards."""
        return self._events.get().setdefault(thread_id, asyncio.Event())

    def followed(self) -> list[str]:
        """Return the ids of the threads whose next change someone is waiting for."""
        return list(self._events.get())

    def announce(self, thread_id: str) -> None:
        """Set the event of `next`, since something was stored for the thread."""
        event = self._events.get().pop(thread_id, None)
        if event:
            event.set()


thread_changes = ThreadChanges()
"""The changes of all threads of this process."""
