"""Reports from elsewhere, in the forms that people hold, against a web on loopback: every verdict arrives."""

from __future__ import annotations

from pathlib import Path

import pytest
from cited_web import judging, publish_sources
from web import hostile_web

from deep_research.app.check_file import WRONG, check_file

SITE = "https://site.example"
NUMBERED = f"""# The light

The light was lit in 1844 [1]. The tower stands 38 metres tall [2, 3], and it was painted red in 1951 [4].

| Year | Keepers |
|---|---|
| 1901 | 3 [4] |
| 1932 | 2 [5] |

## Sources

1. Register: {SITE}/a
2. Survey: {SITE}/a/b
3. Gazette: {SITE}/c_(d)
4. Painter's bill: {SITE}/e
5. Payroll: {SITE}/f
"""
LINKED = f"""The light was lit in 1844 ([register]({SITE}/a)). It stands [38 metres tall]({SITE}/b).
It was painted in 1951 ([gazette]({SITE}/c)), and again in 1952 ([bill]({SITE}/d)). Nobody keeps it.
"""
FOOTNOTES = f"""灯塔于1844年首次点亮。[^1] 它高38米。[^2][^4] 1951年它被漆成红色。[^3] 1960年它熄灭了。[^4]

[^1]: 登记册 {SITE}/a
[^2]: 测量 {SITE}/b
[^3]: 公报 {SITE}/c
[^4]: 账单 {SITE}/d
"""


@pytest.mark.parametrize("report", [NUMBERED, LINKED, FOOTNOTES], ids=["numbered", "linked", "footnotes"])
async def test_all_verdicts_arrive_and_what_cannot_be_read_is_named_and_never_wrong(
    tmp_path: Path, report: str
) -> None:
    with hostile_web() as web:
        placed, unread = publish_sources(report, web)
        found = await check_file(placed.encode(), "report.md", judging(web, tmp_path))
    assert {*found.unread} == unread and len(found.notes) == len(unread)
    by_sources = {(one.sources, one.outcome) for one in found.statements if one.sources}
    assert not [pair for pair in by_sources if unread & {*pair[0]} and pair[1] in WRONG]
    assert {outcome for sources, outcome in by_sources if unread.issuperset(sources)} <= {"source not reachable"}
    assert {"supported", "source not reachable"} <= {outcome for _, outcome in by_sources}
    assert "not verified" not in found.counts
