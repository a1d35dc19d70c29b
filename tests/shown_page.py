"""An exported page, parsed, and the words that stand in it."""

from __future__ import annotations

import lxml.html

from deep_research.app.exports.finished import Finished
from deep_research.app.exports.page import report_page


def tree(report: Finished, *, is_on_paper: bool = False) -> lxml.html.HtmlElement:
    return lxml.html.document_fromstring(report_page(report, is_on_paper=is_on_paper))


def words(element: lxml.html.HtmlElement) -> str:
    return " ".join(element.text_content().split())


def at(page: lxml.html.HtmlElement, path: str) -> list[str]:
    """The words of all elements of a path."""
    return [words(found) for found in page.xpath(path)]
