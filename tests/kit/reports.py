"""Finished reports and their exports, and what is read from them."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Any, NamedTuple

import lxml.html

from deep_research.app.exports._page import report_page
from deep_research.app.exports.finished import Finished
from deep_research.app.runs import StoredRun
from deep_research.core.dialogue.conversation import marked
from deep_research.core.evidence.citations.citing import CitationStream, CitedPiece
from deep_research.core.records.report import (
    Audit,
    CitedPassage,
    ClaimCheck,
    ClaimVerdict,
    Report,
    SupportVerdict,
    UnitVerdict,
)
from deep_research.core.records.research import Run
from deep_research.core.records.sources import Dispute, NotRead, Source
from deep_research.state import ResearchState
from kit.models import call, calls
from kit.runs import REPORT as END
from kit.runs import search

TEXT = """# The Skerry Light

The Skerry Light was lit in 1844. [1] It stands **38 metres** tall, on granite. [1, 2]

## Keepers

Some 4,000 ships passed in 1905.

- It was electrified in 1937. [3]
- Tours are given twice a week.

| Light | Height |
|---|---:|
| Skerry | 38 m [1] |
"""
QUESTION = "When was the Skerry Light lit?"


def source_at(location: str, title: str = "A light", /, **fields: Any) -> Source:
    """A source whose key and address are its location; a web page, unless the fields say otherwise."""
    given = {
        "key": location,
        "title": title,
        "location": location,
        "address": location,
        "kind": "web",
    }
    return Source.model_validate({**given, **fields})


def _source(number: int, title: str, key: str, location: str = "", **fields: Any) -> Source:
    given: dict[str, Any] = {
        "kind": "web",
        "location": location or key,
        "address": location or key,
        **fields,
    }
    return Source(
        key=key, title=title, number=number, read_at=f"2026-03-04T05:06:0{number + 6}", **given
    )


COAST = "https://www.coast.example/a?b=1&c=2"
KEEPER = {"kind": "document", "address": "docs:the keeper.md", "content_hash": "2b"}
SOURCES = (
    _source(
        1,
        "Skerry Light – Register",
        "https://lights.example/skerry",
        date="2021-05-04",
        date_kind="publication",
        publisher="Board of *Lights*",
        content_hash="1a",
    ),
    _source(2, "The keeper & her 100% {granite}", "file:///docs/the%20keeper.md", **KEEPER),
    _source(
        3, "Lighthouses of the coast", COAST, f"{COAST}#power", date="2019-11", content_hash="3c"
    ),
)
QUOTE = "First lit on 1 March 1844, it has been in use ever since, with the one break of 1917."
AUDIT = Audit(
    checked=7,
    supported=2,
    corrected=1,
    marked=1,
    not_verified=1,
    reasoning=2,
    judge_grade="reasoning",
    removed_markers=1,
    corrected_markers=2,
    sources_read=5,
    sources_cited=3,
    independent_sources=2,
    reprints=((SOURCES[0].key, COAST),),
    disagreements=(Dispute.between(("Lit in 1844.", "Lit in 1846."), (SOURCES[0], SOURCES[2])),),
    open_gaps=("Who designed it?",),
    not_read=(
        NotRead(
            path="https://closed.example/",
            reason="the server asks for a password",
            code="forbidden",
        ),
    ),
    model_calls=12,
    input_tokens=12345,
    output_tokens=678,
    usd=0.42,
    seconds=75.4,
)


def passage(number: int, verdict: SupportVerdict, quote: str, **fields: Any) -> CitedPassage:
    key = SOURCES[number - 1].key
    return CitedPassage(
        source=key,
        verdict=verdict,
        quote=quote,
        start=0,
        end=len(quote),
        content_hash="1a",
        **fields,
    )


def claim_on(
    words: str, verdict: ClaimVerdict, *passages: CitedPassage, text: str = TEXT, **fields: Any
) -> ClaimCheck:
    start = text.index(words)
    return ClaimCheck(
        start=start, end=start + len(words), verdict=verdict, passages=passages, **fields
    )


CLAIMS = (
    claim_on("The Skerry Light was lit in 1844. [1]", "supported", passage(1, "supported", QUOTE)),
    claim_on(
        "It stands **38 metres** tall, on granite. [1, 2]",
        "unchecked",
        passage(1, "supported", "Height: 38 metres."),
        passage(2, "unchecked", "The tower is granite.", reasons=("no word of '38'",)),
        repair="rewritten",
    ),
    claim_on("Some 4,000 ships passed in 1905.", "uncited"),
    claim_on(
        "- It was electrified in 1937. [3]",
        "unsupported",
        passage(3, "unsupported", "", judge="openai:judge-1"),
        is_marked=True,
    ),
    claim_on("| Skerry | 38 m [1] |", "supported", passage(1, "supported", "Height: 38 metres.")),
)
VERDICTS = (
    UnitVerdict(
        text="The Skerry Light was lit in 1844.",
        shown="supported",
        words=QUOTE,
        source=SOURCES[0].key,
    ),
    UnitVerdict(
        text="Skerry, Height: 38 m",
        shown="supported",
        words="Height: 38 metres.",
        source=SOURCES[0].key,
    ),
    UnitVerdict(
        text="It is 48 metres tall.",
        shown="corrected",
        after="It stands 38 metres tall, on granite.",
        reason="the source says: Height: 38 metres.",
    ),
    UnitVerdict(
        text="It was electrified in 1937.",
        shown="marked",
        words="## Power\n\n| Light | **Electric** |\n|---|---|\n| `Skerry` | 1973 |",
        source=SOURCES[2].key,
    ),
    UnitVerdict(text="Some 4,000 ships passed in 1905.", shown="not_verified"),
    UnitVerdict(text="The Skerry Light", shown="reasoning"),
    UnitVerdict(text="Keepers", shown="reasoning"),
)
REPORT = Report(
    text=TEXT,
    sources=tuple(each.key for each in SOURCES),
    numbers=tuple(range(1, len(SOURCES) + 1)),
    claims=CLAIMS,
    verdicts=VERDICTS,
    audit=AUDIT,
)
UNCHECKED = REPORT.model_copy(update={"claims": (), "verdicts": (), "audit": None})


def finished(**fields: Any) -> Finished:
    """A finished report; `fields` are put in place of its own."""
    usual: dict[str, Any] = {
        **{"title": QUESTION, "question": QUESTION, "date": "4 March 2026", "language_code": "en"},
        **{"report": REPORT, "cited": SOURCES, "was_researched": True},
        "notes": ["Research ended early: max_seconds."],
        "contradictions": [
            Dispute.between(("Lit in 1844.", "Lit in 1846."), (SOURCES[0], SOURCES[2]))
        ],
        "sources": {source.key: source for source in SOURCES},
    }
    return Finished(**{**usual, **fields})


def standing(report: Report | None = REPORT, known: Sequence[Source] = SOURCES) -> StoredRun:
    """How the run of this report stands, which knows these sources."""
    run = Run(
        id="q",
        question=QUESTION,
        date="4 March 2026",
        language="English",
        is_resumable=True,
        version="1",
    )
    state = ResearchState(
        messages=[marked(TEXT, "report")],
        run=run.model_copy(update={"stop_reason": "max_seconds"}),
        report=report,
        sources={source.key: source for source in known},
    )
    return StoredRun(
        "0", "light", "orchestrated", state, {}, is_unfinished=False, changed="", failure=""
    )


def written(text: str, **fields: Any) -> Finished:
    """A report of this text, of which nothing was checked, on the same sources."""
    return finished(
        report=Report(text=text, sources=REPORT.sources, numbers=REPORT.numbers), **fields
    )


HARM = (
    "<script>alert(1)</script>",
    "<img src=x onerror=alert(1)>",
    '"><svg onload=alert(1)>',
    "</style><script>alert(1)</script>",
    "</title></script><iframe src=https://evil.example/>",
    "]]><object data=https://evil.example/>",
    "[x](javascript:alert(1)) [y](//evil.example/) ![z](https://evil.example/z.png)",
    "<https://evil.example/?q=secret> https://evil.example/?q=secret",
    "[lights.example](https://evil.example/) [a](data:text/html,<script>alert(1)</script>)",
    "\u202egnp.exe\u202c \u2066x\u2069 \x1b[31m \x00 \x7f \ufffe \ud800 &#x202e; &lt;b onclick=alert(1)&gt;",
    "{{ 7*7 }} {% raw %} ${7*7} {#",
    "⁅b0⁆ ⁅c99⁆ ⁅e7⁆ ⁅",
    "W" * 10_000,
    "| a | b |\n|---|---|\n| <b onclick=alert(1)> | `</code><script>alert(1)</script>` |",
    "<style>body{display:none}</style><base href=https://evil.example/><meta http-equiv=refresh content=0>",
)
"""Texts that mean harm, whatever field they come in."""


def harmful(words: str) -> Finished:
    """A report that has these words in every field that somebody else fills in."""
    text = f"# {words}\n\n{words} [1]\n\n- {words} [2]\n\n> {words} [3]"
    start, end = text.rindex("- "), text.rindex("\n\n>")
    sources = [
        source.model_copy(
            update={"title": words, "date": words, "read_at": words, "address": words}
        )
        for source in (*SOURCES[:2], SOURCES[2].model_copy(update={"location": words}))
    ]
    reasons = passage(2, "unchecked", words, judge=words).model_copy(update={"reasons": (words,)})
    checked = ClaimCheck(start=start, end=end, verdict="unchecked", passages=(reasons,))
    missed = NotRead(path=words, reason=words, code="x")
    audit = AUDIT.model_copy(update={"open_gaps": (words,), "not_read": (missed,)})
    return finished(
        **{"title": words, "question": words, "date": words, "notes": [words], "cited": sources},
        report=Report(
            text=text,
            sources=REPORT.sources,
            numbers=REPORT.numbers,
            claims=(checked,),
            audit=audit,
        ),
        contradictions=[Dispute.between((words, words), (sources[0], sources[2]))],
        sources={source.key: source for source in sources},
    )


TWO_SOURCES = "It was lit in 1844. [1] Ada Moran kept it. [2]"
BOTH = [search("Skerry Light", "Ada Moran"), END, TWO_SOURCES]


def rewritten(*texts: str) -> Any:
    """The writer hands in these sentences, in the order in which it was shown the faulty ones."""
    return calls(
        call(
            "rewrite_sentences",
            sentences=[{"number": n, "text": text} for n, text in enumerate(texts, 1)],
        )
    )


def claim(state: ResearchState, index: int = 0) -> ClaimCheck:
    """One of the claims of the report, in order."""
    assert state.report
    return state.report.claims[index]


def audited(state: ResearchState) -> Audit:
    """The account of the report."""
    assert state.report and state.report.audit
    return state.report.audit


class Streamed(NamedTuple):
    """A whole text as a stream gives it."""

    text: str
    """The text with bare markers `[n]`."""
    cited: Mapping[int, str]
    """Keys of the cited sources by their numbers."""
    dropped: int
    """Numbers that named no source and were removed."""


def bare_text(pieces: Iterable[CitedPiece]) -> str:
    """Join pieces to text with bare markers `[n]`."""
    return "".join(piece if isinstance(piece, str) else f"[{piece.number}]" for piece in pieces)


def streamed(text: str, numbers: Mapping[int, str]) -> Streamed:
    """Take a whole text through a stream."""
    stream = CitationStream(numbers)
    return Streamed(bare_text(stream.feed(text) + stream.finish()), stream.cited, stream.dropped)


TEXT_TAGS = {
    "p",
    "br",
    "hr",
    "h1",
    "h2",
    "h3",
    "h4",
    "h5",
    "h6",
    "blockquote",
    "pre",
    "code",
    "em",
    "strong",
    "s",
}
BLOCKS = {"ul", "ol", "li", "table", "thead", "tbody", "tr", "th", "td"}
LAYOUT = {
    "html",
    "head",
    "meta",
    "style",
    "body",
    "header",
    "nav",
    "main",
    "article",
    "section",
    "aside",
    "title",
}
PARTS = {"a", "div", "span", "bdi", "button", "dl", "dt", "dd"}
CHARTS = {"figure", "figcaption", "picture", "source", "img"}
FORMULAS = {"math", "mrow", "mi", "mn", "mo", "mtext", "mfrac", "msup", "msub", "mspace"}
TAGS = TEXT_TAGS | BLOCKS | LAYOUT | PARTS | CHARTS | FORMULAS
OURS = {
    *(
        "aria-label",
        "aria-labelledby",
        "class",
        "data-claim",
        "dir",
        "id",
        "lang",
        "role",
        "scope",
        "tabindex",
        "type",
    ),
    *(
        "autofocus",
        "popover",
        "popovertarget",
        "popovertargetaction",
        "charset",
        "content",
        "http-equiv",
        "name",
    ),
}
OF_FORMULAS = {"accent", "alttext", "display", "mathvariant", "stretchy", "width"}
ATTRIBUTES = (
    OURS | OF_FORMULAS | {"alt", "href", "media", "rel", "src", "srcset", "start", "target"}
)


def faults(page: str) -> Iterator[str]:
    """What of the page is not among what it may have."""
    for element in lxml.html.document_fromstring(page).iter():
        if not isinstance(element.tag, str):
            yield f"a comment or an instruction: {element!r}"
            continue
        if element.tag not in TAGS:
            yield f"<{element.tag}>"
        yield from (f"<{element.tag} {name}>" for name in element.keys() if name not in ATTRIBUTES)  # noqa: SIM118
        for name in ("src", "srcset"):
            if not element.get(name, "data:image/").startswith("data:image/"):
                yield f"loads {element.get(name)}"
        target = element.get("href", "#")
        if not target.startswith(
            ("#", "https://lights.example/", "https://www.coast.example/", "file:///docs/")
        ):
            yield f"leads to {target}"


def tree(report: Finished, *, is_on_paper: bool = False) -> lxml.html.HtmlElement:
    return lxml.html.document_fromstring(report_page(report, is_on_paper=is_on_paper))


def words(element: lxml.html.HtmlElement) -> str:
    return " ".join(element.text_content().split())


def at(page: lxml.html.HtmlElement, path: str) -> list[str]:
    """The words of all elements of a path."""
    return [words(found) for found in page.xpath(path)]
