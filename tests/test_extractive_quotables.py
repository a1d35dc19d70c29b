"""What of a text can be quoted, and what a sentence needs beside it to be understood."""

from __future__ import annotations

import re

import pytest
from extracting import finding_for, report_on
from hypothesis import given
from hypothesis import strategies as st

from deep_research.models.extractive.pronouns import points_back
from deep_research.models.extractive.sentences import Quotable, quotables, sentences

SECTIONS = """## Skarv

The Skarv carries 120 kilograms. It weighs 31 kilograms.

## Lomvi

The Lomvi is a tricycle for two children and a dog. It carries 210 kilograms and weighs 58 kilograms.
"""
MEETINGS = "The works council met in June. Its chair is Eva Lind.\n\nThe board met in May. Its chair is Ole Dahl.\n"
GERMAN = """Das Skarv ist ein Fahrrad für eine Person. Es wiegt 31 Kilogramm.

Das Lomvi ist ein Dreirad für zwei Kinder. Es wiegt 58 Kilogramm.
"""
LED = (("Colours:", "moss green"), ("Sizes:", "small"), ("5*3 of a_b:", "steel"))


def answer_of(finding: str) -> str:
    return finding.split("\n\n")[0]


@pytest.mark.parametrize(
    ("question", "text", "said", "unsaid"),
    [
        (
            "How much does the Lomvi weigh?",
            SECTIONS,
            "a dog. [1] It carries 210 kilograms and weighs 58",
            "31 kilograms",
        ),
        (
            "How much does the Skarv weigh?",
            SECTIONS,
            "The Skarv carries 120 kilograms. [1] It weighs 31",
            "58 kilograms",
        ),
        ("Who is the chair of the board?", MEETINGS, "The board met in May. [1] Its chair is Ole Dahl.", "Eva Lind"),
        ("Was wiegt das Lomvi?", GERMAN, "für zwei Kinder. [1] Es wiegt 58 Kilogramm.", "31 Kilogramm"),
    ],
)
def test_a_pronoun_is_quoted_behind_what_it_means(question: str, text: str, said: str, unsaid: str) -> None:
    answer = answer_of(finding_for(question, ("Models of the year", text)))
    assert said in answer
    assert unsaid not in answer


def test_of_two_that_are_asked_for_both_are_quoted() -> None:
    text = SECTIONS.replace("carries 210 kilograms and ", "")
    answer = answer_of(finding_for("How much do the Skarv and the Lomvi weigh?", ("Models of the year", text)))
    assert "The Skarv carries 120 kilograms. [1] It weighs 31 kilograms. [1]" in answer
    assert "a dog. [1] It weighs 58 kilograms. [1]" in answer


def test_of_two_things_the_one_that_is_asked_for_is_told_by_its_own_sentence() -> None:
    terne = "\n## Terne\n\nThe Terne is a folding bike. Its colour is green. It weighs 12 kilograms.\n"
    answer = answer_of(finding_for("How much does the Terne weigh?", ("Models of the year", SECTIONS + terne)))
    assert answer == "The Terne is a folding bike. [1] It weighs 12 kilograms. [1]"


def test_what_is_meant_may_stand_in_the_paragraph_before_but_under_no_other_heading() -> None:
    said = quotables("## Tarn\n\nThe kiln is red.\n\nIt burns oil.\n\n## Osk\n\nIt burns wood.")
    assert [(one.text, one.antecedent) for one in said] == [
        ("The kiln is red.", ""),
        ("It burns oil.", "The kiln is red."),
        ("It burns wood.", ""),
    ]


def test_behind_what_cannot_be_quoted_nobody_knows_what_a_pronoun_means() -> None:
    said = quotables("The kiln is red. The oven **is blue. It burns oil.")
    assert [(one.text, one.antecedent) for one in said] == [("The kiln is red.", ""), ("It burns oil.", "")]


THINGS = ("Skarv", "Lomvi", "Terne")
STATED = st.tuples(*(st.lists(st.sampled_from(("31", "58", "12")), min_size=2, max_size=2) for _ in THINGS))
ASKED = (
    "How much does the {} weigh?",
    "How much does the {} carry?",
    "What does the {} weigh, and what does it carry?",
)


def _paragraph(thing: str, figures: list[str]) -> str:
    return f"The {thing} is a bike of type {len(thing)}. It weighs {figures[0]} kilograms. It carries {figures[1]} men."


@given(STATED, st.sampled_from(ASKED), st.permutations(THINGS))
def test_no_pronoun_in_a_report_means_another_thing_than_in_its_document(
    figures: tuple[list[str], ...], question: str, things: list[str]
) -> None:
    paragraphs = list(map(_paragraph, things, figures))
    document = ("Models of the year", "\n\n".join(paragraphs))
    tasks = [question.format(thing) for thing in things[:2]]
    findings = [finding_for(f"{task} (for the question: {' '.join(tasks)})", document) for task in tasks]
    for finding in (*findings, report_on(" ".join(tasks), *findings)):
        thing = ""
        for sentence in re.split(r" \[1\]\s*", finding):
            thing = next((one for one in things if f"The {one} is" in sentence), thing)
            if sentence.startswith("It "):
                assert sentence in paragraphs[things.index(thing)]


@pytest.mark.parametrize(
    "sentence",
    [
        "It weighs 31.",
        "Ihre Farbe ist rot.",
        "Il pèse 3 kg.",
        "Cela pèse 3 kg.",
        "Hon kom 1998.",
        "Она весит 3 кг.",
        "Ela pesa 3 kg.",
        "他住在北京。",
        "该船很快。",
        "その船は速い。",
    ],
)
def test_pronouns_of_many_languages_point_back(sentence: str) -> None:
    assert points_back(sentence)
    assert not points_back(f"Ole {sentence}")


def test_the_article_of_italian_is_no_pronoun() -> None:
    assert not points_back("Il ponte di Velm è stato costruito nel 1911.")


@pytest.mark.parametrize(
    ("text", "quoted"),
    [
        ("Die Kaution wird am\n12. Juni 2024 fällig.", ["Die Kaution wird am 12. Juni 2024 fällig."]),
        (
            "The rent was raised to\n950. Since then it stayed.",
            ["The rent was raised to 950.", "Since then it stayed."],
        ),
        (
            "Steps:\n1. Open the valve of the boiler\n2. Light the small flame",
            ["Open the valve of the boiler", "Light the small flame"],
        ),
        (
            "1. Open the lid of the oven\n- Mind the steam\n2. Set the oven to 220 degrees\n3. May be left to cool",
            ["Open the lid of the oven", "Mind the steam", "Set the oven to 220 degrees", "May be left to cool"],
        ),
        ("How to bake\n1. Open the valve slowly.", ["Open the valve slowly."]),
        ("Der Vertrag tritt am\n1. Mai 2024 in Kraft.", ["Der Vertrag tritt am 1. Mai 2024 in Kraft."]),
        ("4. Die Kaution wird am\n12. Juni 2024 fällig.", ["Die Kaution wird am 12. Juni 2024 fällig."]),
        ("The pump was mended.\n2. The valve was closed.", ["The pump was mended.", "The valve was closed."]),
    ],
)
def test_a_number_at_the_head_of_a_line_begins_an_item_only_where_no_sentence_goes_on(
    text: str, quoted: list[str]
) -> None:
    assert sentences(text) == quoted


@pytest.mark.parametrize(
    ("text", "quoted"),
    [
        ("Payload: 180 kg\nDesigner: Yngve Fosse", [Quotable("Payload: 180 kg Designer: Yngve Fosse")]),
        ("ticket: 5102\nmechanic: Ole\nstatus: open", [Quotable("ticket: 5102 mechanic: Ole status: open")]),
        ("## **Terne:**\n\nPayload: 180 kg", [Quotable("Terne: Payload: 180 kg", "Terne:")]),
        ("## Terne [3]\n\nPayload: 180 kg", [Quotable("Terne (3): Payload: 180 kg", "Terne [3]")]),
        ("## https://x.org\n\nPayload: 180 kg", [Quotable("Payload: 180 kg", "https://x.org")]),
        ("Excused: Henrik Dahl.", [Quotable("Excused: Henrik Dahl.")]),
        ("Nobody was hurt.", [Quotable("Nobody was hurt.")]),
        (
            "They come in:\n- moss green\n- sea blue",
            [
                Quotable("They come in: moss green", "They come in:"),
                Quotable("They come in: sea blue", "They come in:"),
            ],
        ),
        (
            "**Colours:**\n- moss green\n\n*Sizes*:\n- small\n\n5*3 _of_ a_b:\n- steel",
            [Quotable(f"{lead} {item}", lead) for lead, item in LED],
        ),
        ("See https://x.org for colours:\n- moss green", []),
        ("The prices are as follows:\n\n## Days of rest\n\n- Mondays", []),
        ("The prices are as follows:\n\n| Bell | 20 |\n| --- | --- |\n\n- Mondays", []),
        ("Goals\n\n- Open twelve shops in Scandinavia", [Quotable("Open twelve shops in Scandinavia")]),
        ("- moss green", []),
        ("Note [3]: see\nPage: [4]", [Quotable("Note (3): see Page: (4)")]),
    ],
)
def test_fields_short_sentences_and_items_can_be_quoted(text: str, quoted: list[Quotable]) -> None:
    assert list(quotables(text)) == quoted


@pytest.mark.parametrize(
    ("text", "quoted"),
    [
        (
            "> The kiln was fired until\n> 1950 by Ole.\n>\n> It is cold.",
            ["The kiln was fired until 1950 by Ole.", "It is cold."],
        ),
        ("> > The kiln was\n> > cold.", ["The kiln was cold."]),
        ("> They come in:\n> - moss green\n> - sea blue", ["They come in: moss green", "They come in: sea blue"]),
        ("> From: Ole\n> Subject: Kiln", ["From: Ole Subject: Kiln"]),
        ("> The kiln of Tarn", []),
        ("He said on\n> Monday the kiln is cold.\nThat was wrong.", ["Monday the kiln is cold.", "That was wrong."]),
        ("> Shall we meet on\nTuesday is fine.", ["Tuesday is fine."]),
        ("> > Shall we meet on\n> Monday is fine.", ["Monday is fine."]),
        (">>> Kiln.is_cold() or print('The kiln is hot.')", []),
    ],
)
def test_the_lines_of_a_quoted_passage_belong_together_as_those_of_any_other(text: str, quoted: list[str]) -> None:
    assert sentences(text) == quoted


def test_many_fields_are_quoted_one_by_one() -> None:
    lines = [f"field {number}: some words that take their place" for number in range(12)]
    assert sentences("\n".join(lines)) == lines


def test_only_the_sentence_that_leads_in_a_list_stands_before_its_items() -> None:
    text = "The lamp of Tarn is old. It was made by hand. It comes in:\n\n- moss green\n- sea blue"
    *_, first, second = quotables(text)
    assert [first.text, second.text] == ["It comes in: moss green", "It comes in: sea blue"]
    assert first.antecedent == second.antecedent == "The lamp of Tarn is old."


def test_stars_without_end_before_a_list_take_no_time() -> None:
    assert sentences(f"Colours {'*_' * 50_000}:\n- moss green") == ["Colours : moss green"]


def is_from(words: str, quoted: str) -> bool:
    """Whether it stands in a text as it is, or behind what leads it in, which need not be its neighbour."""
    places = [match.end() for match in re.finditer(": ", quoted)]
    return quoted in words or any(quoted[: end - 2] in words and quoted[end:] in words for end in places)


@given(
    st.lists(
        st.sampled_from(
            [
                "It",
                "The",
                "a",
                "ship",
                "sank.",
                "\n",
                "\n\n",
                "- ",
                "12. ",
                "No: 1",
                "[2]",
                "# H\n",
                ":",
                "**A:**\n",
                "\n> ",
            ]
        )
    )
)
def test_whatever_is_quoted_stands_in_the_text(parts: list[str]) -> None:
    text = " ".join(parts)
    words = " ".join(text.replace("[2]", "(2)").replace("**", "").replace(">", "").split())
    for one in quotables(text):
        assert one.text == " ".join(one.text.split())
        assert is_from(words, one.text)
