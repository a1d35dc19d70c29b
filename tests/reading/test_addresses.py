"""Which web addresses may be read: their syntax, the networks they lead to, and what settings and
robots.txt allow."""

from __future__ import annotations

import ipaddress
import re

import pytest

from deep_research.core.errors import UnknownSetting
from deep_research.core.reading.addresses import (
    ADDRESS_CHARACTERS,
    Unread,
    join_address,
    parse_address,
)
from deep_research.core.reading.policy import (
    NEVER,
    NOT_PUBLIC,
    Network,
    Policy,
    Robots,
    is_public,
)
from deep_research.core.settings.context import Context

NOT_READ = [
    *(
        "0.0.0.0",
        "10.0.0.1",
        "100.64.0.1",
        "127.0.0.1",
        "168.63.129.16",
        "169.254.169.254",
        "172.31.255.255",
    ),
    *(
        "192.168.1.1",
        "240.0.0.1",
        "255.255.255.255",
        "::",
        "::1",
        "::127.0.0.1",
        "::ffff:127.0.0.1",
        "::ffff:8.8.8.8",
    ),
    *(
        "::ffff:0:127.0.0.1",
        "64:ff9b::7f00:1",
        "64:ff9b::808:808",
        "64:ff9b:1::1",
        "2002:a9fe:a9fe::",
        "2001::1",
    ),
    *(
        "2001:0:4136:e378:8000:63bf:3fff:fdd2",
        "fd00:ec2::254",
        "fe80::1",
        "ff02::1",
        "4000::1",
        "3ffe::1",
    ),
]
PUBLIC = [
    "1.1.1.1",
    "100.63.255.255",
    "172.32.0.1",
    "192.0.1.1",
    "223.255.255.255",
    "2606:4700::1111",
    "2a00:1450::1",
]


def refusal(address: str, context: Context | None = None, *ips: str) -> str:
    """The code of the refusal of an address whose name has these IP addresses; empty if it is
    allowed."""
    policy = Policy(context or Context())
    try:
        parts = parse_address(address)
        policy.check_name(parts)
        policy.check_ips(parts, [ipaddress.ip_address(ip) for ip in ips or (parts.host,)])
    except Unread as error:
        assert str(error)
        return error.code
    return ""


@pytest.mark.parametrize(
    ("number", "code"),
    [*((number, "private") for number in NOT_READ), *((number, "") for number in PUBLIC)],
)
@pytest.mark.fault("R3")
def test_no_address_outside_the_public_internet_is_read(number: str, code: str) -> None:
    written = f"[{number}]" if ":" in number else number
    assert refusal(f"http://{written}/") == code
    assert refusal("http://pages.example/", None, number) == code
    assert refusal("https://pages.example/", None, "1.1.1.1", number) == code


@pytest.mark.parametrize("network", [*NOT_PUBLIC, *NEVER], ids=str)
def test_both_ends_of_every_network_of_the_tables_are_refused(network: Network) -> None:
    assert not is_public(network[0])
    assert not is_public(network[-1])


NO_ADDRESSES = [
    *(
        "ftp://a.example/",
        "file:///etc/passwd",
        "javascript:alert(1)",
        "data:text/html,x",
        "//a.example/",
        "a.example",
    ),
    *(
        "http:a.example",
        "http:/a.example",
        "http://",
        "http:///x",
        "http://:80/",
        "http://?x",
        "https://#x",
        "\x01",
    ),
    *(
        "http://user@a.example/",
        "http://user:word@a.example/",
        "http://a.example@127.0.0.1/",
        "http://@a.example/",
    ),
    *(
        "http://a.example\\@127.0.0.1/",
        "http:\\\\a.example",
        "http://a.example/\\x",
        " http://a.example/",
    ),
    *(
        "http://a.example/ x",
        "http://a.exa\tmple/",
        "http://a.example/\r\nHost: b",
        "http://a.example/\x00",
    ),
    *(
        "http://a.example./",
        "http://localhost./",
        "http://127.0.0.1./",
        "http://a..example/",
        "http://.example/",
    ),
    *(
        "http://[fe80::1%25eth0]/",
        "http://[fe80::1%eth0]/",
        "http://[::1",
        "http://::1/",
        "http://[1.2.3.4]/",
    ),
    *(
        "http://a.example:0/",
        "http://a.example:65536/",
        "http://a.example:/",
        "http://a.example:８０/",
    ),
    *(
        "http://a.example:80:80/",
        "http://a%2eexample/",
        "http://127%2e0%2e0%2e1/",
        "http://-a.example/",
    ),
    *(
        "http://a_.-.example/",
        "http://" + "a" * 64 + ".example/",
        "http://" + "a." * 130 + "example/",
    ),
    *(
        "http://a.example/" + "x" * 1984,
        "http://a.example/" + "é" * 331,
        "http://a.example/" + "😀" * 166,
    ),
    *("http://a.example/\ud800", "http://a\u2100b.example/", "http://a，b.example/"),
]
UNUSUAL_NUMBERS = [
    *(
        "2130706433",
        "0x7f000001",
        "0x7f.1",
        "0177.0.0.1",
        "127.1",
        "0",
        "127.0.0.01",
        "1.2.3.4.5",
        "0x",
        "256.1.1.1",
    ),
    *("a.1", "１２７.１", "2130706433."),
]


@pytest.mark.parametrize(
    "text", [*NO_ADDRESSES, *(f"http://{number}/" for number in UNUSUAL_NUMBERS)]
)
@pytest.mark.fault("R1")
def test_an_ambiguous_address_is_refused(text: str) -> None:
    assert refusal(text, None, "1.1.1.1") == "bad address"


@pytest.mark.parametrize(
    ("text", "shown"),
    [
        ("HTTPS://Wiki.Example:443", "https://wiki.example/"),
        ("http://wiki.example:443/a#b", "http://wiki.example:443/a"),
        (
            "https://de.example/wiki/Häfen?q=ö&r=%C3%B6",
            "https://de.example/wiki/H%C3%A4fen?q=%C3%B6&r=%C3%B6",
        ),
        ("https://Bücher.example/", "https://xn--bcher-kva.example/"),
        ("https://exam\u00adple.example/", "https://example.example/"),
        ("http://[2606:4700:0:0::1111]:80/", "http://[2606:4700::1111]/"),
        ("http://my_wiki.example?a=//b@c", "http://my_wiki.example/?a=//b@c"),
        ("https://wiki.example//b/../c", "https://wiki.example//b/../c"),
        ("http://①②⑦.⓪.⓪.①", "http://127.0.0.1/"),
        ("http://127。0。0。1", "http://127.0.0.1/"),
        ("http://１２７.０.０.１", "http://127.0.0.1/"),
    ],
)
def test_an_address_has_one_form(text: str, shown: str) -> None:
    assert str(parse_address(text)) == shown
    assert parse_address(shown) == parse_address(text)


@pytest.mark.fault(30)
@pytest.mark.parametrize(
    ("reference", "joined"),
    [
        ("//other.example/x", "https://other.example/x"),
        ("/x", "https://wiki.example/x"),
        ("x y\n", "https://wiki.example/a/x%20y"),
        ("?page=2", "https://wiki.example/a/b?page=2"),
        ("http://other.example", "http://other.example/"),
    ],
)
def test_a_link_is_resolved_against_the_address_of_its_page(reference: str, joined: str) -> None:
    assert str(join_address("https://wiki.example/a/b?page=1", reference)) == joined


def test_the_length_limit_applies_to_the_address_as_sent() -> None:
    for path in ("x" * 1983, "é" * 330, "😀" * 165, "x#" + "quoted%20" * 300 + "end"):
        assert len(str(parse_address(f"http://a.example/{path}"))) <= ADDRESS_CHARACTERS


@pytest.mark.parametrize(
    "reference", ["/\\other.example", "http://[", "\x7f", "file:///x", "//user@b.example"]
)
def test_an_ambiguous_link_is_refused(reference: str) -> None:
    with pytest.raises(Unread) as caught:
        join_address("https://wiki.example/a/b", reference)
    assert caught.value.code == "bad address"


@pytest.mark.parametrize(
    ("entries", "address", "numbers", "code"),
    [
        (["10.1.0.0/16"], "http://10.1.2.3/", [], ""),
        (["10.1.0.0/16"], "http://10.2.2.3/", [], "private"),
        (["10.1.0.0/16"], "http://wiki.example/", ["10.1.2.3"], ""),
        (["10.1.0.0/16"], "http://wiki.example/", ["10.1.2.3", "10.2.2.3"], "private"),
        (["10.1.0.0/16"], "http://10.1.2.3:8080/", [], "bad address"),
        (["10.1.0.0/16:8080"], "http://10.1.2.3:8080/", [], ""),
        (["10.1.0.0/16:8080"], "http://10.1.2.3/", [], "private"),
        (["127.0.0.1:8080"], "http://public.example:8080/", ["1.1.1.1"], "bad address"),
        (["127.0.0.1"], "http://[::ffff:127.0.0.1]/", [], "private"),
        (["[::1]:8080"], "http://[::1]:8080/", [], ""),
        (["[fd00::/8]:8080"], "http://[fd12::1]:8080/", [], ""),
        (["Wiki.Example"], "https://wiki.example/", ["192.168.7.7"], ""),
        (["wiki.example"], "https://inner.wiki.example/", ["192.168.7.7"], "private"),
        (["wiki.example:8443"], "https://other.example:8443/", ["192.168.7.7"], "private"),
        (
            ["wiki.example", "0.0.0.0/0", "::/0"],
            "http://wiki.example/",
            ["169.254.169.254"],
            "private",
        ),
        (["wiki.example"], "http://wiki.example/", ["::ffff:169.254.169.254"], "private"),
        (["wiki.example", "::/0"], "http://wiki.example/", ["64:ff9b::a9fe:a9fe"], "private"),
        (["wiki.example", "::/0"], "http://wiki.example/", ["2002:a9fe:a9fe::"], "private"),
        (["100.64.0.0/10", "fc00::/7"], "http://100.100.100.200/", [], "private"),
        (["fd00::/8"], "http://[fd00:ec2::23]/", [], "private"),
        (["wiki.example", "::/0"], "http://wiki.example/", ["::ffff:0:169.254.169.254"], "private"),
        (["wiki.example", "::/0"], "http://wiki.example/", ["64:ff9b:1:a9fe:a9:fe00::"], "private"),
        (["wiki.example", "::/0"], "http://wiki.example/", ["64:ff9b:1:a9:fe:a9fe::"], "private"),
        (
            ["wiki.example", "::/0"],
            "http://wiki.example/",
            ["64:ff9b:1::a9:fea9:fe00:0"],
            "private",
        ),
        (["wiki.example", "::/0"], "http://wiki.example/", ["64:ff9b:1::a9fe:a9fe"], "private"),
        (["::/0"], "http://[64:ff9b:1::a00:1]/", [], "private"),
        (["wiki.example", "0.0.0.0/0"], "http://wiki.example/", ["168.63.129.16"], "private"),
        (["true"], "http://127.0.0.1/", [], "private"),
    ],
)
@pytest.mark.fault("R4")
def test_an_entry_of_allow_private_opens_nothing_else(
    entries: list[str], address: str, numbers: list[str], code: str
) -> None:
    assert refusal(address, Context(allow_private=tuple(entries)), *numbers) == code


NO_ENTRIES = [
    *(
        "10.1.0.0/33",
        "10.1.2.3/16",
        "http://wiki.example",
        "wiki.example/x",
        "wiki.example:0",
        "wiki.example:99999",
    ),
    *(
        "wiki.example:x",
        "[::1",
        "::1]:80",
        "127.1",
        "a b",
        "169.254.169.254",
        "fe80::/64",
        "168.63.129.16:80",
    ),
    "64:ff9b:1::/48",
]


@pytest.mark.parametrize("entry", NO_ENTRIES)
def test_a_malformed_entry_of_allow_private_is_an_unknown_setting(entry: str) -> None:
    with pytest.raises(UnknownSetting, match="allow_private"):
        Policy(Context(allow_private=(entry,)))


def test_further_ports_are_read_where_the_setting_names_them() -> None:
    assert refusal("http://pages.example:8080/", None, "1.1.1.1") == "bad address"
    assert refusal("http://pages.example:8080/", Context(ports=(80, 8080)), "1.1.1.1") == ""
    assert (
        refusal("http://pages.example:8080/", Context(ports=(80, 8080)), "127.0.0.1") == "private"
    )


@pytest.mark.parametrize(
    ("host", "allow", "deny", "code"),
    [
        ("wiki.example", ["wiki.example"], [], ""),
        ("de.wiki.example", ["*.wiki.example"], [], ""),
        ("mywiki.example", ["wiki.example"], [], "denied domain"),
        ("other.example", ["Wiki.example"], [], "denied domain"),
        ("spam.example", [], [".spam.example"], "denied domain"),
        ("a.spam.example", ["spam.example"], ["a.spam.example"], "denied domain"),
        ("xn--bcher-kva.example", [], ["bücher.example"], "denied domain"),
    ],
)
def test_domains_are_allowed_and_denied_with_their_subdomains(
    host: str, allow: list[str], deny: list[str], code: str
) -> None:
    context = Context(domains_allow=tuple(allow), domains_deny=tuple(deny))
    assert refusal(f"https://{host}/", context, "1.1.1.1") == code


NO_DOMAINS = [
    *(
        "127.0.0.1:99999",
        "wiki.example:8080",
        "https://wiki.example/docs",
        "wiki.example?x",
        "user@wiki.example",
    ),
    *(
        "",
        " ",
        "*",
        "*.",
        "https://",
        "ftp://wiki.example",
        "a*.example",
        "127.1",
        "a b",
        "//wiki.example",
    ),
]


@pytest.mark.parametrize("setting", ["domains_allow", "domains_deny"])
def test_a_malformed_domain_is_an_unknown_setting(setting: str) -> None:
    for entry in NO_DOMAINS:
        with pytest.raises(
            UnknownSetting, match=f"{setting}: {re.escape(repr(entry))} is not a domain"
        ):
            Policy(Context.model_validate({setting: ("wiki.example", entry)}))


def test_the_forms_of_a_domain_mean_one_host() -> None:
    forms = [
        "https://Example.org/",
        " http://.example.org./ ",
        "*.example.org",
        ".example.org",
        "*.example.org/",
    ]
    assert set(Policy(Context(domains_allow=tuple(forms))).allowed) == {"example.org"}
    hosts = ("xn--bcher-kva.example", "::1", "127.0.0.1")
    policy = Policy(Context(domains_deny=("bücher.example", "[::1]", "127.0.0.1")))
    assert policy.denied == hosts


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
def test_the_longest_rule_of_robots_txt_for_this_agent_decides(
    text: str, target: str, is_allowed: bool
) -> None:
    assert Robots(text, "deep-research").allows(target) is is_allowed
