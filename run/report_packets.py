"""What a run tells its listeners about a report once it is written."""

from __future__ import annotations

from typing import Literal

from pydantic import BaseModel

from ..audit import Audit
from .packet import Packet


class ReportCitation(BaseModel):
    """A number of the report and the source that it names."""

    citation_number: int
    document_id: str


class ReportRevised(Packet):
    """The report that takes the place of the one that was streamed."""

    type: Literal["report_revised"] = "report_revised"
    content: str
    """Its body in Markdown, with citations `[n]`."""
    citations: list[ReportCitation]
    """All that it cites, in the order of the numbers."""


class ReportAudited(Packet):
    """The account of the report."""

    type: Literal["report_audited"] = "report_audited"
    audit: Audit
