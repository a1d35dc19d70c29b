"""Versions among what a search of the documents finds, and in what the models make of them."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path

import pytest
from extracting import exchange, model, reminder
from extractive_forms import fill_in
from langchain_core.messages import BaseMessage, HumanMessage, SystemMessage
from shelf import Place

from deep_research.evidence.noticing import notice_contradictions
from deep_research.evidence.repeated import without_repeated
from deep_research.knowledge import Learning, Source, merge_sources
from deep_research.models.extractive.reading import documents_in
from deep_research.tools.index_shelf import MOST_AKIN
from deep_research.tools.library import Library
from deep_research.tools.outcome import Hit, Outcome
from deep_research.tools.results import read_results, write_results

QUESTION = "What does a locker cost?"
DESK = "Guests pay at the desk before they swim."
NOTE = "This price list supersedes the 2024 edition."
PRICES = {
    "prices-2024.md": f"# Basin prices 2024\n\nA locker costs 1 crown. {DESK}\n",
    "prices-2026.md": f"# Basin prices 2026\n\nA locker costs 3 crowns. {DESK} {NOTE}\n",
}
TIDES = {f"tide-{day}.md": f"# Tides of day {day}\n\nHigh water stood at {day} o'clock.\n" for day in range(1, 9)}


def library(folder: Path, files: Mapping[str, str], **limits: float) -> Library:
    docs = folder / "docs"
    for name, text in files.items():
        file = docs / name
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_text(text, encoding="utf-8")
    return Place(docs, folder / "data").indexed(**limits)


@pytest.fixture(scope="module")
def prices(tmp_path_factory: pytest.TempPathFactory) -> Library:
    return library(tmp_path_factory.mktemp("prices"), PRICES | TIDES)


def shown(documents: Library, question: str = QUESTION) -> list[tuple[str, str]]:
    """The files of the passages in their order, each with the file that is in force in its place."""
    found = documents.follow(question, 25)
    return [(_name(one.source.key), _name(one.source.superseded_by)) for one in found if "tide" not in one.source.key]


def _name(key: str) -> str:
    return key.rpartition("/docs/")[2]


def test_what_is_in_force_comes_first_and_what_is_outdated_says_what_replaces_it(prices: Library) -> None:
    found = shown(prices)
    assert found == [("prices-2026.md", ""), ("prices-2024.md", "prices-2026.md")]


def test_the_version_that_the_question_asks_for_comes_first(prices: Library) -> None:
    found = shown(prices, "What did a locker cost in 2024?")
    assert found == [("prices-2024.md", "prices-2026.md"), ("prices-2026.md", "")]


def test_the_version_in_force_is_found_even_where_only_an_outdated_one_has_the_words(tmp_path: Path) -> None:
    renamed = PRICES["prices-2026.md"].replace("A locker costs 3 crowns.", "Boxes for clothes: 3 crowns.")
    found = shown(library(tmp_path, TIDES | PRICES | {"prices-2026.md": renamed}), "locker")
    assert found == [("prices-2026.md", ""), ("prices-2024.md", "prices-2026.md")]


def test_of_a_long_document_the_passage_in_place_of_the_outdated_one_is_shown(tmp_path: Path) -> None:
    filler = "\n\n".join(f"Rule {number} speaks of towels, benches and the {number}. lamp." * 8 for number in range(30))
    long = PRICES["prices-2026.md"].replace("A locker", f"{filler}\n\n## Lockers\n\nA box for clothes, or a locker,")
    [first, *_] = library(tmp_path, TIDES | PRICES | {"prices-2026.md": long}).follow(QUESTION, 25)
    assert "locker, costs 3 crowns" in first.text


def tariff(year: int) -> str:
    berths = "Berths are let by the harbour master, who takes the money at the quay before a ship is moored."
    return f"# Harbour tariff {year}\n\nA berth costs {year - 1900} crowns a night. {berths}\n"


@pytest.mark.parametrize(
    ("question", "first"),
    [("What does a berth cost?", 2026), ("berth", 2026), ("What did a berth cost in the edition of 1970?", 1970)],
)
def test_of_any_number_of_editions_the_newest_is_in_force(tmp_path: Path, question: str, first: int) -> None:
    files = {f"tariff-{year}.md": tariff(year) for year in range(1940, 2027)}
    found = shown(library(tmp_path, files), question)
    assert found[0][0] == f"tariff-{first}.md"
    assert {newest for name, newest in found if name != "tariff-2026.md"} == {"tariff-2026.md"}


def test_of_more_editions_than_can_be_looked_at_none_is_said_to_be_in_force(tmp_path: Path) -> None:
    files = {f"tariff-{number}.md": tariff(2026 - number % 60) for number in range(MOST_AKIN + 1)}
    files = {name: text.replace("a night", f"at quay {number}") for number, (name, text) in enumerate(files.items())}
    found = shown(library(tmp_path, files), "What does a berth cost?")
    assert len(found) > 20
    assert {newest for _, newest in found} == {""}


@pytest.mark.parametrize("title", ["Basin prices 2024", "The basin's prices 2024"])
def test_a_document_that_names_the_one_it_replaces_is_found_by_that_name(tmp_path: Path, title: str) -> None:
    new = f"# A visit to the basin\n\nA cupboard is 3 crowns. This leaflet replaces {title}.\n"
    old = PRICES["prices-2024.md"].replace("Basin prices 2024", title)
    files = TIDES | {"prices-2024.md": old, "visit.md": new}
    found = shown(library(tmp_path, files), "locker")
    assert found == [("visit.md", ""), ("prices-2024.md", "visit.md")]


def test_a_reprint_is_shown_once_and_a_text_with_another_figure_twice(tmp_path: Path) -> None:
    same = {"gazette.md": f"# Gazette\n\n{STORY}\n", "herald.md": f"# Herald\n\n{STORY}\n"}
    other = {"courier.md": f"# Courier\n\n{STORY.replace('400', '900')}\n"}
    files = [name for name, _ in shown(library(tmp_path, TIDES | same | other), "Who opened the basin?")]
    assert len(files) == 2
    assert "courier.md" in files


def test_a_model_reads_the_number_of_the_document_in_force() -> None:
    def hit(key: str, superseded_by: str = "") -> Hit:
        source = Source(key=key, title=key, location=key, address=key, kind="document", superseded_by=superseded_by)
        return Hit(source, key, "")

    outcome = Outcome((hit("new"), hit("old", "new"), hit("lost", "elsewhere")))
    new, old, lost = read_results(write_results(outcome, {"new": 1, "old": 2, "lost": 3}))
    assert old["superseded_by"] == 1
    assert "superseded_by" not in new
    assert "superseded_by" not in lost


STORY = (
    "On a rainy day in May the mayor opened the basin, and 400 guests swam in it before the lamps of it were lit, "
    "while Ada Lindqvist, who had built it in two long and stormy years, stood at the desk and sold the tickets."
)


@pytest.mark.parametrize(
    ("texts", "kept"),
    [
        (("It is tall.", "It is tall."), 1),
        (("It is tall.", "It is wide."), 2),
        (("Anna lives in the white house on the hill.", "Berta lives in the white house on the hill."), 2),
        ((STORY, f"The town reports. {STORY}"), 1),
        ((f"The town reports. {STORY}", STORY), 1),
        ((STORY, STORY.replace("400", "900")), 2),
        ((STORY, STORY.replace("Ada", "Ida")), 2),
        ((STORY, STORY + " ".join(f" A further sentence tells of lamp {number}." for number in range(9))), 2),
        (("", ""), 1),
    ],
)
def test_a_text_is_left_out_if_one_before_it_says_the_same_of_the_same_names_and_figures(
    texts: tuple[str, ...], kept: int
) -> None:
    assert without_repeated(texts, str) == list(texts[:kept])


def searched_for(prices: Library, question: str) -> list[BaseMessage]:
    hits = [Hit(one.source, one.text, one.text) for one in prices.follow(question, 25)]
    keys = dict.fromkeys(hit.source.key for hit in hits)
    reply = write_results(Outcome(tuple(hits)), {key: number for number, key in enumerate(keys, 1)})
    return exchange("internal_search", reply, queries=["x"])


def test_a_step_of_a_plan_learns_nothing_from_an_outdated_version(prices: Library) -> None:
    learned = fill_in("record_learnings", QUESTION, searched_for(prices, QUESTION)).learnings
    texts = [fact.text for fact in learned]
    assert "A locker costs 3 crowns." in texts
    assert "A locker costs 1 crown." not in texts


def finding(prices: Library, question: str) -> str:
    searched = searched_for(prices, question)
    messages = [SystemMessage("Write."), HumanMessage(question), *searched, reminder()]
    return str(model("researcher").invoke(messages).text)


def test_a_finding_answers_from_the_version_in_force_and_tells_the_outdated_value_apart(prices: Library) -> None:
    answer, *_, last = finding(prices, QUESTION).split("\n\n")
    assert answer.startswith("A locker costs 3 crowns. [1]")
    assert last == "Outdated: A locker costs 1 crown. [2]"


def test_a_finding_on_an_outdated_version_answers_from_it_and_from_it_alone(prices: Library) -> None:
    text = finding(prices, "What did a locker cost in the 2024 edition of the basin prices?")
    assert "A locker costs 1 crown. [1]" in text.split("\n\n")[0]
    assert "3 crowns" not in text


def report(*findings: str, language: str = "English") -> str:
    research = [
        message
        for number, text in enumerate(findings)
        for message in exchange("research_agent", text, f"c{number}", task="t")
    ]
    last = reminder(f"<plan>\n1. {QUESTION}\n</plan>")
    prompt = [SystemMessage(f"Write.\n- Write in {language}."), HumanMessage(QUESTION), *research, last]
    return str(model("writer").invoke(prompt).text)


def test_a_report_marks_what_is_outdated_in_a_section_of_its_own(prices: Library) -> None:
    parts = report(finding(prices, QUESTION), language="German").split("\n\n")
    assert "3 crowns" in parts[0]
    assert parts[-2:] == ["## Veraltete Fassungen", "- A locker costs 1 crown. [2] *(veraltet)*"]
    assert "1 crown" not in "".join(parts[:-2])


def test_an_outdated_sentence_that_has_nothing_to_do_with_the_answer_is_left_out() -> None:
    text = report("A locker costs 3 crowns. [1]\n\nOutdated: The basin opens at nine in winter. [2]")
    assert "Outdated" not in text
    assert "[2]" not in text


def test_a_document_that_was_opened_stays_outdated_to_its_reader_and_in_the_list_of_sources(prices: Library) -> None:
    old = next(one.source for one in prices.follow(QUESTION, 25) if one.source.superseded_by)
    opened = old.model_copy(update={"superseded_by": "", "judged_at": "", "read_at": "2099-01-01"})
    assert merge_sources({old.key: old}, {old.key: opened})[old.key].superseded_by == old.superseded_by
    found = [Hit(one.source, one.text, one.text) for one in prices.follow(QUESTION, 25)]
    numbers = {key: number for number, key in enumerate(dict.fromkeys(hit.source.key for hit in found), 1)}
    searched = exchange("internal_search", write_results(Outcome(tuple(found)), numbers), "s1", queries=["x"])
    read = exchange("open_url", write_results(Outcome((Hit(opened, "All of it.", ""),)), numbers), "s2", urls=["y"])
    documents = {one.number: one.superseded_by for one in documents_in([*searched, *read])}
    assert documents[numbers[old.key]] == numbers[old.superseded_by]


def test_what_was_decided_since_is_no_draft_any_more_in_a_thread_that_goes_on(tmp_path: Path) -> None:
    place = Place(tmp_path / "papers", tmp_path / "data")
    place.docs.mkdir()
    question = "How much is refunded for meals on a journey?"
    rules = "# Travel rules\n\n{status}\n\nMeals are refunded up to 480 kroner a day on each journey.\n"

    def found(status: str, at: str) -> dict[str, Source]:
        (place.docs / "rules.md").write_text(rules.format(status=status))
        [one, *_] = place.indexed().follow(question, 5)
        return {one.source.key: one.source.model_copy(update={"read_at": at, "judged_at": at})}

    draft, decided = found("Status: draft", "2031-05-06"), found("Status: decided", "2031-05-07")
    assert [one.is_draft for sources in (draft, decided) for one in sources.values()] == [True, False]
    for sources in (merge_sources(draft, decided), merge_sources(decided, draft)):
        assert [one.is_draft for one in sources.values()] == [False]


def test_an_outdated_claim_is_no_contradiction_of_a_current_one() -> None:
    def learning(text: str, source: str) -> Learning:
        return Learning(text=text, source=source, step="s", question_id="q")

    def source(key: str, superseded_by: str = "") -> Source:
        return Source(key=key, title=key, location=key, address=key, kind="web", superseded_by=superseded_by)

    said = [learning("The Skerry Light was lit in 1844.", "one"), learning("The Skerry Light was lit in 1846.", "two")]
    learnings = {one.id: one for one in said}
    current = {"one": source("one"), "two": source("two")}
    assert len(notice_contradictions(learnings, {}, current, "q", 0)) == 1
    assert notice_contradictions(learnings, {}, current | {"one": source("one", "three")}, "q", 0) == {}
