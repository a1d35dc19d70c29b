"""Renders a report as PDF, and as a self-contained HTML page without scripts."""

from __future__ import annotations

import base64
import hashlib
from functools import cache
from importlib import resources

import lxml.html
from jinja2 import Environment, PackageLoader, StrictUndefined, Template
from markupsafe import Markup

from ...core.errors import ExtraMissing, how_to_install
from ...core.evidence.citations.labels import Labels, is_right_to_left, labels
from ...core.evidence.citations.markers import scan
from ...core.evidence.citations.rendering import (
    link_to,
    warning_above,
)
from ...core.records.report import UnitVerdict
from ...core.records.research import Calculation
from ..words import EvidenceShown
from ._body import report_body
from .finished import Finished, audit_figures, plain_words, quotes_of, readable, trust_figures

_DEEPEST = 3
"""Deepest heading level in the table of contents."""
_MOST_REMARKS = 15
"""Maximum statements per verdict in the short form of the evidence."""


def report_page(
    finished: Finished,
    evidence: EvidenceShown = "full",
    *,
    is_on_paper: bool = False,
    picture: str = "svg",
) -> str:
    """Return the report as an HTML page; `is_on_paper` replaces popovers with links."""
    words = labels(finished.language_code)
    quotes = quotes_of(finished) if evidence == "full" else []
    tree, headings = report_body(finished, quotes, is_on_paper=is_on_paper, picture=picture)
    audit = finished.report.audit
    figures = dict[str, str]()
    if audit and evidence != "none":
        figures = audit_figures(audit, words, has_costs=evidence == "full")
    remarks = _remarks(finished, words, evidence)
    verdicts = set[str]()
    judges = set[str]()
    for claim in finished.report.claims:
        verdicts.add(claim.verdict)
        for passage in claim.passages:
            if passage.judge:
                judges.add(passage.judge)
    numbers = {source.key: source.number for source in finished.cited}
    reprints = list[list[int]]()
    for group in audit.reprints if audit else ():
        reprints.append([numbers[key] for key in group if key in numbers])
    folder = resources.files("deep_research.app.exports")
    style = folder.joinpath("templates", "page.css").read_text("utf-8")
    digest = base64.b64encode(hashlib.sha256(style.encode()).digest()).decode()
    body = lxml.html.tostring(tree, encoding="unicode")
    return _template().render(
        title=finished.title,
        language=finished.language_code,
        direction="rtl" if is_right_to_left(finished.language_code) else "ltr",
        policy=(
            f"default-src 'none'; style-src 'sha256-{digest}'; img-src data:; base-uri 'none'; "
            "form-action 'none'"
        ),
        style=Markup(style),  # noqa: S704 - our own file
        finished=finished,
        words=words,
        is_on_paper=is_on_paper,
        body=Markup(body),  # noqa: S704 - made of allowed elements
        headings=[heading for heading in headings if heading.level <= _DEEPEST],
        warning_above=warning_above(
            finished.report,
            words,
            was_researched=finished.was_researched,
            left_out=finished.left_out,
        ),
        quotes=quotes,
        verdicts=verdicts,
        judges=sorted(judges),
        audit=audit,
        figures=figures,
        trust=trust_figures(finished, words) if evidence != "none" else [],
        remarks=remarks,
        calculations=finished.report.calculations_of_judge if evidence != "none" else {},
        formula_parts=_formula_parts,
        most_remarks=_MOST_REMARKS,
        numbers=numbers,
        plain_words=plain_words,
        reprints=reprints,
        link_to=link_to,
    )


def _formula_parts(calculation: Calculation) -> list[str | int]:
    """Return the line of a calculation as texts, and the numbers of the calculations between
    them."""
    parts = list[str | int]()
    for part in scan(calculation.line.replace("*", "×")):
        if isinstance(part, str):
            parts.append(part)
        else:
            parts += part.calculations
    return parts


def _remarks(
    finished: Finished, words: Labels, evidence: EvidenceShown
) -> dict[str, list[UnitVerdict]]:
    """Return the statements to list by heading: those corrected, and in the short form of the
    evidence also those that the table of evidence would show."""
    if evidence == "none":
        return {}
    report = finished.report
    corrected = [verdict for verdict in report.verdicts if verdict.shown == "corrected"]
    if evidence == "full":
        return {words.corrected: corrected}
    marked = [verdict for verdict in report.verdicts if verdict.shown == "marked"]
    was_judged = report.audit is not None and report.audit.was_judged
    unverified = [verdict for verdict in report.verdicts if verdict.shown == "not_verified"]
    return {
        words.corrected: corrected,
        words.marked: marked,
        words.left_open if was_judged else words.unjudged: unverified,
    }


@cache
def _template() -> Template:
    environment = Environment(
        loader=PackageLoader("deep_research.app.exports", "templates"),
        undefined=StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
        auto_reload=False,
        autoescape=True,
        finalize=_shown,
    )
    return environment.get_template("page.html")


def _shown(value: object) -> object:
    """Return a value as the template shows it: text without unreadable characters."""
    if isinstance(value, str) and not isinstance(value, Markup):
        return readable(value)
    return value


def check_pdf() -> None:
    """Raise `ExtraMissing` if WeasyPrint or its library Pango is missing."""
    try:
        import weasyprint  # noqa: F401
        from weasyprint.urls import URLFetcher  # noqa: F401
    except ImportError:
        raise ExtraMissing(f"--format pdf needs WeasyPrint: {how_to_install('pdf')}.") from None
    except OSError:
        raise ExtraMissing(
            "--format pdf needs the library Pango 1.44 or newer (Debian, Ubuntu: apt install "
            "libpango-1.0-0 libpangoft2-1.0-0 libharfbuzz-subset0; macOS: brew install pango); "
            "--format html can be printed from any browser."
        ) from None


def report_pdf(finished: Finished, evidence: EvidenceShown = "short") -> bytes:
    """Return the report as a PDF tagged for screen readers; raises `ExtraMissing` as `check_pdf`
    does."""
    check_pdf()
    import weasyprint
    from weasyprint.urls import URLFetcher

    # The page loads nothing but its own charts.
    only_data = URLFetcher(allowed_protocols=("data",))
    # WeasyPrint 70 breaks a line far too early at a no-break space before a link.
    html = report_page(finished, evidence, is_on_paper=True).replace("\u00a0<a", " \u2060<a")
    page = weasyprint.HTML(string=html, url_fetcher=only_data)
    data: bytes = page.write_pdf(pdf_tags=True)
    return data
