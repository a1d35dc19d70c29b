"""The wrong source of a statement is corrected only where it is certain which one is right."""

from __future__ import annotations

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from deep_research.core.evidence.checking.proof import Known
from deep_research.core.evidence.checking.source_text import SourceText
from deep_research.core.evidence.checking.verification import Attribution, ShownSources

HARBOUR = (
    "The harbour of Port Anlow is open all year. It was deepened twice, and it has a new quay for "
    "the boats of the fishermen, who land mackerel and herring there."
)
FERRIES = (
    "Orwell Ferries is a company in the north. At the end of 2024 the Harwich branch of Orwell "
    "Ferries had 417 employees. Most of them work on the quay."
)
SAID = "The Harwich branch of Orwell Ferries had 417 employees."


def shown(*texts: str, worked_out: tuple[str, ...] = ()) -> ShownSources:
    """Sources with these texts, numbered from 1."""
    sources = {
        number: Known([SourceText(str(number), text)], f"Source {number}")
        for number, text in enumerate(texts, 1)
    }
    return ShownSources(sources, worked_out)


def test_the_only_source_that_states_a_statement_becomes_its_citation() -> None:
    text = f"The harbour is open all year [1]. {SAID[:-1]} [1], which is much. It is new. [2]"
    recited = shown(HARBOUR, FERRIES).with_right_citations(text)
    assert recited.text == text.replace("employees [1]", "employees [2]")
    assert recited.corrected == 1
    assert shown(HARBOUR, FERRIES).attribution(SAID, 1) == Attribution(
        lacking=("417", "Orwell Ferries"), stated_by=(2,), right=2
    )


def test_a_clause_that_does_not_say_what_its_figure_is_of_keeps_its_citation() -> None:
    customers = "| Customer | Share |\n|---|---|\n| Aquavence | 19 % |\n| Ostertal | 14 % |\n| Baker | 8 % |"
    report = "Annual report of 2026. Gross margin: 41 % in that year."
    text = "The three largest had 52 % in the table of 2024 [3] and 41 % in that of 2026 [1]."
    earlier = "Customers in 2024: the three largest had 52 % of sales."
    assert shown(customers, report, earlier).with_right_citations(text).text == text


def test_a_sentence_that_cites_the_other_source_too_keeps_both() -> None:
    text = "At the end of 2024 the Harwich branch of Orwell Ferries, at the new quay [1], had 417 employees [2]."
    assert shown(HARBOUR, FERRIES).with_right_citations(text) == (text, 0)


@pytest.mark.parametrize(
    ("says", "sources"),
    [
        ("It had 400 employees at Orwell Ferries.", ("About 396 of them.", FERRIES)),
        (
            "It had 417 employees at Orwell Ferries.",
            ("It had 217 employees here and 200 there.", FERRIES),
        ),
        (SAID, (HARBOUR, FERRIES, FERRIES.replace("Most", "All"))),
        (SAID, (HARBOUR, FERRIES, "Those 417 belong to a branch of the firm.")),
        (SAID, (HARBOUR, FERRIES.replace("417", "418"))),
        (SAID, (HARBOUR, FERRIES.replace("Orwell Ferries", "the firm"))),
        (SAID, ("The Harwich branch had four hundred and seventeen people.", FERRIES)),
        (
            SAID,
            (
                "W oddziale firmy przewozowej w mieście nad rzeką pracowało w zeszłym roku czterysta "
                "siedemnaście osób, z których większość była zatrudniona przy nabrzeżu portowym.",
                FERRIES,
            ),
        ),
        ("The branch has more employees than before.", (HARBOUR, FERRIES)),
        ("Ada Moran kept the light.", ("She kept the light.", "Ada Moran kept the light.")),
    ],
    ids=[
        "rounded",
        "a sum",
        "two others",
        "perhaps two others",
        "in none",
        "name in none",
        "in words",
        "translated",
        "no figure",
        "a pronoun",
    ],
)
def test_where_the_named_source_may_be_right_or_several_are_nothing_is_changed(
    says: str, sources: tuple[str, ...]
) -> None:
    text = f"{says[:-1]} [1]."
    assert shown(*sources).with_right_citations(text) == (text, 0)


def test_what_a_calculation_gave_and_years_are_not_lacking_and_other_figures_and_names_are() -> (
    None
):
    says = "Ada Moran was the one who counted 93 boats in 1931."
    assert shown(HARBOUR).attribution(says, 1).lacking == ("93", "Ada Moran")
    sources = shown(HARBOUR, worked_out=("31 * 3 = 93",))
    assert sources.attribution(says, 1).lacking == ()
    says = "Ada Moran was the one who counted the boats."
    assert sources.attribution(says, 1).lacking == ("Ada Moran",)
    assert shown(HARBOUR).attribution(says, 7) == Attribution()


@settings(max_examples=10, deadline=None)
@given(
    st.lists(
        st.sampled_from([HARBOUR, FERRIES, SAID, "Of 834 people half work there."]), max_size=4
    ),
    st.lists(st.integers(1, 5), min_size=1, max_size=2, unique=True),
)
def test_a_correction_names_the_only_source_with_all_figures_and_the_wrong_one_lacks_them(
    texts: list[str], cited: list[int]
) -> None:
    text = f"{SAID[:-1]} {cited}."
    recited, corrected = shown(*texts).with_right_citations(text)
    stating = [number for number, words in enumerate(texts, 1) if "417" in words]
    may_follow = [number for number, words in enumerate(texts, 1) if "834" in words]
    certain = len(cited) == 1 and cited[0] in range(1, len(texts) + 1)
    certain = certain and cited[0] not in [*stating, *may_follow] and len(stating) == 1
    assert corrected == int(certain)
    assert recited == (text.replace(str(cited), str(stating)) if certain else text)


@settings(max_examples=10, deadline=None)
@given(st.integers(20, 900).map(lambda number: 10 * number), st.integers(1, 4), st.integers(0, 5))
def test_nothing_is_changed_if_the_figure_may_come_from_the_numbers_of_the_named_source(
    figure: int, part: int, way: int
) -> None:
    shares = part * figure // 7
    origin = (
        f"The branch had {figure + part} employees.",
        f"The branch had {shares} employees on ships and {figure - shares} on the quay.",
        f"The branch had {figure + shares} employees, and {shares} have left.",
        f"The branch had {figure // 10} employees on each of 10 ships.",
        f"The branch had {figure:,} of the employees.",
        f"The branch had {figure / 1000} thousand employees.",
    )[way]
    states = f"At that time Orwell Ferries had {figure} employees at its branch."
    text = f"Orwell Ferries had {figure} employees at its branch [1]."
    assert shown(origin, states).with_right_citations(text) == (text, 0)
    assert shown(HARBOUR, states).with_right_citations(text).corrected == 1
