"""The pages that users read: their links, their anchors, and the scripts in them."""

from __future__ import annotations

import re
from collections.abc import Iterator
from pathlib import Path
from typing import NamedTuple

ROOT = Path(__file__).resolve().parents[2]
PAGES = tuple(
    page
    for pattern in ("*.md", "docs/**/*.md", "extras/**/*.md")
    for page in sorted(ROOT.glob(pattern))
)
_BLOCKS = re.compile(r"^```(\w*)\n(.*?)^```$", re.MULTILINE | re.DOTALL)
_LINKS = re.compile(r"\]\(([^()\s]+)\)")


class Script(NamedTuple):
    """A block of Python in a page."""

    page: str
    text: str


def scripts() -> list[Script]:
    """Return the blocks of Python of all pages."""
    return [
        Script(_name(page), text)
        for page in PAGES
        for kind, text in _blocks(page)
        if kind == "python"
    ]


def on_server() -> list[Script]:
    """Return the scripts that ask a server."""
    return [script for script in scripts() if "langgraph_sdk" in script.text]


def commands() -> Iterator[tuple[str, str]]:
    """Yield the lines of all shell blocks, each with its page."""
    for page in PAGES:
        for kind, text in _blocks(page):
            if kind == "sh":
                lines = text.replace("\\\n", "").splitlines()
                yield from ((_name(page), line) for line in lines)


def broken_links() -> list[str]:
    """Return the relative links that lead to no file, or to no heading of a page."""
    return [
        f"{_name(page)}: {link}"
        for page in PAGES
        for link in _links(page)
        if not _leads_somewhere(page, link)
    ]


def _name(page: Path) -> str:
    return page.relative_to(ROOT).as_posix()


def _blocks(page: Path) -> list[tuple[str, str]]:
    return _BLOCKS.findall(page.read_text("utf-8"))


def _links(page: Path) -> list[str]:
    found: list[str] = _LINKS.findall(_BLOCKS.sub("", page.read_text("utf-8")))
    return [link for link in found if "://" not in link]


def _leads_somewhere(page: Path, link: str) -> bool:
    path, _, anchor = link.partition("#")
    target = (page.parent / path).resolve() if path else page
    return target.exists() and (not anchor or anchor in _anchors(target))


def _anchors(page: Path) -> set[str]:
    """Return the anchors that GitHub makes of the headings."""
    headings = re.findall(r"^#+ (.+)$", _BLOCKS.sub("", page.read_text("utf-8")), re.MULTILINE)
    return {re.sub(r"[^\w\- ]", "", heading.lower()).replace(" ", "-") for heading in headings}
