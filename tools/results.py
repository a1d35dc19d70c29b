"""How a model reads what a tool brought: JSON inside a data fence, one number a source."""

from __future__ import annotations

import hashlib
import json
import re
from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from typing import Any, NotRequired, TypedDict, cast

from langchain_core.messages import AIMessage, AnyMessage, ToolCall, ToolMessage

from ..core.evidence.text.similarity import grouped
from ..core.run import tool_names
from ..core.run.limits import Limits
from ..core.run.transcripts import is_status_text
from ..prompts import fence
from .tool import Hit, Outcome
from .window import passages

LEAST_SHOWN = 200
"""Characters of a result that are shown at least."""
SHRUNK = 600
"""Characters that are left of each result when older ones shrink."""
REPEATED = 40
"""Characters from which on a sentence that was shown is not shown again."""
_SENTENCE_ENDS = re.compile(r"(?<=[.!?…])(?=\s)|(?<=\n)")
JOINT = "\n[…]\n"
"""What stands between two passages of a source."""


class ResultLink(TypedDict):
    """A link in a result, as a model reads it."""

    words: NotRequired[str]
    address: str


class Result(TypedDict):
    """One result as a model reads it; what is not known is left out."""

    document: int
    title: str
    address: str
    date: NotRequired[str]
    period: NotRequired[str]
    """What it reports on; its figures are of that time."""
    superseded_by: NotRequired[str]
    """What took its place, in its own words."""
    is_draft: NotRequired[bool]
    """Whether it calls itself a draft."""
    in_force_from: NotRequired[str]
    """From when on it is in force, if that is still to come."""
    score: NotRequired[float]
    """How well it matches the query, from 0 to 1, as the search engine has it."""
    characters: NotRequired[int]
    """How long the text is, if only passages of it are shown; `open_url` reads on from a place."""
    is_whole: NotRequired[bool]
    """Whether the text is all that the source says, so that opening it would bring nothing more."""
    text: str
    links: NotRequired[list[ResultLink]]
    """Where the text leads; `open_url` takes these addresses."""


def write_results(
    outcome: Outcome, numbers: Mapping[str, int], earlier: Iterable[Result] = (), fence_name: str = ""
) -> str:
    """Return the results of a tool call for the model, one a source; `numbers` by source key.

    What `earlier` results have shown is not shown again; sources of which nothing is new are named by their numbers
    alone (`shown_before`). `fence_name`: see `fence`.
    """
    shown: dict[int, str] = {}
    for result in earlier:
        shown[result["document"]] = f"{shown.get(result['document'], '')}\n{_plain(result['text'])}"
    hits = grouped(outcome.hits, lambda hit: numbers[hit.source.key])
    results = [_result(of_one, numbers, shown.get(number, "")) for number, of_one in hits.items()]
    new = [result for result in results if result["text"] or result["document"] not in shown]
    again = [result["document"] for result in results if result not in new]
    return _write(new, list(outcome.problems), fence_name, again)


def shortened(hits: Iterable[Hit], topic: str, limits: Limits) -> tuple[Hit, ...]:
    """Return the hits with what bears on the topic of long texts that were retrieved, the first ones shown longest."""
    left, shown = limits.pages_characters, list[Hit]()
    for hit in hits:
        most = max(LEAST_SHOWN, min(limits.page_characters, left))
        if hit.text and len(hit.excerpt) > most:
            hit = hit._replace(excerpt=passages(hit.text, topic, "", most))
        left -= len(hit.excerpt) if hit.text else 0
        shown.append(hit)
    return tuple(shown)


def _result(hits: Sequence[Hit], numbers: Mapping[str, int], shown: str) -> Result:
    source, text = hits[0].source, hits[0].text
    new = _new(hits, shown)
    is_whole = bool(text) and any(hit.excerpt.strip() == text.strip() for hit in hits)
    # What tells whether a text is worth reading stands before it.
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
        "text": JOINT.join(new),
        "links": [_link(words, address) for hit in hits for words, address in hit.links],
    }
    return cast(Result, {name: value for name, value in fields.items() if value or name in ("title", "text")})


def _new(hits: Iterable[Hit], shown: str) -> list[str]:
    """Return the excerpts of a source that were not shown; search engines repeat sentences of pages."""
    new: list[str] = []
    for hit in hits:
        words = _plain(hit.excerpt)
        if words and words in shown:
            continue
        pieces = _SENTENCE_ENDS.split(hit.excerpt) if not hit.text else [hit.excerpt]
        unseen = [one for one in pieces if len(one) < REPEATED or _plain(one) not in shown]
        new.append("".join(unseen).strip())
        shown = f"{shown}\n{words}"
    return list(filter(None, new))


def _plain(text: str) -> str:
    return " ".join(text.split())


def _link(words: str, address: str) -> ResultLink:
    return ResultLink(words=words, address=address) if words else ResultLink(address=address)


def results_in(notes: Iterable[AnyMessage]) -> list[Result]:
    """Return all that a researcher's tools have brought, by its notes with their texts."""
    return [
        result
        for note in notes
        # Words of ours may quote what a model has made up.
        if isinstance(note, ToolMessage) and not is_status_text(note.text)
        for result in read_results(note.text)
    ]


def read_results(text: str) -> list[Result]:
    """Return the results in a tool result's text; none if it holds no results."""
    return _read(text)[0]


def shorten_results(text: str, characters: int, topic: str = "", leave_out: Collection[int] = ()) -> str:
    """Return the same results with at most about so many characters of each, those that bear most on the topic.

    Documents of the numbers in `leave_out` go.
    """
    results, problems = _read(text)
    if not results:
        return text
    # The same text is shortened alike each time, so that a provider knows again what it has read.
    nonce = hashlib.sha256(text.encode()).hexdigest()[:8]
    kept = [result for result in results if result["document"] not in leave_out]
    return _write([_shortened(result, characters, topic) for result in kept], problems, nonce)


def _shortened(result: Result, characters: int, topic: str) -> Result:
    short = Result(**result)
    short.pop("links", None)
    if len(result["text"]) > characters:
        short["text"] = passages(result["text"], topic, "", characters, has_places=False)
        short.pop("is_whole", None)
    return short


def shrunk(notes: Sequence[AnyMessage], end: int, topic: str) -> list[AnyMessage]:
    """Return a researcher's notes with their texts, the results before this place shortened to what bears on its topic.

    Of several results of one source the longest is kept.
    """
    kept = {call["id"] for note in notes if isinstance(note, AIMessage) for call in note.tool_calls if _is_kept(call)}
    older = {
        place: {one["document"]: len(one["text"]) for one in results_in([note])}
        for place, note in enumerate(notes[:end])
        if isinstance(note, ToolMessage) and note.tool_call_id not in kept
    }
    longest: dict[int, int] = {}
    for place, lengths in older.items():
        for number, length in lengths.items():
            if number not in longest or length > older[longest[number]][number]:
                longest[number] = place
    shorter = list(notes)
    for place, lengths in older.items():
        if lengths:
            leave_out = {number for number in lengths if longest[number] != place}
            text = shorten_results(notes[place].text, SHRUNK, topic, leave_out)
            shorter[place] = notes[place].model_copy(update={"content": text})
    return shorter


def _is_kept(call: ToolCall) -> bool:
    # The prompt of a researcher that reads all documents says that it sees them whole.
    return call["name"] == tool_names.READ_DOCUMENTS


def _write(results: list[Result], problems: list[str], nonce: str = "", again: Sequence[int] = ()) -> str:
    extra: dict[str, Any] = {"shown_before": again} if again else {}
    if again and not results:
        # Small models read an empty list as: there is nothing.
        extra["found"] = f"Nothing new: what was found stands above, as document {', '.join(map(str, again))}."
    result = {**extra, "results": results, "problems": problems}
    return fence(json.dumps(result, ensure_ascii=False), nonce)


def _read(text: str) -> tuple[list[Result], list[str]]:
    start, end = text.find("{"), text.rfind("}")
    try:
        data = json.loads(text[start : end + 1]) if start >= 0 else {}
    except ValueError:
        return [], []
    return data.get("results", []), data.get("problems", [])


def shortener(topic: str) -> Callable[[str, float], str]:
    """Return how results shrink when a prompt does not fit: to this share of what they show, of each its best."""

    def shorten(text: str, share: float) -> str:
        longest = max((len(result["text"]) for result in read_results(text)), default=0)
        return shorten_results(text, max(LEAST_SHOWN, int(share * longest)), topic)

    return shorten
