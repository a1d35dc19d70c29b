"""Both graphs, in a file of their own: Aegra loads it anew for each."""

from __future__ import annotations

from aegra_server import deep_research, planned_research

__all__ = ["deep_research", "planned_research"]
