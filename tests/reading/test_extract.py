"""Files become clean text in a few child processes, which readers share, whatever their charset."""

from __future__ import annotations

import asyncio
import io
import sys
from collections.abc import Iterator
from contextlib import AsyncExitStack, suppress
from pathlib import Path
from subprocess import run

import pytest
from hypothesis import given
from hypothesis import strategies as st
from kit import web as web_pages
from kit.files import pdf_of, reading
from kit.web import PARAGRAPH, Web
from pypdf import PdfReader, PdfWriter

from deep_research.core.reading.documents._parse_text import plain_title
from deep_research.core.reading.documents.decode import clean_text, decode
from deep_research.core.reading.documents.pool import Parser
from deep_research.core.reading.documents.records import DocumentKind, Extract, Unreadable


@pytest.fixture(scope="module")
def parser() -> Iterator[Parser]:
    with Parser(seconds=60, max_bytes=20_000_000) as parser:
        yield parser


def titled_pdf(text: str, password: str = "") -> bytes:
    """A PDF with a title and a date of creation, encrypted if there is a password."""
    writer, written = PdfWriter(clone_from=PdfReader(io.BytesIO(pdf_of(text)))), io.BytesIO()
    writer.add_metadata({"/Title": "Harbour works", "/CreationDate": "D:20210304101112Z"})
    if password:
        writer.encrypt(password, algorithm="RC4-128")
    writer.write(written)
    return written.getvalue()


def reason_of(parser: Parser, data: bytes, name: str) -> str:
    with pytest.raises(Unreadable) as caught:
        parser.parse(data, name)
    assert str(caught.value)
    return caught.value.reason


def test_markdown_takes_its_title_from_its_front_matter_or_first_heading_and_front_matter_is_not_text(
    parser: Parser,
) -> None:
    text = "# The harbour\n\nDeep.\n\n## Its depth\n\n12 m"
    assert parser.parse(text.encode(), "a.md") == Extract("The harbour", text)
    extract = parser.parse(
        f"---\ntitle: 'Works'\ndate: 2021-03-04T10:00\n---\n\n{text}\n".encode(), "a.md"
    )
    assert extract == Extract("Works", text, "2021-03-04", date_kind="document")


MARKED = {
    "Opening *hours* of the `pool` | Town of Fernau": "Opening hours of the pool",
    "**Half-year** [report](https://a.example/x) {#top}": "Half-year report",
    "***": "pool hours",
    "so it went on and on " * 10: "pool hours",
}


@pytest.mark.parametrize(
    ("text", "name", "title"),
    [
        ("Harbour works\n\nDeep water.", "a.txt", "Harbour works"),
        ("Deep water\nand more of it.", "harbour_works-1893.txt", "harbour works 1893"),
        ("Brewers & Co.\n\nBeer.", "a.txt", "Brewers & Co."),
        ("Dear members,\n\nCome all.", "letter.txt", "letter"),
        *((f"# {line}\n\nDeep.", "pool_hours.md", title) for line, title in MARKED.items()),
        *((f"{line}\n\nDeep.", "pool_hours.txt", title) for line, title in MARKED.items()),
    ],
)
def test_a_text_is_named_without_markup_after_its_first_line_or_its_file(
    parser: Parser, text: str, name: str, title: str
) -> None:
    extract = parser.parse(text.encode(), name)
    assert (extract.title, extract.text) == (title, text)


@given(st.text())
def test_a_plain_title_is_plain_already(text: str) -> None:
    title = plain_title(text)
    assert title == " ".join(title.split())
    assert len(title) <= len(text)


def test_a_short_page_and_a_huge_page_keep_all_their_text(parser: Parser) -> None:
    assert (
        parser.parse(b"<title>T</title><body>Just <b>this</b> line", "a.html").text
        == "Just this line"
    )
    huge = parser.parse(
        "".join(f"<p>Day {day} of it. {PARAGRAPH}</p>\n" for day in range(2_000)).encode(), "a.html"
    )
    assert not huge.is_cut
    assert [day for day in range(2_000) if f"Day {day} of it." not in huge.text] == []


def test_a_pdf_gives_joined_lines_and_its_title_but_not_the_day_on_which_it_was_made(
    parser: Parser,
) -> None:
    extract = parser.parse(
        titled_pdf("The harbour was deep-\nened in 1893 and once more in 1911."), "a.pdf"
    )
    assert extract == Extract(
        "Harbour works", "The harbour was deepened in 1893 and once more in 1911."
    )


def test_a_larger_file_is_given_more_time() -> None:
    with Parser(0.001, 10_000_000, workers=1) as parser:
        for megabytes, seconds in ((0, "0.001"), (2, "0.003")):
            with pytest.raises(Unreadable, match=f"longer than {seconds} seconds"):
                parser.parse(b"a,b\n" * (megabytes * 250_000 + 1), "a.csv")


HIDDEN = [
    *(
        "\u034f",
        "\u061c",
        "\u115f",
        "\u1160",
        "\u17b4",
        "\u17b5",
        "\u180b",
        "\u180e",
        "\u180f",
        "\u200b",
        "\u200e",
    ),
    *(
        "\u2060",
        "\u2061",
        "\u2063",
        "\u2065",
        "\u206f",
        "\u3164",
        "\uffa0",
        "\ufe00",
        "\ufe01",
        "\ufe0f",
        "\ufeff",
    ),
    *(
        "\U0001d173",
        "\U0001d17a",
        "\U000e0000",
        "\U000e0041",
        "\U000e0100",
        "\U000e01ef",
        "\U000e0fff",
    ),
]
NEEDED = [
    *(
        "❤\ufe0f",
        "☎\ufe0e",
        "1\ufe0f\u20e3",
        "👩\u200d💻",
        "🏳\ufe0f\u200d🌈",
        "می\u200cخواهم",
        "क्\u200dष",
        "™\ufe0f",
    ),
    *("ångström", "deep\u00a0water", "한글", "ᠮᠣᠩᠭᠣᠯ"),
]


@pytest.mark.fault("R11")
@pytest.mark.parametrize("character", HIDDEN, ids=lambda character: f"U+{ord(character):04X}")
def test_invisible_characters_are_removed(character: str) -> None:
    assert clean_text(f"deep{character}water {character * 3}") == "deepwater "


@pytest.mark.parametrize("text", NEEDED)
def test_characters_that_scripts_and_emoji_need_stay(text: str) -> None:
    assert clean_text(text) == text
    # An emoji keeps at most one variation selector.
    assert clean_text("❤" + "\ufe0f" * 5 + "\ufe00\ufe05\U000e0100") == "❤\ufe0f"


GERMAN, PAGE = web_pages.GERMAN.strip(), web_pages.page_of(web_pages.GERMAN)


@pytest.mark.fault(34)
@pytest.mark.parametrize(
    ("data", "declared", "text"),
    [
        (PAGE.encode("utf-8-sig"), "iso-8859-1", GERMAN),
        (PAGE.encode("utf-16"), "", GERMAN),
        (GERMAN.encode("utf-16-le"), "", GERMAN),
        (
            web_pages.page_of(web_pages.JAPANESE, "shift_jis").encode("cp932"),
            "",
            web_pages.JAPANESE,
        ),
        (web_pages.page_of(web_pages.RUSSIAN).encode("cp1251"), "", web_pages.RUSSIAN.strip()),
        (web_pages.RUSSIAN.encode("koi8-r"), "", web_pages.RUSSIAN.strip()),
        (web_pages.page_of(web_pages.GERMAN, "us-ascii").encode(), "shift_jis", GERMAN),
        (
            web_pages.page_of("“Häfen” – " * 20).encode("cp1252"),
            "iso-8859-1",
            ("“Häfen” – " * 20).strip(),
        ),
        (GERMAN.encode("latin-1"), "no-such-set", GERMAN),
        (GERMAN.encode("utf-7"), "hex", "+ANw-ber den H"),
        (
            f"{GERMAN} SLIP {GERMAN}".encode().replace(b"SLIP", b"Caf\xe9"),
            "utf-8",
            f"{GERMAN} Caf\ufffd {GERMAN}",
        ),
    ],
)
def test_text_in_any_charset_is_readable_and_a_few_wrong_bytes_do_not_spoil_it(
    parser: Parser, data: bytes, declared: str, text: str
) -> None:
    kind: DocumentKind = "html" if b"<" in data else "text"
    assert text in parser.parse(data, "a", kind, declared).text


@given(st.text(st.characters(exclude_categories=())))
def test_clean_text_can_be_stored_and_stays_clean(text: str) -> None:
    once = clean_text(text)
    assert once.encode().find(0) == -1
    assert clean_text(once) == once


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
    for data in (
        b"no pdf at all",
        b"%PDF-1.4\n garbage",
        pdf_of("Deep")[:200],
        b"%PDF-1.7\n" + bytes(900),
    ):
        assert reason_of(parser, data, "a.pdf") == "broken"
    assert reason_of(parser, titled_pdf("Deep", password="open"), "a.pdf") == "encrypted"
    assert reason_of(parser, pdf_of(""), "a.pdf") == "no text"
    assert reason_of(parser, b"text", "a.zip") == "unknown format"
    assert reason_of(parser, b"\xd0\xcf\x11\xe0 and so on", "a.doc") == "convertible"
    assert reason_of(parser, bytes(range(256)) * 9, "program") == "unknown format"


def test_a_script_without_a_main_guard_can_parse(tmp_path: Path) -> None:
    script = tmp_path / "script.py"
    script.write_text(
        "from deep_research.core.reading.documents.pool import Parser\n"
        "with Parser(60, 1000) as parser:\n    print(parser.parse(b'deep', 'a.txt').text)\n"
    )
    # A module of this name in the working folder must not reach the child.
    (tmp_path / "lxml.py").write_text("raise SystemExit")
    done = run([sys.executable, str(script)], cwd=tmp_path, capture_output=True, text=True)
    assert done.stdout == "deep\n", done.stderr


@pytest.mark.fault("R18")
def test_the_child_sees_no_keys_and_has_a_memory_limit(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("OPENAI_API_KEY", "canary")
    with Parser(seconds=60, max_bytes=1000, workers=1) as parser:
        parser.parse(b"deep", "a.txt")
        (worker,) = parser._workers
        assert worker._process
        process = Path(f"/proc/{worker._process.pid}")
        if not process.exists():
            pytest.skip("no /proc")
        assert b"canary" not in (process / "environ").read_bytes()
        limits = (process / "limits").read_text()
    assert "Max address space         1000000000" in limits


def children() -> set[str]:
    """The ids of the child processes that parse for this process."""
    found = set[str]()
    for path in Path("/proc/self/task").glob("*/children"):
        # A thread or process may have ended since it was listed.
        with suppress(OSError):
            for pid in path.read_text().split():
                found |= (
                    {pid}
                    if "documents.worker" in Path("/proc", pid, "cmdline").read_text()
                    else set()
                )
    return found


@pytest.mark.skipif(sys.platform != "linux", reason="processes are counted in /proc")
async def test_many_readers_share_a_few_children_and_later_ones_use_them_again(web: Web) -> None:
    addresses = [
        web.publish(f"/many/{number}", web_pages.page_of(f"{web_pages.PARAGRAPH} {number}"))
        for number in range(30)
    ]
    before = children()
    async with AsyncExitStack() as stack:
        readers = [
            await stack.enter_async_context(reading(web, limits={"parse_seconds": 60.5}))
            for _ in range(10)
        ]
        most = Parser.of_pages(1, 1).workers
        work = (readers[number % 10].read(address) for number, address in enumerate(addresses))
        pages = await asyncio.gather(*work)
        assert 1 <= len(children() - before) <= most
    assert [page.text.rsplit(" ", 1)[1] for page in pages] == [str(number) for number in range(30)]
    waiting = children()
    assert 1 <= len(waiting - before) <= most
    async with reading(web, limits={"parse_seconds": 60.5}) as later:
        assert (await later.read(addresses[0])).text
    assert children() <= waiting


def test_idle_children_end_and_new_ones_start_when_needed() -> None:
    page = b"<p>The lamp was lit in 1844.</p>"
    with Parser(15.25, 1_000_000, workers=1, idle_seconds=0.5) as parser:
        parser.parse(page, "page.html")
        (worker,) = parser._workers
        assert worker._process is not None
        assert worker._process.wait(60) == 0
        assert parser.parse(page, "page.html").text == "The lamp was lit in 1844."
        second = worker._process
    # This child is looked at, not their number: other tests of this process may start some of their
    # own.
    assert second is not None and second.poll() is not None
