"""Formats tool results for models, as JSON inside a data fence with one number per source, and
reads them back."""

from __future__ import annotations

import hashlib
import json
import re
from collections import defaultdict
from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from itertools import islice
from types import MappingProxyType
from typing import Any, NotRequired, TypedDict, cast

from langchain_core.messages import AIMessage, AnyMessage, ToolMessage

from ..core.dialogue.transcripts import is_status_text
from ..core.evidence.checking.proof import Known
from ..core.evidence.checking.source_text import SourceText, Windows, windows_of
from ..core.evidence.text.similarity import grouped
from ..core.records import tool_names
from ..core.settings.limits import Limits
from ..prompts import fence
from .tool import Hit, Outcome

PAGE_CHARACTERS = 3_000
"""Characters shown of one opened page: its beginning and the passages on the topic."""
_LEAST_SHOWN = 200
"""Minimum characters shown of a result."""
_FOR_QUESTION = 4
"""Maximum number of passages of a long text that are shown for one question."""
_LEAST_LIKE = 0.4
"""Minimum likeness of each of these to its question, as a share of that of the most similar one."""
_SHRUNK = 600
"""Maximum characters of older results after they are shortened."""
_REPEATED = 40
"""Minimum length of a sentence that is left out if it was shown before."""
_SENTENCE_ENDS = re.compile(r"(?<=[.!?…])(?=\s)|(?<=\n)")
JOINT = "\n[…]\n"
"""Separator between two passages of a source."""
CUT = "[…]"
"""Marks where a text was cut."""
_LEFT_OUT = f" {CUT}"
"""Stands for sentences that an earlier result of the source shows."""
_MARK = len(CUT) + 1
_MOST_STRETCHES = 3
"""Maximum number of parts of an excerpt to look for, the longest first."""
_WORD = re.compile(r"\S+")
_OMISSION = re.compile(r"\[…(?: \d+)?\]|…|\.{3,}")
_CUTS = re.compile(r"\s*\[…(?: \d+)?\]\s*")
"""Matches the marks of cuts, with the white space around them."""


class ResultLink(TypedDict):
    """A link in a result, as a model reads it."""

    words: NotRequired[str]
    address: str


class Result(TypedDict):
    """One result as shown to a model; unknown fields are left out."""

    document: int
    title: str
    address: str
    publisher: NotRequired[str]
    publisher_kind: NotRequired[str]
    """Such as official, company or news; not for documents of the user."""
    date: NotRequired[str]
    date_kind: NotRequired[str]
    """Whether the date is that of the publication or of an update."""
    period: NotRequired[str]
    """Period that the text reports on and that its figures refer to."""
    superseded_by: NotRequired[str]
    """What replaced the document, as the document itself says."""
    is_draft: NotRequired[bool]
    """Whether the document calls itself a draft."""
    in_force_from: NotRequired[str]
    """Day on which the document takes effect, if in the future."""
    is_retracted: NotRequired[bool]
    """Whether a register lists the paper as retracted, withdrawn or removed."""
    has_concern: NotRequired[bool]
    """Whether a register lists an expression of concern about the paper."""
    score: NotRequired[float]
    """The engine's score for the match, from 0 to 1."""
    characters: NotRequired[int]
    """Length of the text if only passages are shown; `open_url` can read on from an offset."""
    read_on: NotRequired[int]
    """Offset from which a text goes on that is shown in order."""
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
        number = result["document"]
        shown[number] = f"{shown.get(number, '')}\n{_plain(result['text'])}"
    new: list[Result] = []
    again: list[int] = []
    by_number = grouped(outcome.hits, lambda hit: numbers[hit.source.key])
    for number, hits in by_number.items():
        result = _result(hits, numbers, shown.get(number, ""))
        if result["text"] or number not in shown:
            new.append(result)
        else:
            again.append(number)
    return _write(new, list(outcome.problems), fence_name, again)


def shortened(hits: Iterable[Hit], topic: str, limits: Limits) -> tuple[Hit, ...]:
    """Return the hits, long texts cut to passages on the topic; the first hits get more room than
    the last ones."""
    left = limits.pages_characters
    shown: list[Hit] = []
    for hit in hits:
        most = max(_LEAST_SHOWN, min(PAGE_CHARACTERS, left))
        if hit.text:
            if len(hit.excerpt) > most:
                hit = hit._replace(excerpt=passages(hit.text, topic, "", most))
            left -= len(hit.excerpt)
        shown.append(hit)
    return tuple(shown)


def _result(hits: Sequence[Hit], numbers: Mapping[str, int], shown: str) -> Result:
    """Return the hits of one source as one result, without the sentences that were shown before
    (`shown`)."""
    source, text = hits[0].source, hits[0].text
    excerpts: list[str] = []
    links: list[ResultLink] = []
    is_whole = False
    for hit in hits:
        unseen = _unseen(hit, shown)
        if unseen:
            excerpts.append(unseen)
        shown = f"{shown}\n{_plain(hit.excerpt)}"
        if text and hit.excerpt.strip() == text.strip() and not hit.read_on:
            is_whole = True
        for words, address in hit.links:
            if words:
                links.append(ResultLink(words=words, address=address))
            else:
                links.append(ResultLink(address=address))
    kind = source.publisher_kind
    # Fields that the model needs to judge a text precede it.
    fields = {
        "document": numbers[source.key],
        "title": source.title,
        "address": source.address,
        "publisher": source.shown_publisher,
        "publisher_kind": "" if kind in ("own", "other") else kind,
        "date": source.date,
        "date_kind": source.date_words if source.kind == "web" else "",
        "period": source.period,
        "superseded_by": source.superseded_by,
        "is_draft": source.is_draft,
        "in_force_from": source.in_force_from,
        "is_retracted": source.is_retracted,
        "has_concern": source.has_concern,
        "score": max(hit.score for hit in hits),
        "characters": 0 if is_whole else hits[0].characters or len(text),
        "read_on": 0 if is_whole else hits[0].read_on,
        "is_whole": is_whole,
        "text": JOINT.join(excerpts),
        "links": links,
    }
    for name in set(fields) - {"title", "text"}:
        if not fields[name]:
            del fields[name]
    return cast(Result, fields)


def _unseen(hit: Hit, shown: str) -> str:
    """Return the excerpt of a hit without what was shown before; `shown` is in the form of
    `_plain`."""
    words = _plain(hit.excerpt)
    if words and words in shown:
        return ""
    unseen: list[str] = []
    for sentence in _SENTENCE_ENDS.split(hit.excerpt):
        # A table is read as a whole.
        is_row = sentence.lstrip().startswith("|")
        if is_row or len(sentence) < _REPEATED or _plain(sentence) not in shown:
            unseen.append(sentence)
        elif unseen[-1:] != [_LEFT_OUT]:
            unseen.append(_LEFT_OUT)
    return "".join(unseen).strip()


def _plain(text: str) -> str:
    """Return the text with single spaces."""
    return " ".join(text.split())


def results_in(notes: Iterable[AnyMessage]) -> list[Result]:
    """Return all results in a researcher's notes with their texts."""
    results: list[Result] = []
    for note in notes:
        # Status messages may quote text invented by a model.
        if isinstance(note, ToolMessage) and not is_status_text(note.text):
            results += read_results(note.text)
    return results


def known_in(notes: Iterable[AnyMessage]) -> dict[int, Known]:
    """Return the texts of all results in a researcher's notes, by source number."""
    sources: dict[int, Known] = {}
    for result in results_in(notes):
        number = result["document"]
        about = f"{result['title']} {result.get('date', '')}"
        known = sources.get(number, Known((), about))
        texts = (*known.texts, SourceText("", result["text"]))
        sources[number] = known._replace(texts=texts)
    return sources


def read_results(text: str) -> list[Result]:
    """Return the results in the text of a tool result."""
    return _read(text)[0]


def shorten_results(
    text: str,
    characters: int,
    topic: str = "",
    leave_out: Collection[int] = (),
    whole: Mapping[int, str] = MappingProxyType({}),
) -> str:
    """Return the text of a tool result, with each result cut to passages on the topic of about
    `characters` in all.

    Documents whose numbers are in `leave_out` are dropped. `whole`: texts by document that take the
    place of those in this result.
    """
    results, problems = _read(text)
    if not results:
        return text
    # A fixed nonce makes the shortened text identical each time, so that providers can cache it.
    nonce = hashlib.sha256(text.encode()).hexdigest()[:8]
    kept = [result for result in results if result["document"] not in leave_out]
    for result in kept:
        result.pop("links", None)
        result["text"] = whole.get(result["document"], result["text"])
        if len(result["text"]) > characters:
            result["text"] = passages(result["text"], topic, "", characters, has_offsets=False)
            result.pop("is_whole", None)
    return _write(kept, problems, nonce)


def shrunk(notes: Sequence[AnyMessage], end: int, topic: str) -> list[AnyMessage]:
    """Return a researcher's notes with the results before index `end` shortened to passages
    relevant to its topic.

    If a source has several results, the longest becomes that of all their texts.
    """
    # The prompt of a researcher that reads all documents says that it sees them whole.
    kept = set[str | None]()
    for note in notes:
        if isinstance(note, AIMessage):
            for call in note.tool_calls:
                if call["name"] == tool_names.READ_DOCUMENTS:
                    kept.add(call["id"])
    # Characters of each document in each of the older notes.
    lengths: dict[int, dict[int, int]] = {}
    # Index of the note with the longest result, and all texts, by document.
    longest: dict[int, int] = {}
    texts = defaultdict[int, list[str]](list)
    for index, note in enumerate(notes[:end]):
        if not isinstance(note, ToolMessage) or note.tool_call_id in kept:
            continue
        lengths[index] = {}
        for result in results_in([note]):
            lengths[index][result["document"]] = len(result["text"])
            texts[result["document"]].append(result["text"])
        for number, length in lengths[index].items():
            if number not in longest or length > lengths[longest[number]][number]:
                longest[number] = index
    whole = {number: JOINT.join(parts) for number, parts in texts.items()}
    shorter = list(notes)
    for index, of_note in lengths.items():
        if of_note:
            leave_out = {number for number in of_note if longest[number] != index}
            text = shorten_results(notes[index].text, _SHRUNK, topic, leave_out, whole)
            shorter[index] = notes[index].model_copy(update={"content": text})
    return shorter


def _write(
    results: list[Result], problems: list[str], nonce: str = "", again: Sequence[int] = ()
) -> str:
    """Return the text of a tool result; `again`: numbers of sources without new text."""
    content: dict[str, Any] = {}
    if again:
        content["shown_before"] = again
    if again and not results:
        # Small models take an empty list to mean that nothing was found.
        numbers = ", ".join(map(str, again))
        content["found"] = f"Nothing new: what was found stands above, as document {numbers}."
    content["results"] = results
    content["problems"] = problems
    return fence(json.dumps(content, ensure_ascii=False), nonce)


def _read(text: str) -> tuple[list[Result], list[str]]:
    """Return the results and problems in the text of a tool result; both empty if it has none."""
    start = text.find("{")
    if start < 0:
        return [], []
    try:
        content = json.loads(text[start : text.rfind("}") + 1])
    except ValueError:
        return [], []
    return content.get("results", []), content.get("problems", [])


def shortener(topic: str) -> Callable[[str, float], str]:
    """Return the function that shortens a tool result if a prompt does not fit: to a share of its
    longest text."""

    def shorten(text: str, share: float) -> str:
        lengths = [len(result["text"]) for result in read_results(text)]
        longest = max(lengths, default=0)
        return shorten_results(text, max(_LEAST_SHOWN, int(share * longest)), topic)

    return shorten


def passages(
    text: str,
    wanted: str,
    excerpt: str,
    characters: int,
    questions: Sequence[str] = (),
    *,
    has_offsets: bool = True,
) -> str:
    """Return about `characters` of `text`: its beginning, the search `excerpt`, passages on the
    topic `wanted`, others; with `questions`, those like each of these instead, and no others.

    Each passage after a cut starts with its offset, `[… 12000]`, or with `[…]` if not
    `has_offsets`.
    """
    if len(text) <= characters:
        return text
    windows = windows_of(text)
    count = len(windows.windows)
    with_excerpt: list[int] = []
    if excerpt:
        start, length = _find(text, excerpt)
        end = start + length
        for number, span in enumerate(windows.windows):
            if span.start < end and start < span.end:
                with_excerpt.append(number)
    if questions:
        best = _best_for_each(questions, windows)
    else:
        best = [*windows.best(f"{wanted} {excerpt}", count), *range(count)]
    chosen = set[int]()
    room = characters
    for number in (*range(count)[:1], *with_excerpt, *best):
        span = windows.windows[number]
        needed = span.end - span.start + len(span.head)
        if number not in chosen and needed <= room:
            chosen.add(number)
            room -= needed
    if not chosen:
        return window(text, excerpt, characters)
    parts: list[str] = []
    for start, words in windows.joined(chosen):
        if not start:
            parts.append(words)
        elif has_offsets:
            parts.append(f"[… {start}] {words}")
        else:
            parts.append(f"{CUT} {words}")
    if count - 1 not in chosen:
        parts.append(CUT)
    return "\n".join(parts)


def _best_for_each(questions: Iterable[str], windows: Windows) -> list[int]:
    """Return the indexes of the windows most like each of some questions, the best of each
    first."""
    each = [windows.best(question, _FOR_QUESTION, _LEAST_LIKE) for question in questions]
    best = list[int]()
    for rank in range(_FOR_QUESTION):
        for numbers in each:
            best += numbers[rank : rank + 1]
    return best


def excerpts_in(text: str) -> list[str]:
    """Return what stands between the cuts of a result's text."""
    return list(filter(None, _CUTS.split(text)))


def read_on(text: str, start: int, characters: int) -> str:
    """Return at most this many characters of `text` from offset `start` on; cuts are marked."""
    part = text[start : start + characters]
    if start:
        part = f"[… {start}] {part}"
    if start + characters < len(text):
        part = f"{part} {CUT}"
    return part


def window(text: str, excerpt: str, characters: int) -> str:
    """Return at most this many characters of `text` around `excerpt`, or from its head; cuts are
    marked."""
    if len(text) <= characters:
        return text
    offset, length = _find(text, excerpt)
    room = characters - 2 * _MARK
    middle = offset + length // 2
    start = max(0, min(middle - room // 2, len(text) - room))
    part = text[start : start + room]
    if start:
        part = f"{CUT} {part}"
    if start + room < len(text):
        part = f"{part} {CUT}"
    return part


def _find(text: str, excerpt: str) -> tuple[int, int]:
    """Return offset and length of the excerpt in the text, (0, 0) if not found; engines mark
    omissions with dots."""
    stretches = [stretch.split() for stretch in _OMISSION.split(excerpt)]
    stretches.sort(key=len, reverse=True)
    plain = ""
    # Engines change spaces and cut ends, so only words are compared (the first ones of long
    # stretches). Few stretches and no regular expression: both texts are untrusted and could be
    # crafted to take forever.
    for count in (len(excerpt), 12, 6):
        for words in stretches[:_MOST_STRETCHES]:
            if not words:
                continue
            wanted = " ".join(words[:count])
            start = text.find(wanted)
            if start >= 0:
                return start, len(wanted)
            plain = plain or _plain(text)
            offset = plain.find(wanted)
            if offset >= 0:
                start = _offset_in(text, plain, offset)
                last = _offset_in(text, plain, offset + len(wanted) - 1)
                return start, last + 1 - start
    return 0, 0


def _offset_in(text: str, plain: str, offset: int) -> int:
    """Return the offset in `text` of the character at `offset` in `plain`, the text with single
    spaces."""
    word = next(islice(_WORD.finditer(text), plain.count(" ", 0, offset), None))
    return word.start() + offset - plain.rfind(" ", 0, offset) - 1
