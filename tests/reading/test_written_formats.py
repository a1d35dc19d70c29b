"""Tables, records, books, e-mails and reStructuredText become text."""

from __future__ import annotations

import csv
import io
import json
import re
from email.message import EmailMessage

import openpyxl
import pytest
from hypothesis import given
from hypothesis import strategies as st
from kit.files import book, saved

from deep_research.core.reading.documents.records import Extract, Unreadable
from deep_research.core.reading.documents.worker import parse

TABLE = "| Year | Keeper |\n| --- | --- |\n| 1901 | Ada Moran |\n| 1932 | Bo |"


@pytest.mark.parametrize(
    ("data", "name"),
    [
        (b"Year,Keeper\r\n1901,Ada Moran\r\n1932,Bo\r\n", "a.csv"),
        (b"Year\tKeeper\n1901\tAda Moran\n1932\tBo", "a.tsv"),
        (b'"Year", "Keeper"\n"1901", "Ada\nMoran"\n"1932", "Bo"\n', "a.csv"),
        (b"sep=,\nYear,Keeper\n1901,Ada Moran\n1932,Bo", "a.csv"),
        ("\ufeffYear|Keeper\n1901|Ada Moran\n1932|Bo".encode("utf-16"), "a.csv"),
    ],
)
def test_a_table_is_read_with_any_delimiter(data: bytes, name: str) -> None:
    assert parse(data, name).text == TABLE


def test_a_single_column_is_text_and_an_unclosed_quote_is_a_character() -> None:
    assert (
        parse(b"Lit in 1844.\nKept by three.\n", "a.csv").text == "Lit in 1844.\n\nKept by three."
    )
    text = parse(b'Size,Name\n3,"of wood\n' + b"4,of iron\n" * 20_000, "a.csv").text
    assert '| 3 | "of wood |\n| 4 | of iron |' in text


CELLS = st.text(st.characters(categories=["L", "N", "P", "S", "Zs"]), max_size=12)


def as_text(words: str) -> str:
    """Return words as the parser of plain text shows them."""
    return " ".join(parse(f"x{words}x".encode(), "a.txt").text[1:-1].split())


@given(st.lists(st.lists(CELLS, min_size=2, max_size=4), min_size=1, max_size=8))
def test_the_text_of_every_cell_of_a_table_and_a_sheet_is_in_the_extract(
    rows: list[list[str]],
) -> None:
    # A cell that begins with this sign would be stored as a formula, without a value.
    rows = [["Top", "of", "it"], *([cell.lstrip("=") for cell in row] for row in rows)]
    file, book = io.StringIO(), openpyxl.Workbook()
    csv.writer(file, quoting=csv.QUOTE_ALL).writerows(rows)
    for row in rows:
        book.active.append(row)
    for data, name in ((file.getvalue().encode(), "a.csv"), (saved(book), "a.xlsx")):
        text = " ".join(parse(data, name).text.replace("\\|", "|").split())
        assert [cell for row in rows for cell in row if as_text(cell) not in text] == []


RECORDS = [
    {
        "id": 7,
        "title": "The\nlamp",
        "tags": ["oil", "glass"],
        "by": {"name": "Ada", "aged": None},
        "text": "Lit.\n\nOut.",
    },
    {"q": "Who?", "is_open": False, "parts": [{"n": 1}, {"n": 2}], "note": "long " * 30},
    "only words",
]
SHOWN = (
    "## The lamp\n\nid: 7\ntags: oil, glass\nby.name: Ada\n\nLit.\n\nOut.\n\n"
    f"q: Who?\nis_open: false\nparts.n: 1\nparts.n: 2\n\nnote: {('long ' * 30).strip()}\n\nonly words"
)


ROWS = [{"pump": "K-7", "height": 12, "open": True}, {"pump": "K-8", "height": 14.5, "depth": None}]
ROWS_SHOWN = "| pump | height | open | depth |\n| --- | --- | --- | --- |\n| K-7 | 12 | true |  |\n| K-8 | 14.5 |  |  |"


@pytest.mark.parametrize(("records", "shown"), [(RECORDS, SHOWN), (ROWS, ROWS_SHOWN)])
def test_records_become_headings_fields_and_paragraphs_and_short_ones_rows(
    records: list[object], shown: str
) -> None:
    lines = "\n".join(map(json.dumps, records))
    assert parse(lines.encode(), "tide_table.jsonl") == Extract("tide table", shown)
    assert parse(json.dumps(records, indent=1).encode(), "tide_table.json") == Extract(
        "tide table", shown
    )


def test_a_single_record_gives_title_and_date_and_a_line_that_is_not_json_stays() -> None:
    record = parse(b'{"headline": "The lamp", "date": "2021-03-04T10:00", "n": 1}', "a.json")
    assert (record.title, record.date) == ("The lamp", "2021-03-04")
    assert parse(b'{"n": 1}\nno record\n' + b"[" * 5000, "a.ndjson").text.startswith(
        "n: 1\n\nno record\n\n[[["
    )


@pytest.mark.parametrize(
    ("data", "name", "message"),
    [
        (b"[" * 100_000, "a.json", "not JSON"),
        (b"{}", "a.ipynb", "not a notebook"),
        (b"It was lit in 1844.\n\nAnd kept.", "a.eml", "not an e-mail"),
    ],
)
def test_a_file_of_another_format_than_its_name_says_is_refused(
    data: bytes, name: str, message: str
) -> None:
    with pytest.raises(Unreadable, match=message):
        parse(data, name)


SCALARS = st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False) | CELLS
VALUES = st.recursive(
    SCALARS, lambda inner: st.lists(inner, max_size=3) | st.dictionaries(CELLS, inner, max_size=3)
)


@given(st.lists(VALUES, max_size=4))
def test_any_records_are_read_and_none_of_their_words_is_lost(records: list[object]) -> None:
    lines = "\n".join(map(json.dumps, ["top", *records]))
    text = " ".join(parse(lines.encode(), "a.jsonl").text.split())
    assert [word for word in leaves(records) if as_text(word) not in text] == []


def leaves(value: object) -> list[str]:
    if isinstance(value, dict):
        value = list(value.values())
    if isinstance(value, list):
        return [word for inner in value for word in leaves(inner)]
    return [value] if isinstance(value, str) else []


PAGE = "<html xmlns='http://www.w3.org/1999/xhtml'><head><title/><script src='x'/></head><body>{}</body></html>"


def test_a_book_is_read_chapter_by_chapter_in_the_order_of_reading() -> None:
    second = PAGE.format("<h1>Second</h1><p>Lit&#160;in<a id='x'/> 1844.</p><p>Kept.</p>")
    data = book(
        {"b.xhtml": second, "a.xhtml": PAGE.format("<h2>Third</h2>")},
        title="The Light",
        date="2011-02",
    )
    text = "# Second\n\nLit in 1844.\n\nKept.\n\n## Third"
    assert parse(data, "a.epub") == Extract("The Light", text, "2011-02", date_kind="publication")


def test_an_encrypted_book_is_refused_and_one_whose_fonts_are_encrypted_is_read() -> None:
    chapters = {"a.xhtml": PAGE.format("<p>Lit in 1844.</p>")}
    locks = '<e><CipherReference URI="text/{}"/></e>'
    further = {"META-INF/encryption.xml": locks.format("font.otf")}
    assert parse(book(chapters, further=further), "a.epub").text == "Lit in 1844."
    with pytest.raises(Unreadable) as caught:
        parse(
            book(chapters, further={"META-INF/encryption.xml": locks.format("a.xhtml")}), "a.epub"
        )
    assert caught.value.reason == "encrypted"


def test_an_email_gives_headers_and_text_and_names_its_attachments() -> None:
    message, inner = EmailMessage(), EmailMessage()
    for name, value in {
        "Subject": "Die Lampe für Käthe",
        "From": "Ada Moran <ada@lights.example>",
        "To": "bo@lights.example",
        "Date": "Fri, 3 May 2024 23:10:00 +0200",
    }.items():
        message[name] = value
    message.set_content("Dear Bo,\n\nit was lit in 1844.\n")
    message.add_alternative("<p>Dear Bo, <b>in colours</b></p>", subtype="html")
    message.add_attachment(b"SECRET", maintype="application", subtype="pdf", filename="plan.pdf")
    message.add_attachment("SECRET", filename="notes.txt")
    inner["Subject"] = "Before"
    inner.set_content("SECRET")
    message.add_attachment(inner)
    assert parse(bytes(message), "a.eml") == Extract(
        "Die Lampe für Käthe",
        "# Die Lampe für Käthe\n\nE-mail: From: Ada Moran <ada@lights.example>; "
        "To: bo@lights.example; Date: Fri, 03 May 2024 23:10:00 +0200\n\nDear Bo,\n\nit was lit in 1844.\n\n"
        "Attached: plan.pdf, notes.txt, the e-mail 'Before'",
        "2024-05-03",
        date_kind="document",
        publisher="lights.example",
    )


def alternatives(plain: str, rich: str) -> str:
    """The text of an e-mail with these alternatives, below its subject."""
    message = EmailMessage()
    message["Subject"] = "Offer"
    message.set_content(plain)
    message.add_alternative(rich, subtype="html")
    return parse(bytes(message), "a.eml").text.removeprefix("# Offer\n\n")


OFFER = "<p>We offer unit 7 for 2,640 euros a month from 1 June, and unit 9 for 1,980 euros.</p>"
RENTS = "<table><tr><th>Unit<th>Rent</tr><tr><td>7<td>2,640</tr><tr><td>9<td>1,980</tr></table>"


@pytest.mark.parametrize(
    "plain",
    [
        "This message is in HTML: https://mail.example/v/1?very=long&address=of&many=words",
        "[image: the logo of the firm of Dana Whitlock] [cid:ii_1234@mail.example]",
        "Dana Whitlock\n+49 30 1234\n",
        "Your mail program does not show messages with formatting, so please open this one elsewhere.",
        "",
    ],
)
def test_a_stub_does_not_replace_the_text_with_formatting(plain: str) -> None:
    assert alternatives(plain, OFFER).startswith("We offer unit 7 for 2,640 euros")


def test_of_equal_alternatives_the_plain_one_is_read_unless_the_other_has_a_table() -> None:
    plain = "We offer unit 7 for 2,640 euros a month. Unit Rent 7 2,640 9 1,980"
    assert alternatives(plain, OFFER) == plain
    assert alternatives(plain, "<p>View this message in your browser.</p>") == plain
    assert alternatives(plain, f"<p>We offer:</p>{RENTS}") == (
        "We offer:\n\n| Unit | Rent |\n| --- | --- |\n| 7 | 2,640 |\n| 9 | 1,980 |"
    )


def test_texts_that_are_no_alternatives_are_all_read() -> None:
    message, inner = EmailMessage(), EmailMessage()
    message["Subject"] = "Offer"
    message.make_mixed()
    for text, subtype in (("First.", "plain"), ("<p>Second.</p>", "html"), ("Third.", "plain")):
        inner = EmailMessage()
        inner.set_content(text, subtype=subtype)
        message.attach(inner)
    assert parse(bytes(message), "a.eml").text == "# Offer\n\nFirst.\n\nSecond.\n\nThird."


def test_quotations_of_an_email_with_formatting_have_marks() -> None:
    rich = f"{OFFER}<blockquote><p>Dear Dana,</p><blockquote>And before?</blockquote></blockquote>"
    assert alternatives("", rich).split("\n")[1:] == [
        "", "> Dear Dana,", ">", "> > And before?",
    ]  # fmt: skip


@pytest.mark.parametrize(
    ("written", "shown"),
    [
        ("Dear Helen,\nthe lamps were sent.", "Dear Helen,\n\nthe lamps were sent."),
        ("Sehr geehrte Frau Dr. Moran,\nwir liefern.", "Sehr geehrte Frau Dr. Moran,\n\nwir liefern."),
        ("So it is.\n> Bonjour,\n> merci.", "So it is.\n> Bonjour,\n>\n> merci."),
        ("In 2025,\nthe fee was 390.", "In 2025,\nthe fee was 390."),
        ("It was so.\nDear all,\nhe said.", "It was so.\nDear all,\nhe said."),
    ],
)  # fmt: skip
def test_a_salutation_ends_a_line(written: str, shown: str) -> None:
    text = parse(f"Subject: x\n\n{written}".encode(), "a.eml").text
    assert text == f"# x\n\n{shown}"


@pytest.mark.parametrize(
    "data",
    [
        b"Subject: =?utf-8?q?Lit\nFrom: @@@<<\nDate: yesterday\nContent-Type: multipart/mixed; boundary=\n\nIn 1844.",
        b"Subject: Lit\nContent-Type: text/plain; charset=nonsense\n\nIn 1844.",
        b"Subject: Lit\nContent-Type: multipart/mixed; boundary=x\n\n--x\n\nIn 1844.",
    ],
)
def test_a_malformed_email_is_read_as_far_as_possible(data: bytes) -> None:
    extract = parse(data, "a.eml")
    assert "Lit" in extract.title
    assert extract.date == ""


def test_headings_of_restructured_text_get_the_levels_of_their_underlines() -> None:
    text = (
        "=====\nLight\n=====\n\n:Date: 2021-03-04\n\nKeepers\n-------\n\nAda.\n\nPay\n~~~\nLittle.\n\nLamp\n----\n\n"
        ".. include:: /etc/passwd\n.. raw:: html\n   :file: /etc/passwd\n\nEnd.\n\n------\n\nNo heading\nat all\n--"
    )
    assert parse(text.encode(), "a.rst") == Extract(
        "Light",
        "# Light\n\n:Date: 2021-03-04\n\n## Keepers\n\nAda.\n\n### Pay\n\nLittle.\n\n## Lamp\n\n"
        ".. include:: /etc/passwd\n.. raw:: html\n   :file: /etc/passwd\n\nEnd.\n\n------\n\nNo heading\nat all\n--",
        "2021-03-04",
        date_kind="document",
    )


@given(st.text("ab =-~\n", max_size=80))
def test_no_word_of_restructured_text_is_lost(text: str) -> None:
    shown = parse(f"top\n\n{text}".encode(), "a.rst").text
    assert re.sub("[^ab]", "", shown) == re.sub("[^ab]", "", text)
