"""Invisible content of a web page is not read, however it is hidden; visible content is."""

from __future__ import annotations

import pytest
from kit import web as web_pages

from deep_research.core.reading.documents._parse_html import parse_html

HIDING = ("hidden", "popover", "inert", "aria-hidden='TRUE'", "hidden=until-found")
UNSEEN_TAGS = ("noframes", "noembed", "datalist", "rp", "meter", "script", "noscript")
UNSEEN = [
    *(f"<div {attribute}>SECRET</div>" for attribute in HIDING),
    *(f"<{tag}>SECRET</{tag}>" for tag in UNSEEN_TAGS),
    *("<!-- SECRET -->", "<template><p>SECRET</p></template>"),
    '<script type=\'application/ld+json\'>{"@graph": 7, "name": "SECRET"}</script>',
]
UNSEEN_STYLES = [
    *(
        "display:none",
        "DISPLAY : NONE",
        "color:red; display:none!important",
        "visibility: hidden;",
        "font-size:0",
    ),
    *("font-size:0px", "font-size:0.0em", "opacity:0", "opacity:.0", "opacity:0%;color:red"),
]
SEEN_STYLES = [
    *(
        "display:block",
        "opacity:1",
        "opacity:0.8",
        "font-size:80%",
        "font-size:0.8em",
        "visibility:visible",
    ),
    *(
        "backface-visibility:hidden",
        "margin-left:-15px; max-height:10em; overflow:hidden",
        "font-size:0.9em; line-height:0.9",
    ),
]


def text_of(inner: str) -> str:
    page = web_pages.page_of(f"{web_pages.PARAGRAPH}</p>{inner}<p>The end.")
    return parse_html(page.encode(), "utf-8", "http://a.example/").text


@pytest.mark.fault("R11")
@pytest.mark.parametrize(
    "hidden", [*UNSEEN, *(f"<p style='{style}'>SECRET</p>" for style in UNSEEN_STYLES)]
)
def test_hidden_content_is_not_read(hidden: str) -> None:
    text = text_of(hidden)
    assert "SECRET" not in text
    assert text.endswith("The end.")


def test_visible_content_is_read() -> None:
    seen = ["<details><summary>More</summary><p>SEEN</p></details>"]
    for shown in (*seen, *(f"<p style='{style}'>SEEN</p>" for style in SEEN_STYLES)):
        assert "SEEN" in text_of(shown), shown


def test_readers_comments_are_no_text_of_a_page_unless_they_are_most_of_it() -> None:
    text = "<p>The lamp was lit in 1844, after four years of work on the rock.</p>" * 4
    comments = "<section class='comments'><h3>Comments (1)</h3><p>anon42: it was 1850, I think.</p></section>"
    page = parse_html(
        f"<html><body><article><h1>The lamp</h1>{text}</article>{comments}</body></html>".encode()
    )
    assert "lit in 1844" in page.text
    assert "anon42" not in page.text
    thread = (
        "<div class='comment'><p>bob: it was 1850, I think, and my uncle kept it.</p></div>" * 4
    )
    assert (
        "my uncle" in parse_html(f"<html><body><h1>Ask us</h1>{thread}</body></html>".encode()).text
    )
