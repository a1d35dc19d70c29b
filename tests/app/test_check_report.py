"""A finished report is checked against texts that are given."""

from __future__ import annotations

from judging_model import figure_judge

from deep_research import Context, SourceDocument, check_report

LIGHT = "# Skerry Light\n\nThe Skerry Light was lit for the first time in 1844. It stands 38 metres tall.\n"
REPORT = "It was lit in 1844, they say [1], and stands 83 metres tall [1]."


async def test_a_report_of_another_writer_is_checked_clause_by_clause() -> None:
    judge = figure_judge()
    context = Context(models={"verifier": judge, "writer": "extractive"}, verify="check")
    report = await check_report(REPORT, {1: SourceDocument("Skerry Light", LIGHT)}, context)
    assert report.text == REPORT.replace("tall [1].", "tall [1]. *(not verified)*")
    assert [claim.verdict for claim in report.claims] == ["supported", "unsupported"]
    assert report.sources == ("1",)


async def test_numbers_that_name_no_source_and_odd_dates_cost_nothing_of_the_check() -> None:
    text = "It opened on 05.17.2024 [1]. It was lit in 1845 [1] and closed in 1987 [3]."
    sources = {1: SourceDocument("Skerry Light", LIGHT), 3: SourceDocument("Notes", "It was closed in 1987.")}
    report = await check_report(text, sources, Context(models="extractive", verify="check"))
    assert report.audit is not None
    assert [claim.verdict for claim in report.claims] == ["unchecked", "unchecked", "unchecked"]
