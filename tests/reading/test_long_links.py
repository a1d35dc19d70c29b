"""Links that are too long to be sent or shown are no links."""

from __future__ import annotations

import pytest
import web_pages

from deep_research.core.reading.addresses import ADDRESS_CHARACTERS, parse_address
from deep_research.core.reading.documents.worker import parse
from deep_research.core.reading.records import Unread


@pytest.mark.parametrize("path", ["x" * 1983, "é" * 330, "😀" * 165, "x#" + "quoted " * 300 + "end"])
def test_an_address_is_as_long_as_it_is_sent(path: str) -> None:
    address = parse_address("http://a.example/" + path.replace(" ", "%20"))
    assert len(str(address)) <= ADDRESS_CHARACTERS


@pytest.mark.parametrize("path", ["x" * 1984, "é" * 331, "😀" * 166, "?" + "😀" * 900])
def test_an_address_that_grows_too_long_when_it_is_sent_is_refused(path: str) -> None:
    with pytest.raises(Unread, match="longer than 2000 characters"):
        parse_address("http://a.example/" + path)


def test_links_that_are_too_long_are_left_out() -> None:
    links = (
        f"<a href='/{'😀' * 170}'>Long</a> <a href='/short'>Short</a> http://b.example/{'é' * 400} http://c.example/x"
    )
    page = web_pages.page_of(f"{web_pages.PARAGRAPH}</p><p>{links}</p>").encode()
    found = parse(page, "a", "html", "utf-8", "http://a.example/").links
    assert [link.address for link in found] == ["http://a.example/short", "http://c.example/x"]
