"""Calls of models as a recording holds them: the parts of an answer as they came, and the error that ended it."""

from __future__ import annotations

from collections.abc import AsyncGenerator, Callable, Mapping, Sequence
from contextlib import aclosing
from types import SimpleNamespace
from typing import Any, NoReturn

from langchain_core.language_models import BaseChatModel
from langchain_core.messages import AIMessage, AIMessageChunk, AnyMessage
from langchain_core.outputs import ChatResult
from langchain_core.runnables import Runnable
from langgraph.config import get_config

from ..run import errors
from ..run.context import Role
from ..run.errors import ModelFailed
from ..run.events.packets import Placement
from ..run.recording import Recorder, Recording, Replay
from . import faults

TOLD = ("what", "body", "raw", "limit", "status_code", "code", "param")
"""What is read of errors, beside their class, their words and their response."""


def call_of(model: Runnable[Any, Any], messages: Sequence[AnyMessage], role: Role, name: str) -> dict[str, Any]:
    """Return what a call asks, as it is recorded and compared."""
    bound = dict(getattr(model, "kwargs", {}))
    tools = bound.pop("tools", [])
    return {"role": role, "model": name, "messages": list(map(_message, messages)), "tools": tools, "settings": bound}


def _message(message: AnyMessage) -> dict[str, Any]:
    more = {name: getattr(message, name, None) for name in ("tool_calls", "tool_call_id")}
    return {"type": message.type, "content": message.content, **{name: one for name, one in more.items() if one}}


def place_of(role: Role, placement: Placement) -> str:
    """Return who asks: role, node, and the branch by its place."""
    try:
        node = get_config()["metadata"].get("langgraph_node", "")
    except RuntimeError:
        node = ""
    return f"{role} {node} {placement.turn_index}.{placement.tab_index}"


async def recorded_parts(
    recording: Recording | None,
    asked: Callable[[], dict[str, Any]],
    place: str,
    start: Callable[[], AsyncGenerator[AIMessage, None]],
) -> AsyncGenerator[AIMessage, None]:
    """Yield the parts of one try as `start` gives them, and record them, or yield those that are recorded."""
    if isinstance(recording, Replay):
        answer = recording.find("model", asked(), place)
        if answer is None:
            raise ModelFailed(f"The {place.partition(' ')[0]}'s model was asked what is not in the recording.")
        for part in answer["parts"]:
            yield _part(part)
        if error := answer.get("error"):
            _raise(error)
        return
    if recording is None:
        async with aclosing(start()) as stream:
            async for part in stream:
                yield part
        return
    parts: list[AIMessage] = []
    with recording.noting("model", asked(), place) as noted:
        try:
            async with aclosing(start()) as stream:
                async for part in stream:
                    parts.append(part)
                    yield part
        except Exception as error:
            noted.answer = {"parts": _noted_parts(parts, recording), "error": _noted_error(error)}
            raise
        noted.answer = {"parts": _noted_parts(parts, recording)}


def _noted_parts(parts: list[AIMessage], recorder: Recorder) -> list[dict[str, Any]]:
    """Return the parts as they came; as one, if only in one a secret shows that has to be taken out."""
    chunks = [part for part in parts if isinstance(part, AIMessageChunk)]
    if len(chunks) == len(parts) > 1 and not recorder.is_clean(whole := _noted_part(chunks[0].__add__(chunks[1:]))):
        return [whole]
    return list(map(_noted_part, parts))


def _noted_part(part: AIMessage) -> dict[str, Any]:
    return {**part.model_dump(mode="json", exclude_defaults=True), "type": part.type}


def _part(noted: Mapping[str, Any]) -> AIMessage:
    return (AIMessageChunk if noted["type"] == "AIMessageChunk" else AIMessage).model_validate(noted)


def _noted_error(error: Exception) -> dict[str, Any]:
    """Return all by which an error is judged and explained, in words without headers or addresses."""
    told = {name: getattr(error, name) for name in TOLD if getattr(error, name, None) is not None}
    response = getattr(error, "response", None)
    return {
        "classes": [one.__name__ for one in type(error).__mro__ if issubclass(one, Exception) and one is not Exception],
        "module": type(error).__module__.partition(".")[0],
        "words": str(error),
        "told": told,
        "status": getattr(response, "status_code", None),
        "retry_after": faults.retry_after(error),
        "host": faults.server_of(error),
        "cause": type(error.__cause__).__name__ if error.__cause__ else "",
    }


def _raise(noted: Mapping[str, Any]) -> NoReturn:
    first, words = noted["classes"][0], noted["words"]
    ours = {**vars(errors), **vars(faults)}.get(first) if noted["module"] == "deep_research" else None
    kind = ours if isinstance(ours, type) and issubclass(ours, Exception) else _foreign(noted)
    error = kind.__new__(kind, words)
    stated = {} if noted["retry_after"] is None else {"retry-after": str(noted["retry_after"])}
    values = {**noted["told"], "request": SimpleNamespace(url=f"http://{noted['host']}")}
    if noted["status"] or stated:
        values["response"] = SimpleNamespace(status_code=noted["status"], headers=stated)
    for name, value in values.items():
        setattr(error, name, value)
    raise error from (_named(noted["cause"])() if noted["cause"] else None)


def _foreign(noted: Mapping[str, Any]) -> type[Exception]:
    """Return a class with the names of the recorded one, by which errors of all providers are told apart."""
    kind: type[Exception] = Exception
    for name in reversed(noted["classes"]):
        kind = type(name, (kind,), {"__module__": noted["module"]})
    return kind


def _named(name: str) -> type[Exception]:
    return type(name, (Exception,), {})


class RecordedModel(BaseChatModel):
    """Stands for a model of a recorded run: what it can do, and nothing that it answers."""

    model_name: str
    base_url: str = ""

    @property
    def _llm_type(self) -> str:
        return "recorded"

    def bind_tools(
        self, tools: Sequence[Any], *, tool_choice: str | None = None, **settings: Any
    ) -> Runnable[Any, Any]:
        """Bind the tools as they are."""
        return self.bind(tools=list(tools), tool_choice=tool_choice, **settings)

    def _generate(self, *_given: Any, **_settings: Any) -> ChatResult:
        raise ModelFailed(f"The model {self.model_name!r} is only known from a recording.")


def described(model: BaseChatModel, name: str, host: str) -> dict[str, Any]:
    """Return what has to be known of a model so that `stand_in` makes another that is treated alike."""
    classes = [
        one.__name__ for one in type(model).__mro__ if issubclass(one, BaseChatModel) and one is not BaseChatModel
    ]
    return {"name": name, "host": host, "classes": classes, "profile": dict(model.profile or {})}


def stand_in(known: Mapping[str, Any]) -> BaseChatModel:
    """Return a model that is treated as the described one; classes are told apart by their names."""
    kind: Any = RecordedModel
    for name in reversed(known["classes"]):
        kind = type(str(name), (kind,), {})
    model: RecordedModel = kind(model_name=known["name"], base_url=f"http://{known['host']}", profile=known["profile"])
    return model
