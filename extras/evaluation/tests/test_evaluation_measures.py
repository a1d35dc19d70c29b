"""The measures of an evaluation: answers in texts, citations, abstentions, and intervals."""

from __future__ import annotations

import statistics
from typing import Any

import pytest
from hypothesis import assume, example, given
from hypothesis import strategies as st

from deep_research.core.evidence.citations.labels import Labels, all_labels
from deep_research_evaluation.intervals import bootstrap, estimate, quantile, sign_test, wilson
from deep_research_evaluation.measures import measure_report
from deep_research_evaluation.questions import Question
from deep_research_evaluation.reports import Cited, Report
from deep_research_evaluation.wording import (
    LEAD_WORDS,
    abstains,
    contains_answer,
    lead,
    normalized,
    without_question,
    words_of,
)

WORDS = st.text(st.sampled_from("abcéßİ the-東京ŁㅎÅ.,' 12"), min_size=1, max_size=12)
DOCUMENTS = ("one.md", "two.md", "inner/three.txt")


def report(text: str, *paths: str) -> Report:
    sources = tuple(Cited(n=number, path=path, title=path) for number, path in enumerate(paths, 1))
    return Report(id="1", question="Where was it?", seconds=2.5, text=text, sources=sources)


def question(**known: Any) -> Question:
    return Question.model_validate({"id": "1", "question": "Where was it?", **known})


@given(st.text())
@example("ℌ℡ ﬁ İ ŉ ᾳ")
def test_normalizing_twice_changes_nothing_more(text: str) -> None:
    assert normalized(normalized(text)) == normalized(text)


@given(st.lists(WORDS), WORDS, st.lists(WORDS))
def test_an_answer_is_found_between_any_words(
    before: list[str], answer: str, after: list[str]
) -> None:
    assume(normalized(answer))
    assert contains_answer(
        " ".join([*before, answer.upper() if answer.isascii() else answer, *after]),
        ["nowhere", answer],
    )


@pytest.mark.parametrize(
    ("text", "answer", "is_there"),
    [
        ("It is in São Tomé.", "sao tome", True),
        ("It is in The Hague!", "Hague", True),
        ("He lives in Romania.", "Roman", False),
        ("It cost 1,500 euros.", "1500", False),
        ("It cost 1,500 euros.", "1.500", True),
        ("首都は東京です。", "東京", True),
        ("It was built off the North-Western coast.", "off north - western coast", True),
        ("Nothing.", "...", False),
        ("Nothing.", "the", False),
    ],
)
def test_an_answer_counts_as_whole_words_without_accents_and_articles(
    text: str, answer: str, is_there: bool
) -> None:
    assert contains_answer(text, [answer]) is is_there


def test_the_lead_counts_words_without_headings_and_citations() -> None:
    text = "# A heading of five words\n\n" + "word [1] " * (LEAD_WORDS - 1) + "last [2] beyond"
    assert lead(text).split() == ["word"] * (LEAD_WORDS - 1) + ["last"]
    assert len(words_of("首都 は [12] Tokyo")) == 4


def test_a_question_that_is_repeated_does_not_answer_itself() -> None:
    asked = "Is Ada or  Bob older?"
    remaining = without_question("## Is Ada or\nbob older\n\nNobody knows.", asked)
    assert not contains_answer(remaining, ["Ada"])
    assert contains_answer(without_question(f"{asked} Ada is.", asked), ["Ada"])


def test_an_answer_is_grounded_only_in_a_passage_that_cites_a_document_stating_it() -> None:
    known = question(answers=["Rome"], gold_docs=["one.md", "two.md"], answer_docs=["two.md"])
    texts = {
        "It was Rome [2].": 1.0,
        "It was Rome [1].": 0.0,
        "It was Rome [1, 2].": 1.0,
        "It was Rome.\n\nIt was old [2].": 0.0,
        "Listed:\n- Rome [1]\n- old [2]": 0.0,
        "Listed:\n- Rome [2]\n- old [1]": 1.0,
        "It was old [2]. It was Rome.": 1.0,
    }
    found = {
        text: measure_report(known, report(text, *DOCUMENTS))["answer_grounded"] for text in texts
    }
    assert found == texts
    anywhere = known.model_copy(update={"answer_docs": ()})
    assert (
        measure_report(anywhere, report("It was Rome [1].", *DOCUMENTS))["answer_grounded"] == 1.0
    )


@given(
    st.sets(st.sampled_from(DOCUMENTS)),
    st.sets(st.sampled_from(DOCUMENTS), min_size=1),
    st.booleans(),
)
def test_shares_of_documents_follow_from_what_is_cited(
    cited: set[str], gold: set[str], is_listed_more: bool
) -> None:
    paths = sorted(cited)
    text = " ".join(f"Said [{number}]." for number, _ in enumerate(paths, 1))
    more = ["never-cited.md"] if is_listed_more else []
    figures = measure_report(question(gold_docs=sorted(gold)), report(text, *paths, *more))
    assert figures["cited"] == len(cited)
    assert figures["gold_recall"] * len(gold) == pytest.approx(len(cited & gold))
    assert figures["precision"] * max(1, len(cited)) == pytest.approx(len(cited & gold))
    assert (figures["all_gold"] == 1) == (figures["gold_recall"] == 1)


def test_a_question_without_known_answers_has_only_counts() -> None:
    assert measure_report(question(), report("It was Rome [1].", "one.md")) == {
        "abstained": 0.0,
        "cited": 1.0,
        "words": 4.0,
        "seconds": 2.5,
    }
    no_answer = "The documents do not answer this question."
    assert measure_report(question(answerable=False), report(no_answer))["abstained_rightly"] == 1
    assert measure_report(question(answers=["Rome"]), report(no_answer))["abstained_wrongly"] == 1
    assert measure_report(question(answers=["Rome"]), None) == {
        "answer": 0,
        "answer_in_lead": 0,
        "abstained_wrongly": 0,
    }


@pytest.mark.parametrize(
    "text",
    [
        "The documents do not answer this question. The documents do not say anything about “Zamora”.",
        "None of the sources names a painter.",
        "The sources don't say who painted it [1].",
        "Ada kept the light [1]. The documents mention no painter.",
        "# Painters\n\nThere is no information about painters.",
        "It could not be determined who painted it.",
        "His name is not mentioned in the available documents.",
        "The corpus contains nothing on this.",
    ],
)
def test_a_report_abstains_if_it_says_early_that_there_is_no_answer(text: str) -> None:
    assert abstains(text)
    assert not abstains("word " * LEAD_WORDS + "\n\n" + text)


@pytest.mark.parametrize(
    "words", [pytest.param(words, id=code) for code, words in all_labels().items()]
)
def test_a_report_abstains_in_its_own_language(words: Labels) -> None:
    assert abstains(f"{words.unanswered} {words.nothing_on.format(names='“Zamora”')}")


@pytest.mark.parametrize(
    "text",
    [
        "Das Dokument nennt den 3. März [1]. Nichts davon ist neu.",
        "Die Quellen nennen das Jahr 1912 und nicht 1911 als Baujahr [1].",
        "Les sources disent que le port n'est pas ouvert le dimanche [1].",
        "Los documentos dicen que el museo no abre los lunes [1].",
        "De bronnen zeggen dat de brug niet open is [2].",
        "文献提到灯塔没有关闭[1]。",
        "该文献回答了这个问题。[1] 没有别的。",
        "The light was lit in 1844 [1].",
        "The cause of the fire could not be determined [1].",
        "No record of his birth survives [2].",
        "# What the documents do not say\n\nThe light was lit in 1844 [1].",
        "",
    ],
)
def test_a_report_that_quotes_a_doubt_of_its_source_does_not_abstain(text: str) -> None:
    assert not abstains(text)


@given(st.integers(0, 300), st.integers(1, 300))
def test_a_share_lies_in_its_interval_which_more_questions_make_narrower(
    yes: int, count: int
) -> None:
    share = min(yes, count) / count
    low, high = wilson(share, count)
    assert 0 <= low <= share <= high <= 1
    closer = wilson(share, 10 * count)
    assert closer[1] - closer[0] < high - low


def test_the_interval_matches_the_textbook_example() -> None:
    assert [round(end, 3) for end in wilson(0.75, 4)] == [0.301, 0.954]
    estimated = estimate([1.0, 1.0, 1.0, 0.0])
    assert (estimated.low, estimated.high) == wilson(0.75, 4)


@given(st.lists(st.floats(0, 1), min_size=1, max_size=20))
def test_a_mean_has_an_interval_within_its_values_and_always_the_same(values: list[float]) -> None:
    low, high = bootstrap(values)
    assert min(values) - 1e-9 <= low <= high <= max(values) + 1e-9
    assert bootstrap(values) == (low, high)


@given(st.lists(st.floats(-1e6, 1e6), min_size=2), st.sampled_from([0.1, 0.5, 0.9]))
def test_a_quantile_is_that_of_the_statistics_of_python(values: list[float], share: float) -> None:
    tenths = statistics.quantiles(values, n=10, method="inclusive")
    assert quantile(values, share) == pytest.approx(tenths[round(10 * share) - 1], abs=1e-6)


@given(st.integers(0, 200), st.integers(0, 200))
def test_the_sign_test_is_a_symmetric_probability(better: int, worse: int) -> None:
    assert 0 < sign_test(better, worse) <= 1
    assert sign_test(better, worse) == sign_test(worse, better)
    assert sign_test(better + 1, worse) <= sign_test(better, worse) or better < worse


def test_the_sign_test_matches_the_binomial_distribution() -> None:
    assert sign_test(0, 0) == sign_test(1, 1) == 1
    assert sign_test(5, 0) == 2 / 2**5
    assert sign_test(8, 2) == 2 * (45 + 10 + 1) / 2**10
