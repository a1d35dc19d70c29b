"""The versions of a thread's report for apps: read one, or put one back."""

from __future__ import annotations

from typing import Any

from langchain_core.runnables import RunnableConfig

from ..core.errors import UnknownThread, UserMistake
from ..core.records.report import Version
from ..core.settings.context import SystemClock
from ..core.store.database import lease_for
from ..core.store.location import thread_id
from ..core.store.pages import OWNER, Pages
from ..core.writing.versions import ThreadVersions, document_of
from ..state import ResearchState
from ._loops import wait_for
from .embed import Answer, ResearchGraph, at_home, thread_config


class RevertRefused(UserMistake):
    """The thread cannot go back to this version now."""


def read_version(
    graph: ResearchGraph, thread: str, number: int, *, is_answer: bool = False
) -> Answer:
    """Return a version of a thread's report, or with `is_answer` a short answer about it; raises
    `UserMistake` if there is none with this number."""
    return wait_for(aread_version(graph, thread, number, is_answer=is_answer), graph._loop())


async def aread_version(
    graph: ResearchGraph, thread: str, number: int, *, is_answer: bool = False
) -> Answer:
    """Read a version like `read_version`, for async callers."""

    async def read() -> Answer:
        snapshot = await graph.aget_state(thread_config(thread))
        state = _state(thread, snapshot.values)
        versions = ThreadVersions(state)
        version = versions.find(number, is_answer=is_answer)
        finished = await versions.read(version, _pages(graph, thread))
        return Answer(document_of(finished), finished.report, tuple(finished.cited))

    return await at_home(graph, thread, read())


def revert_thread(graph: ResearchGraph, thread: str, number: int) -> Version:
    """Make a new version of a thread's report with the text of an earlier one, and return it;
    follow-ups then refer to it.

    If an edit of this version has not ended, it is discarded, and the version stays the latest.
    Raises `ThreadBusy` while a run is at work on the thread, and `UserMistake` if the run has not
    ended, or if the text of this version is not stored: a graph without a lasting `store` keeps
    texts only until its process ends.
    """
    return wait_for(arevert_thread(graph, thread, number), graph._loop())


async def arevert_thread(
    graph: ResearchGraph, thread: str, number: int, *, server_address: str | None = None
) -> Version:
    """Go back to a version like `revert_thread`, for async callers; `server_address` is the
    setting, for links to documents."""

    async def revert() -> Version:
        config = thread_config(thread)
        leasing = lease_for(graph._leasing_saver(config), config["configurable"])
        async with leasing as lease:
            if lease:
                config = RunnableConfig(configurable=lease.config["configurable"])
            snapshot = await graph.aget_state(config)
            state = _state(thread, snapshot.values)
            owner = (snapshot.metadata or {}).get(OWNER)
            if owner:
                # On a server, the latest checkpoint says whose thread it is.
                config["configurable"][OWNER] = owner
            versions = ThreadVersions(state)
            # After a kill between two steps, `next` is empty although tasks with results remain.
            if snapshot.next or snapshot.tasks:
                edited = versions.edited
                if not edited or edited.number != number:
                    raise RevertRefused(
                        f"The run {thread!r} has not ended, and to go back to a version would "
                        "discard it: resume it first, or answer its question."
                    )
                await graph.aupdate_state(config, versions.edit_ended(), as_node="verify_report")
                return edited
            version = versions.find(number)
            if version.question_id == state.run.id:
                raise RevertRefused(f"Version {number} of the run {thread!r} is the current one.")
            pages = _pages(graph, thread)
            finished = await versions.read(version, pages)
            kept = await versions.without_excluded(finished, pages)
            if kept != finished:
                finished = kept
                content = await pages.keep_finished(finished)
                version = version.model_copy(update={"content": content})
            new, update = versions.reverted(
                version, finished, SystemClock().now(), server_address, thread_id(thread)
            )
            await graph.aupdate_state(config, update, as_node="verify_report")
            return new

    return await at_home(graph, thread, revert())


def _pages(graph: ResearchGraph, thread: str) -> Pages:
    return Pages(graph.page_store, thread_id(thread))


def _state(thread: str, values: dict[str, Any]) -> ResearchState:
    if not values:
        raise UnknownThread(f"There is no run {thread!r}.")
    return ResearchState(**values)
