"""The source list: working links, harmless titles, entries that an auditor can follow."""

from __future__ import annotations

import re
import runpy
from functools import partial
from itertools import pairwise
from pathlib import Path
from urllib.parse import quote

import pytest
from hypothesis import example, given
from hypothesis import strategies as st
from kit.reports import source_at, streamed
from markdown_it import MarkdownIt

from deep_research.core.evidence.citations.labels import labels
from deep_research.core.evidence.citations.markers import marker_numbers
from deep_research.core.evidence.citations.rendering import plain_citations, source_list
from deep_research.core.records.sources import Source, safe_link


def web(title: str, location: str = "https://host.example/a", number: int = 1) -> Source:
    return source_at(location, title, content_hash="c0ffee", number=number)


def document(title: str, path: str, date: str = "", number: int = 1) -> Source:
    location = f"file:///my%20data/{quote(path)}"
    fields = {"address": f"docs:folder/{path}", "kind": "document", "date": date}
    return source_at(location, title, content_hash="c0ffee", number=number, **fields)


def shown(title: str, location: str = "https://host.example/a") -> str:
    """The title as the list shows it."""
    line = source_list([web(title, location)], labels("en")).splitlines()[2]
    return line.removeprefix("- [1] ").partition(" — ")[0]


@pytest.mark.fault("R15")
@pytest.mark.behaviour("O-66")
@pytest.mark.parametrize(
    ("location", "link"),
    [
        ("https://x.example/a?b=c&d=e#f", "https://x.example/a?b=c&d=e#f"),
        (" https://x.example/a b(c) ", "https://x.example/a%20b%28c%29"),
        (
            "https://x.example/<a>[b]\\`'\"|^{}",
            "https://x.example/%3Ca%3E%5Bb%5D%5C%60%27%22%7C%5E%7B%7D",
        ),
        ("https://x.example/é\n\u202e\ud800", "https://x.example/%C3%A9%0A%E2%80%AE?"),
        ("file:///data/A b.md", "file:///data/A%20b.md"),
        ("https://[2606:4700::1]/x[y]", "https://[2606:4700::1]/x%5By%5D"),
        ("https://[evil](x)/", "https://%5Bevil%5D%28x%29/"),
        ("http:a", ""),
        ("javascript:alert(1)//http://x", ""),
        ("data:text/html,x", ""),
        ("java\nscript:x", ""),
        ("ftp://x.example/a", ""),
        ("", ""),
    ],
)
def test_only_web_addresses_and_files_become_links(location: str, link: str) -> None:
    assert safe_link(location) == link
    listed = source_list([web("Title", location)], labels("en"))
    assert listed.partition("\n\n[1]: ")[2] == (f"<{link}>\n" if link else "")


@pytest.mark.fault(51, "R15")
@pytest.mark.parametrize(
    ("title", "expected"),
    [
        ("A title: (plain) #1, 2 - 3!", "A title: (plain) #1, 2 - 3!"),
        ("a\x00b\x1b[31m\u202ec\u200bd\ud800", "ab\\[31mcd"),
        (" a \n\t b\u2028c ", "a b c"),
        ("[1] 【2】 ［3］", "\\[1\\] \\[2\\] \\[3\\]"),
        ("![x](http://evil.example/?q)", "!\\[x\\](http\\://evil.example/?q)"),
        (
            "<img src=x> &amp; `c` *e* _f_ ~g~",
            "\\<img src=x\\> \\&amp; \\`c\\` \\*e\\* \\_f\\_ \\~g\\~",
        ),
        ("$h$ i|j k\\l m@n", "\\$h\\$ i\\|j k\\\\l m\\@n"),
        (
            "See www.evil.example and WWW.evil.example",
            "See www\\.evil.example and WWW\\.evil.example",
        ),
        ("Write to me@evil.example", "Write to me`@`evil.example"),
        ("evil.example", "host.example"),
        ("evil.example?a", "host.example"),
        ("//evil.example", "host.example"),
        ("Version 2.0", "Version 2.0"),
        ("", "host.example"),
        ("\u200b \n", "host.example"),
    ],
)
def test_a_title_does_no_harm(title: str, expected: str) -> None:
    assert shown(title) == expected


@pytest.mark.parametrize(
    ("source", "expected"),
    [
        (web("", "https://me:secret@host.example:8080/a/b"), "host.example:8080"),
        (web("", "https://host.example?a/b"), "host.example"),
        (web("", "javascript:"), "javascript:"),
        (document("", "files/My file.md"), "My file.md — files/My file.md, your document"),
    ],
)
def test_without_a_title_the_location_is_shown(source: Source, expected: str) -> None:
    assert source_list([source], labels("en")).splitlines()[2] == f"- [1] {expected}"


def test_an_entity_in_an_address_is_escaped() -> None:
    listed = source_list([web("Title", "https://host.example/?a=1&copy;=2&b")], labels("en"))
    assert listed.endswith("[1]: <https://host.example/?a=1&amp;copy;=2&b>\n")


@pytest.mark.fault("R15")
def test_a_long_title_is_cut() -> None:
    assert shown("x" * 200) == "x" * 200
    assert shown("x" * 201) == "x" * 199 + "…"
    assert shown("x" * 198 + " yyy") == "x" * 198 + "…"
    assert shown("*" * 300) == "\\*" * 199 + "…"


@pytest.mark.behaviour("O-70")
def test_the_list_has_numbers_titles_locations_kinds_and_dates_with_addresses_below() -> None:
    sources = [
        web("One", "https://www.weather.gov/a").model_copy(
            update={"date": "2026-07-14", "period": "2025"}
        ),
        web("Two", "https://a.example/b", 2).model_copy(
            update={"publisher": "A & *B*", "date": "2026-07-15", "date_kind": "publication"}
        ),
        web("Three", "https://c.example/", 3).model_copy(
            update={"publisher": "c.example", "date": "2026-08", "is_update": True}
        ),
        document("R&D: *half* year", "reports/half_year (b).pdf", "2026-07", 4),
        web("Nine", "javascript:x", 9),
    ]
    assert source_list(sources, labels("de")) == (
        "## Quellen\n\n"
        "- [1] One — weather.gov, amtlich, 2026-07-14 (2025)\n"
        "- [2] Two — a.example, A & \\*B\\*, veröffentlicht 2026-07-15\n"
        "- [3] Three — c.example, aktualisiert 2026-08\n"
        "- [4] R&D: \\*half\\* year — reports/half_year (b).pdf, eigenes Dokument, 2026-07\n"
        "- [9] Nine\n\n"
        "[1]: <https://www.weather.gov/a>\n"
        "[2]: <https://a.example/b>\n"
        "[3]: <https://c.example/>\n"
        "[4]: <file:///my%20data/reports/half_year%20%28b%29.pdf>\n"
    )
    assert source_list([], labels("de")) == ""


FRAGMENTS = [
    "[1]", "[2]", "[1, 2]", "[[2]]", " ", "word", "[word]", "(2020)", "(a b)", ":", "!", ", ", "\n", "\n\n", "- ", "> ",
]  # fmt: skip
WITHOUT_INDENT = partial(re.compile("  +").sub, " ")
"""Indented text is code, in which no number is a link."""


@pytest.mark.behaviour("O-70")
@given(st.lists(st.sampled_from(FRAGMENTS), max_size=12).map("".join).map(WITHOUT_INDENT))
def test_each_number_of_a_text_links_to_its_source(text: str) -> None:
    hosts = [f"https://host.example/{number}" for number in (1, 2)]
    body = plain_citations(text)
    assert plain_citations(body) == body
    listed = source_list(
        [web("T", host, number) for number, host in enumerate(hosts, 1)], labels("en")
    )
    tokens = MarkdownIt("commonmark").parse(f"{body}\n\n{listed}")
    inner = [child for token in tokens for child in token.children or []]
    links = [
        (link.attrs["href"], after.content)
        for link, after in pairwise(inner)
        if link.attrs.get("href") in hosts
    ]
    assert links == [(hosts[number - 1], str(number)) for number in (*marker_numbers(text), 1, 2)]
    assert not any(child.attrs.get("src") in hosts for child in inner)


@pytest.mark.fault("R15")
@given(st.text(), st.text())
@example("keeper@light.example", "")
def test_no_title_and_no_address_breaks_out_of_its_line(title: str, rest: str) -> None:
    location = f"https://host.example/{rest}"
    tokens = MarkdownIt("commonmark").parse(source_list([web(title, location)], labels("en")))
    blocks = [token.type for token in tokens if token.level == 0]
    assert blocks == ["heading_open", "heading_close", "bullet_list_open", "bullet_list_close"]
    line = next(token for token in tokens if token.type == "inline" and token.level == 3)
    # The sign of an e-mail address is shown as code, so that no client makes it a link.
    text = ("text", "text_special", "code_inline")
    children = line.children or []
    assert [child.type for child in children if child.type not in text] == [
        "link_open",
        "link_close",
    ]
    assert {child.content for child in children if child.type == "code_inline"} <= {"@"}
    assert str((line.children or [])[0].attrs["href"]).startswith("https://host.example/")


@pytest.mark.fault("R14")
@pytest.mark.behaviour("O-70")
def test_an_auditor_finds_nothing_wrong_with_a_rendered_report(shared_data: Path) -> None:
    audit = runpy.run_path(str(shared_data / "reports" / "audit_citations.py"))["audit"]
    files = ["a/x_y.md", "b/index.html", "03/ellis-island.txt"]
    draft = "One thing [1, 2] holds. Another [2] and more [3][9].\n\n```\n[5]\n```\n\n[Two](https://b.test/) [1]."
    text, cited, dropped = streamed(draft, {1: files[0], 2: files[1], 3: files[2]})
    sources = [
        document(f"Title {number} [{number}]", file, number=number)
        for number, file in sorted(cited.items())
    ]
    # The auditor counts link definitions as entries of the list.
    entries = re.sub(r"^\[.*$", "", source_list(sources, labels("en")), flags=re.MULTILINE)
    result = audit(f"# Report\n\n{plain_citations(text)}\n\n{entries}")
    assert not result["defective"], result["defects"]
    assert (result["listed"], result["distinct_cited"]) == (3, 3)
    assert dropped == 1
