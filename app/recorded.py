"""What a recording says of the run itself: what was asked, by which settings and versions, and how it ended."""

from __future__ import annotations

import json
from collections.abc import AsyncIterator, Iterator, Mapping, Sequence
from contextlib import asynccontextmanager, closing
from dataclasses import dataclass
from importlib.metadata import version
from pathlib import Path
from typing import Any

from langchain_core.tools import StructuredTool, ToolException
from langgraph.types import Command

from ..core.models.abilities import FILE_NAME, Location, load_ability, location_of, save_ability
from ..core.models.ladder import Ability
from ..core.models.recorded import described
from ..core.models.resolve import EXTRACTIVE, host_of, profile_of, resolve_model
from ..core.run.context import ROLES, Context
from ..core.run.errors import UnknownSetting, failure_of
from ..core.run.recording import FORMAT, Cleaner, RecordedClock, Recorder, Replay, read_recording
from ..tools.passed import PassedEngine
from ..tools.run_engines import RecordedEngine, choose_engines
from .terminal import complain
from .words import Strategy

OF_THE_MACHINE = {
    "models", "allow_models", "model_ports", "docs", "engines", "data_dir", "user", "session", "user_daily_tokens",
    "user_daily_usd",
}  # fmt: skip
"""Settings that a recording leaves out, or tells otherwise."""
VERSIONS = ("deep-research", "langchain-core", "langgraph", "langchain-openai", "openai")


@dataclass
class Part:
    """A part of a run, from what is asked of it to its report, its question or its failure."""

    context: Context
    """The settings that it is carried out by."""
    report: str = ""
    asks: str = ""
    failure: str = ""


@asynccontextmanager
async def recorded_run(
    path: Path | None, context: Context, strategy: Strategy, thread: str, message: Any, *, is_new: bool
) -> AsyncIterator[Part]:
    """Record the part of a run that the block carries out by the settings which it is given; none: record nothing.

    Raises `UnknownSetting` for a file that holds anything else, and `OSError`.
    """
    if path is None:
        yield Part(context)
        return
    if path.exists() and path.stat().st_size and _thread_of(path) != thread:
        raise UnknownSetting(f"--record {str(path)!r}: this file holds something else; name one that is not there yet.")
    with closing(Recorder(path, Cleaner(_secrets(context), context.docs))) as recorder:
        part = Part(context.model_copy(update={"recording": recorder}))
        recorder.write("run", thread=thread, is_new=is_new, **await _beginning(context, strategy, message))
        try:
            yield part
        except Exception as error:
            part.failure = failure_of(error)
            raise
        finally:
            if part.report or part.asks or part.failure:
                recorder.write("end", report=part.report, asks=part.asks, failure=part.failure)
            if recorder.fault:
                complain(f"--record {str(path)!r}: {recorder.fault}. The recording is not whole; the run is.")


def _thread_of(path: Path) -> str:
    with path.open("rb") as file:
        try:
            return str(json.loads(file.readline())["thread"])
        except (ValueError, KeyError, TypeError):
            return ""


def _secrets(context: Context) -> Iterator[str]:
    """Yield the secrets that do not stand in variables of their own."""
    for connection in context.mcp.values():
        for value in [*connection.get("headers", {}).values(), *connection.get("env", {}).values()]:
            yield from (str(value), str(value).rpartition(" ")[2])


async def _beginning(context: Context, strategy: Strategy, message: Any) -> dict[str, Any]:
    """Return what a replay has to know of a part of a run."""
    models, abilities = {}, {}
    for role in ROLES:
        model, name = resolve_model(role, context), profile_of(role, context).name
        models[role] = described(model, name, host_of(model))
        if known := await load_ability(place := location_of(model, role, context)):
            abilities[place.model] = known._asdict()
    engines = [
        {"name": one.name, "title": one.title, "is_passed": isinstance(one, PassedEngine)}
        for one in choose_engines(context)
    ]
    return {
        "format": FORMAT,
        "at": context.clock.now().isoformat(),
        "strategy": strategy,
        **_asked(message),
        "documents": [path.absolute().name for path in context.docs],
        "engines": engines,
        "models": models,
        "abilities": abilities,
        "notices": context.notices,
        "settings": context.model_dump(mode="json", exclude=OF_THE_MACHINE),
        "versions": {name: version(name) for name in VERSIONS},
    }


def _asked(message: Any) -> dict[str, str]:
    """Return how a text entered the run: as an `answer`, as a `question` or hint, or not at all where it went on."""
    if isinstance(message, Command) and message.resume:
        return {"way": "answer", "words": str(message.resume)}
    values = message.update if isinstance(message, Command) else message
    return {"way": "question", "words": values["messages"][-1].text} if values else {"way": "", "words": ""}


def recorded_settings(path: str | Path, docs: Sequence[str | Path] = ()) -> dict[str, Any]:
    """Return settings for `research` or `Context` by which a recording answers all calls.

    `docs` are the folders and files that the recorded run searched, in the same order. The setting `recording` of the
    result has `differences`: the calls that were not made as they are recorded. Raises `UnknownSetting` for a file that
    is no recording or where documents are missing, and `OSError`.
    """
    folders = [Path(one).expanduser().absolute() for one in docs]
    return settings_of(read_recording(Path(path), folders), folders)


def settings_of(replay: Replay, docs: Sequence[Path]) -> dict[str, Any]:
    """Return the settings by which the part of a recorded run that is under way is carried out again."""
    run = replay.run
    if run["documents"] and not docs:
        there_were = ", ".join(map(repr, run["documents"]))
        raise UnknownSetting(
            f"The recorded run searched documents, which a recording does not hold: give {there_were} by --docs."
        )
    return {
        # Whoever has written the file has no say in what is read and started here.
        **{name: value for name, value in run["settings"].items() if name not in OF_THE_MACHINE},
        "models": {
            role: EXTRACTIVE if one["name"] == EXTRACTIVE else f"recorded:{one['name']}"
            for role, one in run["models"].items()
        },
        "engines": tuple(RecordedEngine(**one) for one in run["engines"]),
        "tools": tuple(_stand_in(tool) for tool in replay.tools),
        "mcp": {},
        "docs": tuple(docs),
        "notices": run["notices"],
        "model_ports": (),
        "recording": replay,
        "clock": RecordedClock(replay),
    }


def _stand_in(tool: Mapping[str, Any]) -> StructuredTool:
    async def answer(**_arguments: Any) -> str:
        raise ToolException("It is only known from a recording.")

    return StructuredTool(
        name=tool["name"], description=tool["description"], args_schema=tool["parameters"], coroutine=answer
    )


async def save_abilities(replay: Replay, data_dir: Path) -> None:
    """Let what was known of the models when the run began be known in this data folder."""
    for model, ability in replay.run["abilities"].items():
        await save_ability(Location(data_dir / FILE_NAME, model), Ability(**ability))
