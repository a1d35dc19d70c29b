"""A loopback web in the place of the sources that a report from elsewhere cites."""

from __future__ import annotations

from itertools import cycle
from pathlib import Path

from judging_model import figure_judge
from web import Web

from deep_research import Context
from deep_research.core.evidence.checking.units import units_of
from deep_research.core.evidence.citations.foreign import read_foreign

UNREAD_EACH = 4
"""Of so many sources, the last cannot be read."""
REFUSALS = (404, 403, 500)
REST = "<p>What else is on this page is about the sea, the wind and the birds, which nobody has counted so far.</p>" * 5


def publish_sources(report: str, web: Web) -> tuple[str, set[int]]:
    """The report with its sources on this web, and the numbers of those that cannot be read.

    A source says what the report says of it; in each fourth, years of one century are those of another.
    """
    foreign = read_foreign(report)
    units = units_of(foreign.text, {number: str(number) for number in foreign.targets})
    unread, refusals = set[int](), cycle(REFUSALS)
    # An address may be the beginning of another one.
    for number, target in sorted(foreign.targets.items(), key=lambda pair: -len(pair[1].address)):
        path = f"/{number}/page"
        if number % UNREAD_EACH == 0:
            unread.add(number)
            web.publish(path, "Nothing is here.", next(refusals))
        else:
            said = [unit.text for unit in units if str(number) in unit.sources] or ["Of this, nothing is known."]
            paragraphs = "".join(f"<p>{text}</p>" for text in said)
            paragraphs = paragraphs.replace("19", "18") if number % UNREAD_EACH == 1 else paragraphs
            page = f"<html><body><h1>Page {number}</h1>{paragraphs}{REST}</body></html>"
            web.publish(path, page, content_type="text/html; charset=utf-8")
        report = report.replace(target.address, web.url(path))
    return report, unread


def judging(web: Web, folder: Path) -> Context:
    """Settings under which a scripted judge compares figures, and this web alone is read."""
    return Context.model_validate(
        {
            "models": {"verifier": figure_judge(), "writer": "extractive"},
            "verify": "check",
            "allow_private": (web.place,),
            "open_copies": False,
            "data_dir": folder,
        }
    )
