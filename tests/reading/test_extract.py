"""Bytes of a file to text, in a child process."""

from __future__ import annotations

import io
import sys
from collections.abc import Iterator
from pathlib import Path
from subprocess import run

import pytest
from hypothesis import given
from hypothesis import strategies as st
from pypdf import PdfReader, PdfWriter
from web_pages import pdf_of

from deep_research.core.reading.documents.decode import clean, decode
from deep_research.core.reading.documents.parse_text import plain_title
from deep_research.core.reading.documents.pool import Parser
from deep_research.core.reading.records import Extract, Unreadable

PARAGRAPH = "The harbour was deepened in 1893 and again in 1911, so that larger ships could enter it at low tide. " * 4


@pytest.fixture(scope="module")
def parser() -> Iterator[Parser]:
    with Parser(seconds=60, max_bytes=20_000_000) as parser:
        yield parser


def titled_pdf(text: str, title: str, password: str = "") -> bytes:
    """A PDF with properties, under lock and key where there is a password."""
    writer, written = PdfWriter(clone_from=PdfReader(io.BytesIO(pdf_of(text)))), io.BytesIO()
    writer.add_metadata({"/Title": title, "/CreationDate": "D:20210304101112Z"})
    if password:
        writer.encrypt(password, algorithm="RC4-128")
    writer.write(written)
    return written.getvalue()


def reason_of(parser: Parser, data: bytes, name: str) -> str:
    with pytest.raises(Unreadable) as caught:
        parser.parse(data, name)
    assert str(caught.value)
    return caught.value.reason


def test_markdown_keeps_its_headings_and_takes_its_title_from_the_first(parser: Parser) -> None:
    extract = parser.parse(b"# The harbour\n\nDeep.\n\n## Its depth\n\n12 m\n", "a.md")
    assert extract == Extract("The harbour", "# The harbour\n\nDeep.\n\n## Its depth\n\n12 m", "", False)


def test_front_matter_gives_title_and_date_and_is_not_text(parser: Parser) -> None:
    extract = parser.parse(b"---\ntitle: 'Harbour works'\ndate: 2021-03-04T10:00\n---\n\n# Other\n\nDeep.\n", "a.md")
    assert extract == Extract("Harbour works", "# Other\n\nDeep.", "2021-03-04", False, date_kind="document")


@pytest.mark.parametrize(
    ("text", "name", "title"),
    [
        ("Harbour works\n\nDeep water.", "a.txt", "Harbour works"),
        ("Deep water\nand more of it.", "harbour_works-1893.txt", "harbour works 1893"),
        ("Brewers & Co.\n\nBeer.", "a.txt", "Brewers & Co."),
        ("Dear members,\n\nCome all.", "letter.txt", "letter"),
    ],
)
def test_plain_text_is_named_after_its_first_line_or_its_file(parser: Parser, text: str, name: str, title: str) -> None:
    extract = parser.parse(text.encode(), name)
    assert (extract.title, extract.text) == (title, text)


@pytest.mark.parametrize(
    ("heading", "title"),
    [
        ("Opening *hours* of the `pool` | Town of Fernau", "Opening hours of the pool"),
        ("**Half-year** [report](https://a.example/x) {#top}", "Half-year report"),
        ("***", "pool hours"),
        ("so it went on and on " * 10, "pool hours"),
    ],
)
def test_a_title_has_no_markup_and_ends_where_something_else_begins(parser: Parser, heading: str, title: str) -> None:
    assert parser.parse(f"# {heading}\n\nDeep.\n".encode(), "pool_hours.md").title == title
    assert parser.parse(f"{heading}\n\nDeep.\n".encode(), "pool_hours.txt").title == title


@given(st.text())
def test_a_plain_title_is_plain_already(text: str) -> None:
    title = plain_title(text)
    assert title == " ".join(title.split())
    assert len(title) <= len(text)


def test_a_page_gives_its_main_text_without_navigation_and_footer(parser: Parser) -> None:
    page = (
        "<html><head><title>The harbour - Site</title><meta name='date' content='2020-05-06T00:00'></head><body>"
        "<nav>Home About</nav><h1>The harbour</h1>"
        f"<p>{PARAGRAPH}</p><h2>Depth</h2><ul><li>12 m</li><li>9 m</li></ul>"
        "<table><tr><th>Year</th><td>1893</td></tr></table><footer>Terms of use</footer></body></html>"
    )
    extract = parser.parse(page.encode(), "a.html")
    assert (extract.title, extract.date) == ("The harbour", "2020-05-06")
    assert extract.text.startswith("# The harbour\n\nThe harbour was deepened in 1893")
    assert "## Depth\n\n- 12 m\n- 9 m\n\nYear: 1893" in extract.text
    assert "Terms of use" not in extract.text
    assert "About" not in extract.text


def test_a_short_page_and_a_huge_page_keep_all_their_text(parser: Parser) -> None:
    assert parser.parse(b"<title>T</title><body>Just <b>this</b> line", "a.html").text == "Just this line"
    huge = parser.parse("".join(f"<p>Day {day} of it. {PARAGRAPH}</p>\n" for day in range(2_000)).encode(), "a.html")
    assert not huge.is_cut
    assert [day for day in range(2_000) if f"Day {day} of it." not in huge.text] == []


def test_a_pdf_gives_joined_lines_and_its_title_but_not_the_day_on_which_it_was_made(parser: Parser) -> None:
    data = titled_pdf("The harbour was deep-\nened in 1893 and once more in 1911.", "Harbour works")
    extract = parser.parse(data, "a.pdf")
    assert extract == Extract("Harbour works", "The harbour was deepened in 1893 and once more in 1911.", "", False)


def test_a_larger_file_is_given_more_time() -> None:
    with Parser(0.001, 10_000_000, workers=1) as parser:
        for megabytes, seconds in ((0, "0.001"), (2, "0.003")):
            with pytest.raises(Unreadable, match=f"longer than {seconds} seconds"):
                parser.parse(b"a,b\n" * (megabytes * 250_000 + 1), "a.csv")


def test_a_pdf_whose_title_says_nothing_is_named_after_its_first_line(parser: Parser) -> None:
    assert parser.parse(titled_pdf("The harbour", "Microsoft Word - x.doc"), "a.pdf").title == "The harbour"


@pytest.mark.parametrize(
    ("encoding", "text"),
    [
        ("utf-8-sig", "Über den Häfen liegt Nebel."),
        ("utf-16", "Über den Häfen liegt Nebel."),
        ("utf-16-le", "Ueber den Haefen liegt Nebel – noch."),
        ("latin-1", "Der Café-Besitzer fährt naïv über die Brücke."),
        ("shift_jis", "吾輩は猫である。名前はまだ無い。どこで生れたかとんと見当がつかぬ。"),
        ("koi8-r", "Привет, это обычный русский текст о гавани."),
    ],
)
def test_text_in_any_usual_charset_is_readable(parser: Parser, encoding: str, text: str) -> None:
    assert parser.parse(text.encode(encoding), "a.txt").text == text


@given(st.text(st.characters(exclude_categories=())))
def test_clean_text_can_be_stored_and_stays_clean(text: str) -> None:
    once = clean(text)
    assert once.encode().find(0) == -1
    assert clean(once) == once


@given(st.binary(max_size=300))
def test_any_bytes_decode_or_are_refused(data: bytes) -> None:
    try:
        assert isinstance(decode(data), str)
    except Unreadable as error:
        assert error.reason == "not text"


def test_each_failure_has_its_reason(parser: Parser) -> None:
    assert reason_of(parser, b"", "a.txt") == "empty"
    assert reason_of(parser, b" \n ", "a.txt") == "empty"
    assert reason_of(parser, b"<html><body></body></html>", "a.html") == "empty"
    assert reason_of(parser, b"x" * 20_000_001, "a.txt") == "too large"
    assert reason_of(parser, bytes(range(256)) * 9, "a.txt") == "not text"
    assert reason_of(parser, b"PK\x03\x04 and so on", "a.md") == "not text"
    assert reason_of(parser, b"%PDF-1.4\n garbage", "a.pdf") == "broken"
    assert reason_of(parser, b"no pdf at all", "a.pdf") == "broken"
    assert reason_of(parser, titled_pdf("Deep", "", password="open"), "a.pdf") == "encrypted"
    assert reason_of(parser, pdf_of(""), "a.pdf") == "no text"
    assert reason_of(parser, b"text", "a.docx") == "broken"
    assert reason_of(parser, b"text", "a.zip") == "unknown format"


def test_a_script_without_a_main_guard_can_parse(tmp_path: Path) -> None:
    script = tmp_path / "script.py"
    script.write_text(
        "from deep_research.core.reading.documents.pool import Parser\n"
        "with Parser(60, 1000) as parser:\n    print(parser.parse(b'deep', 'a.txt').text)\n"
    )
    # A module of this name in the working folder must not reach the child.
    (tmp_path / "lxml.py").write_text("raise SystemExit")
    done = run([sys.executable, str(script)], cwd=tmp_path, capture_output=True, text=True, timeout=60)
    assert done.stdout == "deep\n", done.stderr


@pytest.mark.fault("R18")
def test_the_child_sees_no_keys_and_has_a_memory_limit(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("OPENAI_API_KEY", "canary")
    with Parser(seconds=60, max_bytes=1000, workers=1) as parser:
        parser.parse(b"deep", "a.txt")
        (worker,) = parser._workers
        assert worker._process
        place = Path(f"/proc/{worker._process.pid}")
        if not place.exists():
            pytest.skip("no /proc")
        assert b"canary" not in (place / "environ").read_bytes()
        limits = (place / "limits").read_text()
    assert "Max address space         1000000000" in limits
