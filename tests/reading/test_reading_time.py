"""Text from outside that is written to keep its reader busy is read in a moment all the same."""

from __future__ import annotations

import contextlib
import time
from collections.abc import Callable

import pytest

from deep_research.core.reading.addresses import join_address, parse_address
from deep_research.core.reading.documents.parse_html import signs_of
from deep_research.core.reading.documents.worker import parse
from deep_research.core.reading.fetch import charset_of, kind_of, refuse_label
from deep_research.core.reading.records import Unread, Unreadable
from deep_research.core.reading.robots import Robots

pytestmark = pytest.mark.slow

SECONDS = 2.0
"""Far more than any of this takes, and far less than it would take if each character cost more than the last."""

HEADS = [
    b"<!---->" * 146 + b"x",
    b"<!---->" * 146,
    b"<!--" * 256,
    b"<!-- -->\n" * 113 + b"<htm",
    b"<?xml " * 170,
    b" " * 1024,
]
LABELS = ["charset" + " " * 60_000, "charset=" * 8000, "application/" + "a" * 60_000, "application/" + "+xm" * 20_000]
ADDRESSES = [
    "http://" + "a." * 100_000,
    "http://" + "1." * 100_000 + "x",
    "http://" + "ü" * 200_000 + "/",
    "http://" + "".join(map(chr, range(0x4E00, 0x4E00 + 1900))) + "/",
    "http://a.example/" + "\u00e4" * 1_000_000,
    "a" * 1_000_000 + "//",
    "http://a.example:" + "1" * 1_000_000,
]
FILES = [
    ("a.md", "# a" + "#" * 400_000 + "x"),
    ("a.md", "# a" + " " * 400_000 + "x"),
    ("a.md", "---\n" * 200_000),
    ("a.md", "a\n" + "=" * 400_000 + "x"),
    ("a.txt", "\n \n" * 200_000 + "x"),
    ("a.html", "<meta charset=" + " " * 4000 + ">x"),
    ("a.html", f"<p style='{'height:0;' * 40_000}'>x"),
    ("a.html", f"<p style='{'overflow:hidden;' * 40_000}'>x"),
    ("a.html", f"<p style='{'font:' * 80_000}'>x"),
    ("a.html", f"<p style='{'/*' * 100_000}'>x"),
    ("a.html", "<p style='left:" + "-" * 200_000 + "'>x"),
    ("a.html", "<p style='transform:" + "a" * 200_000 + "'>x"),
    ("a.html", "<p style='clip-path:" + "a(" * 100_000 + "'>x"),
    ("a.html", "<p style='opacity:" + "1" * 200_000 + "'>x"),
    ("a.html", "<p style='color:rgb(" + "1 " * 100_000 + ")'>x"),
    ("a.html", "<style>" + "{" * 200_000 + "</style><p>x"),
    ("a.html", "<style>" + "@layer{" * 50_000 + ".a{}" * 50_000 + "</style><p>x"),
    ("a.html", "<style>@layer " + "a" * 400_000 + "{" + "a{}" * 100_000 + "</style><p>x"),
    ("a.html", "<style>" + ".a," * 20_000 + "p{left:0}</style>" + "<p class=a>x" * 10_000),
    ("a.html", "<style>" + "".join(f".a.b{n}{{left:0}}" for n in range(10_000)) + "</style>" + "<p class=a>x" * 3000),
]


def taken(work: Callable[[], object]) -> float:
    begin = time.process_time()
    # To refuse is as good as to read, if it is done in time.
    with contextlib.suppress(Unread, Unreadable):
        work()
    return time.process_time() - begin


@pytest.mark.parametrize("head", HEADS, ids=range(len(HEADS)))
def test_the_beginning_of_a_body_is_recognised_in_a_moment(head: bytes) -> None:
    assert taken(lambda: kind_of("text/html", head)) < SECONDS


def test_a_page_that_begins_with_many_comments_is_still_html() -> None:
    assert kind_of("text/plain", b"<!-- a -- b -->\n<!---->" * 40 + b"<HTML>") == "html"
    assert kind_of("text/plain", b"<!-- <html>") == "text"


@pytest.mark.parametrize("label", LABELS, ids=range(len(LABELS)))
def test_a_label_is_read_in_a_moment(label: str) -> None:
    assert taken(lambda: charset_of(label)) < SECONDS
    assert taken(lambda: refuse_label(label)) < SECONDS


@pytest.mark.parametrize("address", ADDRESSES, ids=range(len(ADDRESSES)))
def test_an_address_is_taken_apart_in_a_moment(address: str) -> None:
    assert taken(lambda: parse_address(address)) < SECONDS
    assert taken(lambda: join_address("http://a.example/b", address)) < SECONDS


@pytest.mark.parametrize(("name", "text"), FILES, ids=range(len(FILES)))
def test_a_file_is_parsed_in_a_moment(name: str, text: str) -> None:
    assert taken(lambda: parse(text.encode(), name)) < SECONDS


def test_the_signs_of_a_page_are_found_in_a_moment() -> None:
    import lxml.html

    root = lxml.html.fromstring("<p>Deep.")
    for source in ('itemprop="isAccessibleForFree" ' * 30_000, '"isAccessibleForFree"' + " " * 1_000_000):
        assert taken(lambda source=source: signs_of(source, root)) < SECONDS  # type: ignore[misc]  # a lambda's default


def test_the_rules_of_a_site_are_followed_in_a_moment() -> None:
    for rule in ("Disallow: /*a*a*a*b$\n", "Disallow: /*aaaaaaaaaaaaaaaab\n"):
        robots = Robots("User-agent: *\n" + rule * 20_000, "deep-research")
        assert taken(lambda robots=robots: robots.allows("/" + "a" * 1900)) < SECONDS  # type: ignore[misc]  # as above
