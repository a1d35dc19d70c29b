"""A whole run as text: the packets that its client receives, and its final state.

Random values are replaced by names, and empty or zero fields of records are left out. `UPDATE_GOLDEN=1` rewrites
the golden runs. The prompts are not part of them: a change of wording changes no golden run.
"""

from __future__ import annotations

import asyncio
import hashlib
import json
import os
import re
from collections.abc import Iterable, Mapping
from dataclasses import fields
from difflib import ndiff
from pathlib import Path
from typing import Any

from lab import Lab
from langchain_core.messages import AIMessage, BaseMessage
from langgraph.types import Command
from packet_check import merged
from pydantic import BaseModel

from deep_research.app.embed import thread_config
from deep_research.app.stream import read_packet
from deep_research.core.run.errors import DeepResearchError
from deep_research.core.run.events.packets import AnyPacket, OverallStop
from deep_research.state import ResearchState

GOLDEN = Path(__file__).parent / "golden" / "runs"
FOLDER = Path("/tmp/deep-research-frozen")
"""Where documents stand on each machine: the ids of what is learned rest on their addresses."""
ASKING = "asking"
"""Name of the task that ends where a run is killed."""
WIDTH = 118
NAMED = (
    (re.compile(rf"{FOLDER}/[0-9a-f]{{8}}"), ""),
    (re.compile(r"\bdata-[0-9a-f]{8}\b"), "data-…"),
    (re.compile(r"\bcall-(\d{1,3}|[0-9a-f]{10})-(?=\d)"), "call-…-"),
    (re.compile(r"\b([0-9a-f]{8})[0-9a-f]{56}\b"), r"\1…"),
    (re.compile(r'"version": "[^"]+"'), '"version": "…"'),
    (re.compile(r'"(input_tokens|cached_tokens|usd)": (?:[\d.e-]+|\{[^}]*\})'), r'"\1": "…"'),
    (re.compile(r"\b[0-9a-f]{16}-(?=Q\d)"), "…-"),
    (re.compile(r'"(orientation|id)": "(?:[0-9a-f]{8}…|[0-9a-f]{16})"'), r'"\1": "…"'),
)
"""Names of fences, calls, learnings and the code's version differ between runs; paths and hashes are long; the size of
requests changes with the wording of prompts."""
TIMES = re.compile(r'"(\w*seconds|\w*tokens)": (?:[\d.]+|\{[^}]*\})'), r'"\1": "…"'
"""What a run over real sockets takes."""
Hidden = tuple[re.Pattern[str], str]


def documents(name: str, texts: dict[str, str]) -> Path:
    """A folder with these files and no others, whichever there were before."""
    folder = FOLDER / mark_of(json.dumps(texts)) / name
    folder.mkdir(parents=True, exist_ok=True)
    for file, text in texts.items():
        if not (folder / file).exists() or (folder / file).read_text("utf-8") != text:
            (folder / file).write_text(text, "utf-8")
    return folder


def mark_of(text: str) -> str:
    return hashlib.sha256(text.encode()).hexdigest()[:8]


async def killed(*_: Any) -> None:
    """A reply during which the run is killed."""
    next(task for task in asyncio.all_tasks() if task.get_name() == ASKING).cancel()
    await asyncio.Event().wait()


def plain(value: Any) -> Any:
    """A record, a message or a mapping as JSON has it."""
    if isinstance(value, BaseMessage):
        calls = [*value.tool_calls, *value.invalid_tool_calls] if isinstance(value, AIMessage) else []
        said = {"text": value.text, **value.additional_kwargs, "calls": calls}
        return {"type": value.type, **{name: plain(one) for name, one in said.items() if one}}
    if isinstance(value, BaseModel):
        return {name: plain(one) for name in sorted(type(value).model_fields) if (one := getattr(value, name))}
    if isinstance(value, Mapping):
        return {str(key): plain(one) for key, one in value.items()}
    return [plain(one) for one in value] if isinstance(value, list | tuple) else value


def laid_out(value: Any, indent: str = "") -> str:
    """JSON of which whatever fits in a line stands in one."""
    line = json.dumps(value, ensure_ascii=False)
    if not value or not isinstance(value, dict | list) or len(indent) + len(line) <= WIDTH:
        return line
    entries = value.items() if isinstance(value, dict) else enumerate(value)
    keys = [f"{json.dumps(key, ensure_ascii=False)}: " if isinstance(value, dict) else "" for key, _ in entries]
    inner = [laid_out(one, f"{indent}  ") for one in (value.values() if isinstance(value, dict) else value)]
    lines = [f"{indent}  {key}{one}" for key, one in zip(keys, inner, strict=True)]
    opening, closing = "{}" if isinstance(value, dict) else "[]"
    return "\n".join([opening, ",\n".join(lines), f"{indent}{closing}"])


def lines_of(packets: Iterable[AnyPacket]) -> list[str]:
    """A line a packet in the order of their places."""
    return [
        f"{'.'.join(map(str, place))} {kind} {json.dumps(said, ensure_ascii=False, sort_keys=True)}"
        for place, of_place in merged(packets).items()
        for kind, said in of_place
    ]


def named(text: str, *hidden: Hidden) -> str:
    """The text with a name for whatever is hidden."""
    for pattern, name in hidden:
        text = pattern.sub(name, text)
    return text


def golden_of(name: str) -> Path:
    return GOLDEN / f"{re.sub(r'[^a-z0-9]+', '-', name.lower())}.txt"


def is_golden(name: str, text: str) -> None:
    """Hold the text against the one that is kept under this name."""
    path = golden_of(name)
    if os.environ.get("UPDATE_GOLDEN"):
        path.write_text(text, encoding="utf-8")
    assert text.splitlines() == path.read_text(encoding="utf-8").splitlines()


class Frozen:
    """Listens to one run."""

    def __init__(self, run: Lab, *hidden: Hidden) -> None:
        self.run, self.hidden = run, (*NAMED, *hidden)
        self.parts: list[str] = []
        self.questions: list[str] = []
        self.heard: list[AnyPacket] = []
        """All packets of the latest question."""

    async def say(self, message: Any) -> None:
        """Say it, and note what is heard until the run ends, pauses or stops."""
        before, ending = len(self.run.packets), ""
        try:
            await asyncio.create_task(self.run.ask(message), name=ASKING)
        except asyncio.CancelledError:
            ending = "killed"
        except (DeepResearchError, ValueError) as error:
            ending = f"stopped: {type(error).__name__}: {error}"
        streamed = [read_packet(one) for one in self.run.packets[before:]]
        snapshot = await self.run.graph.aget_state(thread_config(self.run.thread))
        question = ResearchState(**snapshot.values).run
        if question and question.id not in self.questions:
            self.questions.append(question.id)
            self.heard = []
        self.heard += streamed
        asked = [json.dumps(one.value, ensure_ascii=False) for one in snapshot.interrupts]
        waits = " ".join(["next:", *snapshot.next, *asked]) if snapshot.next else ""
        said = json.dumps(plain(message.update or message.resume) if isinstance(message, Command) else message)
        self.parts.append("\n".join([f"# Said: {said}\n", *lines_of(streamed), *filter(None, (ending, waits))]))

    async def text(self) -> str:
        """The whole run."""
        state = await self.run.state()
        *streamed, stop = await self.run.replayed()
        heard = [one for one in self.heard if not isinstance(one, OverallStop)]
        differs = [line for line in ndiff(lines_of(heard), lines_of(streamed)) if line[0] in "+-"]
        channels = {one.name: plain(getattr(state, one.name)) for one in fields(ResearchState)}
        # Its keys are random, and the order must not depend on the size of requests.
        channels["spending"] = sorted(channels["spending"].values(), key=lambda spent: named(json.dumps(spent), *NAMED))
        self.parts += [
            "\n".join(["# Replayed, where it differs\n", *(differs or ["nowhere"]), *lines_of([stop])]),
            "\n".join(["# State\n", *(f"{name}: {laid_out(channels[name])}" for name in sorted(channels))]),
        ]
        return self._named("\n\n".join(self.parts)) + "\n"

    def _named(self, text: str) -> str:
        """The text without what is random."""
        for number, question in enumerate(self.questions, 1):
            text = text.replace(question, f"Q{number}").replace(question[:8], f"Q{number}")
        return named(text, *self.hidden)
