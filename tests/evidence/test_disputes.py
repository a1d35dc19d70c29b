"""Disputes as prompts and reports show them."""

from __future__ import annotations

import pytest
from kit.reports import SOURCES, finished

from deep_research.app.exports._page import report_page
from deep_research.core.evidence.citations.labels import labels
from deep_research.core.evidence.citations.rendering import comparison_table
from deep_research.core.evidence.memory._naming import names_dispute
from deep_research.core.evidence.memory.observations import ThreadDisputes
from deep_research.core.records.plan import Learning, Observation
from deep_research.core.records.research import Run
from deep_research.core.records.sources import Dispute
from deep_research.core.writing.basis import dispute_line
from deep_research.state import ResearchState

CLAIMS = ("Lit in 1844.", "Lit in 1846.")
PAIR = (SOURCES[0], SOURCES[2])
OPEN = Dispute.between(CLAIMS, PAIR)
RESOLVED = OPEN.model_copy(update={"resolution": "The register is right: it was kept on site."})
KNOWN, NUMBERS = (
    {source.key: source for source in PAIR},
    {source.key: source.number for source in PAIR},
)


def test_a_resolution_is_shown_wherever_the_dispute_is() -> None:
    for dispute in (OPEN, RESOLVED):
        shown = [
            comparison_table([dispute], labels("en"), KNOWN, NUMBERS),
            dispute_line(dispute, NUMBERS),
            report_page(finished(contradictions=[dispute])),
        ]
        assert all(claim in text for claim in CLAIMS for text in shown)
        assert ["The register is right" in text for text in shown] == [dispute.is_resolved] * 3


def test_a_date_that_is_found_after_the_dispute_is_shown_with_it() -> None:
    undated = (PAIR[0].model_copy(update={"date": ""}), PAIR[1])
    dispute = Dispute.between(CLAIMS, undated)
    assert (dispute.dates, dispute.newer) == (("", "2019-11"), "")
    first, second = (
        Learning(text=text, source=source.key, step="1", question_id="q")
        for text, source in zip(CLAIMS, PAIR, strict=True)
    )
    found = Observation.of_dispute(dispute, (first, second), 0, "1")
    state = ResearchState(
        messages=[],
        run=Run(id="q", question="?", date="", language="", is_resumable=True, version="1"),
        sources=KNOWN,
        memory={found.key: found},
    )
    [shown] = ThreadDisputes(state).confirmed()
    assert (shown.dates, shown.newer) == (("2021-05-04", "2019-11"), PAIR[0].key)


KEYS = {1: SOURCES[0].key, 3: SOURCES[2].key}
ADVICE = Dispute.between(
    ("The council advises to sell the old lamp.", "The trust recommends keeping it as it is."),
    PAIR,
    "advice",
)
BACKLOG = Dispute.between(("A backlog of £10.9 million.", "A backlog of £11.7 million."), PAIR)


@pytest.mark.parametrize(
    ("dispute", "text", "is_named"),
    [
        (OPEN, "It was lit in 1844 [1], though the guide has 1846 [3].", True),
        (OPEN, "It opened in 1844 [1].\n\nThe guide has 1846 [3].", True),
        (OPEN, "| Source | Year |\n|---|---|\n| Register [1] | 1844 |\n| Guide [3] | 1846 |", True),
        (OPEN, "It was lit in 1844 [1, 3].", False),
        (OPEN, "It was lit in 1844 [1]. Others say 1846.", False),
        (OPEN, "It was lit in 1844 [1].\n\nIt is tall.\n\nThe guide has 1846 [3].", False),
        (BACKLOG, "The backlog was £10.9 million [1], or 11.7 million [3].", True),
        (BACKLOG, "In 10 years, 9 ships and 7 boats came [1], 11 of them new [3].", False),
        (ADVICE, "The trust would keep the lamp [3]; the council would rather sell it [1].", True),
        (ADVICE, "The lamp is old [1], and the tower is tall [3].", False),
    ],
)
def test_a_text_names_a_dispute_where_it_cites_both_sides_and_states_what_each_says(
    dispute: Dispute, text: str, is_named: bool
) -> None:
    assert names_dispute(text, KEYS, dispute) is is_named


def test_a_date_that_is_not_known_is_not_shown() -> None:
    undated = OPEN.model_copy(update={"dates": ("", "2019-11")})
    table = comparison_table([undated], labels("en"), KNOWN, NUMBERS)
    assert "| Lit in 1844. [1] | Lit in 1846. [3] (2019-11) | open |" in table
    assert "undated" not in dispute_line(undated, NUMBERS)
