"""A report as one HTML page that needs nothing from outside and lets nothing act; laid out for paper, as PDF."""

from __future__ import annotations

import base64
import hashlib
from collections import Counter
from collections.abc import Sequence
from functools import cache
from importlib import resources
from typing import NamedTuple

import lxml.html
from jinja2 import Environment, PackageLoader, StrictUndefined
from markupsafe import Markup

from ...evidence.citations.document import said_above
from ...evidence.citations.labels import is_right_to_left, labels
from ...evidence.citations.rendering import link_to, shown_title, source_place
from ...run.errors import ExtraMissing
from .body import report_body
from .finished import Finished, Quote, figures_of, quotes_of, readable

WIDTH = 400
"""Width of the picture in its own units; it grows and shrinks with the page."""
ROW = 30
"""Height of a row in the same units."""
MOST_BARS = 20
"""Bars at most: the sources that are cited most."""
_LONGEST = 360
_TITLE_CHARACTERS = 56
_PAINTS = {"supported": ("#1d6b45", "none"), "unchecked": ("url(#hatched)", "none"), "unsupported": ("none", "#a01b14")}
"""Fill and stroke by verdict, for what does not read the page's style in a picture: each can be told without colour."""


class Segment(NamedTuple):
    """The passages of one verdict in a bar."""

    verdict: str
    passages: int
    start: float
    width: float
    fill: str
    stroke: str


class Bar(NamedTuple):
    """The passages of one source."""

    number: int
    title: str
    total: int
    top: int
    segments: Sequence[Segment]


def bars_of(quotes: Sequence[Quote]) -> list[Bar]:
    """The bars in the order of the sources' numbers, the longest as wide as there is room; empty without passages."""
    cited = [quote for quote in quotes if quote.number]
    totals = Counter(quote.number for quote in cited)
    shown = sorted(number for number, _ in totals.most_common(MOST_BARS))
    titles = {quote.number: quote.title for quote in cited}
    unit = _LONGEST / max(totals.values(), default=1)
    counts = Counter[tuple[int, str]]((quote.number, quote.verdict) for quote in cited)
    return [
        Bar(
            number,
            _short(titles[number]),
            totals[number],
            place * ROW,
            _segments([counts[number, verdict] for verdict in _PAINTS], unit),
        )
        for place, number in enumerate(shown)
    ]


def _segments(counts: Sequence[int], unit: float) -> list[Segment]:
    segments, start = list[Segment](), 0.0
    for (verdict, paint), count in zip(_PAINTS.items(), counts, strict=True):
        if count:
            segments.append(Segment(verdict, count, round(start, 2), round(count * unit, 2), *paint))
        start += count * unit
    return segments


def _short(title: str) -> str:
    return title if len(title) <= _TITLE_CHARACTERS else title[: _TITLE_CHARACTERS - 1].rstrip() + "…"


_DEEPEST = 3
"""Level of the report's headings down to which the contents list them."""


def report_page(finished: Finished, *, is_on_paper: bool = False) -> str:
    """The page; `is_on_paper`: for a printer, with links in place of what would open."""
    words, style = labels(finished.language_code), _style()
    quotes = quotes_of(finished)
    body = report_body(finished, quotes, is_on_paper=is_on_paper)
    audit = finished.report.audit
    numbers = {key: number for number, key in enumerate(finished.report.sources, 1)}
    return (
        _environment()
        .get_template("page.html")
        .render(
            finished=finished,
            words=words,
            direction="rtl" if is_right_to_left(finished.language_code) else "ltr",
            is_on_paper=is_on_paper,
            policy=f"default-src 'none'; style-src '{_hash(style)}'; base-uri 'none'; form-action 'none'",
            style=Markup(style),  # noqa: S704 - our own file
            body=Markup(lxml.html.tostring(body.tree, encoding="unicode")),  # noqa: S704 - made of allowed elements
            headings=[heading for heading in body.headings if heading.level <= _DEEPEST],
            said_above=said_above(finished.report, words, was_researched=finished.was_researched),
            quotes=quotes,
            verdicts={claim.verdict for claim in finished.report.claims},
            judges=sorted({quote.judge for quote in quotes if quote.judge}),
            bars=bars_of(quotes),
            row=ROW,
            width=WIDTH,
            audit=audit,
            figures=figures_of(audit, words) if audit else [],
            reprints=[[numbers[key] for key in group if key in numbers] for group in audit.reprints] if audit else [],
            link_to=link_to,
            shown_title=shown_title,
            place_of=source_place,
        )
    )


def _hash(text: str) -> str:
    return f"sha256-{base64.b64encode(hashlib.sha256(text.encode()).digest()).decode()}"


@cache
def _style() -> str:
    return resources.files("deep_research.app.exports").joinpath("templates", "page.css").read_text("utf-8")


@cache
def _environment() -> Environment:
    return Environment(
        loader=PackageLoader("deep_research.app.exports", "templates"),
        undefined=StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
        auto_reload=False,
        autoescape=True,
        finalize=_readable,
    )


def _readable(value: object) -> object:
    return readable(value) if isinstance(value, str) and not isinstance(value, Markup) else value


def check_pdf() -> None:
    """Raise `ExtraMissing` without WeasyPrint or its library."""
    try:
        import weasyprint  # noqa: F401
        from weasyprint.urls import URLFetcher  # noqa: F401
    except ImportError:
        raise ExtraMissing('--format pdf needs WeasyPrint: pip install "deep-research[pdf]"') from None
    except OSError:
        raise ExtraMissing(
            "--format pdf needs the library Pango 1.44 or newer (Debian, Ubuntu: apt install libpango-1.0-0 "
            "libpangoft2-1.0-0 libharfbuzz-subset0; macOS: brew install pango); --format html can be printed from any "
            "browser."
        ) from None


def report_pdf(finished: Finished) -> bytes:
    """The PDF, tagged for screen readers; raises `ExtraMissing` as `check_pdf` does."""
    check_pdf()
    import weasyprint
    from weasyprint.urls import URLFetcher

    # The page needs nothing from outside, and so nothing may be asked for.
    nothing = URLFetcher(allowed_protocols=())
    page = weasyprint.HTML(string=report_page(finished, is_on_paper=True), url_fetcher=nothing)
    data: bytes = page.write_pdf(pdf_tags=True)
    return data
