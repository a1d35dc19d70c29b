"""What a web page states about itself: its publisher, the kind of publisher, and its date with the
kind of date."""

from __future__ import annotations

import json
from datetime import date

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from deep_research.core.reading.documents._parse_html import SIGNS_IN_WORDS
from deep_research.core.reading.documents.records import Extract, Sign
from deep_research.core.reading.documents.worker import parse

TODAY = "2026-11-29"
ADDRESS = "https://www.skerry-light.example/news/lamp"
STORY = "<p>The keeper lit the lamp every evening of the year.</p>" * 12
OTHERS = "<aside><p>12 March 2019</p><p>Published 4 May 2018</p></aside>"
COMMENTS = "<div class='comments'><p>Anna, 9 June 2025</p></div>"
MENU = "<nav><a href='/'>Home</a> <span>28 November 2026</span></nav>"


def page(
    below: str, head: str = "", above: str = "", end: str = "", address: str = ADDRESS
) -> Extract:
    """The facts of a page with these parts above and below its title."""
    html = (
        f"<html><head><title>The new lamp</title>{head}</head><body>{MENU}{above}<h1>The new lamp</h1>"
        f"{below}{STORY}{COMMENTS}{OTHERS}{end}<footer>© 2017-2026 Skerry Light</footer></body></html>"
    )
    return parse(html.encode(), "lamp.html", address=address, today=TODAY)


def linked(**fields: object) -> str:
    return f"<script type='application/ld+json'>{json.dumps(fields)}</script>"


def dated(extract: Extract) -> tuple[str, str]:
    """Date and kind, `update` for that of an update."""
    return extract.date, "update" if extract.is_update else extract.date_kind


MODIFIED = "<meta property='article:modified_time' content='2026-03-05T10:00:00Z'>"
ARTICLE = linked(**{"@type": "NewsArticle", "datePublished": "2024-02-03T23:30:00-05:00"})


@pytest.mark.parametrize(
    ("below", "head", "found"),
    [
        # Forms in which readers see a date.
        ("<p>Published 3 February 2024</p>", "", ("2024-02-03", "publication")),
        ("<p>Published</p><p>|</p><p>Feb 3, 2024</p>", "", ("2024-02-03", "publication")),
        ("<p>Last updated: 3 February 2024</p>", "", ("2024-02-03", "update")),
        ("<p>Stand: 03.02.2024 18:00 Uhr</p>", "", ("2024-02-03", "as_of")),
        ("<p>Harbour Office, 3 February 2024</p>", "", ("2024-02-03", "document")),
        ("<p>03.02.24, 12:00 Uhr</p>", "", ("2024-02-03", "document")),
        ("<p>News | 3 February 2024 | 5 min read</p>", "", ("2024-02-03", "document")),
        ("<p>By Ann Ames</p><p>Feb 3, 2024, 11:47am EST</p>", "", ("2024-02-03", "document")),
        ("<p>Oban, (3.2.2024). The lamp is lit.</p>", "", ("2024-02-03", "document")),
        ("<p><time datetime='2024-02-03T10:00'>two days ago</time></p>", "", ("2024-02-03", "document")),
        ("<p>Harbour Office, news for ships Published 3 February 2024</p>", "", ("2024-02-03", "publication")),
        ("<p>Published February 2024</p>", "", ("2024-02", "publication")),
        ("<p>Building of the lamp, February 2024</p>", "", ("", "")),
        # Bylines: names, kinds of document, and a day or a month.
        ("<p>Skerry Board, advice for keepers, 3 February 2024</p>", "", ("2024-02-03", "document")),
        ("<p>By Ann Ames, for Skerry Daily, 3 February 2024.</p>", "", ("2024-02-03", "document")),
        ("<p>Lights Board (LB). February 2024</p>", "", ("2024-02", "document")),
        ("<p>Leaflet, February 2024 | checked by Ann Ames</p>", "", ("2024-02", "document")),
        ("<p>Lights Board · Release 2/2024 · 3 February 2024 · Next release 4 May 2024</p>", "", ("2024-02-03", "document")),
        ("<p>2 February 2024, Oban. Record published 3 February 2024 by the Clerk</p>", "", ("2024-02-03", "publication")),
        ("<p>Lights Board, rules. Version 2, in force since 3 February 2024</p>", "", ("", "")),
        ("<p>lights.example > Lamps. Started 3 February 2024</p>", "", ("", "")),
        ("<p>Lights Board, report 2024/02</p>", "", ("", "")),
        ("<p>Skerry Fair, 3 to 5 February 2024</p>", "", ("", "")),
        # Two dates, and data that confirm what a reader sees.
        (
            "<p>3 Feb 2024, 10:00 PM / Updated 5 Feb 2024</p>",
            ARTICLE,
            ("2024-02-03", "publication"),
        ),
        ("<p>Updated 5 July 2024</p>", ARTICLE, ("2024-07-05", "update")),
        ("<p>5 March 2026</p>", ARTICLE + MODIFIED, ("2026-03-05", "update")),
        ("<p>Posted 3 May 2019</p><p>Updated 5 May 2025</p>", "", ("2025-05-05", "update")),
        ("", ARTICLE, ("2024-02-03", "publication")),
        # Days that are not those of the page.
        ("<p>Deadline</p><p>3 February 2024</p>", "", ("", "")),
        ("<p>Next announcement: 3 February 2024</p>", "", ("", "")),
        ("<p>3 February 2024 – 5 February 2024</p>", "", ("", "")),
        ("<p>The lamp failed on 3 February 2024 in a storm.</p>", "", ("", "")),
        ("<p>3 Feb 2024</p><p>4 Feb 2024</p><p>5 Feb 2024</p>", "", ("", "")),
        ("<p>02/03/2024</p>", "", ("", "")),
        ("<p>3 February 2099</p>", "", ("", "")),
        ("", MODIFIED, ("", "")),
        ("", linked(**{"@type": "WebPage", "datePublished": "2024-02-03"}), ("", "")),
    ],
)  # fmt: skip
def test_a_page_has_the_date_that_its_readers_see_with_its_kind(
    below: str, head: str, found: tuple[str, str]
) -> None:
    assert dated(page(below, head)) == found


@settings(max_examples=10)
@given(
    st.dates(date(1996, 1, 1), date(2026, 11, 28)),
    st.sampled_from(("{0:%B} {0.day}, {0.year}", "{0.day}. {0:%b} {0.year}", "{0:%Y-%m-%d}")),
    st.sampled_from((("Published {}", "publication"), ("Updated on {}", "update"), ("{}", "document"))),
)  # fmt: skip
def test_a_day_below_the_title_is_read_in_all_forms(
    day: date, form: str, label: tuple[str, str]
) -> None:
    words, kind = label
    assert dated(page(f"<p>{words.format(form.format(day))}</p>")) == (day.isoformat(), kind)


def test_the_order_of_day_and_month_follows_from_the_pages_data_or_country() -> None:
    numbers = "<p>02/03/2024</p>"
    assert page(numbers, ARTICLE.replace("2024-02-03T23", "2024-03-02T09")).date == "2024-03-02"
    assert page(numbers, address="https://light.co.uk/lamp").date == "2024-03-02"
    american = numbers.replace("<p>", "<p lang='en-US'>")
    html = f"<html lang='en-US'><title>The new lamp</title><h1>The new lamp</h1>{american}{STORY}"
    assert parse(html.encode(), "a.html", address=ADDRESS, today=TODAY).date == "2024-02-03"


def test_a_front_page_a_product_and_a_list_have_no_date_that_only_their_data_state() -> None:
    published = "<meta property='article:published_time' content='2024-02-03'>"
    assert page("", published).date == "2024-02-03"
    assert page("", published, address="https://www.skerry-light.example/").date == ""
    assert page("", published + linked(**{"@type": "Product", "name": "Lamp"})).date == ""


def test_a_text_page_has_the_date_of_its_byline() -> None:
    text = (
        "Rules for lamps\n\nLights Board, leaflets, No. 7. {} The lamp was lit on 2 March 2020.\n"
    )
    found = []
    for words in ("Issued 3 February 2024", "3 February 2024", "In force since 3 February 2024"):
        data = (text.format(words) + "The keeper lit it.\n" * 12).encode()
        found.append(dated(parse(data, "a.txt", address=f"{ADDRESS}.txt", today=TODAY)))
    assert found == [("2024-02-03", "document"), ("2024-02-03", "document"), ("", "")]


def test_a_thread_has_the_date_of_its_first_post() -> None:
    post = {"@type": "DiscussionForumPosting", "datePublished": "2024-02-03"}
    thread = page("<p>Last post 5 May 2025</p><p>#1 · Feb 3, 2024</p>", linked(**post))
    assert (thread.date, thread.origin) == ("2024-02-03", "forum")


@pytest.mark.parametrize(
    ("title", "head", "publisher"),
    [
        ("Lamp", "<meta property='og:site_name' content='Skerry Light - Since 1844'>", "Skerry Light"),
        ("Lamp", linked(publisher={"@type": "Organization", "name": "Lights Board"}), "Lights Board"),
        (
            "Lamp",
            linked(**{"@graph": [{"publisher": {"@id": "#us"}}, {"@id": "#us", "name": "Us"}]}),
            "Us",
        ),
        ("Lamp | Skerry Light", "", "Skerry Light"),
        ("Lamp | All on lamps", "<meta name='author' content='Ann Ames'>", ""),
        ("Lamp", "<meta name='author' content='Skerry Light Trust'>", "Skerry Light Trust"),
        ("Lamp", "<meta property='og:site_name' content='https://a.example/b'>", ""),
    ],
)  # fmt: skip
def test_a_publisher_is_named_as_the_page_proves_it(title: str, head: str, publisher: str) -> None:
    html = (
        f"<html><head><title>{title}</title>{head}</head><body><h1>Lamp</h1>{STORY}</body></html>"
    )
    assert parse(html.encode(), "lamp.html", address=ADDRESS).publisher == publisher


def test_a_mark_of_copyright_names_the_publisher() -> None:
    assert page("").publisher == "Skerry Light"


@given(st.data(), st.sampled_from(sorted(SIGNS_IN_WORDS)))
@settings(max_examples=60, deadline=None)
def test_whatever_a_sign_matches_has_a_word_that_it_needs(data: st.DataObject, sign: Sign) -> None:
    needed, pattern = SIGNS_IN_WORDS[sign]
    words = data.draw(st.from_regex(pattern, fullmatch=True))
    assert any(word in words for word in needed), words
