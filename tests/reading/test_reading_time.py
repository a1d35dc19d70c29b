"""Input that is made to slow a parser down takes only linear time."""

from __future__ import annotations

import contextlib
import time
from collections.abc import Callable
from functools import partial

import lxml.html
import pytest

from deep_research.core.reading._fetch import body_kind, charset_of
from deep_research.core.reading.addresses import Unread, join_address, parse_address
from deep_research.core.reading.documents._parse_html import signs_of
from deep_research.core.reading.documents.records import Unreadable
from deep_research.core.reading.documents.worker import parse
from deep_research.core.reading.policy import Robots

pytestmark = pytest.mark.slow

SECONDS = 2.0
"""Far more than these inputs take in linear time, and far less than in quadratic time."""

HEADS = [
    *(b"<!---->" * 146 + b"x", b"<!---->" * 146, b"<!--" * 256, b"<!-- -->\n" * 113 + b"<htm"),
    *(b"<?xml " * 170, b" " * 1024),
]
LABELS = [
    "charset" + " " * 60_000,
    "charset=" * 8000,
    "application/" + "a" * 60_000,
    "application/" + "+xm" * 20_000,
]
ADDRESSES = [
    *(
        "http://" + "a." * 100_000,
        "http://" + "1." * 100_000 + "x",
        "http://" + "ü" * 200_000 + "/",
    ),
    *("http://" + "".join(map(chr, range(0x4E00, 0x4E00 + 1900))) + "/", "a" * 1_000_000 + "//"),
    *("http://a.example/" + "\u00e4" * 1_000_000, "http://a.example:" + "1" * 1_000_000),
]
FILES = [
    *(
        ("a.md", "# a" + "#" * 400_000 + "x"),
        ("a.md", "# a" + " " * 400_000 + "x"),
        ("a.md", "---\n" * 200_000),
    ),
    *(("a.md", "a\n" + "=" * 400_000 + "x"), ("a.txt", "\n \n" * 200_000 + "x")),
    *(
        ("a.html", f"<meta charset={' ' * 4000}>x"),
        ("a.html", f"<p style='{'height:0;' * 40_000}'>x"),
    ),
    ("a.html", f"<p style='opacity:{'1' * 200_000}'>x"),
    ("a.html", "<html><p>x" + "<ruby>" * 2000 + "<rt>x</rt>" * 2000),
    ("a.html", "<html><p>x" + "<math>" + "<msup>" * 2000 + "<mn>1</mn>" * 2000),
    ("a.html", "<html><p>x" + "<p style='text-decoration:line-through'>x" * 10_000),
]
RULES = ["Disallow: /*a*a*a*b$\n", "Disallow: /*aaaaaaaaaaaaaaaab\n"]
SIGNS = ['itemprop="isAccessibleForFree" ' * 30_000, '"isAccessibleForFree"' + " " * 1_000_000]


def follow_rules(rule: str) -> bool:
    return Robots("User-agent: *\n" + rule * 20_000, "deep-research").allows("/" + "a" * 1900)


def find_signs(source: str) -> object:
    return signs_of(source, lxml.html.fromstring("<p>Deep."))


WORK: list[Callable[[], object]] = [
    *(partial(body_kind, "text/html", head) for head in HEADS),
    *(partial(charset_of, label) for label in LABELS),
    *(partial(body_kind, label, b"x") for label in LABELS),
    *(partial(parse_address, address) for address in ADDRESSES),
    *(partial(join_address, "http://a.example/b", address) for address in ADDRESSES),
    *(partial(parse, text.encode(), name) for name, text in FILES),
    *(partial(find_signs, source) for source in SIGNS),
    *(partial(follow_rules, rule) for rule in RULES),
]


@pytest.mark.parametrize("work", WORK, ids=range(len(WORK)))
def test_hostile_input_takes_linear_time(work: Callable[[], object]) -> None:
    begin = time.process_time()
    # Input may be refused, as long as that is fast.
    with contextlib.suppress(Unread, Unreadable):
        work()
    assert time.process_time() - begin < SECONDS


def test_a_page_that_begins_with_many_comments_is_still_html() -> None:
    assert body_kind("text/plain", b"<!-- a -- b -->\n<!---->" * 40 + b"<HTML>") == "html"
    assert body_kind("text/plain", b"<!-- <html>") == "text"
