"""Addresses of the same document have the same key."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from deep_research.core.evidence.citations.citing import source_key

PARTS = ["http", "HTTPS", "file", *":/#?&=é[]@ %", "//", "utm_a", "x.COM", ":80"]
odd_addresses = st.text() | st.lists(st.sampled_from(PARTS)).map("".join)


@pytest.mark.behaviour("O-62")
@pytest.mark.parametrize(
    ("address", "key"),
    [
        ("HTTPS://Example.COM/Path", "https://example.com/Path"),
        ("http://example.com:80/a", "http://example.com/a"),
        ("http://example.com:443/a", "http://example.com:443/a"),
        ("https://example.com", "https://example.com/"),
        ("  https://example.com/a #part", "https://example.com/a"),
        ("https://example.com/a/?", "https://example.com/a/"),
        ("https://example.com/a?b=2&a=1&&B=%20+", "https://example.com/a?b=2&a=1&&B=%20+"),
        ("https://example.com/?utm_source=x&id=7&UTM_Medium=y&utm_campaign", "https://example.com/?id=7"),
        ("https://example.com/?gclid=1&fbclid=2", "https://example.com/"),
        ("https://Me:Secret@Example.com/a", "https://Me:Secret@example.com/a"),
        ("https://Bücher.example/ä", "https://xn--bcher-kva.example/ä"),
        ("https://a_b.example/", "https://a_b.example/"),
        ("http://[2001:DB8::1]:8080/a", "http://[2001:db8::1]:8080/a"),
        ("file:///data/My Report?.pdf#page=3", "file:///data/My Report?.pdf"),
        ("ftp://Example.com/A?utm_source=x", "ftp://Example.com/A?utm_source=x"),
        ("http://[x", "http://[x"),
        ("www.Example.com", "www.Example.com"),
        ("", ""),
    ],
)
def test_an_address_becomes_its_key(address: str, key: str) -> None:
    assert source_key(address) == key


def test_tracking_parameters_are_removed() -> None:
    names = (
        "utm_id _ga _gl _hsenc _hsmi dclid fbclid gbraid gclid gclsrc igsh igshid li_fat_id mc_cid mc_eid mkt_tok "
        "msclkid oly_anon_id oly_enc_id srsltid ttclid twclid vero_id wbraid yclid"
    )
    tracked = "".join(f"&{name}=x" for name in names.split())
    assert source_key(f"https://example.com/?a=1{tracked}&b=2") == "https://example.com/?a=1&b=2"


@given(odd_addresses)
def test_a_key_is_its_own_key(address: str) -> None:
    key = source_key(address)
    assert source_key(key) == key
    assert "#" not in key
