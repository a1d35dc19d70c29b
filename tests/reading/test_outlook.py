"""Outlook's mails are read like other e-mails."""

from __future__ import annotations

from datetime import UTC, datetime

import pytest
from hypothesis import given
from hypothesis import strategies as st
from kit.outlook import message_storage, outlook_mail

from deep_research.core.reading.documents.records import Unreadable
from deep_research.core.reading.documents.worker import parse

SUBJECT, SENDER, SENDER_ADDRESS, BODY, HTML, RTF = 0x0037, 0x0C1A, 0x5D01, 0x1000, 0x1013, 0x1009
OFFER = {SUBJECT: "Offer for unit 7", SENDER: "Dana Whitlock", SENDER_ADDRESS: "dana@orrin.example"}
SENT = datetime(2026, 4, 14, 9, 12, tzinfo=UTC)


def test_a_mail_of_outlook_gives_headers_and_text_and_names_its_attachments() -> None:
    data = outlook_mail(
        {**OFFER, BODY: "Dear Owen,\r\nwe offer unit 7 for 2,640 euros.\r\n"},
        sent=SENT,
        recipients=[
            (1, "Owen Carrow", "owen@carrow.example"),
            (2, "Zoë", "zoe@orrin.example"),
            (3, "Hidden", "hidden@orrin.example"),
            (1, "Ada Moran", "/O=ORRIN/OU=EXCHANGE/CN=ADA"),
        ],
        attachments=["plan of unit 7.pdf", message_storage({SUBJECT: "The old offer"})],
    )
    extract = parse(data, "offer.msg")
    assert (extract.title, extract.date, extract.publisher) == (
        "Offer for unit 7",
        "2026-04-14",
        "orrin.example",
    )
    assert extract.text == (
        "# Offer for unit 7\n\n"
        "E-mail: From: Dana Whitlock <dana@orrin.example>; To: Owen Carrow <owen@carrow.example>, "
        "Ada Moran; Cc: Zoë <zoe@orrin.example>; Date: Tue, 14 Apr 2026 09:12:00 +0000\n\n"
        "Dear Owen,\n\nwe offer unit 7 for 2,640 euros.\n\n"
        "Attached: plan of unit 7.pdf, the e-mail 'The old offer'"
    )


def test_the_table_of_a_formatted_mail_of_outlook_is_read() -> None:
    table = "<table><tr><th>Unit</th><th>Rent</th></tr><tr><td>7</td><td>2,640</td></tr></table>"
    page = f"<html><body><p>The rents:</p>{table}{'<p>And so on.</p>' * 400}</body></html>"
    data = outlook_mail({**OFFER, BODY: "The rents: 7 2,640", HTML: page.encode()})
    assert (
        "The rents:\n\n| Unit | Rent |\n| --- | --- |\n| 7 | 2,640 |" in parse(data, "a.msg").text
    )


@pytest.mark.parametrize(
    ("code_page", "encoding", "words"),
    [
        (1252, "cp1252", "Miete für Fläche 7"),
        (1251, "cp1251", "Аренда помещения"),
        (65001, "utf-8", "Čerčany – 7 €"),
        (28592, "iso8859-2", "Čerčany"),
        (932, "cp932", "七号室の賃料"),
    ],
)
def test_texts_in_a_code_page_are_decoded(code_page: int, encoding: str, words: str) -> None:
    texts: dict[int, str | bytes] = {SUBJECT: words.encode(encoding), BODY: words.encode(encoding)}
    data = outlook_mail(texts, code_page=code_page)
    assert parse(data, "a.msg").text == f"# {words}\n\n{words}"


def test_a_text_that_is_only_in_outlooks_own_form_is_noted() -> None:
    extract = parse(outlook_mail({**OFFER, RTF: b"LZFu"}), "a.msg")
    assert extract.text.startswith("# Offer for unit 7") and extract.is_cut
    assert extract.note.endswith("which is not read: save it as .eml")


def test_a_broken_file_is_named() -> None:
    whole = outlook_mail({**OFFER, BODY: "It was lit in 1844. " * 400})
    for data in (b"no mail", whole[:700], whole[:8] + bytes(2000), outlook_mail({})):
        with pytest.raises(Unreadable) as refused:
            parse(data, "a.msg")
        assert refused.value.reason in ("broken", "empty")


@given(st.integers(0, 9000), st.binary(min_size=1, max_size=40))
def test_a_damaged_mail_is_read_or_refused(start: int, damage: bytes) -> None:
    whole = outlook_mail({**OFFER, BODY: "It was lit in 1844. " * 300}, sent=SENT)
    data = whole[:start] + damage + whole[start + len(damage) :]
    try:
        assert parse(data, "a.msg").text
    except Unreadable as refused:
        assert refused.reason in ("broken", "empty")
