"""Formats tool results for models, as JSON inside a data fence with one number per source, and
reads them back."""

from __future__ import annotations

import hashlib
import json
import re
from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from itertools import islice
from typing import Any, NotRequired, TypedDict, cast

from langchain_core.messages import AIMessage, AnyMessage, ToolMessage

from ..core.evidence.checking.source_text import Windows
from ..core.evidence.text.similarity import grouped
from ..core.run import tool_names
from ..core.run.limits import Limits
from ..core.run.transcripts import is_status_text
from ..prompts import fence
from .tool import Hit, Outcome

PAGE_CHARACTERS = 3_000
"""Characters shown of one opened page: its beginning and the passages on the topic."""
_LEAST_SHOWN = 200
"""Minimum characters shown of a result."""
_SHRUNK = 600
"""Maximum characters of older results after they are shortened."""
_REPEATED = 40
"""Minimum length of a sentence that is left out if it was shown before."""
_SENTENCE_ENDS = re.compile(r"(?<=[.!?…])(?=\s)|(?<=\n)")
JOINT = "\n[…]\n"
"""Separator between two passages of a source."""
CUT = "[…]"
"""Marks where a text was cut."""
_MARK = len(CUT) + 1
_MOST_STRETCHES = 3
"""Maximum number of parts of an excerpt to look for, the longest first."""
_WORD = re.compile(r"\S+")
_OMISSION = re.compile(r"\[…(?: \d+)?\]|…|\.{3,}")


class ResultLink(TypedDict):
    """A link in a result, as a model reads it."""

    words: NotRequired[str]
    address: str


class Result(TypedDict):
    """One result as shown to a model; unknown fields are left out."""

    document: int
    title: str
    address: str
    date: NotRequired[str]
    period: NotRequired[str]
    """Period that the text reports on and that its figures refer to."""
    superseded_by: NotRequired[str]
    """What replaced the document, as the document itself says."""
    is_draft: NotRequired[bool]
    """Whether the document calls itself a draft."""
    in_force_from: NotRequired[str]
    """Day on which the document takes effect, if in the future."""
    score: NotRequired[float]
    """The engine's score for the match, from 0 to 1."""
    characters: NotRequired[int]
    """Length of the text if only passages are shown; `open_url` can read on from an offset."""
    is_whole: NotRequired[bool]
    """Whether the text is complete, so that opening the source would add nothing."""
    text: str
    links: NotRequired[list[ResultLink]]
    """Links in the text; `open_url` accepts their addresses."""


def write_results(
    outcome: Outcome,
    numbers: Mapping[str, int],
    earlier: Iterable[Result] = (),
    fence_name: str = "",
) -> str:
    """Return the results of a tool call for the model, one per source; `numbers` by source key.

    Text shown in `earlier` results is not repeated; sources without new text are listed by number
    (`shown_before`). `fence_name`: see `fence`.
    """
    shown: dict[int, str] = {}
    for result in earlier:
        shown[result["document"]] = f"{shown.get(result['document'], '')}\n{_plain(result['text'])}"
    hits = grouped(outcome.hits, lambda hit: numbers[hit.source.key])
    results = [
        _result(of_source, numbers, shown.get(number, "")) for number, of_source in hits.items()
    ]
    new = [result for result in results if result["text"] or result["document"] not in shown]
    again = [result["document"] for result in results if result not in new]
    return _write(new, list(outcome.problems), fence_name, again)


def shortened(hits: Iterable[Hit], topic: str, limits: Limits) -> tuple[Hit, ...]:
    """Return the hits, long texts cut to passages on the topic; the first hits get more room than
    the last ones."""
    left, shown = limits.pages_characters, list[Hit]()
    for hit in hits:
        most = max(_LEAST_SHOWN, min(PAGE_CHARACTERS, left))
        if hit.text and len(hit.excerpt) > most:
            hit = hit._replace(excerpt=passages(hit.text, topic, "", most))
        left -= len(hit.excerpt) if hit.text else 0
        shown.append(hit)
    return tuple(shown)


def _result(hits: Sequence[Hit], numbers: Mapping[str, int], shown: str) -> Result:
    """Return the hits of one source as one result, without the sentences that were shown before
    (`shown`)."""
    source, text, new = hits[0].source, hits[0].text, list[str]()
    for hit in hits:
        words = _plain(hit.excerpt)
        if not words or words not in shown:
            pieces = [hit.excerpt] if hit.text else _SENTENCE_ENDS.split(hit.excerpt)
            unseen = [
                piece for piece in pieces if len(piece) < _REPEATED or _plain(piece) not in shown
            ]
            new.append("".join(unseen).strip())
            shown = f"{shown}\n{words}"
    is_whole = bool(text) and any(hit.excerpt.strip() == text.strip() for hit in hits)
    # Fields that the model needs to judge a text precede it.
    fields = {
        "document": numbers[source.key],
        "title": source.title,
        "address": source.address,
        "date": source.date,
        "period": source.period,
        "superseded_by": source.superseded_by,
        "is_draft": source.is_draft,
        "in_force_from": source.in_force_from,
        "score": max(hit.score for hit in hits),
        "characters": 0 if is_whole else len(text),
        "is_whole": is_whole,
        "text": JOINT.join(filter(None, new)),
        "links": [
            ResultLink(words=words, address=address) if words else ResultLink(address=address)
            for hit in hits
            for words, address in hit.links
        ],
    }
    return cast(
        Result,
        {name: value for name, value in fields.items() if value or name in ("title", "text")},
    )


def _plain(text: str) -> str:
    return " ".join(text.split())


def results_in(notes: Iterable[AnyMessage]) -> list[Result]:
    """Return all results in a researcher's notes with their texts."""
    return [
        result
        for note in notes
        # Status messages may quote text invented by a model.
        if isinstance(note, ToolMessage) and not is_status_text(note.text)
        for result in read_results(note.text)
    ]


def read_results(text: str) -> list[Result]:
    """Return the results in the text of a tool result."""
    return _read(text)[0]


def shorten_results(
    text: str, characters: int, topic: str = "", leave_out: Collection[int] = ()
) -> str:
    """Return the text of a tool result, with each result cut to passages on the topic of about
    `characters` in all.

    Documents whose numbers are in `leave_out` are dropped.
    """
    results, problems = _read(text)
    if not results:
        return text
    # A fixed nonce makes the shortened text identical each time, so that providers can cache it.
    nonce = hashlib.sha256(text.encode()).hexdigest()[:8]
    kept = [result for result in results if result["document"] not in leave_out]
    for result in kept:
        result.pop("links", None)
        if len(result["text"]) > characters:
            result["text"] = passages(result["text"], topic, "", characters, has_offsets=False)
            result.pop("is_whole", None)
    return _write(kept, problems, nonce)


def shrunk(notes: Sequence[AnyMessage], end: int, topic: str) -> list[AnyMessage]:
    """Return a researcher's notes with the results before index `end` shortened to passages
    relevant to its topic.

    If a source has several results, only the longest is kept.
    """
    # The prompt of a researcher that reads all documents says that it sees them whole.
    calls = [call for note in notes if isinstance(note, AIMessage) for call in note.tool_calls]
    kept = {call["id"] for call in calls if call["name"] == tool_names.READ_DOCUMENTS}
    older = {
        index: {result["document"]: len(result["text"]) for result in results_in([note])}
        for index, note in enumerate(notes[:end])
        if isinstance(note, ToolMessage) and note.tool_call_id not in kept
    }
    longest: dict[int, int] = {}
    for index, lengths in older.items():
        for number, length in lengths.items():
            if number not in longest or length > older[longest[number]][number]:
                longest[number] = index
    shorter = list(notes)
    for index, lengths in older.items():
        if lengths:
            leave_out = {number for number in lengths if longest[number] != index}
            text = shorten_results(notes[index].text, _SHRUNK, topic, leave_out)
            shorter[index] = notes[index].model_copy(update={"content": text})
    return shorter


def _write(
    results: list[Result], problems: list[str], nonce: str = "", again: Sequence[int] = ()
) -> str:
    """Return the text of a tool result; `again`: numbers of sources without new text."""
    extra: dict[str, Any] = {"shown_before": again} if again else {}
    if again and not results:
        # Small models take an empty list to mean that nothing was found.
        extra["found"] = (
            f"Nothing new: what was found stands above, as document {', '.join(map(str, again))}."
        )
    result = {**extra, "results": results, "problems": problems}
    return fence(json.dumps(result, ensure_ascii=False), nonce)


def _read(text: str) -> tuple[list[Result], list[str]]:
    """Return the results and problems in the text of a tool result; both empty if it has none."""
    start, end = text.find("{"), text.rfind("}")
    try:
        data = json.loads(text[start : end + 1]) if start >= 0 else {}
    except ValueError:
        return [], []
    return data.get("results", []), data.get("problems", [])


def shortener(topic: str) -> Callable[[str, float], str]:
    """Return the function that shortens a tool result if a prompt does not fit: to a share of its
    longest text."""

    def shorten(text: str, share: float) -> str:
        longest = max((len(result["text"]) for result in read_results(text)), default=0)
        return shorten_results(text, max(_LEAST_SHOWN, int(share * longest)), topic)

    return shorten


def passages(
    text: str, wanted: str, excerpt: str, characters: int, *, has_offsets: bool = True
) -> str:
    """Return about `characters` of `text`: its beginning, the search `excerpt`, passages on the
    topic `wanted`, others.

    Each passage after a cut starts with its offset, `[… 12000]`, or with `[…]` if not
    `has_offsets`.
    """
    if len(text) <= characters:
        return text
    windows = Windows(text)
    start, length = _find(text, excerpt) if excerpt else (0, 0)
    spans = enumerate(windows.windows)
    shown = [number for number, span in spans if span.start < start + length and start < span.end]
    best = windows.best(f"{wanted} {excerpt}", len(windows.windows))
    chosen, room = set[int](), characters
    everything = range(len(windows.windows))
    for number in (*everything[:1], *shown, *best, *everything):
        span = windows.windows[number]
        length = span.end - span.start + len(span.head)
        if number not in chosen and length <= room:
            chosen.add(number)
            room -= length
    if not chosen:
        return window(text, excerpt, characters)
    mark = "[… {}]" if has_offsets else CUT
    joined = windows.joined(chosen)
    parts = "\n".join(
        f"{mark.format(start)} {words}" if start else words for start, words in joined
    )
    return parts if max(chosen) == len(windows.windows) - 1 else f"{parts}\n{CUT}"


def read_on(text: str, start: int, characters: int) -> str:
    """Return at most this many characters of `text` from offset `start` on; cuts are marked."""
    part = text[start : start + characters]
    after = f" {CUT}" if start + characters < len(text) else ""
    return f"[… {start}] {part}{after}" if start else f"{part}{after}"


def window(text: str, excerpt: str, characters: int) -> str:
    """Return at most this many characters of `text` around `excerpt`, or from its head; cuts are
    marked."""
    if len(text) <= characters:
        return text
    found, length = _find(text, excerpt)
    room = characters - 2 * _MARK
    start = max(0, min(found + length // 2 - room // 2, len(text) - room))
    part = text[start : start + room]
    before = f"{CUT} " if start else ""
    after = f" {CUT}" if start + room < len(text) else ""
    return f"{before}{part}{after}"


def _find(text: str, excerpt: str) -> tuple[int, int]:
    """Return offset and length of the excerpt in the text, (0, 0) if not found; engines mark
    omissions with dots."""
    stretches = sorted(
        (stretch.split() for stretch in _OMISSION.split(excerpt)), key=len, reverse=True
    )
    plain = " ".join(text.split())
    # Engines change spaces and cut ends, so only words are compared (the first ones of long
    # stretches). Few stretches and no regular expression: both texts are untrusted and could be
    # crafted to take forever.
    for count in (len(excerpt), 12, 6):
        for words in filter(None, stretches[:_MOST_STRETCHES]):
            wanted = " ".join(words[:count])
            found = plain.find(wanted)
            if found >= 0:
                start, last = (
                    _offset_in(text, plain, end) for end in (found, found + len(wanted) - 1)
                )
                return start, last + 1 - start
    return 0, 0


def _offset_in(text: str, plain: str, offset: int) -> int:
    """Return the offset in `text` of the character at `offset` in `plain`, the text with single
    spaces."""
    word = next(islice(_WORD.finditer(text), plain.count(" ", 0, offset), None))
    return word.start() + offset - plain.rfind(" ", 0, offset) - 1
