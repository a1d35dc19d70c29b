"""Reports that an earlier version has checked can still be read."""

from __future__ import annotations

import pytest
from exported import AUDIT, CLAIMS, finished
from shown_page import at, tree

from deep_research.core.records.report import Audit, ClaimCheck, Report


@pytest.mark.fault(44)
def test_a_verdict_that_there_is_no_more_is_read_as_the_one_that_took_its_place() -> None:
    told = CLAIMS[1].model_dump(mode="json")
    told["verdict"] = told["passages"][1]["verdict"] = "partly"
    claim = ClaimCheck.model_validate(told)
    assert (claim.verdict, claim.passages[1].verdict) == ("unchecked", "unchecked")
    figures = AUDIT.model_dump(mode="json")
    audit = Audit.model_validate({**figures, "partly": figures.pop("unchecked")})
    assert audit == AUDIT
    text = finished().report.text
    report = Report(text=text, sources=finished().report.sources, claims=(claim,), audit=audit)
    assert at(tree(finished(report=report)), "//tr[@id='evidence-0']/td[2]") == ["not checked by a model"]
