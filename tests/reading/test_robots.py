"""What robots.txt forbids."""

from __future__ import annotations

import pytest

from deep_research.core.reading.robots import Robots

AGENT = "deep-research"


@pytest.mark.parametrize(
    ("text", "target", "is_allowed"),
    [
        ("", "/x", True),
        ("User-agent: *\nDisallow:", "/x", True),
        ("User-agent: *\nDisallow: /", "/x", False),
        ("Disallow: /", "/x", True),
        ("USER-AGENT : * # all\n disallow:/private # secret", "/private/x", False),
        ("User-agent: *\nDisallow: /\nAllow: /public", "/public/x", True),
        ("User-agent: *\nAllow: /public\nDisallow: /public/inner", "/public/inner/x", False),
        ("User-agent: *\nDisallow: /page\nAllow: /page", "/page", True),
        ("User-agent: *\nDisallow: /*.pdf$", "/a/b.pdf", False),
        ("User-agent: *\nDisallow: /a*b*c", "/axxbxxc", False),
        ("User-agent: *\nDisallow: /x$", "/xy", True),
        ("User-agent: *\nDisallow: /*?", "/search?q=1", False),
        ("User-agent: *\nDisallow: /häfen", "/h%C3%A4fen/x", False),
        ("User-agent: other\nDisallow: /", "/x", True),
        ("User-agent: Deep-Research/2.0\nDisallow: /", "/x", False),
        ("User-agent: deep-research\nAllow: /\n\nUser-agent: *\nDisallow: /", "/x", True),
        ("User-agent: *\nDisallow: /a\n\nUser-agent: *\nDisallow: /b", "/b", False),
        ("User-agent: *\nCrawl-delay: 9\nSitemap: /s.xml\nDisallow: /b", "/b", False),
    ],
)
def test_the_longest_rule_for_this_reader_decides(text: str, target: str, is_allowed: bool) -> None:
    assert Robots(text, AGENT).allows(target) is is_allowed
