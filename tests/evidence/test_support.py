"""Whether a source supports a sentence is judged by what both say, in several languages."""

from __future__ import annotations

import pytest

from deep_research.core.evidence.checking.score import Check, best_passage, score_support
from deep_research.core.evidence.checking.source_text import unwrap

TOWER = (
    "# Skerry lighthouse\n\n"
    "Skerry lighthouse was completed on 3 May 1844 after six years of work. It is 48 metres high and cost £93,800. "
    "The tower was built by Alan Reid, whose brother David drew the plans. In 1972 the keepers left, and the light has "
    "been automatic since. It may be older than the beacon at Tarn. The light was never moved to another island.\n"
    "About 1.5 million people have seen it; 38 percent of them came by boat."
)
SUPPORTED = [
    "Skerry lighthouse was completed on 3 May 1844 after six years of work.",
    "The tower was built by Alan Reid, whose brother David drew the plans.",
    "Skerry lighthouse was completed on May 3rd, 1844.",
    "Skerry lighthouse was completed in the 1840s.",
    "The lighthouse is 48 m high and cost £93,800.",
    "1,500,000 people have seen it.",
    "38 % of the people came by boat.",
    "The light was never moved.",
    "In 1972, the keepers left [3].",
]
FALSE = [
    ("Skerry lighthouse was completed on 3 May 1845 after six years of work.", "3 May 1844, not 3 May 1845"),
    ("Skerry lighthouse was completed on 3 May 1844 after seven years of work.", "the passage says six, not seven"),
    ("It is 49 metres high and cost £93,800.", "the passage says 48, not 49"),
    ("It is 48 feet high and cost £93,800.", "the passage says 48 metre, not 48 foot"),
    ("About 1.5 billion people have seen it.", "the passage says 1.5 million, not 1.5 billion"),
    ("The tower was built by Hugh Reid, whose brother David drew the plans.", "the passage says 'Alan', not 'Hugh'"),
    ("It is 48 metres high and cost £93,800 in Rome, said Tarn.", "no word of 'Tarn' in the passage"),
    ("The tower was not built by Alan Reid.", "the claim denies what the passage says"),
    ("The light was moved to another island.", "the passage denies it"),
    (
        "The tower was built by Alan Reid, whose sister David drew the plans.",
        "the passage says 'brother', not 'sister'",
    ),
    ("It was built by Marconi.", "no word of 'Marconi' in the source"),
    ("It had 77 windows.", "the source does not say 77"),
    ("It was painted yellow by volunteers.", "not in the passage: painted, yellow, volunteers"),
]


def test_an_amount_is_told_by_the_amount_in_its_place() -> None:
    told = best_passage(
        "The lamp of the light burnt 40 litres of oil a night.",
        "The lamp of the light burnt for 12 hours and 50 litres of oil a night.",
    )
    assert "the passage says 12, not 40" in told.reasons


@pytest.mark.parametrize("claim", SUPPORTED)
def test_what_the_source_says_is_supported(claim: str) -> None:
    check = best_passage(claim, TOWER)
    assert (check.verdict, TOWER[check.start : check.end]) == ("supported", check.quote)


@pytest.mark.parametrize(("claim", "reason"), FALSE, ids=[claim for claim, _ in FALSE])
def test_what_the_source_says_differently_is_not_supported_and_the_reason_is_told(claim: str, reason: str) -> None:
    check = best_passage(claim, TOWER)
    assert check.verdict != "supported"
    assert any(reason in one for one in check.reasons), check.reasons


def test_a_quoted_sentence_has_the_highest_score_and_is_its_own_quote() -> None:
    for sentence in SUPPORTED[:2]:
        check = best_passage(sentence, TOWER)
        assert (check.score, check.quote, check.reasons) == (1.0, sentence, ())


def test_two_numbers_that_change_places_are_noticed() -> None:
    text = "Arn won 12 prizes in Kiel and 30 prizes in Rome during his long career as a painter."
    check = best_passage("Arn won 30 prizes in Kiel and 12 prizes in Rome during his long career as a painter.", text)
    assert check.verdict != "supported"
    assert "the passage says 12 where the claim says 30" in check.reasons


def test_a_sentence_whose_parts_stand_in_neighbouring_sentences_is_quoted_with_both() -> None:
    text = "Nothing is known of Ulm. Ida Voss was born in Bonn. She studied chemistry in Graz. Her dog was brown."
    check = best_passage("Ida Voss was born in Bonn and studied chemistry in Graz.", text)
    assert check.quote == "Ida Voss was born in Bonn. She studied chemistry in Graz."
    assert check.verdict == "supported"


def test_a_sentence_that_is_broken_into_lines_is_one() -> None:
    text = "The ferry crosses\nthe sound in\nforty minutes. It rains."
    check = best_passage("The ferry crosses the sound in 40 minutes.", text)
    assert (check.verdict, check.quote) == ("supported", "The ferry crosses\nthe sound in\nforty minutes.")


@pytest.mark.parametrize(
    ("claim", "text"),
    [
        ("Der Turm wurde am 3. Mai 1889 eröffnet.", "Am 03.05.1889 wurde der Turm eröffnet."),
        ("Der Turm zog 1.500.000 Besucher an.", "Der Turm zog 1,5 Millionen Besucher an."),
        ("La tour a été inaugurée devant 1 500 personnes.", "Devant 1.500 personnes, la tour a été inaugurée."),
        ("La torre fue inaugurada en mayo de 1889.", "La torre fue inaugurada el 3 de mayo de 1889 por el alcalde."),
        ("该塔第一年吸引了150万名游客。", "该塔于1889年落成。该塔第一年吸引了1,500,000名游客。"),
        ("Twenty-five ships were lost.", "In all, 25 ships were lost."),
        ("It had 12 stations.", "It had a dozen stations."),
        ("It cost 1.5m dollars.", "It cost $1.5 million."),
    ],
)
def test_one_number_or_date_may_be_written_in_many_ways(claim: str, text: str) -> None:
    assert best_passage(claim, text).verdict == "supported"


@pytest.mark.parametrize(
    ("claim", "text"),
    [
        ("Der Turm wurde am 4. Mai 1889 eröffnet.", "Am 03.05.1889 wurde der Turm eröffnet."),
        ("Der Turm wurde nicht 1889 eröffnet.", "Der Turm wurde 1889 eröffnet."),
        ("La tour a été inaugurée devant 1 600 personnes.", "La tour a été inaugurée devant 1 500 personnes."),
        ("La torre no fue inaugurada en 1889.", "La torre fue inaugurada en 1889."),
        ("该塔于1890年落成。", "该塔于1889年落成。它位于巴黎。"),
        ("该塔没有在1889年落成。", "该塔于1889年落成。它位于巴黎。"),
        ("The hall was unlocked before the fire.", "The hall was unlocked after the fire."),
    ],
)
def test_another_number_date_negation_or_opposite_is_noticed_in_many_languages(claim: str, text: str) -> None:
    assert best_passage(claim, text).verdict != "supported"


def test_without_words_there_is_nothing_to_compare() -> None:
    for claim, text in (("", TOWER), ("…", TOWER), ("A tower.", ""), ("A tower.", "…\n")):
        assert best_passage(claim, text) == Check("unchecked", 0.0, "", 0, 0, ("there is nothing to compare",))


def test_a_negation_of_something_else_does_not_make_a_denial_true() -> None:
    text = "The tower was built by Alan Reid from granite of the island, which was never sold abroad."
    assert best_passage("The tower was not built by Alan Reid from granite of the island.", text).verdict != "supported"


def test_a_near_quote_is_held_against_its_own_sentence_whatever_its_neighbours_name() -> None:
    text = "# Ahmad Tarik\n\nHis reign represented the start of a new era in Brunei. He lived in Medina."
    check = best_passage("His reign represented the start of a new era in Medina.", text)
    assert (check.verdict != "supported", check.quote) == (True, text.split("\n")[2].split(" He ")[0])
    assert "the passage says 'Brunei', not 'Medina'" in check.reasons


def test_a_name_that_stands_elsewhere_in_the_passage_is_not_taken_for_another() -> None:
    text = (
        "The harbour lamp was invented around 1822 by Jean Du Marais, made possible by his invention of the first "
        'practical self-feeding burner part, the double wick holder (or "nozzle" in Scottish English) in 1819.'
    )
    claim = (
        "The first harbour lamp was created around 1822, thanks to the invention of the first practical self-feeding "
        "burner part, the double wick holder, by Jean Du Marais in 1819"
    )
    assert best_passage(claim, text)[0] == "supported"
    assert best_passage(claim.replace("Jean Du Marais", "Henry Winstanley"), text)[0] != "supported"


def test_a_sentence_of_many_lines_is_quoted_whole() -> None:
    text = "The ferry\ncrosses\nthe sound\nin forty\nminutes\nevery day. It rains."
    assert best_passage("The ferry crosses the sound every day.", text).quote == text.removesuffix(" It rains.")


def test_a_year_that_the_source_names_nowhere_is_noticed() -> None:
    text = "The painter Arn Holm died in his house in Kiel on May 7, said his brother."
    assert best_passage("The painter Arn Holm died in his house in Kiel on May 7, 2019.", text).verdict != "supported"
    dated = f"{text} The year 2019 had begun well."
    assert best_passage("The painter Arn Holm died in his house in Kiel on May 7, 2019.", dated).verdict == "supported"


WRAPPED = (
    "A guide to the coast\n"
    "The lamp of the lighthouse at Skerry was made in the workshop of\n"
    "Alan Reid, who had learnt his trade in Kiel and never went back to\n"
    "Bonn. It was lit for the first time in the spring, when the mayor J.\n"
    "Fell came over from Tarn.\n"
    "- It has 48 windows and, as the keepers said, twice as many stairs\n"
    "- Boats leave at noon\n"
)


@pytest.mark.parametrize(
    "sentence",
    [
        "The lamp of the lighthouse at Skerry was made in the workshop of Alan Reid, who had learnt his trade in Kiel "
        "and never went back to Bonn.",
        "It was lit for the first time in the spring, when the mayor J. Fell came over from Tarn.",
        "Boats leave at noon",
    ],
)
def test_a_sentence_is_read_on_where_a_line_was_full(sentence: str) -> None:
    check = best_passage(sentence, WRAPPED)
    assert (check.score, " ".join(check.quote.split())) == (1.0, sentence)
    assert " ".join(best_passage(sentence.replace(" was ", " had been "), WRAPPED).quote.split()).endswith(sentence)


def test_a_sentence_of_the_source_is_supported_whatever_its_neighbours_say() -> None:
    text = "It was not lit in the spring. The light was lit in the spring. Nobody lit it."
    assert best_passage("The light was lit in the  spring.", text)[1:3] == (1.0, "The light was lit in the spring.")


def test_only_a_line_that_was_full_goes_on_in_the_next() -> None:
    lines = unwrap(WRAPPED).split("\n")
    assert [line[:24] for line in lines] == [
        "A guide to the coast",
        "The lamp of the lighthou",
        "- It has 48 windows and,",
        "- Boats leave at noon",
        "",
    ]
    assert len(unwrap(WRAPPED)) == len(WRAPPED)


@pytest.mark.parametrize(
    "following", ["# Windows and stairs", "| Windows | 48 |", "* Windows of the tower", "2. Windows"]
)
def test_headings_lists_and_tables_begin_a_line_of_their_own(following: str) -> None:
    text = f"The lighthouse at Skerry has stood on the rocks\n{following}"
    assert unwrap(text) == text
    assert unwrap(f"{following} of the lighthouse that has stood on the rocks\nAlan").count("\n") == (
        following[0] in "#|"
    )


def test_a_part_of_a_denied_sentence_is_not_taken_for_a_sentence_of_the_source() -> None:
    text = "Nobody believed that the light was ever moved to Tarn."
    assert best_passage("the light was ever moved to Tarn.", text).reasons


def test_phrases_that_join_sentences_need_no_source() -> None:
    check = best_passage(
        "Moreover, according to the sources, the tower is red.", "The tower is red, and so is the gate."
    )
    assert (check.verdict, check.reasons) == ("supported", ())


def test_what_somebody_says_of_himself_needs_a_source_in_which_somebody_does() -> None:
    text = "The ferry to Tarn is slow and old."
    claims = [f"{who} know that the ferry to Tarn is slow" for who in ("They", "I")]
    assert score_support(claims[0], text) > score_support(claims[1], text)
    assert score_support(claims[1], f"I saw it. {text}") > score_support(claims[1], f"They saw it. {text}")


def test_another_word_for_a_denial_is_not_a_contradiction() -> None:
    text = "A learner can make good strides in the first year without worrying about the grammar rules of Russian."
    check = best_passage(
        "In the first year, a learner of Russian does not need to be occupied with grammar rules.", text
    )
    assert (check.verdict, check.reasons) == ("supported", ())
