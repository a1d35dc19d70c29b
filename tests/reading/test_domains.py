"""Which domains the settings allow and deny, in the forms in which people write them."""

from __future__ import annotations

import re

import pytest

from deep_research.core.reading.addresses import parse_address
from deep_research.core.reading.policy import Policy, check_policy, domains_of
from deep_research.core.reading.records import Unread
from deep_research.core.run.context import Context
from deep_research.core.run.errors import UnknownSetting


def refusal(context: Context, address: str) -> str:
    try:
        Policy(context).check_name(parse_address(address))
    except Unread as error:
        return error.code
    return ""


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
    assert refusal(context, f"https://{host}/") == code


NO_DOMAINS = [
    *("127.0.0.1:99999", "wiki.example:8080", "https://wiki.example/docs", "wiki.example?x", "user@wiki.example"),
    *("", " ", "*", "*.", "https://", "ftp://wiki.example", "a*.example", "127.1", "a b", "//wiki.example"),
]


@pytest.mark.parametrize("setting", ["domains_allow", "domains_deny"])
def test_a_domain_that_is_none_is_a_mistake_of_the_user(setting: str) -> None:
    for entry in NO_DOMAINS:
        with pytest.raises(UnknownSetting, match=f"{setting}: {re.escape(repr(entry))} is not a domain"):
            check_policy(Context.model_validate({setting: ("wiki.example", entry)}))


def test_the_forms_of_a_domain_mean_one_host() -> None:
    forms = ["https://Example.org/", " http://.example.org./ ", "*.example.org", ".example.org", "*.example.org/"]
    assert set(domains_of("domains_allow", forms)) == {"example.org"}
    assert domains_of("domains_deny", ["bücher.example", "[::1]", "127.0.0.1"]) == (
        "xn--bcher-kva.example",
        "::1",
        "127.0.0.1",
    )
