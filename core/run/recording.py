"""The calls of a run to the outside: each is written to a file when it ends, and can be answered from it again."""

from __future__ import annotations

import asyncio
import errno
import json
import os
import re
import time
from collections import defaultdict
from collections.abc import Awaitable, Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from datetime import datetime
from pathlib import Path
from typing import Any, Literal, NamedTuple
from urllib.parse import quote, quote_plus, unquote

from langgraph.config import get_config

from ...prompts import with_equal_fences
from ..records.research import Value
from .errors import CutOff, UnknownSetting

FORMAT = 1
"""Version of the lines of a recording."""
Kind = Literal["model", "search", "page", "tool"]
"""What is called: a model, a search engine, a page of the web, or a tool that an app or an MCP server has given."""
Answer = dict[str, Any]

HIDDEN = "HIDDEN"
"""What stands in the place of a secret; it means the same in an address and in Markdown."""
_SECRET_NAME = re.compile(r"(KEY|TOKEN|SECRET|PASSWORD|PASSWD|CREDENTIALS?)$", re.IGNORECASE)
_USERINFO = re.compile(r"(?<=://)[^/\s\"\\@?#<>]{1,300}@")
_SHAPES = (
    (_USERINFO, f"{HIDDEN}@"),
    (re.compile(r"(?i)\b(bearer|basic)(\s{1,4})(?=[\w.~+/-]{0,99}\d)[\w.~+/=-]{16,}"), rf"\1\2{HIDDEN}"),
    (re.compile(r"\b(?:sk|tvly)-(?=[\w-]{0,99}\d)[\w-]{8,}"), HIDDEN),
    (
        re.compile(
            r"(?i)([?&;](?:api[-_]?key|key|(?:\w{1,40}[-_])?token|auth|password|passwd|pwd|secret|sig|(?:x-amz-)?signature)=)"
            r"[^&\s\"\\#<>)]{8,}"
        ),
        rf"\1{HIDDEN}",
    ),
)
"""What looks like a secret, whoever it belongs to."""
LEAST_SECRET = 6
"""Characters of the shortest secret: what is shorter, such as `none`, may stand anywhere."""


class Cleaner:
    """Takes secrets and the machine's paths out of what is written."""

    def __init__(self, secrets: Iterable[str] = (), folders: Iterable[Path] = ()) -> None:
        """`secrets` are taken out beside those of the environment; of `folders` only the names are left."""
        hidden = {form for one in {*_of_environment(), *secrets} if len(one) >= LEAST_SECRET for form in _forms(one)}
        self._replaced = [(one, HIDDEN) for one in sorted(hidden, key=len, reverse=True)]
        for folder in (one.absolute() for one in folders):
            self._replaced += [(form, folder.name) for form in (folder.as_uri(), _escaped(str(folder))) if folder.name]

    def __call__(self, text: str) -> str:
        """Return a text of JSON as it may be written."""
        for given, shown in self._replaced:
            text = text.replace(given, shown)
        for shape, shown in _SHAPES:
            text = shape.sub(shown, text)
        return text

    def cleaned(self, value: Any) -> Any:
        """Return a value of JSON as it may be written."""
        return json.loads(self(_json(value)))


def _of_environment() -> Iterator[str]:
    for name, value in os.environ.items():
        if _SECRET_NAME.search(name):
            yield value.strip()
        for userinfo in _USERINFO.findall(value):
            _, _, password = userinfo[:-1].partition(":")
            yield from (userinfo[:-1], password, unquote(password))


def _forms(secret: str) -> set[str]:
    # The arguments of a call are JSON within JSON.
    return {_escaped(secret), _escaped(_escaped(secret)), quote(secret), quote(secret, safe=""), quote_plus(secret)}


def _escaped(text: str) -> str:
    return _json(text)[1:-1]


def _json(value: Any) -> str:
    return json.dumps(value, ensure_ascii=False, default=str)


@dataclass
class Noted:
    """A call under way that is recorded."""

    answer: Answer | None = None
    """What came; none as long as nothing did, which is what stays of a call that is cut off."""


class Recorder:
    """Writes a line to the file for each call that has ended."""

    def __init__(self, path: Path, cleaner: Cleaner) -> None:
        """Open the file; a new one is its owner's alone. Raises `OSError`."""
        self.fault = ""
        """Why nothing more is written; empty as long as all was."""
        self._file = os.open(path, os.O_WRONLY | os.O_APPEND | os.O_CREAT, 0o600)
        self._clean = cleaner
        self._start = time.monotonic()
        # A kill may have left the last line in its middle.
        if path.stat().st_size and not path.read_bytes().endswith(b"\n"):
            self._append(b"\n")

    def write(self, kind: str, **values: Any) -> None:
        """Write one line at once, so that a kill leaves all that were written before; none after a fault."""
        text = self._clean(_json({"kind": kind, **values}))
        # Half of a surrogate pair is no text that a file takes.
        self._append(f"{text}\n".encode(errors="backslashreplace"))

    def _append(self, data: bytes) -> None:
        if self.fault:
            return
        try:
            if os.write(self._file, data) < len(data):
                self.fault = os.strerror(errno.ENOSPC)
        except OSError as error:
            # The run has been paid for, and goes on.
            self.fault = error.strerror or type(error).__name__

    def is_clean(self, value: Any) -> bool:
        """Whether nothing has to be taken out of a value before it is written."""
        return self._clean(text := _json(value)) == text

    @contextmanager
    def noting(self, kind: Kind, asked: Mapping[str, Any], place: str = "") -> Iterator[Noted]:
        """Record what is asked within, and the answer that the block notes."""
        began, noted = self._seconds(), Noted()
        try:
            yield noted
        finally:
            self.write(kind, place=place, asked=asked, answer=noted.answer, began=began, ended=self._seconds())

    def _seconds(self) -> float:
        return round(time.monotonic() - self._start, 3)

    def close(self) -> None:
        """Close the file."""
        os.close(self._file)


class Exchange(NamedTuple):
    """One recorded call."""

    kind: Kind
    place: str
    """Who asked: role, node and branch; empty for what is no call of a model."""
    asked: dict[str, Any]
    answer: Answer | None
    """What came; none for a call that was cut off."""
    began: float
    ended: float
    """Seconds from the beginning of the recording."""


class Difference(NamedTuple):
    """A call that was not made as it is recorded."""

    place: str
    recorded: str | None
    """The words of the call whose answer was given; none if there was none to give."""
    asked: str


@dataclass
class Replay:
    """Answers calls from a recording, without a network and without waiting."""

    runs: list[dict[str, Any]]
    """What was asked of the run, in order, with its settings."""
    exchanges: list[Exchange]
    end: dict[str, Any] | None
    """How the last part of the run ended; none if it was stopped."""
    tools: list[dict[str, Any]]
    """The tools beside ours that models were offered."""
    clean: Cleaner = field(default_factory=Cleaner)
    part: int = 0
    """The part of the run that is under way."""
    differences: list[Difference] = field(default_factory=list)
    answered: int = 0
    _latest: float = 0.0
    """The end of the latest exchange that has answered a call."""
    _step: tuple[str, float] = ("", 0.0)
    """The step of the graph that is under way, and the seconds at its start."""
    _branches: dict[str, tuple[float, float | None]] = field(default_factory=dict)
    """The seconds of each of its nodes and branches, and what they lag behind those of the recording."""
    _given: set[int] = field(default_factory=set)
    """The exchanges that have answered a call."""
    _same: dict[tuple[Kind, str], list[int]] = field(default_factory=lambda: defaultdict(list))

    def __post_init__(self) -> None:
        """Find the exchanges by what was asked."""
        for number, one in enumerate(self.exchanges):
            self._same[one.kind, self._name(one.kind, one.asked)].append(number)

    @property
    def run(self) -> dict[str, Any]:
        """What was asked in the part that is under way, with its settings."""
        return self.runs[self.part]

    @property
    def seconds(self) -> float:
        """Seconds of the recorded run that have passed where this is asked: calls side by side come in any order."""
        branch = self._branch()
        return self._branches[branch][0] if branch else self._latest

    def _branch(self) -> str:
        """Return the branch that asks, whose time begins with that of its step; empty outside of a graph."""
        try:
            place = get_config()["configurable"]
        except RuntimeError:
            return ""
        step = str(place.get("checkpoint_map", {}).get("", ""))
        if step != self._step[0]:
            self._step, self._branches = (step, self._latest), {}
        branch, sign, _ = str(place.get("checkpoint_ns", "")).partition("|")
        # A branch may have waited for its turn, which is none of its own time.
        self._branches.setdefault(branch, (self._step[1], None if sign else 0.0))
        return branch

    def _pass_time(self, found: Exchange) -> None:
        self._latest = max(self._latest, found.ended)
        if branch := self._branch():
            now, lag = self._branches[branch]
            lag = found.began - now if lag is None else lag
            self._branches[branch] = (max(now, found.ended - lag), lag)

    def find(self, kind: Kind, asked: Mapping[str, Any], place: str = "") -> Answer | None:
        """Return the recorded answer to this call; none if there is none. Raises `CutOff`.

        Equal calls are answered in their order. The call of a model that is not recorded gets the answer of the next
        one of the same role, node and branch.
        """
        number = self._exact(kind, asked)
        if number is None:
            number = self._nearest(place) if kind == "model" else None
            recorded = None if number is None else words_of(self.exchanges[number].asked)
            self.differences.append(Difference(place or kind, recorded, words_of(self.clean.cleaned(asked))))
        self.answered += 1
        if number is None:
            return None
        self._given.add(number)
        found = self.exchanges[number]
        self._pass_time(found)
        if found.answer is None:
            raise CutOff("it was cut off when the run was recorded")
        return found.answer

    def _exact(self, kind: Kind, asked: Mapping[str, Any]) -> int | None:
        same = self._same.get((kind, self._name(kind, asked)), [])
        left = [number for number in same if number not in self._given]
        # A call that a stop cut off was made anew when the run was resumed.
        whole = [number for number in left if self.exchanges[number].answer is not None]
        return next(iter([*whole, *left, *same[-1:]]), None)

    def _nearest(self, place: str) -> int | None:
        left = [
            n for n, one in enumerate(self.exchanges) if one.kind == "model" and n not in self._given and one.answer
        ]
        left.sort(key=lambda number: self.exchanges[number].began)
        node = place.rpartition(" ")[0]
        here = [number for number in left if self.exchanges[number].place == place]
        like = [number for number in left if self.exchanges[number].place.rpartition(" ")[0] == node]
        return next(iter([*here, *like]), None)

    def _name(self, kind: Kind, asked: Mapping[str, Any]) -> str:
        told = {name: value for name, value in asked.items() if kind != "model" or name not in ("model", "settings")}
        return with_equal_fences(self.clean(json.dumps(told, ensure_ascii=False, sort_keys=True, default=str)))


class RecordedClock:
    """Stands still at the moment when this part of the run began; its seconds pass as calls are answered."""

    def __init__(self, replay: Replay) -> None:
        self._replay = replay

    def now(self) -> datetime:
        """Return the date and time at which the part of the recorded run that is under way began."""
        return datetime.fromisoformat(self._replay.run["at"])

    def seconds(self) -> float:
        """Seconds of the recorded run."""
        return self._replay.seconds

    async def sleep(self, seconds: float) -> None:
        """Wait as long as it says: nothing that was recorded waits by this clock."""
        await asyncio.sleep(seconds)


async def no_wait(_seconds: float) -> None:
    """Let others have their turn, in the place of a wait that was recorded."""
    await asyncio.sleep(0)


Recording = Recorder | Replay
"""What takes down the calls of a run, or answers them."""


async def exchanged(
    recording: Recording | None,
    kind: Kind,
    asked: Mapping[str, Any],
    work: Callable[[], Awaitable[Value]],
    dump: Callable[[Value | Exception], Answer],
    load: Callable[[Answer | None], Value],
) -> Value:
    """Return what the work brings, or what is recorded of it.

    `dump` gives what is written of a result or an error, `load` returns the one and raises the other; it is given none
    where nothing is recorded.
    """
    if recording is None:
        return await work()
    if isinstance(recording, Replay):
        return load(recording.find(kind, asked))
    with recording.noting(kind, asked) as noted:
        try:
            value = await work()
        except Exception as error:
            noted.answer = dump(error)
            raise
        noted.answer = dump(value)
    return value


def words_of(asked: Mapping[str, Any]) -> str:
    """Return what was asked as a text of lines, to compare."""
    if "messages" not in asked:
        return _json(asked)
    lines = [line for message in asked["messages"] for line in _lines(message)]
    return with_equal_fences("\n".join([*lines, *(f"[tool] {_json(tool)}" for tool in asked["tools"])]))


def _lines(message: Mapping[str, Any]) -> Iterator[str]:
    content = message["content"]
    yield f"[{message['type']}]"
    yield content if isinstance(content, str) else _json(content)
    yield from (f"{call['name']} {_json(call['args'])}" for call in message.get("tool_calls") or ())


def read_recording(path: Path, folders: Sequence[Path] = ()) -> Replay:
    """Return what a file holds; raises `UnknownSetting` if that is no recording, and `OSError`.

    `folders` are those of the documents here. A line that a kill has cut off is left out.
    """
    # Texts hold other ends of lines, which are none of the file's.
    entries = [entry for line in path.read_bytes().split(b"\n") if (entry := _entry(line))]
    if not entries or entries[0].get("kind") != "run" or entries[0].get("format") != FORMAT:
        raise UnknownSetting(f"{str(path)!r} is no recording that this version reads: name a file of `ask --record`.")
    exchanges, last, start, end = list[Exchange](), None, 0.0, 0.0
    for one in entries:
        if one["kind"] == "run":
            # Another process, whose seconds began anew.
            start, last = end, None
        elif one["kind"] == "end":
            last = one
        elif one["kind"] in ("model", "search", "page", "tool"):
            end = max(end, start + one["ended"])
            times = start + one["began"], start + one["ended"]
            exchanges.append(Exchange(one["kind"], one["place"], one["asked"], one["answer"], *times))
    runs = [one for one in entries if one["kind"] == "run"]
    tools = {tool["name"]: tool for one in entries if one["kind"] == "tools" for tool in one["tools"]}
    return Replay(runs, exchanges, last, list(tools.values()), Cleaner(folders=folders))


def _entry(line: bytes) -> dict[str, Any] | None:
    try:
        entry = json.loads(line)
    except ValueError:
        return None
    return entry if isinstance(entry, dict) and isinstance(entry.get("kind"), str) else None
