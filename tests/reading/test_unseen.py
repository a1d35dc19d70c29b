"""What the readers of a web page do not see is not read, however it is written; what they see is."""

from __future__ import annotations

import pytest
import web_pages

from deep_research.core.reading.documents.parse_html import parse_html

UNSEEN = [
    *("<style>.h{display:none}</style><p class=h>SECRET</p>", "<style>#h { display : none }</style><p id=h>SECRET</p>"),
    "<style>p.h, div.g { visibility: hidden }</style><p class='a h'>SECRET</p><div class=g>SECRET</div>",
    "<style>/* x */ @import 'y'; a{color:red} .H{DISPLAY:/**/NONE !important}</style><p class=h>SECRET</p>",
    "<style>.h{display:none!important}</style><p class=h style='display:block'>SECRET</p>",
    "<style>@media screen{.h{font-size:0}}</style><p class=h>SECRET</p>",
    "<style>x-y{position:absolute;left:-99em}</style><x-y>SECRET</x-y>",
    "<style>.h{color:#fefefe}</style><p class=h>SECRET</p>",
    "<style>.d{background:#000}.h{color:#010101}</style><div class=d><p class=h>SECRET</p></div>",
    "<style>.h{d\\69splay:none}</style><p class=h>SECRET</p>",
    *(f"<div {name}>SECRET</div>" for name in ("popover", "inert", "aria-hidden='TRUE'", "hidden=until-found")),
    *(f"<{tag}>SECRET</{tag}>" for tag in ("noframes", "noembed", "datalist", "rp", "meter")),
]
UNSEEN_STYLES = [
    *("opacity:.0", "opacity:0%", "opacity: 0.01", "filter:opacity(0)", "font-size:.1px", "font-size:0.1em"),
    *("font-size:0.0em", "font: 1px/1 serif", "font:bold 0pt serif", "color:#fefefe", "color:rgb(255 255 255)"),
    *("color:#ffffff00", "color:#fff0", "color:rgb(0 0 0 / 0%)", "color:hsl(0 0% 100%)", "color:whitesmoke"),
    *("color:rgb(100%,100%,100%)", "-webkit-text-fill-color:transparent", "left:9999px", "left:-99em", "left:-100vw"),
    *("text-indent:-9999px", "text-indent: 9999px", "max-height:0;overflow:clip", "overflow-y:hidden;height:0px"),
    *("transform:translate3d(-9999px,0,0)", "transform:translate(0, -999px)", "translate:-9999px", "scale:0", "zoom:0"),
    *(
        "transform:scale(.0)",
        "transform:matrix(0,0,0,0,0,0)",
        "display:/**/none",
        "display:none/*",
        "/*x*/display:none",
    ),
    *("clip:rect(0 0 0 0)", "clip:rect(1px,1px,1px,1px)", "clip-path:inset(50%)", "clip-path:circle(0)"),
    *(
        "clip-path:polygon(0 0,0 0)",
        "content-visibility:hidden",
        "DISPLAY:NONE",
        "display:none;display",
        "x;display:none",
    ),
    *("color:#fff;background:#fff no-repeat", "color:#000;background:fixed rgb(0,0,0)"),
    *("margin-top:-999px", "margin-top:-999px;padding-top:20px", "color:#333;text-fill-color:#fff"),
]
SEEN = [
    "<style>.h{display:none}</style><p class=hh>SEEN</p>",
    "<style>.h{display:none} .h.open{display:block}</style><p class='h open'>SEEN</p>",
    "<style>@media print{.h{display:none}} @page{margin:0}</style><p class=h>SEEN</p>",
    "<style media=print>.h{display:none}</style><p class=h>SEEN</p>",
    "<style>.js .h, .h:hover, .h>p, [class]{display:none}</style><p class=h>SEEN</p>",
    "<style>.h{display:none} #h{display:block}</style><p class=h id=h>SEEN</p>",
    "<style>body{background:#111;color:#eee}.h{color:white}</style><p class=h>SEEN</p>",
    "<style>.d{background:#003}.h{color:#fff}</style><div class=d><p class=h>SEEN</p></div>",
]
SEEN_STYLES = [
    *("opacity:1", "opacity:0.8", "font-size:80%", "font:700 12px/1.5 serif", "font:12px serif", "color:#333"),
    *("left:10px", "margin-left:-20px", "text-indent:-2em", "margin-top:-50%", "transform:translate(-50%,-50%)"),
    *("transform:scale(1.1) rotate(0deg)", "overflow:hidden;height:10em", "width:0;overflow:visible", "zoom:1"),
    *("clip-path:inset(0)", "clip:auto", "top:5000px", "color:rgb(20 20 20 / 90%)", "color:inherit", "color:#0008"),
    *("color:white;background:linear-gradient(red,blue)", "color:white;background-color:#345", "max-width:100%"),
    *(
        "-webkit-text-fill-color:transparent;-webkit-background-clip:text;background:linear-gradient(red,blue)",
        "margin-top:-200px;padding-top:200px",
    ),
]


def text_of(inner: str) -> str:
    page = web_pages.page_of(f"{web_pages.PARAGRAPH}</p>{inner}<p>The end.")
    return parse_html(page.encode(), "utf-8", "http://a.example/").text


@pytest.mark.fault("R11")
@pytest.mark.parametrize("hidden", [*UNSEEN, *(f"<p style='{style}'>SECRET</p>" for style in UNSEEN_STYLES)])
def test_what_is_hidden_is_not_read(hidden: str) -> None:
    text = text_of(hidden)
    assert "SECRET" not in text
    assert text.endswith("The end.")


@pytest.mark.parametrize("shown", [*SEEN, *(f"<p style='{style}'>SEEN</p>" for style in SEEN_STYLES)])
def test_what_is_shown_is_read(shown: str) -> None:
    assert "SEEN" in text_of(shown)


def test_rules_in_the_head_hold_for_the_body() -> None:
    page = f"<html><head><style>.h{{display:none}}</style></head><body><p>{web_pages.PARAGRAPH}</p><p class=h>SECRET"
    assert "SECRET" not in parse_html(page.encode()).text


def test_readers_comments_are_no_text_of_a_page_unless_they_are_most_of_it() -> None:
    text = "<p>The lamp was lit in 1844, after four years of work on the rock.</p>" * 4
    comments = "<section class='comments'><h3>Comments (1)</h3><p>anon42: it was 1850, I think.</p></section>"
    page = parse_html(f"<html><body><article><h1>The lamp</h1>{text}</article>{comments}</body></html>".encode())
    assert "lit in 1844" in page.text
    assert "anon42" not in page.text
    thread = "<div class='comment'><p>bob: it was 1850, I think, and my uncle kept it.</p></div>" * 4
    assert "my uncle" in parse_html(f"<html><body><h1>Ask us</h1>{thread}</body></html>".encode()).text
